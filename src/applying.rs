//! Carrying plans out: take the cluster, take up what an earlier run left, run, report.

use std::collections::BTreeSet;
use std::sync::Arc;

use slipway_engine::journal::EndResult;
use slipway_engine::{Backoff, Report, Run, State, StopSignal, recover};
use slipway_plan::Plan;
use slipway_resource::ClusterUid;
use slipway_state_store::{Acquire, ClusterName, Holder, Identity, SystemClock};
use tokio::time::Instant;

use crate::cli::RunArguments;
use crate::error::CommandError;
use crate::planning::{Planned, Prepared, Request};
use crate::program::Context;
use crate::secrets::UserSecrets;
use crate::ui;

/// A hold on a cluster, with the state as it found it.
pub(crate) struct Held {
    pub holder: Holder,
    pub state: State,
    /// Whether steps of an interrupted run were resolved, so that a plan made before is out of date.
    pub recovered: bool,
}

/// Takes a cluster and finds out what became of an interrupted run.
pub(crate) async fn take(
    context: &Context,
    prepared: &Prepared,
    arguments: &RunArguments,
    operation: &str,
    uid: Option<ClusterUid>,
) -> Result<Held, CommandError> {
    let backend = match &prepared.backend {
        Some(backend) => backend.clone(),
        None => context.backend()?,
    };
    let cluster = &prepared.wanted.cluster.name;
    let name = ClusterName::new(cluster.as_str())?;
    let uid = match uid {
        Some(uid) => slipway_state_store::ClusterUid::new(uid.as_str())?,
        None => slipway_state_store::ClusterUid::random()?,
    };
    let mut acquire = Acquire::new(Identity::current(&user(), operation)).create(uid);
    acquire.wait = arguments.wait;
    let holder = Holder::acquire(backend, &name, acquire, Arc::new(SystemClock)).await?;
    let mut state = State::of_view(cluster, holder.read().await?)?;
    let resolved = recover(&holder, &mut state, &prepared.opened.providers).await?;
    for step in &resolved {
        let what = step.address.as_ref().map_or_else(|| format!("step {}", step.step), ToString::to_string);
        let how = match &step.result {
            EndResult::Done { .. } => "was done",
            EndResult::NotDone => "was not done",
            EndResult::Failed { .. } => "is not known; what exists will tell",
        };
        context.output.message(&format!("An earlier run was interrupted at {what}: it {how}."));
    }
    Ok(Held { holder, state, recovered: !resolved.is_empty() })
}

/// Brings a cluster to what a request says: shows the plan, asks, runs. Returns whether it is through.
pub(crate) async fn bring(
    context: &Context,
    prepared: &Prepared,
    request: &Request,
    arguments: &RunArguments,
    full: bool,
) -> Result<bool, CommandError> {
    let planned = prepared.plan(request).await?;
    let interrupted = prepared.state.as_ref().is_some_and(State::is_interrupted);
    if planned.plan.is_empty() && !interrupted && !is_new_spec(prepared, &planned.plan) {
        context.output.result(&ui::show::text(context, &planned.plan, full))?;
        return Ok(true);
    }
    context.output.result(&ui::show::text(context, &planned.plan, full))?;
    stop_at_findings(&planned.plan)?;
    check_confirmations(&planned.plan, arguments)?;
    if !arguments.yes && !planned.plan.is_empty() {
        ui::prompt::confirm(context, "Carry this plan out?")?;
    }
    let operation = match request.mode {
        slipway_plan::Mode::Delete => "delete",
        _ => "apply",
    };
    let held = take(context, prepared, arguments, operation, planned.uid.clone()).await?;
    let Some(planned) = still_valid(context, prepared, request, arguments, &held, planned, full).await?
    else {
        held.holder.release(None).await?;
        return Ok(true);
    };
    if planned.plan.is_empty() {
        return settle(context, prepared, planned, held, arguments).await;
    }
    let report = run(context, prepared, &planned.plan, held, arguments, Some(planned.observed_at)).await?;
    ui::report::show(context, &planned.plan, &report)?;
    Ok(report.is_complete() && !planned.plan.has_deferred())
}

/// Whether the state has another spec than the plan: one that changes no resource is recorded all the same, for
/// what begins at the recorded one, as deletion and drift.
fn is_new_spec(prepared: &Prepared, plan: &Plan) -> bool {
    let recorded = prepared.state.as_ref().and_then(|state| state.snapshot.spec_digest.as_ref());
    plan.mode == slipway_plan::Mode::Apply
        && plan.left_out == 0
        && recorded.is_some_and(|recorded| *recorded != plan.binding.spec_digest)
}

/// The plan made before the hold, or a new one when something happened in between.
async fn still_valid(
    context: &Context,
    prepared: &Prepared,
    request: &Request,
    arguments: &RunArguments,
    held: &Held,
    planned: Planned,
    full: bool,
) -> Result<Option<Planned>, CommandError> {
    let before = prepared.state.as_ref().map_or(0, |state| state.head.generation.0);
    let seen = planned.plan.binding.generation.unwrap_or(before);
    let interrupted = held.recovered || held.state.is_interrupted();
    if seen == held.state.head.generation.0 && !interrupted {
        return Ok(Some(planned));
    }
    let prior = Some(&held.state.snapshot).filter(|_| held.state.head.snapshot.is_some() || interrupted);
    let again = prepared.plan_from(request, prior).await?;
    if again.plan.changes == planned.plan.changes {
        return Ok(Some(again));
    }
    context.output.message("What exists is not as it was when the plan was made; this is the plan now:");
    context.output.result(&ui::show::text(context, &again.plan, full))?;
    check_confirmations(&again.plan, arguments)?;
    if !arguments.yes {
        ui::prompt::confirm(context, "Carry this plan out?")?;
    }
    Ok(Some(again))
}

/// Commits the state where nothing is left to do: after an interrupted run, or for a spec that changes no
/// resource. An empty plan is carried out.
async fn settle(
    context: &Context,
    prepared: &Prepared,
    planned: Planned,
    held: Held,
    arguments: &RunArguments,
) -> Result<bool, CommandError> {
    let interrupted = held.recovered || held.state.is_interrupted();
    let report = run(context, prepared, &planned.plan, held, arguments, Some(planned.observed_at)).await?;
    context.output.message(if interrupted {
        "The interrupted run is through; nothing was left to do."
    } else {
        "The spec is recorded."
    });
    Ok(report.is_complete())
}

/// Carries a plan out under a hold.
pub(crate) async fn run(
    context: &Context,
    prepared: &Prepared,
    plan: &Plan,
    held: Held,
    arguments: &RunArguments,
    observed_at: Option<Instant>,
) -> Result<Report, CommandError> {
    let stop = StopSignal::default();
    let signals = ui::signals::watch(context, stop.clone());
    let mut progress = ui::progress::Progress::new(context.output, plan);
    let secrets = UserSecrets { folder: prepared.wanted.folder() };
    let run = Run {
        plan,
        providers: &prepared.opened.providers,
        state: held.state,
        secrets: &secrets,
        confirmed: confirmed(arguments),
        observed_at,
        backoff: Backoff::default(),
        events: progress.handler(),
        stop,
        who: Identity::current(&user(), "").who,
        clock: Arc::new(SystemClock),
    };
    let result = run.execute(held.holder).await;
    signals.abort();
    progress.finish();
    Ok(result?)
}

fn confirmed(arguments: &RunArguments) -> BTreeSet<String> {
    arguments.confirm.iter().cloned().collect()
}

/// Refuses a plan that would lose what nobody confirmed, with everything that needs it.
pub(crate) fn check_confirmations(plan: &Plan, arguments: &RunArguments) -> Result<(), CommandError> {
    let confirmed = confirmed(arguments);
    let missing: Vec<(String, &str)> = plan
        .changes
        .iter()
        .filter_map(|change| Some((change.address.to_string(), change.confirmation.as_deref()?)))
        .filter(|(address, _)| !confirmed.contains(address))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut error = CommandError::new("RUN0008", "the plan needs confirmations by name; nothing was done");
    for (address, reason) in &missing {
        error = error.cause(format!("{address}: {reason}"));
    }
    let flags: Vec<String> = missing.iter().map(|(address, _)| format!("--confirm {address}")).collect();
    Err(error.hint(format!("to lose them, say so: {}", flags.join(" "))))
}

/// Refuses a plan of which a provider says that it cannot work, with everything that it says.
pub(crate) fn stop_at_findings(plan: &Plan) -> Result<(), CommandError> {
    if plan.findings.is_empty() {
        return Ok(());
    }
    let mut error =
        CommandError::new("CLI0013", "the provider says that this plan cannot work; nothing was done");
    for finding in &plan.findings {
        let about = finding.address.as_ref().map(|address| format!("{address}: ")).unwrap_or_default();
        error = error.cause(format!("{about}{}", finding.message));
        if let Some(hint) = &finding.hint {
            error = error.hint(hint);
        }
    }
    Err(error.hint("`--no-preflight` tries all the same"))
}

fn user() -> String {
    std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "unknown".to_owned())
}
