//! kubeadm's own suite, against clusters that the program makes as kubeadm makes them.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use slipway_testkit::suite::{self, Selection, Spec};
use slipway_testkit::{Machine, MachineOptions, Network, kubernetes};

use crate::nodes;

/// The addresses of one family that [`nodes::documents`] has, and those of two.
const ONE_FAMILY: &str = "podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12";
const TWO_FAMILIES: &str =
    "podSubnet: \"10.244.0.0/16,fd00:10:244::/48\", serviceSubnet: \"10.96.0.0/12,fd00:10:96::/108\"";

/// The specs that are about addresses of two families.
const DUAL_STACK: &str = "dual-stack";

/// Runs it against a control plane and a worker, and what is about two families of addresses against another control
/// plane that has both.
///
/// # Errors
/// When a cluster cannot be made, or the suite does not run.
pub(super) fn run(program: &Path) -> Result<Vec<Spec>> {
    let without = Selection { without: vec![DUAL_STACK.to_owned()], ..Selection::default() };
    let mut specs = against(program, &["n1", "n2"], ONE_FAMILY, &without)?;
    let only = Selection { only: vec![DUAL_STACK.to_owned()], ..Selection::default() };
    specs.extend(against(program, &["n1"], TWO_FAMILIES, &only)?);
    Ok(specs)
}

fn against(program: &Path, names: &[&str], subnets: &str, selection: &Selection) -> Result<Vec<Spec>> {
    let network = Network::new()?;
    let options = MachineOptions { slipway: Some(program.to_owned()), ..MachineOptions::default() };
    let machines: Vec<Machine> =
        names.iter().map(|name| network.machine(name, options.clone())).collect::<Result<_>>()?;
    for (number, machine) in machines.iter().enumerate() {
        nodes::connect_pods(machine, number)?;
    }
    let [first, workers @ ..] = machines.as_slice() else { anyhow::bail!("no machines") };
    let documents = nodes::documents(first);
    ensure!(documents.contains(ONE_FAMILY), "the documents have other addresses");
    first.write("/root/kubeadm.yaml", "600", documents.replace(ONE_FAMILY, subnets))?;
    let words = ["slipway", "node"];
    first.check(words.iter().chain(&["init", "--upload-certs", "--config", "/root/kubeadm.yaml"]))?;
    for worker in workers {
        nodes::join(&words, first, worker)?;
    }
    for name in names {
        nodes::until_ready(first, name)?;
    }
    let kubeconfig = network.folder().join("admin.conf");
    fs::write(&kubeconfig, first.read("/etc/kubernetes/admin.conf")?)?;
    suite::run(&network, &kubernetes::e2e_kubeadm()?, &kubeconfig, selection)
}
