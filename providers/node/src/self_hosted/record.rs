//! What is on the disk of a machine for each self-hosted component: its manifest, and how its DaemonSet is reached.

use serde::{Deserialize, Serialize};
use slipway_resource::ProviderError;

use crate::api_server::ApiServer;
use crate::disk::{self, Disk};
use crate::error::{not_found, permanent};

/// The folder of the manifests. The kubelet does not read it.
pub(super) const FOLDER: &str = "/etc/kubernetes/self-hosted";

/// A component that a DaemonSet runs. Paths are those of the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// The path that the manifest has while the kubelet runs it.
    pub(crate) path: String,
    /// The name of the node.
    pub(crate) node: String,
    /// The revision of the pod that the DaemonSet has to run.
    pub(crate) revision: String,
    /// How the API is reached.
    pub(crate) api: Access,
    /// The socket of the container runtime; else the kubelet's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) runtime_endpoint: Option<String>,
}

/// How the API server of the machine is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Access {
    /// Its URL.
    pub(crate) url: String,
    /// The file with the authorities of its certificate.
    pub(crate) ca_path: String,
    /// The file with the certificate of its client.
    pub(crate) cert_path: String,
    /// The file with the key of this certificate.
    pub(crate) key_path: String,
}

impl Access {
    /// A client for it.
    ///
    /// # Errors
    /// When a file is missing or has another form.
    pub(crate) fn connect(&self, disk: &Disk) -> Result<ApiServer, ProviderError> {
        let file = |path: &str| -> Result<Vec<u8>, ProviderError> {
            let missing = || not_found(format!("{path} is not there, with which the API server is asked"));
            disk.read(path)?.ok_or_else(missing)
        };
        ApiServer::at(&self.url, file(&self.ca_path)?, (file(&self.cert_path)?, file(&self.key_path)?))
    }
}

impl Record {
    /// The record of the component whose manifest has this path in the kubelet's folder; `None` when no DaemonSet runs it.
    ///
    /// # Errors
    /// When the record has another form.
    pub(crate) fn of(disk: &Disk, path: &str) -> Result<Option<Self>, ProviderError> {
        read(disk, &format!("{FOLDER}/{}.json", stem(path)))
    }

    /// The records of all components of the machine.
    ///
    /// # Errors
    /// When one of them has another form.
    pub(crate) fn all(disk: &Disk) -> Result<Vec<Self>, ProviderError> {
        Self::each(disk)?.into_iter().collect()
    }

    /// The same, each by itself: one that has another form says nothing of the others.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(crate) fn each(disk: &Disk) -> Result<Vec<Result<Self, ProviderError>>, ProviderError> {
        let names = disk.list(FOLDER)?;
        let records = names.iter().filter(|name| name.ends_with(".json"));
        Ok(records.filter_map(|name| read(disk, &format!("{FOLDER}/{name}")).transpose()).collect())
    }

    /// The path of the manifest while a DaemonSet runs the pod.
    pub(crate) fn manifest_path(&self) -> String {
        format!("{FOLDER}/{}.yaml", stem(&self.path))
    }

    /// The manifest that the component was last checked with.
    ///
    /// # Errors
    /// When it cannot be read, or is not there.
    pub(crate) fn manifest(&self, disk: &Disk) -> Result<String, ProviderError> {
        let path = self.manifest_path();
        disk.read_text(&path)?.ok_or_else(|| not_found(format!("{path} is not there")))
    }

    /// Stores a manifest that was checked, and the record after it.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn write(&self, disk: &Disk, manifest: &str) -> Result<(), ProviderError> {
        let access = disk::Access::mode(0o600);
        let text = serde_json::to_string_pretty(self).map_err(|error| permanent(error.to_string()))?;
        disk.write(&self.manifest_path(), manifest.as_bytes(), access)?;
        disk.write(&self.record_path(), text.as_bytes(), access)
    }

    /// Removes both, the record first.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub(crate) fn forget(&self, disk: &Disk) -> Result<(), ProviderError> {
        disk.remove(&self.record_path())?;
        disk.remove(&self.manifest_path()).map(drop)
    }

    fn record_path(&self) -> String {
        format!("{FOLDER}/{}.json", stem(&self.path))
    }
}

fn read(disk: &Disk, path: &str) -> Result<Option<Record>, ProviderError> {
    let Some(text) = disk.read_text(path)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| permanent(format!("{path}: {error}")))
}

/// The name of a manifest's file without its ending: that of its component.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".yaml").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Root;

    #[test]
    fn a_record_is_read_back_with_its_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(Root::new(folder.path()), None);
        let path = "/etc/kubernetes/manifests/kube-scheduler.yaml";
        assert_eq!(Record::of(&disk, path).unwrap(), None);
        assert!(Record::all(&disk).unwrap().is_empty());
        let record = Record {
            path: path.to_owned(),
            node: "cp-0".to_owned(),
            revision: "one".to_owned(),
            api: Access {
                url: "https://10.0.0.10:6443".to_owned(),
                ca_path: "/ca.crt".to_owned(),
                cert_path: "/client.crt".to_owned(),
                key_path: "/client.key".to_owned(),
            },
            runtime_endpoint: None,
        };
        record.write(&disk, "kind: Pod\n").unwrap();
        assert_eq!(Record::of(&disk, path).unwrap().as_ref(), Some(&record));
        assert_eq!(Record::all(&disk).unwrap(), std::slice::from_ref(&record));
        assert_eq!(record.manifest(&disk).unwrap(), "kind: Pod\n");
        disk.write(&format!("{FOLDER}/kube-apiserver.json"), b"{", disk::Access::mode(0o600)).unwrap();
        assert!(Record::all(&disk).is_err());
        let readable: Vec<Record> = Record::each(&disk).unwrap().into_iter().flatten().collect();
        assert_eq!(readable, std::slice::from_ref(&record));
        record.forget(&disk).unwrap();
        assert_eq!(Record::of(&disk, path).unwrap(), None);
        assert!(record.manifest(&disk).is_err());
    }
}
