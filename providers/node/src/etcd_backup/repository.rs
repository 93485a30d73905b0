//! The store of snapshots: a folder or a bucket, with the backends of the state store.
//!
//! A snapshot is a folder of objects: `CLUSTER/etcd/NAME/part-00000` and so on, and finally
//! `CLUSTER/etcd/NAME/manifest`. Each object is written completely or not at all. A folder without a manifest
//! is no snapshot: its writer was interrupted, or is still running.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use jiff::{SignedDuration, Timestamp};
use slipway_resource::{ErrorClass, ProviderError, hexadecimal, with_causes};
use slipway_state_store::backend::Error as StoreError;
use slipway_state_store::{Backend, Key, Prefix};

use super::database;
use super::manifest::{self, Manifest, Part};
use super::retention;
use super::seal::Seal;
use crate::error::{conflict, invalid, not_found, permanent};

/// The size of one part in bytes. In base64, a part fits into one message of a provider.
const PART: usize = 2 << 20;

/// After this time, parts without a manifest are those of an interrupted writer.
const ABANDONED: SignedDuration = SignedDuration::from_hours(6);

/// How often a write is tried, and the pause that grows with each attempt.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_secs(1);

/// The name of the object that makes parts a snapshot.
pub(crate) const MANIFEST: &str = "manifest";

/// The snapshots of one cluster in one place.
pub(crate) struct Repository {
    backend: Arc<dyn Backend>,
    /// The start of the keys of snapshots.
    prefix: String,
    seal: Seal,
}

/// A snapshot in a repository.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) name: String,
    /// The manifest, or why it cannot be read.
    pub(crate) manifest: Result<Manifest, String>,
}

/// The facts that the caller knows about a snapshot.
pub(crate) struct Origin {
    pub(crate) cluster: String,
    pub(crate) member: String,
    pub(crate) etcd_cluster_id: String,
    pub(crate) etcd_version: String,
    pub(crate) taken: Timestamp,
}

impl Repository {
    pub(crate) fn new(backend: Arc<dyn Backend>, cluster: &str, seal: Seal) -> Self {
        Self { backend, prefix: format!("{cluster}/etcd"), seal }
    }

    /// Saves a snapshot from a file, reads it back, and writes its manifest only if both are equal.
    pub(crate) async fn save(
        &self,
        file: &Path,
        origin: Origin,
    ) -> Result<(String, Manifest), ProviderError> {
        let checked = checked(file.to_owned()).await?;
        let name = manifest::name(origin.taken, checked.revision);
        if let Ok(Some(Ok(manifest))) = self.manifest(&name).await {
            // A snapshot of the same second and the same revision is the same snapshot.
            return Ok((name, manifest));
        }
        let saved = self.save_parts(file, &name).await;
        let verified = match saved {
            Ok(parts) => self.compare(&name, &parts, &checked.sha256).await.map(|()| parts),
            Err(error) => Err(error),
        };
        let parts = match verified {
            Ok(parts) => parts,
            // Another process writes this snapshot.
            Err(error) if error.class == ErrorClass::Conflict => return Err(error),
            Err(error) => {
                // Without a manifest, the parts are not listed. If they cannot be removed now, a later prune
                // removes them.
                let _ = self.remove(&name).await;
                return Err(error);
            }
        };
        let Origin { cluster, member, etcd_cluster_id, etcd_version, taken } = origin;
        let manifest = Manifest {
            format: Manifest::FORMAT,
            cluster,
            member,
            etcd_cluster_id,
            etcd_version,
            taken,
            revision: checked.revision,
            size: checked.size,
            sha256: checked.sha256,
            verified: Timestamp::now(),
            parts,
        };
        let text = serde_json::to_vec(&manifest).map_err(|error| permanent(error.to_string()))?;
        let key = self.key(&name, MANIFEST)?;
        let sealed = self.seal.seal(key.as_str(), &text).map_err(permanent)?;
        self.create(&key, sealed).await?;
        Ok((name, manifest))
    }

    async fn save_parts(&self, file: &Path, name: &str) -> Result<Vec<Part>, ProviderError> {
        let mut parts = Vec::new();
        let mut reader = File::open(file).map_err(|error| permanent(format!("the snapshot: {error}")))?;
        loop {
            let (back, plain) = blocking(move || {
                let mut plain = Vec::new();
                let read = (&mut reader).take(PART as u64).read_to_end(&mut plain);
                read.map_err(|error| format!("the snapshot: {error}"))?;
                Ok((reader, plain))
            })
            .await?;
            reader = back;
            if plain.is_empty() {
                return Ok(parts);
            }
            let size = plain.len() as u64;
            let packed = blocking(move || pack(&plain)).await?;
            let key = self.part(name, parts.len())?;
            let sealed = self.seal.seal(key.as_str(), &packed).map_err(permanent)?;
            parts.push(Part { size, stored: sealed.len() as u64 });
            self.create(&key, sealed).await?;
        }
    }

    /// Reads the saved parts back, and compares the digest.
    async fn compare(&self, name: &str, parts: &[Part], sha256: &str) -> Result<(), ProviderError> {
        let mut digest = TrailingDigest::default();
        for (index, part) in parts.iter().enumerate() {
            digest.add(&self.open_part(name, index, part).await?);
        }
        if digest.of_database() == sha256 {
            return Ok(());
        }
        Err(permanent(format!("the snapshot {name} was read back, and is not what was saved")))
    }

    /// Writes a snapshot into a file, as etcd sent it. The file must not exist.
    pub(crate) async fn fetch(&self, name: &str, file: &Path) -> Result<Manifest, ProviderError> {
        let manifest = self.opened(name).await?;
        let unwritable =
            |error: std::io::Error| permanent(format!("{}: cannot be written: {error}", file.display()));
        let options = File::options().write(true).create_new(true).mode(0o600).clone();
        let mut written = options.open(file).map_err(unwritable)?;
        for (index, part) in manifest.parts.iter().enumerate() {
            let plain = self.open_part(name, index, part).await?;
            written.write_all(&plain).map_err(unwritable)?;
        }
        written.sync_all().map_err(unwritable)?;
        let found = checked(file.to_owned()).await?;
        if found.sha256 != manifest.sha256 || found.revision != manifest.revision {
            return Err(permanent(format!("the snapshot {name} is not the one that its manifest describes")));
        }
        Ok(manifest)
    }

    /// A stored object of a snapshot.
    pub(crate) async fn read_object(
        &self,
        name: &str,
        object: &str,
    ) -> Result<Option<Vec<u8>>, ProviderError> {
        let found = self.backend.get(&self.named(name, object)?).await.map_err(failed)?;
        Ok(found.map(|(bytes, _)| bytes.to_vec()))
    }

    /// Stores an object that was read elsewhere.
    pub(crate) async fn write_object(
        &self,
        name: &str,
        object: &str,
        bytes: Vec<u8>,
    ) -> Result<(), ProviderError> {
        self.create(&self.named(name, object)?, bytes).await
    }

    /// How many parts a snapshot has.
    pub(crate) async fn parts(&self, name: &str) -> Result<usize, ProviderError> {
        Ok(self.opened(name).await?.parts.len())
    }

    /// The key of an object, by the names of the snapshot and of the object.
    fn named(&self, name: &str, object: &str) -> Result<Key, ProviderError> {
        let is_part = object.strip_prefix("part-").is_some_and(|number| number.parse::<u32>().is_ok());
        if manifest::taken_of(name).is_none() || !(is_part || object == MANIFEST) {
            return Err(invalid(format!("{name}/{object} is no object of a snapshot")));
        }
        self.key(name, object)
    }

    /// All complete snapshots, the oldest first.
    pub(crate) async fn list(&self) -> Result<Vec<Listed>, ProviderError> {
        let mut listed = Vec::new();
        for name in self.names().await? {
            if let Some(manifest) = self.manifest(&name).await? {
                listed.push(Listed { name, manifest });
            }
        }
        Ok(listed)
    }

    /// When the newest snapshot was taken that can be opened.
    pub(crate) async fn newest(&self) -> Result<Option<Timestamp>, ProviderError> {
        for name in self.names().await?.iter().rev() {
            if let Some(Ok(manifest)) = self.manifest(name).await? {
                return Ok(Some(manifest.taken));
            }
        }
        Ok(None)
    }

    /// Removes snapshots that are not kept any more, and parts of interrupted writers. Returns the names of
    /// the snapshots.
    ///
    /// Snapshots that cannot be decrypted here, such as those of another authority, are not counted and not
    /// removed.
    pub(crate) async fn prune(
        &self,
        retention: Duration,
        now: Timestamp,
    ) -> Result<Vec<String>, ProviderError> {
        let mut snapshots = Vec::new();
        for name in self.names().await? {
            match self.manifest(&name).await? {
                Some(Ok(manifest)) => snapshots.push((name, manifest.taken)),
                Some(Err(_)) => {}
                None => {
                    let age = manifest::taken_of(&name).map(|taken| now.duration_since(taken));
                    if age.is_some_and(|age| age > ABANDONED) {
                        self.remove(&name).await?;
                    }
                }
            }
        }
        let expired = retention::expired(&snapshots, retention, now);
        for name in &expired {
            self.remove(name).await?;
        }
        Ok(expired)
    }

    /// Removes one snapshot, its manifest first: without the manifest, the parts are no snapshot.
    async fn remove(&self, name: &str) -> Result<(), ProviderError> {
        self.backend.delete(&self.key(name, MANIFEST)?).await.map_err(failed)?;
        for key in
            self.backend.list(&self.below(&format!("{}/{name}", self.prefix))?).await.map_err(failed)?
        {
            self.backend.delete(&key).await.map_err(failed)?;
        }
        Ok(())
    }

    /// The names of all snapshots, complete or not, the oldest first.
    async fn names(&self) -> Result<Vec<String>, ProviderError> {
        let mut names = self.backend.list_children(&self.below(&self.prefix)?).await.map_err(failed)?;
        names.retain(|name| manifest::taken_of(name).is_some());
        names.sort();
        Ok(names)
    }

    /// The manifest of a snapshot, or why it cannot be read; `None` without one.
    async fn manifest(&self, name: &str) -> Result<Option<Result<Manifest, String>>, ProviderError> {
        let key = self.key(name, MANIFEST)?;
        let found = self.backend.get(&key).await.map_err(failed)?;
        Ok(found
            .map(|(bytes, _)| self.seal.open(key.as_str(), &bytes).and_then(|text| Manifest::read(&text))))
    }

    /// The manifest of a snapshot that must exist and be readable.
    async fn opened(&self, name: &str) -> Result<Manifest, ProviderError> {
        let missing = || not_found(format!("there is no snapshot {name}"));
        let manifest = self.manifest(name).await?.ok_or_else(missing)?;
        manifest.map_err(|why| permanent(format!("{name}: {why}")))
    }

    async fn open_part(&self, name: &str, index: usize, part: &Part) -> Result<Vec<u8>, ProviderError> {
        let key = self.part(name, index)?;
        let missing = || permanent(format!("{key} is missing: the snapshot {name} is not complete"));
        let (bytes, _) = self.backend.get(&key).await.map_err(failed)?.ok_or_else(missing)?;
        let damaged = |why: String| permanent(format!("{key}: {why}"));
        let packed = self.seal.open(key.as_str(), &bytes).map_err(damaged)?;
        let size = part.size;
        let plain = blocking(move || unpack(&packed, size)).await?;
        if plain.len() as u64 == size { Ok(plain) } else { Err(damaged("it has another size".to_owned())) }
    }

    /// Creates an object. If the answer was lost, the stored bytes tell whether this process wrote it.
    async fn create(&self, key: &Key, bytes: Vec<u8>) -> Result<(), ProviderError> {
        let bytes = Bytes::from(bytes);
        let mut attempt = 1;
        loop {
            match self.backend.create(key, bytes.clone()).await {
                Ok(_) => return Ok(()),
                Err(StoreError::AlreadyExists { .. }) => {
                    let there = self.backend.get(key).await.map_err(failed)?;
                    let is_ours = there.is_some_and(|(there, _)| there == bytes);
                    let taken = || conflict(format!("{key} is written by another process"));
                    return if is_ours { Ok(()) } else { Err(taken()) };
                }
                Err(error) if attempt < ATTEMPTS && failed(error.clone()).class.is_retryable() => {
                    tokio::time::sleep(PAUSE * attempt).await;
                    attempt += 1;
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    fn part(&self, name: &str, index: usize) -> Result<Key, ProviderError> {
        self.key(name, &format!("part-{index:05}"))
    }

    fn key(&self, name: &str, object: &str) -> Result<Key, ProviderError> {
        Key::new(format!("{}/{name}/{object}", self.prefix)).map_err(failed)
    }

    fn below(&self, prefix: &str) -> Result<Prefix, ProviderError> {
        Prefix::new(prefix).map_err(failed)
    }
}

/// Removes all snapshots of a cluster.
pub(super) async fn remove_all(backend: &dyn Backend, cluster: &str) -> Result<(), ProviderError> {
    let prefix = Prefix::new(&format!("{cluster}/etcd")).map_err(failed)?;
    for key in backend.list(&prefix).await.map_err(failed)? {
        backend.delete(&key).await.map_err(failed)?;
    }
    Ok(())
}

/// The digest of a database, from the parts of a snapshot.
struct TrailingDigest {
    context: aws_lc_rs::digest::Context,
    /// The last bytes, which may be the digest behind the database.
    held: Vec<u8>,
}

impl Default for TrailingDigest {
    fn default() -> Self {
        Self { context: aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256), held: Vec::new() }
    }
}

impl TrailingDigest {
    fn add(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        let database = self.held.len().saturating_sub(database::DIGEST);
        self.context.update(self.held.get(..database).unwrap_or_default());
        self.held.drain(..database);
    }

    /// The digest, if the bytes at the end are the same one; else a text that is no digest.
    fn of_database(self) -> String {
        let computed = self.context.finish();
        let same = computed.as_ref() == self.held.as_slice();
        if same { hexadecimal(computed.as_ref()) } else { String::new() }
    }
}

fn pack(plain: &[u8]) -> Result<Vec<u8>, String> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(plain).map_err(|error| error.to_string())?;
    packed.finish().map_err(|error| error.to_string())
}

fn unpack(packed: &[u8], size: u64) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    // One byte more than allowed, so that a larger object is noticed without reading it all.
    let read = GzDecoder::new(packed).take(size.saturating_add(1)).read_to_end(&mut plain);
    read.map_err(|error| error.to_string())?;
    Ok(plain)
}

async fn checked(file: std::path::PathBuf) -> Result<database::Database, ProviderError> {
    blocking(move || database::check(&file)).await
}

/// Runs blocking work on a thread for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, ProviderError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(permanent),
        Err(error) => Err(permanent(error.to_string())),
    }
}

fn failed(error: StoreError) -> ProviderError {
    let class = match &error {
        StoreError::NotFound { .. } => ErrorClass::NotFound,
        StoreError::Transient { .. } | StoreError::OutcomeUnknown { .. } => ErrorClass::Transient,
        _ => ErrorClass::Permanent,
    };
    ProviderError::new(class, with_causes(&error))
}

#[cfg(test)]
mod tests;
