//! Machines with the program on them, and what tests do there.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use slipway_testkit::Said;
use slipway_testkit::kubeadm::Kubeadm;
use slipway_testkit::machine::{Machine, MachineOptions};
use slipway_testkit::network::Network;
use slipway_testkit::wait::until;

/// The container runtime of machines.
pub(crate) const CRI: &str = "unix:///run/containerd/containerd.sock";
/// The administrator's kubeconfig on a control plane.
const ADMIN: &str = "/etc/kubernetes/admin.conf";

/// A machine with the program on it.
pub(crate) fn machine(network: &Network, name: &str) -> Result<Machine> {
    let slipway = Some(PathBuf::from(env!("CARGO_BIN_EXE_slipway-under-test")));
    network.machine(name, MachineOptions { slipway, ..MachineOptions::default() })
}

/// Calls `slipway node …` on a machine.
pub(crate) fn node(machine: &Machine, arguments: &[&str]) -> Result<Said> {
    Ok(machine.run(["slipway", "node"].iter().chain(arguments))?.into())
}

/// The same, with an exit code that it has to have.
pub(crate) fn expect(machine: &Machine, code: i32, arguments: &[&str]) -> Result<Said> {
    let what = format!("{}: slipway node {}", machine.name(), arguments.join(" "));
    node(machine, arguments)?.wanted(code, &what)
}

/// A cluster that the program began on a machine.
pub(crate) struct Begun {
    pub endpoint: String,
    pub token: String,
    pub pin: String,
    pub key: String,
}

impl Begun {
    /// Begins a cluster, with the documents that kubeadm is given for the same.
    pub fn new(machine: &Machine) -> Result<Self> {
        machine.write("/root/kubeadm.yaml", "600", Kubeadm::configuration(machine))?;
        let said = expect(machine, 0, &["init", "--config", "/root/kubeadm.yaml", "--upload-certs"])?;
        let word = |before: &str| -> Result<String> {
            let mut words = said.out.split_whitespace().skip_while(|word| *word != before);
            Ok(words.nth(1).with_context(|| format!("{before} is not in {}", said.out))?.to_owned())
        };
        Ok(Self {
            endpoint: format!("{}:6443", machine.address()),
            token: word("--token")?,
            pin: word("--discovery-token-ca-cert-hash")?,
            key: word("--certificate-key")?,
        })
    }

    /// The arguments with which a worker joins.
    pub fn worker(&self) -> Vec<&str> {
        let pin = ["--discovery-token-ca-cert-hash", &self.pin, "--cri-socket", CRI];
        ["join", &self.endpoint, "--token", &self.token].into_iter().chain(pin).collect()
    }
}

/// Runs kubectl as the administrator of a control plane.
pub(crate) fn kubectl(control_plane: &Machine, arguments: &[&str]) -> Result<String> {
    control_plane.check(["kubectl", "--kubeconfig", ADMIN].iter().chain(arguments))
}

/// Gives a machine's pods a network without any other node in it, and waits until the node is ready.
pub(crate) fn become_ready(control_plane: &Machine, machine: &Machine) -> Result<()> {
    let plugins = r#"{"cniVersion":"0.4.0","name":"pods","plugins":[{"type":"bridge","bridge":"cni0",
        "isDefaultGateway":true,"ipam":{"type":"host-local","ranges":[[{"subnet":"10.244.0.0/24"}]]}}]}"#;
    machine.write("/etc/cni/net.d/10-pods.conflist", "644", plugins)?;
    let node = format!("node/{}", machine.name());
    until("the node has registered", || Ok(kubectl(control_plane, &["get", &node]).ok()))?;
    kubectl(control_plane, &["wait", "--for=condition=Ready", &node, "--timeout=120s"])?;
    Ok(())
}

/// Checks that a machine has no drift. A kubelet may be about to restart while the machine is busy: a
/// difference that disappears by itself does not count.
pub(crate) fn unchanged(machine: &Machine) -> Result<()> {
    let mut last = String::new();
    let same = until("nothing differs", || {
        let said = node(machine, &["plan"])?;
        last = format!("{}: ended with {:?}\n{}\n{}", machine.name(), said.code, said.out, said.err);
        Ok((said.code == Some(0)).then_some(()))
    });
    same.with_context(|| last)
}
