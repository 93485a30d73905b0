//! The client for S3 and for what speaks its language.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

use super::exchange::Observing;
use super::{client_options, endpoint, no_retry};
use crate::backend::settings::Settings;
use crate::backend::{Error, Result};

/// A client for a bucket, and the host and port that it talks to.
pub(super) fn open(bucket: &str, settings: &Settings) -> Result<(Arc<dyn ObjectStore>, String)> {
    let mut builder = AmazonS3Builder::new();
    for (name, value) in settings.variables("AWS_") {
        // The address and how to get there are said below; the rest is credentials and encryption.
        if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>()
            && !matches!(key, AmazonS3ConfigKey::Endpoint | AmazonS3ConfigKey::Client(_))
        {
            builder = builder.with_config(key, value);
        }
    }
    let options = &settings.s3;
    let variable = |name| settings.variable(name).map(str::to_owned);
    let region =
        options.region.clone().or_else(|| variable("AWS_REGION")).or_else(|| variable("AWS_DEFAULT_REGION"));
    let region = region.unwrap_or_else(|| "us-east-1".to_owned());
    let given = options
        .endpoint
        .clone()
        .or_else(|| variable("AWS_ENDPOINT_URL_S3"))
        .or_else(|| variable("AWS_ENDPOINT_URL"));
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    let host = if options.virtual_hosted_style { format!("{bucket}.s3") } else { "s3".to_owned() };
    let url = given.unwrap_or_else(|| format!("https://{host}.{region}.{domain}"));
    let endpoint = endpoint::check("endpoint of S3", &url, settings)?;
    builder = builder
        .with_bucket_name(bucket)
        .with_region(region)
        .with_endpoint(&endpoint.url)
        .with_virtual_hosted_style_request(options.virtual_hosted_style)
        .with_client_options(client_options(endpoint.is_http))
        .with_disable_bulk_delete(true)
        .with_retry(no_retry())
        .with_http_connector(Observing::default());
    if let Some(key) = &options.kms_key {
        builder = builder.with_sse_kms_encryption(key);
    }
    let store = builder.build().map_err(|error| Error::InvalidSetting {
        setting: format!("s3://{bucket}"),
        reason: crate::backend::error::describe(&error),
    })?;
    Ok((Arc::new(store), endpoint.authority))
}
