//! Every phase alone, in kubeadm's order, and again: together they are an init.

use anyhow::{Result, ensure};
use slipway_testkit::kubeadm::Kubeadm;
use slipway_testkit::network::Network;

use crate::place::{become_ready, expect, machine, unchanged};

const CONFIG: [&str; 2] = ["--config", "/root/kubeadm.yaml"];

#[test]
#[ignore = "needs root and namespaces"]
fn phases_alone_make_a_cluster() -> Result<()> {
    let network = Network::new()?;
    let machine = machine(&network, "n1")?;
    machine.write("/root/kubeadm.yaml", "600", Kubeadm::configuration(&machine))?;
    let phases: [&[&str]; 14] = [
        &["preflight"],
        &["certs", "ca"],
        &["certs", "all"],
        &["kubeconfig", "all"],
        &["etcd", "local"],
        &["control-plane", "all"],
        &["kubelet-start"],
        &["wait-control-plane"],
        &["upload-config", "all"],
        &["upload-certs"],
        &["bootstrap-token"],
        &["kubelet-finalize", "all"],
        &["addon", "all"],
        &["mark-control-plane"],
    ];
    let arguments = |phase: &[&'static str]| -> Vec<&str> {
        ["phase", "init"].into_iter().chain(phase.iter().copied()).chain(CONFIG).collect()
    };
    for phase in phases {
        expect(&machine, 0, &arguments(phase))?;
    }
    // The RBAC objects of administrators need the API, which a later phase starts. They are created with the
    // next call.
    let late = expect(&machine, 0, &arguments(&["kubeconfig", "all"]))?;
    ensure!(late.out.contains("kubeadm:cluster-admins"), "{}", late.out);
    for phase in phases {
        let again = expect(&machine, 0, &arguments(phase))?;
        ensure!(!again.out.contains("Plan: "), "{phase:?} changes something again: {}", again.out);
    }
    let whole = expect(&machine, 0, &["init", "--config", "/root/kubeadm.yaml"])?;
    ensure!(whole.out.contains("No changes"), "{}", whole.out);
    unchanged(&machine)?;
    become_ready(&machine, &machine)?;

    // A renewed certificate keeps its names, and programs that read it only once are restarted.
    let before = machine.read("/etc/kubernetes/pki/apiserver.crt")?;
    expect(&machine, 0, &["certs", "renew", "all", "--yes"])?;
    ensure!(machine.read("/etc/kubernetes/pki/apiserver.crt")? != before);
    unchanged(&machine)?;
    machine.check(["kubeadm", "certs", "check-expiration"])?;
    Ok(())
}
