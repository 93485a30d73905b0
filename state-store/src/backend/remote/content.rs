//! Reading a bucket that others write: objects as they are, without the header of this program's own objects.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::path::Path;
use object_store::{GetResult, ObjectStoreExt as _};
use slipway_limits::{Exceeded, Size};

use super::RemoteBackend;
use super::classify::Intent;
use crate::backend::settings::Settings;
use crate::backend::url::{Location, SUPPORTED};
use crate::backend::{Error, Result};

/// A bucket that is only read.
#[derive(Debug)]
pub struct Bucket(RemoteBackend);

/// An object of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name after the prefix of the bucket, with `/`.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// What changes with each write: its entity tag, or its generation.
    pub version: String,
}

impl Bucket {
    /// Opens the bucket that `url` names: `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`. Nothing is sent
    /// yet.
    ///
    /// # Errors
    /// [`Error::InvalidUrl`] and [`Error::InvalidSetting`].
    pub fn open(url: &str, settings: &Settings) -> Result<Self> {
        Ok(Self(match url.parse::<Location>()? {
            Location::S3(bucket) => RemoteBackend::s3(&bucket.name, &bucket.prefix, settings)?,
            Location::Google(bucket) => RemoteBackend::google(&bucket.name, &bucket.prefix, settings)?,
            Location::Azure(bucket) => RemoteBackend::azure(&bucket.name, &bucket.prefix, settings)?,
            Location::Directory(_) => {
                let reason = format!("it names no bucket; {SUPPORTED}");
                return Err(Error::InvalidUrl { url: url.to_owned(), reason });
            }
        }))
    }

    /// All objects of the bucket, sorted by name; `None` if there are more than `most`.
    ///
    /// # Errors
    /// When the bucket cannot be read.
    pub async fn list(&self, most: usize) -> Result<Option<Vec<Object>>> {
        let store = &self.0;
        let (root, what) = (store.path(""), format!("the bucket `{}`", store.place.bucket));
        let (mut listing, mut objects) = (store.store.list(Some(&root)), Vec::new());
        while let Some(found) = store.call(&what, Intent::Read, 0, listing.try_next()).await? {
            let Some(name) = store.strip(&found.location) else { continue };
            let version = found.e_tag.or(found.version).unwrap_or_else(|| found.last_modified.to_rfc3339());
            objects.push(Object { name: name.to_owned(), size: found.size, version });
            if objects.len() > most {
                return Ok(None);
            }
        }
        objects.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(Some(objects))
    }

    /// The content of an object, of at most `limit` bytes.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an object that is gone, [`Error::Corrupt`] for one that is larger, and when the bucket cannot be
    /// read.
    pub async fn get(&self, name: &str, limit: Size) -> Result<Bytes> {
        let (store, found) = (&self.0, self.found(name, limit).await?);
        let length = usize::try_from(found.meta.size).unwrap_or(usize::MAX);
        store.call(name, Intent::Read, length, found.bytes()).await
    }

    /// Receives the content of an object of at most `limit` bytes, one part after the other.
    ///
    /// # Errors
    /// Those of [`Bucket::get`], and those of `take`.
    pub async fn receive<E: From<Error>>(
        &self,
        name: &str,
        limit: Size,
        mut take: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (store, found) = (&self.0, self.found(name, limit).await?);
        let mut parts = found.into_stream();
        while let Some(part) = store.call(name, Intent::Read, 0, parts.try_next()).await? {
            take(&part)?;
        }
        Ok(())
    }

    /// An object of at most `limit` bytes. Its content is not read yet.
    async fn found(&self, name: &str, limit: Size) -> Result<GetResult> {
        let store = &self.0;
        // A listed name is a path already: nothing in it is encoded again.
        let path = match store.place.prefix.as_str() {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        };
        let path = Path::parse(path)
            .map_err(|_| Error::Corrupt { key: name.to_owned(), reason: "its name is no path".to_owned() })?;
        let found = store.call(name, Intent::Read, 0, store.store.get(&path)).await?;
        if found.meta.size > limit.bytes {
            let reason = Exceeded::TooLarge { limit }.to_string();
            return Err(Error::Corrupt { key: name.to_owned(), reason });
        }
        Ok(found)
    }
}
