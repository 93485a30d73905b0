//! Facts for add-ons that only the provider of a cluster's cloud knows.

use std::collections::BTreeMap;

/// The provider's facts about a cluster's cloud, for the add-ons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The region, as in `eu-west-1`.
    pub region: String,
    /// The ARNs of the roles that service accounts of `kube-system` have, by the names of the accounts; `None` where pods
    /// use the role of their machine.
    pub roles: Option<BTreeMap<String, String>>,
    /// The URL of the queue with events about machines; `None` where the termination handler asks each machine's metadata.
    pub termination_queue: Option<String>,
    /// The groups of workers that an autoscaler may change, in the order of their names.
    pub node_groups: Vec<NodeGroup>,
    /// Whether the add-ons include storage classes.
    pub storage_classes: bool,
}

/// A group of workers whose size an autoscaler may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGroup {
    /// The name of the group in the cloud.
    pub name: String,
    /// The least number of nodes.
    pub minimum: u32,
    /// The greatest number of nodes.
    pub maximum: u32,
    /// The priority in the `priority` expander; `None` where the pool does not say that it is scaled.
    pub priority: Option<i64>,
}

impl Facts {
    /// Whether pods have roles of their own, so that those which call the cloud may run on any node.
    pub(crate) const fn has_roles(&self) -> bool {
        self.roles.is_some()
    }
}
