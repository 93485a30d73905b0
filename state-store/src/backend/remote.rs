//! Objects in an object store: S3 and compatible stores, Google Cloud Storage, Azure Blob Storage.
//!
//! - Each object begins with a header line (`envelope`), so that every write makes another version, and
//!   damage is detected.
//! - The client library retries nothing: a conditional write that is repeated after a lost answer would
//!   conflict with itself. The writer resolves that by reading; [`super::patient`] retries reads.
//! - Errors are classified by the observed exchange (`classify`), never by their text.

mod azure;
mod classify;
mod content;
mod endpoint;
mod exchange;
mod google;
mod s3;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{
    ClientOptions, ObjectStore, ObjectStoreExt, PutMode, PutOptions, RetryConfig, UpdateVersion,
};
use slipway_limits::{Exceeded, size};

use super::envelope::Envelope;
use super::settings::Settings;
use super::{Backend, Error, Key, Prefix, Result, Tag};
use classify::{Failed, Intent};

pub use classify::Cause;
pub use content::{Bucket, Object};

/// The minimum rate of transfer, whatever else is in progress. The timeout for bodies depends on it.
const SLOWEST_BYTES_PER_SECOND: usize = 128 << 10;

/// Keeps objects in a bucket.
#[derive(Debug)]
pub struct RemoteBackend {
    store: Arc<dyn ObjectStore>,
    place: Place,
    timeout: Duration,
}

/// Which bucket, and how it names versions.
#[derive(Clone, Debug)]
struct Place {
    bucket: String,
    /// The prefix of each key.
    prefix: String,
    /// The host and port of the store.
    authority: String,
    versions: Versions,
    /// The ways to give the store a credential, for messages.
    ways: &'static str,
}

impl Place {
    fn new(bucket: &str, prefix: &str, authority: String, versions: Versions, ways: &'static str) -> Self {
        Self { bucket: bucket.into(), prefix: prefix.into(), authority, versions, ways }
    }
}

/// By what a store tells versions of an object apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Versions {
    ETag,
    Generation,
}

impl Versions {
    /// Keeps what the store compares. What else it says may differ between a write and a read.
    fn tag(self, e_tag: Option<String>, version: Option<String>) -> Option<Tag> {
        match self {
            Self::ETag => e_tag.map(Tag::from_e_tag),
            Self::Generation => version.map(|version| Tag { e_tag: None, version: Some(version) }),
        }
    }
}

impl RemoteBackend {
    /// A bucket of S3, or of what speaks its language.
    ///
    /// # Errors
    /// When the settings do not fit together. Nothing is sent yet.
    pub fn s3(bucket: &str, prefix: &str, settings: &Settings) -> Result<Self> {
        let (store, authority) = s3::open(bucket, settings)?;
        let place = Place::new(bucket, prefix, authority, Versions::ETag, s3::CREDENTIALS);
        Ok(Self { store, place, timeout: settings.timeout() })
    }

    /// A bucket of Google Cloud Storage.
    ///
    /// # Errors
    /// When the settings do not fit together. Nothing is sent yet.
    pub fn google(bucket: &str, prefix: &str, settings: &Settings) -> Result<Self> {
        let (store, authority) = google::open(bucket, settings)?;
        let place = Place::new(bucket, prefix, authority, Versions::Generation, google::CREDENTIALS);
        Ok(Self { store, place, timeout: settings.timeout() })
    }

    /// A container of Azure Blob Storage.
    ///
    /// # Errors
    /// When the settings do not fit together. Nothing is sent yet.
    pub fn azure(container: &str, prefix: &str, settings: &Settings) -> Result<Self> {
        let (store, authority) = azure::open(container, settings)?;
        let place = Place::new(container, prefix, authority, Versions::ETag, azure::CREDENTIALS);
        Ok(Self { store, place, timeout: settings.timeout() })
    }

    /// Runs a call, for as long as the transfer of so many bytes may take, and classes its failure.
    async fn call<T: Send>(
        &self,
        key: &str,
        intent: Intent,
        bytes: usize,
        call: impl Future<Output = object_store::Result<T>> + Send,
    ) -> Result<T> {
        let seconds = u64::try_from(bytes / SLOWEST_BYTES_PER_SECOND).unwrap_or(u64::MAX);
        let limit = self.timeout.saturating_add(Duration::from_secs(seconds));
        let (result, seen) = exchange::observed(tokio::time::timeout(limit, call)).await;
        let error = match result {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => Some(error),
            Err(_) => None,
        };
        let (bucket, authority) = (self.place.bucket.as_str(), self.place.authority.as_str());
        let ways = self.place.ways;
        let failure = Failed { key, intent, bucket, authority, ways, seen, error }.classify();
        tracing::debug!(%key, ?intent, error = %failure, "a call to the store failed");
        Err(failure)
    }

    async fn put(&self, key: &Key, bytes: Bytes, mode: PutMode, intent: Intent) -> Result<Tag> {
        let random = crate::random::hex().map_err(|_| Error::Random)?;
        let (_, line) = Envelope::seal(&random, &bytes);
        let length = line.len() + bytes.len();
        let payload = [Bytes::from(line), bytes].into_iter().collect::<object_store::PutPayload>();
        let (path, options) = (self.path(key.as_str()), PutOptions::from(mode));
        let put =
            self.call(key.as_str(), intent, length, self.store.put_opts(&path, payload, options)).await?;
        self.place.versions.tag(put.e_tag, put.version).ok_or_else(|| untagged(key))
    }

    /// The path of a key or prefix in the bucket. Keys and prefixes have only characters that mean themselves there.
    fn path(&self, name: &str) -> Path {
        let parts = [self.place.prefix.as_str(), name].into_iter().filter(|part| !part.is_empty());
        Path::from(parts.collect::<Vec<_>>().join("/"))
    }

    /// The name of a listed folder, for messages. The root is named by its bucket.
    fn name(&self, prefix: &Prefix) -> String {
        if prefix.as_str().is_empty() {
            format!("the bucket `{}`", self.place.bucket)
        } else {
            prefix.to_string()
        }
    }

    /// The part of a path after this store's prefix.
    fn strip<'a>(&self, path: &'a Path) -> Option<&'a str> {
        let path: &str = path.as_ref();
        if self.place.prefix.is_empty() {
            return Some(path);
        }
        path.strip_prefix(self.place.prefix.as_str())?.strip_prefix('/')
    }
}

#[async_trait]
impl Backend for RemoteBackend {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Tag> {
        self.put(key, bytes, PutMode::Create, Intent::Create).await
    }

    async fn get(&self, key: &Key) -> Result<Option<(Bytes, Tag)>> {
        let path = self.path(key.as_str());
        let found = match self.call(key.as_str(), Intent::Read, 0, self.store.get(&path)).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let tag = self.place.versions.tag(found.meta.e_tag.clone(), found.meta.version.clone());
        if found.meta.size > size::STATE_OBJECT.bytes {
            let exceeded = Exceeded::TooLarge { limit: size::STATE_OBJECT };
            return Err(Error::corrupt(key, exceeded.to_string()));
        }
        let length = usize::try_from(found.meta.size).unwrap_or(usize::MAX);
        let stored = self.call(key.as_str(), Intent::Read, length, found.bytes()).await?;
        let (_, bytes) = Envelope::open(stored).map_err(|reason| Error::corrupt(key, reason))?;
        Ok(Some((bytes, tag.ok_or_else(|| untagged(key))?)))
    }

    async fn update(&self, key: &Key, bytes: Bytes, tag: &Tag) -> Result<Tag> {
        let version = UpdateVersion { e_tag: tag.e_tag.clone(), version: tag.version.clone() };
        let result = self.put(key, bytes, PutMode::Update(version), Intent::Update).await;
        if !matches!(result, Err(Error::Conflict { .. })) {
            return result;
        }
        // Some stores give the same answer when there is nothing to update.
        let path = self.path(key.as_str());
        match self.call(key.as_str(), Intent::Read, 0, self.store.head(&path)).await {
            Err(missing @ Error::NotFound { .. }) => Err(missing),
            _ => result,
        }
    }

    async fn list(&self, prefix: &Prefix) -> Result<Vec<Key>> {
        let (path, name) = (self.path(prefix.as_str()), self.name(prefix));
        let (mut listing, mut keys) = (self.store.list(Some(&path)), Vec::new());
        while let Some(found) = self.call(&name, Intent::Read, 0, listing.try_next()).await? {
            let name = self.strip(&found.location).filter(|name| prefix.strip(name).is_some());
            // An object whose name cannot be a key was stored by another program.
            keys.extend(name.and_then(|name| Key::new(name).ok()));
        }
        keys.sort();
        Ok(keys)
    }

    async fn list_children(&self, prefix: &Prefix) -> Result<Vec<String>> {
        let (path, name) = (self.path(prefix.as_str()), self.name(prefix));
        let listing = self.store.list_with_delimiter(Some(&path));
        let found = self.call(&name, Intent::Read, 0, listing).await?;
        let below = found.common_prefixes.iter().filter_map(|path| self.strip(path));
        let names = below.filter_map(|name| prefix.strip(name));
        let mut names: Vec<String> = names.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        names.sort();
        Ok(names)
    }

    async fn delete(&self, key: &Key) -> Result<()> {
        let path = self.path(key.as_str());
        match self.call(key.as_str(), Intent::Delete, 0, self.store.delete(&path)).await {
            Err(Error::NotFound { .. }) => Ok(()),
            result => result,
        }
    }
}

fn untagged(key: &Key) -> Error {
    Error::Unfit { rule: "each object has a version", seen: format!("{key} has none") }
}

/// Options of all stores' clients. [`RemoteBackend::call`] applies the timeouts.
fn client_options(allow_http: bool) -> ClientOptions {
    ClientOptions::new()
        .with_allow_http(allow_http)
        .with_timeout_disabled()
        .with_connect_timeout(Duration::from_secs(5))
        .with_http1_only()
}

/// No second attempt.
fn no_retry() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}
