//! Machines that the program enters by SSH, and an example of `specs/` that is about them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::machine::{Machine, MachineOptions, Stripped};
use crate::scratch::Scratch;
use crate::{Network, Said, cache, kubernetes};

/// Additional settings of kubelets and kube-proxies on machines without their own kernel.
const SETTINGS: &str = "  kubernetesVersion: 1.34.4
  kubelet:
    failSwapOn: false
    imageGCHighThresholdPercent: 100
    imageGCLowThresholdPercent: 99
    evictionHard: { memory.available: 100Mi, nodefs.available: 1Gi }
    extraConfig: { cgroupDriver: cgroupfs }
  components: { proxy: { extraArgs: { conntrack-max-per-core: \"0\" } } }
";

/// The line of an example that [`SETTINGS`] replaces.
const VERSION: &str = "  kubernetesVersion: 1.34.4\n";

/// Machines, a copy of an example for them, and the program that uses both, with a separate state.
#[derive(Debug)]
pub struct Hosts {
    /// The machines, in the order of their names as given.
    pub machines: Vec<Machine>,
    network: Network,
    program: Stripped,
    folder: Scratch,
}

impl Hosts {
    /// Machines of these names, of which those that begin with `worker` become workers, and an example of `specs/` for
    /// them. Nothing is done to them yet.
    ///
    /// # Errors
    /// When this is not root, there is no such example, or a machine does not start.
    pub fn new(program: &Path, example: &str, names: &[&str]) -> Result<Self> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs").join(example);
        let spec = fs::read_to_string(source.join("cluster.yaml"))?;
        if !spec.contains(VERSION) {
            bail!("specs/{example} is not about the version that is built");
        }
        let inventory = if example == "hosts-single" { "home" } else { "rack" };
        Self::of_spec(program, names, inventory, |_| Ok(spec.replace(VERSION, SETTINGS)))
    }

    /// The same with a spec of its own, made when the machines have their addresses. They are in this inventory.
    ///
    /// # Errors
    /// When this is not root, or a machine does not start.
    pub fn of_spec(
        program: &Path,
        names: &[&str],
        inventory: &str,
        spec: impl FnOnce(&[Machine]) -> Result<String>,
    ) -> Result<Self> {
        let folder = Scratch::new("hosts")?;
        let key = folder.path().join("id");
        cache::run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key))?;
        let authorized_key = Some(fs::read_to_string(key.with_extension("pub"))?);
        let network = Network::new()?;
        let options = MachineOptions { authorized_key, ..MachineOptions::default() };
        let machines: Result<Vec<Machine>> =
            names.iter().map(|name| network.machine(name, options.clone())).collect();
        let program = Stripped::of(program)?;
        let hosts = Self { machines: machines?, network, program, folder };
        fs::create_dir(hosts.folder.path().join("spec"))?;
        fs::write(hosts.file("cluster.yaml"), spec(&hosts.machines)?)?;
        fs::write(hosts.file("hosts.yaml"), hosts.documents(inventory)?)?;
        Ok(hosts)
    }

    fn documents(&self, inventory: &str) -> Result<String> {
        let document = |machine: &Machine| {
            let name = machine.name();
            let role = if name.starts_with("worker") { "worker" } else { "control-plane" };
            let key = machine.host_key()?;
            let key: Vec<&str> = key.split_whitespace().take(2).collect();
            anyhow::Ok(format!(
                "apiVersion: slipway.dev/v1alpha1\nkind: Host\nmetadata: {{ name: {name}, labels: {{ role: {role} }} }}\n\
                 spec:\n  inventory: {inventory}\n  addresses: [ {{ address: {} }} ]\n  ssh: {{ identityFile: ../id, hostKeys: [ \"{}\" ] }}\n",
                machine.address(),
                key.join(" ")
            ))
        };
        Ok(self.machines.iter().map(document).collect::<Result<Vec<_>>>()?.join("---\n"))
    }

    /// A file of the spec: `cluster.yaml` and `hosts.yaml` are there.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("spec").join(name)
    }

    /// Changes the document of the cluster.
    ///
    /// # Errors
    /// When that changes nothing, or it cannot be written.
    pub fn edit(&self, from: &str, to: &str) -> Result<()> {
        let path = self.file("cluster.yaml");
        let spec = fs::read_to_string(&path)?;
        if !spec.contains(from) {
            bail!("{from:?} is not in the spec");
        }
        Ok(fs::write(&path, spec.replace(from, to))?)
    }

    /// The network that the machines are in.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The copy of the program that works here; it stays while this value lives.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        self.program.path()
    }

    /// A call of the program in the machines' network. The spec is `spec`.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let folder = self.folder.path();
        let mut command = self.network.command_in(folder, [self.program.path()]);
        command.args(arguments).arg("--state").arg(folder.join("state"));
        command.env("XDG_CONFIG_HOME", folder.join("config")).env("USER", "tester");
        command.env_remove("SLIPWAY_STATE").env_remove("SLIPWAY_CONFIG");
        command
    }

    /// Calls the program, which has to end with this code, and gives what it said on standard output.
    ///
    /// # Errors
    /// When it ends otherwise, with all that it said.
    pub fn expect(&self, code: i32, arguments: &[&str]) -> Result<String> {
        let said = Said::by(&mut self.command(arguments))?;
        Ok(said.wanted(code, &format!("slipway {}", arguments.join(" ")))?.out)
    }

    /// Lets the administrator into a cluster, and gives the kubeconfig.
    ///
    /// # Errors
    /// When the program fails.
    pub fn kubeconfig(&self, cluster: &str) -> Result<PathBuf> {
        let file = self.folder.path().join("kubeconfig");
        self.expect(0, &["kubeconfig", cluster, "--valid-for", "6h", "--out", &file.display().to_string()])?;
        Ok(file)
    }

    /// A call of kubectl from the network, as the client that a kubeconfig names.
    ///
    /// # Errors
    /// When there is no kubectl.
    pub fn kubectl(&self, kubeconfig: &Path, arguments: &[&str]) -> Result<Command> {
        let mut command = self.network.command([kubernetes::install()?.join("kubectl")]);
        command.arg("--kubeconfig").arg(kubeconfig).args(arguments);
        Ok(command)
    }

    /// Calls kubectl, which has to succeed, and gives what it said on standard output.
    ///
    /// # Errors
    /// When it fails, with what it said.
    pub fn ask(&self, kubeconfig: &Path, arguments: &[&str]) -> Result<String> {
        let said = Said::by(&mut self.kubectl(kubeconfig, arguments)?)?;
        Ok(said.wanted(0, &format!("kubectl {}", arguments.join(" ")))?.out)
    }
}
