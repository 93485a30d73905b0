//! A cluster of kubeadm on machines, a spec for it, and the program that adopts it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use slipway_testkit::hosts::Hosts;
use slipway_testkit::machine::Running;
use slipway_testkit::wait::until;
use slipway_testkit::{Machine, Said};

const PROGRAM: &str = env!("CARGO_BIN_EXE_slipway-under-test");

/// The settings that kubeadm has for kubelets and kube-proxy, as a spec.
const CLUSTER: &str = r#"apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: { name: taken }
spec:
  profile: kubeadm
  provider: { name: hosts }
  kubernetesVersion: 1.34.4
  controlPlane: { endpoint: { given: { host: ENDPOINT } } }
  network:
    podCidrs: [10.244.0.0/16]
    serviceCidrs: [10.96.0.0/12]
    cni: { name: none }
  kubelet:
    failSwapOn: false
    imageGCHighThresholdPercent: 100
    imageGCLowThresholdPercent: 99
    evictionHard: { memory.available: 100Mi, nodefs.available: 1Gi }
    extraConfig: { cgroupDriver: cgroupfs }
  components: { proxy: { extraArgs: { conntrack-max-per-core: "0" } } }
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: control-plane }
spec:
  role: controlPlane
  size: { fixed: COUNT }
  hosts: { inventory: rack, matchLabels: { role: control-plane } }
"#;

const WORKERS: &str = "---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: workers }
spec:
  role: worker
  size: { fixed: 1 }
  hosts: { inventory: rack, matchLabels: { role: worker } }
";

pub(crate) struct Lab {
    hosts: Hosts,
}

impl Lab {
    /// Machines, and a spec for a cluster of them. The first machine is the endpoint. Machines whose names
    /// begin with `worker` are workers, one of them at most.
    pub fn new(names: &[&str]) -> Result<Self> {
        let workers = names.iter().filter(|name| name.starts_with("worker")).count();
        let spec = |machines: &[Machine]| {
            let endpoint = machines.first().context("no machine")?.address();
            let count = names.len() - workers;
            let cluster = CLUSTER.replace("ENDPOINT", &endpoint).replace("COUNT", &count.to_string());
            Ok(if workers == 0 { cluster } else { cluster + WORKERS })
        };
        Ok(Self { hosts: Hosts::of_spec(Path::new(PROGRAM), names, "rack", spec)? })
    }

    pub fn machines(&self) -> &[Machine] {
        &self.hosts.machines
    }

    /// A file beside the folder of the spec.
    fn beside(&self, name: &str) -> PathBuf {
        self.hosts.file("..").join(name)
    }

    /// Has the program trust servers that this CA has signed.
    pub fn trust(&self, authority: &[u8]) -> Result<()> {
        Ok(fs::write(self.beside("trusted.crt"), authority)?)
    }

    /// Changes the spec.
    pub fn edit(&self, from: &str, to: &str) -> Result<()> {
        self.hosts.edit(from, to)
    }

    /// Starts an agent on a machine, and makes the spec connect by that alone. The socket is reached through
    /// `/proc` of the agent's process.
    pub fn by_agent(&self, machine: &Machine) -> Result<Running> {
        machine.copy_in(&self.hosts.program(), "/usr/local/bin/slipway")?;
        let serve = ["slipway", "node", "serve", "--socket", "/run/agent.sock"];
        let agent = machine.spawn(serve)?;
        let network = self.hosts.network();
        let find = ["pgrep", "-f", "^slipway node serve --socket"];
        let process = until("the agent", || {
            let found = Said::by(&mut network.command_in(Path::new("/"), find))?.out;
            let is_there = machine.run(["test", "-S", "/run/agent.sock"])?.status.success();
            Ok(found.lines().next().map(str::to_owned).filter(|_| is_there))
        })?;
        let path = self.hosts.file("hosts.yaml");
        let documents = fs::read_to_string(&path)?;
        let entered = |document: &str| {
            let is_it = document.contains(&format!("name: {},", machine.name()));
            let lines = document.lines().map(|line| match line.starts_with("  ssh: ") && is_it {
                true => format!("  agent: {{ socket: /proc/{process}/root/run/agent.sock }}\n"),
                false => format!("{line}\n"),
            });
            lines.collect::<String>()
        };
        let documents: Vec<String> = documents.split("---\n").map(entered).collect();
        fs::write(&path, documents.join("---\n"))?;
        // A spec may only name sockets in folders that the user's configuration allows.
        let configuration = self.beside("config/slipway");
        fs::create_dir_all(&configuration)?;
        let trusted = format!("[trust]\nfile-roots = [\"/proc/{process}/root/run\"]\n");
        fs::write(configuration.join("config.toml"), trusted)?;
        Ok(agent)
    }

    /// Runs the program in the machines' network.
    pub fn run(&self, code: i32, arguments: &[&str]) -> Result<Said> {
        let mut command = self.hosts.command(arguments);
        command.env("XDG_CACHE_HOME", self.beside("cache"));
        let trusted = self.beside("trusted.crt");
        if trusted.exists() {
            command.env("SSL_CERT_FILE", trusted);
        }
        Said::by(&mut command)?.wanted(code, &format!("slipway {}", arguments.join(" ")))
    }

    /// Whether there is any state.
    pub fn has_state(&self) -> bool {
        self.beside("state").exists()
    }

    /// Whether a text is in clear anywhere in the state.
    pub fn state_shows(&self, text: &str) -> Result<bool> {
        let state = self.beside("state");
        Ok(Command::new("grep").args(["-rqF", "--", text]).arg(state).status()?.success())
    }
}

/// The digests of a node's files, and those of Slipway's files.
pub(crate) fn files(machine: &Machine) -> Result<BTreeMap<String, String>> {
    let find = "find /etc/kubernetes /var/lib/kubelet /var/lib/slipway -maxdepth 4 -type f \
                ! -path '/var/lib/kubelet/pods/*' ! -path '/var/lib/kubelet/*state*' ! -path '/var/lib/kubelet/device*' \
                2>/dev/null | xargs sha256sum; true";
    let printed = machine.check(["sh", "-c", find])?;
    let lines = printed.lines().filter_map(|line| line.split_once("  "));
    Ok(lines.map(|(digest, path)| (path.to_owned(), digest.to_owned())).collect())
}

/// The files that differ.
pub(crate) fn changed(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let all: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    all.into_iter().filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}
