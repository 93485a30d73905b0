//! The list of pools whose machines may become nodes. Control planes give the credential of a node to machines of these pools only.

use slipway_bootstrap::boot::{POOLS, role_key, template_key};
use slipway_cluster_input::Role;
use slipway_resource::Value;

use super::build::{Builder, address, id_of};
use super::topology::names_machines;
use super::{compute, iam};
use crate::names;

/// The name and the manifest of the ConfigMap with the list. `None` where no machine asks a control plane for a credential.
pub(super) fn object(builder: &Builder<'_>) -> Option<(String, Value)> {
    let cluster = builder.cluster;
    if !names_machines(cluster) {
        return None;
    }
    let mut data: Vec<(String, Value)> = Vec::new();
    for pool in cluster.pools_with(Role::Worker).filter(|pool| compute::is_group(builder, pool)) {
        let template = id_of(&address("aws_launch_template", &names::group(pool, &cluster.name)));
        data.push((template_key(&pool.name), template));
        if let Some(role) = iam::pool_role(builder, pool) {
            data.push((role_key(&pool.name), role.into()));
        }
    }
    if data.is_empty() {
        return None;
    }
    let metadata = Value::map([("name", POOLS), ("namespace", "kube-system")]);
    let manifest = Value::map([
        ("apiVersion", Value::from("v1")),
        ("kind", "ConfigMap".into()),
        ("metadata", metadata),
        ("data", Value::map(data)),
    ]);
    Some((format!("ConfigMap/kube-system/{POOLS}"), manifest))
}
