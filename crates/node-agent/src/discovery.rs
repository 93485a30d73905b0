//! How the machine finds a cluster and comes to trust it: by a token, or by a kubeconfig from the operator.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value as Json;
use slipway_bootstrap::configuration::{Discovery, FileDiscovery, TokenDiscovery};
use slipway_bootstrap::discovery::{self, FileTrust};
use slipway_bootstrap::kubeconfig::Kubeconfig;
use slipway_bootstrap::pki::{Certificate, Pin};
use slipway_bootstrap::token::Token;
use slipway_cluster_api::https::{self, Document, Way};
use slipway_resource::SecretText;
use tokio::time::Instant;

use super::api::{Answer, Api, ApiError, Credentials, Trust};
use crate::code;
use crate::error::Error;

/// The pause before another attempt.
const AGAIN: Duration = Duration::from_millis(500);
/// The path of the public information about a cluster.
const PLACE: &str = "/api/v1/namespaces/kube-public/configmaps/cluster-info";

/// A cluster that is trusted.
#[derive(Clone, Debug)]
pub struct Found {
    /// The URL of its API.
    pub server: String,
    /// Its CAs, in PEM.
    pub authority: String,
    /// The text of the discovery kubeconfig, when it contains credentials.
    pub kubeconfig: Option<SecretText>,
    /// By how much the clock of this machine is ahead of the cluster's.
    pub clock_ahead_seconds: Option<i64>,
}

/// Finds the cluster. Until the time is over, the attempt is repeated while no server answers or the cluster
/// does not know the token yet.
pub async fn find(how: &Discovery, token: Option<&SecretText>, patience: Duration) -> Result<Found, Error> {
    match how {
        Discovery::Token(how) => {
            let Some(text) = token.or(how.token.text.as_ref()) else {
                return Err(Error::missing("the token of the discovery is not known here")
                    .hint("give it with --token"));
            };
            let token: Token =
                text.expose().parse().map_err(|error: slipway_bootstrap::token::TokenError| {
                    Error::new(error.code(), error.to_string())
                        .hint("`slipway node token create` on a control plane makes a token")
                })?;
            by_token(how, &token, patience).await
        }
        Discovery::File(how) => by_file(how, patience).await,
    }
}

async fn by_token(how: &TokenDiscovery, token: &Token, patience: Duration) -> Result<Found, Error> {
    let pins: Result<Vec<Pin>, _> = how.ca_cert_hashes.iter().map(|pin| pin.parse()).collect();
    let pins = pins.map_err(|error: slipway_bootstrap::pki::PinError| {
        Error::invalid(error.to_string())
            .hint("`slipway node token create --print-join-command` prints the pin")
    })?;
    let server = format!("https://{}", how.api_server_endpoint);
    let anybody = Api::new(&server, &Trust::Anybody, &Credentials::Anonymous)?;
    let until = Instant::now() + patience;
    let trusted = loop {
        let wrong = match anybody.get(PLACE).await {
            Ok(answer) => match discovery::trust(&texts(&answer.body), token, &pins) {
                Ok(trusted) => break trusted,
                Err(error) if may_pass(&error) => untrusted(&server, &error),
                Err(error) => return Err(untrusted(&server, &error)),
            },
            Err(error) if error.may_pass() || matches!(error.status(), Some(401 | 403 | 404)) => error.into(),
            Err(error) => return Err(error.into()),
        };
        if Instant::now() + AGAIN >= until {
            return Err(wrong);
        }
        tracing::debug!(?wrong, "the cluster is asked again");
        tokio::time::sleep(AGAIN).await;
    };
    let pinned: String = trusted.pinned.iter().map(Certificate::to_pem).collect();
    let verified = Api::new(&server, &Trust::Authorities(pinned), &Credentials::Anonymous)?;
    let answer = patiently(until, || verified.get(PLACE)).await?;
    trusted.confirm(&texts(&answer.body)).map_err(|error| untrusted(&server, &error))?;
    let cluster = trusted.kubeconfig.cluster().map_err(|error| unusable(&server, &error))?;
    Ok(Found {
        server: cluster.server,
        authority: trusted.authorities.iter().map(Certificate::to_pem).collect(),
        kubeconfig: None,
        clock_ahead_seconds: ahead(&answer),
    })
}

async fn by_file(how: &FileDiscovery, patience: Duration) -> Result<Found, Error> {
    let place = &how.kubeconfig_path;
    let until = Instant::now() + patience;
    let text = if place.starts_with("https://") {
        patiently(until, || document(place)).await?
    } else {
        slipway_limits::file::read_given_text(std::path::Path::new(place), slipway_limits::size::KUBECONFIG)
            .map_err(|error| Error::file("the discovery file", place.as_ref(), &error))?
    };
    let kubeconfig = Kubeconfig::parse(&text).map_err(|error| unusable(place, &error))?;
    let trust = FileTrust::from_kubeconfig(kubeconfig, |path| std::fs::read_to_string(path).ok())
        .map_err(|error| untrusted(place, &error))?;
    let authority = Trust::Authorities(trust.authority.clone());
    let api = Api::new(&trust.server, &authority, &Credentials::Anonymous)?;
    // A cluster that denies anonymous requests is trusted all the same.
    let answer = match patiently(until, || api.get(PLACE)).await {
        Ok(answer) => Some(answer),
        Err(error) if matches!(error.status(), Some(401 | 403 | 404)) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(Found {
        kubeconfig: trust.has_credentials().then(|| SecretText::new(text.as_str())),
        server: trust.server,
        authority: trust.authority,
        clock_ahead_seconds: answer.as_ref().and_then(ahead),
    })
}

/// Asks until there is an answer, or until it makes no sense any more.
pub async fn patiently<T, F>(until: Instant, ask: impl Fn() -> F) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    loop {
        match ask().await {
            Err(error) if error.may_pass() && Instant::now() + AGAIN < until => {
                tokio::time::sleep(AGAIN).await
            }
            answer => return answer,
        }
    }
}

/// Whether missing data may appear later: a new cluster signs a token after a moment.
fn may_pass(error: &discovery::Error) -> bool {
    matches!(error, discovery::Error::NoKubeconfig | discovery::Error::NoSignature(_))
}

/// The texts of a ConfigMap by key.
pub fn texts(object: &Json) -> BTreeMap<String, String> {
    let data = object.get("data").and_then(Json::as_object).into_iter().flatten();
    data.filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_owned()))).collect()
}

fn ahead(answer: &Answer) -> Option<i64> {
    Some(Timestamp::now().as_second() - answer.date?.as_second())
}

/// The text at a URL that the caller names.
async fn document(url: &str) -> Result<String, ApiError> {
    match https::get(url, Way::of_caller()).await? {
        Document::Text(text) => Ok(text),
        Document::Elsewhere(to) => Err(ApiError::Unusable(format!("{url} is at {to} now"))),
    }
}

fn untrusted(place: &str, error: &discovery::Error) -> Error {
    Error::new(error.code(), format!("what {place} says of the cluster cannot be trusted; nothing was done"))
        .cause(error.to_string())
        .hint("`slipway node token create --print-join-command` on a control plane of the cluster prints a command with a valid token and the right pin")
}

fn unusable(place: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(code::CLUSTER_INFO, format!("what {place} says of the cluster cannot be used"))
        .cause(error.to_string())
}
