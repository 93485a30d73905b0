//! Add-ons that a cluster asks for and that Slipway does not know by itself.

use slipway_cluster_input::ClusterInput;

use crate::settings::addon;
use crate::{cluster_autoscaler, core_dns, ebs_csi, flannel, metrics_server, termination_handler};

/// Pod networks that come with the nodes or that another tool installs.
const WITHOUT_OBJECTS: [&str; 2] = ["none", "kubenet"];

/// The add-ons that Slipway knows by itself.
const KNOWN: [&str; 5] = [
    ebs_csi::NAME,
    core_dns::NAME,
    termination_handler::NAME,
    cluster_autoscaler::NAME,
    metrics_server::NAME,
];

/// An add-on that a cluster asks for and that is not installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The name of the add-on.
    pub name: String,
    /// The field of the spec that asks for it.
    pub field: String,
}

impl Missing {
    /// Says that the add-on is not installed, and what to do.
    #[must_use]
    pub fn message(&self) -> String {
        let name = &self.name;
        format!(
            "{name} is not installed: Slipway does not have its manifest. Add `{{ name: {name}, manifest: {{ url: …, \
             sha256: … }} }}` to `addons` of a Slipway spec, or install it yourself"
        )
    }
}

/// Whether the spec brings the manifest of an add-on.
pub(crate) fn is_brought(cluster: &ClusterInput, name: &str) -> bool {
    addon(cluster, name).is_some_and(|addon| addon.enabled && addon.manifest.is_some())
}

/// The requested add-ons that are not installed, in the order of the names.
pub(crate) fn missing(cluster: &ClusterInput) -> Vec<Missing> {
    let mut missing = Vec::new();
    for addon in cluster.addons.iter().filter(|addon| addon.enabled && addon.manifest.is_none()) {
        let field = format!("addons[{}]", addon.name);
        if !KNOWN.contains(&addon.name.as_str()) {
            missing.push(Missing { name: addon.name.clone(), field });
        } else if addon.name == core_dns::NAME && core_dns::is_replaced(cluster) {
            missing.push(Missing { name: "kube-dns".to_owned(), field });
        }
    }
    let network = cluster.network.cni.name.as_str();
    let is_known = network == flannel::NAME || WITHOUT_OBJECTS.contains(&network);
    if !is_known && addon(cluster, network).is_none_or(|addon| !addon.enabled) {
        missing.push(Missing { name: network.to_owned(), field: "network.cni".to_owned() });
    }
    missing.sort_by(|a, b| a.name.cmp(&b.name));
    missing
}
