//! The crates that handle specs deny the methods that open files, processes and connections by name.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::Path;

/// The crates that open names themselves, and why no name of a spec gets there without the policy.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/cloud-controller", "its operator names the files"),
    ("crates/controller", "its operator names the files"),
    ("crates/etcd-storage", "its operator names the files"),
    ("crates/fuzz", "a tool of developers"),
    ("crates/limits", "it opens files for all others, by paths that the policy has granted"),
    (
        "crates/machine-inventory",
        "its operator names the files, and its agent runs on the machine of a cluster",
    ),
    ("crates/node-agent", "it runs on the machine that becomes a node, whose files it manages"),
    ("crates/testkit", "tests"),
    ("crates/trust", "it is the policy"),
    ("crates/xtask", "a tool of developers"),
    ("integration", "tests"),
    ("providers/aws/fuzz", "a tool of developers"),
    ("providers/conformance", "a tool of developers"),
    ("providers/node", "it runs on the machine of a cluster, whose files it manages"),
    ("providers/sdk", "its socket is a variable that the engine sets"),
    ("state-store", "the caller names the state"),
];

/// The members of the workspace, by their folders.
fn members(root: &Path) -> Vec<String> {
    let manifest: toml::Table =
        toml::from_str(&fs::read_to_string(root.join("Cargo.toml")).unwrap()).unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap();
    let mut folders: Vec<String> = members.iter().map(|member| member.as_str().unwrap().to_owned()).collect();
    folders.push(".".to_owned());
    folders
}

#[test]
fn every_crate_that_handles_specs_denies_to_open_what_they_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let members = members(&root);
    assert!(members.len() > 30, "{members:?}");
    let denies = |folder: &str| {
        let library = fs::read_to_string(root.join(folder).join("src/lib.rs")).unwrap_or_default();
        library.lines().any(|line| line == "#![cfg_attr(not(test), deny(clippy::disallowed_methods))]")
    };
    for (folder, _) in EXCEPTIONS {
        assert!(members.iter().any(|member| member == folder), "{folder} is no member of the workspace");
        assert!(!denies(folder), "{folder} is no exception any more");
    }
    let open: Vec<&String> = members
        .iter()
        .filter(|member| !denies(member) && EXCEPTIONS.iter().all(|(folder, _)| member != folder))
        .collect();
    assert!(
        open.is_empty(),
        "these crates neither deny `clippy::disallowed_methods` in src/lib.rs nor are exceptions: {open:?}"
    );
}

/// The ways from a name to a file, a variable, a process or a connection that the standard library, the runtime and the
/// HTTP client have. Opening by options is one function for all of them.
const WAYS: &[&str] = &[
    "reqwest::Client::builder",
    "reqwest::Client::new",
    "reqwest::ClientBuilder::new",
    "reqwest::get",
    "std::env::var",
    "std::env::var_os",
    "std::fs::File::open",
    "std::fs::OpenOptions::open",
    "std::fs::read",
    "std::fs::read_dir",
    "std::fs::read_to_string",
    "std::net::TcpStream::connect",
    "std::net::TcpStream::connect_timeout",
    "std::net::ToSocketAddrs::to_socket_addrs",
    "std::net::UdpSocket::bind",
    "std::os::unix::net::UnixDatagram::bind",
    "std::os::unix::net::UnixDatagram::unbound",
    "std::os::unix::net::UnixStream::connect",
    "std::process::Command::new",
    "tokio::fs::File::open",
    "tokio::fs::OpenOptions::open",
    "tokio::fs::read",
    "tokio::fs::read_dir",
    "tokio::fs::read_to_string",
    "tokio::net::TcpSocket::connect",
    "tokio::net::TcpStream::connect",
    "tokio::net::UdpSocket::bind",
    "tokio::net::UnixDatagram::bind",
    "tokio::net::UnixDatagram::unbound",
    "tokio::net::UnixStream::connect",
    "tokio::net::lookup_host",
    "tokio::process::Command::new",
];

#[test]
fn the_lint_knows_every_way_from_a_name_to_a_file_or_a_connection() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let lint: toml::Table = toml::from_str(&fs::read_to_string(root.join("clippy.toml")).unwrap()).unwrap();
    let denied = lint["disallowed-methods"].as_array().unwrap();
    let denied: Vec<&str> = denied.iter().map(|method| method["path"].as_str().unwrap()).collect();
    let missing: Vec<&&str> = WAYS.iter().filter(|way| !denied.contains(way)).collect();
    assert!(missing.is_empty(), "clippy.toml does not disallow {missing:?}");
}
