//! From the spec of a cluster to a plan: expansion, observation, comparison of secrets, and the planner.

mod administrator;
mod at_rest;
mod emptied;
mod expansion;
mod failures;
mod fixed;
mod gates;
mod inside;
mod keys;
mod majority;
pub(crate) mod outages;
mod release;
mod retained;
pub(crate) mod retention;
mod soak;
mod supposed;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use slipway_bootstrap::from_cluster::turns_of_removals;
use slipway_engine::{Observed, State, look};
use slipway_plan::{Inputs, Mode, Options, Plan, Snapshot};
use slipway_resource::provider::{ExpandNote, PreflightFinding};
use slipway_resource::{Address, ClusterUid, Desired, Identity};
use tokio::time::Instant;

use crate::access::KnownApi;
use crate::composition::{self, Linked};
use crate::error::Error;
use crate::etcd;
use crate::opened::{Opened, records};
use crate::plannable::Planned;
use crate::protection;
use crate::request::Request;
use crate::rotation::{self, RotationChange};
use crate::secrets::{self, UserSecrets};
use crate::stage::Stage;
use crate::state::{head, spec_of, to_json};
use crate::version;
use crate::version_change::{self, Beside};
use crate::weakening;

pub use expansion::Expansion;

impl Opened {
    /// Makes a plan against a given state. Writes nothing.
    pub(crate) async fn plan_for(
        &self,
        request: &Request,
        prior: Option<&Snapshot>,
    ) -> Result<Planned, Error> {
        self.check_request(request, prior)?;
        let name = &self.spec.cluster.name;
        let mut pinned =
            prior.map(|prior| emptied::settled(&prior.catalogs)).transpose()?.unwrap_or_default();
        self.check_api(&pinned)?;
        let mut before_rotation = None;
        if let Some(change) = &request.rotation {
            change.check(name, &pinned)?;
            let mut starts = Vec::new();
            for start in change.starts(&pinned)? {
                starts.push(self.expand(start).await?.desired);
            }
            before_rotation = Some(starts);
            pinned = change.pin(pinned, change.to)?;
        }
        let desired = async {
            match request.mode {
                Mode::Delete => Ok(Expansion { catalogs: pinned.clone(), ..Expansion::default() }),
                Mode::Apply | Mode::Drift => self.expand(pinned.clone()).await,
            }
        };
        // Observation depends on the spec only for the existing objects that the spec names.
        let existing = async {
            if self.is_offline() {
                return Ok(None);
            }
            look(name, &self.own, prior).await.map(Some)
        };
        let (desired, existing) = tokio::join!(desired, existing);
        let mut expansion = desired?;
        self.check_api(&expansion.catalogs)?;
        expansion.add_keys(prior);
        self.add_inside(&self.spec, request, prior, &mut expansion).await?;
        self.check_rotation(request, prior, &expansion.desired)?;
        expansion.notes.extend(request.rotation.as_ref().map(RotationChange::note));
        let rotated = before_rotation.map(|starts| {
            let brought = starts.iter().flat_map(|start| version_change::brings(start, &expansion.desired));
            brought.collect::<BTreeSet<_>>()
        });
        let stage = self.looking(request.mode, prior, &expansion).await?;
        let mut beside = match &request.version_change {
            Some(change) => Some(change.expand(self, request, prior).await?),
            None => None,
        };
        let mut imports = match request.mode == Mode::Apply && !self.is_offline() {
            true => expansion::imports(&self.spec, prior)?,
            false => BTreeMap::new(),
        };
        let observed = match existing? {
            None => Observed {
                observations: supposed::observations(&expansion.desired, &stage.providers),
                uid: None,
                at: Instant::now(),
                foreign: Vec::new(),
                unowned: Vec::new(),
            },
            Some(existing) => {
                let all: Cow<'_, [Desired]> = match &beside {
                    Some(beside) => expansion.desired.iter().chain(&beside.written).cloned().collect(),
                    None => Cow::Borrowed(&expansion.desired),
                };
                let looked = existing.and_look(name, &stage.linked, prior).await?;
                let looked = looked.import(&stage.providers, &mut imports).await;
                looked.complete(&stage.providers, prior, &all).await?
            }
        };
        if !observed.foreign.is_empty() {
            return Err(Error::Foreign { cluster: name.clone(), objects: observed.foreign });
        }
        let emptied = self.rejoin(request, prior, &observed, &mut expansion).await?;
        expansion.notes.extend(self.said_of_version(request, prior, &stage).await?);
        expansion.notes.extend(self.said_of_way_back(request, prior)?);
        let (desired, observations) = (&expansion.desired, &observed.observations);
        let closed = self.closed_gates(request, prior, &stage, desired, observations).await?;
        expansion.notes.extend(closed.notes);
        expansion.notes.extend(inside::unused_setting(self.nodes.as_deref(), request.mode, prior));
        expansion.notes.extend(observed.unowned.iter().map(|object| unowned(name, object)));
        let mut manifests = expansion.secrets.clone();
        manifests.extend(beside.iter().flat_map(|beside| beside.secrets.clone()));
        let texts = self.texts(&stage.vault, manifests);
        if request.mode == Mode::Apply {
            at_rest::check_key(&self.spec, &texts)?;
        }
        let head = match &self.environment.store {
            Some(store) => head(&*store.backend, name).await?,
            None => None,
        };
        let generation = head.as_ref().map(|head| head.generation.0);
        let uid = observed.uid.clone();
        if prior.is_none() && !self.is_offline() {
            self.refuse_unknown(head.as_ref(), &observed)?;
        }
        let found = self.compare_secrets(uid.as_ref(), prior, &texts, &mut expansion, &mut beside).await?;
        let prior = found.prior.as_ref().or(prior);
        let mut options = request.options.clone();
        options.preflight &= !self.is_offline();
        options.imports = imports;
        // A deletion needs no secret of the spec.
        let missing = match options.preflight && request.mode != Mode::Delete {
            true => secrets::missing(&expansion.desired, prior, &texts),
            false => Vec::new(),
        };
        if request.mode == Mode::Delete && !options.delete_retained {
            options.retained = self.retained(&observed, prior, pinned).await?;
        }
        let brought =
            beside.as_ref().map(|beside| version_change::brings(&beside.at_from, &expansion.desired));
        options.only = brought.or(rotated);
        if request.mode == Mode::Apply {
            let recorded = prior.into_iter().flat_map(|prior| prior.resources.keys());
            options.removal_turns = turns_of_removals(&expansion.desired, recorded);
        }
        let observations = beside.as_ref().map(|_| observed.observations.clone());
        let mut spec = to_json(&self.spec.planned())?;
        let changed = self.changed_fields(prior, &spec)?;
        let mut sets_protection = None;
        if request.mode == Mode::Apply
            && let Some(planned) = protection::planned(self.protection, &mut spec, options.is_partial())
        {
            sets_protection = planned.sets();
            expansion.notes.push(planned.note());
        }
        let locate = |field: &str| self.spec.locate(field);
        let inputs = Inputs {
            cluster: name,
            uid: uid.clone(),
            mode: request.mode,
            spec,
            changed,
            desired: expansion.desired,
            notes: expansion.notes,
            prior,
            generation,
            observations: observed.observations,
            providers: &stage.providers,
            catalogs: expansion.catalogs,
            uncompared: found.resources,
            options,
            locate: &locate,
        };
        let mut plan = match slipway_plan::plan(inputs).await {
            Ok(plan) => plan,
            Err(error) => return Err(self.explained(error, request).await),
        };
        if request.mode == Mode::Apply {
            version::check_existing(&plan, &self.spec)?;
            let last = prior.and_then(|prior| spec_of(prior).ok().flatten());
            retention::name(&mut plan, last.as_ref(), &self.spec.cluster);
            majority::name(&mut plan, last.as_ref(), &self.spec.cluster);
            emptied::name(&mut plan, &emptied);
            if request.version_change.is_some() || outages::changes_version(last.as_ref(), &self.spec.cluster)
            {
                outages::name(&mut plan);
            }
            plan.notes.extend(weakening::notes(last.as_ref(), &self.spec.cluster));
            let saved = snapshot_before_rotation(&plan, prior, &stage)?;
            plan.notes.extend(saved);
        }
        if let (Some(change), Some(beside), Some(observations)) =
            (&request.version_change, beside, observations)
        {
            let whole = Inputs {
                cluster: name,
                uid: uid.clone(),
                mode: request.mode,
                spec: to_json(&change.written.planned())?,
                changed: Vec::new(),
                desired: beside.written,
                notes: Vec::new(),
                prior,
                generation,
                observations,
                providers: &stage.providers,
                catalogs: beside.catalogs,
                uncompared: beside.uncompared,
                options: Options::default(),
                locate: &locate,
            };
            version_change::name_left_out(&mut plan, slipway_plan::plan(whole).await);
        }
        plan.sets_protection = sets_protection;
        plan.binding.snapshot = head.as_ref().and_then(State::digest_of);
        plan.binding.continues = self.state.as_ref().and_then(State::continued);
        if plan.binding.continues.is_some() {
            plan.format = slipway_plan::file::NEWEST;
        }
        add_findings(&mut plan, missing);
        plan.findings.extend(closed.findings);
        let conditions = self.gates_of_spec(request, prior, &stage, &plan).await?;
        plan.notes.extend(conditions.notes);
        plan.findings.extend(conditions.findings);
        if request.mode != Mode::Drift {
            let judgement = self.environment.policies.of_plan(&plan).await;
            plan.notes.extend(judgement.notes());
            plan.findings.extend(judgement.findings());
        }
        if request.mode == Mode::Delete {
            self.say_what_goes_along(&mut plan);
        }
        let (changes, steps) = (plan.changes.len(), plan.steps.len());
        tracing::info!(cluster = %plan.cluster, changes, steps, "planned");
        Ok(Planned { plan, observed_at: Some(observed.at), uid, texts: Arc::new(texts) })
    }

    /// The fields in which a spec, as plans keep it, differs from the one that was applied last.
    fn changed_fields(
        &self,
        prior: Option<&Snapshot>,
        spec: &serde_json::Value,
    ) -> Result<Vec<String>, Error> {
        let Some(applied) = prior.map(spec_of).transpose()?.flatten() else { return Ok(Vec::new()) };
        let applied = to_json(&self.spec.planned_as(applied))?;
        Ok(slipway_plan::fields::causes(&applied, spec))
    }

    /// Refuses what no plan may ask for, by what was applied.
    fn check_request(&self, request: &Request, prior: Option<&Snapshot>) -> Result<(), Error> {
        let cluster = &self.spec.cluster;
        if let Some(prior) = prior {
            slipway_engine::check_account(prior, self.providers())?;
        }
        let keeps = request.mode == Mode::Delete && !request.options.delete_retained && !self.spec.recorded;
        if keeps
            && self.is_on_hosts()
            && let Some(applied) = prior.map(spec_of).transpose()?.flatten()
        {
            retained::check_hosts(&applied, cluster)?;
        }
        if request.mode == Mode::Apply {
            version::check_version_change(prior, &self.spec, self.head())?;
            fixed::check(prior, &self.spec)?;
            at_rest::check_generated(prior, &self.spec)?;
            if request.options.is_partial() {
                version::check_partial(prior, cluster)?;
            }
            if self.is_on_hosts() {
                administrator::check(prior, &self.spec)?;
                composition::refuse_without_effect(&self.spec)?;
            }
        }
        Ok(())
    }

    /// Refuses the spec of a saved plan where no plan may have it after the spec that was applied: its versions and its network.
    ///
    /// # Errors
    /// As for a plan that is made now.
    pub(crate) fn check_saved(&self) -> Result<(), Error> {
        version::check_version_change(self.prior(), &self.spec, self.head())?;
        fixed::check(self.prior(), &self.spec)
    }

    /// Refuses a plan that would undo a part of a rotation that was interrupted.
    fn check_rotation(
        &self,
        request: &Request,
        prior: Option<&Snapshot>,
        desired: &[Desired],
    ) -> Result<(), Error> {
        let is_interrupted = self.state.as_ref().is_some_and(State::is_interrupted);
        if request.mode != Mode::Apply || request.rotation.is_some() || !is_interrupted || !self.is_on_hosts()
        {
            return Ok(());
        }
        rotation::check_interrupted(&self.spec.cluster.name, prior, desired)
    }

    /// The stage that looks at a cluster whose spec is expanded. Where its API was is known from the state, and where it will
    /// be from the expansion: the former has answered before.
    async fn looking(
        &self,
        mode: Mode,
        prior: Option<&Snapshot>,
        expansion: &Expansion,
    ) -> Result<Stage, Error> {
        let api: KnownApi = self
            .known_api(mode, prior)
            .also_at(composition::endpoints(&self.spec.cluster, &expansion.catalogs));
        let linked = Linked::of_state(prior).and_of(&expansion.desired);
        self.stage(self.stage.vault.knowing(records(prior)), (api, linked)).await
    }

    /// The state as a plan compares secrets with it; none where that is the state as it was read.
    ///
    /// # Errors
    /// When the key of the fingerprints cannot be read.
    pub(crate) async fn comparable(&self) -> Result<Option<Snapshot>, Error> {
        let (Some(prior), Some(place)) = (self.prior(), &self.environment.store) else { return Ok(None) };
        let (backend, cluster) = (place.backend.clone(), &self.spec.cluster.name);
        let store = secrets::store(&self.environment.keyring, backend, cluster, &prior.uid)?;
        secrets::comparable(prior, &store).await
    }

    /// Lets the plan tell whether secrets changed. Returns what cannot be compared.
    async fn compare_secrets(
        &self,
        uid: Option<&ClusterUid>,
        prior: Option<&Snapshot>,
        texts: &UserSecrets,
        expansion: &mut Expansion,
        beside: &mut Option<Beside>,
    ) -> Result<secrets::Comparison, Error> {
        let (Some(uid), Some(place)) = (uid, &self.environment.store) else {
            return Ok(secrets::Comparison::default());
        };
        let (backend, cluster) = (place.backend.clone(), &self.spec.cluster.name);
        let store = secrets::store(&self.environment.keyring, backend, cluster, uid)?;
        let mut found = secrets::compare(&mut expansion.desired, prior, uid, &store, texts).await?;
        expansion.notes.append(&mut found.notes);
        if let Some(beside) = beside {
            beside.uncompared =
                secrets::compare(&mut beside.written, prior, uid, &store, texts).await?.resources;
        }
        Ok(found)
    }
}

/// The remark on an older object that the state names and the cluster does not own.
fn unowned(cluster: &str, (address, identity): &(Address, Identity)) -> ExpandNote {
    let message = format!(
        "the state names {identity} as an older object of this address; it does not have the ownership of the cluster, and is left \
         as it is. To take it out of the state: `slipway state rm {cluster} {address}`, then `slipway apply`"
    );
    ExpandNote { field: address.to_string(), message }
}

/// The remark that a run of this plan saves a snapshot of etcd, where the plan begins a rotation.
fn snapshot_before_rotation(
    plan: &Plan,
    prior: Option<&Snapshot>,
    stage: &Stage,
) -> Result<Option<ExpandNote>, Error> {
    let Some(state) = prior.filter(|_| etcd::has_takers(prior, &stage.providers)) else { return Ok(None) };
    let message = "a snapshot of etcd is saved before the first step".to_owned();
    let note = ExpandNote { field: "rotation".to_owned(), message };
    Ok(rotation::begins(plan, &state.catalogs)?.then_some(note))
}

/// Adds findings about what the plan changes.
fn add_findings(plan: &mut Plan, findings: Vec<PreflightFinding>) {
    let is_changed = |finding: &PreflightFinding| {
        plan.changes.iter().any(|change| Some(&change.address) == finding.address.as_ref())
    };
    let about: Vec<PreflightFinding> = findings.into_iter().filter(is_changed).collect();
    plan.findings.extend(about);
}
