use slipway_cluster_input::{ClusterInput, Endpoint as Wanted};

use super::{FromClusterError, Placement};
use crate::configuration::LocalEndpoint;

/// The port of the API servers on machines.
pub(super) const PORT: u16 = 6443;

/// The endpoint of a cluster's API for nodes and users.
///
/// # Errors
/// When it is a load balancer, which Slipway does not create for existing machines, or when no host was
/// elected.
pub fn endpoint(cluster: &ClusterInput, placement: &Placement) -> Result<LocalEndpoint, FromClusterError> {
    match &cluster.control_plane.endpoint {
        Wanted::Given(given) => Ok(LocalEndpoint { host: given.host.clone(), port: given.port }),
        Wanted::VirtualIp(address) => {
            Ok(LocalEndpoint { host: address.address.to_string(), port: address.port })
        }
        Wanted::Elected {} => {
            let elected = placement.elected();
            let none = || FromClusterError::NoControlPlane(cluster.name.clone());
            Ok(LocalEndpoint { host: elected.ok_or_else(none)?.address.to_string(), port: PORT })
        }
        Wanted::LoadBalancer(_) => Err(FromClusterError::LoadBalancer(cluster.name.clone())),
    }
}
