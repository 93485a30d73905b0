use slipway_cluster_input::{ClusterInput, Endpoint as Wanted};

use super::{FromClusterError, Placement};
use crate::configuration::LocalEndpoint;

/// The port of the API servers on machines.
pub(super) const PORT: u16 = 6443;

/// Where nodes and users reach the API of a cluster.
///
/// # Errors
/// When it is to be a load balancer, which nobody makes for machines that exist already, or when nobody was elected.
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
