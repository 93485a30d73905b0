//! A session: the inventory, and the agents of its hosts.

mod act;
mod actual;
mod instances;
mod locate;
mod lost;
mod plan;
mod preflight;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use slipway_bootstrap::from_cluster::Placement;
use slipway_bootstrap::preflight::Questions;
use slipway_resource::provider::{
    Applied, ApplyRequest, Catalog, CatalogRequest, DiscoverRequest, Discovery, EventSink, ExpandRequest,
    Expansion, InstanceAnswer, InstancesRequest, LocateRequest, Located, PlanItem, Planned, PreflightFinding,
    PreflightItem, ReadRequest, Resolution, ResumeRequest, Scope,
};
use slipway_resource::{Identity, Observed, Path, ProviderError, Schema, Session, Token, Value};

use slipway_provider_sdk::cluster;

use crate::agents::Agents;
use crate::catalog::catalog;
use crate::config::Config;
use crate::error::{invalid, not_found};
use crate::expand::expand;
use crate::inventory::Inventory;
use crate::schema::HOST;

/// The work on the hosts of a configuration.
pub(crate) struct HostsSession {
    pub(crate) config: Arc<Config>,
    pub(crate) agents: Agents,
    pub(crate) inventory: Option<Inventory>,
    pub(crate) offline: bool,
    /// Plans for the inside of any host.
    planner: Arc<dyn Session>,
    /// The types of a node.
    node: Arc<Schema>,
    schema: Arc<Schema>,
    scope: Scope,
    /// The questions for each machine before it becomes a node, from the last expanded cluster.
    questions: Mutex<BTreeMap<String, Questions>>,
}

impl HostsSession {
    pub(crate) fn new(
        config: Config,
        offline: bool,
        planner: Arc<dyn Session>,
        node: Arc<Schema>,
        schema: Arc<Schema>,
    ) -> Result<Self, ProviderError> {
        let inventory = match &config.state {
            Some(url) if !offline => Some(Inventory::open(url)?),
            _ => None,
        };
        let config = Arc::new(config);
        let agents = Agents::new(Arc::clone(&config));
        Ok(Self {
            config,
            agents,
            inventory,
            offline,
            planner,
            node,
            schema,
            scope: Scope::default(),
            questions: Mutex::default(),
        })
    }

    fn inventory(&self) -> Result<&Inventory, ProviderError> {
        self.inventory.as_ref().ok_or_else(|| {
            invalid("there is no inventory to claim hosts from")
                .with_hint("`state` in the provider's configuration names the state store that has it")
        })
    }

    /// Stores the questions of the preflight checks for each machine. A cluster that cannot be expanded has
    /// no questions; the expansion reports the error.
    fn remember_questions(&self, request: &ExpandRequest) {
        let cluster = cluster::read(&request.cluster).ok().map(|received| received.cluster);
        let placement = Placement::of(&request.catalog.data).ok().flatten();
        let questions = cluster.zip(placement).and_then(|(cluster, placement)| {
            slipway_bootstrap::from_cluster::questions(&cluster, &placement).ok()
        });
        if let Ok(mut kept) = self.questions.lock() {
            *kept = questions.unwrap_or_default();
        }
    }

    /// The questions about a machine.
    fn questions_about(&self, host: &str) -> Option<Questions> {
        self.questions.lock().ok()?.get(host).cloned()
    }

    /// Whether a type is that of a node's inside.
    fn is_inside(&self, kind: &str) -> bool {
        self.node.types.contains_key(kind)
    }
}

/// The identity of an object inside a host: the host, and the identity that its agent has.
pub(crate) fn identity_on(host: &str, identity: &Identity) -> Identity {
    Identity::new(format!("{host}:{identity}"))
}

/// The host of an object inside a host, by its identity; `None` for an identity of another form.
#[must_use]
pub fn host_of(identity: &Identity) -> Option<&str> {
    identity.as_str().split_once(':').map(|(host, _)| host)
}

/// The host and the agent's identity of an object inside a host.
fn split(identity: &Identity) -> Result<(&str, Identity), ProviderError> {
    let unknown = || not_found(format!("{identity} names no object of a host"));
    let (host, inner) = identity.as_str().split_once(':').ok_or_else(unknown)?;
    Ok((host, Identity::new(inner)))
}

/// Attributes as an agent has them, without the host; and the host.
fn without_host(attributes: &Value) -> (Value, Option<String>) {
    let host = attributes.get(HOST).and_then(Value::as_str).map(ToOwned::to_owned);
    let mut inner = attributes.clone();
    if let Value::Map(entries) = &mut inner {
        entries.remove(HOST);
    }
    (inner, host)
}

/// Attributes with the host that the object is on.
fn with_host(mut attributes: Value, host: &str) -> Value {
    if !attributes.is_null() {
        attributes.set(&Path::key(HOST), host.into());
    }
    attributes
}

#[async_trait]
impl Session for HostsSession {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        catalog(&slipway_bootstrap::from_cluster::Placement::default(), &[])
    }

    async fn catalog_for(&self, request: CatalogRequest) -> Result<Catalog, ProviderError> {
        self.place(request).await
    }

    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError> {
        self.remember_questions(&request);
        expand(request)
    }

    async fn discover(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        self.look(request).await
    }

    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        self.read_all(requests).await
    }

    async fn locate(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        self.look_for(request).await
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        self.plan_all(items).await
    }

    async fn preflight(&self, items: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        self.check(items).await
    }

    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        self.act(request, events).await
    }

    async fn resume(&self, request: ResumeRequest, events: EventSink) -> Result<Resolution, ProviderError> {
        self.find_again(request, events).await
    }

    async fn cancel(&self, token: Option<Token>) -> Result<(), ProviderError> {
        self.cancel_on_hosts(token).await
    }

    async fn upgrade_state(
        &self,
        kind: &str,
        version: u32,
        attributes: Value,
    ) -> Result<Value, ProviderError> {
        self.schema.of_version(kind, version, attributes)
    }

    async fn instances(&self, request: InstancesRequest) -> Result<Vec<InstanceAnswer>, ProviderError> {
        self.find_instances(&request).await
    }

    async fn close(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_inside_a_host_names_the_host() {
        let inside = identity_on("cp-1", &Identity::new("/etc/kubernetes/admin.conf"));
        assert_eq!(host_of(&inside), Some("cp-1"));
        assert_eq!(host_of(&Identity::new("cp-1")), None);
    }
}
