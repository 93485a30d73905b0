//! Executing plans: take the cluster, resolve what an interrupted run left, get a decision, run the steps.

use std::sync::Arc;

use slipway_engine::{Backoff, Report, Run, State, StopSignal};
use slipway_plan::{ChangeAction, Confirmation, Mode, Plan, ResourceChange};
use slipway_state_store::{Backend, ClusterName, SystemClock, read_head};

use crate::approving;
use crate::decide::{Decide, Names, Occasion};
use crate::environment::Environment;
use crate::error::Error;
use crate::holding::{Held, Taking};
use crate::observe::{self, Event};
use crate::plannable::{Plannable, Planned};
use crate::protection;
use crate::providers::KUBERNETES;
use crate::request::{Request, Terms};

/// How plans are executed: the terms, the decisions, and the signal that stops a run.
#[derive(Clone)]
pub struct Manner<'a> {
    /// The terms.
    pub terms: &'a Terms,
    /// Makes the decisions about plans.
    pub decide: &'a dyn Decide,
    /// The signal that stops a run.
    pub stop: StopSignal,
}

impl<'a> Manner<'a> {
    /// These terms and decisions, without a signal to stop.
    #[must_use]
    pub fn new(terms: &'a Terms, decide: &'a dyn Decide) -> Self {
        Self { terms, decide, stop: StopSignal::default() }
    }
}

/// How an operation ended.
#[derive(Debug)]
pub enum Outcome {
    /// The plan was empty.
    Nothing,
    /// The plan has only changes that could not be decided: nothing was done, and the state stays as it was.
    Undecided(Plan),
    /// An interrupted run was completed, and the plan after it was empty.
    Completed(Applied),
    /// A plan was executed, as far as its report says.
    Applied(Applied),
}

/// A plan that was executed.
#[derive(Debug)]
pub struct Applied {
    /// The plan.
    pub plan: Plan,
    /// How its run ended.
    pub report: Report,
}

impl Applied {
    /// Whether every step is done, and no deferred change is left.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.report.is_complete() && !self.plan.has_deferred()
    }
}

impl Outcome {
    /// Whether everything that was requested is done.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Undecided(_) => false,
            Self::Completed(applied) | Self::Applied(applied) => applied.is_complete(),
        }
    }
}

/// Makes a plan for a request, gets a decision about it, takes the cluster, and executes the plan.
///
/// A plan is executed exactly as it was approved. If the state changed between the plan and the hold, the plan is made again
/// under the hold, and needs a new decision if it differs.
///
/// # Errors
/// When no plan can be made, the plan is not approved, or another process holds the cluster. A failed step is in the report.
pub async fn bring(
    environment: &Environment,
    plannable: &dyn Plannable,
    request: &Request,
    manner: Manner<'_>,
) -> Result<Outcome, Error> {
    let ended = bring_about(environment, plannable, request, manner).await;
    ended.map_err(|mut error| {
        // The way to store the plan is another one for each operation.
        if let Error::Unapproved { operation, .. } = &mut error {
            *operation = Some(request.operation());
        }
        error
    })
}

async fn bring_about(
    environment: &Environment,
    plannable: &dyn Plannable,
    request: &Request,
    manner: Manner<'_>,
) -> Result<Outcome, Error> {
    let is_rolled = |state: &State| !state.snapshot.rolls.is_empty();
    let busy = |state: &State| state.head.holder.is_some() || state.is_interrupted() || is_rolled(state);
    let taking = Taking { operation: request.operation(), wait: manner.terms.wait, uid: None };
    if plannable.state().is_some_and(busy) {
        // Another process holds the cluster, or a run was interrupted. The state to plan for is known under
        // the hold only. A requested roll that did not end is ended in the state, also if nothing is left to do.
        let held = Held::take(environment, plannable, taking).await?;
        let held = held.unless_protected(request.mode, plannable.cluster(), request.unprotect).await?;
        return under_hold(environment, plannable, request, manner, held, None).await;
    }
    let planned = plannable.plan_from(request, plannable.state().map(|state| &state.snapshot)).await?;
    let reviewed = review(environment, plannable, &planned.plan, &manner, Occasion::First).await;
    if matches!(reviewed, Err(Error::CannotWork(_))) && has_moved(plannable).await? {
        // What is in the way may be what another process makes, which has taken the cluster since the state was read.
        let held = Held::take(environment, plannable, taking).await?;
        let held = held.unless_protected(request.mode, plannable.cluster(), request.unprotect).await?;
        return under_hold(environment, plannable, request, manner, held, None).await;
    }
    let named = reviewed?;
    if protection::is_nothing(&planned.plan) {
        return Ok(Outcome::Nothing);
    }
    if is_undecided(&planned.plan) {
        return Ok(Outcome::Undecided(planned.plan));
    }
    let held = Held::take(environment, plannable, Taking { uid: planned.uid.as_ref(), ..taking }).await?;
    let held = held.unless_protected(request.mode, plannable.cluster(), request.unprotect).await?;
    if held.is_fresh(&planned.plan) {
        return finish(environment, plannable, planned, held, (named, manner.stop)).await;
    }
    under_hold(environment, plannable, request, manner, held, Some((planned, named))).await
}

/// Whether another process holds the cluster, or has changed its state, since the state was read.
async fn has_moved(plannable: &dyn Plannable) -> Result<bool, Error> {
    let Some(backend) = plannable.backend() else { return Ok(false) };
    let head = read_head(&*backend, &ClusterName::new(plannable.cluster())?).await?.map(|(head, _)| head);
    let before = plannable.state().map(|state| state.head.generation);
    Ok(head.is_some_and(|head| head.holder.is_some() || Some(head.generation) != before))
}

/// Whether a plan has changes, and none of them could be decided.
fn is_undecided(plan: &Plan) -> bool {
    let is_deferred = |change: &ResourceChange| change.action == ChangeAction::Deferred;
    !plan.is_empty()
        && plan.steps.is_empty()
        && plan.sets_protection.is_none()
        && plan.changes.iter().all(is_deferred)
}

/// Plans again under the hold, and executes the plan. A plan that differs from the approved one needs a new decision.
async fn under_hold(
    environment: &Environment,
    plannable: &dyn Plannable,
    request: &Request,
    manner: Manner<'_>,
    held: Held,
    approved: Option<(Planned, Names)>,
) -> Result<Outcome, Error> {
    let planned = match plannable.plan_from(request, held.prior()).await {
        Ok(planned) => planned,
        Err(error) => return held.give_back(error).await,
    };
    let plan = &planned.plan;
    let agreed = match approved {
        // The changes are the same, but the plan still differs from the approved one.
        Some((approved, named)) if approved.plan.changes == plan.changes => {
            approving::check(environment, plannable.backend(), plan, manner.terms).await.map(|()| named)
        }
        Some(_) => review(environment, plannable, plan, &manner, Occasion::Changed).await,
        None => review(environment, plannable, plan, &manner, Occasion::First).await,
    };
    let named = match agreed {
        Ok(named) => named,
        Err(error) => return held.give_back(error).await,
    };
    let is_settled = held.prior().is_none() || plan.mode != Mode::Delete && !held.has_more_than_snapshot();
    if protection::is_nothing(plan) && is_settled {
        held.holder.release(None).await?;
        return Ok(Outcome::Nothing);
    }
    finish(environment, plannable, planned, held, (named, manner.stop)).await
}

/// Shows a plan and gets a decision about it. Returns the names that confirm what the plan loses.
async fn review(
    environment: &Environment,
    plannable: &dyn Plannable,
    plan: &Plan,
    manner: &Manner<'_>,
    occasion: Occasion,
) -> Result<Names, Error> {
    manner.decide.review(plan, occasion).await?;
    agree(environment, plannable.backend(), plan, manner).await
}

/// Checks everything that a plan needs before it is executed: no finding stops it, it has its approvals, and the decision is
/// positive. Returns the names that confirm what the plan loses.
async fn agree(
    environment: &Environment,
    approvals: Option<Arc<dyn Backend>>,
    plan: &Plan,
    manner: &Manner<'_>,
) -> Result<Names, Error> {
    check_terms(environment, approvals, plan, manner).await?;
    ask(plan, manner).await
}

/// Checks what a plan needs before anybody is asked: no finding stops it, it has its approvals, and what it loses is confirmed or can
/// be.
pub(crate) async fn check_terms(
    environment: &Environment,
    approvals: Option<Arc<dyn Backend>>,
    plan: &Plan,
    manner: &Manner<'_>,
) -> Result<(), Error> {
    if protection::is_nothing(plan) {
        return Ok(());
    }
    stop_at_findings(plan)?;
    // The caller who saved the plan may have had other policies.
    let denied = environment.policies.of_plan(plan).await.findings();
    if !denied.is_empty() {
        return Err(Error::CannotWork(denied));
    }
    check_infrastructure(plan, manner.terms)?;
    // Another person gives the approvals: the caller learns first that they are missing.
    approving::check(environment, approvals, plan, manner.terms).await?;
    let missing = plan.unconfirmed(&manner.decide.names(plan));
    if !missing.is_empty() && !manner.decide.confirms() {
        let spelled = |Confirmation { name, losses }| {
            let name = manner.decide.spelled(plan, &name);
            Confirmation { name, losses }
        };
        return Err(Error::Unconfirmed(missing.into_iter().map(spelled).collect()));
    }
    Ok(())
}

/// Asks for the decision about a plan, and for the confirmations that it lacks. Returns the names that confirm what the plan loses.
pub(crate) async fn ask(plan: &Plan, manner: &Manner<'_>) -> Result<Names, Error> {
    if protection::is_nothing(plan) {
        return Ok(Names::new());
    }
    let mut names = manner.decide.names(plan);
    let missing = plan.unconfirmed(&names);
    if missing.is_empty() {
        manner.decide.approve(plan).await?;
    }
    for confirmation in missing {
        manner.decide.confirm(plan, &confirmation).await?;
        names.insert(confirmation.name);
    }
    Ok(names)
}

/// Executes an approved plan. An empty plan after an interrupted run only commits what that run has done, and the end of its rolls.
async fn finish(
    environment: &Environment,
    plannable: &dyn Plannable,
    planned: Planned,
    held: Held,
    (confirmed, stop): (Names, StopSignal),
) -> Result<Outcome, Error> {
    let applied = run(environment, plannable, planned, held, (confirmed, stop)).await?;
    if protection::is_nothing(&applied.plan) {
        return Ok(Outcome::Completed(applied));
    }
    Ok(Outcome::Applied(applied))
}

/// Executes a plan under a hold.
pub(crate) async fn run(
    environment: &Environment,
    plannable: &dyn Plannable,
    Planned { plan, observed_at, texts, .. }: Planned,
    held: Held,
    (confirmed, stop): (Names, StopSignal),
) -> Result<Applied, Error> {
    let acting = match plannable.acting(&plan, held.holder.journal(), &held.state).await {
        Ok(providers) => plannable
            .secret_store(&held.state.snapshot.uid)
            .and_then(|store| Ok((providers, store, plannable.kept_spec(&plan)?))),
        Err(error) => Err(error),
    };
    let (providers, store, spec) = match acting {
        Ok(acting) => acting,
        Err(error) => return held.give_back(error).await,
    };
    match plannable.before_run(&plan, &held.state).await {
        Ok(done) => done.into_iter().for_each(|event| environment.observer.event(event)),
        Err(error) => return held.give_back(error).await,
    }
    let plan = Arc::new(plan);
    environment.observer.event(Event::RunBegins(plan.clone()));
    let run = Run {
        plan: &plan,
        spec,
        providers: &providers,
        state: held.state,
        secrets: texts,
        store: store.as_ref(),
        confirmed,
        observed_at,
        read_age: environment.read_age,
        parallelism: environment.parallelism,
        backoff: Backoff::default(),
        events: observe::steps(&environment.observer),
        stop,
        who: environment.actor.who.clone(),
        clock: Arc::new(SystemClock),
    };
    let result = run.execute(held.holder).await;
    environment.observer.event(Event::RunEnded);
    Ok(Applied { report: result?, plan: Arc::unwrap_or_clone(plan) })
}

/// Refuses a plan whose infrastructure will not become a working cluster, unless only the infrastructure is requested.
fn check_infrastructure(plan: &Plan, terms: &Terms) -> Result<(), Error> {
    if plan.infrastructure_only.is_empty() || plan.infrastructure_accepted {
        return Ok(());
    }
    let mut missing = plan.infrastructure_only.clone();
    let inside = plan.changes.iter().filter(|change| change.provider == KUBERNETES).count();
    match terms.infrastructure_only {
        true if inside == 0 => return Ok(()),
        // A plan is carried out completely or not at all.
        true => missing.push(format!(
            "the plan has {inside} objects inside the cluster, which cannot be left out of a saved plan"
        )),
        false => {}
    }
    Err(Error::InfrastructureOnly { missing, is_saved: false })
}

/// Refuses a plan that cannot work according to a provider, with all findings of the provider.
///
/// # Errors
/// [`Error::CannotWork`].
pub fn stop_at_findings(plan: &Plan) -> Result<(), Error> {
    if plan.findings.is_empty() { Ok(()) } else { Err(Error::CannotWork(plan.findings.clone())) }
}
