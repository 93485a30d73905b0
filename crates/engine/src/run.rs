//! One execution of one plan, under a hold on the cluster's state.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use slipway_plan::file::Mode;
use slipway_plan::{Plan, Providers, Snapshot, StepAction};
use slipway_resource::provider::{Applied, DiscoverRequest, ReadRequest};
use slipway_resource::{Address, ClusterUid, Digest, Identity, Observation};
use slipway_secrets::{FingerprintKey, SecretStore};
use slipway_state_store::{Clock, CommitMeta, Head, Holder};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::commit;
use crate::error::Error;
use crate::event::EventHandler;
use crate::execute::{Work, execute};
use crate::journal::{Entry, RunBegin};
use crate::observe::read_batched;
use crate::outputs::Outputs;
use crate::pace::Pace;
use crate::recover::Unresolved;
use crate::report::Report;
use crate::retry::Backoff;
use crate::secrets::{self, SecretSource};
use crate::state::State;
use crate::step::Shared;
use crate::stop::StopSignal;
use crate::trace;

/// A plan about to be carried out.
pub struct Run<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The spec of the plan as the state keeps it.
    pub spec: serde_json::Value,
    /// The providers that the plan uses.
    pub providers: &'a Providers,
    /// The state when the hold was acquired, interrupted steps resolved.
    pub state: State,
    /// Where secret texts come from.
    pub secrets: Arc<dyn SecretSource>,
    /// The cluster's own secrets, with the key for fingerprints; without it, secrets are compared by where they come
    /// from only.
    pub store: Option<&'a SecretStore>,
    /// The names that were given as confirmations: addresses, or the name of a cluster that is deleted.
    pub confirmed: BTreeSet<String>,
    /// When the plan's observations were made; `None` for a plan from a file.
    pub observed_at: Option<Instant>,
    /// Maximum age of the read with which a step checks its object: [`READ_AGE`](crate::READ_AGE), except in
    /// tests.
    pub read_age: Duration,
    /// How many steps run at the same time at most, without those on hosts and inside the cluster, which may wait for the effects of
    /// others; without it, only the providers set limits.
    pub parallelism: Option<NonZeroUsize>,
    /// How calls are retried.
    pub backoff: Backoff,
    /// Receives the events of the run.
    pub events: EventHandler,
    /// The signal that stops the run.
    pub stop: StopSignal,
    /// The person or process that applies the plan, as the history shows it.
    pub who: String,
    /// The clock for the times in the history.
    pub clock: Arc<dyn Clock>,
}

impl Run<'_> {
    /// Carries the plan out and releases the hold.
    ///
    /// A complete run commits the new state. An incomplete one leaves its journal open: the same plan can be
    /// applied again and continues from there, and a new plan starts from the steps that are done.
    ///
    /// # Errors
    /// When the plan does not fit the state, lacks a confirmation, or the state cannot be written. A step that
    /// fails is in the report.
    pub async fn execute(self, holder: Holder) -> Result<Report, Error> {
        let span = trace::apply(&self.plan.cluster, self.plan.steps.len());
        let ended = self.carry_out(holder).instrument(span.clone()).await;
        match &ended {
            Ok(report) => span.record("failed_steps", report.failures.len()),
            Err(error) => span.record(trace::ERROR, error.code()),
        };
        ended
    }

    async fn carry_out(self, holder: Holder) -> Result<Report, Error> {
        let prepared = match self.check() {
            Ok(digest) => tokio::select! {
                prepared = self.prepare(digest, &holder) => prepared.map(Some),
                // A key service may answer slowly; nothing has begun.
                () = self.stop.raised() => Ok(None),
            },
            Err(error) => Err(error),
        };
        let (run, work, fingerprints) = match prepared {
            Ok(Some(prepared)) => prepared,
            // Nothing has begun. Releasing the hold matters more than reporting why the release fails.
            Ok(None) => {
                let _ = holder.release(None).await;
                let not_begun = self.plan.steps.len();
                return Ok(Report { stopped: true, not_begun, ..Report::default() });
            }
            Err(error) => {
                let _ = holder.release(None).await;
                return Err(error);
            }
        };
        let cluster = self.plan.cluster.clone();
        let store = |source| Error::store(&cluster, source);
        let plan_digest = run.plan.to_string();
        holder.append(vec![self.bytes(&Entry::RunBegin(run))?]).await.map_err(store)?;
        let shared = Arc::new(Shared {
            journal: holder.journal().clone(),
            events: self.events.clone(),
            backoff: self.backoff,
            pace: Mutex::new(Pace::new(&self.plan.rate_classes)),
            stop: self.stop.watch(),
            uid: self.state.snapshot.uid.clone(),
            secrets: self.secrets.clone(),
            fingerprints,
        });
        let (mut report, snapshot) = match execute(work, shared).await {
            Ok(finished) => finished,
            Err(error) => {
                holder.close().await;
                return Err(error);
            }
        };
        report.unresolved = self.unresolved(&plan_digest);
        let meta = CommitMeta {
            // The operation of the holder: an upgrade or a roll is a plan of the same mode as an apply.
            operation: match &holder.head().holder {
                Some(holder) if self.plan.mode == Mode::Apply => holder.operation.clone(),
                _ => operation(self.plan.mode).to_owned(),
            },
            plan_digest: Some(plan_digest),
            who: self.who.clone(),
            when: self.clock.timestamp(),
            outcome: commit::outcome(self.plan, &report),
            detail: Some(commit::summary(self.plan, &report)),
            about: commit::about(&self.plan.spec),
        };
        if !report.is_complete() {
            holder.unfinished(meta).await.map_err(store)?;
            holder.release(None).await.map_err(store)?;
            return Ok(report);
        }
        holder.append(vec![self.bytes(&Entry::RunEnd)?]).await.map_err(store)?;
        let is_deleted = self.plan.mode == Mode::Delete && snapshot.resources.is_empty();
        if let Some(secrets) = self.store.filter(|_| is_deleted)
            && let Err(error) = secrets.purge(holder.journal()).await
        {
            // The next delete has nothing else to do.
            let _ = holder.release(None).await;
            return Err(Error::Sealed(error));
        }
        report.generation = Some(if is_deleted {
            holder.tombstone(meta).await.map_err(store)?
        } else {
            let bytes = self.snapshot_bytes(snapshot)?;
            holder.release(Some((bytes, meta))).await.map_err(store)?.generation
        });
        Ok(report)
    }

    /// Steps that stay unresolved. A plan that resumes its own interrupted run repeats its own steps.
    fn unresolved(&self, plan: &str) -> Vec<Unresolved> {
        let replayed = &self.state.replayed;
        let is_this = replayed.run.as_ref().is_some_and(|run| run.plan.to_string() == plan);
        let is_left = |step: &&Unresolved| !is_this || replayed.unsettled.contains_key(&step.token);
        self.state.unresolved.iter().filter(is_left).cloned().collect()
    }

    fn bytes(&self, entry: &Entry) -> Result<Vec<u8>, Error> {
        entry.to_bytes().map_err(|source| self.unwritable("journal", source))
    }

    fn unwritable(&self, what: &'static str, source: serde_json::Error) -> Error {
        Error::Corrupt { cluster: self.plan.cluster.clone(), what, source }
    }

    fn snapshot_bytes(&self, mut snapshot: Snapshot) -> Result<Vec<u8>, Error> {
        commit::record_dependencies(self.plan, &mut snapshot);
        commit::end_rolls(self.plan, &mut snapshot);
        commit::leave_removed(self.plan, &mut snapshot);
        snapshot.spec = self.spec.clone();
        snapshot.spec_digest = Some(self.plan.binding.spec_digest.clone());
        snapshot.catalogs = self.plan.binding.catalogs.clone();
        snapshot.scopes = scopes(self.plan, self.providers);
        snapshot.to_bytes().map_err(|source| self.unwritable("snapshot", source))
    }

    /// Whether the plan may be applied to this state, with these providers. Returns the plan's digest.
    fn check(&self) -> Result<Digest, Error> {
        let digest = self.plan.digest()?;
        check_generation(self.plan, Some(&self.state.head), Some(&self.state.snapshot.uid))?;
        if self.observed_at.is_none() {
            check_interrupted(self.plan, &self.state)?;
        }
        for (name, pin) in &self.plan.binding.providers {
            let here = self.providers.get(name).map(|handle| &handle.pin);
            if here.is_none_or(|here| here.version != pin.version || here.schema_digest != pin.schema_digest)
            {
                return Err(Error::OtherProvider {
                    provider: name.clone(),
                    planned: pin.version.clone(),
                    current: here.map_or("none".to_owned(), |here| here.version.clone()),
                });
            }
        }
        check_account(&self.state.snapshot, self.providers)?;
        let unconfirmed = self.plan.unconfirmed(&self.confirmed);
        if unconfirmed.is_empty() { Ok(digest) } else { Err(Error::Unconfirmed(unconfirmed)) }
    }

    async fn prepare(
        &self,
        digest: Digest,
        holder: &Holder,
    ) -> Result<(RunBegin, Work<'_>, Option<FingerprintKey>), Error> {
        let fingerprints = match self.store.filter(|_| secrets::needs_texts(self.plan)) {
            Some(store) => Some(store.fingerprint_key_or_new(holder.journal()).await.map_err(Error::Sealed)?),
            None => None,
        };
        let resumed = self.state.replayed.run.as_ref().filter(|run| run.plan == digest);
        let epoch = resumed.map_or(self.state.head.epoch.0, |run| run.epoch);
        let rolls = self.plan.requested_rolls();
        let run = RunBegin { plan: digest, epoch, spec: self.spec.clone(), rolls };
        let done = resumed.map(|run| run.done.clone()).unwrap_or_default();
        let nodes = resumed.map(|run| run.nodes.clone()).unwrap_or_default();
        let outputs = self.outputs_of(&done).await?;
        let occupied = if self.observed_at.is_none() { self.occupied(&done).await? } else { BTreeMap::new() };
        let mut snapshot = self.state.snapshot.clone();
        snapshot.spec = self.spec.clone();
        if resumed.is_none() {
            snapshot.rolls.extend(run.rolls.clone());
        }
        let uid: ClusterUid = snapshot.uid.clone();
        let work = Work {
            plan: self.plan,
            providers: self.providers,
            uid,
            run: run.clone(),
            snapshot,
            done,
            nodes,
            outputs,
            occupied,
            observed_at: self.observed_at,
            read_age: self.read_age,
            parallelism: self.parallelism,
        };
        Ok((run, work, fingerprints))
    }

    /// The outputs of steps that an earlier run has done, read again for the steps that refer to them.
    async fn outputs_of(
        &self,
        done: &BTreeMap<slipway_plan::StepId, Option<Identity>>,
    ) -> Result<Outputs, Error> {
        let mut outputs = Outputs::default();
        let mut requests: BTreeMap<&str, Vec<ReadRequest>> = BTreeMap::new();
        for (id, identity) in done {
            // Nothing refers to the nodes of a roll.
            if let (Some(step), Some(identity)) = (self.plan.steps.get(id.index()), identity)
                && step.roll.is_none()
                && let Some((name, _, _)) = self.providers.of_type(step.address.kind())
            {
                let request = ReadRequest { address: step.address.clone(), identity: identity.clone() };
                requests.entry(name).or_default().push(request);
            }
        }
        for (name, requests) in requests {
            let Some(handle) = self.providers.get(name) else { continue };
            for answer in read_batched(name, handle, requests).await? {
                if let Observation::Present(attributes) = answer.observation {
                    outputs.insert(&answer.address, Applied::new(answer.identity, attributes));
                }
            }
        }
        Ok(outputs)
    }

    /// Addresses that the plan takes for free, and that have an object which this run did not make.
    async fn occupied(
        &self,
        done: &BTreeMap<slipway_plan::StepId, Option<Identity>>,
    ) -> Result<BTreeMap<Address, Identity>, Error> {
        let replaced: BTreeSet<&Address> = self
            .plan
            .changes
            .iter()
            .filter(|change| change.action.is_replace())
            .map(|change| &change.address)
            .collect();
        let wanted: BTreeSet<&Address> = self
            .plan
            .steps
            .iter()
            .filter(|step| step.action == StepAction::Create && !done.contains_key(&step.id))
            .map(|step| &step.address)
            .filter(|address| !replaced.contains(address))
            .collect();
        let mut occupied = BTreeMap::new();
        if wanted.is_empty() || self.plan.binding.uid.is_none() {
            return Ok(occupied);
        }
        for (name, handle) in self.providers.iter() {
            let uid = Some(self.state.snapshot.uid.clone());
            let request = DiscoverRequest { uid, cluster: self.plan.cluster.clone(), types: Vec::new() };
            let discovery = handle.session.discover(request).await;
            let discovery = discovery.map_err(|error| Error::provider(name, "list what it owns", error))?;
            for observed in discovery.observed {
                if wanted.contains(&observed.address)
                    && matches!(observed.observation, Observation::Present(_))
                {
                    occupied.insert(observed.address, observed.identity);
                }
            }
        }
        Ok(occupied)
    }
}

/// Whether a plan was made from the state of this head, and of this cluster where there is one. The number of a generation
/// alone does not tell: a state that was rebuilt in an empty store begins with the first number again.
///
/// # Errors
/// When it was not.
pub fn check_generation(plan: &Plan, head: Option<&Head>, uid: Option<&ClusterUid>) -> Result<(), Error> {
    // A plan made without a state fits a cluster for which nothing was ever committed.
    let planned = plan.binding.generation.unwrap_or(0);
    let current = head.map_or(0, |head| head.generation.0);
    if planned != current {
        return Err(Error::Stale { planned: planned.to_string(), current: current.to_string() });
    }
    match (&plan.binding.uid, uid) {
        (Some(planned), Some(current)) if planned != current => Err(Error::OtherCluster {
            cluster: plan.cluster.clone(),
            planned: planned.to_string(),
            current: current.to_string(),
        }),
        _ if !plan.binding.is_of(head.and_then(State::digest_of).as_ref()) => {
            Err(Error::OtherState { generation: current })
        }
        _ => Ok(()),
    }
}

/// Whether a saved plan was made from the results of the run that did not end, if there is one. While steps of that run are open, a plan
/// that was made before their results were known fits too.
///
/// # Errors
/// When the plan was made before that run, or from other results, or when results of its steps stay unknown.
pub fn check_interrupted(plan: &Plan, state: &State) -> Result<(), Error> {
    let Some(open) = state.replayed.run.as_ref() else { return Ok(()) };
    let is_made_after = state.unresolved.is_empty() && plan.binding.continues == state.continued();
    if is_made_after || open.plan == plan.digest()? {
        return Ok(());
    }
    Err(Error::OtherRunOpen { open: open.plan.short().to_owned() })
}

/// Whether a state belongs to the accounts and regions of the providers. In another account everything would
/// be missing.
///
/// # Errors
/// When it does not.
pub fn check_account(state: &Snapshot, providers: &Providers) -> Result<(), Error> {
    for (name, recorded) in &state.scopes {
        if let Some(handle) = providers.get(name)
            && handle.session.scope() != recorded
        {
            return Err(Error::OtherAccount {
                provider: name.clone(),
                recorded: display_scope(recorded),
                current: display_scope(handle.session.scope()),
            });
        }
    }
    Ok(())
}

fn operation(mode: Mode) -> &'static str {
    match mode {
        Mode::Apply => "apply",
        Mode::Delete => "delete",
        Mode::Drift => "drift",
    }
}

/// The accounts and regions that the run changes: those of the sessions, whatever the plan file says.
fn scopes(plan: &Plan, providers: &Providers) -> BTreeMap<String, slipway_resource::provider::Scope> {
    let pins = plan.binding.providers.iter();
    pins.map(|(name, pin)| {
        let opened = providers.get(name).map(|handle| handle.session.scope());
        (name.clone(), opened.unwrap_or(&pin.scope).clone())
    })
    .collect()
}

fn display_scope(scope: &slipway_resource::provider::Scope) -> String {
    match &scope.region {
        Some(region) => format!("account {} in region {region}", scope.account),
        None => format!("account {}", scope.account),
    }
}
