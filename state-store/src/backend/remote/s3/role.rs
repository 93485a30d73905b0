//! Roles that a profile takes on (STS, AssumeRole).

use std::sync::Arc;

use jiff::Timestamp;
use object_store::HeaderValue;
use object_store::aws::{AwsAuthorizer, AwsCredential};
use object_store::client::{HttpClient, HttpConnector, HttpRequest, HttpRequestBody};

use super::super::client_options;
use super::super::endpoint::{self, Endpoint};
use slipway_limits::size;

use super::super::exchange::{Observing, beginning, element};
use super::credentials::{Fresh, Source, failed};
use super::profile::{Profile, Profiles};
use crate::backend::settings::Settings;
use crate::backend::{Error, Result};

/// A role, and the credential that takes it on.
#[derive(Debug)]
pub(super) struct Role {
    base: Source,
    arn: String,
    session: String,
    external_id: Option<String>,
    seconds: Option<String>,
    region: String,
    endpoint: Endpoint,
    client: HttpClient,
}

impl Role {
    pub(super) fn of(
        profiles: &Profiles,
        profile: Profile<'_>,
        settings: &Settings,
        depth: usize,
    ) -> Result<Self> {
        if profile.get("mfa_serial").is_some() {
            return Err(profile.invalid(
                "it needs a second factor, which cannot be asked for here; export the credentials of the role instead \
                 (`aws configure export-credentials`)",
            ));
        }
        let base = match (profile.get("source_profile"), profile.get("credential_source")) {
            (Some(name), _) => {
                let base = profiles.profile(name);
                let base = base.ok_or_else(|| profile.invalid(format!("there is no profile `{name}`")))?;
                // A profile that names itself means its own keys.
                let depth = if name == profile.name { 0 } else { depth };
                Source::of_depth(profiles, base, settings, depth)?
                    .ok_or_else(|| profile.invalid(format!("the profile `{name}` has no credential")))?
            }
            (None, Some("Environment")) => match super::environment(settings) {
                Some(keys) => Source::Keys(keys),
                None => {
                    return Err(profile.invalid("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set"));
                }
            },
            (None, Some(source)) => {
                return Err(profile.invalid(format!("`credential_source = {source}` is not supported")));
            }
            (None, None) => return Err(profile.invalid("`role_arn` needs `source_profile`")),
        };
        let variable = |name| settings.variable(name).map(str::to_owned);
        let region = super::region(settings, Some(profile)).unwrap_or_else(|| "us-east-1".to_owned());
        let url = variable("AWS_ENDPOINT_URL_STS").or_else(|| variable("AWS_ENDPOINT_URL"));
        let url = url.unwrap_or_else(|| format!("https://sts.{region}.{}", super::domain(&region)));
        let endpoint = endpoint::check("endpoint of STS", &url, settings)?;
        let client = client(&endpoint)?;
        Ok(Self {
            base,
            arn: profile.need("role_arn")?,
            session: profile.get("role_session_name").unwrap_or("slipway").to_owned(),
            external_id: profile.get("external_id").map(str::to_owned),
            seconds: profile.get("duration_seconds").map(str::to_owned),
            region,
            endpoint,
            client,
        })
    }

    pub(super) async fn make(&self) -> object_store::Result<Fresh> {
        // A role may take on a role, and a future cannot contain itself.
        let base = Box::pin(self.base.make()).await?;
        let mut fields = vec![
            ("Action", "AssumeRole"),
            ("Version", "2011-06-15"),
            ("RoleArn", &self.arn),
            ("RoleSessionName", &self.session),
        ];
        fields.extend(self.external_id.as_deref().map(|id| ("ExternalId", id)));
        fields.extend(self.seconds.as_deref().map(|seconds| ("DurationSeconds", seconds)));
        let form: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        let mut request = HttpRequest::new(HttpRequestBody::from(form.join("&")));
        let url = format!("{}/", self.endpoint.url);
        *request.uri_mut() = url.parse().map_err(|_| failed(format!("{url} is not an address")))?;
        *request.method_mut() = "POST".parse().map_err(|_| failed("POST"))?;
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert("content-type", kind);
        AwsAuthorizer::new(&base.credential, "sts", &self.region).try_authorize(&mut request, None)?;
        let text = send(&self.client, request, &format!("taking on the role {}", self.arn)).await?;
        let value = |name| element(&text, name).ok_or_else(|| failed(format!("STS gives no {name}")));
        let credential = AwsCredential {
            key_id: value("AccessKeyId")?,
            secret_key: value("SecretAccessKey")?,
            token: Some(value("SessionToken")?),
        };
        let ends = value("Expiration")?.parse::<Timestamp>();
        let ends = ends.map_err(|_| failed("STS gives a time that cannot be read"))?;
        Ok(Fresh { credential: Arc::new(credential), ends: Some(ends) })
    }
}

/// A client for whatever gives credentials.
pub(super) fn client(endpoint: &Endpoint) -> Result<HttpClient> {
    Observing::default()
        .connect(&client_options(endpoint.is_http))
        .map_err(|error| Error::InvalidSetting { setting: endpoint.url.clone(), reason: error.to_string() })
}

/// Sends a request, and gives the text of its answer when it is one of success.
pub(super) async fn send(
    client: &HttpClient,
    request: HttpRequest,
    what: &str,
) -> object_store::Result<String> {
    let answer = client.execute(request).await.map_err(|error| failed(format!("{what}: {error}")))?;
    let status = answer.status();
    let (body, is_all) = beginning(answer.into_body(), size::CREDENTIALS_ANSWER).await;
    if !is_all {
        return Err(failed(format!("{what}: the answer has more than {}", size::CREDENTIALS_ANSWER)));
    }
    let text = String::from_utf8_lossy(&body).into_owned();
    if !status.is_success() {
        let code = element(&text, "Code").unwrap_or_default();
        return Err(failed(format!("{what} gives {} {code}", status.as_u16())));
    }
    Ok(text)
}

/// Percent-encodes all but what needs no encoding anywhere (RFC 3986, 2.3).
pub(super) fn encode(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}
