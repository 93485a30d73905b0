use slipway_resource::Value;

use super::phased::{Phased, Resources};
use crate::configuration::Configuration;
use crate::kubeconfig::inventory::KUBECONFIGS;
use crate::pki::inventory;

/// Keys, and requests for their certificates, for a CA whose key is elsewhere: one request for each
/// certificate of a control plane, and one for the user of each of its kubeconfigs. The holder of the CA's
/// key signs them; the certificates are then stored beside the requests.
#[must_use]
pub fn certificate_requests(configuration: &Configuration) -> Vec<Phased> {
    let mut resources = Resources::default();
    let algorithm = configuration.cluster.key_algorithm().as_str();
    let mut add = |phase, name: &str, paths: [String; 2], mut further: Vec<(&'static str, Value)>| {
        let [request, key] = paths;
        further.push(("request_path", request.into()));
        further.push(("key_path", key.into()));
        further.push(("key_algorithm", algorithm.into()));
        resources.add(phase, "certificate_request", name, further, &[]);
    };
    for entry in inventory::certificates(configuration).filter(|entry| !entry.is_authority()) {
        let subject = entry.subject(configuration);
        let names = entry.names(configuration);
        let paths = [entry.request_path(configuration), entry.key_path(configuration)];
        let further = vec![
            ("common_name", subject.common_name.into()),
            ("organizations", Value::list(subject.organizations)),
            ("dns_names", Value::list(names.dns)),
            ("ip_addresses", Value::list(names.ip.iter().map(ToString::to_string))),
        ];
        add("certs", entry.name, paths, further);
    }
    for kubeconfig in KUBECONFIGS {
        let subject = kubeconfig.subject(configuration);
        let paths =
            [format!("{}.csr", kubeconfig.path()), format!("/etc/kubernetes/{}.key", kubeconfig.name)];
        let further = vec![
            ("common_name", subject.common_name.into()),
            ("organizations", Value::list(subject.organizations)),
        ];
        add("kubeconfig", kubeconfig.name, paths, further);
    }
    resources.done()
}
