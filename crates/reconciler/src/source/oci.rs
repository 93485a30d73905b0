//! An artifact in an OCI registry as a source. Its revision is the digest of its manifest.

mod place;
mod registry;

use std::path::{Path, PathBuf};

use slipway_limits::size;

use super::{Checkout, Listing, archive, next_checkout};
use crate::configuration::OciSettings;
use crate::error::Error;
pub(crate) use place::{Place, is_host};
use registry::Registry;

/// An artifact.
#[derive(Debug)]
pub(super) struct Artifact {
    settings: OciSettings,
    /// Where the folders of revisions are made.
    data: PathBuf,
}

impl Artifact {
    pub fn new(settings: &OciSettings, data: &Path) -> Self {
        Self { settings: settings.clone(), data: data.to_owned() }
    }

    pub fn url(&self) -> &str {
        &self.settings.url
    }

    /// The digest of the manifest now, and its files unless the digest is the one of `last`.
    pub async fn read(
        &self,
        last: Option<&str>,
        paths: &[String],
    ) -> Result<(String, Option<(Listing, Checkout)>), Error> {
        let reference = self.settings.reference();
        if last == Some(reference) {
            // A digest never names another artifact.
            return Ok((reference.to_owned(), None));
        }
        let mut registry = Registry::new(&self.settings)?;
        if let Some(digest) = registry.digest(reference).await?
            && last == Some(digest.as_str())
        {
            return Ok((digest, None));
        }
        let (digest, layer) = registry.manifest(reference).await?;
        if last == Some(digest.as_str()) {
            return Ok((digest, None));
        }
        let bytes = registry.blob(&layer, size::REVISION).await?;
        let checkout = next_checkout(&self.data, "artifact");
        let (folder, paths) = (checkout.path().to_owned(), paths.to_vec());
        let unpacked = tokio::task::spawn_blocking(move || archive::unpack(&bytes, &folder, &paths)).await;
        let listing = unpacked.unwrap_or_else(|_| Err(registry.unavailable("its layer was not unpacked")))?;
        Ok((digest, Some((listing, checkout))))
    }
}
