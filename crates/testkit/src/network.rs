//! A network for one test, with machines in it.
//!
//! It is a set of namespaces without a connection to the host's interfaces. So the addresses are the same in
//! every network, and concurrent tests or runs do not conflict. Needs root.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};

use crate::machine::{Machine, MachineOptions};
use crate::{cache, image, kubernetes, packages};

/// The first three numbers of the machines' addresses.
pub(crate) const INTERNAL: &str = "10.150.0";

/// The first three numbers of the addresses of second interfaces.
pub(crate) const PUBLIC: &str = "10.151.0";

/// The environment of commands in networks and machines.
pub(crate) const ENVIRONMENT: [&str; 4] = [
    "HOME=/root",
    "LANG=C.UTF-8",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "TERM=dumb",
];

/// A network. It is removed, with its machines, when the last value of it is dropped, or the process that
/// made it ends.
#[derive(Clone, Debug)]
pub struct Network {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    guard: Child,
    switch: u32,
    folder: PathBuf,
    images: image::Store,
    hosts: Mutex<BTreeMap<String, u8>>,
    /// The number of machines that were instances of a cloud.
    instances: AtomicU32,
}

/// A running server of [`Network::serve`]. It ends when the value is dropped.
#[derive(Debug)]
pub struct FileServer(Child);

impl Drop for FileServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes the names of networks of one process unique.
static COUNT: AtomicU32 = AtomicU32::new(0);

impl Network {
    /// Makes a network, after installing the programs of machines if need be.
    ///
    /// # Errors
    /// When this is not root, a program cannot be installed, or the kernel refuses a namespace.
    pub fn new() -> Result<Self> {
        if !rustix::process::geteuid().is_root() {
            bail!("machines are made of namespaces: that needs root");
        }
        packages::install()?;
        kubernetes::install()?;
        let images = image::Store::take()?;
        let _one_at_a_time = cache::lock("machines")?;
        allow_watches()?;
        let all = cache::folder()?.join("machines");
        fs::create_dir_all(&all)?;
        sweep(&all)?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = all.join(format!("slw-{}-{count}", std::process::id()));
        fs::create_dir(&folder)?;
        fs::write(folder.join("clear.sh"), include_str!("network/clear.sh"))?;
        fs::write(folder.join("switch.sh"), include_str!("network/switch.sh"))?;
        // In a separate session, so that a signal of the terminal does not end it before it has cleaned up.
        let mut guard = Command::new("setsid");
        guard.args(["sh", "-c", include_str!("network/guard.sh"), "sh"]).arg(&folder);
        guard.env("SWITCH_ADDRESSES", format!("{INTERNAL}.1/24 {PUBLIC}.1/24"));
        guard.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut guard = guard.spawn().context("setsid cannot be started")?;
        let mut line = String::new();
        if let Some(said) = guard.stdout.take() {
            BufReader::new(said).read_line(&mut line)?;
        }
        let mut inner =
            Inner { guard, switch: 0, folder, images, hosts: Mutex::default(), instances: AtomicU32::new(0) };
        let log = || fs::read_to_string(inner.folder.join("switch.log")).unwrap_or_default();
        inner.switch = line.trim().parse().with_context(|| format!("no network can be made: {}", log()))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Starts a machine of this name, which becomes its host name.
    ///
    /// # Errors
    /// When there is one already, or it does not start.
    pub fn machine(&self, name: &str, options: MachineOptions) -> Result<Machine> {
        let mut hosts = self.inner.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.contains_key(name) {
            bail!("there is a machine {name} already");
        }
        // The first address is 10.150.0.11, after the switch and a reserve of addresses without a machine.
        // Instances have other addresses; their numbers only name their interfaces.
        let instances = &self.inner.instances;
        let number = match options.instance {
            Some(_) => 1000 + instances.fetch_add(1, Ordering::Relaxed),
            None => {
                let number = u8::try_from(11 + hosts.len()).context("too many machines")?;
                hosts.insert(name.to_owned(), number);
                number.into()
            }
        };
        drop(hosts);
        Machine::create(self.clone(), name, number, options)
    }

    /// Runs a command in the network, outside of all machines, like an operator's workstation.
    ///
    /// # Errors
    /// When it cannot be started. The caller checks whether it failed.
    pub fn run<S: AsRef<OsStr>>(&self, command: impl IntoIterator<Item = S>) -> Result<Output> {
        self.command(command).output().context("nsenter cannot be started")
    }

    /// A command in the network, outside of all machines, with the files of the host and the test's
    /// environment. Relative paths are relative to the test's folder.
    #[must_use]
    pub fn command<S: AsRef<OsStr>>(&self, command: impl IntoIterator<Item = S>) -> Command {
        self.enter(std::env::current_dir().ok().as_deref(), command)
    }

    /// The same, with this working folder, and a `/proc` with the network's process ids, so that a program
    /// finds itself there by its own id.
    #[must_use]
    pub fn command_in<S: AsRef<OsStr>>(
        &self,
        folder: &Path,
        command: impl IntoIterator<Item = S>,
    ) -> Command {
        let own_processes = [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            "mount -t proc proc /proc; exec \"$@\"",
            "sh",
        ];
        let mut words: Vec<OsString> = own_processes.map(OsString::from).to_vec();
        words.extend(command.into_iter().map(|word| word.as_ref().to_owned()));
        self.enter(Some(folder), words)
    }

    fn enter<S: AsRef<OsStr>>(&self, folder: Option<&Path>, command: impl IntoIterator<Item = S>) -> Command {
        let mut nsenter = Command::new("nsenter");
        nsenter.arg("--target").arg(self.switch().to_string());
        nsenter.args(["--mount", "--net", "--pid", "--uts", "--ipc"]);
        nsenter.args(folder.map(|folder| format!("--wdns={}", folder.display())));
        nsenter.arg("--").args(command);
        nsenter
    }

    /// Serves the files of a folder over HTTP, on port 8000 of the network's own address, as long as the value lives.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn serve(&self, folder: &Path) -> Result<FileServer> {
        let directory = folder.display().to_string();
        let words = ["python3", "-m", "http.server", "8000", "--bind", "0.0.0.0", "--directory", &directory];
        let server = self.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Ok(FileServer(server.context("python3")?))
    }

    /// Its own address, from which commands in it come: `10.150.0.1`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("{INTERNAL}.1")
    }

    /// The folder with all its files on disk.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    /// The number of the first process of its namespaces.
    #[must_use]
    pub fn switch(&self) -> u32 {
        self.inner.switch
    }

    /// A text that identifies this network.
    pub(crate) fn id(&self) -> String {
        self.inner.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The store of images for its machines.
    pub(crate) fn images(&self) -> PathBuf {
        self.inner.images.root()
    }

    /// The names and addresses of its machines, as in a file of hosts.
    pub(crate) fn hosts(&self) -> String {
        let hosts = self.inner.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.iter().map(|(name, number)| format!("{INTERNAL}.{number} {name}\n")).collect()
    }

    /// Runs shell commands that change the network itself. Process ids are those of the test.
    pub(crate) fn configure(&self, script: &str) -> Result<()> {
        let mut nsenter = Command::new("nsenter");
        nsenter
            .arg("--target")
            .arg(self.switch().to_string())
            .args(["--mount", "--net", "--", "sh", "-ec", script]);
        cache::run(&mut nsenter)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// Minimum number of inotify instances for root: every kubelet and every container runtime needs some, and
/// the kernel counts those of all machines for one user. A runtime without one serves no kubelet.
const WATCHES: (&str, u32) = ("/proc/sys/fs/inotify/max_user_instances", 2048);

/// Raises the kernel's limit, when it is too low for several machines.
fn allow_watches() -> Result<()> {
    let (path, wanted) = WATCHES;
    let allowed: u32 = fs::read_to_string(path).context(path)?.trim().parse().context(path)?;
    if allowed < wanted {
        fs::write(path, wanted.to_string()).context(path)?;
    }
    Ok(())
}

/// Cleans up after networks whose guards were killed too.
fn sweep(all: &Path) -> Result<()> {
    for entry in fs::read_dir(all)?.flatten() {
        let lock =
            File::create(entry.path().join("lock")).context("a folder of a network without its lock")?;
        if lock.try_lock().is_ok() {
            let mut shell = Command::new("sh");
            shell.args(["-c", include_str!("network/clear.sh"), "sh"]).arg(entry.path());
            cache::run(&mut shell)?;
        }
    }
    Ok(())
}
