//! The client for Azure Blob Storage.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};

use super::exchange::Observing;
use super::{client_options, endpoint, no_retry};
use crate::backend::settings::Settings;
use crate::backend::{Error, Result};

/// The ways to give Azure a credential.
pub(super) const CREDENTIALS: &str = "set AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or run `az login` and set \
                                      AZURE_USE_AZURE_CLI=true";

/// A client for a container, and the host and port that it talks to.
pub(super) fn open(container: &str, settings: &Settings) -> Result<(Arc<dyn ObjectStore>, String)> {
    let invalid = |reason: String| Error::InvalidSetting { setting: format!("az://{container}"), reason };
    let mut builder = MicrosoftAzureBuilder::new();
    for (name, value) in settings.variables("AZURE_") {
        if let Ok(key) = name.to_ascii_lowercase().parse::<AzureConfigKey>()
            && !matches!(
                key,
                AzureConfigKey::Endpoint | AzureConfigKey::UseEmulator | AzureConfigKey::Client(_)
            )
        {
            builder = builder.with_config(key, value);
        }
    }
    // App Service and Container Apps say where their identity is in a variable without the common start.
    if let Some(url) = settings.variable("IDENTITY_ENDPOINT") {
        builder = builder.with_msi_endpoint(url);
    }
    let options = &settings.azure;
    let variable = |name| settings.variable(name).map(str::to_owned);
    let account = options.account.clone().or_else(|| variable("AZURE_STORAGE_ACCOUNT_NAME"));
    let account = account.or_else(|| variable("AZURE_STORAGE_ACCOUNT")).ok_or_else(|| {
        invalid(
            "the storage account is not known: set AZURE_STORAGE_ACCOUNT_NAME, or `account` in the file"
                .into(),
        )
    })?;
    let given = options.endpoint.clone();
    let given = given.or_else(|| variable("AZURE_STORAGE_ENDPOINT")).or_else(|| variable("AZURE_ENDPOINT"));
    let url = given.unwrap_or_else(|| format!("https://{account}.blob.core.windows.net"));
    let endpoint = endpoint::check("endpoint of Azure", &url, settings)?;
    let store = builder
        .with_account(account)
        .with_container_name(container)
        .with_endpoint(endpoint.url.clone())
        .with_client_options(client_options(endpoint.is_http))
        .with_retry(no_retry())
        .with_http_connector(Observing::default())
        .build()
        .map_err(|error| invalid(crate::backend::error::describe(&error)))?;
    Ok((Arc::new(store), endpoint.authority))
}
