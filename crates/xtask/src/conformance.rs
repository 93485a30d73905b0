//! `cargo xtask conformance`: Kubernetes' own end-to-end suites, against a cluster that the program makes.

mod kubeadm;
mod verdict;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use slipway_testkit::suite::{self, Selection, Spec, State, literally};
use slipway_testkit::{Hosts, kubernetes};

use crate::output::say;
use crate::workspace;
use verdict::Verdict;

/// The mark in the names of conformance specs.
const CONFORMANCE: &str = r"\[Conformance\]";

/// The mark in the names of specs that may not run in parallel.
const SERIAL: &str = "[Serial]";

/// The name that the example gives its cluster.
const CLUSTER: &str = "hosts-ha";

/// Makes clusters and runs two suites of Kubernetes' against them: kubeadm's own, and the conformance specs without those
/// that are left out by name.
///
/// What has to pass is in `fixtures/conformance/passed.txt`, what is left out in `left-out.tsv` beside it. Every spec is
/// printed with what came of it and how long it took. What fails beside others runs once more alone, and is called by
/// that. All of it takes three quarters of an hour of two processors. Needs root, and `cargo xtask setup --conformance`.
#[derive(Args)]
pub(crate) struct Conformance {
    /// Only this suite.
    #[arg(long, value_enum)]
    suite: Option<Suite>,
    /// Only conformance specs whose names match one of these regular expressions, one after the other.
    #[arg(long, value_name = "EXPRESSION", conflicts_with = "suite")]
    only: Vec<String>,
    /// How many processes share the specs that may run beside others, two at least.
    #[arg(long, default_value_t = 6)]
    processes: u8,
    /// Use this program, and build none.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Write down what passed.
    #[arg(long)]
    update: bool,
}

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// kubeadm's own.
    Kubeadm,
    /// The conformance specs of Kubernetes.
    Conformance,
}

impl Conformance {
    /// Runs the task.
    ///
    /// # Errors
    /// When the cluster cannot be made, or a spec fails.
    pub(crate) fn run(&self) -> Result<()> {
        let program = self.program.clone().map_or_else(workspace::program, Ok)?;
        let start = Instant::now();
        let mut verdict = Verdict::new(verdict::left_out()?);
        if self.only.is_empty() && self.suite != Some(Suite::Conformance) {
            verdict.add(kubeadm::run(&program)?);
            say(&format!("kubeadm's own suite: {:.0} s", start.elapsed().as_secs_f64()));
        }
        if self.suite != Some(Suite::Kubeadm) {
            self.conformance(&program, start, &mut verdict)?;
        }
        verdict.tell();
        verdict.judge(self.update, self.only.is_empty() && self.suite.is_none())
    }

    fn conformance(&self, program: &Path, start: Instant, verdict: &mut Verdict) -> Result<()> {
        let suite = kubernetes::e2e()?;
        kubernetes::install_tested()?;
        let hosts = cluster(program)?;
        say(&format!("a cluster of two nodes: {:.0} s", start.elapsed().as_secs_f64()));
        let runs = Runs { kubeconfig: hosts.kubeconfig(CLUSTER)?, hosts, start };
        let without: Vec<String> = verdict.left_out().map(literally).collect();
        let of = |only: Vec<String>, processes| Selection { only, without: without.clone(), processes };
        if self.only.is_empty() {
            let shared = of(vec![CONFORMANCE.to_owned()], self.processes.max(2));
            let shared = runs.suite("shared", &suite, &shared)?;
            verdict.add(runs.again(&suite, shared)?);
            let alone = format!("{}.*{CONFORMANCE}", literally(SERIAL));
            verdict.add(runs.suite("alone", &suite, &of(vec![alone], 1))?);
        } else {
            verdict.add(runs.suite("only", &suite, &of(self.only.clone(), 1))?);
        }
        runs.hosts.expect(0, &["plan", "-f", "spec"])?;
        say(&format!("the plan is empty after that: {:.0} s", start.elapsed().as_secs_f64()));
        Ok(())
    }
}

/// A control plane and a worker, both for any pod: some specs need two nodes.
fn cluster(program: &Path) -> Result<Hosts> {
    let hosts = Hosts::new(program, CLUSTER, &["cp-0", "worker-0"])?;
    hosts.edit("size: { fixed: 3 }", "size: { fixed: 1 }")?;
    hosts.edit("size: { fixed: 2 }", "size: { fixed: 1 }")?;
    hosts.edit("endpoint: { elected: {} }\n", "endpoint: { elected: {} }\n    schedulable: true\n")?;
    hosts.expect(0, &["apply", "-f", "spec", "--yes"])?;
    hosts.expect(0, &["validate", CLUSTER, "--wait", "5m"])?;
    Ok(hosts)
}

/// The cluster of the suites.
struct Runs {
    hosts: Hosts,
    kubeconfig: PathBuf,
    start: Instant,
}

impl Runs {
    /// Runs a suite, and keeps what it had to tell under this name, below the folder of build products.
    fn suite(&self, name: &str, suite: &Path, selection: &Selection) -> Result<Vec<Spec>> {
        let specs = suite::run(self.hosts.network(), suite, &self.kubeconfig, selection)?;
        let folder = workspace::target().join("conformance");
        fs::create_dir_all(&folder)?;
        let report = folder.join(format!("{name}.json"));
        fs::copy(self.hosts.network().folder().join(suite::REPORT), &report)
            .with_context(|| report.display().to_string())?;
        let seconds = self.start.elapsed().as_secs_f64();
        say(&format!("{name}: {} specs, {seconds:.0} s, {}", specs.len(), report.display()));
        Ok(specs)
    }

    /// Runs specs again alone that failed in parallel: an overloaded machine is not a failure of the cluster.
    fn again(&self, suite: &Path, specs: Vec<Spec>) -> Result<Vec<Spec>> {
        let failed = specs.iter().filter(|spec| spec.state == State::Failed);
        let only: Vec<String> = failed.map(|spec| literally(&spec.name)).collect();
        if only.is_empty() {
            return Ok(specs);
        }
        for spec in specs.iter().filter(|spec| spec.state == State::Failed) {
            say(&format!("failed beside others: {}\n    {}", spec.name, verdict::first_line(&spec.message)));
        }
        let again = self.suite("again", suite, &Selection { only, ..Selection::default() })?;
        let mut all: BTreeMap<String, Spec> =
            specs.into_iter().map(|spec| (spec.name.clone(), spec)).collect();
        all.extend(again.into_iter().map(|spec| (spec.name.clone(), spec)));
        Ok(all.into_values().collect())
    }
}
