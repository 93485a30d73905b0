//! Kubeconfigs of a node's components and of its administrator.

use slipway_resource::Value;

use super::certificates::of_authority;
use super::inputs::Inputs;
use super::phased::{Resources, refer};
use super::{Facts, api_balancer};
use crate::configuration::{Configuration, LocalEndpoint};
use crate::kubeconfig::inventory::KUBECONFIGS;
use crate::kubelet;
use crate::pki::Subject;
use crate::pki::inventory::{self, Entry};

/// The certificate that the kubelet renews itself.
pub(super) const ROTATED: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/// The kubeconfigs of a control plane. When the CA's key is elsewhere, the user brings them.
pub(super) fn add(
    resources: &mut Resources,
    configuration: &Configuration,
    facts: &Facts,
    inputs: &Inputs,
    joining: bool,
) {
    if facts.external_ca() {
        return;
    }
    let Some(authority) = inventory::certificate("ca") else { return };
    let mut after = of_authority(resources, authority);
    if after.is_empty() {
        after.clone_from(&inputs.shared_after);
    }
    let balancer = resources.those(&[(api_balancer::KIND, api_balancer::NAME)]);
    for kubeconfig in KUBECONFIGS.iter().filter(|kubeconfig| !joining || kubeconfig.on_join) {
        let subject = kubeconfig.subject(configuration);
        let server = kubeconfig.server(configuration);
        let mut attributes = signed(configuration, authority, &kubeconfig.path(), &server, subject);
        if kubeconfig.name == "kubelet" {
            attributes.push(("rotated_certificate_path", ROTATED.into()));
        }
        let mut needs = refer(&after);
        if kubeconfig.is_of_component() {
            needs.extend(&balancer);
        }
        resources.add(phase(kubeconfig.name, joining), "kubeconfig", kubeconfig.name, attributes, &needs);
    }
}

/// The attributes of a kubeconfig with a client certificate that the cluster's CA signs.
pub(super) fn signed(
    configuration: &Configuration,
    authority: &Entry,
    path: &str,
    server: &LocalEndpoint,
    subject: Subject,
) -> Vec<(&'static str, Value)> {
    let mut attributes = vec![
        ("path", Value::from(path)),
        ("cluster_name", configuration.cluster.name.clone().into()),
        ("server", server.url().into()),
        ("ca_path", authority.certificate_path(configuration).into()),
        ("ca_key_path", authority.key_path(configuration).into()),
        ("user_name", subject.common_name.clone().into()),
        ("common_name", subject.common_name.into()),
        ("organizations", Value::list(subject.organizations)),
        ("key_algorithm", configuration.cluster.key_algorithm().as_str().into()),
        ("validity_seconds", seconds(configuration).into()),
    ];
    attributes.extend(super::certificates::renewal(
        configuration,
        configuration.cluster.certificate_validity_period.get(),
    ));
    attributes
}

fn seconds(configuration: &Configuration) -> i64 {
    i64::try_from(configuration.cluster.certificate_validity_period.get().as_secs()).unwrap_or(i64::MAX)
}

/// The phase of a kubeconfig, by its name.
fn phase(name: &str, joining: bool) -> &'static str {
    match name {
        _ if joining => "control-plane-prepare/kubeconfig",
        "admin" => "kubeconfig/admin",
        "super-admin" => "kubeconfig/super-admin",
        "kubelet" => "kubeconfig/kubelet",
        "controller-manager" => "kubeconfig/controller-manager",
        _ => "kubeconfig/scheduler",
    }
}

/// The path of the kubelet's kubeconfig, once it has one.
pub(super) const KUBELET: &str = kubelet::KUBECONFIG_PATH;
