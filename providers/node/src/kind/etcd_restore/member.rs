//! This machine's member of etcd, as its manifest has it, and the folders of a restore in the folder of its data.

use std::fs;

use serde_json::{Value as Json, json};
use slipway_resource::ProviderError;

use super::{ETCD, aside_of, manifest_of};
use crate::disk::{Access, Disk};
use crate::error::{not_found, of_path, permanent};

/// The folder of a restore. It is on the file system of the data, so that a folder is moved in one moment.
const FOLDER: &str = "slipway-restore";

/// How much greater revisions are afterwards than in the snapshot: more than any client has seen since.
const BUMP: i64 = 1_000_000_000;

/// The facts about the member for a restore.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) peer_url: String,
    /// The first URL by which clients reach it.
    pub(super) client_url: String,
    pub(super) image: String,
    /// The folder of its data.
    pub(super) data: String,
}

impl Member {
    /// Reads the manifest, wherever it is now.
    pub(super) fn read(disk: &Disk) -> Result<Self, ProviderError> {
        let text = match disk.read_text(&manifest_of(ETCD))? {
            Some(text) => Some(text),
            None => disk.read_text(&aside_of(ETCD))?,
        };
        let text = text.ok_or_else(|| not_found("this machine has no manifest of etcd"))?;
        Self::of(&text).ok_or_else(|| permanent("the manifest of etcd does not say what a restore needs"))
    }

    fn of(text: &str) -> Option<Self> {
        let document: Json = serde_yaml::from_str(text).ok()?;
        let container = document.pointer("/spec/containers/0")?;
        let flag = |name: &str| flag(&document, name);
        let client_urls = flag("advertise-client-urls")?;
        Some(Self {
            client_url: client_urls.split(',').next()?.to_owned(),
            name: flag("name")?,
            peer_url: flag("initial-advertise-peer-urls")?,
            image: container.get("image")?.as_str()?.to_owned(),
            data: flag("data-dir")?,
        })
    }

    /// The folder of the restore.
    pub(super) fn folder(&self) -> String {
        format!("{}/{FOLDER}", self.data)
    }

    pub(super) fn snapshot(&self) -> String {
        format!("{}/snapshot.db", self.folder())
    }

    /// The data folder that etcd's own program makes.
    pub(super) fn restored(&self) -> String {
        format!("{}/data", self.folder())
    }

    fn before(&self) -> String {
        format!("{}/before", self.folder())
    }

    fn current(&self) -> String {
        format!("{}/member", self.data)
    }

    /// The database of its data.
    pub(super) fn database(&self) -> String {
        format!("{}/snap/db", self.current())
    }

    /// The folder by which members send each other a snapshot.
    pub(super) fn shared(&self) -> String {
        format!("{}/shared", self.folder())
    }

    /// Whether the data folder is there with its database and its log.
    pub(super) fn is_restored(&self, disk: &Disk) -> Result<bool, ProviderError> {
        let has = |path: &str| disk.status(&format!("{}/member/{path}", self.restored()));
        Ok(has("snap/db")?.is_some() && has("wal")?.is_some())
    }

    /// Whether the data of before is aside.
    pub(super) fn is_swapped(&self, disk: &Disk) -> Result<bool, ProviderError> {
        Ok(disk.status(&self.before())?.is_some())
    }

    /// Puts the restored data in place of the data that is there, which is kept aside.
    pub(super) fn swap(&self, disk: &Disk) -> Result<(), ProviderError> {
        if !self.is_swapped(disk)? {
            match disk.status(&self.current())? {
                Some(_) => rename(disk, &self.current(), &self.before())?,
                // A machine that had lost its data.
                None => disk.make_directory(&self.before(), Access::mode(0o700))?,
            }
        }
        // After an interruption between the two.
        if disk.status(&self.current())?.is_none() {
            rename(disk, &format!("{}/member", self.restored()), &self.current())?;
        }
        Ok(())
    }

    /// Puts the data of before back.
    pub(super) fn swap_back(&self, disk: &Disk) -> Result<(), ProviderError> {
        if disk.status(&self.current())?.is_some() {
            crate::purge::folder(disk, &self.current())?;
        }
        rename(disk, &self.before(), &self.current())
    }

    /// The pod that restores: etcd's own program, from the image of the member.
    pub(super) fn pod(&self, name: &str, initial_cluster: &str, token: &str) -> String {
        let command = [
            "etcdutl".to_owned(),
            "snapshot".to_owned(),
            "restore".to_owned(),
            self.snapshot(),
            format!("--data-dir={}", self.restored()),
            format!("--name={}", self.name),
            format!("--initial-cluster={initial_cluster}"),
            format!("--initial-cluster-token={token}"),
            format!("--initial-advertise-peer-urls={}", self.peer_url),
            format!("--bump-revision={BUMP}"),
            "--mark-compacted".to_owned(),
        ];
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "kube-system"},
            "spec": {
                "hostNetwork": true,
                "priorityClassName": "system-node-critical",
                "restartPolicy": "Never",
                "containers": [{
                    "name": "restore",
                    "image": self.image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": command,
                    "volumeMounts": [{"name": "data", "mountPath": self.data}],
                }],
                "volumes": [{"name": "data", "hostPath": {"path": self.data, "type": "Directory"}}],
            },
        });
        pod.to_string()
    }
}

/// The value of a flag of the first container of a pod.
pub(super) fn flag(pod: &Json, name: &str) -> Option<String> {
    let container = pod.pointer("/spec/containers/0")?;
    let words =
        ["command", "args"].into_iter().filter_map(|field| container.get(field)?.as_array()).flatten();
    let mut flags =
        words.filter_map(Json::as_str).filter_map(|word| word.strip_prefix("--")?.split_once('='));
    flags.find(|(flag, _)| *flag == name).map(|(_, value)| value.to_owned())
}

fn rename(disk: &Disk, from: &str, to: &str) -> Result<(), ProviderError> {
    let (from, to) = (disk.target(from)?, disk.target(to)?);
    disk.at("rename folder");
    fs::rename(&from, &to).map_err(|error| of_path(&to, "replace", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: etcd}\nspec:\n  containers:\n  - command:\n    - etcd\n    \
        - --advertise-client-urls=https://10.0.0.1:2379\n    - --data-dir=/var/lib/etcd\n    \
        - --initial-advertise-peer-urls=https://10.0.0.1:2380\n    - --name=cp-0\n    image: registry.example/etcd:3.6.5-0\n";

    #[test]
    fn a_manifest_says_what_a_restore_needs() {
        let member = Member::of(MANIFEST).unwrap();
        assert_eq!((&*member.name, &*member.peer_url), ("cp-0", "https://10.0.0.1:2380"));
        assert_eq!((&*member.data, &*member.image), ("/var/lib/etcd", "registry.example/etcd:3.6.5-0"));
        let pod: Json = serde_json::from_str(&member.pod("p", "cp-0=https://10.0.0.1:2380", "t")).unwrap();
        let command = pod["spec"]["containers"][0]["command"].as_array().unwrap();
        for part in
            ["--name=cp-0", "--bump-revision=1000000000", "--mark-compacted", "--initial-cluster-token=t"]
        {
            assert!(command.iter().any(|word| word == part), "{part}");
        }
        assert!(Member::of("kind: Pod\n").is_none());
    }

    fn text(disk: &Disk, path: &str) -> Option<String> {
        disk.read_text(path).unwrap()
    }

    #[test]
    fn data_is_swapped_and_comes_back_wherever_it_was_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(crate::root::Root::new(folder.path()), None);
        let member = Member::of(MANIFEST).unwrap();
        let (old, new) =
            ("/var/lib/etcd/member/snap/db", "/var/lib/etcd/slipway-restore/data/member/snap/db");
        let access = crate::disk::Access::mode(0o600);
        disk.write(old, b"old", access).unwrap();
        disk.write(new, b"new", access).unwrap();
        assert!(!member.is_restored(&disk).unwrap(), "without a log it is not complete");
        disk.write("/var/lib/etcd/slipway-restore/data/member/wal/0.wal", b"", access).unwrap();
        assert!(member.is_restored(&disk).unwrap() && !member.is_swapped(&disk).unwrap());
        // After an interruption between the two moves, the swap continues.
        rename(&disk, &member.current(), &member.before()).unwrap();
        assert!(member.is_swapped(&disk).unwrap());
        member.swap(&disk).unwrap();
        assert_eq!(text(&disk, old).as_deref(), Some("new"));
        // Once more changes nothing.
        member.swap(&disk).unwrap();
        assert_eq!(text(&disk, old).as_deref(), Some("new"));
        member.swap_back(&disk).unwrap();
        assert_eq!(text(&disk, old).as_deref(), Some("old"));
        assert!(!member.is_swapped(&disk).unwrap());
        // A machine that has lost its data gets the restored one.
        disk.write(new, b"new", access).unwrap();
        crate::purge::folder(&disk, &member.current()).unwrap();
        member.swap(&disk).unwrap();
        assert_eq!(text(&disk, old).as_deref(), Some("new"));
        crate::purge::folder(&disk, &member.before()).unwrap();
        disk.write(old, b"old", access).unwrap();
        // Interrupted between the two moves, it comes back as well.
        rename(&disk, &member.current(), &member.before()).unwrap();
        member.swap_back(&disk).unwrap();
        assert_eq!(text(&disk, old).as_deref(), Some("old"));
    }
}
