//! kubeadm manages what the program began, joins it as a worker and as a control plane, and its own suite passes there.

use std::fs;
use std::time::Instant;

use anyhow::{Result, ensure};
use slipway_testkit::kubernetes;
use slipway_testkit::machine::Machine;
use slipway_testkit::network::Network;
use slipway_testkit::suite::{self, Selection, State};

use crate::place::{Begun, CRI, become_ready, expect, machine};

/// Tests that the suite itself skips. The cluster has addresses of one family.
const SKIPPED: [&str; 1] = [
    "[sig-cluster-lifecycle] [area-kubeadm] networking [setup-networking] dual-stack podSubnet should be properly \
     configured if specified in kubeadm-config",
];

#[test]
#[ignore = "needs root and namespaces"]
fn kubeadm_manages_and_joins_what_we_began_and_its_own_suite_passes() -> Result<()> {
    let network = Network::new()?;
    let (first, worker, second) =
        (machine(&network, "n1")?, machine(&network, "n2")?, machine(&network, "n3")?);
    let begun = Begun::new(&first)?;
    manage(&first, &begun)?;
    let start = Instant::now();
    join(&begun, &worker, &[])?;
    println!("kubeadm's worker after {:?}", start.elapsed());
    let start = Instant::now();
    let address = second.address();
    // kubeadm downloads the certificates that Slipway has encrypted.
    let more =
        ["--control-plane", "--certificate-key", &begun.key, "--apiserver-advertise-address", &address];
    join(&begun, &second, &more)?;
    println!("kubeadm's control plane after {:?}", start.elapsed());
    for joined in [&first, &worker, &second] {
        become_ready(&first, joined)?;
    }
    ensure!(members(&first)? == ["n1", "n3"]);

    let kubeconfig = network.folder().join("admin.conf");
    fs::write(&kubeconfig, first.read("/etc/kubernetes/admin.conf")?)?;
    let start = Instant::now();
    let specs = suite::run(&network, &kubernetes::e2e_kubeadm()?, &kubeconfig, &Selection::default())?;
    let of = |state| specs.iter().filter(move |spec| spec.state == state);
    println!("{} specs of kubeadm passed in {:?}", of(State::Passed).count(), start.elapsed());
    let failed: Vec<_> = of(State::Failed).map(|spec| (&spec.name, &spec.message)).collect();
    ensure!(failed.is_empty(), "{failed:#?}");
    let skipped: Vec<&str> = of(State::Skipped).map(|spec| spec.name.as_str()).collect();
    ensure!(skipped == SKIPPED, "{skipped:#?}");
    ensure!(of(State::Passed).count() >= 35, "{} passed", of(State::Passed).count());

    let upgrade = ["kubeadm", "upgrade", "plan", "v1.34.4", "--ignore-preflight-errors=CreateJob"];
    let upgrade = first.check(upgrade)?;
    ensure!(upgrade.contains("v1.34.4"), "{upgrade}");
    // Nothing that kubeadm did to the cluster is a change to undo.
    expect(&first, 0, &["plan"])?;
    Ok(())
}

/// kubeadm accepts the cluster, and finds nothing missing.
fn manage(first: &Machine, begun: &Begun) -> Result<()> {
    let tokens = first.check(["kubeadm", "token", "list", "--kubeconfig", "/etc/kubernetes/admin.conf"])?;
    ensure!(tokens.contains(&begun.token), "{tokens}");
    let certificates = first.check(["kubeadm", "certs", "check-expiration"])?;
    ensure!(
        certificates.contains("apiserver-etcd-client") && !certificates.contains("MISSING"),
        "{certificates}"
    );
    for phase in [["certs", "all"], ["kubeconfig", "all"]] {
        let words = ["kubeadm", "init", "phase"].into_iter().chain(phase);
        let said = first.check(words.chain(["--config", "/root/kubeadm.yaml"]))?;
        ensure!(said.contains("Using existing") && !said.contains("Generating"), "{said}");
    }
    Ok(())
}

fn join(begun: &Begun, machine: &Machine, more: &[&str]) -> Result<String> {
    let words = ["kubeadm", "join", &begun.endpoint, "--token", &begun.token];
    let trust = ["--discovery-token-ca-cert-hash", &begun.pin];
    let node = ["--cri-socket", CRI, "--node-name", machine.name()];
    machine.check(words.iter().chain(&trust).chain(&node).chain(more))
}

/// The names of etcd's members, in order.
fn members(control_plane: &Machine) -> Result<Vec<String>> {
    let pki = "/etc/kubernetes/pki/etcd";
    let files =
        [("--cacert", "ca.crt"), ("--cert", "healthcheck-client.crt"), ("--key", "healthcheck-client.key")];
    let files = files.map(|(name, file)| format!("{name}={pki}/{file}"));
    let words = ["etcdctl"].into_iter().chain(files.iter().map(String::as_str)).chain(["member", "list"]);
    let list = control_plane.check(words)?;
    let mut names: Vec<String> =
        list.lines().filter_map(|line| Some(line.split(", ").nth(2)?.to_owned())).collect();
    names.sort();
    Ok(names)
}
