//! Carrying plans out: take the cluster, take up what an earlier run left, decide, run.

use std::sync::Arc;

use slipway_engine::{Backoff, Report, Run, State, StopSignal};
use slipway_plan::Plan;
use slipway_state_store::{Backend, SystemClock};

use crate::approving;
use crate::decide::{Decide, Names, Occasion};
use crate::environment::Environment;
use crate::error::Error;
use crate::holding::{Held, Taking};
use crate::observe::{self, Event};
use crate::protection;
use crate::request::{Request, Terms};
use crate::subject::{Planned, Subject};

/// How plans are carried out: on which terms, who decides, and who tells a run to stop.
#[derive(Clone)]
pub struct Manner<'a> {
    /// The terms.
    pub terms: &'a Terms,
    /// Who decides about plans.
    pub decide: &'a dyn Decide,
    /// How a run is told to stop.
    pub stop: StopSignal,
}

impl<'a> Manner<'a> {
    /// On some terms, decided by somebody.
    #[must_use]
    pub fn new(terms: &'a Terms, decide: &'a dyn Decide) -> Self {
        Self { terms, decide, stop: StopSignal::default() }
    }
}

/// How an operation ended.
#[derive(Debug)]
pub enum Outcome {
    /// There was nothing to do.
    Nothing,
    /// An interrupted run was completed, and nothing else was to do.
    Completed(Applied),
    /// A plan was carried out, as far as its report says.
    Applied(Applied),
}

/// A plan that was carried out.
#[derive(Debug)]
pub struct Applied {
    /// The plan.
    pub plan: Plan,
    /// How its run ended.
    pub report: Report,
}

impl Applied {
    /// Whether every step is done, and nothing was left undecided.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.report.is_complete() && !self.plan.has_deferred()
    }
}

impl Outcome {
    /// Whether everything that was asked for is done.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Completed(applied) | Self::Applied(applied) => applied.is_complete(),
        }
    }
}

/// Brings a subject to what a request says: plans, has the plan decided about, takes the cluster, and carries the plan out.
///
/// A plan that was approved is carried out as it was approved. Where the state changed between the plan and the hold, the
/// plan is made again under the hold, and decided about again if it differs.
///
/// # Errors
/// When no plan can be made, it is not approved, or somebody else holds the cluster. A step that fails is in the report.
pub async fn bring(
    environment: &Environment,
    subject: &dyn Subject,
    request: &Request,
    manner: Manner<'_>,
) -> Result<Outcome, Error> {
    let busy = |state: &State| state.head.holder.is_some() || state.is_interrupted();
    let taking = Taking { operation: request.operation(), wait: manner.terms.wait, uid: None };
    if subject.state().is_some_and(busy) {
        // Somebody is at work here, or was interrupted: what to plan for is known once the cluster is held.
        let held = Held::take(environment, subject, taking).await?;
        let held = held.unless_protected(request.mode, subject.cluster(), request.unprotect).await?;
        return under_hold(environment, subject, request, manner, held, None).await;
    }
    let planned = subject.plan_from(request, subject.state().map(|state| &state.snapshot)).await?;
    let named = review(environment, subject, &planned.plan, &manner, Occasion::First).await?;
    if protection::is_nothing(&planned.plan) {
        return Ok(Outcome::Nothing);
    }
    let held = Held::take(environment, subject, Taking { uid: planned.uid.as_ref(), ..taking }).await?;
    let held = held.unless_protected(request.mode, subject.cluster(), request.unprotect).await?;
    if held.is_fresh(&planned.plan) {
        return finish(environment, subject, planned, held, (named, manner.stop)).await;
    }
    under_hold(environment, subject, request, manner, held, Some((planned, named))).await
}

/// Plans what is to be done now that nobody else changes anything, and does it. A plan that was approved before and has
/// become another one is decided about again.
async fn under_hold(
    environment: &Environment,
    subject: &dyn Subject,
    request: &Request,
    manner: Manner<'_>,
    held: Held,
    approved: Option<(Planned, Names)>,
) -> Result<Outcome, Error> {
    let planned = match subject.plan_from(request, held.prior()).await {
        Ok(planned) => planned,
        Err(error) => return held.give_back(error).await,
    };
    let plan = &planned.plan;
    let agreed = match approved {
        // The same changes, and all the same another plan than the one that was approved.
        Some((approved, named)) if approved.plan.changes == plan.changes => {
            approving::check(environment, subject.backend(), plan, manner.terms).await.map(|()| named)
        }
        Some(_) => review(environment, subject, plan, &manner, Occasion::Changed).await,
        None => review(environment, subject, plan, &manner, Occasion::First).await,
    };
    let named = match agreed {
        Ok(named) => named,
        Err(error) => return held.give_back(error).await,
    };
    if plan.is_empty() && held.prior().is_none() {
        held.holder.release(None).await?;
        return Ok(Outcome::Nothing);
    }
    finish(environment, subject, planned, held, (named, manner.stop)).await
}

/// Shows a plan to whoever decides, and has it decided about. Returns the names that were given for what it loses.
async fn review(
    environment: &Environment,
    subject: &dyn Subject,
    plan: &Plan,
    manner: &Manner<'_>,
    occasion: Occasion,
) -> Result<Names, Error> {
    manner.decide.review(plan, occasion).await?;
    agree(environment, subject.backend(), plan, manner).await
}

/// Everything that has to be so before a plan that was shown is carried out: nothing stops it, it has its approvals, and
/// whoever decides agrees. Returns the names that were given for what it loses.
pub(crate) async fn agree(
    environment: &Environment,
    approvals: Option<Arc<dyn Backend>>,
    plan: &Plan,
    manner: &Manner<'_>,
) -> Result<Names, Error> {
    if protection::is_nothing(plan) {
        return Ok(Names::new());
    }
    stop_at_findings(plan)?;
    check_infrastructure(plan, manner.terms)?;
    let mut names = manner.decide.names();
    let missing = plan.unconfirmed(&names);
    if !missing.is_empty() && !manner.decide.confirms() {
        return Err(Error::Unconfirmed(missing));
    }
    approving::check(environment, approvals, plan, manner.terms).await?;
    if missing.is_empty() {
        manner.decide.approve(plan).await?;
    }
    for confirmation in missing {
        manner.decide.confirm(plan, &confirmation).await?;
        names.insert(confirmation.name);
    }
    Ok(names)
}

/// Carries an approved plan out. An empty one after an interrupted run only commits what that run has left.
async fn finish(
    environment: &Environment,
    subject: &dyn Subject,
    planned: Planned,
    held: Held,
    (confirmed, stop): (Names, StopSignal),
) -> Result<Outcome, Error> {
    let applied = run(environment, subject, planned, held, (confirmed, stop)).await?;
    if protection::is_nothing(&applied.plan) {
        return Ok(Outcome::Completed(applied));
    }
    Ok(Outcome::Applied(applied))
}

/// Carries a plan out under a hold.
pub(crate) async fn run(
    environment: &Environment,
    subject: &dyn Subject,
    Planned { plan, observed_at, texts, .. }: Planned,
    held: Held,
    (confirmed, stop): (Names, StopSignal),
) -> Result<Applied, Error> {
    let acting = match subject.acting(&plan, held.holder.journal(), &held.state).await {
        Ok(providers) => subject.secret_store(&held.state.snapshot.uid).map(|store| (providers, store)),
        Err(error) => Err(error),
    };
    let (providers, store) = match acting {
        Ok(acting) => acting,
        Err(error) => return held.give_back(error).await,
    };
    let plan = Arc::new(plan);
    environment.observer.event(Event::RunBegins(plan.clone()));
    let run = Run {
        plan: &plan,
        providers: &providers,
        state: held.state,
        secrets: texts,
        store: store.as_ref(),
        confirmed,
        observed_at,
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

/// Refuses a plan whose infrastructure will not do what the spec asks for, unless that alone is asked for.
fn check_infrastructure(plan: &Plan, terms: &Terms) -> Result<(), Error> {
    if plan.infrastructure_only.is_empty() || plan.infrastructure_accepted || terms.infrastructure_only {
        return Ok(());
    }
    Err(Error::InfrastructureOnly(plan.infrastructure_only.clone()))
}

/// Refuses a plan of which a provider says that it cannot work, with everything that it says.
///
/// # Errors
/// [`Error::CannotWork`].
pub fn stop_at_findings(plan: &Plan) -> Result<(), Error> {
    if plan.findings.is_empty() { Ok(()) } else { Err(Error::CannotWork(plan.findings.clone())) }
}
