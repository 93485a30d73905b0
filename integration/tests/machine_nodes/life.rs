//! The life of a machine: it begins a cluster, others join, drift is corrected, and it leaves again.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use slipway_testkit::machine::Machine;
use slipway_testkit::network::Network;
use slipway_testkit::wait::until;

use crate::place::{Begun, become_ready, expect, kubectl, machine, unchanged};
use crate::tokens::a_bound_token_lets_one_machine_in;

#[test]
#[ignore = "needs root and namespaces"]
fn a_cluster_begins_grows_is_mended_and_shrinks() -> Result<()> {
    let network = Network::new()?;
    let (first, second, third) =
        (machine(&network, "n1")?, machine(&network, "n2")?, machine(&network, "n3")?);
    let start = Instant::now();
    let begun = Begun::new(&first)?;
    println!("a ready API after {:?}", start.elapsed());
    become_ready(&first, &first)?;
    println!("a ready node after {:?}", start.elapsed());
    unchanged(&first)?;
    let again = expect(&first, 0, &["init", "--config", "/root/kubeadm.yaml"])?;
    ensure!(again.out.contains("No changes"), "{}", again.out);

    let start = Instant::now();
    a_bound_token_lets_one_machine_in(&first, &second, &begun)?;
    println!("a worker after {:?}", start.elapsed());
    become_ready(&first, &second)?;
    unchanged(&second)?;

    let start = Instant::now();
    let address = third.address();
    let more =
        ["--control-plane", "--certificate-key", &begun.key, "--apiserver-advertise-address", &address];
    let control_plane: Vec<&str> = begun.worker().into_iter().chain(more).collect();
    expect(&third, 0, &control_plane)?;
    println!("a second control plane after {:?}", start.elapsed());
    become_ready(&first, &third)?;
    unchanged(&third)?;
    ensure!(members(&first)?.len() == 2);

    // Drift is shown, and only drift is corrected.
    third.check([
        "sed",
        "-i",
        "s/--leader-elect=true/--leader-elect=false/",
        "/etc/kubernetes/manifests/kube-scheduler.yaml",
    ])?;
    third.check(["sed", "-i", "s/^syncFrequency: .*/syncFrequency: 9s/", "/var/lib/kubelet/config.yaml"])?;
    let plan = expect(&third, 2, &["plan"])?;
    for wanted in
        ["static_pod.kube-scheduler", "--leader-elect=false", "file.kubelet-config", "syncFrequency: 9s"]
    {
        ensure!(plan.out.contains(wanted), "{wanted} is not in {}", plan.out);
    }
    ensure!(!plan.out.contains("kube-apiserver\n"), "{}", plan.out);
    expect(&third, 0, &["apply", "--yes"])?;
    unchanged(&third)?;
    third.check(["grep", "leader-elect=true", "/etc/kubernetes/manifests/kube-scheduler.yaml"])?;

    // The machine leaves: etcd, the Node, and all its files are removed. Files that Slipway did not create
    // stay.
    third.write("/etc/kubernetes/notes.txt", "600", "mine")?;
    let shown = expect(&third, 2, &["reset", "--dry-run"])?;
    ensure!(
        shown.out.contains("kubernetes_node.n3") && shown.out.contains("etcd_member.etcd"),
        "{}",
        shown.out
    );
    let refused = expect(&third, 1, &["reset", "--yes"])?;
    ensure!(refused.err.contains("--confirm node"), "{}", refused.err);
    expect(&third, 0, &["reset", "--yes", "--confirm", "node"])?;
    ensure!(members(&first)? == ["n1"]);
    ensure!(!kubectl(&first, &["get", "nodes", "-o", "name"])?.contains("node/n3"));
    let left = third.check(["find", "/etc/kubernetes", "/var/lib/kubelet", "/var/lib/etcd", "-type", "f"]);
    let left = left.unwrap_or_default();
    ensure!(left.trim().is_empty() || left.trim() == "/etc/kubernetes/notes.txt", "left: {left}");
    ensure!(third.read("/etc/kubernetes/notes.txt")? == b"mine");
    ensure!(!third.check(["mount"])?.contains("/var/lib/kubelet/pods"));

    a_worker_leaves(&first, &second)?;
    both_join_at_once(&first, [&second, &third], &begun)?;
    // The first machine leaves, too. As the last member it asks no other one, and its pod is removed before
    // its member.
    for machine in [&first, &second, &third] {
        expect(machine, 0, &["reset", "--force"])?;
        nothing_is_left(machine)?;
    }
    Ok(())
}

/// Machines that left may join again, both at once: etcd takes one learner at a time, and the second machine
/// waits.
fn both_join_at_once(first: &Machine, machines: [&Machine; 2], begun: &Begun) -> Result<()> {
    let start = Instant::now();
    let mut joining = Vec::new();
    for machine in machines {
        let address = machine.address();
        let more =
            ["--control-plane", "--certificate-key", &begun.key, "--apiserver-advertise-address", &address];
        let words = ["slipway", "node"].into_iter().chain(begun.worker()).chain(more);
        joining.push((machine, machine.spawn(words.collect::<Vec<_>>())?));
    }
    for (machine, mut program) in joining {
        ensure!(program.wait()?.success(), "{}: {}", machine.name(), program.log());
        let has_waited = program.log().contains("waits in the queue of those that join etcd");
        println!("{} has joined after {:?}; in a queue: {has_waited}", machine.name(), start.elapsed());
    }
    let mut names = members(first)?;
    names.sort();
    ensure!(names == ["n1", "n2", "n3"], "{names:?}");
    machines.into_iter().try_for_each(unchanged)
}

fn nothing_is_left(machine: &Machine) -> Result<()> {
    let places = ["/etc/kubernetes", "/var/lib/kubelet", "/var/lib/etcd", "/var/lib/slipway/owned"];
    let left = machine.run(["find"].into_iter().chain(places).chain(["-type", "f"]))?.stdout;
    let left = String::from_utf8_lossy(&left);
    let is_ours = |line: &&str| *line != "/etc/kubernetes/notes.txt";
    ensure!(left.lines().filter(is_ours).count() == 0, "{}: left: {left}", machine.name());
    Ok(())
}

/// A kubelet may not remove its Node: the plan reports it, and a kubeconfig with the permission removes the
/// Node.
fn a_worker_leaves(first: &Machine, worker: &Machine) -> Result<()> {
    let node = format!("kubernetes_node.{}", worker.name());
    let shown = expect(worker, 2, &["reset", "--dry-run"])?;
    ensure!(!shown.out.contains(&format!("- {node}")), "{}", shown.out);
    let words = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(words.contains(&format!("{node}: it stays in the cluster")), "{}", shown.out);
    ensure!(words.contains("--kubeconfig"), "{}", shown.out);
    let refused = expect(worker, 1, &["reset", "--force", "--kubeconfig", "/etc/kubernetes/kubelet.conf"])?;
    ensure!(refused.err.contains("NODE0015"), "{}", refused.err);

    worker.write("/root/admin.conf", "600", first.read("/etc/kubernetes/admin.conf")?)?;
    let shown = expect(worker, 2, &["reset", "--dry-run", "--kubeconfig", "/root/admin.conf"])?;
    ensure!(shown.out.contains(&format!("- {node}")), "{}", shown.out);
    expect(worker, 0, &["reset", "--force", "--kubeconfig", "/root/admin.conf"])?;
    ensure!(!kubectl(first, &["get", "nodes", "-o", "name"])?.contains("node/n2"));
    let left = worker.run(["find", "/etc/kubernetes", "/var/lib/kubelet", "-type", "f"])?.stdout;
    ensure!(left.is_empty(), "left: {}", String::from_utf8_lossy(&left));
    Ok(())
}

/// The names of etcd's members.
pub(crate) fn members(control_plane: &Machine) -> Result<Vec<String>> {
    let pki = "/etc/kubernetes/pki/etcd";
    let (ca, cert, key) = (
        format!("{pki}/ca.crt"),
        format!("{pki}/healthcheck-client.crt"),
        format!("{pki}/healthcheck-client.key"),
    );
    let words = ["etcdctl", "--cacert", &ca, "--cert", &cert, "--key", &key, "member", "list"];
    // A member that is alone from now on may have to elect itself first, which takes its time on a busy machine.
    let mut said = String::new();
    let list = until("etcd names its members", || {
        let list = control_plane.check(words);
        said = list.as_ref().err().map(ToString::to_string).unwrap_or_default();
        Ok(list.ok())
    });
    let list = list.with_context(|| said)?;
    Ok(list.lines().filter_map(|line| Some(line.split(", ").nth(2)?.to_owned())).collect())
}
