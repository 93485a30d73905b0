//! One task on the machine: checked, planned, then shown or carried out.

use std::process::ExitCode;

use slipway_bootstrap::expand::Phased;
use slipway_bootstrap::phase::{self, Command};
use slipway_bootstrap::preflight::Questions;
use slipway_node_agent::leave::Leaving;
use slipway_node_agent::spec::NodeSpec;
use slipway_node_agent::work::{self, How, Task, Went, Work};
use slipway_node_agent::{CLEANUP, Released, Selection, preflight};
use slipway_operations::{Outcome, Plannable as _};

use crate::cli::node::{CarryOutArguments, MachineArguments};
use crate::cli::{OutputFormat, RunArguments, ShowOptions};
use crate::code;
use crate::commands::{done, pending};
use crate::deciding::{Dialogue, outcome_at, report};
use crate::error::CommandError;
use crate::program::Context;
use crate::ui;

/// What follows after the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner<'a> {
    /// Whether the plan is shown and nothing is done.
    pub dry_run: bool,
    /// Whether nothing is folded.
    pub full: bool,
    /// The format of a plan that is only shown.
    pub output: OutputFormat,
    /// Whether the user is asked, and the confirmations given.
    pub run: &'a RunArguments,
    /// The resources that are replaced although nothing differs.
    pub replace: &'a [String],
}

impl<'a> Manner<'a> {
    fn how(&self) -> How<'a> {
        How { dry_run: self.dry_run, replace: self.replace }
    }
}

/// Runs the checks if their phase is selected, reports the findings, and stops at obstacles.
pub(crate) async fn check(
    context: &Context,
    work: &Work,
    (questions, spec): (&Questions, &NodeSpec),
    arguments: &MachineArguments,
    clock_ahead_seconds: Option<i64>,
) -> Result<(), CommandError> {
    let checked = work.check(questions, spec, &arguments.ignore_preflight_errors, clock_ahead_seconds);
    let Some((report, unknown)) = checked.await? else { return Ok(()) };
    let is_json = arguments.output == OutputFormat::Json;
    if is_json && (work.selection.is_only("preflight") || !report.is_clear()) {
        context.output.result(&preflight::json(&report)?)?;
    }
    preflight::unknown(&unknown).iter().for_each(|warning| context.output.message(warning));
    if !is_json {
        preflight::warnings(&report).iter().for_each(|warning| context.output.message(warning));
    }
    preflight::obstacles(&report).map_err(|error| {
        let error = CommandError::from(error);
        if is_json { error.reported() } else { error }
    })
}

/// Plans the desired state of the machine, and shows the plan or applies it.
pub(crate) async fn apply(
    context: &Context,
    work: Work,
    (spec, phased): (NodeSpec, Vec<Phased>),
    manner: Manner<'_>,
) -> Result<ExitCode, CommandError> {
    go(context, work.apply(spec, phased, manner.how())?, manner).await
}

/// Plans to remove the objects on the machine, and shows the plan or applies it.
pub(crate) async fn remove(
    context: &Context,
    work: Work,
    spec: NodeSpec,
    released: (Released, Leaving),
    manner: Manner<'_>,
) -> Result<ExitCode, CommandError> {
    let (root, cleans) = (work.machine.root.clone(), work.selection.means(CLEANUP));
    let code = go(context, work.remove(spec, released, manner.how())?, manner).await?;
    if code == ExitCode::SUCCESS && cleans && !manner.dry_run {
        work::forget(&root).await?;
    }
    Ok(code)
}

async fn go(context: &Context, task: Option<Task>, manner: Manner<'_>) -> Result<ExitCode, CommandError> {
    let Some(task) = task else { return Ok(ExitCode::SUCCESS) };
    if manner.dry_run {
        let Task { place, plannable, request } = task;
        let prior = plannable.state().map(|state| &state.snapshot);
        let plan = plannable.plan_from(&request, prior).await?.plan;
        let show = ShowOptions { output: manner.output, full: manner.full };
        ui::show::plan_at(context, &place, &plan, &show)?;
        return Ok(pending(&plan));
    }
    Ok(done(carry_out(context, task, manner.run, manner.full).await?.is_complete))
}

/// Plans a task, asks as far as the options do not answer, carries the plan out, and reports.
pub(crate) async fn carry_out(
    context: &Context,
    task: Task,
    run: &RunArguments,
    full: bool,
) -> Result<Went, CommandError> {
    let Task { place, plannable, request } = task;
    let environment = context.without_store()?;
    let dialogue = Dialogue::new(run, full);
    let outcome = outcome_at(context, place, &environment, &plannable, &request, dialogue).await?;
    let is_complete = report(context, &outcome, None)?;
    let failures = match &outcome {
        Outcome::Applied(applied) | Outcome::Completed(applied) => applied.report.failures.as_slice(),
        Outcome::Nothing | Outcome::Undecided(_) => &[],
    };
    let failures = failures.iter().map(|failure| failure.error.message.clone()).collect();
    Ok(Went { is_complete, failures })
}

/// The phases that options and documents leave out, or the one selected phase.
pub(crate) fn selection(
    command: Command,
    arguments: &CarryOutArguments,
    configured: &[String],
    only: Option<&str>,
) -> Result<Selection, CommandError> {
    match only {
        Some(phase) => Ok(Selection::only(phase)),
        None => {
            let skipped: Vec<String> = arguments.skip_phases.iter().chain(configured).cloned().collect();
            Selection::without(command, &skipped).map_err(|phase| {
                let error = CommandError::new(code::NO_PHASE, format!("there is no phase `{phase}` to skip"));
                let list = "`slipway node phase init`, `join` and `reset` list the phases of each";
                match phase::meant(command, &phase) {
                    Some(meant) => error.hint(format!("did you mean `{meant}`? {list}")),
                    None => error.hint(list),
                }
            })
        }
    }
}
