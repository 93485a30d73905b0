//! The nodes of the cluster, joined to the machines of rolls.

use std::collections::BTreeMap;
use std::sync::Arc;

use slipway_resource::provider::{Fate, Node, NodeReference, Rollout, operation};
use slipway_resource::schema::Part;
use slipway_resource::{Address, Identity, ProviderError, ResourceType};

use crate::change::MachineNode;
use crate::providers::Providers;
use crate::state::Snapshot;

/// The nodes as a provider of nodes listed them.
type Listed = Result<Arc<Vec<Node>>, ProviderError>;

/// The nodes of the cluster. Each provider of nodes is called at most once for a plan, and only if machines
/// are deleted.
pub(crate) struct Nodes<'a> {
    providers: &'a Providers,
    /// The state, which has the nodes that an earlier run cordoned.
    prior: Option<&'a Snapshot>,
    listed: BTreeMap<String, Listed>,
}

/// Which steps a roll has beside `surge` and `remove`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Gates {
    /// None: the machines are no nodes, or nothing is known of their nodes.
    #[default]
    None,
    /// Those of the type of the pool, whose provider names no nodes.
    OfPool,
    /// Those of the nodes.
    OfNodes {
        /// The type of nodes.
        kind: String,
        /// The machines that are nodes.
        by_member: BTreeMap<Identity, MachineNode>,
    },
}

impl<'a> Nodes<'a> {
    /// No nodes are read yet.
    pub fn new(providers: &'a Providers, prior: Option<&'a Snapshot>) -> Self {
        Self { providers, prior, listed: BTreeMap::new() }
    }

    /// Asks for the nodes that a roll needs; nothing if no machine of it leaves or is a node.
    ///
    /// # Errors
    /// When the nodes cannot be read.
    pub async fn read(&mut self, pool: &Address, rollout: &Rollout) -> Result<(), ProviderError> {
        if !rollout.has_leaving() || !names_nodes(rollout) {
            return Ok(());
        }
        match self.provider(pool) {
            Some((name, _)) => self.list(&name).await.map(drop),
            None => Ok(()),
        }
    }

    /// Joins the nodes to the machines of a roll: names, readiness and what blocks drains. Returns the gates of the roll, and
    /// whether its machines are nodes of which nothing is known. A machine that leaves, and whose node an earlier run cordoned, takes
    /// no pods: it counts as not ready, so that it leaves first.
    ///
    /// # Errors
    /// When the nodes cannot be read.
    pub async fn join(
        &mut self,
        pool: &Address,
        rollout: &mut Rollout,
        declared: &ResourceType,
    ) -> Result<(Gates, bool), ProviderError> {
        if !names_nodes(rollout) {
            let own = declared.operations.contains_key(operation::VERIFY);
            return Ok((if own { Gates::OfPool } else { Gates::None }, false));
        }
        let Some((provider, kind)) = self.provider(pool) else { return Ok((Gates::None, true)) };
        let nodes = self.list(&provider).await?;
        let mut by_member = BTreeMap::new();
        for member in &mut rollout.members {
            let Some(reference) = &member.node else { continue };
            let Some(node) = find(&nodes, reference) else {
                // A machine that is to be a node, and has not joined the cluster.
                member.ready = false;
                continue;
            };
            member.name.clone_from(&node.name);
            let address = Address::new(kind.as_str(), node.name.as_str());
            let is_left = member.fate != Fate::Keep && self.is_left_cordoned(&address, &node.identity);
            member.ready &= node.ready && !is_left;
            member.blockers.clone_from(&node.blockers);
            let node = MachineNode { address, identity: node.identity.clone() };
            by_member.insert(member.identity.clone(), node);
        }
        Ok((Gates::OfNodes { kind, by_member }, false))
    }

    /// The node of a kubelet that changes, and what blocks its drain; none where no such node has joined the cluster, or nodes
    /// cannot take pods again after a drain.
    ///
    /// # Errors
    /// When the nodes cannot be read.
    pub async fn of_kubelet(
        &mut self,
        kubelet: &Address,
        name: &str,
    ) -> Result<Option<(MachineNode, Vec<String>)>, ProviderError> {
        let Some((provider, kind)) = self.provider(kubelet) else { return Ok(None) };
        let declared = self.providers.of_type(&kind).map(|(_, _, declared)| declared);
        if !declared.is_some_and(|kind| kind.operations.contains_key(operation::UNCORDON)) {
            return Ok(None);
        }
        let nodes = self.list(&provider).await?;
        let found = nodes.iter().find(|node| node.name == name);
        Ok(found.map(|node| {
            let address = Address::new(kind.as_str(), node.name.as_str());
            (MachineNode { address, identity: node.identity.clone() }, node.blockers.clone())
        }))
    }

    /// Whether a node exists and can be made schedulable again. A node that cannot be read is left to a later plan.
    pub async fn has(&mut self, node: &Address, identity: &Identity) -> bool {
        let Some((provider, _, declared)) = self.providers.of_type(node.kind()) else { return false };
        if !declared.operations.contains_key(operation::UNCORDON) {
            return false;
        }
        let provider = provider.to_owned();
        let nodes = self.list(&provider).await;
        nodes.is_ok_and(|nodes| nodes.iter().any(|found| found.identity == *identity))
    }

    /// Whether an earlier run cordoned a node, and neither deleted its machine nor made it schedulable again.
    fn is_left_cordoned(&self, node: &Address, identity: &Identity) -> bool {
        let cordoned = self.prior.and_then(|prior| prior.cordoned.get(node));
        cordoned.is_some_and(|cordoned| cordoned.identity == *identity)
    }

    /// The provider of the nodes of a pool, and its type of nodes: the provider of the pool itself if it knows nodes.
    fn provider(&self, pool: &Address) -> Option<(String, String)> {
        let own = self.providers.of_type(pool.kind()).map(|(name, _, _)| name);
        let mut knowing: Vec<_> =
            self.providers.iter().filter(|(_, handle)| handle.info.capabilities.nodes).collect();
        knowing.sort_by_key(|(name, _)| own != Some(*name));
        let (name, handle) = knowing.first()?;
        let is_node = |kind: &ResourceType| kind.roles.iter().any(|role| role.part == Part::Node);
        let (kind, _) = handle.schema.types.iter().find(|(_, kind)| is_node(kind))?;
        Some(((*name).to_owned(), kind.clone()))
    }

    async fn list(&mut self, provider: &str) -> Listed {
        if let Some(listed) = self.listed.get(provider) {
            return listed.clone();
        }
        let Some(handle) = self.providers.get(provider) else { return Ok(Arc::default()) };
        let listed = handle.session.nodes().await.map(Arc::new);
        self.listed.insert(provider.to_owned(), listed.clone());
        listed
    }
}

fn names_nodes(rollout: &Rollout) -> bool {
    rollout.members.iter().any(|member| member.node.is_some())
}

fn find<'n>(nodes: &'n [Node], reference: &NodeReference) -> Option<&'n Node> {
    nodes.iter().find(|node| reference.is(&node.name, node.provider_id.as_deref()))
}
