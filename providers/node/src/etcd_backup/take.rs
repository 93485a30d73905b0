//! Taking a snapshot of this machine's member of etcd.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock, statvfs};
use serde::Deserialize;
use serde_json::json;
use slipway_resource::ProviderError;
use tokio::io::AsyncWriteExt as _;

use super::manifest::Manifest;
use super::repository::Origin;
use super::settings::Settings;
use crate::error::{of_path, permanent, transient};
use crate::http::{Client, Trust};

/// How long etcd may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// The space that stays free on the disk, in bytes: a control plane with a full disk fails.
const FREE: u64 = 1 << 30;

/// The status of an etcd member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) cluster_id: String,
    pub(crate) version: String,
    /// Whether the member is the leader.
    pub(crate) leads: bool,
    /// The size of its database in bytes.
    pub(crate) size: u64,
    /// Its revision.
    pub(crate) revision: i64,
}

/// In the JSON of etcd's gateway, numbers of 64 bits are texts, and zeros are absent.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Said {
    header: Header,
    version: String,
    #[serde(rename = "dbSize")]
    size: String,
    leader: String,
    #[serde(rename = "isLearner")]
    is_learner: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Header {
    cluster_id: String,
    member_id: String,
    revision: String,
}

#[derive(Deserialize)]
struct Message {
    result: Option<Chunk>,
    error: Option<serde_json::Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Chunk {
    remaining_bytes: String,
    blob: String,
}

/// Reads the status of the member.
pub(crate) async fn status(settings: &Settings) -> Result<Status, ProviderError> {
    let url = url(settings, "status");
    let answer = client(settings)?
        .post(&url, &json!({}))
        .await
        .map_err(|error| transient(format!("{url}: {error}")))?;
    if answer.status != 200 {
        let text = String::from_utf8_lossy(&answer.body);
        return Err(transient(format!("{url} answers {}: {}", answer.status, text.trim())));
    }
    let said: Said = serde_json::from_slice(&answer.body)
        .map_err(|error| permanent(format!("{url}: the answer is not understood: {error}")))?;
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    let leads = !said.is_learner && !said.leader.is_empty() && said.leader == said.header.member_id;
    Ok(Status {
        cluster_id: format!("{:x}", number(&said.header.cluster_id)),
        version: said.version,
        leads,
        size: number(&said.size),
        revision: said.header.revision.parse().unwrap_or_default(),
    })
}

/// Takes a snapshot and saves it in the store. Only one snapshot is taken on a machine at a time.
pub(crate) async fn take(settings: &Settings) -> Result<(String, Manifest), ProviderError> {
    let status = status(settings).await?;
    let repository = settings.repository()?;
    let spool = Spool::open(&settings.spool_path)?;
    check_free(&settings.spool_path, status.size)?;
    if let Some(folder) = settings.store_folder() {
        check_free(&folder, status.size)?;
    }
    let origin = Origin {
        cluster: settings.cluster.clone(),
        member: settings.member.clone(),
        etcd_cluster_id: status.cluster_id,
        etcd_version: status.version,
        taken: Timestamp::now(),
    };
    download(settings, &spool.file()).await?;
    repository.save(&spool.file(), origin).await
}

/// Writes the snapshot that etcd sends into a file.
async fn download(settings: &Settings, file: &Path) -> Result<(), ProviderError> {
    let url = url(settings, "snapshot");
    let lost = |error: crate::http::Failure| transient(format!("{url}: {error}"));
    let mut lines = client(settings)?.post_for_lines(&url, &json!({})).await.map_err(lost)?;
    let unwritable = |error: std::io::Error| of_path(file, "write", &error);
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file);
    let mut written = tokio::fs::File::from_std(opened.map_err(unwritable)?);
    let mut remaining = None;
    while let Some(line) = lines.next().await.map_err(lost)? {
        if lines.status != 200 {
            let text = String::from_utf8_lossy(&line);
            return Err(transient(format!("{url} answers {}: {}", lines.status, text.trim())));
        }
        let message: Message = serde_json::from_slice(&line)
            .map_err(|error| permanent(format!("{url}: a message is not understood: {error}")))?;
        if let Some(error) = message.error {
            let text = error.get("message").and_then(serde_json::Value::as_str).unwrap_or("without a reason");
            return Err(transient(format!("etcd ended the snapshot: {text}")));
        }
        let Some(chunk) = message.result else { continue };
        let bytes = BASE64
            .decode(&chunk.blob)
            .map_err(|error| permanent(format!("{url}: a message is not understood: {error}")))?;
        written.write_all(&bytes).await.map_err(unwritable)?;
        remaining = Some(chunk.remaining_bytes.parse::<u64>().unwrap_or_default());
    }
    written.sync_all().await.map_err(unwritable)?;
    match remaining {
        Some(0) => Ok(()),
        Some(rest) => Err(transient(format!("{url}: the snapshot ended {rest} bytes too early"))),
        None => Err(transient(format!("{url}: etcd sent no snapshot"))),
    }
}

fn url(settings: &Settings, verb: &str) -> String {
    format!("{}/v3/maintenance/{verb}", settings.endpoint.trim_end_matches('/'))
}

fn client(settings: &Settings) -> Result<Client, ProviderError> {
    let file = |path: &Path| fs::read(path).map_err(|error| of_path(path, "read", &error));
    let trust = Trust {
        authorities: Some(file(&settings.ca_path)?),
        client: Some((file(&settings.cert_path)?, file(&settings.key_path)?)),
    };
    Client::new(&trust, SILENCE).map_err(|error| permanent(format!("etcd: {error}")))
}

/// Refuses a snapshot that would fill a disk.
fn check_free(folder: &Path, size: u64) -> Result<(), ProviderError> {
    // A folder that does not exist yet will be on the disk of the one above it.
    let place = folder.ancestors().find(|place| place.is_dir()).unwrap_or(Path::new("/"));
    let disk = statvfs(place).map_err(|error| of_path(place, "look at", &error.into()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free >= size.saturating_add(FREE) {
        return Ok(());
    }
    let text = format!(
        "{}: {} MiB are free, and a snapshot of {} MiB must leave {} MiB",
        folder.display(),
        free >> 20,
        size >> 20,
        FREE >> 20
    );
    Err(permanent(text).with_hint("free some space there, or name another store in `etcd.backups.store`"))
}

/// The folder for the snapshot while it is taken. Its contents are as secret as etcd's data, and are removed
/// with it.
struct Spool {
    folder: PathBuf,
    _lock: File,
}

impl Spool {
    fn open(folder: &Path) -> Result<Self, ProviderError> {
        make_folder(folder)?;
        let path = folder.join("lock");
        let lock =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.map_err(|error| of_path(&path, "open", &error))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(transient("another snapshot is being taken on this machine"));
        }
        Ok(Self { folder: folder.to_owned(), _lock: lock })
    }

    fn file(&self) -> PathBuf {
        self.folder.join("snapshot.db")
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        // A file that cannot be removed is overwritten by the next snapshot.
        let _ = fs::remove_file(self.file());
    }
}

/// Makes a folder that only root may read, with the folders above it.
pub(super) fn make_folder(folder: &Path) -> Result<(), ProviderError> {
    if folder.is_dir() {
        return Ok(());
    }
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| of_path(folder, "make", &error))
}
