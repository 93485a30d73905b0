//! A machine: a set of namespaces with its own root, address, control groups, container runtime and init.
//!
//! Its path has `kubelet`, `kubeadm`, `kubectl`, `etcdctl`, and the program under test when it is given; its
//! containerd has all [images](crate::image). It runs real kubelets and containers. It has neither its own
//! kernel (modules, most sysctls) nor a real systemd.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::network::{ENVIRONMENT, INTERNAL, Network, PUBLIC};
use crate::wait::until;
use crate::{cache, image, kubernetes};

mod cgroups;
mod disk;
mod instance;
mod program;
mod running;

pub use instance::Instance;
pub use program::{COPIES, Stripped};
pub use running::Running;

/// The init system of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Init {
    /// `systemctl` and `journalctl`, unit files with drop-ins, and `/run/systemd/system`, as far as services
    /// need them. containerd, sshd (when requested) and the kubelet, as in its packages, are units.
    #[default]
    Systemd,
    /// None. containerd and sshd are kept running; `/etc/rc.local` runs at every start, if there is one.
    None,
}

/// Options of a machine.
#[derive(Clone, Debug, Default)]
pub struct MachineOptions {
    /// The init system.
    pub init: Init,
    /// A line of `authorized_keys`: with it, the machine has an sshd that accepts this key for root.
    pub authorized_key: Option<String>,
    /// A program that is `slipway` on its path. It is copied without debug information.
    pub slipway: Option<PathBuf>,
    /// Whether it has a second interface, `eth1`, in another network.
    pub public: bool,
    /// The properties of an instance of a cloud.
    pub instance: Option<Instance>,
    /// Additional files of its image, by absolute path. Only root can read them.
    pub files: Vec<(String, Vec<u8>)>,
}

/// A machine. It is removed when the value is dropped.
#[derive(Debug)]
pub struct Machine {
    network: Network,
    name: String,
    number: u32,
    options: MachineOptions,
    folder: PathBuf,
    /// The copy of the program on the machine, also after a restart.
    slipway: Option<Stripped>,
    power: Option<Power>,
}

/// The processes of a machine that is on.
#[derive(Debug)]
struct Power {
    outermost: Child,
    init: u32,
}

/// Joins a machine's control groups, then its namespaces. Arguments: the list of groups, the number of its first
/// process, the command.
const ENTER: &str = r#"while read -r group; do echo 0 >"$group/cgroup.procs" || exit 1; done <"$1"
process=$2
shift 2
exec nsenter --target "$process" --mount --uts --ipc --net --pid --cgroup -- "$@""#;

/// Starts a machine. Arguments: the list of groups that are the root of what it sees, the switch, the machine's folder.
const START: &str = r#"while read -r group; do echo 0 >"$group/cgroup.procs" || exit 1; done <"$1"
folder=$3
exec nsenter --target "$2" --mount --net --pid --uts --ipc -- sh -c '
  mkdir -p "$1/layer"
  mountpoint -q "$1/layer" || mount -t tmpfs -o mode=755 tmpfs "$1/layer"
  exec unshare --mount --net --pid --uts --ipc --cgroup --fork --kill-child --propagation private bash "$1/bin/init.sh"
' sh "$folder""#;

impl Machine {
    pub(crate) fn create(network: Network, name: &str, number: u32, options: MachineOptions) -> Result<Self> {
        let folder = network.folder().join(name);
        disk::make(&folder, &network.images(), &options)?;
        let slipway = options.slipway.as_deref().map(Stripped::of).transpose()?;
        let mut machine =
            Self { network, name: name.to_owned(), number, options, folder, slipway, power: None };
        machine.start()?;
        Ok(machine)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its address, by which the other machines and the network reach it.
    #[must_use]
    pub fn address(&self) -> String {
        match &self.options.instance {
            Some(instance) => instance.address.split('/').next().unwrap_or_default().to_owned(),
            None => format!("{INTERNAL}.{}", self.number),
        }
    }

    /// The address of its second interface, when it has one.
    #[must_use]
    pub fn public_address(&self) -> Option<String> {
        self.options.public.then(|| format!("{PUBLIC}.{}", self.number))
    }

    /// The network that it is in.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// A command on it, without the test's environment. The caller sets its standard input, outputs and
    /// working folder, and variables with `env`.
    ///
    /// # Errors
    /// When the machine is off.
    pub fn command<S: AsRef<OsStr>>(&self, command: impl IntoIterator<Item = S>) -> Result<Command> {
        let Some(power) = &self.power else { bail!("{} is off", self.name) };
        let mut enter = Command::new("sh");
        enter.env_clear().envs(ENVIRONMENT.iter().filter_map(|pair| pair.split_once('=')));
        enter
            .args(["-c", ENTER, "sh"])
            .arg(self.folder.join("cgroups"))
            .arg(power.init.to_string())
            .args(command);
        Ok(enter)
    }

    /// Runs a command on it.
    ///
    /// # Errors
    /// When it cannot be started. The caller checks whether it failed.
    pub fn run<S: AsRef<OsStr>>(&self, command: impl IntoIterator<Item = S>) -> Result<Output> {
        let mut command = self.command(command)?;
        command.stdin(Stdio::null()).output().context("sh cannot be started")
    }

    /// Runs a command on it that must succeed, and returns its standard output.
    ///
    /// # Errors
    /// When it fails, with its output.
    pub fn check<S: AsRef<OsStr>>(&self, command: impl IntoIterator<Item = S>) -> Result<String> {
        let words: Vec<_> = command.into_iter().map(|word| word.as_ref().to_owned()).collect();
        let output = self.run(&words)?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let words = words.join(OsStr::new(" "));
            let complained = String::from_utf8_lossy(&output.stderr);
            bail!("{}: {}: {}\n{said}{complained}", self.name, words.to_string_lossy(), output.status);
        }
        Ok(said)
    }

    /// Starts a command on it and does not wait. Its output is written to a file.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn<S: AsRef<OsStr>>(&self, command: impl IntoIterator<Item = S>) -> Result<Running> {
        Running::start(self.command(command)?, &self.folder)
    }

    /// Writes a file on it, and creates its parent folders. The mode is as for `chmod`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &str, mode: &str, content: impl AsRef<[u8]>) -> Result<()> {
        let script = r#"mkdir -p "$(dirname "$1")" && cat >"$1" && chmod "$2" "$1""#;
        let mut command = self.command(["sh", "-c", script, "sh", path, mode])?;
        let mut child = command.stdin(Stdio::piped()).spawn()?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(content.as_ref())?;
        }
        if !child.wait()?.success() {
            bail!("{}: {path} cannot be written", self.name);
        }
        Ok(())
    }

    /// Reads a file of it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, path: &str) -> Result<Vec<u8>> {
        let output = self.run(["cat", path])?;
        if !output.status.success() {
            bail!("{}: {}", self.name, String::from_utf8_lossy(&output.stderr));
        }
        Ok(output.stdout)
    }

    /// Copies a file of the host onto it, with its mode.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn copy_in(&self, from: &Path, to: &str) -> Result<()> {
        let content = fs::read(from).with_context(|| from.display().to_string())?;
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(from)?.permissions());
        self.write(to, &format!("{:o}", mode & 0o7777), content)
    }

    /// The public host key of its sshd, which a client pins.
    ///
    /// # Errors
    /// When it has no sshd.
    pub fn host_key(&self) -> Result<String> {
        Ok(self.check(["cat", "/etc/ssh/ssh_host_ed25519_key.pub"])?.trim().to_owned())
    }

    /// Whether it is on: it may have turned itself off.
    #[must_use]
    pub fn is_on(&self) -> bool {
        let init = self.power.as_ref().map_or(0, |power| power.init);
        init != 0 && Path::new(&format!("/proc/{init}/root/run/booted")).exists()
    }

    /// A number that identifies one start of it.
    pub(crate) fn life(&self) -> Option<u32> {
        self.power.as_ref().map(|power| power.init)
    }

    /// Whether it has turned itself off.
    pub fn has_ended(&mut self) -> bool {
        self.power.as_mut().is_some_and(|power| matches!(power.outermost.try_wait(), Ok(Some(_))))
    }

    /// Turns it off like a power cut.
    pub fn kill(&mut self) {
        let Some(mut power) = self.power.take() else { return };
        match power.init {
            _ if matches!(power.outermost.try_wait(), Ok(Some(_))) => {}
            // The machine did not start completely; its remains are removed with the network.
            0 => drop(power.outermost.kill()),
            init => running::kill(init),
        }
        let _ = power.outermost.wait();
        // The kernel takes time to remove network devices, and the next start adds them again.
        let unplug: String = self
            .plugs()
            .iter()
            .map(|(_, plug, _)| format!("ip link delete {plug} 2>/dev/null || :\n"))
            .collect();
        let _ = self.network.configure(&unplug);
        cgroups::remove(&self.folder.join("cgroups"));
    }

    /// Turns it off after its services were stopped.
    ///
    /// # Errors
    /// When it does not turn off.
    pub fn stop(&mut self) -> Result<()> {
        if self.power.is_some() {
            self.command(["kill", "-TERM", "1"])?.status()?;
            until("the machine stops", || {
                let Some(power) = &mut self.power else { return Ok(Some(())) };
                Ok(power.outermost.try_wait()?.map(drop))
            })?;
        }
        self.kill();
        Ok(())
    }

    /// Turns it on, with its earlier disk.
    ///
    /// # Errors
    /// When it does not start, with its output.
    pub fn start(&mut self) -> Result<()> {
        if self.power.is_some() {
            return Ok(());
        }
        let console = self.folder.join("console.log");
        self.boot(&console).with_context(|| {
            let said = fs::read_to_string(&console).unwrap_or_default();
            format!("machine {} does not start: {said}", self.name)
        })
    }

    /// Turns it off like a power cut, and on again.
    ///
    /// # Errors
    /// When it does not start.
    pub fn restart(&mut self) -> Result<()> {
        self.kill();
        self.start()
    }

    /// Installs the machine again while it runs: its disks have nothing but what a new machine has. Its addresses and its host key stay.
    ///
    /// # Errors
    /// When it does not run, or does not start again.
    pub fn reinstall(&mut self) -> Result<()> {
        for name in ["ssh_host_ed25519_key", "ssh_host_ed25519_key.pub"] {
            let kept = self.check(["cat", &format!("/etc/ssh/{name}")])?;
            fs::write(self.folder.join("bin").join(name), kept)?;
        }
        self.kill();
        self.network.configure(&format!("umount {}", self.folder.join("layer").display()))?;
        cache::run(Command::new("rm").args(["-rf", "--one-file-system"]).arg(self.folder.join("disk")))?;
        disk::make(&self.folder, &self.network.images(), &self.options)?;
        self.start()
    }

    /// Disconnects its networks: it can neither be reached nor reach other machines.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn disconnect(&self) -> Result<()> {
        self.plug("down")
    }

    /// Connects its networks again.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn connect(&self) -> Result<()> {
        self.plug("up")
    }

    /// Makes the machine drop every incoming packet, like a firewall: a client waits for an answer that never
    /// comes.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn drop_packets(&self) -> Result<()> {
        let rules = "nft add table inet dark
nft add chain inet dark in '{ type filter hook input priority -300; policy drop; }'
nft add rule inet dark in iif lo accept";
        self.check(["sh", "-ec", rules]).map(drop)
    }

    /// Makes it accept packets again.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn take_packets(&self) -> Result<()> {
        self.check(["nft", "delete", "table", "inet", "dark"]).map(drop)
    }

    fn plug(&self, state: &str) -> Result<()> {
        let plugs = self.plugs();
        let set = plugs.iter().map(|(_, plug, _)| format!("ip link set {plug} {state}\n"));
        self.network.configure(&set.collect::<String>())
    }

    fn boot(&mut self, console: &Path) -> Result<()> {
        let _ = fs::remove_file(self.folder.join("process"));
        let roots =
            cgroups::make(&format!("{}-{}", self.network.id(), self.name), &self.folder.join("cgroups"))?;
        fs::write(self.folder.join("bin/roots"), roots.join("\n") + "\n")?;
        if self.options.instance.is_none() {
            let _ = fs::remove_file(console);
        }
        // The console of an instance continues over its starts.
        let log = fs::File::options().create(true).append(true).open(console)?;
        let mut start = Command::new("setsid");
        start.args(["sh", "-c", START, "sh"]).arg(self.folder.join("bin/roots"));
        start.arg(self.network.switch().to_string()).arg(&self.folder);
        start
            .env_clear()
            .envs(ENVIRONMENT.iter().filter_map(|pair| pair.split_once('=')))
            .envs(self.variables()?);
        start.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let outermost = start.spawn().context("setsid cannot be started")?;
        let power = self.power.insert(Power { outermost, init: 0 });
        let process = self.folder.join("process");
        let mut ended = |power: &mut Power| match power.outermost.try_wait()? {
            Some(status) => bail!("it ended: {status}"),
            None => anyhow::Ok(()),
        };
        power.init = until("the machine has its first process", || {
            ended(power)?;
            Ok(fs::read_to_string(&process).ok().and_then(|text| text.trim().parse().ok()))
        })?;
        let init = power.init;
        let plug_in =
            self.plugs().iter().zip(1..).fold(String::new(), |script, ((interface, plug, bridge), index)| {
                let address = self.hardware_address(index);
                script
                    + &format!("ip link add {plug} type veth peer name {interface} address {address} ")
                    + &format!("netns {init}\nip link set {plug} master {bridge} up\n")
            });
        self.network.configure(&plug_in)?;
        let booted = PathBuf::from(format!("/proc/{init}/root/run/booted"));
        until("the machine has started", || {
            self.power.as_mut().map_or(Ok(()), &mut ended)?;
            Ok(booted.exists().then_some(()))
        })?;
        until("containerd answers", || {
            Ok(self.run(["ctr", "--namespace", "k8s.io", "version"])?.status.success().then_some(()))
        })
    }

    /// The hardware address of an interface. It stays the same after a restart: what other machines remember of it stays right.
    fn hardware_address(&self, interface: u8) -> String {
        match &self.options.instance {
            Some(instance) => instance.mac.clone(),
            None => {
                format!("02:00:00:{interface:02x}:{:02x}:{:02x}", self.number >> 8 & 0xff, self.number & 0xff)
            }
        }
    }

    /// Its interfaces, the host ends of their pairs, and the bridges that contain these.
    fn plugs(&self) -> Vec<(&'static str, String, &'static str)> {
        let mut plugs = vec![("eth0", format!("a{}", self.number), "br0")];
        if self.options.public {
            plugs.push(("eth1", format!("b{}", self.number), "br1"));
        }
        plugs
    }

    fn variables(&self) -> Result<Vec<(&'static str, String)>> {
        let mut interfaces = format!("eth0={}/24", self.address());
        if let Some(public) = self.public_address() {
            interfaces += &format!(" eth1={public}/24");
        }
        let mut programs = vec![
            format!("kubernetes={}", kubernetes::install()?.display()),
            format!("etcd={}", kubernetes::install_etcd()?.display()),
            format!("machine={}", self.folder.join("bin").display()),
        ];
        if let Some(program) = &self.slipway {
            programs.push(format!("slipway={}", program.folder().display()));
        }
        let own = match &self.options.instance {
            Some(instance) => instance.variables(),
            None => vec![
                ("MACHINE_NAME", self.name.clone()),
                ("MACHINE_INTERFACES", interfaces),
                ("MACHINE_GATEWAY", self.network.address()),
                ("MACHINE_HOSTS", self.network.hosts()),
            ],
        };
        let all = [
            ("MACHINE_FOLDER", self.folder.display().to_string()),
            ("MACHINE_PROGRAMS", programs.join(" ")),
            ("MACHINE_PAUSE", image::PAUSE.to_owned()),
            ("MACHINE_CGROUPS", cgroups::version().to_string()),
            ("MACHINE_INIT", if self.options.init == Init::Systemd { "systemd" } else { "none" }.to_owned()),
            ("MACHINE_SSH", if self.options.authorized_key.is_some() { "yes" } else { "no" }.to_owned()),
        ];
        Ok(own.into_iter().chain(all).collect())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
        // The rest of its disk is removed with the network; most of it is removed now.
        let _ =
            cache::run(Command::new("rm").args(["-rf", "--one-file-system"]).arg(self.folder.join("disk")));
    }
}
