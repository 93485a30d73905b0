//! `slipway node boot`: machines become nodes by the documents that their user data left on them.

mod bucket;
mod programs;
mod state;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value as Json, json};
use slipway_integration::knife::chosen;
use slipway_resource::Digest;
use slipway_testkit::kubernetes;
use slipway_testkit::machine::Machine;
use slipway_testkit::network::Network;
use slipway_testkit::wait::until;

use crate::crash::{counted, kills};
use crate::life::members;
use crate::place::{become_ready, expect, kubectl, machine, node, unchanged};
use bucket::Reachable;
use state::State;

const CLUSTER: &str = "boot.example.com";
const DOCUMENT: &str = "/etc/slipway/bootstrap.json";
const STATE: &str = "/srv/state";
const CONSOLE: &str = "/var/log/console";

/// The document of a machine with a role.
fn document(role: &str, store: &str) -> String {
    let kubelet = json!({
        "cgroupDriver": "cgroupfs", "failSwapOn": false, "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99, "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1Gi"},
    });
    let mut document = json!({
        "apiVersion": "slipway.dev/v1alpha1",
        "kind": "NodeBootstrap",
        "cluster": {
            "name": CLUSTER, "provider": "aws", "region": "eu-central-1", "ipFamily": "ipv4",
            "domain": "cluster.local", "dnsAddress": "10.96.0.10", "podCidrs": ["10.244.0.0/16"],
            "serviceCidrs": ["10.96.0.0/12"], "cni": {"name": "none"}, "proxyMode": "iptables",
            "store": store, "apiPort": 6443,
        },
        "node": {
            "pool": role, "role": role, "architecture": "amd64", "kubernetesVersion": kubernetes::VERSION,
            "labels": {"tier": role, "node-role.kubernetes.io/node": ""},
            "kubelet": {"extraConfig": kubelet},
            "files": [{"name": "motd", "path": "/etc/motd", "content": "hello\n"}],
        },
        "components": {"proxy": {"extraArgs": {"conntrack-max-per-core": "0"}}},
        "addons": [{"name": "coredns"}],
    });
    if role == "controlPlane" {
        document["node"]["taints"] =
            json!([{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]);
        document["controlPlane"] = json!({
            "nodePortRange": "30000-32767",
            "serviceAccounts": {"issuer": "https://kubernetes.default.svc.cluster.local"},
        });
    } else {
        document["node"]["taints"] = json!([{"key": "dedicated", "value": "tests", "effect": "NoSchedule"}]);
    }
    document.to_string()
}

/// A machine with the document of a role on its disk, as user data leaves it; the arguments of its boot.
fn started(network: &Network, name: &str, role: &str) -> Result<(Machine, Vec<String>)> {
    started_with(network, name, document(role, &format!("file://{STATE}")), "")
}

fn started_with(
    network: &Network,
    name: &str,
    document: String,
    environment: &str,
) -> Result<(Machine, Vec<String>)> {
    let machine = machine(network, name)?;
    machine.write(DOCUMENT, "600", &document)?;
    let identity = "SLIPWAY_AGE_IDENTITY_FILE=/etc/slipway/identity.txt\n";
    machine.write("/etc/slipway/boot.env", "600", format!("{identity}{environment}"))?;
    machine.write(CONSOLE, "600", "")?;
    let digest = Digest::of_bytes(document.as_bytes()).to_string();
    let words = ["boot", "--document", DOCUMENT, "--digest", &digest, "--console", CONSOLE];
    Ok((machine, words.map(str::to_owned).to_vec()))
}

fn boot(machine: &Machine, words: &[String], more: &[&str]) -> Result<String> {
    let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
    Ok(expect(machine, 0, &words)?.err)
}

/// Waits until the status of a boot has this phase and its message this text; gives the status.
fn status(machine: &Machine, phase: &str, text: &str) -> Result<Json> {
    let mut last = String::new();
    let reached = until(&format!("{} is {phase}: {text}", machine.name()), || {
        let Ok(bytes) = machine.read("/var/lib/slipway/boot/status.json") else { return Ok(None) };
        let status: Json = serde_json::from_slice(&bytes)?;
        last = status.to_string();
        let is_it = status["phase"] == phase
            && status["message"].as_str().is_some_and(|message| message.contains(text));
        Ok(is_it.then_some(status))
    });
    let log = || machine.check(["journalctl", "-u", "slipway-boot", "-n", "60"]).unwrap_or_default();
    reached.with_context(|| format!("{last}\n{}", log()))
}

/// A kubeconfig with which a worker joins.
fn credential(control_plane: &Machine) -> Result<String> {
    let token = expect(control_plane, 0, &["token", "create"])?.out;
    let authority = control_plane.check(["base64", "-w0", "/etc/kubernetes/pki/ca.crt"])?;
    let server = format!("https://{}:6443", control_plane.address());
    Ok(json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "boot",
        "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority-data": authority.trim()}}],
        "users": [{"name": "u", "user": {"token": token.trim()}}],
        "contexts": [{"name": "boot", "context": {"cluster": "c", "user": "u"}}],
    })
    .to_string())
}

#[test]
#[ignore = "needs root and namespaces"]
fn machines_become_nodes_by_their_documents() -> Result<()> {
    let network = Network::new()?;
    let (mut first, words) = started(&network, "n1", "controlPlane")?;
    let (mut worker, worker_words) = started(&network, "n2", "worker")?;
    let endpoint = first.address();

    // Both report what they wait for, and go on waiting after a restart.
    boot(&first, &words, &["--endpoint", &endpoint])?;
    boot(&worker, &worker_words, &[])?;
    status(&first, "waiting", "waits for the state of boot.example.com in file:///srv/state")?;
    status(&worker, "waiting", "waits for /etc/slipway/credential.conf")?;
    ensure!(first.check(["cat", CONSOLE])?.contains("slipway: this machine waits for the state"));
    worker.check(["rm", "/var/lib/slipway/boot/status.json"])?;
    worker.restart()?;
    status(&worker, "waiting", "waits for /etc/slipway/credential.conf")?;
    ensure!(
        first.run(["test", "-e", "/etc/kubernetes/pki"])?.status.code() == Some(1),
        "nothing is made yet"
    );

    let state = State::new(CLUSTER)?;
    state.copy_to(&first, STATE)?;
    let done = status(&first, "done", "this machine is the node n1 of boot.example.com")?;
    ensure!(done["pool"] == "controlPlane" && done["node"] == "n1", "{done}");
    worker.write("/etc/slipway/credential.conf", "600", credential(&first)?)?;
    let done = status(&worker, "done", "this machine is the node n2 of boot.example.com")?;
    ensure!(done["withoutEffect"].to_string().contains("node-role.kubernetes.io/node"), "{done}");
    for machine in [&first, &worker] {
        become_ready(&first, machine)?;
        unchanged(machine)?;
        ensure!(machine.check(["cat", "/etc/motd"])? == "hello\n");
    }
    as_documented(&first)?;

    // A machine that starts again is the same node, and has nothing to do.
    first.restart()?;
    status(&first, "done", "this machine is the node n1")?;
    until("the boot ends", || {
        let state = first.run(["systemctl", "is-active", "slipway-boot"])?;
        Ok((!state.status.success()).then_some(()))
    })?;
    let again: Vec<&str> = words.iter().map(String::as_str).chain(["--endpoint", &endpoint]).collect();
    let said = foreground(&first, &again)?;
    ensure!(said.contains("No changes"), "{said}");
    unchanged(&first)?;

    for (machine, machine_words) in [(&first, &words), (&worker, &worker_words)] {
        no_secrets(machine, &state)?;
        another_document_is_refused(machine, machine_words)?;
    }
    // A machine that left its cluster does not come back when it starts.
    expect(&worker, 0, &["reset", "--force"])?;
    for path in ["/etc/systemd/system/slipway-boot.service", "/var/lib/slipway/boot"] {
        ensure!(!worker.run(["test", "-e", path])?.status.success(), "{path} is left");
    }
    Ok(())
}

/// Nodes have the labels and taints of their documents.
fn as_documented(first: &Machine) -> Result<()> {
    let nodes: Json = serde_json::from_str(&kubectl(first, &["get", "nodes", "-o", "json"])?)?;
    let taints = |node: usize| nodes["items"][node]["spec"]["taints"].to_string();
    ensure!(nodes["items"][0]["metadata"]["labels"]["tier"] == "controlPlane", "{nodes:#}");
    ensure!(nodes["items"][1]["metadata"]["labels"]["tier"] == "worker", "{nodes:#}");
    ensure!(taints(0).contains("node-role.kubernetes.io/control-plane"), "{}", taints(0));
    ensure!(taints(1).contains(r#""key":"dedicated","value":"tests""#), "{}", taints(1));
    Ok(())
}

fn foreground(machine: &Machine, words: &[&str]) -> Result<String> {
    let identity = "SLIPWAY_AGE_IDENTITY_FILE=/etc/slipway/identity.txt";
    let command = ["env", identity, "slipway", "node"];
    let command = command.iter().chain(words).chain(&["--foreground"]);
    let said: slipway_testkit::Said = machine.run(command)?.into();
    let said = said.wanted(0, "slipway node boot --foreground")?;
    Ok(said.out + &said.err)
}

/// Neither console nor journal nor status nor the machine's own journal says a secret.
fn no_secrets(machine: &Machine, state: &State) -> Result<()> {
    let places = [CONSOLE, "/var/log/slipway-boot.log", "/var/lib/slipway", DOCUMENT];
    for secret in ["PRIVATE KEY", state.secret()] {
        let found = machine.run(["grep", "-rl", "--", secret].iter().chain(&places))?;
        ensure!(found.status.code() == Some(1), "{}", String::from_utf8_lossy(&found.stdout));
    }
    Ok(())
}

fn another_document_is_refused(machine: &Machine, words: &[String]) -> Result<()> {
    machine.check(["sh", "-c", &format!("echo >>{DOCUMENT}")])?;
    for more in [&[][..], &["--foreground"]] {
        let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
        let said = node(machine, &words)?.wanted(1, "a boot from another document")?;
        ensure!(said.err.contains("NODE0021"), "{}", said.err);
    }
    status(machine, "refused", "does not become a node: the bootstrap document has the digest").map(drop)
}

#[test]
#[ignore = "needs root and namespaces"]
fn killed_at_any_write_of_a_boot_the_next_one_converges() -> Result<()> {
    let network = Network::new()?;
    let state = State::new(CLUSTER)?;
    let command = |machine: &Machine, words: &[String]| -> Vec<String> {
        let before = ["env", "SLIPWAY_AGE_IDENTITY_FILE=/etc/slipway/identity.txt", "slipway", "node"];
        let after = ["--foreground".to_owned(), "--endpoint".to_owned(), machine.address()];
        before.map(str::to_owned).into_iter().chain(words.iter().cloned()).chain(after).collect()
    };
    let mut writes = 60;
    if chosen()?.is_some() {
        let (undisturbed, words) = started(&network, "n0", "controlPlane")?;
        state.copy_to(&undisturbed, STATE)?;
        let command = command(&undisturbed, &words);
        writes = counted(&undisturbed, &command.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    // A sample: while the control plane starts.
    for kill in kills("boot", writes, chosen()?.unwrap_or(27..28)) {
        let (machine, words) = started(&network, &format!("n{}", kill.number() + 1), "controlPlane")?;
        state.copy_to(&machine, STATE)?;
        let command = command(&machine, &words);
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        kill.strike(&machine, &command)?;
        let said: slipway_testkit::Said = machine.run(&command)?.into();
        said.wanted(0, "the boot after a kill").with_context(|| kill.to_string())?;
        unchanged(&machine).with_context(|| kill.to_string())?;
        become_ready(&machine, &machine)?;
    }
    Ok(())
}

/// Three control planes read the same state in a bucket: the first begins the cluster, the others join it in
/// parallel. The power of one is cut on the way.
#[test]
#[ignore = "needs root and namespaces"]
fn control_planes_become_one_cluster() -> Result<()> {
    let network = Network::new()?;
    let reachable = Reachable::new(&network)?;
    let state = State::in_bucket(CLUSTER, reachable.bucket.backend()?)?;
    let document = document("controlPlane", &format!("{}/{CLUSTER}", reachable.bucket.url()));
    let environment = reachable.environment();
    let mut machines = Vec::new();
    for name in ["n1", "n2", "n3"] {
        let (machine, words) = started_with(&network, name, document.clone(), &environment)?;
        state.open_on(&machine)?;
        // The bucket of this test has no TLS.
        machine.write("/root/.config/slipway/config.toml", "600", "[state]\nallow-http = true\n")?;
        machines.push((machine, words));
    }
    // The address of a load balancer that forwards to any API server; here it is the address of the first
    // machine.
    let endpoint = machines.first().context("there are three")?.0.address();
    for (machine, words) in &machines {
        boot(machine, words, &["--endpoint", &endpoint])?;
        if machine.name() == "n1" {
            // The founder is known before the others boot: the endpoint of this test leads to the first
            // machine only.
            status(machine, "applying", "becomes the node n1")?;
        }
    }
    let (_, rest) = machines.split_at_mut(1);
    if let [(second, _), (third, _)] = rest {
        status(third, "applying", "becomes the node n3")?;
        third.restart()?;
        for machine in [second, third] {
            status(machine, "done", "is the node")?;
        }
    }
    let first = &machines.first().context("there are three")?.0;
    let mut names = members(first)?;
    names.sort();
    ensure!(names == ["n1", "n2", "n3"], "{names:?}");
    for (machine, _) in &machines {
        unchanged(machine)?;
        no_secrets(machine, &state)?;
    }
    Ok(())
}
