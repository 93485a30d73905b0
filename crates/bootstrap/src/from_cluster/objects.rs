use serde_json::Value as Json;
use slipway_cluster_input::{ClusterInput, Endpoint, Profile, VirtualIpHolder, VirtualIpMode};
use slipway_resource::provider::ExpandNote;
use slipway_resource::{Address, Desired, Digest, Path, Value};

use super::weakened;
use crate::addon::flannel::Flannel;
use crate::audit::Audit;
use crate::hardened;

/// Objects that a user brings as an add-on.
#[derive(Clone, Debug, PartialEq)]
pub struct UserObjects {
    /// The add-on's name.
    pub addon: String,
    /// Its objects, in the order of their dependencies.
    pub objects: Vec<Desired>,
}

/// Add-ons that are made here.
const KNOWN: [&str; 1] = ["coredns"];

/// flannel, where it is the network of pods.
pub(crate) fn flannel(cluster: &ClusterInput) -> Option<Flannel> {
    if cluster.network.cni.name != "flannel" {
        return None;
    }
    match &cluster.network.cni.config {
        Json::Null => Some(Flannel::default()),
        config => Some(serde_json::from_value(config.clone()).unwrap_or_default()),
    }
}

/// The log of requests, where there is one.
pub(crate) fn audit(cluster: &ClusterInput) -> Option<Audit> {
    let audit = &cluster.audit;
    let policy = match cluster.profile {
        Profile::Hardened if audit.policy.is_null() => hardened::audit_policy(),
        _ => audit.policy.clone(),
    };
    audit.enabled.then_some(Audit {
        policy,
        max_age_days: audit.max_age_days,
        max_backups: audit.max_backups,
        max_size_mebibytes: audit.max_size_mebibytes,
    })
}

/// kube-proxy reads its kubeconfig once: its pods are replaced when that changes, as when the endpoint moves. Pods that
/// another tool has started with these settings stay.
pub(super) fn proxies_follow(resources: &mut [Desired], found: Option<&str>) {
    let Some(digest) = settings_of_proxies(resources).filter(|digest| found != Some(digest.as_str())) else {
        return;
    };
    for desired in resources.iter_mut().filter(|desired| is(desired, "DaemonSet/kube-system/kube-proxy")) {
        let Some(manifest) = desired.attributes.get("manifest") else { continue };
        let mut manifest = manifest.to_json();
        manifest["spec"]["template"]["metadata"]["annotations"]["slipway.dev/configuration"] =
            digest.short().into();
        desired.attributes.set(&Path::key("manifest"), Value::from_json(&manifest));
    }
}

/// The digest of the settings that pods of kube-proxy are started with.
#[must_use]
pub fn settings_of_proxies(resources: &[Desired]) -> Option<Digest> {
    let settings = resources.iter().find(|desired| is(desired, "ConfigMap/kube-system/kube-proxy"))?;
    Digest::of(&settings.attributes).ok()
}

fn is(desired: &Desired, name: &str) -> bool {
    desired.address.kind() == "kubernetes_object" && desired.address.name() == name
}

/// The objects that users bring.
pub(super) fn of_users(user: &[UserObjects], after: &[Address]) -> Vec<Desired> {
    let mut resources = Vec::new();
    for UserObjects { addon, objects } in user {
        for object in objects {
            let mut desired = object.clone();
            desired.depends_on.extend(after.iter().cloned());
            desired.origins.insert(Path::root(), format!("addons[{addon}]"));
            resources.push(desired);
        }
    }
    resources
}

/// Remarks for the user: fields without an effect on existing machines.
pub(super) fn notes(cluster: &ClusterInput) -> Vec<ExpandNote> {
    let mut notes = Vec::new();
    let mut note = |field: &str, message: String| {
        notes.push(ExpandNote { field: field.to_owned(), message });
    };
    match cluster.network.cni.name.as_str() {
        "flannel" => {
            if let Err(error) = serde_json::from_value::<Option<Flannel>>(cluster.network.cni.config.clone())
            {
                note(
                    "network.cni.config",
                    format!("flannel does not have these settings, and gets none: {error}"),
                );
            }
        }
        "none" => {}
        other => note(
            "network.cni.name",
            format!(
                "Slipway does not install {other}: nodes become ready when you install it. It installs `flannel`"
            ),
        ),
    }
    for addon in cluster.addons.iter().filter(|addon| addon.enabled && addon.manifest.is_none()) {
        if !KNOWN.contains(&addon.name.as_str()) {
            let message =
                format!("Slipway does not install {} by itself: add a `manifest` of yours", addon.name);
            note(&format!("addons[{}]", addon.name), message);
        }
    }
    for flag in super::configuration::unknown_proxy_flags(cluster) {
        let message =
            format!("kube-proxy is set up by a document that has no field for `{flag}`; it has no effect");
        note("components.proxy.extraArgs", message);
    }
    if let Endpoint::VirtualIp(address) = &cluster.control_plane.endpoint
        && address.holder == VirtualIpHolder::KubeVip
    {
        let message = match address.mode {
            VirtualIpMode::Arp => {
                "kube-vip is rendered as its documentation has it; its image has to be there"
            }
            VirtualIpMode::Bgp => {
                "kube-vip is rendered as its documentation has it; its image has to be there, and the routers have to \
                 accept the nodes as peers"
            }
            VirtualIpMode::Wireguard => {
                "kube-vip is rendered as its documentation has it, as a DaemonSet: nodes reach the API at this address \
                 only when the server at the other end of the tunnels forwards it"
            }
        };
        note("controlPlane.endpoint.virtualIp", message.to_owned());
    }
    notes.extend(weakened::notes(cluster));
    let mut note = |field: &str, message: String| {
        notes.push(ExpandNote { field: field.to_owned(), message });
    };
    if cluster.etcd.iter().any(|etcd| etcd.name != "main") {
        let message = "one etcd cluster keeps everything on machines that exist already".to_owned();
        note("etcd", message);
    }
    notes
}
