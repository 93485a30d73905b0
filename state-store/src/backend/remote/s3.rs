//! The client for S3 and for what speaks its language.

mod credentials;
mod profile;
mod role;
mod sso;

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential};

use super::exchange::Observing;
use super::{client_options, endpoint, no_retry};
use crate::backend::error::describe;
use crate::backend::settings::Settings;
use crate::backend::{Error, Result};
use credentials::{Shared, Source};
use profile::{Profile, Profiles};

/// The ways to give S3 a credential.
pub(super) const CREDENTIALS: &str = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile with AWS_PROFILE; `aws sso login` \
                                      renews the session of a profile";

/// Variables that name a source of credentials which the client library asks.
const OTHER_SOURCES: [&str; 4] = [
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
];

/// A client for a bucket, and the host and port that it talks to.
///
/// Credentials come from, in this order: a profile that the user names in the options; the variables; the profile that
/// `AWS_PROFILE` names, or the one called `default`; a web identity; the container; the instance.
pub(super) fn open(bucket: &str, settings: &Settings) -> Result<(Arc<dyn ObjectStore>, String)> {
    let (profiles, options) = (Profiles::read(settings)?, &settings.s3);
    let named = options.profile.as_deref().or_else(|| settings.variable("AWS_PROFILE"));
    let profile = profiles.profile(named.unwrap_or("default"));
    if let (Some(name), None) = (named, profile) {
        return Err(Error::InvalidSetting {
            setting: format!("AWS profile {name}"),
            reason: "it is in none of the shared files".into(),
        });
    }
    let mut builder = AmazonS3Builder::new();
    for (name, value) in settings.variables("AWS_") {
        // The address and how to get there are said below; the rest is credentials and encryption.
        if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>()
            && !matches!(
                key,
                AmazonS3ConfigKey::Endpoint | AmazonS3ConfigKey::S3Endpoint | AmazonS3ConfigKey::Client(_)
            )
        {
            builder = builder.with_config(key, value);
        }
    }
    let variable = |name| settings.variable(name).map(str::to_owned);
    let region = region(settings, profile).unwrap_or_else(|| "us-east-1".to_owned());
    let is_from_profile = options.profile.is_some() || environment(settings).is_none();
    let mut has_source = false;
    if let Some(profile) = profile.filter(|_| is_from_profile) {
        if let Some(source) = Source::of(&profiles, profile, settings)? {
            has_source = true;
            builder = builder.with_credentials(Arc::new(Shared::new(source)));
        } else if let Some(file) = profile.get("web_identity_token_file") {
            has_source = true;
            builder = builder
                .with_config(AmazonS3ConfigKey::WebIdentityTokenFile, file)
                .with_config(AmazonS3ConfigKey::RoleArn, profile.need("role_arn")?);
        }
    }
    let is_instance_off = settings.variable("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value == "true");
    let has_own = OTHER_SOURCES.iter().any(|name| settings.variable(name).is_some());
    if is_instance_off && !has_own && !has_source && environment(settings).is_none() {
        builder = builder.with_credentials(Arc::new(Shared::new(Source::Nowhere)));
    }
    let given = options
        .endpoint
        .clone()
        .or_else(|| variable("AWS_ENDPOINT_URL_S3"))
        .or_else(|| variable("AWS_ENDPOINT_URL"))
        .or_else(|| profile?.get("endpoint_url").map(str::to_owned));
    let host = if options.virtual_hosted_style { format!("{bucket}.s3") } else { "s3".to_owned() };
    let url = given.unwrap_or_else(|| format!("https://{host}.{region}.{}", domain(&region)));
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
        reason: describe(&error),
    })?;
    Ok((Arc::new(store), endpoint.authority))
}

/// Where the bucket is, as far as the user says so.
fn region(settings: &Settings, profile: Option<Profile<'_>>) -> Option<String> {
    let set = settings.s3.region.as_deref();
    let set =
        set.or_else(|| settings.variable("AWS_REGION")).or_else(|| settings.variable("AWS_DEFAULT_REGION"));
    set.or_else(|| profile?.get("region")).map(str::to_owned)
}

/// The domain of AWS for a region.
fn domain(region: &str) -> &'static str {
    if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" }
}

/// The keys in the environment.
fn environment(settings: &Settings) -> Option<AwsCredential> {
    Some(AwsCredential {
        key_id: settings.variable("AWS_ACCESS_KEY_ID")?.to_owned(),
        secret_key: settings.variable("AWS_SECRET_ACCESS_KEY")?.to_owned(),
        token: settings.variable("AWS_SESSION_TOKEN").map(str::to_owned),
    })
}
