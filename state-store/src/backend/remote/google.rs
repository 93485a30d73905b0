//! The client for Google Cloud Storage.

use std::sync::Arc;

use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{ObjectStore, StaticCredentialProvider};

use super::exchange::Observing;
use super::{client_options, endpoint, no_retry};
use crate::backend::settings::Settings;
use crate::backend::{Error, Result};

/// The ways to give Google Cloud Storage a credential.
pub(super) const CREDENTIALS: &str = "set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account, or run `gcloud auth \
                                      application-default login`";

/// A client for a bucket, and the host and port that it talks to.
pub(super) fn open(bucket: &str, settings: &Settings) -> Result<(Arc<dyn ObjectStore>, String)> {
    let mut builder = GoogleCloudStorageBuilder::new();
    for (name, value) in settings.variables("GOOGLE_") {
        if let Ok(key) = name.to_ascii_lowercase().parse::<GoogleConfigKey>()
            && !matches!(key, GoogleConfigKey::BaseUrl | GoogleConfigKey::Client(_))
        {
            builder = builder.with_config(key, value);
        }
    }
    let options = &settings.google;
    let emulator = settings.variable("STORAGE_EMULATOR_HOST").map(|host| {
        // As Google's own clients take it: with or without a scheme.
        if host.contains("://") { host.to_owned() } else { format!("http://{host}") }
    });
    if emulator.is_some() && options.endpoint.is_none() {
        // An emulator takes any token; without one the client would look for one.
        let token = GcpCredential { bearer: "emulator".to_owned() };
        builder = builder.with_credentials(Arc::new(StaticCredentialProvider::new(token)));
    }
    let url = options.endpoint.clone().or(emulator);
    let url = url.unwrap_or_else(|| "https://storage.googleapis.com".to_owned());
    let endpoint = endpoint::check("endpoint of Google Cloud Storage", &url, settings)?;
    if let Some(file) = credentials_file(settings) {
        builder = builder.with_application_credentials(file);
    }
    let store = builder
        .with_bucket_name(bucket)
        .with_base_url(&endpoint.url)
        .with_client_options(client_options(endpoint.is_http))
        .with_retry(no_retry())
        .with_http_connector(Observing::default())
        .build()
        .map_err(|error| Error::InvalidSetting {
            setting: format!("gs://{bucket}"),
            reason: crate::backend::error::describe(&error),
        })?;
    Ok((Arc::new(store), endpoint.authority))
}

/// The credential that `gcloud auth application-default login` leaves, when no other is named.
fn credentials_file(settings: &Settings) -> Option<String> {
    if let Some(file) = &settings.google.credentials_file {
        return file.to_str().map(str::to_owned);
    }
    if settings.variable("GOOGLE_APPLICATION_CREDENTIALS").is_some() {
        return None;
    }
    let folder = settings.variable("CLOUDSDK_CONFIG").map(Into::into);
    let folder = folder.or_else(|| Some(settings.home()?.join(".config/gcloud")))?;
    let file = folder.join("application_default_credentials.json");
    if file.is_file() { file.to_str().map(str::to_owned) } else { None }
}
