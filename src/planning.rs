//! From a wanted cluster to a plan: state, provider, expansion, observation.

use std::collections::BTreeMap;
use std::sync::Arc;

use slipway_builtin::Vault;
use slipway_engine::{Observed, State, look};
use slipway_plan::file::Mode;
use slipway_plan::{Inputs, Observations, Options, Plan, Providers, Reason, ReasonCode, Snapshot};
use slipway_resource::provider::{Catalog, CatalogRequest, ExpandNote, ExpandRequest, PreflightFinding};
use slipway_resource::{ClusterUid, Desired, Observation, Schema, Value};
use slipway_secrets::Keyring;
use slipway_spec::model::Cluster;
use slipway_state_store::{Backend, ClusterName};
use tokio::time::Instant;

use crate::access::ClusterAccess;
use crate::cli::ScopeArguments;
use crate::composition::{self, Manifests};
use crate::error::CommandError;
use crate::health;
use crate::program::Context;
use crate::protection;
use crate::providers::{self, Asked};
use crate::secrets::{self, UserSecrets};
use crate::specs::Wanted;
use crate::trust::Grounds;
use crate::upgrade;
use crate::version_change::{self, VersionChange};

/// What to plan.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub mode: Mode,
    pub options: Options,
    /// Against nothing, without state and credentials.
    pub offline: bool,
    /// Pools to roll although nothing differs; none for no roll.
    pub roll: Option<Vec<String>>,
    /// For an upgrade: what the plan is narrowed to, and what it leaves out.
    pub version_change: Option<VersionChange>,
    /// For a deletion: whether a run may have taken the protection away that did not complete.
    pub unprotect: bool,
}

impl Request {
    /// A plan that brings a cluster to its spec.
    pub fn apply(scope: &ScopeArguments, preflight: bool) -> Self {
        let options = Options {
            targets: scope.target.clone(),
            replace: scope.replace.clone(),
            preflight,
            ..Options::default()
        };
        Self {
            mode: Mode::Apply,
            options,
            offline: false,
            roll: None,
            version_change: None,
            unprotect: false,
        }
    }
}

/// A cluster with everything that a plan or a run of it needs.
pub(crate) struct Prepared {
    pub wanted: Wanted,
    pub providers: Providers,
    pub backend: Option<Arc<dyn Backend>>,
    /// The user's keys.
    pub keyring: Arc<Keyring>,
    /// Where the texts of secrets come from.
    pub texts: UserSecrets,
    /// The state as it was read, without a hold.
    pub state: Option<State>,
    /// What the state knows of the cluster's protection from deletion.
    pub protection: protection::Known,
    /// The secrets that the cluster keeps itself.
    pub vault: Arc<Vault>,
    /// The way to the API of a cluster whose authority is among them.
    pub access: Arc<ClusterAccess>,
}

/// A plan and when its observations were made.
pub(crate) struct Planned {
    pub plan: Plan,
    pub observed_at: Instant,
    /// The unique id found in the cloud, when the state does not have one.
    pub uid: Option<ClusterUid>,
}

impl Prepared {
    /// Opens state and provider of a cluster. Reads only.
    pub async fn open(context: &Context, wanted: Wanted, offline: bool) -> Result<Self, CommandError> {
        let backend = if offline { None } else { Some(context.backend()?) };
        let state = match &backend {
            Some(backend) => State::read(&**backend, &wanted.cluster.name).await?,
            None => None,
        };
        Self::with(context, wanted, backend, state, false).await
    }

    /// The same of a cluster that goes as a whole.
    pub async fn leaving(context: &Context, wanted: Wanted) -> Result<Self, CommandError> {
        let backend = context.backend()?;
        let state = State::read(&*backend, &wanted.cluster.name).await?;
        Self::with(context, wanted, Some(backend), state, true).await
    }

    /// Opens the provider of a cluster whose state is not to be read.
    pub async fn without_state(context: &Context, wanted: Wanted) -> Result<Self, CommandError> {
        let backend = Some(context.backend()?);
        Self::with(context, wanted, backend, None, false).await
    }

    async fn with(
        context: &Context,
        wanted: Wanted,
        backend: Option<Arc<dyn Backend>>,
        state: Option<State>,
        leaving: bool,
    ) -> Result<Self, CommandError> {
        let cluster = &wanted.cluster;
        let offline = backend.is_none();
        let prior = state.as_ref().map(|state| &state.snapshot);
        let place = (!offline).then(|| context.state_url());
        let at = |field: &str| wanted.place(field).cloned();
        let grounds = Grounds { policy: context.policy.clone(), tree: wanted.tree.clone() };
        let told = |schema: &Schema| {
            if !offline && schema.config.contains_key("hosts") {
                grounds.check_hosts(&cluster.all_hosts(), &at)?;
            }
            composition::told(schema, cluster, prior, place.as_deref(), leaving)
        };
        let asked = Asked { wanted: &wanted, grounds: &grounds, offline };
        let mut providers = providers::open(context, asked, told, &at).await?;
        let vault = Arc::new(match &backend {
            Some(backend) => {
                Vault::new(backend.clone(), context.keyring(), ClusterName::new(cluster.name.as_str())?)
            }
            None => Vault::nowhere(cluster.name.as_str()),
        });
        let access = Arc::new(ClusterAccess::new(vault.clone(), &cluster.name));
        composition::complete(context.output.waits(), &mut providers, &vault, &access, offline).await?;
        tracing::info!(
            cluster = %cluster.name,
            provider = %cluster.provider.name,
            generation = state.as_ref().map(|state| state.head.generation.0),
            "state and provider are open"
        );
        let texts = UserSecrets {
            folder: wanted.folder(),
            grounds,
            sealed: BTreeMap::new(),
            encryption: context.configuration.encryption.clone(),
            manifests: Arc::default(),
            vault: vault.clone(),
        };
        let protection = protection_of(backend.as_deref(), &wanted.cluster.name, state.as_ref()).await?;
        let keyring = context.keyring();
        Ok(Self { wanted, providers, backend, keyring, texts, state, protection, vault, access })
    }

    /// Makes a plan for the state as it was read. Writes nothing.
    pub async fn plan(&self, request: &Request) -> Result<Planned, CommandError> {
        self.plan_from(request, self.state.as_ref().map(|state| &state.snapshot)).await
    }

    /// Makes a plan against a given state.
    pub async fn plan_from(
        &self,
        request: &Request,
        prior: Option<&Snapshot>,
    ) -> Result<Planned, CommandError> {
        let cluster = &self.wanted.cluster;
        if let Some(prior) = prior {
            slipway_engine::check_account(prior, &self.providers)?;
        }
        if request.mode == Mode::Apply {
            upgrade::check_version_change(prior, cluster)?;
            if request.options.is_partial() || request.roll.is_some() {
                upgrade::check_partial(prior, cluster)?;
            }
            if self.providers.iter().any(|(_, handle)| composition::works_on_hosts(&handle.schema)) {
                composition::refuse_without_effect(&self.wanted)?;
            }
        }
        let mut catalogs = prior.map(|prior| prior.catalogs.clone()).unwrap_or_default();
        self.check_api(&catalogs)?;
        self.know(request.mode, prior, &catalogs);
        // An interrupted run may have left an API, and not where it is: that is known after the expansion.
        let leads_nowhere =
            prior.is_some_and(composition::has_api) && composition::endpoints(cluster, &catalogs).is_empty();
        let wanted = async {
            match request.mode {
                Mode::Delete => Ok((Vec::new(), Vec::new())),
                Mode::Apply | Mode::Drift => self.expand(&mut catalogs).await,
            }
        };
        // What is there does not depend on what is wanted, but for what the spec names.
        let there = async {
            if request.offline {
                return Ok(None);
            }
            look(&cluster.name, &self.providers, prior).await.map(Some)
        };
        let (wanted, there) = if leads_nowhere {
            let wanted = wanted.await;
            self.check_api(&catalogs)?;
            self.access.also_at(composition::endpoints(cluster, &catalogs));
            (wanted, there.await)
        } else {
            tokio::join!(wanted, there)
        };
        let (mut desired, mut notes) = wanted?;
        let mut beside = match &request.version_change {
            Some(change) => Some(change.expand(self, prior).await?),
            None => None,
        };
        notes.extend(self.said_of_version(request, prior).await?);
        // Where it will be reached is known now; where it was stays known, should nobody answer there yet.
        self.check_api(&catalogs)?;
        self.access.also_at(composition::endpoints(cluster, &catalogs));
        let observed = match there? {
            None => {
                let observations = supposed(&desired, &self.providers);
                Observed { observations, uid: None, at: Instant::now() }
            }
            Some(looked) => {
                let written = beside.iter().flat_map(|beside| &beside.written);
                let all: Vec<Desired> = desired.iter().chain(written).cloned().collect();
                looked.complete(&self.providers, prior, &all).await?
            }
        };
        let generation = match &self.backend {
            Some(backend) => generation(&**backend, &cluster.name).await?,
            None => None,
        };
        let uid = observed.uid.clone();
        if prior.is_none() && generation.is_none() && !request.offline {
            self.refuse_unknown(&observed)?;
        }
        let mut uncompared = BTreeMap::new();
        if let (Some(uid), Some(backend)) = (&uid, &self.backend) {
            let store = secrets::store(&self.keyring, backend.clone(), &cluster.name, uid)?;
            let found = secrets::compare(&mut desired, prior, uid, &store, &self.texts).await?;
            notes.extend(found.notes);
            uncompared = found.resources;
            if let Some(beside) = &mut beside {
                let found = secrets::compare(&mut beside.written, prior, uid, &store, &self.texts).await?;
                beside.uncompared = found.resources;
            }
        }
        let locate = |field: &str| self.wanted.locate(field);
        let mut options = request.options.clone();
        options.preflight &= !request.offline;
        let missing = match options.preflight {
            true => secrets::missing(&desired, prior, &self.texts),
            false => Vec::new(),
        };
        options.roll = request.roll.clone();
        options.only = beside.as_ref().map(|beside| version_change::brings(&beside.at_from, &desired));
        let observations = beside.as_ref().map(|_| observed.observations.clone());
        let mut spec = to_json(cluster)?;
        if request.mode == Mode::Apply {
            let is_partial = options.is_partial();
            notes.extend(protection::planned(self.protection, &mut spec, is_partial));
        }
        let inputs = Inputs {
            cluster: &cluster.name,
            uid: uid.clone(),
            mode: request.mode,
            spec,
            desired,
            notes,
            prior,
            generation,
            observations: observed.observations,
            providers: &self.providers,
            catalogs,
            uncompared,
            options,
            locate: &locate,
        };
        let mut plan = match slipway_plan::plan(inputs).await {
            Ok(plan) => plan,
            Err(error) => return Err(self.explained(error).await),
        };
        if let (Some(change), Some(beside), Some(observations)) =
            (&request.version_change, beside, observations)
        {
            let whole = Inputs {
                cluster: &cluster.name,
                uid: uid.clone(),
                mode: request.mode,
                spec: to_json(&change.written.cluster)?,
                desired: beside.written,
                notes: Vec::new(),
                prior,
                generation,
                observations,
                providers: &self.providers,
                catalogs: beside.catalogs,
                uncompared: beside.uncompared,
                options: Options::default(),
                locate: &locate,
            };
            version_change::name_left_out(&mut plan, slipway_plan::plan(whole).await);
        }
        let is_changed = |finding: &PreflightFinding| {
            plan.changes.iter().any(|change| Some(&change.address) == finding.address.as_ref())
        };
        let missing: Vec<PreflightFinding> = missing.into_iter().filter(is_changed).collect();
        plan.findings.extend(missing);
        if request.mode == Mode::Delete {
            self.say_what_goes_along(&mut plan);
        }
        let (changes, steps) = (plan.changes.len(), plan.steps.len());
        tracing::info!(cluster = %plan.cluster, changes, steps, "planned");
        Ok(Planned { plan, observed_at: observed.at, uid })
    }

    /// Refuses a cluster that exists and that this store has never had: another store has its state, or it was lost.
    fn refuse_unknown(&self, observed: &Observed) -> Result<(), CommandError> {
        let name = &self.wanted.cluster.name;
        let Some(uid) = &observed.uid else { return Ok(()) };
        let count = observed.observations.addresses().count();
        let message = format!(
            "{count} objects of a cluster {name} ({uid}) exist, and this state store has no state of it; nothing was planned"
        );
        Err(CommandError::new("STATE0051", message)
            .hint("name the store that has its state: `--state URL`, or `SLIPWAY_STATE`")
            .hint(format!(
                "if its state is lost: `slipway state rebuild {name} -f …` makes it from what exists"
            )))
    }

    /// A failure to plan with the way out that fits the state: nothing is rebuilt that is whole.
    async fn explained(&self, error: slipway_plan::Error) -> CommandError {
        let (Some(backend), Some(state)) = (&self.backend, &self.state) else { return error.into() };
        if error.code() != "PLAN0020" {
            return error.into();
        }
        let Ok(name) = ClusterName::new(self.wanted.cluster.name.as_str()) else { return error.into() };
        let damage = slipway_state_store::verify::verify(&**backend, &name).await;
        let is_sound = damage.is_ok_and(|report| report.findings.is_empty());
        let lost = secrets::lost(&self.keyring, backend, &name, Some(state)).await;
        if !is_sound || !lost.is_ok_and(|lost| lost.is_empty()) {
            return error.into();
        }
        CommandError::new(error.code(), error.to_string())
            .cause("the state is whole: it has the keys that the cluster runs with")
            .hint("undo the change of the key in the spec, or on the node that has another one")
    }

    /// Objects inside of a cluster are not asked for when it is deleted: they are not gone, they go along.
    fn say_what_goes_along(&self, plan: &mut Plan) {
        let inside = |name: &str| {
            name == providers::KUBERNETES && self.wanted.cluster.provider.name != providers::KUBERNETES
        };
        for change in plan.changes.iter_mut().filter(|change| inside(&change.provider)) {
            for reason in change.reasons.iter_mut().filter(|reason| reason.code == ReasonCode::Vanished) {
                let text = "it is an object in the cluster and is deleted with the cluster's own etcd";
                *reason = Reason::new(ReasonCode::ClusterDeleted, text);
            }
        }
    }

    /// What a change of version does on machines that exist, and what it does not.
    async fn said_of_version(
        &self,
        request: &Request,
        prior: Option<&Snapshot>,
    ) -> Result<Option<ExpandNote>, CommandError> {
        let to = &self.wanted.cluster.kubernetes_version;
        let Some(from) = upgrade::applied_version(prior).filter(|from| from != to) else { return Ok(None) };
        let on_hosts = self.providers.iter().any(|(_, handle)| composition::works_on_hosts(&handle.schema));
        if request.mode != Mode::Apply || !on_hosts {
            return Ok(None);
        }
        let kubelets = match request.offline {
            true => Ok(BTreeMap::new()),
            false => health::kubelets(self).await,
        };
        let message = upgrade::on_hosts(&self.wanted.cluster.name, (&from, to), &kubelets)?;
        Ok(Some(ExpandNote { field: "kubernetesVersion".to_owned(), message }))
    }

    /// Whether the API may be asked where the spec says that it is.
    fn check_api(&self, catalogs: &BTreeMap<String, Catalog>) -> Result<(), CommandError> {
        // Without a state, nobody is asked.
        if self.backend.is_none() || self.texts.grounds.policy.is_untrusted() {
            return Ok(());
        }
        let endpoints = composition::endpoints(&self.wanted.cluster, catalogs);
        self.texts.grounds.check_api(endpoints.into_iter().map(|endpoint| endpoint.host))
    }

    /// Tells the way to the cluster's API what its recorded state knows, for those that look and plan nothing.
    pub fn know_recorded(&self) {
        let prior = self.state.as_ref().map(|state| &state.snapshot);
        let catalogs = prior.map(|prior| prior.catalogs.clone()).unwrap_or_default();
        self.know(Mode::Apply, prior, &catalogs);
    }

    /// Tells the way to the cluster's API what a state knows of it.
    fn know(&self, mode: Mode, prior: Option<&Snapshot>, catalogs: &BTreeMap<String, Catalog>) {
        let endpoints = composition::endpoints(&self.wanted.cluster, catalogs);
        // What is in a cluster goes with it, also with one whose API does not answer any more.
        let exists = mode != Mode::Delete && prior.is_some_and(composition::has_api);
        self.access.know(prior.map(|prior| &prior.uid), endpoints, exists);
        self.access.is_interrupted(self.state.as_ref().is_some_and(State::is_interrupted));
        let records = prior.into_iter().flat_map(|prior| &prior.resources);
        self.vault.know(records.map(|(address, record)| (address.clone(), record.identity.clone())));
    }

    /// The typed resources of the cluster, by what the state has pinned and what the provider adds to it now.
    pub async fn expand(
        &self,
        catalogs: &mut BTreeMap<String, Catalog>,
    ) -> Result<(Vec<Desired>, Vec<ExpandNote>), CommandError> {
        self.expand_as(&self.wanted, catalogs).await
    }

    /// The same of the cluster as another spec wants it.
    pub async fn expand_as(
        &self,
        wanted: &Wanted,
        catalogs: &mut BTreeMap<String, Catalog>,
    ) -> Result<(Vec<Desired>, Vec<ExpandNote>), CommandError> {
        let mut desired = Vec::new();
        let mut notes = Vec::new();
        for (name, handle) in self.providers.iter() {
            let request =
                CatalogRequest { cluster: to_json(&wanted.cluster)?, pinned: catalogs.get(name).cloned() };
            let catalog = handle.session.catalog_for(request).await;
            let catalog = catalog.map_err(|error| wanted.refused(error))?;
            catalogs.insert(name.to_owned(), catalog.clone());
            let request = ExpandRequest { cluster: to_json(&wanted.cluster)?, catalog };
            let catalog = request.catalog.clone();
            let expansion = handle.session.expand(request).await;
            let expansion = expansion.map_err(|error| wanted.refused(error))?;
            if composition::works_on_hosts(&handle.schema) {
                let offline = self.backend.is_none();
                let manifests = Manifests { wanted, texts: &self.texts, offline };
                let (inside, remarks) =
                    composition::expand(&catalog, &expansion.resources, manifests).await?;
                desired.extend(inside);
                notes.extend(remarks);
            }
            desired.extend(expansion.resources);
            notes.extend(expansion.notes);
        }
        let remarks = slipway_plan::lifecycle::ignore_changes(&mut desired, ignored(wanted), &self.providers);
        let remark = |message| ExpandNote { field: "ignoreChanges".to_owned(), message };
        notes.extend(remarks.into_iter().map(remark));
        slipway_plan::lifecycle::renames(&mut desired, renames(wanted)?);
        Ok((desired, notes))
    }
}

fn ignored(wanted: &Wanted) -> impl Iterator<Item = (&str, &str)> {
    let ignored = &wanted.cluster.ignore_changes;
    ignored.iter().map(|ignored| (ignored.resource.as_str(), ignored.attribute.as_str()))
}

fn renames(wanted: &Wanted) -> Result<Vec<slipway_resource::Moved>, CommandError> {
    let parse = |text: &str| {
        text.parse().map_err(|error: slipway_resource::AddressError| {
            CommandError::new("CLI0008", format!("a rename in the spec names no resource: {error}"))
        })
    };
    let moved = wanted.cluster.moved.iter();
    moved
        .map(|moved| Ok(slipway_resource::Moved { from: parse(&moved.from)?, to: parse(&moved.to)? }))
        .collect()
}

/// What nobody looks at offline: the objects that a spec says exist do exist, and what only the cloud knows of them is
/// unknown.
fn supposed(desired: &[Desired], providers: &Providers) -> Observations {
    let mut observations = Observations::default();
    for desired in desired {
        let Some(identity) = &desired.lifecycle.existing else { continue };
        let Some((_, _, kind)) = providers.of_type(desired.address.kind()) else { continue };
        let written = |name: &str| desired.attributes.get(name).filter(|value| !value.is_null()).cloned();
        let attributes =
            kind.attributes.keys().map(|name| (name.clone(), written(name).unwrap_or(Value::Unknown)));
        observations.add_read(slipway_resource::Observed {
            address: desired.address.clone(),
            identity: identity.clone(),
            token: None,
            observation: Observation::Present(Value::Map(attributes.collect())),
        });
    }
    observations
}

/// The head's generation, also that of a deleted cluster's tombstone.
pub(crate) async fn generation(backend: &dyn Backend, cluster: &str) -> Result<Option<u64>, CommandError> {
    let name = ClusterName::new(cluster)?;
    Ok(slipway_state_store::read_head(backend, &name).await?.map(|(head, _)| head.generation.0))
}

/// A cluster as providers and the state get it.
pub(crate) fn to_json(cluster: &Cluster) -> Result<serde_json::Value, CommandError> {
    serde_json::to_value(cluster)
        .map_err(|error| CommandError::internal("the spec cannot be written as JSON", &error))
}

/// The last generation of a cluster, without what runs that did not complete have done since.
pub(crate) async fn committed(
    backend: &dyn Backend,
    cluster: &str,
) -> Result<Option<Snapshot>, CommandError> {
    let view = slipway_state_store::read(backend, &ClusterName::new(cluster)?).await?;
    let bytes = view.filter(|view| !view.head.deleted).and_then(|view| view.snapshot);
    Ok(bytes.map(|bytes| State::snapshot_of(cluster, &bytes)).transpose()?)
}

/// What the state knows of a cluster's protection. Only what a run left that did not complete is read beside the state.
async fn protection_of(
    backend: Option<&dyn Backend>,
    cluster: &str,
    state: Option<&State>,
) -> Result<protection::Known, CommandError> {
    let (Some(backend), Some(state)) = (backend, state) else { return Ok(protection::Known::default()) };
    if state.is_interrupted() {
        return Ok(protection::Known::of(committed(backend, cluster).await?.as_ref(), state));
    }
    Ok(protection::Known::of(state.head.snapshot.is_some().then_some(&state.snapshot), state))
}

/// The cluster that the state has: as it was applied last.
pub(crate) async fn recorded(context: &Context, name: &str) -> Result<Wanted, CommandError> {
    let backend = context.backend()?;
    let Some(state) = State::read(&*backend, name).await? else {
        return Err(CommandError::new("CLI0009", format!("the state has no cluster `{name}`")).hint(
            format!("the state is looked for in {}; `--state URL` names another place", context.state_url()),
        ));
    };
    let cluster = serde_json::from_value(state.snapshot.spec).map_err(|error| {
        CommandError::new("CLI0009", format!("the state of `{name}` does not have its spec"))
            .cause(error.to_string())
            .hint("name the spec with `-f FILE`")
    })?;
    Ok(Wanted::recorded(context, cluster))
}
