//! From a cluster to the objects of its add-ons.

use serde_json::Value;
use slipway_cluster_input::{ClusterInput, IpFamily};

use crate::missing::{self, Missing};
use crate::settings::{Settings, is_enabled};
use crate::{
    Facts, cloud_controller, cluster_autoscaler, core_dns, ebs_csi, flannel, identity, images,
    metrics_server, storage_classes, termination_handler,
};

/// The objects of one add-on.
#[derive(Clone, Debug, PartialEq)]
pub struct Addon {
    /// The name, as in `addons[].name` of a spec.
    pub name: &'static str,
    /// The field of the spec that asks for it.
    pub field: &'static str,
    /// Its objects, as manifests.
    pub objects: Vec<Value>,
}

/// A remark on a field of the spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The field.
    pub field: String,
    /// The remark, a sentence without a full stop.
    pub message: String,
}

/// The add-ons of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Addons {
    /// The installed add-ons.
    pub installed: Vec<Addon>,
    /// The requested add-ons that are not installed.
    pub missing: Vec<Missing>,
    /// Remarks on fields of the spec.
    pub remarks: Vec<Remark>,
}

/// The add-ons of a cluster on AWS.
///
/// Add-ons whose manifest the spec brings are neither installed nor missing: their objects are read from that manifest.
#[must_use]
pub fn install(cluster: &ClusterInput, facts: &Facts) -> Addons {
    let mut addons = Addons { missing: missing::missing(cluster), ..Addons::default() };
    let mut add = |name, field, objects: Vec<Value>| addons.installed.push(Addon { name, field, objects });
    add(cloud_controller::NAME, "components.cloudController", cloud_controller::objects(cluster, facts));
    let has_driver = is_installed(cluster, ebs_csi::NAME);
    if has_driver && Settings::of(cluster, ebs_csi::NAME).flag("managed", true) {
        add(ebs_csi::NAME, "addons[aws-ebs-csi-driver]", ebs_csi::objects(cluster, facts));
    }
    if facts.storage_classes {
        let field = "provider.config.cloudConfig.manageStorageClasses";
        add(storage_classes::NAME, field, storage_classes::objects(has_driver));
    }
    if is_installed(cluster, core_dns::NAME) && !core_dns::is_replaced(cluster) {
        add(core_dns::NAME, "addons[coredns]", core_dns::objects(cluster));
    }
    if is_installed(cluster, termination_handler::NAME) {
        add(
            termination_handler::NAME,
            "addons[node-termination-handler]",
            termination_handler::objects(cluster, facts),
        );
    }
    if is_installed(cluster, cluster_autoscaler::NAME) {
        add(
            cluster_autoscaler::NAME,
            "addons[cluster-autoscaler]",
            cluster_autoscaler::objects(cluster, facts),
        );
    }
    if is_installed(cluster, metrics_server::NAME) {
        add(metrics_server::NAME, "addons[metrics-server]", metrics_server::objects(cluster));
    }
    if cluster.network.cni.name == flannel::NAME && !missing::is_brought(cluster, flannel::NAME) {
        add(flannel::NAME, "network.cni", flannel::objects(cluster));
    }
    addons.remarks = remarks(cluster);
    let registry = cluster.assets.image_registry.as_deref();
    for object in addons.installed.iter_mut().flat_map(|addon| &mut addon.objects) {
        if let Some(registry) = registry {
            images::from_registry(object, registry);
        }
        identity::assume_role(object, |account| facts.roles.as_ref()?.get(account).cloned());
    }
    addons
}

/// The name under which a resource of type `kubernetes_object` has an object, as the provider of these objects forms it:
/// the kind (with its group, where that is not one of Kubernetes' own), the namespace and the name.
#[must_use]
pub fn address_name(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
    let is_built_in =
        matches!(group, "" | "apps" | "autoscaling" | "batch" | "policy") || group.ends_with(".k8s.io");
    let kind = if is_built_in { text("/kind").to_owned() } else { format!("{group}.{}", text("/kind")) };
    format!("{kind}/{}/{}", text("/metadata/namespace"), text("/metadata/name"))
}

/// Whether pods and services have IPv6 addresses only.
pub(crate) fn is_ipv6_only(cluster: &ClusterInput) -> bool {
    cluster.network.ip_family == IpFamily::Ipv6
}

/// Whether Slipway installs an add-on: the cluster has it, and does not bring a manifest of it.
fn is_installed(cluster: &ClusterInput, name: &str) -> bool {
    is_enabled(cluster, name) && !missing::is_brought(cluster, name)
}

fn remarks(cluster: &ClusterInput) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut remark = |field: &str, message: &str| {
        remarks.push(Remark { field: field.to_owned(), message: message.to_owned() });
    };
    if is_installed(cluster, core_dns::NAME)
        && Settings::of(cluster, core_dns::NAME).get("stubDomains").is_some()
    {
        remark(
            "addons[coredns].config.stubDomains",
            "CoreDNS does not use stubDomains; write the whole Corefile as externalCoreFile instead",
        );
    }
    if is_installed(cluster, metrics_server::NAME)
        && !Settings::of(cluster, metrics_server::NAME).flag("insecure", true)
    {
        remark(
            "addons[metrics-server].config.insecure",
            "the certificate of metrics-server is requested from cert-manager: it needs the Issuer \
             metrics-server.addons.k8s.io in kube-system, which this plan does not create",
        );
    }
    remarks
}
