//! `cargo xtask bench`: the costs of Slipway, beside those of a named peer in the same run.

mod aws;
mod controller;
mod grpc;
mod measure;
mod nodes;
mod objects;
mod place;
mod state;
mod terraform;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::output::say;
use crate::workspace;
use measure::Usage;
use place::Place;

pub(crate) use measure::Measure;

/// The most memory that one more resource may need, in kilobytes.
const MEMORY_KB: f64 = 6.5;

/// How many more resources are enough to measure the memory of one.
const ENOUGH: usize = 5_000;

/// Measure plan and apply of large specs, and the same with terraform.
#[derive(Args)]
pub(crate) struct Bench {
    /// Go on without terraform, and without ratios to it.
    #[arg(long)]
    without_peer: bool,
    /// How many resources the large spec has.
    #[arg(long, default_value_t = 10_000)]
    resources: usize,
    /// How many resources terraform gets: its local state costs the square of it.
    #[arg(long, default_value_t = 1_000)]
    peer_resources: usize,
    /// Only what the state costs: writes and bytes.
    #[arg(long)]
    only_state: bool,
    /// Only what objects in a cluster cost, beside kubectl: requests, seconds, memory.
    #[arg(long)]
    only_objects: bool,
    /// How many objects, for `--only-objects`.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 5_000])]
    objects: Vec<usize>,
    /// Only what clusters of AWS cost, over moto, beside what they cost kOps.
    #[arg(long)]
    only_aws: bool,
    /// Only how long machines take to become a cluster, beside kubeadm. Needs root.
    #[arg(long)]
    only_nodes: bool,
    /// Only what a controller costs that has many clusters, and how replicas share them.
    #[arg(long)]
    only_controller: bool,
    /// How many clusters, for `--only-controller`.
    #[arg(long, default_value_t = 500)]
    clusters: usize,
    /// How many replicas, for `--only-controller`.
    #[arg(long, default_value_t = 10)]
    replicas: usize,
    /// Measure this program, and build none.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Runs of each command; the median counts.
    #[arg(long, default_value_t = 3)]
    runs: usize,
}

impl Bench {
    /// Builds the program in release and measures.
    pub(crate) fn run(&self) -> Result<()> {
        if self.only_objects {
            return objects::measure(&self.objects);
        }
        if self.only_aws {
            let program = self.program.clone().map_or_else(|| build(&aws::PACKAGES), Ok)?;
            return aws::measure(&program, self.runs);
        }
        if self.only_nodes {
            let program = self.program.clone().map_or_else(|| build(&[]), Ok)?;
            return nodes::measure(&program, self.runs);
        }
        if self.only_controller {
            let program = self.program.clone().map_or_else(|| build(&[]), Ok)?;
            return controller::measure(&program, self.clusters, self.replicas);
        }
        let terraform = terraform::find();
        if terraform.is_none() && !self.without_peer {
            bail!("terraform is not on the PATH; `--without-peer` measures without it");
        }
        let program = self.program.clone().map_or_else(|| build(&["slipway-provider-sim"]), Ok)?;
        let peer = terraform.as_deref().map(|terraform| (terraform, self.peer_resources));
        if self.only_state {
            return state::measure(&program, self.resources, peer);
        }
        say("What                                            CPU      memory    wall");
        let large = self.slipway(&program, self.resources)?;
        let small = self.slipway(&program, self.resources / 10)?;
        ratio("no-op plan, 10 times the resources", &large.plan, &small.plan);
        ratio("apply, 10 times the resources", &large.apply, &small.apply);
        let more = self.resources - self.resources / 10;
        let mut over = Vec::new();
        over.extend(memory_each("no-op plan, memory of one more resource", (&large.plan, &small.plan), more));
        over.extend(memory_each("apply, memory of one more resource", (&large.apply, &small.apply), more));
        let remote = grpc::measure(&program, self.resources, self.runs)?;
        ratio("no-op plan over gRPC, to embedded", &remote.plan, &large.plan);
        ratio("apply over gRPC, to embedded", &remote.apply, &large.apply);
        let start = measure::median(self.runs, || measure::run(&program, &cold_start()?, workspace::root()))?;
        row("plan of specs/minimal, from cold", &start);
        makespan()?;
        state::measure(&program, self.resources, peer)?;
        if let Some(terraform) = terraform {
            let peer = terraform::measure(&terraform, self.peer_resources, self.runs)?;
            let own = self.slipway(&program, self.peer_resources)?;
            ratio(&format!("no-op plan of {}, to terraform", self.peer_resources), &own.plan, &peer.plan);
            ratio(&format!("apply of {}, to terraform", self.peer_resources), &own.apply, &peer.apply);
        }
        if !over.is_empty() {
            bail!("{}", over.join("\n"));
        }
        Ok(())
    }

    fn slipway(&self, program: &std::path::Path, count: usize) -> Result<Life> {
        let mut applies = Vec::new();
        let mut plans = Vec::new();
        for _ in 0..self.runs {
            let place = Place::with_objects(count)?;
            applies.push(measure::run(program, &place::APPLY, place.path())?);
            plans.push(measure::run(program, &place::PLAN, place.path())?);
        }
        let life = Life { apply: measure::middle(applies)?, plan: measure::middle(plans)? };
        row(&format!("slipway: apply of {count} resources"), &life.apply);
        row(&format!("slipway: no-op plan of {count} resources"), &life.plan);
        Ok(life)
    }
}

/// The costs of the two halves of a life.
struct Life {
    apply: Usage,
    plan: Usage,
}

fn cold_start() -> Result<Vec<String>> {
    let spec = workspace::root().join("specs/minimal");
    let spec = spec.to_str().context("the workspace's path")?.to_owned();
    Ok(["plan", "--offline", "-f", &spec].map(str::to_owned).to_vec())
}

/// Simulated time of a run with a long tail, to its longest chain of steps.
fn makespan() -> Result<()> {
    let arguments = ["run", "--quiet", "--package", "slipway-integration", "--bin", "slipway-makespan"];
    let output = workspace::cargo(arguments).output()?;
    let text = String::from_utf8(output.stdout)?;
    let figures: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [took, longest] = figures.as_slice() else {
        bail!("no makespan: {}", String::from_utf8_lossy(&output.stderr));
    };
    say(&format!("{:46} {:6.2}x", "makespan in simulated time, to the longest chain", took / longest));
    Ok(())
}

/// Builds the program and some packages beside it in release.
fn build(packages: &[&str]) -> Result<PathBuf> {
    let root = workspace::root();
    let mut cargo = std::process::Command::new("cargo");
    cargo.args(["build", "--release", "-p", "slipway"]).current_dir(root);
    packages.iter().for_each(|package| {
        cargo.args(["-p", package]);
    });
    let status = cargo.status()?;
    if !status.success() {
        bail!("the program does not build");
    }
    Ok(workspace::target().join("release/slipway"))
}

fn row(what: &str, usage: &Usage) {
    say(&format!("{what:46} {:6.2} s  {:5} MB  {:5.2} s", usage.cpu, usage.memory_mb, usage.wall));
}

/// The memory of a resource, without that of the program itself: from the difference between two runs. Returns a sentence if it
/// is more than allowed.
fn memory_each(what: &str, (large, small): (&Usage, &Usage), more: usize) -> Option<String> {
    let kilobytes = 1024.0 * large.memory_mb.saturating_sub(small.memory_mb) as f64;
    let each = kilobytes / more.max(1) as f64;
    say(&format!("{what:46} {each:6.1} KB"));
    too_much(what, each, more)
}

/// The sentence about too much memory for one more resource. The kernel counts in megabytes, so few resources tell nothing.
fn too_much(what: &str, kilobytes: f64, more: usize) -> Option<String> {
    let is_over = more >= ENOUGH && kilobytes > MEMORY_KB;
    is_over.then(|| format!("{what}: {kilobytes:.1} KB, and {MEMORY_KB:.1} KB is the most"))
}

fn ratio(what: &str, own: &Usage, other: &Usage) {
    say(&format!("{what:46} {:6.2}x", own.cpu / other.cpu.max(0.001)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_memory_for_a_resource_is_found() {
        assert_eq!(too_much("apply", 6.4, 9_000), None);
        assert_eq!(too_much("apply", 14.0, 900), None);
        assert_eq!(too_much("apply", 14.04, 9_000).unwrap(), "apply: 14.0 KB, and 6.5 KB is the most");
    }
}
