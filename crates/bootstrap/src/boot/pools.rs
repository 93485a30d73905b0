//! The list of pools whose machines may become nodes. The plan of a cluster writes it, and control planes read it before they give a
//! machine the credential of a node.

/// The name of the ConfigMap in `kube-system` with the list.
pub const POOLS: &str = "slipway-pools";

/// The key of the ConfigMap with the template that the machines of a pool are launched from, as the cloud identifies it.
#[must_use]
pub fn template_key(pool: &str) -> String {
    // Names of pools have no dot.
    format!("{pool}.template")
}

/// The key of the ConfigMap with the role that the machines of a pool have in the cloud. Without the key, it is not checked.
#[must_use]
pub fn role_key(pool: &str) -> String {
    format!("{pool}.role")
}
