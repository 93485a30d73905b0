//! The program is killed at writes of its own state while it begins a cluster; the next run ends as if nothing had
//! happened.

use anyhow::{Context as _, Result, ensure};
use slipway_testkit::kubeadm::Kubeadm;
use slipway_testkit::machine::Machine;
use slipway_testkit::network::Network;

use crate::place::{Said, expect, kubectl, machine};

/// How many kills run without `SLIPWAY_CRASH=all`.
const SAMPLE: usize = 6;

const INIT: [&str; 5] = ["slipway", "node", "init", "--config", "/root/kubeadm.yaml"];

#[test]
#[ignore = "needs root and namespaces"]
fn killed_at_any_write_of_init_the_next_run_converges() -> Result<()> {
    let network = Network::new()?;
    let undisturbed = machine(&network, "n0")?;
    undisturbed.write("/root/kubeadm.yaml", "600", Kubeadm::configuration(&undisturbed))?;
    undisturbed.check(["env", "SLIPWAY_TEST_COUNT=/root/count"].iter().chain(&INIT))?;
    let writes: usize = String::from_utf8(undisturbed.read("/root/count")?)?.parse()?;
    let wanted = shape(&undisturbed)?;
    drop(undisturbed);
    let all = std::env::var("SLIPWAY_CRASH").is_ok_and(|value| value == "all");
    let stride = if all { 1 } else { (writes * 2).div_ceil(SAMPLE).max(1) };
    println!("{writes} writes; one kill in {stride}");
    for kill in (0..writes * 2).step_by(stride) {
        let moment = if kill % 2 == 0 { "before" } else { "after" };
        let name = format!("n{}", kill + 1);
        let machine = machine(&network, &name)?;
        one_kill(&machine, &format!("{}:{moment}", kill / 2), &wanted)
            .with_context(|| format!("killed {moment} write {} of {writes}", kill / 2))?;
    }
    Ok(())
}

fn one_kill(machine: &Machine, kill: &str, wanted: &[String]) -> Result<()> {
    machine.write("/root/kubeadm.yaml", "600", Kubeadm::configuration(machine))?;
    let killed = format!("SLIPWAY_TEST_KILL={kill}");
    let first: Said = machine.run(["env", &killed].into_iter().chain(INIT))?.into();
    // How records are grouped into writes depends on timing: a run may need fewer than the undisturbed one did.
    ensure!(
        matches!(first.code, None | Some(0 | 137)),
        "the killed run ended with {:?}: {}",
        first.code,
        first.err
    );
    expect(machine, 0, &INIT[2..])?;
    expect(machine, 0, &["plan"])?;
    let found = shape(machine)?;
    let extra: Vec<&String> = found.iter().filter(|line| !wanted.contains(line)).collect();
    let missing: Vec<&String> = wanted.iter().filter(|line| !found.contains(line)).collect();
    ensure!(extra.is_empty() && missing.is_empty(), "missing {missing:?}, extra {extra:?}");
    Ok(())
}

/// What a machine and its cluster hold, without names that are chosen at random.
fn shape(machine: &Machine) -> Result<Vec<String>> {
    let name = machine.name();
    let files = machine.check(["find", "/etc/kubernetes", "/var/lib/slipway/owned", "-type", "f"])?;
    let objects = kubectl(
        machine,
        &["get", "configmaps,roles,rolebindings,services,daemonsets,deployments", "-A", "-o", "name"],
    )?;
    let tokens = kubectl(machine, &["-n", "kube-system", "get", "secrets", "-o", "name"])?;
    let mut lines: Vec<String> = files
        .lines()
        .map(str::to_owned)
        // Entries of the ledger are named by a digest of what they are about, the node's name among it.
        .filter(|line| !line.contains("/owned/"))
        // The parent of an apply set is named by the state's own id.
        .chain(objects.lines().filter(|line| !line.contains("/slipway-")).map(str::to_owned))
        .map(|line| line.replace(name, "<node>"))
        .collect();
    lines.push(format!("{} secrets", tokens.lines().count()));
    lines.push(format!("{} entries", files.lines().filter(|line| line.contains("/owned/")).count()));
    lines.sort();
    lines.dedup();
    Ok(lines)
}
