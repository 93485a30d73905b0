//! A real etcd: the core of the tests, and the witness that a tenant's proxy is compared with.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use slipway_etcd_storage::proxy::{CoreSettings, TlsFiles};
use slipway_testkit::process::Process;
use slipway_testkit::scratch::Scratch;
use slipway_testkit::{kubernetes, port};

use super::client::Client;
use super::pki::Authority;

/// An etcd that serves TLS with client certificates.
pub struct Etcd {
    pub url: String,
    /// Certificates of its clients.
    pub client: TlsFiles,
    authority: Authority,
    command: Command,
    /// `None` while it is killed.
    process: Option<Process>,
    scratch: Scratch,
}

impl Etcd {
    pub async fn start() -> Self {
        let scratch = Scratch::new("etcd-storage").unwrap();
        let authority = Authority::new("core");
        let server = authority.files(scratch.path(), "server", &[&authority]);
        let client = authority.files(scratch.path(), "client", &[&authority]);
        let [port, peer] = port::free().unwrap();
        let (url, peer) = (format!("https://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer}"));
        let mut command = Command::new(kubernetes::install_etcd().unwrap().join("etcd"));
        command
            .args(["--name=core", "--unsafe-no-fsync", "--client-cert-auth", "--log-level=error"])
            .arg(format!("--data-dir={}", scratch.path().join("data").display()))
            .args([format!("--listen-client-urls={url}"), format!("--advertise-client-urls={url}")])
            .args([format!("--listen-peer-urls={peer}"), format!("--initial-advertise-peer-urls={peer}")])
            .arg(format!("--initial-cluster=core={peer}"))
            .arg(format!("--trusted-ca-file={}", server.authorities.display()))
            .arg(format!("--cert-file={}", server.certificate.display()))
            .arg(format!("--key-file={}", server.key.display()));
        let mut etcd = Self { url, client, authority, command, process: None, scratch };
        etcd.run().await;
        etcd
    }

    /// Kills it, and starts it again with its data.
    pub async fn restart(&mut self) {
        // Its ports are free after its end.
        drop(self.process.take());
        self.run().await;
    }

    async fn run(&mut self) {
        let log = self.scratch.path().join("etcd.log");
        let process = Process::start(&self.command, &log).unwrap();
        let mut client = self.connect();
        while client.get("ready").await.is_err() {
            process.running().unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.process = Some(process);
    }

    pub fn connect(&self) -> Client {
        Client::new(&self.url, &self.client)
    }

    /// Writes another certificate for its clients.
    pub fn renew_client(&self) {
        self.authority.write(&self.client.certificate, &self.client.key);
    }

    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    pub fn settings(&self) -> CoreSettings {
        CoreSettings { endpoints: vec![self.url.clone()], files: self.client.clone() }
    }
}
