use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Pod Security Standards (`PodSecurityConfiguration` of pod-security.admission.config.k8s.io/v1) that apply to
/// namespaces without labels of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PodSecurity {
    /// Pods that do not meet this level are refused.
    pub enforce: PodSecurityLevel,
    /// Pods that do not meet this level are marked in the audit log.
    pub audit: PodSecurityLevel,
    /// Users who create pods that do not meet this level are warned.
    pub warn: PodSecurityLevel,
    /// Namespaces in which nothing is checked.
    pub exempt_namespaces: Vec<String>,
}

impl Default for PodSecurity {
    fn default() -> Self {
        Self {
            enforce: PodSecurityLevel::Baseline,
            audit: PodSecurityLevel::Restricted,
            warn: PodSecurityLevel::Restricted,
            exempt_namespaces: vec!["kube-system".to_owned()],
        }
    }
}

/// A level of the Pod Security Standards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PodSecurityLevel {
    /// Everything is allowed.
    Privileged,
    /// Known privilege escalations are refused.
    Baseline,
    /// Pods must follow the current best practices.
    Restricted,
}
