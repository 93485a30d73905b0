//! A bucket with specs.

use serde::Deserialize;
use slipway_state_store::Settings;
use slipway_state_store::backend::url::Location;

/// A bucket of S3, Google Cloud Storage or Azure Blob Storage. Credentials come from the environment of the controller, as
/// those of a state store do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BucketSettings {
    /// `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`.
    pub url: String,
    /// The address of a store that is not that of the provider.
    pub endpoint: Option<String>,
    /// For `s3://`: the region of the bucket.
    pub region: Option<String>,
    /// For `s3://`: a profile of the shared files of AWS.
    pub profile: Option<String>,
    /// For `az://`: the storage account.
    pub account: Option<String>,
}

impl BucketSettings {
    /// The settings of the store, where this table has none those of the environment.
    pub(crate) fn over(&self, mut settings: Settings) -> Settings {
        let endpoint = || self.endpoint.clone();
        settings.s3.endpoint = endpoint().or(settings.s3.endpoint);
        settings.s3.region = self.region.clone().or(settings.s3.region);
        settings.s3.profile = self.profile.clone().or(settings.s3.profile);
        settings.google.endpoint = endpoint().or(settings.google.endpoint);
        settings.azure.endpoint = endpoint().or(settings.azure.endpoint);
        settings.azure.account = self.account.clone().or(settings.azure.account);
        settings
    }

    /// Why the table cannot be used; `None` if it can.
    pub(super) fn problem(&self) -> Option<String> {
        let location = match self.url.parse::<Location>() {
            Ok(location) => location,
            Err(error) => return Some(format!("`bucket.url`: {error}")),
        };
        let (of_s3, of_azure) = (self.region.is_some() || self.profile.is_some(), self.account.is_some());
        match location {
            Location::Directory(_) => Some("`bucket.url` names no bucket; use `folder`".to_owned()),
            Location::S3(_) if of_azure => Some("`bucket.account` belongs to az://".to_owned()),
            Location::Azure(_) if of_s3 => {
                Some("`bucket.region` and `bucket.profile` belong to s3://".to_owned())
            }
            Location::Google(_) if of_s3 || of_azure => Some(
                "`bucket.region`, `bucket.profile` and `bucket.account` do not belong to gs://".to_owned(),
            ),
            Location::S3(_) | Location::Azure(_) | Location::Google(_) => None,
        }
    }
}
