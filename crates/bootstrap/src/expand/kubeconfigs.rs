//! Kubeconfigs of the node's own parts and of its administrator.

use slipway_resource::Value;

use super::Facts;
use super::certificates::of_authority;
use super::inputs::Inputs;
use super::phased::{Resources, refer};
use crate::configuration::Configuration;
use crate::kubelet;
use crate::pki::inventory::{self, ADMINISTRATORS};

/// The certificate that the kubelet keeps itself.
pub(super) const ROTATED: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

struct Kubeconfig {
    name: &'static str,
    phase: &'static str,
    user: String,
    organization: Option<&'static str>,
    server: String,
}

/// The kubeconfigs that a control plane has; with the CA's key elsewhere somebody else brings them.
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
    for kubeconfig in wanted(configuration, joining) {
        let mut attributes = vec![
            ("path", format!("/etc/kubernetes/{}.conf", kubeconfig.name).into()),
            ("cluster_name", configuration.cluster.name.clone().into()),
            ("server", kubeconfig.server.into()),
            ("ca_path", authority.certificate_path(configuration).into()),
            ("ca_key_path", authority.key_path(configuration).into()),
            ("user_name", kubeconfig.user.clone().into()),
            ("common_name", kubeconfig.user.into()),
            ("organizations", Value::list(kubeconfig.organization)),
            ("key_algorithm", configuration.cluster.key_algorithm().as_str().into()),
            ("validity_seconds", seconds(configuration).into()),
        ];
        if kubeconfig.name == "kubelet" {
            attributes.push(("rotated_certificate_path", ROTATED.into()));
        }
        resources.add(kubeconfig.phase, "kubeconfig", kubeconfig.name, attributes, &refer(&after));
    }
}

fn seconds(configuration: &Configuration) -> i64 {
    i64::try_from(configuration.cluster.certificate_validity_period.get().as_secs()).unwrap_or(i64::MAX)
}

fn wanted(configuration: &Configuration, joining: bool) -> Vec<Kubeconfig> {
    let shared = configuration.server_endpoint().url();
    let own = configuration.local_endpoint().url();
    let phase = |phase: &'static str| if joining { "control-plane-prepare/kubeconfig" } else { phase };
    let one = |name, phase, user: &str, organization, server: &str| Kubeconfig {
        name,
        phase,
        user: user.to_owned(),
        organization,
        server: server.to_owned(),
    };
    let mut wanted =
        vec![one("admin", phase("kubeconfig/admin"), "kubernetes-admin", Some(ADMINISTRATORS), &shared)];
    if !joining {
        // Only for a cluster's first steps, and for the day on which nothing else gets in any more.
        let super_admin = "kubernetes-super-admin";
        wanted.push(one(
            "super-admin",
            "kubeconfig/super-admin",
            super_admin,
            Some("system:masters"),
            &shared,
        ));
        let local = configuration.cluster.feature_gate("ControlPlaneKubeletLocalMode");
        let server = if local { &own } else { &shared };
        let node = format!("system:node:{}", configuration.node.name);
        wanted.push(one("kubelet", "kubeconfig/kubelet", &node, Some("system:nodes"), server));
    }
    let manager = "system:kube-controller-manager";
    wanted.push(one("controller-manager", phase("kubeconfig/controller-manager"), manager, None, &own));
    wanted.push(one("scheduler", phase("kubeconfig/scheduler"), "system:kube-scheduler", None, &own));
    wanted
}

/// The path of the kubelet's kubeconfig, once it has one.
pub(super) const KUBELET: &str = kubelet::KUBECONFIG_PATH;
