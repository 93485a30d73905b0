//! The objects inside the cluster: the API that the control planes serve, the objects of its add-ons, and what its nodes read when
//! they join and when their settings change in place.

use slipway_addons::{Facts, NodeGroup, address_name, install};
use slipway_cluster_input::{ClusterInput, Endpoint, Role};
use slipway_resource::{Address, Desired, Path, ProviderError, Value};

use super::build::{Builder, address};
use super::iam::has_termination_queue;
use super::{compute, listed_pools, node_settings, service_accounts, termination, user_data};
use crate::names;

/// The field of the spec that decides where the API is.
const FIELD: &str = "controlPlane.endpoint";

/// The types of the provider `kubernetes`: the API, and an object behind it.
const API: &str = "kubernetes_api";
const OBJECT: &str = "kubernetes_object";

/// The API, and the objects of all add-ons that Slipway knows. The others are named.
pub(super) fn add_ons(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    let addons = install(builder.cluster, &facts(builder));
    let behind: Vec<Address> = api(builder).into_iter().collect();
    for addon in addons.installed {
        for object in addon.objects {
            let attributes = Value::map([("manifest", Value::from_json(&object))]);
            let mut desired = Desired::new(Address::new(OBJECT, address_name(&object)), attributes);
            desired.origins.insert(Path::root(), addon.field.to_owned());
            desired.depends_on.clone_from(&behind);
            builder.add_other(desired);
        }
    }
    for object in listed_pools::objects(builder)? {
        let attributes = Value::map([("manifest", object.manifest)]);
        let mut desired = Desired::new(Address::new(OBJECT, object.name), attributes);
        desired.origins.insert(Path::root(), object.field);
        desired.depends_on.clone_from(&behind);
        builder.add_other(desired);
    }
    // One control plane changes at a time, and workers after all of them.
    let mut behind_settings = behind;
    for object in node_settings::objects(builder) {
        let attributes = Value::map([("manifest", Value::from_json(&object.manifest))]);
        let address = Address::new(OBJECT, address_name(&object.manifest));
        let mut desired = Desired::new(address.clone(), attributes);
        desired.origins.insert(Path::root(), object.field);
        desired.depends_on.clone_from(&behind_settings);
        if object.is_of_control_planes {
            behind_settings.push(address);
        }
        builder.add_other(desired);
    }
    for missing in addons.missing {
        let message = missing.message();
        builder.note(missing.field, message);
    }
    for remark in addons.remarks {
        builder.note(remark.field, remark.message);
    }
    Ok(())
}

/// Adds the API that the control planes serve, at the address by which machines find it. It answers once the machines, the load
/// balancer with its listeners, and the DNS records exist.
fn api(builder: &mut Builder<'_>) -> Option<Address> {
    let mut before = control_planes(builder);
    if before.is_empty() {
        return None;
    }
    before.extend(builder.addresses_of(&["aws_lb_listener", "aws_route53_record"]));
    let (host, port) = (user_data::api_host(builder), api_port(builder.cluster));
    let attributes = Value::map([("host", host), ("port", i64::from(port).into())]);
    let api = Address::new(API, builder.named("api"));
    let mut desired = Desired::new(api.clone(), attributes);
    desired.origins.insert(Path::root(), FIELD.to_owned());
    desired.depends_on = before;
    builder.add_other(desired);
    Some(api)
}

/// The port at which the API is served with its own certificate: a load balancer with a certificate of its own has a second
/// listener for that.
fn api_port(cluster: &ClusterInput) -> u16 {
    match &cluster.control_plane.endpoint {
        Endpoint::Given(given) => given.port,
        Endpoint::LoadBalancer(balancer) if balancer.certificate.is_some() => 8443,
        _ => 443,
    }
}

/// The groups of machines that serve the API.
pub(super) fn control_planes(builder: &Builder<'_>) -> Vec<Address> {
    let cluster = builder.cluster;
    let groups = cluster.pools_with(Role::ControlPlane);
    let groups = groups.map(|pool| address("aws_autoscaling_group", &names::group(pool, &cluster.name)));
    groups.filter(|group| builder.has(group)).collect()
}

fn facts(builder: &Builder<'_>) -> Facts {
    let managed =
        builder.settings.cloud_config.get("manageStorageClasses").and_then(serde_json::Value::as_bool);
    Facts {
        region: builder.catalog.region.clone(),
        roles: service_accounts::component_roles(builder),
        termination_queue: has_termination_queue(builder).then(|| termination::handler_queue_url(builder)),
        node_groups: node_groups(builder),
        storage_classes: managed.unwrap_or(true),
    }
}

/// The groups of workers that the cluster autoscaler may change.
fn node_groups(builder: &Builder<'_>) -> Vec<NodeGroup> {
    let cluster = builder.cluster;
    let pools = cluster.pools_with(Role::Worker).filter(|pool| compute::is_group(builder, pool));
    let groups = pools.filter_map(|pool| {
        let settings = builder.pool_settings(pool);
        let is_scaled = settings.autoscale != Some(false);
        is_scaled.then(|| NodeGroup {
            name: names::group(pool, &cluster.name),
            minimum: pool.size.min(),
            maximum: pool.size.max(),
            priority: settings.autoscale.map(|_| settings.autoscale_priority.unwrap_or_default()),
        })
    });
    groups.collect()
}
