//! `cargo xtask conformance`: the conformance specs of Kubernetes, against a cluster that the program makes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use slipway_testkit::suite::{self, Selection, Spec, State, literally};
use slipway_testkit::{Hosts, kubernetes};

use crate::output::say;
use crate::workspace;

/// What a spec is called that conformance asks for.
const CONFORMANCE: &str = r"\[Conformance\]";

/// What a spec is called that may not run beside others.
const SERIAL: &str = "[Serial]";

/// Where the names are kept of those that pass, and of those that are left out with the reason.
const FOLDER: &str = "fixtures/conformance";

/// Makes a cluster of two machines and runs the conformance specs against it, without those that are left out by name.
///
/// What has to pass is in `fixtures/conformance/passed.txt`, what is left out in `left-out.tsv` beside it. That takes
/// the better part of two hours. Needs root, and `cargo xtask setup --conformance`.
#[derive(Args)]
pub(crate) struct Conformance {
    /// Only specs whose names match one of these regular expressions, one after the other.
    #[arg(long, value_name = "EXPRESSION")]
    only: Vec<String>,
    /// How many processes share the specs that may run beside others, two at least.
    #[arg(long, default_value_t = 3)]
    processes: u8,
    /// Use this program, and build none.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Write down what passed.
    #[arg(long)]
    update: bool,
}

impl Conformance {
    /// Runs the task.
    ///
    /// # Errors
    /// When the cluster cannot be made, or a spec fails.
    pub(crate) fn run(&self) -> Result<()> {
        let program = self.program.clone().map_or_else(workspace::program, Ok)?;
        let suite = kubernetes::e2e()?;
        let start = Instant::now();
        let hosts = Hosts::new(&program, "hosts-ha", &["cp-0", "worker-0"])?;
        hosts.edit("size: { fixed: 3 }", "size: { fixed: 1 }")?;
        hosts.edit("size: { fixed: 2 }", "size: { fixed: 1 }")?;
        // Two nodes have to be there for any pod.
        hosts.edit("endpoint: { elected: {} }\n", "endpoint: { elected: {} }\n    schedulable: true\n")?;
        hosts.expect(0, &["apply", "-f", "spec", "--yes"])?;
        hosts.expect(0, &["validate", "hosts-ha", "--wait", "5m"])?;
        say(&format!("a cluster of two nodes: {:.0} s", start.elapsed().as_secs_f64()));
        let kubeconfig = hosts.kubeconfig("hosts-ha")?;
        let mut specs = Vec::new();
        for selection in self.selections()? {
            specs.extend(suite::run(hosts.network(), &suite, &kubeconfig, &selection)?);
            say(&format!("{} specs: {:.0} s", specs.len(), start.elapsed().as_secs_f64()));
        }
        hosts.expect(0, &["plan", "-f", "spec"])?;
        say("the plan is empty after that");
        self.judge(&specs)
    }

    /// Those that several processes share, and the rest.
    fn selections(&self) -> Result<Vec<Selection>> {
        let without: Vec<String> = left_out()?.keys().map(|name| literally(name)).collect();
        let of = |only: Vec<String>, processes| Selection { only, without: without.clone(), processes };
        if self.only.is_empty() {
            let alone = format!("{}.*{CONFORMANCE}", literally(SERIAL));
            Ok(vec![of(vec![CONFORMANCE.to_owned()], self.processes.max(2)), of(vec![alone], 1)])
        } else {
            Ok(vec![of(self.only.clone(), 1)])
        }
    }

    fn judge(&self, specs: &[Spec]) -> Result<()> {
        let of = |state| specs.iter().filter(move |spec| spec.state == state);
        for spec in of(State::Failed) {
            say(&format!(
                "FAILED  {}\n        {}",
                spec.name,
                spec.message.lines().next().unwrap_or_default()
            ));
        }
        for spec in of(State::Skipped) {
            say(&format!("skipped {}\n        {}", spec.name, spec.message));
        }
        let mut passed: Vec<&str> = of(State::Passed).map(|spec| spec.name.as_str()).collect();
        passed.sort_unstable();
        say(&format!("{} passed, {} failed", passed.len(), of(State::Failed).count()));
        let file = workspace::root().join(FOLDER).join("passed.txt");
        if self.update {
            let mut text = String::new();
            passed.iter().try_for_each(|name| writeln!(text, "{name}"))?;
            fs::write(&file, text)?;
        } else if self.only.is_empty() {
            let known = read(&file)?;
            let missing: Vec<&str> = known.lines().filter(|name| !passed.contains(name)).collect();
            if !missing.is_empty() {
                bail!("these passed before: {missing:#?}");
            }
        }
        if of(State::Failed).count() > 0 {
            bail!("{} specs failed", of(State::Failed).count());
        }
        Ok(())
    }
}

/// The names of specs that are left out, with the reason.
fn left_out() -> Result<BTreeMap<String, String>> {
    let text = read(&workspace::root().join(FOLDER).join("left-out.tsv"))?;
    let lines = text.lines().map(|line| line.split_once('\t').context("a line without a reason"));
    lines.map(|line| line.map(|(name, reason)| (name.to_owned(), reason.to_owned()))).collect()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}
