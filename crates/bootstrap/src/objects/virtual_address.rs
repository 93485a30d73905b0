use serde_json::{Value, json};

use super::rbac::{role_and_binding, user};
use super::{SYSTEM, metadata};

/// The Lease whose holder has the virtual address of the API.
pub const VIRTUAL_ADDRESS_LEASE: &str = "slipway-virtual-address";

/// The user that control planes take part in the election as.
pub const VIRTUAL_ADDRESS_USER: &str = "slipway:virtual-address";

/// Lets control planes elect the one that has the virtual address, also while other clients flood the API servers. The creation of an
/// object cannot be limited to a name.
#[must_use]
pub fn virtual_address_holders() -> [Value; 3] {
    let subjects = vec![user(VIRTUAL_ADDRESS_USER)];
    let [mut role, binding] =
        role_and_binding(SYSTEM, VIRTUAL_ADDRESS_USER, "leases", VIRTUAL_ADDRESS_LEASE, subjects);
    let group = "coordination.k8s.io";
    role["rules"] = json!([
        {"apiGroups": [group], "resourceNames": [VIRTUAL_ADDRESS_LEASE], "resources": ["leases"], "verbs": ["get", "update"]},
        {"apiGroups": [group], "resources": ["leases"], "verbs": ["create"]},
    ]);
    let flow = json!({
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema",
        "metadata": metadata(None, VIRTUAL_ADDRESS_LEASE),
        "spec": {
            "distinguisherMethod": {"type": "ByUser"},
            "matchingPrecedence": 100,
            "priorityLevelConfiguration": {"name": "leader-election"},
            "rules": [{
                "resourceRules": [{
                    "apiGroups": [group], "namespaces": [SYSTEM], "resources": ["leases"],
                    "verbs": ["create", "get", "update"],
                }],
                "subjects": [{"kind": "User", "user": {"name": VIRTUAL_ADDRESS_USER}}],
            }],
        },
    });
    [role, binding, flow]
}
