//! Anonymous requests to the API server: `AuthenticationConfiguration` of apiserver.config.k8s.io.

use serde_json::json;

use crate::yaml;

/// The paths for anonymous requests: health, which the kubelet reads, and the ConfigMap with which nodes find
/// the cluster before they have credentials.
const OPEN: [&str; 4] =
    ["/livez", "/readyz", "/healthz", "/api/v1/namespaces/kube-public/configmaps/cluster-info"];

/// The text of a configuration that allows no other path.
#[must_use]
pub fn for_discovery_only() -> String {
    let conditions: Vec<_> = OPEN.iter().map(|path| json!({"path": path})).collect();
    yaml::to_string(&json!({
        "apiVersion": "apiserver.config.k8s.io/v1beta1",
        "kind": "AuthenticationConfiguration",
        "anonymous": {"enabled": true, "conditions": conditions},
    }))
}
