//! Everything that a change has to pass, in stages.

use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use clap::ValueEnum;
use slipway_testkit::share::{SHARE, Share};

use crate::codegen::Codegen;
use crate::deny::Deny;
use crate::disk;
use crate::error_pages::ErrorPages;
use crate::kops_fields::KopsFields;
use crate::leftovers;
use crate::lengths::Lengths;
use crate::links::Links;
use crate::output::say;
use crate::rustdoc;
use crate::schemas::Schemas;
use crate::setup::{self, Setup};
use crate::test_programs::{self, Part, TestProgram};
use crate::test_queue;
use crate::workspace::{CASES, cargo, cases, root, run, run_quietly};

/// The stages of the quick tier.
const QUICK: [Stage; 8] = [
    Stage::Fmt,
    Stage::Lengths,
    Stage::ErrorPages,
    Stage::Links,
    Stage::Codegen,
    Stage::Schemas,
    Stage::KopsFields,
    Stage::Test,
];

/// The tests that the quick tier leaves out: programs, and tests of programs by prefixes of their names. They
/// need components that are built with Go or installed, or run for minutes.
///
/// The test kit refuses to start a component in the quick tier, so a test that is missing here fails there.
const NOT_QUICK: &[&str] = &[
    "age of secrets",
    "control_plane of testkit",
    "controller of cloud-controller",
    "controller of etcd-storage",
    "flux of reconciler",
    "forges of forges gitea::",
    "in_cluster of reconciler",
    "it crash::small_cluster_with_its_state_on_s3",
    "it documents::",
    "it frozen_provider::",
    "it hostile::words::",
    "it leaves::hosts::",
    "it of bootstrap accepted::",
    "it of bootstrap certificates::",
    "it of bootstrap discovery::",
    "it of bootstrap documents::",
    "it of bootstrap dry_run::",
    "it of bootstrap kubeconfigs::",
    "it of node etcd::",
    "it paused::a_paused_run_does_no_harm_to_a_bucket",
    "it policy::",
    "it recovery::a_run_that_leaves_steps_unresolved_lets_the_cluster_go",
    "it requests::",
    "it review::",
    "it secret_scan::",
    "it state_places::",
    "it state_recovery::nothing_begins_anew_over_a_state_that_is_lost_in_a_bucket",
    "it state_runs::runs_that_made_no_generation_are_told_of_in_a_bucket",
    "it state_runs::runs_that_made_no_generation_are_told_of_in_a_container_of_azure",
    "kubernetes of kubernetes",
    "provider of machine-inventory",
    "proxy of etcd-storage",
    "render of plan browser::",
    "slipway_reconciler metrics::tests::promtool_accepts_the_alerts",
    "slipway_testkit azurite::",
    "slipway_testkit chromium::",
    "slipway_testkit fake_gcs::",
    "slipway_testkit machine::program::",
    "slipway_testkit moto::",
    "store of state-store credentials::",
    "store of state-store emulators::",
    "store of state-store linearizable::on_s3",
    "store of state-store remote::",
    "store of state-store requests::",
    "suite of conformance python::",
    "tokens of token-controller",
];

/// Tells the tests that the executables of all packages are built.
const EXECUTABLES_BUILT: &str = "SLIPWAY_EXECUTABLES_BUILT";

/// Tells the test kit that components are not available.
const WITHOUT_COMPONENTS: &str = "SLIPWAY_WITHOUT_COMPONENTS";

/// How many shares the longest lists of cases have.
const SHARES: u64 = 3;

/// Runs everything that a change has to pass.
///
/// Every stage runs, also after one that failed; the end names those that failed.
#[derive(clap::Args)]
pub struct Test {
    /// Run what a developer needs between two commits: no root, no Go, no emulator of a cloud, no lints.
    #[arg(long, conflicts_with_all = ["only", "skip"])]
    quick: bool,
    /// Only these stages.
    #[arg(long, value_name = "STAGE", value_enum)]
    only: Vec<Stage>,
    /// Without these stages.
    #[arg(long, value_name = "STAGE", value_enum)]
    skip: Vec<Stage>,
    /// How many tests run at a time. They wait as much as they compute.
    #[arg(long, value_name = "NUMBER", default_value_t = 3)]
    at_once: usize,
}

/// A stage, in the order in which they begin: those that need no build come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// The format of the sources.
    Fmt,
    /// The length of the source files.
    Lengths,
    /// A page for every error code.
    ErrorPages,
    /// Links between pages.
    Links,
    /// The code that is generated from the provider contract is current.
    Codegen,
    /// The JSON schemas of the spec documents are current.
    Schemas,
    /// The table of the fields of kOps is current.
    KopsFields,
    /// Licences, bans and sources of the dependencies.
    Deny,
    /// The lints; warnings fail.
    Clippy,
    /// Installs what tests start: nothing, where everything is in the user's cache folder.
    Setup,
    /// Unit tests and integration tests.
    Test,
    /// Tests on machines made of namespaces, which need root: the test targets whose names begin with `machine`. They
    /// share one queue with those of the stage before.
    Machines,
    /// Examples in comments, with the documentation of the libraries where that is chosen too.
    Examples,
    /// The documentation of the crates; warnings fail.
    Doc,
}

/// How a stage ended.
struct Ended {
    passed: bool,
    took: Duration,
}

impl Test {
    /// Runs the task.
    ///
    /// # Errors
    /// When a stage fails, or the disk has too little room for the tests.
    pub fn run(&self) -> anyhow::Result<()> {
        let begin = Instant::now();
        self.check_disk()?;
        let chosen: Vec<Stage> =
            Stage::value_variants().iter().copied().filter(|stage| self.begins(*stage)).collect();
        let mut ended = Vec::new();
        for stage in chosen {
            if stage == Stage::Test {
                ended.extend(self.test());
            } else {
                ended.push((stage, self.run_stage(stage)));
            }
        }
        let lines: Vec<String> = ended.iter().map(|(stage, ended)| ended.line(*stage)).collect();
        say(&format!("\n{}\n  {:20} {:7.1} s", lines.join("\n"), "total", begin.elapsed().as_secs_f32()));
        let failed: Vec<String> =
            ended.iter().filter(|(_, ended)| !ended.passed).map(|(stage, _)| stage.name()).collect();
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }

    /// # Errors
    /// When tests or set-up are chosen, and the disk has too little room for them.
    fn check_disk(&self) -> anyhow::Result<()> {
        if self.chooses(Stage::Setup) {
            setup::remove_unused()?;
        }
        let takes_room = [Stage::Setup, Stage::Test, Stage::Machines];
        if takes_room.iter().any(|stage| self.chooses(*stage)) { disk::check() } else { Ok(()) }
    }

    fn chooses(&self, stage: Stage) -> bool {
        if self.quick {
            return QUICK.contains(&stage);
        }
        (self.only.is_empty() || self.only.contains(&stage)) && !self.skip.contains(&stage)
    }

    /// Whether a stage begins for itself: what another stage does along does not where that one runs.
    fn begins(&self, stage: Stage) -> bool {
        let along_with = match stage {
            Stage::Clippy | Stage::Machines | Stage::Examples => Some(Stage::Test),
            Stage::Doc => Some(Stage::Examples),
            _ => None,
        };
        self.chooses(stage) && !along_with.is_some_and(|other| self.chooses(other))
    }

    /// Whether the build of the tests runs the lints.
    fn lints_along(&self) -> bool {
        self.chooses(Stage::Clippy) && self.chooses(Stage::Test)
    }

    /// The environment variables of builds.
    fn settings(&self) -> Vec<(&'static str, &'static str)> {
        if self.lints_along() { test_programs::WITH_LINTS.to_vec() } else { Vec::new() }
    }

    /// The call that runs the examples, and makes the documentation along.
    ///
    /// # Errors
    /// When the path of this program is not known.
    fn examples(&self) -> anyhow::Result<Command> {
        let mut examples = cargo(["test", "--workspace", "--doc", "--no-fail-fast"]);
        examples.envs(self.settings());
        if self.chooses(Stage::Doc) {
            rustdoc::documents_along(&mut examples)?;
        }
        Ok(examples)
    }

    /// Builds and runs the tests. The build has the findings of the lints; the examples run while tests wait.
    fn test(&self) -> Vec<(Stage, Ended)> {
        let (built, is_built) = mpsc::channel::<()>();
        let mut ended = Vec::new();
        std::thread::scope(|scope| {
            let beside = self.chooses(Stage::Examples).then(|| {
                scope.spawn(move || {
                    // The other end is dropped when the tests do not build, and then there is nothing to wait for either.
                    let _ = is_built.recv();
                    Ended::of(Stage::Examples, || run_quietly(&self.examples()?))
                })
            });
            let part = if self.quick { Part::WithoutClouds } else { Part::Everything };
            let mut lints = None;
            let tests = Ended::of(Stage::Test, || {
                let tests = test_programs::build(part, &self.settings())?;
                drop(built);
                lints =
                    self.lints_along().then(|| Ended::of(Stage::Clippy, || found_nothing(&tests.warnings)));
                self.queue(part, tests.programs)
            });
            ended.push((Stage::Test, tests));
            ended.extend(lints.map(|lints| (Stage::Clippy, lints)));
            let examples = beside
                .map(|examples| examples.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            ended.extend(examples.map(|examples| (Stage::Examples, examples)));
        });
        ended
    }

    fn run_stage(&self, stage: Stage) -> Ended {
        Ended::of(stage, || match stage {
            Stage::Setup => self.setup(),
            Stage::Machines => {
                self.queue(Part::Machines, test_programs::build(Part::Machines, &[])?.programs)
            }
            Stage::Examples => run(&mut self.examples()?),
            _ => stage.run(&self.settings()),
        })
    }

    /// Installs the components of the chosen tests, so that no test has to wait for one.
    fn setup(&self) -> anyhow::Result<()> {
        let mut only = vec![setup::Part::Clouds, setup::Part::Browser, setup::Part::Kubernetes];
        only.extend(self.chooses(Stage::Machines).then_some(setup::Part::Machines));
        Setup::of(only).run()
    }

    /// Runs the tests of the programs of a part of the workspace, several at a time.
    fn queue(&self, part: Part, mut programs: Vec<TestProgram>) -> anyhow::Result<()> {
        programs.retain(|program| match part {
            Part::WithoutClouds => !program.on_machines(),
            Part::Everything => !program.on_machines() || self.chooses(Stage::Machines),
            Part::Machines => program.on_machines(),
        });
        let mut items = test_queue::items(&programs)?;
        let given = Share::given()?;
        let share = given.unwrap_or_else(own_share);
        let text = share.to_string();
        let mut settings: Vec<(&str, &str)> = self.settings();
        settings.extend((part != Part::Machines).then_some((EXECUTABLES_BUILT, "1")));
        if part == Part::Everything || given.is_some() {
            say(&format!("{SHARE}={share}: of the longest lists of cases; {SHARE}=1/1 tries all of them"));
            settings.push((SHARE, &text));
            items = test_queue::of_share(items, share);
        }
        if self.quick {
            items = items.into_iter().filter_map(|item| item.without(NOT_QUICK)).collect();
            settings.push((WITHOUT_COMPONENTS, "1"));
        }
        // Each of the tests with these cases says so where there are none.
        let cases = cases();
        if let Some(folder) = cases.to_str().filter(|_| part == Part::Everything && cases.is_dir()) {
            say(&format!("{CASES}={folder}: clusters that kOps made are tried too"));
            settings.push((CASES, folder));
        }
        let mark = std::process::id().to_string();
        settings.push((leftovers::RUN, &mark));
        let tested = test_queue::run(items, self.at_once, &settings);
        let left = leftovers::check(&mark);
        if let (Err(_), Err(error)) = (&tested, &left) {
            say(&format!("{error:#}"));
        }
        tested.and(left)
    }
}

/// The share that belongs to the present commit, or to no commit.
fn own_share() -> Share {
    let head = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()).output();
    let head = head.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let number = head.get(..4).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default();
    Share::of(number, SHARES)
}

/// # Errors
/// When the lints warned.
fn found_nothing(warnings: &[String]) -> anyhow::Result<()> {
    ensure!(warnings.is_empty(), "{}\n{} warnings", warnings.concat(), warnings.len());
    Ok(())
}

impl Ended {
    /// Runs a stage and says how it ended.
    fn of(stage: Stage, run: impl FnOnce() -> anyhow::Result<()>) -> Self {
        let name = stage.name();
        say(&format!("\n==> {name}: {}", stage.title()));
        let begin = Instant::now();
        let result = run();
        let took = begin.elapsed();
        let verdict = if result.is_ok() { "passed" } else { "FAILED" };
        if let Err(error) = &result {
            say(&format!("{error:#}"));
        }
        say(&format!("<== {name}: {verdict} in {:.1} s", took.as_secs_f32()));
        Self { passed: result.is_ok(), took }
    }

    fn line(&self, stage: Stage) -> String {
        let verdict = if self.passed { "passed" } else { "FAILED" };
        format!("  {:12} {verdict}  {:7.1} s", stage.name(), self.took.as_secs_f32())
    }
}

impl Stage {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn title(self) -> String {
        self.to_possible_value()
            .and_then(|value| value.get_help().map(ToString::to_string))
            .unwrap_or_default()
    }

    /// The call of cargo that a stage consists of.
    fn command(self) -> Option<Command> {
        Some(match self {
            Self::Fmt => cargo(["fmt", "--all", "--check"]),
            Self::Clippy => {
                cargo(["clippy", "--workspace", "--all-targets", "--keep-going", "--", "-D", "warnings"])
            }
            Self::Doc => {
                let mut doc = cargo(["doc", "--workspace", "--no-deps", "--keep-going"]);
                doc.env("RUSTDOCFLAGS", "-D warnings");
                doc
            }
            _ => return None,
        })
    }

    fn run(self, settings: &[(&str, &str)]) -> anyhow::Result<()> {
        match self {
            Self::Lengths => Lengths.run(),
            Self::ErrorPages => ErrorPages.run(),
            Self::Links => Links.run(),
            Self::Codegen => Codegen { check: true }.run(),
            Self::Schemas => Schemas { check: true }.run(),
            Self::KopsFields => KopsFields { check: true }.run(),
            Self::Deny => Deny.run(),
            // `Test` runs them.
            Self::Setup | Self::Test | Self::Machines | Self::Examples => Ok(()),
            Self::Fmt | Self::Clippy | Self::Doc => {
                self.command().map_or(Ok(()), |mut command| run(command.envs(settings.iter().copied())))
            }
        }
    }
}
