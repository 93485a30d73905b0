//! Opens the backend of a state store's address.

use std::sync::Arc;

use super::file::FileBackend;
use super::patient::Patient;
use super::proved::Proved;
use super::remote::RemoteBackend;
use super::settings::Settings;
use super::url::Location;
use super::{Backend, Result};

/// Opens the backend that `url` names: a path, `file:///path`, `s3://bucket/prefix`, `gs://bucket/prefix` or
/// `az://container/prefix`, with the environment of this process. Reads and writes nothing yet.
///
/// The first write to a bucket without a marker probes whether it honours conditional writes ([`Proved`]).
///
/// # Errors
/// [`super::Error::InvalidUrl`] and [`super::Error::InvalidSetting`].
pub fn open(url: &str) -> Result<Arc<dyn Backend>> {
    open_with(url, &Settings::from_process())
}

/// Opens the backend that `url` names, as [`open`] does, with other settings.
///
/// # Errors
/// [`super::Error::InvalidUrl`] and [`super::Error::InvalidSetting`].
pub fn open_with(url: &str, settings: &Settings) -> Result<Arc<dyn Backend>> {
    let remote = match url.parse::<Location>()? {
        Location::Directory(path) => return Ok(Arc::new(FileBackend::open(path))),
        Location::S3(bucket) => RemoteBackend::s3(&bucket.name, &bucket.prefix, settings)?,
        Location::Google(bucket) => RemoteBackend::google(&bucket.name, &bucket.prefix, settings)?,
        Location::Azure(bucket) => RemoteBackend::azure(&bucket.name, &bucket.prefix, settings)?,
    };
    Ok(Arc::new(Proved::new(Arc::new(Patient::new(Arc::new(remote))))))
}
