//! A session with one cluster's API.

mod act;
mod allocation;
mod delete;
mod discover;
mod dry_run;
mod endpoint;
mod node;
mod node_gates;
mod parent;
mod plan;
mod read;
mod serving;
mod settings;
mod wait;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use async_trait::async_trait;
use slipway_provider_sdk::{Running, cluster};
use slipway_resource::provider::{
    Applied, ApplyRequest, Catalog, DiscoverRequest, Discovery, DryRun, EventSink, ExpandRequest, Expansion,
    LocateRequest, Located, Node, PlanItem, Planned, PreflightFinding, PreflightItem, ReadRequest,
    Resolution, ResumeRequest, Scope,
};
use slipway_resource::{Address, ClusterUid, Observed, ProviderError, Session, Token, Value};

use crate::api::{Catalogue, Connection, Connector, Request, Resource};
use crate::manifest::invalid;
use crate::object::{GroupKind, text};
use crate::schema::schema;
use parent::Parents;

/// How long a catalogue without a kind is trusted: kinds appear and disappear with their definitions.
const CATALOGUE_AGE: std::time::Duration = std::time::Duration::from_secs(2);

/// A session with one cluster's API.
pub(crate) struct KubernetesSession {
    scope: Scope,
    connector: Connector,
    /// The connection for nodes, where it is another one.
    nodes: Option<Connector>,
    catalogue: tokio::sync::Mutex<Option<(Arc<Catalogue>, Instant)>>,
    parents: Parents,
    running: Running,
    /// The cluster whose objects were discovered last.
    cluster: Mutex<Option<ClusterUid>>,
    /// The refusals of the server, by address, from the last dry run of each.
    refusals: Mutex<HashMap<Address, PreflightFinding>>,
}

impl KubernetesSession {
    /// A session; nothing is read or written yet.
    pub(crate) fn new(scope: Scope, connector: Connector, nodes: Option<Connector>) -> Self {
        Self {
            scope,
            connector,
            nodes,
            catalogue: tokio::sync::Mutex::default(),
            parents: Parents::default(),
            running: Running::default(),
            cluster: Mutex::default(),
            refusals: Mutex::default(),
        }
    }

    /// The connection for reads and actions about nodes.
    fn of_nodes(&self) -> &Connector {
        self.nodes.as_ref().unwrap_or(&self.connector)
    }

    /// Which cluster a connection leads to: the uid of its `kube-system`, which no cluster shares or changes.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn account(connector: &Connector) -> Result<String, ProviderError> {
        let connection = connector.required().await?;
        let namespace = connection.send(&Request::get("/api/v1/namespaces/kube-system")).await?.body()?;
        Ok(text(&namespace, "/metadata/uid").unwrap_or_default().to_owned())
    }

    /// The catalogue of the API, as it was read last.
    async fn catalogue(&self, connection: &Connection) -> Result<Arc<Catalogue>, ProviderError> {
        let mut cached = self.catalogue.lock().await;
        if let Some((catalogue, _)) = cached.as_ref() {
            return Ok(Arc::clone(catalogue));
        }
        let catalogue = Arc::new(Catalogue::read(connection).await?);
        *cached = Some((Arc::clone(&catalogue), Instant::now()));
        Ok(catalogue)
    }

    /// A resource. If the catalogue does not contain it, the catalogue is read again, since a definition may
    /// be new. `None` when the API does not serve it.
    async fn resource(
        &self,
        connection: &Connection,
        kind: &GroupKind,
        version: Option<&str>,
    ) -> Result<Option<Resource>, ProviderError> {
        let known = self.catalogue(connection).await?;
        if let Some(resource) = known.resource(kind, version) {
            return Ok(Some(resource.clone()));
        }
        let mut cached = self.catalogue.lock().await;
        if cached.as_ref().is_none_or(|(_, read)| read.elapsed() >= CATALOGUE_AGE) {
            *cached = Some((Arc::new(Catalogue::read(connection).await?), Instant::now()));
        }
        Ok(cached.as_ref().and_then(|(catalogue, _)| catalogue.resource(kind, version).cloned()))
    }

    /// Discards the catalogue, so that its next use reads it again.
    async fn forget_catalogue(&self) {
        *self.catalogue.lock().await = None;
    }
}

/// A type that is not in the schema.
fn unknown_type(address: &Address) -> ProviderError {
    invalid(format!("{} is not a type of provider kubernetes", address.kind())).with_address(address)
}

#[async_trait]
impl Session for KubernetesSession {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        Catalog::empty()
    }

    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError> {
        // The core and the cluster's own provider expand the objects that run in a cluster.
        Ok(Expansion { notes: cluster::check(&request.cluster)?, ..Expansion::default() })
    }

    async fn discover(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        self.discover_owned(&request).await
    }

    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        self.read_all(&requests).await
    }

    async fn locate(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        self.locate_all(request).await
    }

    async fn nodes(&self) -> Result<Vec<Node>, ProviderError> {
        self.list_nodes().await
    }

    async fn dry_run(&self, items: Vec<PlanItem>) -> Result<Vec<DryRun>, ProviderError> {
        self.dry_run_all(items).await
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        items.iter().map(plan::plan).collect()
    }

    async fn preflight(&self, items: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        self.preflight_all(&items).await
    }

    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        let address = request.ownership.address.clone();
        let ticket = self.running.begin(&request.token);
        self.act(&request, &events, ticket).await.map_err(|error| error.with_address(&address))
    }

    async fn resume(&self, request: ResumeRequest, events: EventSink) -> Result<Resolution, ProviderError> {
        self.resume_one(&request, &events).await
    }

    async fn cancel(&self, token: Option<Token>) -> Result<(), ProviderError> {
        self.running.stop(token.as_ref());
        Ok(())
    }

    async fn upgrade_state(
        &self,
        kind: &str,
        version: u32,
        attributes: Value,
    ) -> Result<Value, ProviderError> {
        schema().of_version(kind, version, attributes)
    }

    async fn close(&self) -> Result<(), ProviderError> {
        self.running.stop(None);
        Ok(())
    }
}
