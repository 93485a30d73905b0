//! How long machines take to become a cluster, beside kubeadm on the same machines.
//!
//! Each run has fresh machines, with a network for pods already there, so that nobody waits for one that somebody else
//! would have to install. What is measured begins when the machines are on.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use slipway_testkit::kubeadm::Kubeadm;
use slipway_testkit::wait::until_within;
use slipway_testkit::{Hosts, Machine, MachineOptions, Network};

use crate::output::say;

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// What both sides admit joining machines by.
const TOKEN: &str = "abcdef.0123456789abcdef";

/// The container runtime of machines.
const CRI: &str = "unix:///run/containerd/containerd.sock";

/// The pin of a cluster's authority, as kubeadm's documentation computes it.
const PIN: &str = "openssl x509 -pubkey -noout -in /etc/kubernetes/pki/ca.crt | \
    openssl pkey -pubin -outform der | sha256sum | sed 's/ .*//;s/^/sha256:/'";

/// Who makes a cluster of single machines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Maker {
    Slipway,
    Kubeadm,
}

/// When a cluster of one control plane and one worker was where.
#[derive(Clone, Copy, Default)]
struct Small {
    api: f64,
    node: f64,
    worker: f64,
}

/// Measures with this program, and says how it went.
pub(super) fn measure(program: &Path, runs: usize) -> Result<()> {
    let (mut ours, mut theirs, mut three, mut three_theirs) = (vec![], vec![], vec![], vec![]);
    // In turns: what else the machine does falls on both.
    for _ in 0..runs.max(1) {
        theirs.push(small(Maker::Kubeadm, program)?);
        ours.push(small(Maker::Slipway, program)?);
        three_theirs.push(three_by_kubeadm()?);
        three.push(three_by_apply(program)?);
    }
    say("Seconds from start to                           slipway  kubeadm   ratio");
    let row = |what: &str, ours: Vec<f64>, theirs: Vec<f64>| {
        let (ours, theirs) = (median(ours), median(theirs));
        say(&format!("{what:46} {ours:8.1} {theirs:8.1} {:6.2}x", ours / theirs));
    };
    let of = |all: &[Small], field: fn(&Small) -> f64| all.iter().map(field).collect::<Vec<f64>>();
    row("a ready API", of(&ours, |one| one.api), of(&theirs, |one| one.api));
    row("a Ready node", of(&ours, |one| one.node), of(&theirs, |one| one.node));
    row("a Ready worker", of(&ours, |one| one.worker), of(&theirs, |one| one.worker));
    row("three control planes, Ready", three, three_theirs);
    Ok(())
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or_default()
}

/// What kubectl prints of a node: whether it is ready.
const READY: &str = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";

/// A control plane begins a cluster, and a worker joins it.
fn small(maker: Maker, program: &Path) -> Result<Small> {
    let network = Network::new()?;
    let options = MachineOptions { slipway: Some(program.to_owned()), ..MachineOptions::default() };
    let first = network.machine("n1", options.clone())?;
    let second = network.machine("n2", options)?;
    for (number, machine) in [&first, &second].into_iter().enumerate() {
        connect_pods(machine, number)?;
    }
    let documents = Kubeadm::configuration(&first).replacen(
        "kind: InitConfiguration\n",
        &format!("kind: InitConfiguration\nbootstrapTokens: [{{token: {TOKEN}}}]\n"),
        1,
    );
    first.write("/root/kubeadm.yaml", "600", documents)?;
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
    ready_node(&first, "n1")?;
    let node = start.elapsed().as_secs_f64();
    let pin = first.check(["sh", "-c", PIN])?;
    let endpoint = format!("{}:6443", first.address());
    let join = ["join", &endpoint, "--token", TOKEN, "--discovery-token-ca-cert-hash", pin.trim()];
    let more = ["--cri-socket", CRI, "--node-name", "n2"];
    second.check(words.iter().chain(&join).chain(&more))?;
    ready_node(&first, "n2")?;
    Ok(Small { api, node, worker: start.elapsed().as_secs_f64() })
}

/// Three control planes, one after the other, as kubeadm's documentation tells users to.
fn three_by_kubeadm() -> Result<f64> {
    let network = Network::new()?;
    let names = ["cp-0", "cp-1", "cp-2"];
    let machines: Vec<Machine> =
        names.iter().map(|name| network.machine(name, MachineOptions::default())).collect::<Result<_>>()?;
    for (number, machine) in machines.iter().enumerate() {
        connect_pods(machine, number)?;
    }
    let [first, second, third] = machines.as_slice() else { anyhow::bail!("three machines") };
    let start = Instant::now();
    let mut cluster = Kubeadm::init(first)?;
    cluster.join_control_plane(second)?;
    cluster.join_control_plane(third)?;
    for name in names {
        ready_node(first, name)?;
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
        connect_pods(machine, number)?;
    }
    let start = Instant::now();
    hosts.expect(0, &["apply", "-f", "spec", "--yes"])?;
    let kubeconfig = hosts.kubeconfig("hosts-ha")?;
    for machine in &hosts.machines {
        let name = machine.name();
        until_within(PATIENCE, &format!("{name} is Ready"), || {
            let status = hosts.ask(&kubeconfig, &["get", "node", name, "--output", READY]);
            Ok(status.is_ok_and(|status| status == "True").then_some(()))
        })?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Gives a machine's pods a network of their own.
fn connect_pods(machine: &Machine, number: usize) -> Result<()> {
    let plugins = format!(
        r#"{{"cniVersion":"0.4.0","name":"pods","plugins":[{{"type":"bridge","bridge":"cni0","isDefaultGateway":true,
"ipam":{{"type":"host-local","ranges":[[{{"subnet":"10.244.{number}.0/24"}}]]}}}}]}}"#
    );
    machine.write("/etc/cni/net.d/10-pods.conflist", "644", plugins)
}

/// Asks for the API's health from the machines' network until it is well.
fn ready_api(machine: &Machine, start: Instant, begun: &AtomicBool) -> Result<f64> {
    let url = format!("https://{}:6443/readyz", machine.address());
    until_within(PATIENCE, "the API is ready", || {
        let ask = ["curl", "--silent", "--insecure", "--fail", "--max-time", "2", &url];
        let ready = machine.network().run(ask)?.status.success();
        // Who fails to begin has said so; nobody waits for that API.
        let ended = begun.load(Ordering::Relaxed);
        Ok((ready || ended).then(|| start.elapsed().as_secs_f64()))
    })
}

fn ready_node(control_plane: &Machine, name: &str) -> Result<()> {
    let words =
        ["kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "get", "node", name, "--output", READY];
    until_within(PATIENCE, &format!("{name} is Ready"), || {
        let output = control_plane.run(words)?;
        Ok((output.status.success() && output.stdout == b"True").then_some(()))
    })
}
