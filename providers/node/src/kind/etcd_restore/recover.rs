//! Recovers etcd after the loss of its majority: the data of a survivor, or a snapshot, becomes a new cluster of the control
//! planes that are left.

use std::path::{Path as FilePath, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use rustix::fs::statvfs;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::{Path, ProviderError, Value};

use super::super::Work;
use super::member::{Member, flag};
use super::{CLIENTS, ETCD, RESTORED, aside_of, manifest_of};
use crate::attributes::Attributes;
use crate::disk::{Access, Disk};
use crate::error::{conflict, invalid, of_path, permanent};
use crate::etcd::{self, Etcd};
use crate::etcd_backup::{self, Origin, Repository, Seal, Settings};
use crate::purge;

/// The recovery that has begun on this machine. It exists from the first stage to the last one.
const RECOVERY: &str = "/var/lib/slipway/etcd-restore/recovery.json";

/// The space that stays free on the disk, in bytes: a control plane with a full disk fails.
const FREE: u64 = 1 << 30;

/// The recovery that has begun on this machine, with the note by which its operator goes on with it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begun {
    pub(super) recovery: String,
    pub(super) note: String,
}

/// The recovery that has begun on this machine, if any.
pub(super) fn begun(disk: &Disk) -> Result<Option<Begun>, ProviderError> {
    let Some(text) = disk.read_text(RECOVERY)? else { return Ok(None) };
    let damaged = |error: serde_json::Error| permanent(format!("{RECOVERY}: {error}"));
    serde_json::from_str(&text).map(Some).map_err(damaged)
}

/// Runs a stage.
pub(in super::super) async fn recover(work: &Work, arguments: &Value) -> Result<Value, ProviderError> {
    let arguments = Attributes(arguments);
    let disk = &work.host().disk;
    let stage = arguments.text("stage")?;
    if stage == "undo" {
        return super::undo(work).await.map(|()| Value::Null);
    }
    let member = Member::read(disk)?;
    if stage == "prepare" {
        return prepare(work, &member, arguments).await.map(|()| Value::Null);
    }
    check_begun(disk, arguments.text("recovery")?)?;
    match stage {
        "stop" => super::stop(work, &CLIENTS).await?,
        "stop-etcd" => super::stop(work, &[ETCD]).await?,
        "copy" => copy(work, &member).await?,
        "fetch-stored" => fetch_stored(disk, &member, arguments.text("snapshot")?).await?,
        "offer" => return offer(disk, &member, arguments.text("cluster")?).await,
        "read" => return read(disk, &member, arguments).await,
        "write" => write(disk, &member, arguments).await?,
        "fetch" => fetch(disk, &member, arguments).await?,
        "swap" => {
            super::restore(work, &member, arguments.text("initial_cluster")?, arguments.text("token")?)
                .await?;
        }
        "start-etcd" => {
            super::put_back(disk, &[ETCD])?;
            let access = access(work)?;
            super::serves(work, Attributes(&access), &member.client_url).await?;
        }
        "clean" => clean(work, &member).await?,
        "start" => super::put_back(disk, &CLIENTS)?,
        "finish" => super::finish(work).await?,
        other => return Err(invalid(format!("a recovery has no stage {other}"))),
    }
    Ok(Value::Null)
}

/// Fails unless this recovery has begun here.
fn check_begun(disk: &Disk, recovery: &str) -> Result<(), ProviderError> {
    match begun(disk)? {
        Some(begun) if begun.recovery == recovery => Ok(()),
        Some(other) => Err(conflict(format!("another recovery has begun here: {}", other.recovery))),
        None => Err(conflict(format!("the recovery {recovery} has not begun here"))),
    }
}

/// The attributes for requests to etcd.
fn access(work: &Work) -> Result<Value, ProviderError> {
    Ok(etcd::asked(&work.host().disk, work.place.wanted())?.unwrap_or(Value::Null))
}

/// Checks that everything is on this machine, and records the recovery. Nothing that runs is touched.
async fn prepare(work: &Work, member: &Member, arguments: Attributes<'_>) -> Result<(), ProviderError> {
    let disk = &work.host().disk;
    let (recovery, note) = (arguments.text("recovery")?, arguments.text("note")?);
    if begun(disk)?.is_some() {
        return check_begun(disk, recovery);
    }
    if let Some(snapshot) = disk.read_text(RESTORED)? {
        let snapshot = snapshot.trim();
        return Err(conflict(format!("the snapshot {snapshot} is being restored here")).with_hint(format!(
            "`slipway etcd restore … --snapshot {snapshot}` goes on with it, and with `--undo` puts everything back"
        )));
    }
    super::is_not_self_hosted(disk)?;
    super::has_image(disk, member).await?;
    // The snapshot, and the data that is made of it.
    let size = disk.target(&member.database())?.metadata().map_or(0, |database| database.len());
    check_free(&disk.target(&member.data)?, size.saturating_mul(2))?;
    purge::folder(disk, &member.folder())?;
    disk.make_directory(&member.folder(), Access::mode(0o700))?;
    let begun = Begun { recovery: recovery.to_owned(), note: note.to_owned() };
    let text = serde_json::to_vec(&begun).map_err(|error| permanent(error.to_string()))?;
    disk.write(RECOVERY, &text, Access::mode(0o600))
}

fn check_free(folder: &FilePath, needed: u64) -> Result<(), ProviderError> {
    let disk = statvfs(folder).map_err(|error| of_path(folder, "look at", &error.into()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free >= needed.saturating_add(FREE) {
        return Ok(());
    }
    let text = format!(
        "{}: {} MiB are free, and a recovery takes {} MiB and must leave {} MiB",
        folder.display(),
        free >> 20,
        needed >> 20,
        FREE >> 20
    );
    Err(permanent(text).with_hint("free some space on that disk"))
}

/// Copies the database of the stopped member into a snapshot.
async fn copy(work: &Work, member: &Member) -> Result<(), ProviderError> {
    let disk = &work.host().disk;
    let snapshot = disk.target(&member.snapshot())?;
    if member.is_swapped(disk)? || snapshot.exists() {
        return Ok(());
    }
    if super::running(disk, &[ETCD]).await?.is_some() {
        return Err(permanent("etcd runs: its data is not copied"));
    }
    let (data, database) = (disk.target(&member.data)?, disk.target(&member.database())?);
    let name = member.name.clone();
    work.blocking(move |_| {
        let unusable = |why: String| permanent(format!("the database of {name}: {why}"));
        let position = etcd_backup::position(&database).map_err(unusable)?;
        let reach = crate::etcd_data::log(&data).reach(position.applied);
        if reach.unapplied > 0 {
            let text = format!(
                "{} writes that {name} knows to be confirmed are in its log, and not in its database yet",
                reach.unapplied
            );
            return Err(permanent(text).with_hint(
                "`slipway etcd recover … --undo` starts etcd there, which adds them; run the recovery again a minute later",
            ));
        }
        let part = snapshot.with_extension("part");
        etcd_backup::copy(&database, &part).map_err(unusable)?;
        let copied = etcd_backup::check(&part).map_err(unusable)?;
        if copied.revision != position.revision {
            return Err(permanent(format!("the database of {name} was changed while it was copied")));
        }
        std::fs::rename(&part, &snapshot).map_err(|error| of_path(&snapshot, "replace", &error))
    })
    .await
}

/// Fetches a snapshot of the store in which this control plane keeps its snapshots.
async fn fetch_stored(disk: &Disk, member: &Member, snapshot: &str) -> Result<(), ProviderError> {
    let file = disk.target(&member.snapshot())?;
    if member.is_swapped(disk)? || file.exists() {
        return Ok(());
    }
    let settings = Settings::read(&disk.target(super::super::etcd_backup::SETTINGS)?)?;
    fetch_into(&settings.repository()?, snapshot, &file).await
}

/// Fetches a snapshot into a file, which appears when it is complete.
async fn fetch_into(repository: &Repository, name: &str, file: &FilePath) -> Result<(), ProviderError> {
    let part = file.with_extension("part");
    let _ = std::fs::remove_file(&part);
    repository.fetch(name, &part).await?;
    std::fs::rename(&part, file).map_err(|error| of_path(file, "replace", &error))
}

/// The snapshot that this recovery sends to other members: a repository of its own, sealed as all of them are.
fn shared(disk: &Disk, member: &Member, cluster: &str) -> Result<Repository, ProviderError> {
    let folder = disk.target(&member.shared())?;
    let path = "/etc/kubernetes/pki/etcd/ca.key";
    let missing = || permanent(format!("{path} is not there"));
    let key = disk.read_text(path)?.ok_or_else(missing)?;
    let seal = Seal::of_authority(&key).map_err(|why| permanent(format!("{path}: {why}")))?;
    let store = folder.to_string_lossy().into_owned();
    let backend = slipway_state_store::open_with(&store, &slipway_state_store::Settings::default());
    let backend = backend.map_err(|error| invalid(slipway_resource::with_causes(&error)))?;
    Ok(Repository::new(backend, cluster, seal))
}

/// Seals the snapshot for other members; returns its name.
async fn offer(disk: &Disk, member: &Member, cluster: &str) -> Result<Value, ProviderError> {
    let file: PathBuf = disk.target(&member.snapshot())?;
    let written =
        file.metadata().and_then(|file| file.modified()).map_err(|error| of_path(&file, "read", &error))?;
    // The same name in every run: a snapshot that was saved is not saved again.
    let taken = Timestamp::try_from(written).map_err(|error| permanent(error.to_string()))?;
    let origin = Origin {
        cluster: cluster.to_owned(),
        member: member.name.clone(),
        etcd_cluster_id: String::new(),
        etcd_version: String::new(),
        taken,
    };
    let (name, manifest) = shared(disk, member, cluster)?.save(&file, origin).await?;
    let mut answer = Value::map([("snapshot", name)]);
    let parts = i64::try_from(manifest.parts.len()).unwrap_or(i64::MAX);
    answer.set(&Path::key("parts"), Value::Integer(parts));
    Ok(answer)
}

async fn read(disk: &Disk, member: &Member, arguments: Attributes<'_>) -> Result<Value, ProviderError> {
    let (snapshot, object) = (arguments.text("snapshot")?, arguments.text("object")?);
    let found = shared(disk, member, arguments.text("cluster")?)?.read_object(snapshot, object).await?;
    let bytes = found.ok_or_else(|| permanent(format!("{object} of {snapshot} is missing")))?;
    Ok(Value::map([("base64", STANDARD.encode(bytes))]))
}

async fn write(disk: &Disk, member: &Member, arguments: Attributes<'_>) -> Result<(), ProviderError> {
    let bytes =
        STANDARD.decode(arguments.text("base64")?).map_err(|error| invalid(format!("base64: {error}")))?;
    let (snapshot, object) = (arguments.text("snapshot")?, arguments.text("object")?);
    shared(disk, member, arguments.text("cluster")?)?.write_object(snapshot, object, bytes).await
}

/// Opens the snapshot that another member offered.
async fn fetch(disk: &Disk, member: &Member, arguments: Attributes<'_>) -> Result<(), ProviderError> {
    let file = disk.target(&member.snapshot())?;
    if member.is_swapped(disk)? || file.exists() {
        return Ok(());
    }
    let repository = shared(disk, member, arguments.text("cluster")?)?;
    fetch_into(&repository, arguments.text("snapshot")?, &file).await
}

/// Removes the leases by which API servers announce themselves as endpoints of the service `kubernetes`. Those that run
/// announce themselves again; the others lose their endpoint.
async fn clean(work: &Work, member: &Member) -> Result<(), ProviderError> {
    let disk = &work.host().disk;
    let prefix = format!("{}/masterleases/", registry(disk)?);
    let access = access(work)?;
    Etcd::connect(disk, Attributes(&access), vec![member.client_url.clone()])?.remove_keys(&prefix).await
}

/// Where the API server keeps its objects.
fn registry(disk: &Disk) -> Result<String, ProviderError> {
    let text = match disk.read_text(&aside_of("kube-apiserver"))? {
        Some(text) => Some(text),
        None => disk.read_text(&manifest_of("kube-apiserver"))?,
    };
    let pod: Option<Json> = text.and_then(|text| serde_yaml::from_str(&text).ok());
    let named = pod.and_then(|pod| flag(&pod, "etcd-prefix"));
    Ok(named.unwrap_or_else(|| "/registry".to_owned()).trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_is_known_by_its_id_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(crate::root::Root::new(folder.path()), None);
        assert!(begun(&disk).unwrap().is_none());
        let none = check_begun(&disk, "r1").unwrap_err();
        assert!(none.message.contains("has not begun"), "{none}");
        let text = br#"{"recovery":"r1","note":"n"}"#;
        disk.write(RECOVERY, text, Access::mode(0o600)).unwrap();
        check_begun(&disk, "r1").unwrap();
        let other = check_begun(&disk, "r2").unwrap_err();
        assert!(other.message.contains("another recovery has begun here: r1"), "{other}");
        purge::folder(&disk, super::super::ASIDE).unwrap();
        assert!(begun(&disk).unwrap().is_none());
    }

    #[test]
    fn the_place_of_objects_is_that_of_the_api_servers_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(crate::root::Root::new(folder.path()), None);
        assert_eq!(registry(&disk).unwrap(), "/registry");
        let pod = "spec: { containers: [ { command: [ kube-apiserver, --etcd-prefix=/prod/ ] } ] }";
        disk.write(&aside_of("kube-apiserver"), pod.as_bytes(), Access::mode(0o600)).unwrap();
        assert_eq!(registry(&disk).unwrap(), "/prod");
    }

    const MANIFEST: &str = "spec: { containers: [ { image: etcd, command: [ etcd, --name=cp-0, --data-dir=/var/lib/etcd, \
        --initial-advertise-peer-urls=https://10.0.0.1:2380, --advertise-client-urls=https://10.0.0.1:2379 ] } ] }";

    /// A machine with a manifest of etcd and the key of etcd's authority.
    fn machine(root: &FilePath, key: &str) -> (Disk, Member) {
        let disk = Disk::new(crate::root::Root::new(root), None);
        disk.write("/etc/kubernetes/pki/etcd/ca.key", key.as_bytes(), Access::mode(0o600)).unwrap();
        disk.write(&manifest_of(ETCD), MANIFEST.as_bytes(), Access::mode(0o600)).unwrap();
        let member = Member::read(&disk).unwrap();
        disk.make_directory(&member.folder(), Access::mode(0o700)).unwrap();
        (disk, member)
    }

    #[tokio::test]
    async fn the_copy_of_a_survivor_reaches_another_member_sealed_and_whole() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let key = slipway_bootstrap::pki::PrivateKey::generate(
            slipway_bootstrap::configuration::EncryptionAlgorithm::EcdsaP256,
        );
        let key = key.unwrap().to_pem().unwrap().expose().to_owned();
        let (source, member) = machine(one.path(), &key);
        let (target, _) = machine(other.path(), &key);
        let snapshot = etcd_backup::snapshot_for_tests(&[2, 40], 3 << 20);
        source.write(&member.snapshot(), &snapshot, Access::mode(0o600)).unwrap();
        let offered = offer(&source, &member, "demo").await.unwrap();
        // Offered again after an interruption, it is the same one.
        assert_eq!(offer(&source, &member, "demo").await.unwrap(), offered);
        let name = offered.get("snapshot").and_then(Value::as_str).unwrap().to_owned();
        let Some(Value::Integer(parts)) = offered.get("parts") else { panic!("{offered:?}") };
        let objects = (0..*parts).map(|part| format!("part-{part:05}")).chain(["manifest".to_owned()]);
        for object in objects {
            let mut arguments =
                Value::map([("cluster", "demo"), ("snapshot", &name), ("object", object.as_str())]);
            let sent = read(&source, &member, Attributes(&arguments)).await.unwrap();
            arguments.set(&Path::key("base64"), sent.get("base64").unwrap().clone());
            write(&target, &member, Attributes(&arguments)).await.unwrap();
        }
        let arguments = Value::map([("cluster", "demo"), ("snapshot", &*name)]);
        fetch(&target, &member, Attributes(&arguments)).await.unwrap();
        assert_eq!(target.read(&member.snapshot()).unwrap().unwrap(), snapshot);
        // Once more changes nothing.
        fetch(&target, &member, Attributes(&arguments)).await.unwrap();
    }
}
