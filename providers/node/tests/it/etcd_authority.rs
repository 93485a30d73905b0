//! The stages in which the authority of three members of a real etcd is replaced, while a client asks all the time.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use slipway_resource::{Path, Value};
use slipway_testkit::kubernetes;
use slipway_testkit::process::Process;

use super::bench::value;
use super::etcd::{Host, PKI, first, output};

/// A member, and the arguments with which it starts.
struct Member {
    host: Host,
    initial_cluster: String,
    process: Option<Process>,
}

async fn members() -> Vec<Member> {
    let (one, process) = first().await;
    let endpoints = vec![one.url()];
    let initial_cluster = format!("one={}", one.peer_url());
    let mut members = vec![Member { host: one, initial_cluster, process: Some(process) }];
    for name in ["two", "three"] {
        let host = Host::new(name, Some(&members[0].host)).await;
        let joined = host.announce(&endpoints).await.unwrap().unwrap();
        let initial_cluster = output(&joined, "initial_cluster");
        let process = Some(host.start(&initial_cluster, "existing"));
        host.bench.create("etcd_voter.etcd", host.voter(&endpoints)).await.unwrap();
        members.push(Member { host, initial_cluster, process });
    }
    members
}

impl Member {
    /// The authorities on its disk, the one in use first, with the key of that one.
    fn has(&self, certificates: &[&str], key: &str) {
        self.host.bench.put(&format!("{PKI}/ca.crt"), &certificates.concat());
        self.host.bench.put(&format!("{PKI}/ca.key"), key);
    }

    /// Restarts it, and waits until it accepts the authorities on its disk, and none of the former ones.
    async fn restart(&mut self, former: &[&str]) {
        drop(self.process.take());
        self.process = Some(self.host.start(&self.initial_cluster, "existing"));
        let ca = format!("{PKI}/ca.crt");
        let wanted = value(json!({
            "path": ca, "version": "1", "servers": [self.host.url(), self.host.peer_url()],
            "server_ca_path": ca, "former": former, "timeout_seconds": 60,
            "api_url": "https://127.0.0.1:6443", "api_ca_path": ca, "api_cert_path": ca, "api_key_path": ca,
        }));
        self.host.bench.create("authority_trust.etcd-ca", wanted).await.unwrap();
        // The member is healthy: it answers a read that needs the others.
        let (folder, url) = (self.host.bench.path(PKI), self.host.url());
        for _ in 0..100 {
            if etcdctl(&url, &folder.join("ca.crt"), &folder).is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{} is not healthy: {}", self.host.name, self.process.as_ref().unwrap().log());
    }

    async fn signed_again(&self, signer: &str) {
        for (file, usages) in [("server", &["server", "client"][..]), ("healthcheck-client", &["client"])] {
            let mut wanted = self.host.leaf(file, usages);
            wanted.set(&Path::key("signed_by"), signer.into());
            let (address, path) = (format!("certificate.etcd-{file}"), format!("{PKI}/{file}.crt"));
            self.host.bench.update(&address, &path, wanted).await.unwrap();
        }
    }
}

/// Asks for a key at one of the members, with the client certificate of a folder.
fn etcdctl(urls: &str, authority: &std::path::Path, folder: &std::path::Path) -> Result<(), String> {
    let mut command = Command::new(kubernetes::install_etcd().unwrap().join("etcdctl"));
    command.args(["get", "a", "--dial-timeout=1s", "--command-timeout=3s", "--endpoints", urls]);
    command.arg("--cacert").arg(authority);
    command.arg("--cert").arg(folder.join("healthcheck-client.crt"));
    command.arg("--key").arg(folder.join("healthcheck-client.key"));
    let output = command.output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// A client that asks all the time, with the certificates that it began with. It is never refused.
struct Client {
    is_done: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<usize>,
}

impl Client {
    fn start(members: &[Member], authority: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let from = &members[0].host.bench;
        for file in ["healthcheck-client.crt", "healthcheck-client.key"] {
            let text = from.text(&format!("{PKI}/{file}"));
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        std::fs::write(folder.path().join("ca.crt"), authority).unwrap();
        let urls = members.iter().map(|member| member.host.url()).collect::<Vec<_>>();
        let is_done = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_done);
        let thread = std::thread::spawn(move || {
            let mut answers = 0;
            while !ends.load(Ordering::Relaxed) {
                for url in &urls {
                    match etcdctl(url, &folder.path().join("ca.crt"), folder.path()) {
                        Ok(()) => answers += 1,
                        Err(why) => {
                            let is_refused =
                                ["x509", "tls:", "certificate"].iter().any(|word| why.contains(word));
                            assert!(!is_refused, "{url}: {why}");
                        }
                    }
                }
            }
            answers
        });
        Self { is_done, thread }
    }

    fn end(self) {
        self.is_done.store(true, Ordering::Relaxed);
        assert!(self.thread.join().unwrap() > 0, "the client was never answered");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_and_clients_never_refuse_each_other_while_their_authority_is_replaced() {
    let mut members = members().await;
    let bench = Arc::clone(&members[0].host.bench);
    let new = json!({
        "path": format!("{PKI}/new.crt"), "key_path": format!("{PKI}/new.key"), "common_name": "etcd-ca-2",
        "is_ca": true, "key_algorithm": "ECDSA-P256",
    });
    bench.create("certificate.new", value(new)).await.unwrap();
    let text = |file: &str| bench.text(&format!("{PKI}/{file}"));
    let (old, old_key) = (text("ca.crt"), text("ca.key"));
    let (new, new_key) = (text("new.crt"), text("new.key"));
    let attributes = bench.attributes("certificate.new", &format!("{PKI}/new.crt")).await;
    let signer = attributes.get("fingerprint").and_then(Value::as_str).unwrap().to_owned();

    // Stage 1: a client of the old authority only.
    let client = Client::start(&members, &old);
    for member in &mut members {
        member.has(&[&old, &new], &old_key);
        member.restart(&[]).await;
    }
    client.end();

    // Stage 2: nothing is restarted, but one member, which connects to the others anew.
    let client = Client::start(&members, &format!("{old}{new}"));
    for member in &members {
        member.has(&[&new, &old], &new_key);
        member.signed_again(&signer).await;
    }
    members[1].restart(&[]).await;
    client.end();

    // Stage 3: a client of the new authority only.
    let client = Client::start(&members, &new);
    for member in &mut members {
        member.has(&[&new], &new_key);
        member.restart(&["etcd-ca"]).await;
    }
    client.end();
}
