//! The libraries combined in one process, as in the program: for laws that are tried many times, and for
//! simulated time with tokio's paused clock.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use slipway_engine::{
    Backoff, EventHandler, NoSecrets, Report, Run, SecretSource, State, StopSignal, Watch, observe, recover,
};
use slipway_plan::file::Mode;
use slipway_plan::{Inputs, Options, Plan, ProviderHandle, ProviderPin, Providers};
use slipway_provider_sim::Sim;
use slipway_provider_sim::inspect::Inventory;
use slipway_resource::provider::{CatalogRequest, ExpandRequest, SessionRequest};
use slipway_resource::{Digest, Provider, Value};
use slipway_spec::model::Cluster;
use slipway_spec::source::SourceFile;
use slipway_state_store::{Acquire, Backend, ClusterName, Holder, Identity, MemoryBackend, SystemClock};
use tempfile::TempDir;

/// A simulated cloud, a state in memory, and a provider.
pub struct Lab {
    directory: TempDir,
    provider: Arc<dyn Provider>,
    backend: Arc<dyn Backend>,
    /// Settings of the simulated cloud over those of the spec.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// The handler for events of runs.
    pub events: EventHandler,
    /// How reads are repeated.
    pub watch: Watch,
    /// How actions are repeated.
    pub backoff: Backoff,
    /// How old the reads may be by which steps check their objects.
    pub read_age: Duration,
    /// Where the texts of secrets come from.
    pub secrets: Arc<dyn SecretSource>,
}

impl Lab {
    /// A lab with the embedded provider.
    ///
    /// # Errors
    /// When no directory can be made.
    pub fn new() -> Result<Self> {
        Self::with(Arc::new(Sim))
    }

    /// A lab with a provider that speaks for a simulated cloud.
    ///
    /// # Errors
    /// When no directory can be made.
    pub fn with(provider: Arc<dyn Provider>) -> Result<Self> {
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }?;
        Ok(Self {
            directory,
            provider,
            backend: Arc::new(MemoryBackend::new()),
            settings: serde_json::Map::new(),
            events: EventHandler::discard(),
            watch: Watch::default(),
            backoff: Backoff::default(),
            read_age: slipway_engine::READ_AGE,
            secrets: Arc::new(NoSecrets),
        })
    }

    /// Where the simulated cloud is.
    #[must_use]
    pub fn cloud(&self) -> PathBuf {
        self.directory.path().join("cloud")
    }

    /// The objects in the simulated cloud.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn inventory(&self) -> Result<Inventory> {
        Ok(Inventory::open(self.cloud())?)
    }

    /// Works with another provider from now on, on the same cloud and with the same state.
    pub fn use_provider(&mut self, provider: Arc<dyn Provider>) {
        self.provider = provider;
    }

    /// Forgets the state, as if the store had been lost.
    pub fn lose_state(&mut self) {
        self.backend = Arc::new(MemoryBackend::new());
    }

    /// The stored state, with its journal replayed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn state(&self, cluster: &str) -> Result<Option<State>> {
        Ok(State::read(&*self.backend, cluster).await?)
    }

    /// A plan that brings the cluster to a spec.
    ///
    /// # Errors
    /// When there is none.
    pub async fn plan(&self, cluster: &Cluster) -> Result<Plan> {
        Ok(self.planned(cluster, Mode::Apply, Options::default()).await?.1)
    }

    /// A plan of any kind.
    ///
    /// # Errors
    /// When there is none.
    pub async fn plan_with(&self, cluster: &Cluster, mode: Mode, options: Options) -> Result<Plan> {
        Ok(self.planned(cluster, mode, options).await?.1)
    }

    async fn planned(&self, cluster: &Cluster, mode: Mode, options: Options) -> Result<(Providers, Plan)> {
        let state = State::read(&*self.backend, &cluster.name).await?;
        let providers = self.open(cluster).await?;
        let plan = self.plan_from(cluster, mode, options, &providers, state.as_ref()).await?;
        Ok((providers, plan))
    }

    async fn plan_from(
        &self,
        cluster: &Cluster,
        mode: Mode,
        options: Options,
        providers: &Providers,
        state: Option<&State>,
    ) -> Result<Plan> {
        let handle = providers.get("sim").context("the provider")?;
        let prior = state.map(|state| &state.snapshot);
        let spec = serde_json::to_value(cluster)?;
        let mut catalogs = std::collections::BTreeMap::new();
        let mut desired = Vec::new();
        if mode == Mode::Apply {
            let pinned = prior.and_then(|prior| prior.catalogs.get("sim").cloned());
            let request = CatalogRequest { cluster: cluster.to_provider()?, pinned };
            let catalog = handle.session.catalog_for(request).await?;
            catalogs.insert("sim".to_owned(), catalog.clone());
            let request = ExpandRequest { cluster: cluster.to_provider()?, catalog };
            desired = handle.session.expand(request).await?.resources;
        }
        let observed = observe(&cluster.name, providers, prior, &desired).await?;
        let name = ClusterName::new(cluster.name.as_str())?;
        let head = slipway_state_store::read_head(&*self.backend, &name).await?;
        let inputs = Inputs {
            cluster: &cluster.name,
            uid: observed.uid,
            mode,
            spec,
            changed: Vec::new(),
            desired,
            notes: Vec::new(),
            prior,
            generation: head.map(|(head, _)| head.generation.0),
            observations: observed.observations,
            providers,
            catalogs,
            uncompared: std::collections::BTreeMap::new(),
            options,
            locate: &|_| None,
        };
        Ok(slipway_plan::plan(inputs).await?)
    }

    /// Brings the cluster to a spec.
    ///
    /// # Errors
    /// When no plan can be made or the run cannot begin; a step that fails is in the report.
    pub async fn apply(&self, cluster: &Cluster) -> Result<(Plan, Report)> {
        self.run(cluster, Mode::Apply, Options::default()).await
    }

    /// Removes the cluster, backups too.
    ///
    /// # Errors
    /// As [`Lab::apply`].
    pub async fn delete(&self, cluster: &Cluster) -> Result<(Plan, Report)> {
        self.run(cluster, Mode::Delete, Options { delete_retained: true, ..Options::default() }).await
    }

    /// Carries a plan of any kind out, everything confirmed.
    ///
    /// # Errors
    /// As [`Lab::apply`].
    pub async fn run(&self, cluster: &Cluster, mode: Mode, options: Options) -> Result<(Plan, Report)> {
        let providers = self.open(cluster).await?;
        let name = ClusterName::new(cluster.name.as_str())?;
        let seen = observe(&cluster.name, &providers, None, &[]).await?.uid;
        let uid = match seen {
            Some(uid) => slipway_state_store::ClusterUid::new(uid.as_str())?,
            None => slipway_state_store::ClusterUid::random()?,
        };
        let acquire = Acquire::new(Identity::current("lab", "apply")).create(uid);
        let holder = Holder::acquire(self.backend.clone(), &name, acquire, Arc::new(SystemClock)).await?;
        let (state, plan) = match self.planned_under(&holder, cluster, mode, options, &providers).await {
            Ok(planned) => planned,
            Err(error) => {
                holder.release(None).await?;
                return Err(error);
            }
        };
        let addresses = plan.changes.iter().map(|change| change.address.to_string());
        let confirmed = addresses.chain([plan.cluster.clone()]).collect();
        let run = Run {
            spec: plan.spec.clone(),
            plan: &plan,
            providers: &providers,
            state,
            secrets: self.secrets.clone(),
            store: None,
            confirmed,
            observed_at: Some(tokio::time::Instant::now()),
            read_age: self.read_age,
            parallelism: None,
            backoff: self.backoff,
            events: self.events.clone(),
            stop: StopSignal::default(),
            who: "lab".to_owned(),
            clock: Arc::new(SystemClock),
        };
        let report = run.execute(holder).await?;
        Ok((plan, report))
    }

    /// Resolves the steps of an interrupted run, then plans.
    async fn planned_under(
        &self,
        holder: &Holder,
        cluster: &Cluster,
        mode: Mode,
        options: Options,
        providers: &Providers,
    ) -> Result<(State, Plan)> {
        let mut state = State::of_view(&cluster.name, holder.read().await?)?;
        recover(holder, &mut state, providers, false).await?;
        let known = state.head.snapshot.is_some() || state.is_interrupted();
        let plan = self.plan_from(cluster, mode, options, providers, Some(&state).filter(|_| known)).await?;
        Ok((state, plan))
    }

    async fn open(&self, cluster: &Cluster) -> Result<Providers> {
        let mut config = cluster.provider.config.as_object().cloned().unwrap_or_default();
        config.extend(self.settings.clone());
        config.insert("directory".to_owned(), json!(self.cloud()));
        let config = Value::from_json(&config.into());
        let info = self.provider.info().await?;
        let schema = self.provider.schema().await?;
        let request =
            SessionRequest { config: config.clone(), region: cluster.region.clone(), offline: false };
        let watch = self.watch.clone();
        let session = slipway_engine::open_session("sim", &*self.provider, request, watch).await?;
        let pin = ProviderPin {
            version: info.version.clone(),
            schema_digest: Digest::of(&*schema)?,
            scope: session.scope().clone(),
            config,
        };
        let mut providers = Providers::default();
        providers.insert("sim", ProviderHandle { session, schema, info, pin });
        Ok(providers)
    }
}

/// The clusters of some spec text.
///
/// # Errors
/// When it has problems; all of them are in the message.
pub fn clusters(text: &str) -> Result<Vec<Cluster>> {
    let loaded = slipway_spec::load_files(vec![SourceFile::new("spec.yaml", text)], &[]);
    ensure!(loaded.is_valid(), "{}", slipway_spec::diagnostic::render_all(&loaded.diagnostics));
    Ok(loaded.clusters)
}

/// The one cluster of some spec text.
///
/// # Errors
/// When it has problems or not one cluster.
pub fn cluster(text: &str) -> Result<Cluster> {
    let mut all = clusters(text)?;
    ensure!(all.len() == 1, "{} clusters", all.len());
    all.pop().context("a cluster")
}
