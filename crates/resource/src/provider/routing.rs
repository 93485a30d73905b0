//! Routes to the pods of the nodes of a running cluster, as a cloud controller asks for them.

use async_trait::async_trait;
use ipnet::IpNet;

use super::balancing::NodeTarget;
use super::nodes::NodeReference;
use crate::ProviderError;

/// Routes to the pods of nodes. Declared as [`Capabilities::routes`](super::Capabilities::routes).
///
/// Every call may come again, also after its effect.
#[async_trait]
pub trait Routes: Send + Sync {
    /// All routes of a cluster, sorted by destination. Changes nothing.
    ///
    /// # Errors
    /// When the list would not be complete.
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, ProviderError>;

    /// Creates a route. One that exists with the same target is a success.
    ///
    /// # Errors
    /// `conflict` if the destination has a route to another target, `not-found` if the target does not exist.
    async fn create(&self, cluster: &str, route: &NewRoute) -> Result<(), ProviderError>;

    /// Deletes a route, if it still has the target that it was listed with. One that does not exist is a success.
    ///
    /// # Errors
    /// As the cloud says.
    async fn delete(&self, cluster: &str, route: &Route) -> Result<(), ProviderError>;
}

/// A route that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its name in the cloud.
    pub name: String,
    /// The range of the pods.
    pub destination: IpNet,
    /// The node; `None` if the cloud does not know it any more.
    pub target: Option<NodeReference>,
    /// Whether the target does not exist any more.
    pub blackhole: bool,
}

/// A route to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRoute {
    /// A text that is unique to the node, for clouds that name routes.
    pub name_hint: String,
    /// The range of the pods.
    pub destination: IpNet,
    /// The node.
    pub target: NodeTarget,
}
