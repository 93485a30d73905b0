//! Machines with the program on them.

use std::path::PathBuf;

use anyhow::Result;
use slipway_testkit::Said;
use slipway_testkit::machine::{Machine, MachineOptions};
use slipway_testkit::network::Network;
use slipway_testkit::wait::until;

/// The container runtime of machines.
pub(crate) const CRI: &str = "unix:///run/containerd/containerd.sock";
/// The documents that clusters begin with.
pub(crate) const CONFIG: &str = "/root/kubeadm.yaml";

/// A machine with the program on it.
pub(crate) fn machine(network: &Network, name: &str) -> Result<Machine> {
    let slipway = Some(PathBuf::from(env!("CARGO_BIN_EXE_slipway-under-test")));
    network.machine(name, MachineOptions { slipway, ..MachineOptions::default() })
}

/// Calls a program on a machine, which has to end with this code.
pub(crate) fn call(machine: &Machine, code: i32, words: &[&str]) -> Result<Said> {
    Said::from(machine.run(words)?).wanted(code, &format!("{}: {}", machine.name(), words.join(" ")))
}

/// Calls `slipway node …` on a machine.
pub(crate) fn node(machine: &Machine, code: i32, arguments: &[&str]) -> Result<Said> {
    let words: Vec<&str> = ["slipway", "node"].iter().chain(arguments).copied().collect();
    call(machine, code, &words)
}

/// Holds that nothing differs on a machine, or that it passes by itself while the machine is busy.
pub(crate) fn unchanged(machine: &Machine) -> Result<()> {
    until(&format!("nothing differs on {}", machine.name()), || {
        let said = Said::from(machine.run(["slipway", "node", "plan"])?);
        Ok((said.code == Some(0)).then_some(()))
    })
}

/// The files below folders of a machine.
pub(crate) fn files(machine: &Machine, folders: &[&str]) -> Result<Vec<String>> {
    let find = format!("find {} -type f 2>/dev/null | sort; true", folders.join(" "));
    Ok(machine.check(["sh", "-c", &find])?.lines().map(str::to_owned).collect())
}
