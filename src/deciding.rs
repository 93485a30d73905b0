//! Decisions and events on a terminal: shows plans, asks the user, draws progress.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use slipway_engine::journal::EndResult;
use slipway_engine::{Recovery, State, StopSignal};
use slipway_operations::{
    Approvals, Decide, Declined, Environment, Event, Manner, Names, Observer, Occasion, Outcome, Plannable,
    Request, Terms, bring,
};
use slipway_plan::{Confirmation, Mode, Plan};
use slipway_resource::{Address, ErrorClass};

use crate::cli::{OutputFormat, RunArguments, ShowOptions};
use crate::code;
use crate::error::CommandError;
use crate::output::Output;
use crate::program::Context;
use crate::ui;
use crate::ui::progress::Progress;
use crate::ui::signals::Signals;

/// How a command shows its plan and asks about it.
#[derive(Clone, Copy)]
pub(crate) struct Dialogue<'a> {
    /// Answers that the user gave ahead.
    pub run: &'a RunArguments,
    /// Whether nothing is folded in plans.
    pub full: bool,
    /// Whether the user accepts that machines do not become nodes.
    pub infrastructure_only: bool,
    /// Whether the result is JSON. The plan is shown on standard error then.
    pub json: bool,
    /// The other plans of the command.
    pub others: Others<'a>,
    /// The command that continues a run which did not complete, where the next apply is refused.
    pub next: Option<&'a str>,
}

/// The plans of a command beside the one that a dialogue is about. A name in `--confirm` must not confirm a loss that the
/// user has not seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others<'a> {
    /// There is no other plan.
    None,
    /// Plans of other clusters; the names of all. A name that confirms begins with its cluster, as `CLUSTER/ADDRESS`.
    Clusters(&'a [String]),
    /// Plans of earlier steps of an upgrade, which names in `--confirm` belong to.
    Earlier,
}

impl<'a> Dialogue<'a> {
    /// The dialogue about the only plan of a command.
    pub fn new(run: &'a RunArguments, full: bool) -> Self {
        Self { run, full, infrastructure_only: false, json: false, others: Others::None, next: None }
    }

    /// The same for a command with the options of a plan, of which only JSON has a meaning for a result.
    pub fn showing(run: &'a RunArguments, show: &ShowOptions) -> Self {
        Self { json: show.output == OutputFormat::Json, ..Self::new(run, show.full) }
    }
}

/// Brings a cluster or a node to what a request says: shows the plan, asks, runs, and reports. Returns whether everything is done.
pub(crate) async fn carry_out(
    context: &Context,
    environment: &Environment,
    plannable: &dyn Plannable,
    request: &Request,
    dialogue: Dialogue<'_>,
) -> Result<bool, CommandError> {
    let place = context.state_url();
    let outcome = outcome_at(context, place, environment, plannable, request, dialogue).await?;
    report_in(context, plannable.cluster(), &outcome, dialogue)
}

/// Shows how an operation on a cluster ended, in the format of a dialogue. Returns whether everything is done.
pub(crate) fn report_in(
    context: &Context,
    cluster: &str,
    outcome: &Outcome,
    dialogue: Dialogue<'_>,
) -> Result<bool, CommandError> {
    if !dialogue.json {
        return report(context, outcome, dialogue.next);
    }
    if let Outcome::Applied(applied) | Outcome::Completed(applied) = outcome {
        ui::report::failures(context, &applied.plan, &applied.report);
    }
    context.output.outcome(&ui::report::json(cluster, outcome).to_string())?;
    Ok(outcome.is_complete())
}

/// The same for a state in another place than that of the settings, without a report.
pub(crate) async fn outcome_at(
    context: &Context,
    place: String,
    environment: &Environment,
    plannable: &dyn Plannable,
    request: &Request,
    dialogue: Dialogue<'_>,
) -> Result<Outcome, CommandError> {
    let stop = StopSignal::default();
    let environment = context.followed(environment, &stop).with_parallelism(dialogue.run.parallelism);
    let terms = terms(dialogue);
    let decide = Asking { context, place, dialogue, state: plannable.state() };
    let manner = Manner { terms: &terms, decide: &decide, stop };
    Ok(bring(&environment, plannable, request, manner).await?)
}

/// Shows how an operation ended. `next` is the command that continues it, where the next apply is refused. Returns whether everything
/// is done.
pub(crate) fn report(context: &Context, outcome: &Outcome, next: Option<&str>) -> Result<bool, CommandError> {
    match outcome {
        Outcome::Nothing => {}
        Outcome::Undecided(plan) => ui::report::undecided(context, plan)?,
        Outcome::Completed(_) => {
            context.output.message("The interrupted run is through; nothing was left to do.");
        }
        Outcome::Applied(applied) => ui::report::show(context, &applied.plan, &applied.report, next)?,
    }
    Ok(outcome.is_complete())
}

/// The terms that options say. The configuration may demand more approvals, for every change.
pub(crate) fn terms(Dialogue { run: arguments, infrastructure_only, .. }: Dialogue<'_>) -> Terms {
    Terms {
        wait: arguments.wait,
        approvals: Approvals {
            needed: arguments.require_approval.unwrap_or(0),
            by_other: arguments.require_approval_by_other,
        },
        infrastructure_only,
    }
}

/// Asks a person, as far as the options do not answer.
pub(crate) struct Asking<'a> {
    pub context: &'a Context,
    /// Where the state is, as plans name it.
    pub place: String,
    pub dialogue: Dialogue<'a>,
    /// The state before the operation; none where there is none.
    pub state: Option<&'a State>,
}

impl Asking<'_> {
    /// Refuses a name in `--confirm` that cannot be an address of this cluster or the name of the cluster.
    ///
    /// A name is only reported where it may have had an effect before: in another plan of the same command, or in a run that
    /// did not complete. The same is true for an empty plan, and where the name of the cluster confirms everything.
    fn check_names(&self, plan: &Plan, occasion: Occasion) -> Result<(), CommandError> {
        let names = &self.dialogue.run.confirm;
        let unknown = names.iter().filter(|name| !self.is_of_another(plan, name) && !self.knows(plan, name));
        let unknown: Vec<String> = unknown.map(|name| format!("`--confirm {name}`")).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let message =
            format!("{} names nothing in the plan or the state of {}", unknown.join(", "), plan.cluster);
        let is_interrupted = self.state.is_some_and(|state| {
            state.head.holder.is_some() || state.head.unfinished.is_some() || state.is_interrupted()
        });
        let is_confirmed = plan.mode == Mode::Delete && names.contains(&plan.cluster);
        if occasion == Occasion::Changed
            || self.dialogue.others != Others::None
            || is_interrupted
            || is_confirmed
            || plan.is_empty()
        {
            self.context.output.message(&format!("warning: {message}"));
            return Ok(());
        }
        let needed: Vec<String> = plan
            .confirmations()
            .into_iter()
            .map(|confirmation| format!("`--confirm {}`", confirmation.name))
            .collect();
        let hint = match needed.as_slice() {
            [] => "remove it: this plan needs no confirmation by name".to_owned(),
            needed => format!("this plan needs {}", needed.join(", ")),
        };
        Err(CommandError::new(code::CONFIRMS_NOTHING, format!("{message}; nothing was done")).hint(hint))
    }

    /// Whether a name begins with another cluster of the command.
    fn is_of_another(&self, plan: &Plan, name: &str) -> bool {
        let Others::Clusters(clusters) = self.dialogue.others else { return false };
        let begins_with =
            |cluster: &String| name.strip_prefix(cluster.as_str()).is_some_and(|rest| rest.starts_with('/'));
        own_name(plan, name).is_none() && clusters.iter().any(begins_with)
    }

    /// Whether the plan or the state has a resource with this address, or the cluster has this name.
    fn knows(&self, plan: &Plan, name: &str) -> bool {
        let name = own_name(plan, name).unwrap_or(name);
        if name == plan.cluster {
            return true;
        }
        let Ok(address) = name.parse::<Address>() else { return false };
        let changes = plan.changes.iter().chain(&plan.drift).chain(&plan.kept).map(|change| &change.address);
        let mut planned = changes.chain(plan.pending.iter().map(|left_out| &left_out.address));
        self.state.is_some_and(|state| state.snapshot.resources.contains_key(&address))
            || planned.any(|planned| *planned == address)
    }
}

/// The name behind the cluster of a plan, in `CLUSTER/NAME`.
fn own_name<'a>(plan: &Plan, given: &'a str) -> Option<&'a str> {
    given.strip_prefix(plan.cluster.as_str())?.strip_prefix('/')
}

#[async_trait(?Send)]
impl Decide for Asking<'_> {
    async fn review(&self, plan: &Plan, occasion: Occasion) -> Result<(), Declined> {
        let output = self.context.output;
        if occasion == Occasion::Changed {
            output.message("Something happened since the plan was made; this is the plan now:");
        }
        let several = matches!(self.dialogue.others, Others::Clusters(_));
        let shown = ui::show::Shown { full: self.dialogue.full, several };
        let text = ui::show::text(self.context, &self.place, plan, shown);
        match (self.dialogue.json, self.dialogue.run.yes) {
            (false, _) => output.result(&text)?,
            (true, true) => output.message(&text),
            // A question follows.
            (true, false) => output.notice(&text),
        }
        Ok(self.check_names(plan, occasion)?)
    }

    fn names(&self, plan: &Plan) -> Names {
        let given = self.dialogue.run.confirm.iter();
        match self.dialogue.others {
            Others::None => given.map(|name| own_name(plan, name).unwrap_or(name).to_owned()).collect(),
            Others::Clusters(_) => given.filter_map(|name| Some(own_name(plan, name)?.to_owned())).collect(),
            Others::Earlier => Names::new(),
        }
    }

    fn spelled(&self, plan: &Plan, name: &str) -> String {
        match self.dialogue.others {
            Others::Clusters(_) => format!("{}/{name}", plan.cluster),
            Others::None | Others::Earlier => name.to_owned(),
        }
    }

    /// `--yes` answers the question whether the plan is carried out, and is no name.
    fn confirms(&self) -> bool {
        !self.dialogue.run.yes && self.context.output.is_interactive()
    }

    async fn confirm(&self, plan: &Plan, confirmation: &Confirmation) -> Result<(), Declined> {
        let Confirmation { name, losses } = confirmation;
        let what = match losses.as_slice() {
            [] => format!("This plan deletes the cluster {name}."),
            [loss] => format!("This plan of {} loses {} ({}).", plan.cluster, loss.address, loss.reason),
            losses => {
                format!("This plan of {} loses {} resources with their data.", plan.cluster, losses.len())
            }
        };
        let question = format!("{what} To carry it out, type `{name}`:");
        Ok(ui::prompt::confirm_by_name(self.context, &question, name)?)
    }

    async fn approve(&self, _plan: &Plan) -> Result<(), Declined> {
        if self.dialogue.run.yes {
            return Ok(());
        }
        Ok(ui::prompt::confirm(self.context, "Carry this plan out?")?)
    }
}

/// Shows on a terminal what happens.
pub(crate) struct Follower {
    output: Output,
    /// Set by the signals that this process gets during a run.
    stop: StopSignal,
    signals: Signals,
    run: Mutex<Option<Progress>>,
    /// Why the last call of a provider failed that was repeated.
    last_failure: Mutex<Option<String>>,
}

impl Follower {
    pub fn new(output: Output, signals: Signals, stop: StopSignal) -> Self {
        Self { output, stop, signals, run: Mutex::default(), last_failure: Mutex::default() }
    }

    fn begin(&self, plan: &Plan) {
        self.signals.begin(self.output, self.stop.clone());
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(Progress::new(self.output, plan));
    }

    fn step(&self, event: slipway_engine::Event) {
        if let Some(progress) = &*self.run.lock().unwrap_or_else(PoisonError::into_inner) {
            progress.show(event);
        }
    }

    fn end(&self) {
        if let Some(progress) = self.run.lock().unwrap_or_else(PoisonError::into_inner).take() {
            progress.finish();
        }
        self.signals.end();
    }
}

impl Observer for Follower {
    fn event(&self, event: Event) {
        match event {
            Event::Waiting(wait) => {
                let mut last = self.last_failure.lock().unwrap_or_else(PoisonError::into_inner);
                self.output.message(&wait.after(&mut last));
            }
            Event::Recovered(recovery) => self.output.message(&recovered(&recovery)),
            Event::Approved(persons) => self.output.message(&format!("Approved by {}.", persons.join(", "))),
            Event::SecretsReadAgain(reason) => {
                self.output.message(&format!("The plan's secrets are read again, because {reason}."));
            }
            Event::OtherChoice { provider, name } => self.output.message(&format!(
                "The plan uses {name} as the provider {provider} chose it when the plan was made. The provider would choose otherwise now."
            )),
            Event::NoProvider(name) => self.output.message(&format!(
                "Provider {name} is not at hand: what its resources have is not shown, since only it knows which of it is secret."
            )),
            Event::RunBegins(plan) => self.begin(&plan),
            Event::Step(event) => self.step(event),
            Event::RunEnded => self.end(),
            Event::SnapshotSaved { name, machine } => {
                self.output.message(&format!("Saved the snapshot {name} of etcd on {machine}."));
            }
            Event::VersionApplied { cluster, version } => self.output.message(&format!(
                "{cluster} has Kubernetes {version} now. The plan wrote no spec file: if the file has an older version, write `kubernetesVersion: {version}` into it. Otherwise the next plan is refused."
            )),
        }
    }
}

/// The result of a step that an interrupted run left open.
fn recovered(step: &Recovery) -> String {
    let what = step.address.as_ref().map_or_else(|| format!("step {}", step.step), ToString::to_string);
    let how = match &step.result {
        EndResult::Done { .. } => "that step had succeeded",
        EndResult::NotDone => "that step had changed nothing",
        EndResult::Failed { class: ErrorClass::OutcomeUnknown, .. } => {
            "the result of that step is not known, and the plan goes on from what exists"
        }
        EndResult::Failed { message, .. } => {
            return format!(
                "An earlier run was interrupted at {what}. It was taken up again and failed: {message}\nThe plan goes on from what exists."
            );
        }
    };
    format!("An earlier run was interrupted at {what}: {how}.")
}
