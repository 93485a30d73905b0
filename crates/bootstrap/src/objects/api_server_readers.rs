use serde_json::{Value, json};

use super::rbac::{NODES, group, role_and_binding};

/// Lets nodes read the `EndpointSlice` with the addresses of all API servers.
#[must_use]
pub fn api_server_readers() -> [Value; 2] {
    let subjects = vec![group(NODES)];
    let [mut role, binding] =
        role_and_binding("default", "slipway:api-servers", "endpointslices", "kubernetes", subjects);
    role["rules"][0]["apiGroups"] = json!(["discovery.k8s.io"]);
    [role, binding]
}
