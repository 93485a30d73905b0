//! The balancer as a process of its own, with real servers behind it: it is killed and comes back, and its settings change
//! while it runs.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use slipway_testkit::port;
use slipway_testkit::process::Process;
use slipway_testkit::wait::until;

use super::bench::{Bench, value};

/// How soon a change has to be seen.
const SOON: Duration = Duration::from_secs(5);

/// Servers that say their number to whoever connects. Each is open as long as the value exists.
fn server(name: u8) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            if stream.write_all(&[name]).is_ok() {
                open.push(stream);
            }
        }
    });
    address
}

/// A connection through the balancer, and the server at its other end.
fn connect(address: SocketAddr) -> Option<(TcpStream, u8)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(SOON)).ok()?;
    let mut name = [0];
    stream.read_exact(&mut name).ok()?;
    Some((stream, name[0]))
}

struct Balancer {
    folder: tempfile::TempDir,
    listen: SocketAddr,
}

impl Balancer {
    fn new(members: &[SocketAddr]) -> Self {
        let [port] = port::free().unwrap();
        let balancer = Self { folder: tempfile::tempdir().unwrap(), listen: ([127, 0, 0, 1], port).into() };
        balancer.settle(members);
        balancer
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn settings(&self, members: &[SocketAddr]) -> String {
        json!({
            "listen": self.listen, "members": members, "endpoint": "https://192.0.2.1:6443",
            "ca_path": self.path("ca.crt"), "client_path": self.path("client.pem"),
            "known_path": self.path("known/members.json"),
        })
        .to_string()
    }

    /// Replaces the settings as a provider does: a rename.
    fn settle(&self, members: &[SocketAddr]) {
        self.write(&self.settings(members));
    }

    fn write(&self, text: &str) {
        fs::write(self.path("draft"), text).unwrap();
        fs::rename(self.path("draft"), self.path("settings.json")).unwrap();
    }

    fn start(&self) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slipway-provider-node"));
        command.args([Path::new("api-balancer"), Path::new("--config"), &self.path("settings.json")]);
        let process = Process::start(&command, &self.path("log")).unwrap();
        until("it listens", || Ok(TcpStream::connect(self.listen).is_ok().then_some(()))).unwrap();
        process
    }
}

#[test]
fn it_needs_no_api_and_survives_a_kill() {
    let balancer = Balancer::new(&[server(1), server(2)]);
    // Members that the cluster listed once are known again, also when the file is damaged.
    fs::create_dir(balancer.path("known")).unwrap();
    for known in [json!([server(3)]).to_string(), "[\"127.0.".to_owned()] {
        fs::write(balancer.path("known/members.json"), known).unwrap();
        let process = balancer.start();
        let (mut open, _) = connect(balancer.listen).unwrap();
        // SIGKILL: the clients see the end, and the next process serves them.
        drop(process);
        assert!(matches!(open.read(&mut [0]), Ok(0) | Err(_)));
        assert!(connect(balancer.listen).is_none());
    }
    let _process = balancer.start();
    assert!(connect(balancer.listen).is_some());
    let log = fs::read_to_string(balancer.path("log")).unwrap();
    assert!(log.contains("for 3 API servers") && log.contains("for 2 API servers"), "{log}");
}

#[test]
fn it_follows_its_settings() {
    let (first, second) = (server(1), server(2));
    let balancer = Balancer::new(&[first]);
    let process = balancer.start();
    let (mut open, name) = connect(balancer.listen).unwrap();
    assert_eq!(name, 1);
    // A file that cannot be read changes nothing.
    balancer.write("{ \"listen\": ");
    until("it complains", || Ok(process.log().contains("does not have the settings").then_some(()))).unwrap();
    assert_eq!(connect(balancer.listen).unwrap().1, 1);
    // Another member in place of this one: its clients are let go.
    balancer.settle(&[second]);
    let begun = Instant::now();
    assert!(matches!(open.read(&mut [0]), Ok(0)));
    assert!(begun.elapsed() < SOON);
    assert_eq!(connect(balancer.listen).unwrap().1, 2);
    process.running().unwrap();
    // Another address is for another process.
    balancer.write(&balancer.settings(&[second]).replace("ca.crt", "other.crt"));
    until("it ends", || Ok(process.running().is_err().then_some(()))).unwrap();
}

#[tokio::test]
async fn a_plan_refuses_what_it_cannot_serve() {
    let bench = Bench::new().await;
    let wanted = |listen: &str, members: &[&str]| {
        value(json!({
            "listen": listen, "members": members, "endpoint": "https://192.0.2.1:6443",
            "ca_path": "/ca.crt", "client_path": "/client.pem",
        }))
    };
    let planned = async |wanted| bench.planned("api_balancer.node", wanted).await;
    planned(wanted("127.0.0.1:6444", &["192.0.2.1:6443"])).await.unwrap();
    for (listen, members, why) in [
        ("192.0.2.9:6444", &["192.0.2.1:6443"][..], "not a loopback address"),
        ("127.0.0.1", &["192.0.2.1:6443"], "not a loopback address with a port"),
        ("127.0.0.1:6444", &["cp-0:6443"], "`cp-0:6443` is not an address"),
        ("127.0.0.1:6444", &[], "at least one API server"),
    ] {
        let error = planned(wanted(listen, members)).await.unwrap_err();
        assert!(error.message.contains(why), "{error:?}");
    }
}
