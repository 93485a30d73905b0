//! Settings of the profile `hardened`: those that pass the CIS Kubernetes Benchmark, where they differ from the defaults of
//! `slipway`. The numbers in comments are checks of the benchmark's table for Kubernetes 1.32 to 1.34 (version 1.12).

use serde_json::{Value, json};
use slipway_cluster_input::ComponentName;

use crate::configuration::{ClusterSettings, Etcd, set_missing};
use crate::yaml;

/// The account that the folder of etcd's data belongs to (1.1.12).
pub const ETCD_ACCOUNT: &str = "etcd";

/// The path of the administrator's kubeconfig of kubeadm.
pub const ADMINISTRATOR: &str = "/etc/kubernetes/admin.conf";

/// The cipher suites of TLS 1.2: authenticated encryption with forward secrecy. Those of TLS 1.3 cannot be configured in Go,
/// and are all as strong.
pub const CIPHER_SUITES: [&str; 4] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
];

/// The oldest version of TLS, by its name in flags of Kubernetes.
const OLDEST_TLS: &str = "VersionTLS12";

fn tls() -> [(&'static str, String); 2] {
    [("tls-cipher-suites", CIPHER_SUITES.join(",")), ("tls-min-version", OLDEST_TLS.to_owned())]
}

/// Flags of a component that its user may set to other values.
#[must_use]
pub fn flags(component: ComponentName) -> Vec<(&'static str, String)> {
    match component {
        ComponentName::ApiServer => api_server(true),
        // 1.3.1: Kubernetes' own default, in words.
        ComponentName::ControllerManager => {
            let mut flags = vec![("terminated-pod-gc-threshold", "12500".to_owned())];
            flags.extend(tls());
            flags
        }
        ComponentName::Scheduler => tls().into(),
        ComponentName::Etcd => vec![("cipher-suites", CIPHER_SUITES.join(","))],
        ComponentName::Proxy | ComponentName::Kubelet | ComponentName::CloudController => Vec::new(),
    }
}

/// Flags of the API server. Events are limited only where Slipway writes the plug-in's configuration.
#[must_use]
pub fn api_server(limits_events: bool) -> Vec<(&'static str, String)> {
    let mut plugins = vec!["NodeRestriction", "DenyServiceExternalIPs"];
    if limits_events {
        plugins.push("EventRateLimit");
    }
    // 1.2.3, 1.2.9, 1.2.14
    let mut flags = vec![("enable-admission-plugins", plugins.join(","))];
    // 1.2.30: a token ends after an hour also where its pod does not read the new one.
    flags.push(("service-account-extend-token-expiration", "false".to_owned()));
    // 1.2.29
    flags.extend(tls());
    flags
}

/// Sets the flags of the controller manager, the scheduler and etcd that the user has not set.
pub fn restrict(cluster: &mut ClusterSettings) {
    set_missing(&mut cluster.controller_manager.extra_args, flags(ComponentName::ControllerManager));
    set_missing(&mut cluster.scheduler.extra_args, flags(ComponentName::Scheduler));
    if let Etcd::Local(etcd) = &mut cluster.etcd {
        set_missing(&mut etcd.extra_args, flags(ComponentName::Etcd));
    }
}

/// Fields of the kubelet's configuration that the user may set to other values.
#[must_use]
pub fn kubelet() -> [(&'static str, Value); 9] {
    [
        // It checks kernel parameters and does not set them; `slipway_spec::model::KUBELET_SYSCTLS` are set before.
        ("protectKernelDefaults", true.into()),
        // 4.2.14
        ("seccompDefault", true.into()),
        // 4.2.13
        ("podPidsLimit", 4096.into()),
        // 4.2.12
        ("tlsCipherSuites", json!(CIPHER_SUITES)),
        ("tlsMinVersion", OLDEST_TLS.into()),
        // 4.2.5
        ("streamingConnectionIdleTimeout", "30m0s".into()),
        // 4.2.6
        ("makeIPTablesUtilChains", true.into()),
        // 4.2.8: the kubelet's own default, in words.
        ("eventRecordQPS", 50.into()),
        ("enableProfilingHandler", false.into()),
    ]
}

/// The audit policy (3.2.1, 3.2.2): metadata of everything, so that no body of a Secret or a token is logged, and in
/// addition the bodies of changes of permissions and of admission, and of requests that enter a container.
#[must_use]
pub fn audit_policy() -> Value {
    let change = json!(["create", "update", "patch", "delete", "deletecollection"]);
    json!({
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "RequestResponse", "verbs": change, "resources": [
                {"group": "rbac.authorization.k8s.io"},
                {"group": "admissionregistration.k8s.io"},
            ]},
            {"level": "Request", "resources": [
                {"group": "", "resources": ["pods/attach", "pods/exec", "pods/portforward", "pods/proxy",
                    "services/proxy", "nodes/proxy"]},
            ]},
            {"level": "Metadata"},
        ],
    })
}

/// The text of a kubeconfig that names the cluster and has no credentials (1.1.13, 1.1.14).
#[must_use]
pub fn kubeconfig_without_credentials(cluster: &str, server: &str) -> String {
    let kubeconfig = yaml::to_string(&json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": {
            "certificate-authority": "/etc/kubernetes/pki/ca.crt", "server": server,
        }}],
    }));
    format!(
        "# No administrator's credentials are kept on machines of this cluster: `slipway kubeconfig {cluster}` makes some\n\
         # that are valid for eight hours.\n{kubeconfig}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Audit;

    #[test]
    fn no_body_of_a_secret_is_logged() {
        let text = Audit { policy: audit_policy(), ..Audit::default() }.policy_text();
        assert!(text.starts_with("apiVersion: audit.k8s.io/v1\nkind: Policy\n"), "{text}");
        assert!(!text.contains("secrets") && text.trim_end().ends_with("- level: Metadata"), "{text}");
    }

    #[test]
    fn the_administrators_file_has_nobody() {
        let text = kubeconfig_without_credentials("a", "https://192.0.2.1:6443");
        assert!(!text.contains("user") && text.contains("server: https://192.0.2.1:6443\n"), "{text}");
    }
}
