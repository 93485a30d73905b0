//! Everything that a change has to pass, in stages.

use std::time::Instant;

use anyhow::bail;
use clap::ValueEnum;

use crate::codegen::Codegen;
use crate::deny::Deny;
use crate::error_pages::ErrorPages;
use crate::kops_fields::KopsFields;
use crate::lengths::Lengths;
use crate::links::Links;
use crate::machine_tests;
use crate::output::say;
use crate::schemas::Schemas;
use crate::workspace::{cargo, run};

/// Runs everything that a change has to pass.
///
/// Every stage runs, also after one that failed; the end names those that did.
#[derive(clap::Args)]
pub struct Test {
    /// Only these stages.
    #[arg(long, value_name = "STAGE", value_enum)]
    only: Vec<Stage>,
    /// Without these stages.
    #[arg(long, value_name = "STAGE", value_enum)]
    skip: Vec<Stage>,
    /// How many tests on machines run at a time. A cluster takes what there is of a processor while it comes up, and waits
    /// a good part of the rest.
    #[arg(long, value_name = "NUMBER", default_value_t = 3)]
    at_once: usize,
}

/// A stage, in the order in which they run: what needs no build comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// The form of the sources.
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
    /// The table of kOps' fields is current.
    KopsFields,
    /// Licences, bans and sources of the dependencies.
    Deny,
    /// The lints, warnings refused.
    Clippy,
    /// Unit tests, integration tests, examples in comments.
    Test,
    /// Tests on machines made of namespaces, which need root: the test targets whose names begin with `machine`.
    Machines,
    /// The pages of the crates, warnings refused.
    Doc,
}

impl Test {
    /// Runs the task.
    ///
    /// # Errors
    /// When a stage fails.
    pub fn run(&self) -> anyhow::Result<()> {
        let begin = Instant::now();
        let chosen = |stage: &&Stage| {
            (self.only.is_empty() || self.only.contains(stage)) && !self.skip.contains(stage)
        };
        let mut lines = Vec::new();
        let mut failed = Vec::new();
        for stage in Stage::value_variants().iter().filter(chosen) {
            let name = stage.name();
            say(&format!("\n==> {name}: {}", stage.title()));
            let begin = Instant::now();
            let result = stage.run(self.at_once);
            let seconds = begin.elapsed().as_secs_f32();
            let verdict = if result.is_ok() { "passed" } else { "FAILED" };
            if let Err(error) = result {
                say(&format!("{error:#}"));
                failed.push(name.clone());
            }
            say(&format!("<== {name}: {verdict} in {seconds:.1} s"));
            lines.push(format!("  {name:12} {verdict}  {seconds:7.1} s"));
        }
        say(&format!("\n{}\n  {:20} {:7.1} s", lines.join("\n"), "total", begin.elapsed().as_secs_f32()));
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }
}

impl Stage {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn title(self) -> &'static str {
        match self {
            Self::Fmt => "the form of the sources",
            Self::Lengths => "the length of the source files",
            Self::ErrorPages => "a page for every error code",
            Self::Links => "links between pages",
            Self::Codegen => "generated code is current",
            Self::Schemas => "JSON schemas are current",
            Self::KopsFields => "the table of kOps' fields is current",
            Self::Deny => "licences, bans and sources of the dependencies",
            Self::Clippy => "the lints",
            Self::Test => "all tests but those on machines",
            Self::Machines => "tests on machines",
            Self::Doc => "the pages of the crates",
        }
    }

    fn run(self, at_once: usize) -> anyhow::Result<()> {
        match self {
            Self::Fmt => run(&mut cargo(["fmt", "--all", "--check"])),
            Self::Lengths => Lengths.run(),
            Self::ErrorPages => ErrorPages.run(),
            Self::Links => Links.run(),
            Self::Codegen => Codegen { check: true }.run(),
            Self::Schemas => Schemas { check: true }.run(),
            Self::KopsFields => KopsFields { check: true }.run(),
            Self::Deny => Deny.run(),
            Self::Clippy => run(&mut cargo([
                "clippy",
                "--workspace",
                "--all-targets",
                "--keep-going",
                "--",
                "-D",
                "warnings",
            ])),
            Self::Test => run(&mut cargo(["test", "--workspace", "--no-fail-fast"])),
            Self::Machines => machine_tests::run(at_once),
            Self::Doc => {
                let mut doc = cargo(["doc", "--workspace", "--no-deps", "--keep-going"]);
                run(doc.env("RUSTDOCFLAGS", "-D warnings"))
            }
        }
    }
}
