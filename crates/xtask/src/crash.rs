//! `cargo xtask crash`: the program killed at every write to its state, also while a machine begins, joins or leaves a
//! cluster, every request to a bucket failing, and clusters of AWS that are disturbed in every way.

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::workspace;

/// How many lives of a cluster of AWS are disturbed, each in another order.
const SEEDS: &str = "12";

/// Kill the program at writes to its state, fail its requests, and hold what comes of it against an undisturbed run.
#[derive(Args)]
pub(crate) struct Crash {
    /// At every write, right before and right after, and at every request; without, at a sample, as the tests do.
    #[arg(long)]
    all: bool,
    /// Only at these of all kills on machines, by their numbers as `20..40`: to take up a sweep where it stopped.
    #[arg(long, value_name = "FROM..TO", conflicts_with = "all")]
    kills: Option<String>,
    /// Only over this cloud.
    #[arg(long, value_name = "CLOUD", value_enum)]
    only: Option<Cloud>,
}

/// A cloud of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Cloud {
    /// The simulated one.
    Sim,
    /// moto.
    Aws,
    /// None: machines of namespaces, which need root.
    Nodes,
}

/// The tests: their cloud, package and target, and the target's filters, which are prefixes of names.
const TESTS: &[(Cloud, &str, &str, &[&str])] = &[
    (Cloud::Sim, "slipway-integration", "it", &["crash::", "requests::"]),
    // Its harness takes one name.
    (Cloud::Aws, "slipway-provider-aws", "life", &["kills::"]),
    (Cloud::Aws, "slipway-provider-aws", "life", &["faults::"]),
    // Two at a time: a machine waits as much as it works.
    (Cloud::Nodes, "slipway-integration", "machine_nodes", &["crash::", "--ignored", "--test-threads=2"]),
    (Cloud::Nodes, "slipway-integration", "machine_hosts", &["crash::", "--ignored"]),
];

impl Crash {
    /// Runs the crash tests.
    pub(crate) fn run(&self) -> Result<()> {
        for (cloud, package, test, names) in TESTS {
            if self.only.is_some_and(|only| only != *cloud) {
                continue;
            }
            let mut tests =
                workspace::cargo(["test", "--package", package, "--test", test, "--", "--nocapture"]);
            tests.args(*names);
            if self.all {
                tests.env("SLIPWAY_CRASH", "all").env("SLIPWAY_SEEDS", SEEDS);
            }
            if let (Some(kills), Cloud::Nodes) = (&self.kills, cloud) {
                tests.env("SLIPWAY_CRASH", kills);
            }
            workspace::run(&mut tests)?;
        }
        Ok(())
    }
}
