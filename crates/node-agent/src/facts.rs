//! Reads a host for the checks before a bootstrap. Changes nothing on it, but that missing images may be fetched.

mod etcd;
mod network;
mod system;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use slipway_bootstrap::configuration::{Detected, ExternalEtcd};
use slipway_bootstrap::preflight::{Facts, PathState, Questions, Runtime};
use slipway_provider_node::cri::SOCKETS;
use slipway_provider_node::etcd_data;

use super::cri::Cri;

pub use network::proxies;
pub use system::{init_system, program};

/// How long a name may take to be resolved, and the init system to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The facts to read besides those for the checks.
#[derive(Clone, Debug, Default)]
pub struct Looking {
    /// The root of the host's files.
    pub root: PathBuf,
    /// The socket of the container runtime; none leaves it out.
    pub cri_socket: Option<String>,
    /// Whether missing images are fetched.
    pub pull: bool,
    /// The objects of an earlier run.
    pub owned: BTreeSet<String>,
    /// The etcd that is kept elsewhere.
    pub etcd: Option<ExternalEtcd>,
    /// The difference of the clocks, where a cluster told its time.
    pub clock_ahead_seconds: Option<i64>,
}

/// The addresses of the host, but for those that every host has.
pub fn addresses() -> Vec<std::net::IpAddr> {
    network::addresses()
        .into_iter()
        .map(|found| found.address)
        .filter(|address| !address.is_loopback())
        .collect()
}

/// Sees what the questions ask for.
pub async fn read(questions: &Questions, looking: &Looking) -> Facts {
    let root = &looking.root;
    let paths = questions
        .absent_files
        .iter()
        .map(|file| &file.path)
        .chain(&questions.empty_directories)
        .chain(questions.present_files.iter().map(|(path, _)| path));
    let mut settings: Vec<&str> =
        questions.kernel_settings.iter().map(|setting| setting.path.as_str()).collect();
    settings.push("net/bridge/bridge-nf-call-iptables");
    let names = [Some(questions.node_name.as_str()), questions.endpoint_name.as_deref()];
    Facts {
        user_id: system::user_id(),
        processors: system::processors(),
        memory_mib: system::memory_mib(),
        operating_system: system::operating_system(),
        kernel: system::kernel(),
        kernel_options: system::kernel_options(),
        cgroups: system::cgroups(),
        systemd: system::systemd(root),
        swap: system::swap(),
        machine_id: std::fs::read_to_string(root.join("etc/machine-id"))
            .ok()
            .map(|text| text.trim().to_owned()),
        hostname: system::hostname(),
        addresses: network::addresses(),
        programs: questions
            .programs
            .iter()
            .map(|name| (name.clone(), system::program(name).map(|path| path.display().to_string())))
            .collect(),
        paths: paths.map(|path| (path.clone(), path_state(&below(root, path)))).collect(),
        etcd_data: questions
            .empty_directories
            .iter()
            .filter_map(|path| Some((path.clone(), etcd_data::read(&below(root, path))?)))
            .collect(),
        owned: looking.owned.clone(),
        ports: questions.ports.iter().map(|port| (port.number, network::port(port.number))).collect(),
        kernel_settings: settings
            .iter()
            .map(|path| ((*path).to_owned(), system::kernel_setting(path)))
            .collect(),
        services: system::services(&["kubelet", "firewalld"]).await,
        runtime: runtime(questions, looking).await,
        kubelet: Some(system::kubelet_version().await),
        names: network::resolve(names.into_iter().flatten().filter(|name| !name.is_empty())).await,
        free_mib: questions
            .space_mib
            .iter()
            .filter_map(|(path, _)| Some((path.clone(), system::free_mib(&below(root, path))?)))
            .collect(),
        clock_synchronised: system::clock_synchronised(),
        clock_ahead_seconds: looking.clock_ahead_seconds,
        proxies: network::proxies(),
        etcd: etcd::versions(root, looking.etcd.as_ref()).await,
    }
}

/// The host's values for fields that a configuration leaves open.
pub fn detect(root: &Path) -> Detected {
    let mut detected = Detected { hostname: system::hostname().to_lowercase(), ..Detected::default() };
    if let Some(address) = network::default_address() {
        detected.address = address;
    }
    detected.cri_sockets = SOCKETS
        .iter()
        .filter(|path| below(root, path).exists())
        .map(|path| format!("unix://{path}"))
        .collect();
    detected
}

/// An absolute path of the host, seen from here.
pub fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// A path that a user named, seen from here: of a running machine it is taken as it was said, also relative to where the
/// user is.
pub fn named(root: &Path, path: &Path) -> PathBuf {
    if root == Path::new("/") { path.to_owned() } else { root.join(path.strip_prefix("/").unwrap_or(path)) }
}

fn path_state(path: &Path) -> PathState {
    match std::fs::symlink_metadata(path) {
        Err(_) => PathState::Absent,
        Ok(metadata) if metadata.is_dir() => {
            match std::fs::read_dir(path).map(|mut entries| entries.next()) {
                Ok(None) => PathState::EmptyDirectory,
                _ => PathState::Directory,
            }
        }
        Ok(_) => PathState::File,
    }
}

async fn runtime(questions: &Questions, looking: &Looking) -> Option<Result<Runtime, String>> {
    let socket = looking.cri_socket.as_deref()?;
    let ask = async {
        let mut cri = Cri::connect(socket).await?;
        let version = cri.version().await?;
        let not_ready = cri.not_ready().await?;
        let cgroup_driver = cri.cgroup_driver().await;
        let mut runtime = Runtime { version, not_ready, cgroup_driver, ..Runtime::default() };
        for image in &questions.images {
            let mut there = cri.has_image(image).await?;
            if !there && looking.pull {
                match cri.pull_image(image).await {
                    Ok(()) => there = true,
                    Err(reason) => drop(runtime.missing_images.insert(image.clone(), reason)),
                }
            }
            if there {
                runtime.images.insert(image.clone());
            }
        }
        Ok(runtime)
    };
    Some(ask.await)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_bootstrap::preflight::{ExpectedFile, ExpectedPort, PortState};

    #[tokio::test]
    async fn a_host_is_seen_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("var/lib/etcd")).unwrap();
        std::fs::create_dir_all(folder.path().join("etc")).unwrap();
        std::fs::write(folder.path().join("etc/machine-id"), "7c0a\n").unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = listener.local_addr().unwrap().port();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let questions = Questions {
            node_name: "localhost".to_owned(),
            absent_files: vec![ExpectedFile { path: "/etc/machine-id".to_owned() }],
            empty_directories: vec!["/var/lib/etcd".to_owned(), "/none".to_owned()],
            ports: [taken, free].map(|number| ExpectedPort { number, owner: String::new() }).into(),
            programs: vec!["mount".to_owned(), "no-such-program".to_owned()],
            space_mib: vec![("/var/lib/etcd/deeper".to_owned(), 1)],
            ..Questions::default()
        };
        let facts = read(&questions, &Looking { root: folder.path().to_owned(), ..Looking::default() }).await;
        assert_eq!(facts.machine_id.as_deref(), Some("7c0a"));
        assert_eq!(facts.paths["/etc/machine-id"], PathState::File);
        assert_eq!(facts.paths["/var/lib/etcd"], PathState::EmptyDirectory);
        assert_eq!(facts.paths["/none"], PathState::Absent);
        assert!(matches!(facts.ports[&taken], PortState::Taken(_)), "{:?}", facts.ports);
        assert_eq!(facts.ports[&free], PortState::Free);
        assert!(facts.programs["mount"].is_some() && facts.programs["no-such-program"].is_none());
        assert!(facts.free_mib["/var/lib/etcd/deeper"] > 0);
        assert!(facts.processors > 0 && facts.memory_mib > 0 && !facts.kernel.is_empty());
        assert!(facts.addresses.iter().any(|found| found.address.is_loopback()), "{:?}", facts.addresses);
        assert!(matches!(&facts.names["localhost"], Ok(addresses) if !addresses.is_empty()));
        assert_eq!(facts.runtime, None);
    }
}
