//! Machines, a copy of an example spec for them, and the program that works on both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use slipway_testkit::machine::stripped;
use slipway_testkit::{Machine, MachineOptions, Network, kubernetes};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_slipway-under-test");

/// What kubelets and kube-proxies of machines without a kernel of their own need beyond the example.
const SETTINGS: &str = "  kubernetesVersion: 1.34.4
  kubelet:
    failSwapOn: false
    imageGcHighThresholdPercent: 100
    imageGcLowThresholdPercent: 99
    evictionHard: { memory.available: 100Mi, nodefs.available: 1Gi }
    extraConfig: { cgroupDriver: cgroupfs }
  components: { proxy: { extraArgs: { conntrack-max-per-core: \"0\" } } }
";

pub(crate) struct Lab {
    pub machines: Vec<Machine>,
    network: Network,
    program: PathBuf,
    folder: TempDir,
}

impl Lab {
    /// Machines of these names, and an example of `specs/` for them.
    pub fn new(example: &str, names: &[&str]) -> Result<Self> {
        let folder = TempDir::new()?;
        let key = folder.path().join("id");
        let made =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status()?;
        anyhow::ensure!(made.success(), "ssh-keygen fails");
        let authorized_key = Some(fs::read_to_string(key.with_extension("pub"))?);
        let network = Network::new()?;
        let options = MachineOptions { authorized_key, ..MachineOptions::default() };
        let machines: Result<Vec<Machine>> =
            names.iter().map(|name| network.machine(name, options.clone())).collect();
        let machines = machines?;
        // A copy of its own: the cached one goes when somebody builds another.
        let program = folder.path().join("slipway");
        fs::copy(stripped(Path::new(PROGRAM))?.join("slipway"), &program)?;
        let lab = Self { machines, network, program, folder };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs").join(example);
        let spec = fs::read_to_string(source.join("cluster.yaml"))?;
        let spec = spec.replace("  kubernetesVersion: 1.34.4\n", SETTINGS);
        fs::create_dir(lab.folder.path().join("spec"))?;
        fs::write(lab.file("cluster.yaml"), spec)?;
        fs::write(lab.file("hosts.yaml"), lab.hosts(example)?)?;
        Ok(lab)
    }

    fn hosts(&self, example: &str) -> Result<String> {
        let inventory = if example == "hosts-single" { "home" } else { "rack" };
        let mut documents = Vec::new();
        for machine in &self.machines {
            let name = machine.name();
            let role = if name.starts_with("worker") { "worker" } else { "control-plane" };
            let key = machine.host_key()?;
            let key: Vec<&str> = key.split_whitespace().take(2).collect();
            documents.push(format!(
                "apiVersion: slipway.dev/v1alpha1\nkind: Host\nmetadata: {{ name: {name}, labels: {{ role: {role} }} }}\n\
                 spec:\n  inventory: {inventory}\n  addresses: [ {{ address: {} }} ]\n  ssh: {{ identityFile: ../id, hostKeys: [ \"{}\" ] }}\n",
                machine.address(),
                key.join(" ")
            ));
        }
        Ok(documents.join("---\n"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("spec").join(name)
    }

    /// Changes the spec.
    pub fn edit(&self, change: impl Fn(String) -> String) {
        let path = self.file("cluster.yaml");
        fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
    }

    /// Changes the documents of the hosts.
    pub fn edit_hosts(&self, change: impl Fn(String) -> String) {
        let path = self.file("hosts.yaml");
        fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
    }

    /// Takes a host out of the inventory.
    pub fn forget_host(&self, name: &str) {
        let stays = |document: &&str| !document.contains(&format!("name: {name},"));
        self.edit_hosts(|hosts| hosts.split("---\n").filter(stays).collect::<Vec<_>>().join("---\n"));
    }

    /// Runs the program in the machines' network; its exit code and what it says.
    pub fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = self.network.command([self.program.as_os_str()]);
        command.args(arguments).arg("--state").arg(self.folder.path().join("state"));
        command.current_dir(self.folder.path());
        let folder = self.folder.path().display();
        // The command enters the network from its own working folder.
        command.env("XDG_CONFIG_HOME", format!("{folder}/config")).env("USER", "tester");
        command.env_remove("SLIPWAY_STATE").env_remove("SLIPWAY_CONFIG");
        let output = self.in_folder(command).output().context("the program cannot be started").unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// The same command, with relative names below the folder of this lab.
    fn in_folder(&self, command: Command) -> Command {
        let mut inner = Command::new(command.get_program());
        for argument in command.get_args() {
            match argument.to_str().and_then(|text| text.strip_prefix("--wdns=")) {
                Some(_) => inner.arg(format!("--wdns={}", self.folder.path().display())),
                None => inner.arg(argument),
            };
        }
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inner.env(name, value),
                None => inner.env_remove(name),
            };
        }
        inner
    }

    /// Runs the program, which has to succeed.
    pub fn done(&self, arguments: &[&str]) -> String {
        let (code, out, err) = self.run(arguments);
        assert_eq!(code, Some(0), "{arguments:?}\n{out}\n{err}");
        out
    }

    /// Plans, which has to find something to do.
    pub fn pending(&self, arguments: &[&str]) -> String {
        let (code, out, err) = self.run(arguments);
        assert_eq!(code, Some(2), "{arguments:?}\n{out}\n{err}");
        out
    }

    /// There is nothing left to do.
    pub fn is_as_wanted(&self) {
        let (code, out, err) = self.run(&["plan", "-f", "spec"]);
        assert_eq!(code, Some(0), "{out}\n{err}");
    }

    /// Where the API is, as users are told.
    pub fn server(&self) -> String {
        let cluster = if self.file("cluster.yaml").exists() { self.cluster() } else { String::new() };
        let kubeconfig = self.done(&["kubeconfig", &cluster]);
        let line = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("server: "));
        line.unwrap().to_owned()
    }

    fn cluster(&self) -> String {
        let spec = fs::read_to_string(self.file("cluster.yaml")).unwrap();
        let name = spec.lines().find_map(|line| line.strip_prefix("  name: "));
        name.unwrap().to_owned()
    }

    /// Runs kubectl with credentials that the program makes.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let file = self.folder.path().join("kubeconfig");
        self.done(&["kubeconfig", &self.cluster(), "--out", &file.display().to_string()]);
        let kubectl = kubernetes::install().unwrap().join("kubectl");
        let mut command = self.network.command([kubectl.as_os_str()]);
        let output = command.arg("--kubeconfig").arg(&file).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Whether a host is claimed in the inventory.
    pub fn is_claimed(&self, host: &str) -> bool {
        let hosts = self.folder.path().join("state/hosts");
        ["home", "rack"].iter().any(|inventory| hosts.join(inventory).join(host).exists())
    }

    /// A machine is as it was: no file of a node, no container, no network of pods.
    pub fn nothing_is_left(&self, machine: &Machine) {
        let files = "find /etc/kubernetes /var/lib/kubelet /var/lib/etcd /var/lib/slipway /var/log/kubernetes -type f";
        let left = machine.run(["sh", "-c", &format!("{files} 2>/dev/null")]).unwrap();
        assert_eq!(String::from_utf8_lossy(&left.stdout), "", "files of {}", machine.name());
        let containers = machine.check(["ctr", "-n", "k8s.io", "containers", "ls", "-q"]).unwrap();
        assert_eq!(containers.trim(), "", "containers of {}", machine.name());
        let links = machine.check(["ip", "-brief", "link"]).unwrap();
        assert!(
            !links.contains("cni0") && !links.contains("flannel"),
            "links of {}: {links}",
            machine.name()
        );
        let mounts = machine.check(["cat", "/proc/mounts"]).unwrap();
        assert!(!mounts.contains("/var/lib/kubelet/pods"), "mounts of {}: {mounts}", machine.name());
    }
}
