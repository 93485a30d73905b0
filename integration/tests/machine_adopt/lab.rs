//! A cluster that kubeadm has made on machines, a spec for it, and the program that takes it over.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use slipway_testkit::machine::stripped;
use slipway_testkit::{Machine, MachineOptions, Network};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_slipway-under-test");

/// What kubeadm was told about kubelets and kube-proxies, as a spec has it.
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
    imageGcHighThresholdPercent: 100
    imageGcLowThresholdPercent: 99
    evictionHard: { memory.available: 100Mi, nodefs.available: 1Gi }
    extraConfig: { cgroupDriver: cgroupfs }
  components: { proxy: { extraArgs: { conntrack-max-per-core: "0" } } }
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: control-plane }
spec:
  role: controlPlane
  size: { fixed: 2 }
  hosts: { inventory: rack, matchLabels: { role: control-plane } }
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: workers }
spec:
  role: worker
  size: { fixed: 1 }
  hosts: { inventory: rack, matchLabels: { role: worker } }
"#;

pub(crate) struct Lab {
    network: Network,
    program: PathBuf,
    folder: TempDir,
}

/// What a call of the program said.
pub(crate) struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Lab {
    /// A place for machines, and the program.
    pub fn new() -> Result<Self> {
        let folder = TempDir::new()?;
        let key = folder.path().join("id");
        let made =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status()?;
        ensure!(made.success(), "ssh-keygen fails");
        let network = Network::new()?;
        // A copy of its own: the cached one goes when somebody builds another.
        let program = folder.path().join("slipway");
        fs::copy(stripped(Path::new(PROGRAM))?.join("slipway"), &program)?;
        fs::create_dir(folder.path().join("spec"))?;
        Ok(Self { network, program, folder })
    }

    pub fn machine(&self, name: &str) -> Result<Machine> {
        let authorized_key = Some(fs::read_to_string(self.folder.path().join("id.pub"))?);
        self.network.machine(name, MachineOptions { authorized_key, ..MachineOptions::default() })
    }

    /// Describes a cluster of these machines, the first of which is its endpoint.
    pub fn describe(&self, machines: &[&Machine]) -> Result<()> {
        let endpoint = machines.first().context("no machine")?.address();
        fs::write(self.spec(), CLUSTER.replace("ENDPOINT", &endpoint))?;
        let mut documents = Vec::new();
        for machine in machines {
            let name = machine.name();
            let role = if name.starts_with("worker") { "worker" } else { "control-plane" };
            let key = machine.host_key()?;
            let key: Vec<&str> = key.split_whitespace().take(2).collect();
            documents.push(format!(
                "apiVersion: slipway.dev/v1alpha1\nkind: Host\nmetadata: {{ name: {name}, labels: {{ role: {role} }} }}\n\
                 spec:\n  inventory: rack\n  addresses: [ {{ address: {} }} ]\n  ssh: {{ identityFile: ../id, hostKeys: [ \"{}\" ] }}\n",
                machine.address(),
                key.join(" ")
            ));
        }
        fs::write(self.folder.path().join("spec/hosts.yaml"), documents.join("---\n"))?;
        Ok(())
    }

    fn spec(&self) -> PathBuf {
        self.folder.path().join("spec/cluster.yaml")
    }

    /// Has the program trust servers that this CA has signed.
    pub fn trust(&self, authority: &[u8]) -> Result<()> {
        Ok(fs::write(self.folder.path().join("trusted.crt"), authority)?)
    }

    /// Changes the spec.
    pub fn edit(&self, from: &str, to: &str) -> Result<()> {
        let text = fs::read_to_string(self.spec())?;
        ensure!(text.contains(from), "{from} is not in the spec");
        Ok(fs::write(self.spec(), text.replace(from, to))?)
    }

    /// Runs the program in the machines' network.
    pub fn run(&self, code: i32, arguments: &[&str]) -> Result<Said> {
        let folder = self.folder.path().display();
        let mut command = self.network.command([
            "sh".as_ref(),
            "-c".as_ref(),
            format!(r#"cd {folder} && exec "$0" "$@" --state {folder}/state"#).as_ref(),
            self.program.as_os_str(),
        ]);
        command.args(arguments);
        command.env("XDG_CONFIG_HOME", format!("{folder}/config")).env("USER", "tester");
        command.env("XDG_CACHE_HOME", format!("{folder}/cache"));
        let trusted = self.folder.path().join("trusted.crt");
        if trusted.exists() {
            command.env("SSL_CERT_FILE", trusted);
        }
        command.env_remove("SLIPWAY_STATE").env_remove("SLIPWAY_CONFIG");
        let output = command.output().context("the program cannot be started")?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let said = Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        ensure!(
            said.code == Some(code),
            "{arguments:?} ends with {:?}\n{}\n{}",
            said.code,
            said.out,
            said.err
        );
        Ok(said)
    }

    /// Whether there is any state.
    pub fn has_state(&self) -> bool {
        self.folder.path().join("state").exists()
    }

    /// Whether a text stands anywhere in the state in clear.
    pub fn state_shows(&self, text: &str) -> Result<bool> {
        let state = self.folder.path().join("state");
        Ok(Command::new("grep").args(["-rqF", "--", text]).arg(state).status()?.success())
    }
}

/// The digests of a node's files, and those of Slipway's own.
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
