//! Mirrors in buckets of S3, which the machine reads with the credentials of its role.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use async_trait::async_trait;
use slipway_limits::size::Size;
use slipway_programs::{LARGEST, Others};
use slipway_resource::with_causes;
use slipway_state_store::Settings;
use slipway_state_store::backend::remote::Bucket;

use crate::caller::Caller;

/// The scheme of their URLs.
const SCHEME: &str = "s3://";
/// The largest file.
const LIMIT: Size = Size { what: "a program", bytes: LARGEST };

/// The buckets of the region of the machine.
pub(super) struct Mirrors {
    settings: Settings,
}

/// Why a file cannot be received.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Bucket(#[from] slipway_state_store::backend::Error),
    #[error(transparent)]
    File(#[from] io::Error),
}

impl Mirrors {
    /// Those in a region, if the cloud has regions.
    pub(super) fn new(caller: &dyn Caller, region: Option<&str>) -> Self {
        let mut settings = caller.store_settings();
        if settings.s3.region.is_none() {
            settings.s3.region = region.map(str::to_owned);
        }
        Self { settings }
    }

    async fn write(&self, place: &str, part: &Path) -> Result<(), Failure> {
        let (bucket, name) = place.split_once('/').unwrap_or((place, ""));
        let bucket = Bucket::open(&format!("{SCHEME}{bucket}"), &self.settings)?;
        let mut file = File::create(part)?;
        bucket.receive(name, LIMIT, |bytes| file.write_all(bytes).map_err(Failure::from)).await?;
        Ok(file.sync_all()?)
    }
}

#[async_trait]
impl Others for Mirrors {
    async fn receive(&self, url: &str, part: &Path) -> Option<Result<(), String>> {
        let place = url.strip_prefix(SCHEME)?;
        Some(self.write(place, part).await.map_err(|error| with_causes(&error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_buckets_are_read_with_the_credentials_of_the_machine() {
        let folder = tempfile::tempdir().unwrap();
        let part = folder.path().join("part");
        let mut settings = Settings::new([
            ("AWS_ACCESS_KEY_ID".to_owned(), "testing".to_owned()),
            ("AWS_SECRET_ACCESS_KEY".to_owned(), "hidden-key".to_owned()),
        ]);
        settings.s3.endpoint = Some("http://127.0.0.1:1".to_owned());
        settings.s3.region = Some("us-east-1".to_owned());
        let mirrors = Mirrors { settings };
        assert!(mirrors.receive("https://mirror.example.com/kubelet", &part).await.is_none());
        assert!(!part.exists());
        let text = mirrors.receive("s3://bucket/v1/kubelet", &part).await.unwrap().unwrap_err();
        assert!(!text.is_empty() && !text.contains("hidden-key"), "{text}");
    }
}
