//! A cluster with everything that a plan or a run of it needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use slipway_engine::{State, trace};
use slipway_generated_secrets::Vault;
use slipway_plan::{Mode, Plan, Providers, Snapshot};
use slipway_provider_kubernetes::TokenAccess;
use slipway_resource::provider::{Capabilities, Catalog};
use slipway_resource::{ClusterUid, Schema, SecretText};
use slipway_secrets::SecretStore;
use slipway_spec::stored;
use slipway_state_store::{Backend, ClusterName, Head, Journal};
use tracing::Instrument as _;

use crate::access::{ClusterAccess, KnownApi};
use crate::composition::{self, Linked};
use crate::environment::Environment;
use crate::error::Error;
use crate::etcd;
use crate::observe::{self, Event};
use crate::plannable::{Plannable, Planned};
use crate::protection::Known;
use crate::providers::{self, Asked};
use crate::request::Request;
use crate::reversible::{Release, Turn, turn};
use crate::rotation::{self, RotatedKey, rotation};
use crate::secrets::{self, UserSecrets};
use crate::spec::ClusterSpec;
use crate::stage::Stage;
use crate::state::{in_applied_order, protection_of, spec_of, to_json};
use crate::trust::Grounds;

/// A cluster with its state as it was read, its provider, and the policy for names in its spec.
///
/// It does not change. Facts that become known later (the place of the API, the hold on the state) belong to
/// the later stages: a plan, a hold, a run.
pub struct Opened {
    /// The cluster.
    pub spec: ClusterSpec,
    /// The state as it was read, without a hold.
    pub state: Option<State>,
    /// The recorded protection of the cluster from deletion.
    pub protection: Known,
    pub(crate) environment: Environment,
    pub(crate) grounds: Grounds,
    /// The cluster's own provider.
    pub(crate) own: Providers,
    /// The access to the nodes of a cluster that Slipway did not make, if the settings name its API.
    pub(crate) nodes: Option<Arc<TokenAccess>>,
    /// All providers, with the facts from the state.
    pub(crate) stage: Stage,
    /// The gates that do not hold, if an upgrade is taken back because of them.
    pub(crate) broken_gates: Vec<String>,
}

/// The purpose of opening a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To plan for it.
    Plan,
    /// To delete it as a whole.
    Leave,
    /// To make a state for it, whatever the store has.
    MakeState,
}

impl Opened {
    /// Opens state and provider of a cluster. Reads only.
    ///
    /// # Errors
    /// When the state cannot be read, the policy refuses a name in the spec, or the provider cannot be
    /// started.
    pub async fn open(environment: &Environment, spec: ClusterSpec) -> Result<Self, Error> {
        Self::with(environment, spec, Purpose::Plan).await
    }

    /// The same for a cluster that is deleted as a whole.
    ///
    /// # Errors
    /// As [`Opened::open`].
    pub async fn leaving(environment: &Environment, spec: ClusterSpec) -> Result<Self, Error> {
        Self::with(environment, spec, Purpose::Leave).await
    }

    /// Opens the provider of a cluster whose state is not read.
    ///
    /// # Errors
    /// As [`Opened::open`].
    pub(crate) async fn without_state(environment: &Environment, spec: ClusterSpec) -> Result<Self, Error> {
        Self::with(environment, spec, Purpose::MakeState).await
    }

    async fn with(environment: &Environment, spec: ClusterSpec, purpose: Purpose) -> Result<Self, Error> {
        let store = environment.store.as_ref();
        let state = match store.filter(|_| purpose != Purpose::MakeState) {
            Some(store) => State::read(&*store.backend, &spec.cluster.name).await?,
            None => None,
        };
        let spec = in_applied_order(spec, state.as_ref());
        let cluster = &spec.cluster;
        let offline = store.is_none();
        let prior = state.as_ref().map(|state| &state.snapshot);
        let at = |field: &str| spec.place(field).cloned();
        let grounds = Grounds { policy: environment.policy.clone(), tree: spec.tree.clone() };
        let core_settings = |capabilities: Capabilities, schema: &Schema| {
            if !offline && capabilities.hosts {
                grounds.check_hosts(&cluster.all_hosts(), &at)?;
            }
            let place = store.map(|store| store.place.as_str());
            let mut settings = composition::core_settings(capabilities, cluster, prior, place)?;
            if purpose == Purpose::Leave {
                settings.extend(composition::leaving(schema));
            }
            Ok::<_, Error>(settings)
        };
        let asked = Asked { spec: &spec, grounds: &grounds, offline };
        let opened = providers::open(environment, asked, core_settings, &at).await;
        let (own, nodes) = opened.map_err(|error| spec.placed(error))?;
        let nodes = nodes.map(Arc::new);
        let vault = match store {
            Some(store) => Vault::new(
                store.backend.clone(),
                environment.keyring.clone(),
                ClusterName::new(cluster.name.as_str())?,
            ),
            None => Vault::nowhere(cluster.name.as_str()),
        };
        let waits = observe::waits(&environment.observer);
        let linked = Linked::of_state(prior);
        let api = known_api(&own, &spec, (state.as_ref(), nodes.as_ref()), prior);
        let known = (vault.knowing(records(prior)), api, linked);
        let stage = Stage::open(&own, &cluster.name, known, (waits, offline)).await?;
        tracing::info!(
            cluster = %cluster.name,
            provider = %cluster.provider.name,
            generation = state.as_ref().map(|state| state.head.generation.0),
            "state and provider are open"
        );
        let backend = store.map(|store| &*store.backend);
        let protection = protection_of(backend, &cluster.name, state.as_ref()).await?;
        Ok(Self {
            spec,
            state,
            protection,
            environment: environment.clone(),
            grounds,
            own,
            nodes,
            stage,
            broken_gates: Vec::new(),
        })
    }

    /// The same cluster with another spec.
    pub(crate) fn with_spec(self, spec: ClusterSpec) -> Self {
        Self { spec, ..self }
    }

    /// Its providers.
    #[must_use]
    pub fn providers(&self) -> &Providers {
        &self.stage.providers
    }

    /// The access to the API of the cluster, from its state.
    #[must_use]
    pub fn access(&self) -> Arc<ClusterAccess> {
        self.stage.access.clone()
    }

    /// Whether the cluster is on machines that exist already, so that its state has the authority of its API.
    #[must_use]
    pub fn is_on_hosts(&self) -> bool {
        composition::has_hosts(&self.own)
    }

    /// Why credentials for the cluster's API cannot be created, if its state has no authority.
    #[must_use]
    pub fn no_authority(&self) -> Error {
        let cluster = self.spec.cluster.name.to_string();
        if self.is_on_hosts() {
            return Error::NoAuthority { cluster };
        }
        Error::NoApi { cluster, provider: self.spec.cluster.provider.name.clone() }
    }

    /// Whether there is neither a state nor a network.
    #[must_use]
    pub fn is_offline(&self) -> bool {
        self.environment.store.is_none()
    }

    /// Refuses a verb that changes a running cluster where there is none.
    ///
    /// # Errors
    /// [`Error::NotMadeYet`].
    pub fn check_exists(&self, verb: &'static str) -> Result<(), Error> {
        if self.state.as_ref().is_some_and(|state| state.head.snapshot.is_some()) {
            return Ok(());
        }
        let cluster = self.spec.cluster.name.to_string();
        let place = self.environment.store(&cluster)?.place.clone();
        Err(Error::NotMadeYet { cluster, place, verb })
    }

    /// The prior state.
    pub(crate) fn prior(&self) -> Option<&Snapshot> {
        self.state.as_ref().map(|state| &state.snapshot)
    }

    /// The head of the state as it was read.
    pub(crate) fn head(&self) -> Option<&Head> {
        self.state.as_ref().map(|state| &state.head)
    }

    /// Makes a plan for the state as it was read. Writes nothing.
    ///
    /// # Errors
    /// When no plan can be made.
    pub async fn plan(&self, request: &Request) -> Result<Planned, Error> {
        Plannable::plan_from(self, request, self.prior()).await
    }

    /// The providers of another stage.
    pub(crate) async fn stage(
        &self,
        vault: Vault,
        (api, linked): (KnownApi, Linked),
    ) -> Result<Stage, Error> {
        let api = KnownApi { networks: self.grounds.policy.networks().to_vec(), ..api };
        let waits = observe::waits(&self.environment.observer);
        Stage::open(&self.own, &self.spec.cluster.name, (vault, api, linked), (waits, self.is_offline()))
            .await
    }

    /// The source of the texts of secrets.
    pub(crate) fn texts(&self, vault: &Arc<Vault>, manifests: BTreeMap<String, SecretText>) -> UserSecrets {
        UserSecrets {
            folder: self.spec.folder(),
            grounds: self.grounds.clone(),
            sealed: BTreeMap::new(),
            identities: self.environment.identities.clone(),
            manifests,
            vault: vault.clone(),
        }
    }

    /// The providers of all types of a plan, to derive its changes again: those that the plan brings too. For that, none of them calls
    /// the API of the cluster.
    pub(crate) async fn deriving(&self, plan: &Plan) -> Result<Providers, Error> {
        let linked = linked_of(plan, self.prior());
        if linked == Linked::of_state(self.prior()) {
            return Ok(self.providers().clone());
        }
        Ok(self.stage(self.stage.vault.knowing([]), (KnownApi::default(), linked)).await?.providers)
    }

    /// Checks that the policy allows the API at the address in the spec.
    pub(crate) fn check_api(&self, catalogs: &BTreeMap<String, Catalog>) -> Result<(), Error> {
        // Without a state, the API is not called.
        if self.is_offline() || self.grounds.policy.is_untrusted() {
            return Ok(());
        }
        let endpoints = composition::endpoints(&self.spec.cluster, catalogs);
        self.grounds.check_api(endpoints.into_iter().map(|endpoint| endpoint.host))
    }

    /// The recorded facts about the cluster's API.
    pub(crate) fn known_api(&self, mode: Mode, prior: Option<&Snapshot>) -> KnownApi {
        let known = known_api(&self.own, &self.spec, (self.state.as_ref(), self.nodes.as_ref()), prior);
        // Objects in a cluster are deleted with it, even if its API does not answer any more.
        let exists = known.exists && mode != Mode::Delete;
        KnownApi { exists, recorded: exists, ..known }
    }
}

/// The linked providers that a plan and the state need.
fn linked_of(plan: &Plan, prior: Option<&Snapshot>) -> Linked {
    let is_bound = |provider: &str| plan.binding.providers.contains_key(provider);
    let known = Linked::of_state(prior);
    // A plan of a part may leave the keys and the objects out. It was made with their providers all the same, and needs them.
    Linked {
        objects: known.objects || is_bound(providers::KUBERNETES),
        keys: known.keys || is_bound(slipway_generated_secrets::NAME),
    }
}

/// Whether a plan changes something of a provider.
fn changes_of(plan: &Plan, provider: &str) -> bool {
    plan.changes.iter().any(|change| change.provider == provider)
}

/// The facts about the API of a cluster from a state.
fn known_api(
    own: &Providers,
    spec: &ClusterSpec,
    (state, nodes): (Option<&State>, Option<&Arc<TokenAccess>>),
    prior: Option<&Snapshot>,
) -> KnownApi {
    let has_objects = prior.is_some_and(composition::has_objects);
    let exists = prior.is_some_and(|prior| composition::has_api(own, prior));
    let nothing = BTreeMap::new();
    let catalogs = prior.map_or(&nothing, |prior| &prior.catalogs);
    let mut endpoints = prior.map(composition::answered).unwrap_or_default();
    endpoints.extend(composition::endpoints(&spec.cluster, catalogs));
    KnownApi {
        uid: prior.map(|prior| prior.uid.clone()),
        endpoints,
        exists,
        recorded: exists,
        interrupted: state.is_some_and(State::is_interrupted),
        // A placement that cannot be read is refused by the plan.
        rotation: rotation(catalogs, RotatedKey::KubernetesCa).unwrap_or_default(),
        lent: None,
        // An API for which the state can sign credentials also gives access to its nodes.
        nodes: nodes.filter(|_| !has_objects).cloned(),
        networks: Vec::new(),
    }
}

/// The objects that a state names.
pub(crate) fn records(
    prior: Option<&Snapshot>,
) -> impl Iterator<Item = (slipway_resource::Address, slipway_resource::Identity)> {
    let records = prior.into_iter().flat_map(|prior| &prior.resources);
    records.map(|(address, record)| (address.clone(), record.identity.clone()))
}

#[async_trait(?Send)]
impl Plannable for Opened {
    fn cluster(&self) -> &str {
        &self.spec.cluster.name
    }

    fn backend(&self) -> Option<Arc<dyn Backend>> {
        self.environment.store.as_ref().map(|store| store.backend.clone())
    }

    fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    fn spec(&self) -> Result<Option<serde_json::Value>, Error> {
        to_json(&self.spec.cluster).map(Some)
    }

    fn kept_spec(&self, plan: &Plan) -> Result<serde_json::Value, Error> {
        let unreadable = |source| Error::UnreadableSpec { cluster: plan.cluster.clone(), source };
        match stored::read(&plan.spec).map_err(unreadable)? {
            Some(planned) => to_json(&self.spec.found(planned)),
            None => Ok(plan.spec.clone()),
        }
    }

    fn secret_store(&self, uid: &ClusterUid) -> Result<Option<SecretStore>, Error> {
        let Some(backend) = self.backend() else { return Ok(None) };
        secrets::store(&self.environment.keyring, backend, self.cluster(), uid).map(Some)
    }

    async fn plan_from(&self, request: &Request, prior: Option<&Snapshot>) -> Result<Planned, Error> {
        let span = trace::plan(self.cluster());
        let planned = self.plan_for(request, prior).instrument(span.clone()).await;
        if let Some(code) = planned.as_ref().err().and_then(Error::code) {
            span.record(trace::ERROR, code);
        }
        planned.map_err(|error| self.spec.placed(error))
    }

    /// The next observation finds the outcome of a step on an object behind the API, by the object's name. So
    /// an API that does not answer does not prevent a run from being resumed.
    async fn recovering(&self) -> Result<Providers, Error> {
        // The interrupted step may have made the first key or object of a cluster, which then has no record
        // in the state.
        let linked = Linked { objects: true, keys: true };
        Ok(self.stage(self.stage.vault.knowing([]), (KnownApi::default(), linked)).await?.providers)
    }

    /// Saves a snapshot of etcd before a change of the version, and before a rotation. A run that continues one of them saves none:
    /// etcd may not answer. Neither does the way back of a reversible upgrade.
    async fn before_run(&self, plan: &Plan, state: &State) -> Result<Option<Event>, Error> {
        let from = spec_of(&state.snapshot)?.as_ref().map(Release::of);
        let unreadable = |source| Error::UnreadableSpec { cluster: plan.cluster.clone(), source };
        let to = stored::read(&plan.spec).map_err(unreadable)?.as_ref().map(Release::of);
        // A way back does not depend on etcd, whose data stays as it is.
        let is_upgrade =
            from.zip(to).is_some_and(|(from, to)| from != to && turn(&from, &to) != Some(Turn::Back));
        let work = match plan.mode {
            Mode::Apply if is_upgrade => "upgrade",
            Mode::Apply if rotation::begins(plan, &state.snapshot.catalogs)? => "rotation",
            _ => return Ok(None),
        };
        let saved = etcd::before(self, work).await?;
        Ok(saved.map(|saved| Event::SnapshotSaved { name: saved.name, machine: saved.machine }))
    }

    async fn acting(&self, plan: &Plan, journal: &Journal, state: &State) -> Result<Providers, Error> {
        let prior = Some(&state.snapshot);
        let api = self.known_api(plan.mode, prior);
        let vault = self.stage.vault.knowing(records(prior)).held(journal.clone());
        let linked = linked_of(plan, prior);
        // A cluster of which only the nodes are used has no API here, and a part may be without it.
        let known = Linked::of_state(prior);
        let exists = self.is_on_hosts() || known.objects || changes_of(plan, providers::KUBERNETES);
        // Prefer the future address of the API to the earlier one, which may be about to be deleted.
        let api = KnownApi { exists, ..api }
            .first_at(composition::endpoints(&self.spec.cluster, &plan.binding.catalogs));
        Ok(self.stage(vault, (api, linked)).await?.providers)
    }
}
