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

/// What runs, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether kube-controller-manager runs. Without it there are no service accounts in new namespaces, and what is
    /// deleted with its owner stays.
    pub controllers: bool,
    /// Whether kube-scheduler runs.
    pub scheduler: bool,
    /// The etcd of kube-apiserver, if it is not [`ControlPlane::etcd`].
    pub storage: Option<Etcd>,
    /// Arguments of kube-apiserver, behind ours: of a flag that is given twice, the last counts.
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

/// A running control plane. It ends with its value; what it wrote goes too.
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
    /// Builds what it needs if need be, starts one, and waits until it answers: the API server is ready; with
    /// controllers, the namespace `default` has its service account; with a scheduler, it is ready.
    ///
    /// # Errors
    /// When something cannot be built or started, with what it said.
    pub fn start(options: &Options) -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::attempt(options) {
                // Somebody else took one of the ports that were free.
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

    /// A kubeconfig of a client that may do everything.
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

    /// Where its logs are: `etcd.log`, `kube-apiserver.log` and so on.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// How to reach its etcd.
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

    /// Runs kubectl as a client that may do everything.
    ///
    /// # Errors
    /// When it cannot be started; that it failed is for the caller to see.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<Output> {
        let mut kubectl = Command::new(self.programs.join("kubectl"));
        kubectl.arg("--kubeconfig").arg(self.kubeconfig()).args(arguments);
        kubectl.output().context("kubectl cannot be started")
    }

    /// Kills the API server. Its etcd goes on.
    pub fn stop_api(&mut self) {
        self.api = None;
    }

    /// Starts the API server again, with these arguments behind ours from now on, and waits until it is ready.
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
            // kubectl is dear: it is only asked when somebody listens.
            let ready = port::listens(port) && self.kubectl(question)?.status.success();
            Ok(ready.then_some(()))
        })
        .with_context(|| process.log())
    }
}
