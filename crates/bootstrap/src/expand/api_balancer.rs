//! The node-local balancer in front of the API servers.

use std::net::SocketAddr;

use slipway_resource::{Address, Value};

use super::kubeconfigs::ROTATED;
use super::phased::{Resources, refer};
use crate::configuration::{ApiBalancer, Configuration};
use crate::objects;

/// The resource's type, and its name on a node.
pub(super) const KIND: &str = "api_balancer";
pub(super) const NAME: &str = "node";

/// The balancer of a node, if the cluster has them: created after the CA's certificate, and before every client of it.
pub(super) fn add(
    resources: &mut Resources,
    configuration: &Configuration,
    authority_path: &str,
    after: &[Address],
) -> Option<Address> {
    let balancer = configuration.cluster.api_balancer.as_ref()?;
    let node = &configuration.node;
    let own = SocketAddr::new(node.advertise_address, node.bind_port);
    let mut attributes = vec![
        ("listen", Value::from(ApiBalancer::endpoint().to_string())),
        ("members", Value::list(balancer.members.iter().map(ToString::to_string))),
        ("endpoint", configuration.server_endpoint().url().into()),
        ("ca_path", authority_path.into()),
        ("client_path", ROTATED.into()),
    ];
    if configuration.is_control_plane() {
        attributes.push(("own", own.to_string().into()));
    }
    Some(resources.add("kubelet-start", KIND, NAME, attributes, &refer(after)))
}

/// Lets nodes read which API servers there are.
pub(super) fn readers(resources: &mut Resources, configuration: &Configuration, after: &[&Address]) {
    if configuration.cluster.api_balancer.is_some() {
        for object in objects::api_server_readers() {
            resources.object("upload-config/kubelet", &object, after);
        }
    }
}
