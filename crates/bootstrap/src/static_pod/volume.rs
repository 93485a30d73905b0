//! Folders and files of the host in a container.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::configuration::HostPathMount;
use crate::expand::Facts;

const CA_CERTIFICATES: &str = "/etc/ssl/certs";

/// Volumes of a pod with one container, by name: a later one takes the place of an earlier one with its name.
#[derive(Default)]
pub(super) struct Volumes {
    volumes: BTreeMap<String, Value>,
    mounts: BTreeMap<String, Value>,
}

impl Volumes {
    /// A folder that is made when it is not there.
    pub fn folder(&mut self, name: &str, path: &str, read_only: bool) {
        self.add(name, path, path, "DirectoryOrCreate", read_only);
    }

    /// A folder that has to be there: the pod waits for it.
    pub fn existing_folder(&mut self, name: &str, path: &str) {
        self.add(name, path, path, "Directory", false);
    }

    /// A file that is made when it is not there.
    pub fn file(&mut self, name: &str, path: &str) {
        self.add(name, path, path, "FileOrCreate", true);
    }

    /// The certificates that the host trusts, and the folders into which they are linked.
    pub fn ca_certificates(&mut self, facts: &Facts) {
        self.folder("ca-certs", CA_CERTIFICATES, true);
        for folder in Facts::CA_FOLDERS {
            if facts.ca_folders.contains(folder) {
                self.folder(folder.trim_start_matches('/').replace('/', "-").as_str(), folder, true);
            }
        }
    }

    /// Adds the user's volumes.
    pub fn extra(&mut self, mounts: &[HostPathMount]) {
        for mount in mounts {
            self.add(&mount.name, &mount.host_path, &mount.mount_path, &mount.path_type, mount.read_only);
        }
    }

    fn add(&mut self, name: &str, host: &str, container: &str, path_type: &str, read_only: bool) {
        let volume = json!({"hostPath": {"path": host, "type": path_type}, "name": name});
        let mut mount = json!({"mountPath": container, "name": name});
        if read_only {
            mount["readOnly"] = true.into();
        }
        self.volumes.insert(name.to_owned(), volume);
        self.mounts.insert(name.to_owned(), mount);
    }

    /// The pod's volumes, by name.
    pub fn volumes(&self) -> Vec<Value> {
        self.volumes.values().cloned().collect()
    }

    /// The container's mounts, by name.
    pub fn mounts(&self) -> Vec<Value> {
        self.mounts.values().cloned().collect()
    }

    /// Folders of an external etcd's certificates that the container does not see yet.
    pub fn etcd_certificates(&mut self, files: [&str; 3], certificates_dir: &str) {
        let mut folders: std::collections::BTreeSet<&str> = std::collections::BTreeSet::new();
        for file in files {
            let folder = match file.rsplit_once('/') {
                Some(("", _)) => "/",
                Some((folder, _)) => folder,
                None => continue,
            };
            let seen = Facts::CA_FOLDERS
                .into_iter()
                .chain([CA_CERTIFICATES, certificates_dir])
                .any(|known| folder.starts_with(known));
            if seen {
                continue;
            }
            // A folder includes those inside of it.
            let inside = folders.iter().any(|known| folder.starts_with(known) && *known != folder);
            folders.retain(|known| !known.starts_with(folder));
            if !inside {
                folders.insert(folder);
            }
        }
        for (number, folder) in folders.into_iter().enumerate() {
            self.folder(&format!("etcd-certs-{number}"), folder, true);
        }
    }
}
