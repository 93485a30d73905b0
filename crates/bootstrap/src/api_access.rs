//! Anonymous requests to the API server: `AuthenticationConfiguration` of apiserver.config.k8s.io.

use serde_json::json;

use crate::yaml;

/// The paths of the server's health, which the kubelet and load balancers read.
const HEALTH: [&str; 3] = ["/livez", "/readyz", "/healthz"];

/// The ConfigMap with which nodes find the cluster before they have credentials.
const DISCOVERY: &str = "/api/v1/namespaces/kube-public/configmaps/cluster-info";

/// The text of a configuration that allows anonymous requests for health and for discovery only.
#[must_use]
pub fn for_discovery_only() -> String {
    let mut open = HEALTH.to_vec();
    open.push(DISCOVERY);
    only_for(&open)
}

/// The text of a configuration that allows anonymous requests for health only.
#[must_use]
pub fn for_health_only() -> String {
    only_for(&HEALTH)
}

fn only_for(paths: &[&str]) -> String {
    let conditions: Vec<_> = paths.iter().map(|path| json!({"path": path})).collect();
    yaml::to_string(&json!({
        "apiVersion": "apiserver.config.k8s.io/v1beta1",
        "kind": "AuthenticationConfiguration",
        "anonymous": {"enabled": true, "conditions": conditions},
    }))
}
