//! Carrying plans out: take the cluster, take up what an earlier run left, run, report.

use std::sync::Arc;

use slipway_engine::journal::EndResult;
use slipway_engine::{Backoff, Recovery, Report, Run, State, StopSignal, recover};
use slipway_plan::{Mode, Plan};
use slipway_resource::{ClusterUid, ErrorClass};
use slipway_state_store::{Acquire, ClusterName, Holder, SystemClock};
use tokio::time::Instant;

use crate::actor::Actor;
use crate::approving;
use crate::cli::RunArguments;
use crate::confirming::{self, Names};
use crate::error::CommandError;
use crate::planning::{Planned, Request};
use crate::program::Context;
use crate::protection;
use crate::subject::Subject;
use crate::ui;

/// A hold on a cluster, with the state as it found it.
pub(crate) struct Held {
    pub holder: Holder,
    pub state: State,
    /// What the state knows of the cluster's protection from deletion.
    pub protection: protection::Known,
    /// Whether steps of an interrupted run were resolved, so that a plan made before is out of date.
    pub recovered: bool,
}

/// Takes a cluster and finds out what became of an interrupted run.
pub(crate) async fn take(
    context: &Context,
    subject: &dyn Subject,
    arguments: &RunArguments,
    operation: &str,
    uid: Option<ClusterUid>,
) -> Result<Held, CommandError> {
    let backend = match subject.backend() {
        Some(backend) => backend,
        None => context.backend()?,
    };
    let cluster = subject.cluster();
    let name = ClusterName::new(cluster)?;
    let uid = match uid {
        Some(uid) => slipway_state_store::ClusterUid::new(uid.as_str())?,
        None => slipway_state_store::ClusterUid::random()?,
    };
    let mut acquire = Acquire::new(Actor::current(context).doing(operation)).create(uid);
    acquire.wait = arguments.wait;
    acquire.describe = Some(State::progress);
    acquire.options = context.lease;
    let holder = Holder::acquire(backend, &name, acquire, Arc::new(SystemClock)).await?;
    let (state, resolved, protection) = match settle(&holder, subject, operation).await {
        Ok(settled) => settled,
        Err(error) => {
            // What stays open is told; that the hold is given back matters more than why that may fail.
            let _ = holder.release(None).await;
            return Err(error);
        }
    };
    for step in &resolved {
        let what = step.address.as_ref().map_or_else(|| format!("step {}", step.step), ToString::to_string);
        let how = match &step.result {
            EndResult::Done { .. } => "was done",
            EndResult::NotDone => "was not done",
            EndResult::Failed { class: ErrorClass::OutcomeUnknown, .. } => {
                "is not known; what exists will tell"
            }
            EndResult::Failed { message, .. } => {
                let text = format!(
                    "An earlier run was interrupted at {what}. It was taken up again and failed: {message}\nThe plan goes on from what exists."
                );
                context.output.message(&text);
                continue;
            }
        };
        context.output.message(&format!("An earlier run was interrupted at {what}: it {how}."));
    }
    let mut state = state;
    subject.taken(&mut state);
    Ok(Held { holder, state, protection, recovered: !resolved.is_empty() })
}

/// Reads the state that was taken, and finds out what became of the steps that an earlier run left open.
async fn settle(
    holder: &Holder,
    subject: &dyn Subject,
    operation: &str,
) -> Result<(State, Vec<Recovery>, protection::Known), CommandError> {
    let cluster = subject.cluster();
    let view = holder.read().await?;
    let complete = view.snapshot.as_ref().map(|bytes| State::snapshot_of(cluster, bytes)).transpose()?;
    let mut state = State::of_view(cluster, view)?;
    let protection = protection::Known::of(complete.as_ref(), &state);
    // Nobody waits for what another spec had wanted, or for what goes.
    let superseded = operation == "delete" || subject.spec()?.is_some_and(|spec| spec != state.snapshot.spec);
    let resolved = recover(holder, &mut state, subject.providers(), superseded).await?;
    Ok((state, resolved, protection))
}

/// Brings a cluster to what a request says: shows the plan, asks, runs. Returns whether it is through.
pub(crate) async fn bring(
    context: &Context,
    subject: &dyn Subject,
    request: &Request,
    arguments: &RunArguments,
    full: bool,
) -> Result<bool, CommandError> {
    let busy = |state: &State| state.head.holder.is_some() || state.is_interrupted();
    if subject.state().is_some_and(busy) {
        // Somebody is at work here, or was interrupted: what to plan for is known once the cluster is held.
        let held = take(context, subject, arguments, operation(request), None).await?;
        let held = check_protection(subject, request, held).await?;
        return under_hold(context, subject, request, arguments, full, held, None).await;
    }
    let planned = subject.plan_from(request, subject.state().map(|state| &state.snapshot)).await?;
    let named = approve(context, &planned.plan, arguments, full).await?;
    if protection::is_nothing(&planned.plan) {
        return Ok(true);
    }
    let held = take(context, subject, arguments, operation(request), planned.uid.clone()).await?;
    let held = check_protection(subject, request, held).await?;
    let seen = planned.plan.binding.generation.unwrap_or(0);
    let unmoved = seen == held.state.head.generation.0 && !held.recovered && !held.state.is_interrupted();
    if unmoved {
        return finish(context, subject, &planned, held, named).await;
    }
    under_hold(context, subject, request, arguments, full, held, Some((planned, named))).await
}

/// Plans what is to be done now that nobody else changes anything, and does it. A plan that was approved before
/// and has become another one is shown and asked about again.
async fn under_hold(
    context: &Context,
    subject: &dyn Subject,
    request: &Request,
    arguments: &RunArguments,
    full: bool,
    held: Held,
    approved: Option<(Planned, Names)>,
) -> Result<bool, CommandError> {
    let known = held.state.head.snapshot.is_some() || held.recovered || held.state.is_interrupted();
    let planned = match subject.plan_from(request, Some(&held.state.snapshot).filter(|_| known)).await {
        Ok(planned) => planned,
        Err(error) => return give_back(held, error).await,
    };
    let agreed = match approved {
        // The same changes, and all the same another plan than the one that was approved.
        Some((approved, named)) if approved.plan.changes == planned.plan.changes => {
            approving::check(context, &planned.plan, arguments).await.map(|()| named)
        }
        approved => {
            if approved.is_some() {
                context.output.message("Something happened since the plan was made; this is the plan now:");
            }
            approve(context, &planned.plan, arguments, full).await
        }
    };
    let named = match agreed {
        Ok(named) => named,
        Err(error) => return give_back(held, error).await,
    };
    if planned.plan.is_empty() && !known {
        held.holder.release(None).await?;
        return Ok(true);
    }
    finish(context, subject, &planned, held, named).await
}

/// Gives the cluster back where it is to be deleted and is protected by now.
async fn check_protection(
    subject: &dyn Subject,
    request: &Request,
    held: Held,
) -> Result<Held, CommandError> {
    if request.mode != Mode::Delete {
        return Ok(held);
    }
    match protection::check(subject.cluster(), held.protection, None, request.unprotect) {
        Ok(()) => Ok(held),
        Err(error) => give_back(held, error).await,
    }
}

/// Lets the cluster go after a failure that is more worth telling than one of letting go.
pub(crate) async fn give_back<T>(held: Held, error: CommandError) -> Result<T, CommandError> {
    let _ = held.holder.release(None).await;
    Err(error)
}

/// Shows a plan and asks for it. Returns the names that were given for what it loses.
async fn approve(
    context: &Context,
    plan: &Plan,
    arguments: &RunArguments,
    full: bool,
) -> Result<Names, CommandError> {
    context.output.result(&ui::show::text(context, plan, full))?;
    agree(context, plan, arguments).await
}

/// Everything that has to be so before a plan that was shown is carried out: nothing stops it, it has its approvals, and
/// somebody agrees. Returns the names that were given for what it loses.
pub(crate) async fn agree(
    context: &Context,
    plan: &Plan,
    arguments: &RunArguments,
) -> Result<Names, CommandError> {
    if protection::is_nothing(plan) {
        return Ok(Names::new());
    }
    stop_at_findings(plan)?;
    check_infrastructure(plan, arguments)?;
    confirming::check(context, plan, arguments)?;
    approving::check(context, plan, arguments).await?;
    confirming::ask(context, plan, arguments)
}

/// Carries an approved plan out. An empty one after an interrupted run only commits what that run has left.
async fn finish(
    context: &Context,
    subject: &dyn Subject,
    planned: &Planned,
    held: Held,
    confirmed: Names,
) -> Result<bool, CommandError> {
    let report = run(context, subject, &planned.plan, held, confirmed, Some(planned.observed_at)).await?;
    if protection::is_nothing(&planned.plan) {
        context.output.message("The interrupted run is through; nothing was left to do.");
    } else {
        ui::report::show(context, &planned.plan, &report)?;
    }
    Ok(report.is_complete() && !planned.plan.has_deferred())
}

fn operation(request: &Request) -> &'static str {
    match request.mode {
        Mode::Delete => "delete",
        _ => "apply",
    }
}

/// Carries a plan out under a hold.
pub(crate) async fn run(
    context: &Context,
    subject: &dyn Subject,
    plan: &Plan,
    held: Held,
    confirmed: Names,
    observed_at: Option<Instant>,
) -> Result<Report, CommandError> {
    let stop = StopSignal::default();
    let signals = ui::signals::watch(context, stop.clone());
    let mut progress = ui::progress::Progress::new(context.output, plan);
    subject.begins(held.holder.journal(), &held.state);
    let store = match subject.secret_store(&held.state.snapshot.uid) {
        Ok(store) => store,
        Err(error) => return give_back(held, error).await,
    };
    let run = Run {
        plan,
        providers: subject.providers(),
        state: held.state,
        secrets: subject.texts(),
        store: store.as_ref(),
        confirmed,
        observed_at,
        backoff: Backoff::default(),
        events: progress.handler(),
        stop,
        who: Actor::current(context).who,
        clock: Arc::new(SystemClock),
    };
    let result = run.execute(held.holder).await;
    signals.abort();
    progress.finish();
    Ok(result?)
}

/// Refuses a plan whose infrastructure will not do what the spec asks for, unless that alone is asked for.
pub(crate) fn check_infrastructure(plan: &Plan, arguments: &RunArguments) -> Result<(), CommandError> {
    if plan.infrastructure_only.is_empty() || plan.infrastructure_accepted || arguments.infrastructure_only {
        return Ok(());
    }
    let message = "the plan makes infrastructure that will not be a working cluster; nothing was done";
    let mut error = CommandError::new("PLAN0030", message);
    for missing in &plan.infrastructure_only {
        error = error.cause(missing.clone());
    }
    Err(error.hint("`--infrastructure-only` makes the infrastructure alone"))
}

/// Refuses a plan of which a provider says that it cannot work, with everything that it says.
pub(crate) fn stop_at_findings(plan: &Plan) -> Result<(), CommandError> {
    if plan.findings.is_empty() {
        return Ok(());
    }
    let mut error = CommandError::new("CLI0013", "this plan cannot work; nothing was done");
    for finding in &plan.findings {
        let about = finding.address.as_ref().map(|address| format!("{address}: ")).unwrap_or_default();
        error = error.cause(format!("{about}{}", finding.message));
        if let Some(hint) = &finding.hint {
            error = error.hint(hint);
        }
    }
    Err(error.hint("`--no-preflight` tries all the same"))
}
