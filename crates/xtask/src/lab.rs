//! A laboratory to try things out in by hand.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::{SigSet, Signal};
use slipway_testkit::scratch::Scratch;
use slipway_testkit::{Lab as Laboratory, MachineOptions};

use crate::output::say;

/// Starts a laboratory as tests have it: an emulator of a cloud whose instances are machines. Needs root.
#[derive(clap::Args)]
pub struct Lab {
    #[command(subcommand)]
    cloud: Cloud,
}

#[derive(clap::Subcommand)]
enum Cloud {
    /// AWS: instances, groups, volumes, network load balancers, names, metadata. It ends with Ctrl-C.
    Aws(Aws),
}

#[derive(clap::Args)]
struct Aws {
    /// A program that is `slipway` on the machines.
    #[arg(long)]
    slipway: Option<PathBuf>,
}

/// Runs a command in the network. The first argument of the text is the number of a process there.
const IN_NETWORK: &str = r#"[ $# -gt 0 ] || set -- bash
exec nsenter --target PROCESS --mount --net --pid --uts --ipc --wdns="$PWD" -- env VARIABLES "$@"
"#;

/// Runs a command on an instance's machine.
const ON_INSTANCE: &str = r#"folder=FOLDER/${1:-}
if [ $# = 0 ] || [ ! -e "$folder/process" ]; then
  echo "usage: sh $0 INSTANCE [COMMAND…]; instances with a machine:" >&2
  for process in FOLDER/i-*/process; do [ -e "$process" ] && basename "${process%/process}" >&2; done
  exit 1
fi
shift
while read -r group; do echo 0 >"$group/cgroup.procs" || exit 1; done <"$folder/cgroups"
[ $# -gt 0 ] || set -- bash
exec env -i HOME=/root TERM="${TERM:-dumb}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin VARIABLES \
  nsenter --target "$(cat "$folder/process")" --mount --uts --ipc --net --pid --cgroup --wdns=/ -- "$@"
"#;

impl Lab {
    /// Runs the task.
    ///
    /// # Errors
    /// When the laboratory does not start.
    pub fn run(&self) -> anyhow::Result<()> {
        match &self.cloud {
            Cloud::Aws(aws) => aws.run(),
        }
    }
}

impl Aws {
    fn run(&self) -> anyhow::Result<()> {
        let mut ends = SigSet::empty();
        ends.extend([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
        // Before any thread, so that none of them takes a signal.
        ends.thread_block()?;
        let lab =
            Laboratory::start(MachineOptions { slipway: self.slipway.clone(), ..MachineOptions::default() })?;
        let scripts = Scratch::new("lab")?;
        explain(&lab, scripts.path())?;
        ends.wait()?;
        say("the laboratory ends");
        drop(lab);
        Ok(())
    }
}

fn explain(lab: &Laboratory, scripts: &Path) -> anyhow::Result<()> {
    let pairs = |pairs: Vec<(String, String)>| {
        pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    let variables = pairs(lab.environment());
    let (network, instance) = (scripts.join("network"), scripts.join("on"));
    let text = IN_NETWORK.replace("PROCESS", &lab.network().switch().to_string());
    fs::write(&network, text.replace("VARIABLES", &variables))?;
    let text = ON_INSTANCE.replace("FOLDER", &lab.network().folder().display().to_string());
    fs::write(&instance, text.replace("VARIABLES", &format!("AWS_ENDPOINT_URL={}", lab.endpoint())))?;
    let image = "ami-12c6146b";
    for line in [
        "The emulator, for commands on this machine:".to_owned(),
        format!("  export {}", pairs(lab.moto().environment())),
        format!(
            "  aws ec2 run-instances --image-id {image} --instance-type t3.medium --user-data file://SCRIPT"
        ),
        "  aws ec2 get-console-output --latest --output text --instance-id INSTANCE".to_owned(),
        format!(
            "Commands in the network, which reach machines, load balancers, names and {}:",
            lab.endpoint()
        ),
        format!("  sh {} [COMMAND…]", network.display()),
        "A shell or a command on an instance:".to_owned(),
        format!("  sh {} INSTANCE [COMMAND…]", instance.display()),
        "Ctrl-C ends the laboratory with all that is in it.".to_owned(),
    ] {
        say(&line);
    }
    Ok(())
}
