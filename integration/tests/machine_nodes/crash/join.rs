//! Kills while a machine joins a cluster and while it leaves it again, one round after the other on the same machine.

use anyhow::{Context as _, Result, ensure};
use slipway_integration::knife::chosen;
use slipway_testkit::Said;
use slipway_testkit::machine::Machine;
use slipway_testkit::network::Network;
use slipway_testkit::wait::until;

use super::{Kill, counted, files, kills, same};
use crate::life::members;
use crate::place::{Begun, expect, kubectl, machine, node, unchanged};

#[test]
#[ignore = "needs root and namespaces"]
fn killed_at_any_write_of_a_join_or_a_reset_the_next_run_converges() -> Result<()> {
    let network = Network::new()?;
    let (first, second) = (machine(&network, "n1")?, machine(&network, "n2")?);
    let begun = Begun::new(&first)?;
    second.write(ADMINISTRATOR, "600", first.read("/etc/kubernetes/admin.conf")?)?;
    let join = program(&begun.worker());
    let reset = program(&["reset", "--force", "--kubeconfig", ADMINISTRATOR]);
    let worker = Rounds { first: &first, machine: &second, join: &join, reset: &reset, members: 1 };
    worker.run("worker", 13)?;

    let address = second.address();
    let more =
        ["--control-plane", "--certificate-key", &begun.key, "--apiserver-advertise-address", &address];
    let join: Vec<&str> = begun.worker().into_iter().chain(more).collect();
    let (join, reset) = (program(&join), program(&["reset", "--force"]));
    let control_plane = Rounds { first: &first, machine: &second, join: &join, reset: &reset, members: 2 };
    control_plane.run("control plane", 27)
}

/// A kubeconfig that may remove Nodes, where a worker is given one.
const ADMINISTRATOR: &str = "/root/admin.conf";

fn program<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    ["slipway", "node"].into_iter().chain(arguments.iter().copied()).collect()
}

/// One machine that joins and leaves, several times.
struct Rounds<'a> {
    first: &'a Machine,
    machine: &'a Machine,
    join: &'a [&'a str],
    reset: &'a [&'a str],
    /// How many members etcd has when it has joined.
    members: usize,
}

impl Rounds<'_> {
    /// All kills, or the one of this number.
    fn run(&self, what: &str, sample: usize) -> Result<()> {
        let Some(chosen) = chosen()? else {
            let kill = Kill { number: sample, writes: usize::MAX / 2 };
            println!("{what}: killed {} write {}", kill.moment(), sample / 2);
            return self.round(kill, kill.writes, kill.writes, None).with_context(|| what.to_owned());
        };
        let joining = counted(self.machine, self.join)?;
        self.has_registered()?;
        let wanted = files(self.machine)?;
        let leaving = counted(self.machine, self.reset)?;
        self.has_left().context("undisturbed")?;
        println!("{what}: {joining} writes to join, {leaving} to leave");
        // The shorter of the two is undisturbed when it has no kill left.
        for kill in kills(what, joining.max(leaving), chosen) {
            self.round(kill, joining, leaving, Some(&wanted)).with_context(|| format!("{what}: {kill}"))?;
        }
        Ok(())
    }

    fn round(&self, kill: Kill, joining: usize, leaving: usize, wanted: Option<&[String]>) -> Result<()> {
        if kill.number < joining * 2 {
            Kill { writes: joining, ..kill }.strike(self.machine, self.join)?;
        }
        expect(self.machine, 0, &self.join[2..])?;
        unchanged(self.machine)?;
        if let Some(wanted) = wanted {
            same(wanted, &files(self.machine)?)?;
        }
        ensure!(members(self.first)?.len() == self.members);
        self.has_registered()?;
        if kill.number < leaving * 2 {
            Kill { writes: leaving, ..kill }.strike(self.machine, self.reset)?;
        }
        let said: Said = node(self.machine, &self.reset[2..])?;
        // A run that was killed behind its last write has left nothing to do.
        let nothing_left = said.code == Some(1) && said.err.contains("NODE0004");
        ensure!(
            said.code == Some(0) || nothing_left,
            "the second reset ended with {:?}: {}\n{}",
            said.code,
            said.out,
            said.err
        );
        self.has_left()
    }

    /// A kubelet registers in its own time. One that has not yet done so has no Node that a reset could remove.
    fn has_registered(&self) -> Result<()> {
        let name = format!("node/{}", self.machine.name());
        until("the node has registered", || Ok(kubectl(self.first, &["get", &name]).ok()))?;
        Ok(())
    }

    /// Nothing is left of it, on its disk and in the cluster.
    fn has_left(&self) -> Result<()> {
        let places = ["/etc/kubernetes", "/var/lib/kubelet", "/var/lib/etcd", "/var/lib/slipway/owned"];
        let left = self.machine.run(["find"].into_iter().chain(places).chain(["-type", "f"]))?.stdout;
        let left = String::from_utf8(left)?;
        ensure!(left.trim().is_empty(), "left: {left}");
        ensure!(!self.machine.check(["mount"])?.contains("/var/lib/kubelet/pods"));
        ensure!(!self.machine.run(["pgrep", "-x", "kubelet"])?.status.success(), "the kubelet runs");
        ensure!(members(self.first)?.len() == 1);
        let nodes = kubectl(self.first, &["get", "nodes", "-o", "name"])?;
        ensure!(nodes.trim() == format!("node/{}", self.first.name()), "{nodes}");
        Ok(())
    }
}
