//! Admission plug-ins of the API server: `AdmissionConfiguration` of apiserver.config.k8s.io/v1.

use serde_json::{Value, json};
use slipway_cluster_input::PodSecurity;

use crate::yaml;

/// The text of the configuration: the Pod Security Standards, and limits on events if they are asked for.
#[must_use]
pub fn configuration(pod_security: Option<&PodSecurity>, limits_events: bool) -> String {
    let mut plugins = Vec::new();
    if let Some(settings) = pod_security {
        plugins.push(json!({"name": "PodSecurity", "configuration": standards(settings)}));
    }
    if limits_events {
        plugins.push(json!({"name": "EventRateLimit", "configuration": events()}));
    }
    yaml::to_string(&json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": plugins,
    }))
}

fn standards(settings: &PodSecurity) -> Value {
    json!({
        "apiVersion": "pod-security.admission.config.k8s.io/v1",
        "kind": "PodSecurityConfiguration",
        "defaults": {
            "enforce": settings.enforce.as_str(),
            "enforce-version": "latest",
            "audit": settings.audit.as_str(),
            "audit-version": "latest",
            "warn": settings.warn.as_str(),
            "warn-version": "latest",
        },
        "exemptions": {"namespaces": settings.exempt_namespaces},
    })
}

/// Limits that a kubelet with its own defaults (50 events a second, 100 at once) does not meet, and that a loop of one
/// user or in one namespace does. The plug-in's API has been `v1alpha1` since Kubernetes 1.9.
fn events() -> Value {
    json!({
        "apiVersion": "eventratelimit.admission.k8s.io/v1alpha1",
        "kind": "Configuration",
        "limits": [
            {"type": "Namespace", "qps": 100, "burst": 1000, "cacheSize": 2000},
            {"type": "User", "qps": 50, "burst": 200, "cacheSize": 2000},
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_asked_for_is_configured() {
        let both = configuration(Some(&PodSecurity::default()), true);
        assert!(both.contains("enforce: baseline\n") && both.contains("warn: restricted\n"), "{both}");
        assert!(both.contains("namespaces:\n") && both.contains("- kube-system\n"), "{both}");
        assert!(both.contains("name: EventRateLimit\n"), "{both}");
        let alone = configuration(Some(&PodSecurity::default()), false);
        assert!(!alone.contains("EventRateLimit"), "{alone}");
        assert!(!configuration(None, true).contains("PodSecurity"));
    }
}
