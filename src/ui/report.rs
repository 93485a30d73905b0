//! How a run ended, for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use slipway_engine::{Report, StepFailure};
use slipway_limits::size;
use slipway_limits::text::shorten;
use slipway_operations::Outcome;
use slipway_plan::render;
use slipway_plan::{ChangeAction, Mode, Plan, Snapshot, Step, StepAction, StepId, Titles};
use slipway_resource::Address;
use slipway_resource::provider::operation;
use slipway_state_store::Generation;

use crate::cli::ReportFormat;
use crate::cli::state::ResultArguments;
use crate::error::CommandError;
use crate::program::Context;

/// The result of an operation on a cluster, for programs.
pub(crate) fn json(cluster: &str, outcome: &Outcome) -> Json {
    let (plan, report) = match outcome {
        Outcome::Nothing => return json!({ "cluster": cluster, "outcome": "nothing" }),
        Outcome::Undecided(plan) => {
            let word = slipway_state_store::Outcome::Deferred.as_str();
            return json!({ "cluster": cluster, "outcome": word, "undecided": undecided_of(plan) });
        }
        Outcome::Completed(applied) | Outcome::Applied(applied) => (&applied.plan, &applied.report),
    };
    let titles = Titles::of(plan);
    let failure = |failure: &StepFailure| {
        let step = plan.steps.get(failure.step.index());
        json!({
            "step": step.map(|step| titles.title(step)),
            "address": step.map(|step| &step.address),
            "class": failure.error.class.to_string(),
            "message": shorten(&failure.error.message, size::MESSAGE),
            "hint": failure.error.hint.as_deref().map(|hint| shorten(hint, size::MESSAGE)),
            "blocked": failure.blocked.len(),
        })
    };
    json!({
        "cluster": cluster,
        "outcome": slipway_engine::outcome(plan, report).as_str(),
        "generation": report.generation,
        "plan": plan.digest().ok(),
        "steps": {
            "done": report.done,
            "done_before": report.done_before,
            "failed": report.failures.len(),
            "under_way": report.under_way,
            "not_begun": report.not_begun,
        },
        "failures": report.failures.iter().map(failure).collect::<Vec<Json>>(),
        "undecided": undecided_of(plan),
        "kept": plan.kept.iter().map(|change| &change.address).collect::<Vec<&Address>>(),
        "elapsed_ms": u64::try_from(report.elapsed.as_millis()).unwrap_or(u64::MAX),
    })
}

/// Shows that the state of a cluster was changed without a run: in a sentence, or as the result for programs.
pub(crate) fn changed(
    context: &Context,
    arguments: &ResultArguments,
    (cluster, generation): (&str, Generation),
    text: &str,
) -> Result<(), CommandError> {
    match arguments.output {
        ReportFormat::Text => context.output.outcome(text),
        ReportFormat::Json => {
            let result = json!({ "cluster": cluster, "outcome": "complete", "generation": generation });
            context.output.outcome(&result.to_string())
        }
    }
}

/// Shows what a change of the state would be. Programs read the result only, so they get it on standard error: with `--quiet` too
/// if a question follows.
pub(crate) fn found(
    context: &Context,
    arguments: &ResultArguments,
    is_answered: bool,
    text: &str,
) -> Result<(), CommandError> {
    match (arguments.output, is_answered) {
        (ReportFormat::Text, _) => return context.output.result(text),
        (ReportFormat::Json, true) => context.output.message(text),
        (ReportFormat::Json, false) => context.output.notice(text),
    }
    Ok(())
}

/// Shows the end of a dry run: that nothing was written. Programs get the resources that were found, and the addresses of the others.
pub(crate) fn dry_run(
    context: &Context,
    arguments: &ResultArguments,
    snapshot: &Snapshot,
    missing: &[Address],
) -> Result<(), CommandError> {
    context.output.message("Nothing was written.");
    match arguments.output {
        ReportFormat::Text => Ok(()),
        ReportFormat::Json => {
            let resources = snapshot.resources.iter();
            let found: Vec<Json> = resources
                .map(|(address, record)| json!({ "address": address, "identity": record.identity }))
                .collect();
            let result = json!({ "cluster": snapshot.cluster, "found": found, "missing": missing });
            context.output.outcome(&result.to_string())
        }
    }
}

/// Shows what was done, what failed, and what that held back. `next` is the command that continues the run, where the next apply is
/// refused.
pub(crate) fn show(
    context: &Context,
    plan: &Plan,
    report: &Report,
    next: Option<&str>,
) -> Result<(), CommandError> {
    failures(context, plan, report);
    closing(context, plan, report, next)
}

/// Shows the steps that failed, and what that held back.
pub(crate) fn failures(context: &Context, plan: &Plan, report: &Report) {
    let output = context.output;
    let titles = Titles::of(plan);
    let title =
        |id: StepId| plan.steps.get(id.index()).map_or_else(|| id.to_string(), |step| titles.title(step));
    let mut text = String::new();
    for failure in &report.failures {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: {} failed", output.style_error("error"), title(failure.step));
        let _ = writeln!(text, "  {} ({})", failure.error.message, failure.error.class);
        if let slipway_resource::ErrorClass::Dependency { blockers } = &failure.error.class {
            for blocker in blockers {
                let _ = writeln!(text, "  blocked by {blocker}");
            }
        }
        if let Some(hint) = &failure.error.hint {
            let _ = writeln!(text, "  {}: {hint}", output.style_hint("hint"));
        }
        if let Some(way_out) = plan.steps.get(failure.step.index()).and_then(way_out) {
            let _ = writeln!(text, "  {}: {way_out}", output.style_hint("hint"));
        }
        if !failure.blocked.is_empty() {
            let _ = writeln!(text, "  not started because of it: {}", list(&failure.blocked, &title));
        }
    }
    if !text.is_empty() {
        output.notice(&text);
    }
    if !report.unresolved.is_empty() {
        let (cluster, steps) = (plan.cluster.clone(), report.unresolved.clone());
        CommandError::from(slipway_engine::Error::Unresolved { cluster, steps }).report(&output);
    }
}

/// Shows the counts of a run and its generation.
fn closing(context: &Context, plan: &Plan, report: &Report, next: Option<&str>) -> Result<(), CommandError> {
    let took = render::duration(u64::try_from(report.elapsed.as_millis()).unwrap_or(u64::MAX));
    let steps = |count: usize| if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
    let mut line = if report.is_complete() {
        format!("Done: {} in {took}.", steps(report.done))
    } else {
        let under_way = match report.under_way {
            0 => String::new(),
            steps => format!("{steps} left under way, "),
        };
        format!(
            "Not complete: {} done, {} failed, {under_way}{} not started, in {took}.",
            steps(report.done),
            report.failures.len(),
            report.not_begun
        )
    };
    if report.done_before > 0 {
        let _ = write!(line, " {} were done by an earlier run.", steps(report.done_before));
    }
    if let Some(generation) = report.generation {
        let _ = write!(line, " {} is at generation {}.", plan.cluster, generation.0);
    } else if let Some(next) = next {
        let _ = write!(line, " `{next}` goes on from here.");
    } else if plan.mode == Mode::Delete {
        let _ = write!(line, " `slipway delete {}` goes on from here.", plan.cluster);
    } else if !plan.requested_rolls().is_empty() {
        // A roll that is abandoned waits for its new machines too.
        let mut failed = report.failures.iter().filter_map(|failure| plan.steps.get(failure.step.index()));
        let way_out = match failed.any(|step| way_out(step).is_some()) {
            true => "`slipway roll -f SPEC --restart` begins it again with new machines",
            false => "`slipway roll -f SPEC --abandon` ends it",
        };
        let _ = write!(line, " The same command and the next apply continue the roll; {way_out}.");
    } else {
        line.push_str(" The next apply goes on from here.");
    }
    if let Some(open) = not_decided(plan) {
        let _ = write!(line, "\n{open}");
    }
    if !plan.kept.is_empty() {
        let kept: Vec<String> = plan.kept.iter().map(|change| change.address.to_string()).collect();
        let _ = write!(line, "\nKept in the cloud: {}.", kept.join(", "));
    }
    context.output.outcome(&line)
}

/// The way out for a machine that does not become a ready node: the next apply waits for it again, and a roll removes it first.
fn way_out(step: &Step) -> Option<String> {
    let StepAction::Operation { name, .. } = &step.action else { return None };
    let pool = step.roll.as_ref().unwrap_or(&step.address);
    (name == operation::VERIFY).then(|| {
        format!(
            "if the machine never becomes ready, `slipway roll -f SPEC --pool {} --restart` replaces it, and the others of its \
             pool",
            pool.name()
        )
    })
}

/// Says that nothing of a plan could be decided.
pub(crate) fn undecided(context: &Context, plan: &Plan) -> Result<(), CommandError> {
    context.output.result(&format!("Nothing was done. {}", not_decided(plan).unwrap_or_default()))
}

/// The resources about which a plan decides nothing.
fn undecided_of(plan: &Plan) -> Vec<String> {
    let deferred = plan.changes.iter().filter(|change| change.action == ChangeAction::Deferred);
    deferred.map(|change| change.address.to_string()).collect()
}

fn not_decided(plan: &Plan) -> Option<String> {
    let open = undecided_of(plan);
    (!open.is_empty()).then(|| {
        format!(
            "Not decided, and not done: {}. `slipway plan` says why; run the command again when that has passed.",
            open.join(", ")
        )
    })
}

fn list(steps: &[StepId], title: &dyn Fn(StepId) -> String) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<String> = steps.iter().take(SHOWN).map(|id| title(*id)).collect();
    if steps.len() > SHOWN {
        names.push(format!("{} more", steps.len() - SHOWN));
    }
    names.join(", ")
}
