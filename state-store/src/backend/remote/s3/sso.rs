//! Credentials of the single sign-on (IAM Identity Center), from the token that `aws sso login` left.

use std::path::PathBuf;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use jiff::Timestamp;
use object_store::HeaderValue;
use object_store::aws::AwsCredential;
use object_store::client::{HttpClient, HttpRequest, HttpRequestBody};
use serde::Deserialize;

use super::super::endpoint::{self, Endpoint};
use super::credentials::{Fresh, failed};
use super::profile::{self, Profile, Profiles};
use super::role::{client, encode, send};
use crate::backend::Result;
use crate::backend::settings::Settings;

/// A role in an account, as the single sign-on gives it.
#[derive(Debug)]
pub(super) struct SingleSignOn {
    /// How the user signs in again, for messages.
    login: String,
    /// Where the token is.
    token: PathBuf,
    account: String,
    role: String,
    endpoint: Endpoint,
    client: HttpClient,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Token {
    access_token: String,
    expires_at: Timestamp,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    role_credentials: RoleCredentials,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleCredentials {
    access_key_id: String,
    secret_access_key: String,
    session_token: String,
    /// Milliseconds since 1970.
    expiration: i64,
}

impl SingleSignOn {
    pub(super) fn of(profiles: &Profiles, profile: Profile<'_>, settings: &Settings) -> Result<Self> {
        // With a session the token has its name, without one it has the address of the portal.
        let (section, name) = match profile.get("sso_session") {
            Some(name) => {
                let session = profiles.session(name);
                (
                    session.ok_or_else(|| profile.invalid(format!("there is no sso-session `{name}`")))?,
                    name.to_owned(),
                )
            }
            None => (profile, profile.need("sso_start_url")?),
        };
        let folder = profile::folder(settings).ok_or_else(|| profile.invalid("HOME is not set"))?;
        let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, name.as_bytes());
        let token = folder.join(format!("sso/cache/{}.json", crate::digest::hex(hash.as_ref())));
        let region = section.need("sso_region")?;
        let url = settings.variable("AWS_ENDPOINT_URL_SSO").map(str::to_owned);
        let url = url.unwrap_or_else(|| format!("https://portal.sso.{region}.{}", super::domain(&region)));
        let endpoint = endpoint::check("endpoint of the single sign-on", &url, settings)?;
        Ok(Self {
            login: format!("aws sso login --profile {}", profile.name),
            token,
            account: profile.need("sso_account_id")?,
            role: profile.need("sso_role_name")?,
            client: client(&endpoint)?,
            endpoint,
        })
    }

    pub(super) async fn make(&self) -> object_store::Result<Fresh> {
        let renew = |why: &str| failed(format!("{why}: run `{}`", self.login));
        let text = slipway_limits::file::read_text(&self.token, slipway_limits::size::CONFIGURATION)
            .map_err(|_| renew("there is no session of the single sign-on"))?;
        let token: Token = serde_json::from_str(&text).map_err(|_| renew("the session cannot be read"))?;
        if token.expires_at <= Timestamp::now() {
            return Err(renew("the session of the single sign-on is expired"));
        }
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        let url = format!(
            "{}/federation/credentials?role_name={}&account_id={}",
            self.endpoint.url,
            encode(&self.role),
            encode(&self.account)
        );
        *request.uri_mut() = url.parse().map_err(|_| failed(format!("{url} is not an address")))?;
        let bearer =
            HeaderValue::from_str(&token.access_token).map_err(|_| renew("the session cannot be used"))?;
        request.headers_mut().insert("x-amz-sso_bearer_token", bearer);
        let text =
            send(&self.client, request, &format!("the role {} of {}", self.role, self.account)).await?;
        let answer: Answer = serde_json::from_str(&text)
            .map_err(|_| failed("the single sign-on gives an answer that cannot be read"))?;
        let given = answer.role_credentials;
        let credential = AwsCredential {
            key_id: given.access_key_id,
            secret_key: given.secret_access_key,
            token: Some(given.session_token),
        };
        Ok(Fresh {
            credential: Arc::new(credential),
            ends: Timestamp::from_millisecond(given.expiration).ok(),
        })
    }
}
