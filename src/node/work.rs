//! One task on the machine: checked, planned, then shown or carried out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use slipway_bootstrap::expand::Phased;
use slipway_bootstrap::phase::{self, Command};
use slipway_bootstrap::preflight::Questions;
use slipway_operations::{Outcome, Plannable as _, Request};
use slipway_plan::file::Mode;
use slipway_plan::{Options, Providers};

use super::access::NodeAccess;
use super::facts::below;
use super::leave::Leaving;
use super::machine::Machine;
use super::phases::Selection;
use super::plannable::{CLEANUP, PlannableNode, Released};
use super::preflight;
use super::secrets::NodeSecrets;
use super::spec::NodeSpec;
use crate::cli::node::{CarryOutArguments, MachineArguments};
use crate::cli::{OutputFormat, RunArguments, ShowOptions};
use crate::commands::{done, pending};
use crate::deciding::{Dialogue, outcome_at, report};
use crate::error::CommandError;
use crate::program::Context;
use crate::ui;

/// A piece of work on the machine.
pub(crate) struct Work<'a> {
    pub context: &'a Context,
    pub machine: Machine,
    pub selection: Selection,
    pub secrets: NodeSecrets,
    providers: Providers,
    exists: Arc<AtomicBool>,
}

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

impl<'a> Work<'a> {
    /// Opens the machine's providers. The first existing kubeconfig of these is used for the cluster's API.
    pub async fn open(
        context: &'a Context,
        machine: Machine,
        selection: Selection,
        secrets: NodeSecrets,
        (files, server): (&[&str], Option<String>),
    ) -> Result<Self, CommandError> {
        let files: Vec<PathBuf> = files.iter().map(|path| below(&machine.root, path)).collect();
        let access = NodeAccess { files, server, exists: Arc::new(AtomicBool::new(false)) };
        let (providers, exists) = machine.providers(access).await?;
        Ok(Self { context, machine, selection, secrets, providers, exists })
    }

    /// Runs the checks if their phase is selected, and stops at findings.
    pub async fn check(
        &self,
        questions: &Questions,
        spec: &NodeSpec,
        arguments: &MachineArguments,
        clock_ahead_seconds: Option<i64>,
    ) -> Result<(), CommandError> {
        if !self.selection.means("preflight") {
            return Ok(());
        }
        let owned = self.machine.owned(&self.providers).await?;
        let mut looking = self.machine.looking(spec.configuration.node.cri_socket.as_ref(), owned);
        looking.clock_ahead_seconds = clock_ahead_seconds;
        looking.etcd = spec.configuration.cluster.etcd.external().cloned();
        let mut ignored = arguments.ignore_preflight_errors.clone();
        ignored.extend(spec.configuration.node.ignore_preflight_errors.iter().cloned());
        let report = preflight::run(questions, &looking, &ignored).await;
        if self.selection.is_only("preflight")
            && arguments.output == OutputFormat::Json
            && report.0.is_clear()
        {
            self.context.output.result(&preflight::json(&report.0)?)?;
        }
        preflight::tell(self.context, &report, arguments.output)
    }

    /// Plans the desired state of the machine, and shows the plan or applies it.
    pub async fn apply(
        self,
        spec: NodeSpec,
        phased: Vec<Phased>,
        manner: Manner<'_>,
    ) -> Result<ExitCode, CommandError> {
        Ok(self.apply_telling(spec, phased, manner).await?.code)
    }

    /// Plans the desired state of the machine, and applies it. Returns why steps failed, too.
    pub async fn apply_telling(
        self,
        spec: NodeSpec,
        phased: Vec<Phased>,
        manner: Manner<'_>,
    ) -> Result<Went, CommandError> {
        let released = (Released::Passing, Leaving::AsKnown);
        self.go(spec, phased, Mode::Apply, released, manner).await
    }

    /// Plans to remove the objects on the machine, and shows the plan or applies it.
    pub async fn remove(
        self,
        spec: NodeSpec,
        released: (Released, Leaving),
        manner: Manner<'_>,
    ) -> Result<ExitCode, CommandError> {
        let (root, cleans) = (self.machine.root.clone(), self.selection.means(CLEANUP));
        let code = self.go(spec, Vec::new(), Mode::Delete, released, manner).await?.code;
        if code == ExitCode::SUCCESS && cleans && !manner.dry_run {
            super::boot::unit::remove(&root).await?;
            forget(&root)?;
        }
        Ok(code)
    }

    async fn go(
        self,
        spec: NodeSpec,
        phased: Vec<Phased>,
        mode: Mode,
        (released, leaving): (Released, Leaving),
        manner: Manner<'_>,
    ) -> Result<Went, CommandError> {
        if !manner.dry_run {
            self.machine.keep_to_itself()?;
            self.secrets.store().map_err(|error| {
                CommandError::file("the folder of the machine's secrets", &self.machine.root, &error)
            })?;
        }
        let place = self.machine.place();
        let plannable = PlannableNode {
            spec,
            phased,
            selection: self.selection,
            providers: self.providers,
            backend: self.machine.backend,
            texts: Arc::new(self.secrets),
            state: self.machine.state,
            api_exists: self.exists,
            released,
            leaving,
        };
        let is_nothing = match mode {
            Mode::Delete => plannable.nothing_leaves(),
            Mode::Apply | Mode::Drift => plannable.is_nothing(),
        };
        if is_nothing {
            return Ok(Went::with(ExitCode::SUCCESS));
        }
        let replace = manner.replace.to_vec();
        let options = Options { preflight: true, replace, ..Options::default() };
        let request = match mode {
            Mode::Delete => Request::delete_with(options),
            Mode::Apply | Mode::Drift => Request::apply_with(options),
        };
        if manner.dry_run {
            let prior = plannable.state().map(|state| &state.snapshot);
            let plan = plannable.plan_from(&request, prior).await?.plan;
            let show = ShowOptions { output: manner.output, full: manner.full };
            ui::show::plan_at(self.context, &place, &plan, &show)?;
            return Ok(Went::with(pending(&plan)));
        }
        let environment = self.context.without_store()?;
        let dialogue = Dialogue::new(manner.run, manner.full);
        let outcome = outcome_at(self.context, place, &environment, &plannable, &request, dialogue).await?;
        let code = done(report(self.context, &outcome)?);
        let failures = match &outcome {
            Outcome::Applied(applied) | Outcome::Completed(applied) => applied.report.failures.as_slice(),
            Outcome::Nothing | Outcome::Undecided(_) => &[],
        };
        let failures = failures.iter().map(|failure| failure.error.message.clone()).collect();
        Ok(Went { code, failures })
    }
}

/// How a piece of work ended.
#[derive(Debug)]
pub(crate) struct Went {
    /// The exit code of the command.
    pub code: ExitCode,
    /// Why steps of the run failed.
    pub failures: Vec<String>,
}

impl Went {
    fn with(code: ExitCode) -> Self {
        Self { code, failures: Vec::new() }
    }
}

/// Removes Slipway's records from a machine on which no objects are left. It may then join any cluster.
fn forget(root: &Path) -> Result<(), CommandError> {
    slipway_provider_node::remove_empty_folders(root)?;
    for name in ["secrets", "owned", "boot"] {
        let folder = below(root, &format!("/var/lib/slipway/{name}"));
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(CommandError::file("the folder", &folder, &error));
            }
            _ => {}
        }
    }
    let owner = below(root, "/var/lib/slipway/owner");
    match std::fs::remove_file(&owner) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(CommandError::file("the file", &owner, &error))
        }
        _ => Ok(()),
    }
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
                let error = CommandError::new("NODE0012", format!("there is no phase `{phase}` to skip"));
                let list = "`slipway node phase init`, `join` and `reset` list the phases of each";
                match phase::meant(command, &phase) {
                    Some(meant) => error.hint(format!("did you mean `{meant}`? {list}")),
                    None => error.hint(list),
                }
            })
        }
    }
}
