//! A control plane of plain processes on the loopback interface: etcd, kube-apiserver and, when asked for, the
//! controllers and the scheduler. It has no node, so pods stay pending. It needs no rights beyond loopback ports.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail};

use crate::kubernetes;
use crate::process::Process;
use crate::scratch::Scratch;
use crate::wait::until;
use crate::{http, port};

mod arguments;
mod pki;

/// Options of a control plane.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether kube-controller-manager runs. Without it new namespaces get no service accounts, and objects
    /// are not deleted with their owners.
    pub controllers: bool,
    /// Whether kube-scheduler runs.
    pub scheduler: bool,
    /// The etcd of kube-apiserver, if it is not [`ControlPlane::etcd`].
    pub storage: Option<Etcd>,
    /// Additional arguments of kube-apiserver. If a flag is given twice, the last value is valid.
    pub api_arguments: Vec<String>,
}

/// How a client reaches etcd: its address, and files with its authority and a client's certificate and key.
#[derive(Clone, Debug)]
pub struct Etcd {
    /// The address, `https://127.0.0.1:<port>`.
    pub url: String,
    /// The authority's certificate.
    pub ca: PathBuf,
    /// The client's certificate.
    pub certificate: PathBuf,
    /// The client's key.
    pub key: PathBuf,
}

/// A running control plane. It ends when the value is dropped, and its logs are removed.
#[derive(Debug)]
pub struct ControlPlane {
    scheduler: Option<Process>,
    controllers: Option<Process>,
    api: Option<Process>,
    etcd: Process,
    ports: Ports,
    options: Options,
    programs: PathBuf,
    scratch: Scratch,
}

/// The ports of its parts.
#[derive(Clone, Copy, Debug)]
struct Ports {
    etcd: u16,
    etcd_peer: u16,
    etcd_health: u16,
    api: u16,
    controllers: u16,
    scheduler: u16,
}

impl ControlPlane {
    /// Builds the programs if need be, starts a control plane, and waits until it is ready: the API server
    /// answers; with controllers, the namespace `default` has its service account; with a scheduler, the
    /// scheduler is ready.
    ///
    /// # Errors
    /// When a program cannot be built or started, with its output.
    pub fn start(options: &Options) -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::attempt(options) {
                // Another process took one of the free ports.
                Err(error) if attempt < 4 && format!("{error:#}").contains("address already in use") => {
                    attempt += 1
                }
                result => return result,
            }
        }
    }

    fn attempt(options: &Options) -> Result<Self> {
        let programs = kubernetes::install()?;
        let etcd = kubernetes::install_etcd()?.join("etcd");
        let scratch = Scratch::new("control-plane")?;
        let [one, two, three, four, five, six] = port::free()?;
        let ports = Ports {
            etcd: one,
            etcd_peer: two,
            etcd_health: three,
            api: four,
            controllers: five,
            scheduler: six,
        };
        pki::make(&programs.join("kubeadm"), scratch.path(), ports.api)?;
        let etcd = Process::start(
            Command::new(etcd).args(arguments::etcd(scratch.path(), ports)),
            &scratch.path().join("etcd.log"),
        )?;
        let options = options.clone();
        let mut plane =
            Self { scheduler: None, controllers: None, api: None, etcd, ports, options, programs, scratch };
        plane.spawn_api()?;
        if plane.options.controllers {
            let arguments = arguments::controllers(plane.folder(), plane.ports);
            plane.controllers = Some(plane.spawn("kube-controller-manager", arguments)?);
        }
        if plane.options.scheduler {
            let arguments = arguments::scheduler(plane.folder(), plane.ports);
            plane.scheduler = Some(plane.spawn("kube-scheduler", arguments)?);
        }
        plane.wait()?;
        Ok(plane)
    }

    /// A kubeconfig of a client with all permissions.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder().join("super-admin.conf")
    }

    /// The address of the API server, `https://127.0.0.1:<port>`.
    #[must_use]
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.api)
    }

    /// The folder with its certificates and keys, under the names that kubeadm gives them.
    #[must_use]
    pub fn certificates(&self) -> PathBuf {
        self.folder().join("pki")
    }

    /// The folder with its logs: `etcd.log`, `kube-apiserver.log` and so on.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// The address and client certificate of its etcd.
    #[must_use]
    pub fn etcd(&self) -> Etcd {
        let folder = self.certificates();
        Etcd {
            url: format!("https://127.0.0.1:{}", self.ports.etcd),
            ca: folder.join("etcd/ca.crt"),
            certificate: folder.join("etcd/healthcheck-client.crt"),
            key: folder.join("etcd/healthcheck-client.key"),
        }
    }

    /// Runs kubectl as a client with all permissions.
    ///
    /// # Errors
    /// When it cannot be started. The caller checks whether it failed.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<Output> {
        let mut kubectl = Command::new(self.programs.join("kubectl"));
        kubectl.arg("--kubeconfig").arg(self.kubeconfig()).args(arguments);
        kubectl.output().context("kubectl cannot be started")
    }

    /// Kills the API server. Its etcd continues to run.
    pub fn stop_api(&mut self) {
        self.api = None;
    }

    /// Starts the API server again, with these additional arguments from now on, and waits until it is ready.
    ///
    /// # Errors
    /// When it cannot be started, or ends.
    pub fn start_api(&mut self, arguments: &[String]) -> Result<()> {
        self.stop_api();
        self.options.api_arguments = arguments.to_vec();
        self.spawn_api()?;
        self.wait_for_api()
    }

    /// Starts the API server again with another etcd, and waits until it is ready.
    ///
    /// # Errors
    /// When it cannot be started, or ends.
    pub fn start_api_on(&mut self, storage: Etcd) -> Result<()> {
        self.stop_api();
        self.options.storage = Some(storage);
        self.spawn_api()?;
        self.wait_for_api()
    }

    fn spawn_api(&mut self) -> Result<()> {
        let storage = self.options.storage.clone().unwrap_or_else(|| Etcd {
            certificate: self.certificates().join("apiserver-etcd-client.crt"),
            key: self.certificates().join("apiserver-etcd-client.key"),
            ..self.etcd()
        });
        let mut arguments = arguments::api(self.folder(), self.ports, &storage);
        arguments.extend(self.options.api_arguments.iter().cloned());
        self.api = Some(self.spawn("kube-apiserver", arguments)?);
        Ok(())
    }

    fn spawn(&self, program: &str, arguments: Vec<String>) -> Result<Process> {
        let log = self.folder().join(format!("{program}.log"));
        Process::start(Command::new(self.programs.join(program)).args(arguments), &log)
    }

    fn wait(&self) -> Result<()> {
        until("etcd is ready", || {
            self.etcd.running()?;
            let answer = http::request("GET", self.ports.etcd_health, "/readyz", &[], &[]);
            Ok(answer.is_ok_and(|answer| answer.status == 200).then_some(()))
        })?;
        self.wait_for_api()?;
        if let Some(controllers) = &self.controllers {
            until("the default service account is there", || {
                controllers.running()?;
                Ok(self.kubectl(&["get", "serviceaccount", "default"])?.status.success().then_some(()))
            })?;
        }
        if let Some(scheduler) = &self.scheduler {
            let server = format!("https://127.0.0.1:{}", self.ports.scheduler);
            let arguments = ["--server", &server, "--insecure-skip-tls-verify", "get", "--raw=/readyz"];
            self.wait_for("kube-scheduler", scheduler, self.ports.scheduler, &arguments)?;
        }
        Ok(())
    }

    fn wait_for_api(&self) -> Result<()> {
        let Some(api) = &self.api else { bail!("kube-apiserver was stopped") };
        self.wait_for("kube-apiserver", api, self.ports.api, &["get", "--raw=/readyz"])
    }

    fn wait_for(&self, name: &str, process: &Process, port: u16, question: &[&str]) -> Result<()> {
        until(&format!("{name} is ready"), || {
            process.running()?;
            // kubectl is slow: run it only when a process listens on the port.
            let ready = port::listens(port) && self.kubectl(question)?.status.success();
            Ok(ready.then_some(()))
        })
        .with_context(|| process.log())
    }
}
