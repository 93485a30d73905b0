//! How long machines take to become a cluster, beside kubeadm on the same machines.
//!
//! Each run has fresh machines that already have a network for pods, so that no run waits for a network
//! add-on. The measurement begins when the machines are on.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Result, ensure};
use slipway_testkit::kubeadm::Kubeadm;
use slipway_testkit::wait::until_within;
use slipway_testkit::{Hosts, Machine, MachineOptions, Network};

use crate::nodes::{self, PATIENCE};
use crate::output::say;

/// The tool that makes a cluster of single machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    Slipway,
    Kubeadm,
}

/// When a cluster of one control plane and one worker reached each state.
#[derive(Clone, Copy, Default)]
struct Small {
    api: f64,
    node: f64,
    worker: f64,
}

/// Runs the benchmark with this program, and prints the results.
pub(super) fn measure(program: &Path, runs: usize) -> Result<()> {
    let (mut ours, mut theirs, mut three, mut three_theirs) = (vec![], vec![], vec![], vec![]);
    // The two take turns, and each is first equally often: other load of the machine affects both.
    for run in 0..runs.max(1) {
        let mut turns = [Maker::Kubeadm, Maker::Slipway];
        turns.rotate_left(run % 2);
        for maker in turns {
            let (small, three_nodes) = (small(maker, program)?, three_nodes(maker, program)?);
            say(&format!(
                "run {}, {maker:?}: API {:.1} s, node {:.1} s, worker {:.1} s; three control planes {three_nodes:.1} s",
                run + 1,
                small.api,
                small.node,
                small.worker
            ));
            match maker {
                Maker::Slipway => (ours.push(small), three.push(three_nodes)),
                Maker::Kubeadm => (theirs.push(small), three_theirs.push(three_nodes)),
            };
        }
    }
    say(&format!(
        "Seconds from start to, of {} runs      slipway            kubeadm             ratio",
        ours.len()
    ));
    let of = |all: &[Small], field: fn(&Small) -> f64| Spread::of(all.iter().map(field).collect());
    row("a ready API", of(&ours, |one| one.api), of(&theirs, |one| one.api));
    row("a Ready node", of(&ours, |one| one.node), of(&theirs, |one| one.node));
    row("a Ready worker", of(&ours, |one| one.worker), of(&theirs, |one| one.worker));
    row("three control planes, Ready", Spread::of(three), Spread::of(three_theirs));
    Ok(())
}

fn row(what: &str, ours: Spread, theirs: Spread) {
    say(&format!("{what:32} {ours}  {theirs}  {:6.2}x", ours.median / theirs.median));
}

/// The durations of several runs.
#[derive(Clone, Copy)]
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let at = |number: usize| seconds.get(number).copied().unwrap_or_default();
        Self { median: at(seconds.len() / 2), least: at(0), most: at(seconds.len().saturating_sub(1)) }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:5.1} ({:4.1} – {:4.1})", self.median, self.least, self.most)
    }
}

/// A control plane begins a cluster, and a worker joins it.
fn small(maker: Maker, program: &Path) -> Result<Small> {
    let network = Network::new()?;
    let options = MachineOptions { slipway: Some(program.to_owned()), ..MachineOptions::default() };
    let first = network.machine("n1", options.clone())?;
    let second = network.machine("n2", options)?;
    for (number, machine) in [&first, &second].into_iter().enumerate() {
        nodes::connect_pods(machine, number)?;
        nodes::until_runtime(machine)?;
    }
    first.write("/root/kubeadm.yaml", "600", nodes::documents(&first))?;
    let words: &[&str] = if maker == Maker::Kubeadm { &["kubeadm"] } else { &["slipway", "node"] };
    let start = Instant::now();
    let begun = AtomicBool::new(false);
    let api = thread::scope(|scope| {
        let api = scope.spawn(|| ready_api(&first, start, &begun));
        let said = first.check(words.iter().chain(&["init", "--config", "/root/kubeadm.yaml"]));
        begun.store(true, Ordering::Relaxed);
        said?;
        api.join().map_err(|_| anyhow::anyhow!("the API was not asked"))?
    })?;
    nodes::until_ready(&first, "n1")?;
    let node = start.elapsed().as_secs_f64();
    nodes::join(words, &first, &second)?;
    nodes::until_ready(&first, "n2")?;
    Ok(Small { api, node, worker: start.elapsed().as_secs_f64() })
}

/// Three control planes, each maker's way.
fn three_nodes(maker: Maker, program: &Path) -> Result<f64> {
    match maker {
        Maker::Slipway => three_by_apply(program),
        Maker::Kubeadm => three_by_kubeadm(),
    }
}

/// Three control planes, one after the other, as kubeadm's documentation tells users to.
fn three_by_kubeadm() -> Result<f64> {
    let network = Network::new()?;
    let names = ["cp-0", "cp-1", "cp-2"];
    let machines: Vec<Machine> =
        names.iter().map(|name| network.machine(name, MachineOptions::default())).collect::<Result<_>>()?;
    for (number, machine) in machines.iter().enumerate() {
        nodes::connect_pods(machine, number)?;
        nodes::until_runtime(machine)?;
    }
    let [first, second, third] = machines.as_slice() else { anyhow::bail!("three machines") };
    let start = Instant::now();
    let cluster = Kubeadm::init(first)?;
    cluster.join_control_plane(second)?;
    cluster.join_control_plane(third)?;
    for name in names {
        nodes::until_ready(first, name)?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Three control planes by one apply, machines entered by SSH.
fn three_by_apply(program: &Path) -> Result<f64> {
    let hosts = Hosts::new(program, "hosts-ha", &["cp-0", "cp-1", "cp-2"])?;
    let spec = std::fs::read_to_string(hosts.file("cluster.yaml"))?;
    let documents: Vec<&str> = spec.split("---\n").filter(|text| !text.contains("name: workers")).collect();
    let spec = documents.join("---\n").replace("cni: { name: flannel }", "cni: { name: none }");
    ensure!(documents.len() == 2 && spec.contains("name: none"), "specs/hosts-ha is another one");
    std::fs::write(hosts.file("cluster.yaml"), spec)?;
    for (number, machine) in hosts.machines.iter().enumerate() {
        nodes::connect_pods(machine, number)?;
        nodes::until_runtime(machine)?;
    }
    let start = Instant::now();
    hosts.expect(0, &["apply", "-f", "spec", "--yes"])?;
    let kubeconfig = hosts.kubeconfig("hosts-ha")?;
    for machine in &hosts.machines {
        let name = machine.name();
        until_within(PATIENCE, &format!("{name} is Ready"), || {
            let status = hosts.ask(&kubeconfig, &["get", "node", name, "--output", nodes::READY]);
            Ok(status.is_ok_and(|status| status == "True").then_some(()))
        })?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Queries the API's health from the machines' network until it is ready.
fn ready_api(machine: &Machine, start: Instant, begun: &AtomicBool) -> Result<f64> {
    let url = format!("https://{}:6443/readyz", machine.address());
    until_within(PATIENCE, "the API is ready", || {
        let ask = ["curl", "--silent", "--insecure", "--fail", "--max-time", "2", &url];
        let ready = machine.network().run(ask)?.status.success();
        // A failed run reports its own error: do not wait for an API after the command has ended.
        let ended = begun.load(Ordering::Relaxed);
        Ok((ready || ended).then(|| start.elapsed().as_secs_f64()))
    })
}
