use serde_json::{Map, Value, json};
use slipway_cluster_input::Profile;

use crate::configuration::Configuration;
use crate::expand::Facts;
use crate::hardened;
use crate::patch::{PatchError, Patches, Target};
use crate::shape::KUBELET;
use crate::yaml;

/// The tenth address of services, when the range of services has none.
const DEFAULT_CLUSTER_DNS: &str = "10.96.0.10";
const RESOLVED: &str = "/run/systemd/resolve/resolv.conf";

/// Whether Slipway alone generated the configuration: then it may be generated again for another release.
#[must_use]
pub fn generated(configuration: &Configuration) -> bool {
    configuration.kubelet.is_none()
}

/// The configuration with every default, without fields of a single node.
fn complete(configuration: &Configuration, facts: &Facts) -> Value {
    let cluster = &configuration.cluster;
    let mut settings = configuration.kubelet.clone().unwrap_or_default();
    let dns = cluster.networking.dns_service_address();
    let dns = dns.map_or_else(|| DEFAULT_CLUSTER_DNS.to_owned(), |address| address.to_string());
    default(&mut settings, "staticPodPath", "/etc/kubernetes/manifests".into());
    default(&mut settings, "clusterDNS", json!([dns]));
    default(&mut settings, "clusterDomain", cluster.networking.dns_domain.clone().into());
    default(&mut settings, "healthzBindAddress", "127.0.0.1".into());
    default(&mut settings, "healthzPort", 10248.into());
    default(&mut settings, "cgroupDriver", "systemd".into());
    let ca = format!("{}/ca.crt", cluster.certificates_dir);
    deep_default(&mut settings, &["authentication", "x509", "clientCAFile"], ca.into());
    deep_default(&mut settings, &["authentication", "anonymous", "enabled"], false.into());
    deep_default(&mut settings, &["authentication", "webhook", "enabled"], true.into());
    deep_default(&mut settings, &["authorization", "mode"], "Webhook".into());
    // Without rotation of its certificate, a kubelet stops after a year.
    settings.insert("rotateCertificates".to_owned(), true.into());
    if facts.systemd_resolved {
        default(&mut settings, "resolvConf", RESOLVED.into());
    }
    if configuration.profile.has_own_defaults() {
        // The API server can then authenticate the kubelets from which it requests logs. Requests are checked
        // against the known names and addresses of the node.
        default(&mut settings, "serverTLSBootstrap", true.into());
    }
    if configuration.profile == Profile::Hardened {
        for (field, value) in hardened::kubelet() {
            default(&mut settings, field, value);
        }
    }
    settings.insert("apiVersion".to_owned(), "kubelet.config.k8s.io/v1beta1".into());
    settings.insert("kind".to_owned(), "KubeletConfiguration".into());
    KUBELET.encode(Some(&Value::Object(settings)))
}

fn default(settings: &mut Map<String, Value>, key: &str, value: Value) {
    let missing = match settings.get(key) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    };
    if missing {
        settings.insert(key.to_owned(), value);
    }
}

fn deep_default(settings: &mut Map<String, Value>, path: &[&str], value: Value) {
    match path {
        [] => {}
        [key] => default(settings, key, value),
        [key, rest @ ..] => {
            let mut inner = match settings.remove(*key) {
                Some(Value::Object(inner)) => inner,
                _ => Map::new(),
            };
            deep_default(&mut inner, rest, value);
            settings.insert((*key).to_owned(), inner.into());
        }
    }
}

/// The text in the ConfigMap `kubelet-config`: for every node, so without the endpoint of a container
/// runtime.
#[must_use]
pub fn config_map_text(configuration: &Configuration, facts: &Facts) -> String {
    yaml::to_string(&complete(configuration, facts))
}

/// The text of `/var/lib/kubelet/config.yaml`: patched, and with this node's container runtime.
///
/// # Errors
/// When a patch does not fit.
pub fn config_file(
    configuration: &Configuration,
    facts: &Facts,
    patches: &Patches,
) -> Result<String, PatchError> {
    let mut settings = patches.apply(Target::Kubelet, complete(configuration, facts))?;
    if local_socket(configuration)
        && let Some(settings) = settings.as_object_mut()
    {
        let socket = configuration.node.cri_socket.clone().unwrap_or_default();
        settings.insert("containerRuntimeEndpoint".to_owned(), socket.into());
    }
    Ok(yaml::to_string(&settings))
}

/// The text of `/var/lib/kubelet/instance-config.yaml`; `None` where the endpoint of the container runtime is
/// a flag.
#[must_use]
pub fn instance_config(configuration: &Configuration) -> Option<String> {
    let socket = configuration.node.cri_socket.clone().unwrap_or_default();
    local_socket(configuration)
        .then(|| format!("containerRuntimeEndpoint: {}\n", super::flags::quoted(&socket)))
}

pub(super) fn local_socket(configuration: &Configuration) -> bool {
    configuration.cluster.feature_gate("NodeLocalCRISocket")
}
