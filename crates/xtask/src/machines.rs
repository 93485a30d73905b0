//! Machines to try things out on by hand.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::Command;

use slipway_testkit::scratch::Scratch;
use slipway_testkit::wait::until;
use slipway_testkit::{MachineOptions, Network, cache};

use crate::output::say;

/// Starts machines as tests have them, says how to get onto them, and keeps them until standard input ends. Needs root.
#[derive(clap::Args)]
pub struct Machines {
    /// The names of the machines.
    #[arg(default_values = ["cp-0", "worker-0"])]
    names: Vec<String>,
    /// A program that is `slipway` on them.
    #[arg(long)]
    slipway: Option<PathBuf>,
}

impl Machines {
    /// Runs the task.
    ///
    /// # Errors
    /// When a machine does not start.
    pub fn run(&self) -> anyhow::Result<()> {
        let keys = Scratch::new("keys")?;
        let key = keys.path().join("key");
        cache::run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key))?;
        let authorized_key = Some(fs::read_to_string(key.with_extension("pub"))?);
        let network = Network::new()?;
        let mut machines = Vec::new();
        for name in &self.names {
            let slipway = self.slipway.clone();
            let options = MachineOptions {
                authorized_key: authorized_key.clone(),
                slipway,
                ..MachineOptions::default()
            };
            machines.push(network.machine(name, options)?);
        }
        let enter = keys.path().join("enter");
        fs::write(
            &enter,
            format!("exec nsenter --target {} --mount --net --pid -- \"$@\"\n", network.switch()),
        )?;
        say(&format!("in the network: sh {} COMMAND", enter.display()));
        for machine in &machines {
            let enter = keys.path().join(machine.name());
            let command = machine.command([""])?;
            let words =
                command.get_args().map(|word| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''")));
            let line = words.filter(|word| word != "''").collect::<Vec<_>>().join(" ");
            let path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
            fs::write(&enter, format!("exec env -i HOME=/root TERM=$TERM {path} sh {line} \"$@\"\n"))?;
            say(&format!("{} ({}): sh {} COMMAND", machine.name(), machine.address(), enter.display()));
            let known = format!("{} {}\n", machine.address(), machine.host_key()?);
            let file = keys.path().join("known");
            fs::write(&file, fs::read_to_string(&file).unwrap_or_default() + &known)?;
        }
        until("sshd answers", || {
            Ok(machines.first().map_or(Ok(true), |one| ssh(&network, &keys, one))?.then_some(()))
        })?;
        say("they go when standard input ends");
        std::io::stdin().read_to_end(&mut Vec::new())?;
        Ok(())
    }
}

fn ssh(network: &Network, keys: &Scratch, machine: &slipway_testkit::Machine) -> anyhow::Result<bool> {
    let known = format!("UserKnownHostsFile={}", keys.path().join("known").display());
    let key = keys.path().join("key").display().to_string();
    let line = [
        "ssh",
        "-o",
        "BatchMode=yes",
        "-o",
        &known,
        "-i",
        &key,
        &format!("root@{}", machine.address()),
        "true",
    ];
    Ok(network.run(line)?.status.success())
}
