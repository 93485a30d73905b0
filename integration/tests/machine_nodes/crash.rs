//! The program is killed at writes of its own state while a machine begins a cluster, joins one, or leaves it; the next
//! run ends as if nothing had happened.

mod join;

use std::ops::Range;

use anyhow::{Context as _, Result, ensure};
use slipway_integration::knife::chosen;
use slipway_testkit::Said;
use slipway_testkit::kubeadm::Kubeadm;
use slipway_testkit::machine::Machine;
use slipway_testkit::network::Network;

use crate::place::{expect, kubectl, machine, unchanged};

/// Where an undisturbed run writes down how often it wrote.
const COUNT: &str = "/root/count";

const INIT: [&str; 5] = ["slipway", "node", "init", "--config", "/root/kubeadm.yaml"];

#[test]
#[ignore = "needs root and namespaces"]
fn killed_at_any_write_of_init_the_next_run_converges() -> Result<()> {
    let network = Network::new()?;
    let undisturbed = machine(&network, "n0")?;
    undisturbed.write("/root/kubeadm.yaml", "600", Kubeadm::configuration(&undisturbed))?;
    let writes = counted(&undisturbed, &INIT)?;
    let wanted = shape(&undisturbed)?;
    drop(undisturbed);
    for kill in kills("init", writes, chosen()?.unwrap_or(writes / 2..writes / 2 + 1)) {
        let machine = machine(&network, &format!("n{}", kill.number + 1))?;
        machine.write("/root/kubeadm.yaml", "600", Kubeadm::configuration(&machine))?;
        kill.strike(&machine, &INIT)?;
        converged(&machine, &wanted).with_context(|| kill.to_string())?;
    }
    Ok(())
}

fn converged(machine: &Machine, wanted: &[String]) -> Result<()> {
    expect(machine, 0, &INIT[2..])?;
    unchanged(machine)?;
    same(wanted, &shape(machine)?)
}

/// A kill at a write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kill {
    /// Two for each write: before it and after it.
    number: usize,
    writes: usize,
}

impl std::fmt::Display for Kill {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "killed {} write {} of {}", self.moment(), self.number / 2, self.writes)
    }
}

impl Kill {
    /// Which kill it is, two for each write.
    pub fn number(self) -> usize {
        self.number
    }

    fn moment(&self) -> &'static str {
        if self.number.is_multiple_of(2) { "before" } else { "after" }
    }

    /// Runs the program, which kills itself at this write.
    pub fn strike(&self, machine: &Machine, command: &[&str]) -> Result<()> {
        let killed = format!("SLIPWAY_TEST_KILL={}:{}", self.number / 2, self.moment());
        let said: Said = machine.run(["env", &killed].iter().chain(command))?.into();
        // How records are grouped into writes depends on timing: a run may need fewer than the undisturbed one did.
        ensure!(
            matches!(said.code, None | Some(0 | 137)),
            "{self}: it ended with {:?}: {}\n{}",
            said.code,
            said.out,
            said.err
        );
        Ok(())
    }
}

/// Kills of a run with so many writes, told one by one.
pub(crate) fn kills(what: &str, writes: usize, chosen: Range<usize>) -> impl Iterator<Item = Kill> {
    println!("{what}: {writes} writes, two kills at each");
    let what = what.to_owned();
    (chosen.start..chosen.end.min(writes * 2)).map(move |number| {
        let kill = Kill { number, writes };
        println!("{what}: {number}: {kill}");
        kill
    })
}

/// Runs the program undisturbed and gives how often it wrote.
pub(crate) fn counted(machine: &Machine, command: &[&str]) -> Result<usize> {
    let count = format!("SLIPWAY_TEST_COUNT={COUNT}");
    machine.check(["env", &count].iter().chain(command))?;
    Ok(String::from_utf8(machine.read(COUNT)?)?.parse()?)
}

fn same(wanted: &[String], found: &[String]) -> Result<()> {
    let extra: Vec<&String> = found.iter().filter(|line| !wanted.contains(line)).collect();
    let missing: Vec<&String> = wanted.iter().filter(|line| !found.contains(line)).collect();
    ensure!(extra.is_empty() && missing.is_empty(), "missing {missing:?}, extra {extra:?}");
    Ok(())
}

/// The files of a machine that are the program's or the cluster's, without names that are chosen at random.
fn files(machine: &Machine) -> Result<Vec<String>> {
    let name = machine.name();
    let files = machine.check(["find", "/etc/kubernetes", "/var/lib/slipway/owned", "-type", "f"])?;
    let mut lines: Vec<String> = files
        .lines()
        // Entries of the ledger are named by a digest of what they are about, the node's name among it.
        .filter(|line| !line.contains("/owned/"))
        .map(|line| line.replace(name, "<node>"))
        .collect();
    lines.push(format!("{} entries", files.lines().filter(|line| line.contains("/owned/")).count()));
    lines.sort();
    Ok(lines)
}

/// The contents of a machine and of the cluster that it began.
fn shape(machine: &Machine) -> Result<Vec<String>> {
    let objects = kubectl(
        machine,
        &["get", "configmaps,roles,rolebindings,services,daemonsets,deployments", "-A", "-o", "name"],
    )?;
    let tokens = kubectl(machine, &["-n", "kube-system", "get", "secrets", "-o", "name"])?;
    let mut lines = files(machine)?;
    // The parent of an apply set is named by the state's own id; the others are made by controllers, when they come to it.
    let of_others =
        ["/slipway-", "/kube-root-ca.crt", "/kube-apiserver-legacy-service-account-token-tracking"];
    let objects = objects.lines().filter(|line| !of_others.iter().any(|other| line.contains(other)));
    lines.extend(objects.map(|line| line.replace(machine.name(), "<node>")));
    lines.push(format!("{} secrets", tokens.lines().count()));
    lines.sort();
    lines.dedup();
    Ok(lines)
}
