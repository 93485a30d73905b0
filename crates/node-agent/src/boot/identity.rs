//! Asks the control planes of the cluster for the credential of this machine's node.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use slipway_bootstrap::configuration::{EncryptionAlgorithm, LocalEndpoint};
use slipway_bootstrap::pki::{Certificate, PrivateKey};
use slipway_limits::replace::{self, Readers};
use slipway_resource::provider::NodeChallenge;
use slipway_resource::{Digest, SecretText};

use super::Stop;
use crate::api::{Api, ApiError, Credentials, Trust};
use crate::code;
use crate::error::Error;
use crate::facts::below;
use crate::identity::{self, Ask, Challenge, Grant, Identifier, Wanted};

/// The private key of the certificate. It is kept until the machine has joined, so that a repeated request is for the same key.
const KEY: &str = "/var/lib/slipway/boot/node-client.key";
/// The certificate and the key, as the kubelet reads them.
const CREDENTIAL: &str = "/var/lib/slipway/boot/node-client.pem";

/// How long a credential is used again. It is valid for 30 minutes.
const RECENT: Duration = Duration::from_secs(900);

/// The facts about its cluster that a machine has before it has joined.
pub(super) struct Cluster<'a> {
    /// The provider and the region of the cloud.
    pub cloud: (&'a str, Option<&'a str>),
    /// The name of the endpoint.
    pub host: String,
    /// The authorities of the cluster, in PEM.
    pub authority: String,
    /// The digest of the bootstrap document, on machines that need it, too.
    pub document: Option<&'a str>,
}

/// The answer of a control plane.
pub(super) struct Answer {
    /// The path of the file with the client certificate of the node and its key.
    pub credential: String,
    /// The bootstrap document, if it was asked for. Its digest is not checked yet.
    pub document: Option<String>,
}

/// Gets the credential of a node, and writes it.
pub(super) async fn ask(cluster: Cluster<'_>, node: &str, root: &Path) -> Result<Answer, Stop> {
    let key = key(root)?;
    let Cluster { cloud: (provider, region), host, authority, document } = cluster;
    let endpoint = LocalEndpoint { host, port: identity::PORT };
    let url = endpoint.url();
    let api = Api::new(&url, &Trust::Authorities(authority), &Credentials::Anonymous).map_err(Error::from)?;
    let identifier = Identifier::start(provider, region).await?;
    let asked = exchange(&api, &url, &identifier, &endpoint.host, (node, &key, document)).await;
    identifier.end().await;
    let Grant { certificate, document } = asked?;
    let text = key.to_pem().map_err(|error| unusable(&error))?;
    let pem = SecretText::new(format!("{certificate}{}", text.expose()));
    let path = below(root, CREDENTIAL);
    replace::write(&path, pem.expose().as_bytes(), Readers::Owner)
        .map_err(|error| Error::file("the credential", &path, &error))?;
    Ok(Answer { credential: CREDENTIAL.to_owned(), document })
}

/// The credential that this machine got a moment ago. While it waits for something else, it does not ask again.
pub(super) fn recent(root: &Path) -> Option<String> {
    let written = std::fs::metadata(below(root, CREDENTIAL)).and_then(|found| found.modified()).ok()?;
    written.elapsed().is_ok_and(|age| age < RECENT).then(|| CREDENTIAL.to_owned())
}

/// Removes what is of no use any more: the kubelet has a certificate of its own.
pub(super) fn forget(root: &Path) {
    for path in [KEY, CREDENTIAL] {
        // It may never have been there.
        let _ = std::fs::remove_file(below(root, path));
    }
}

async fn exchange(
    api: &Api,
    url: &str,
    identifier: &Identifier,
    server: &str,
    (node, key, document): (&str, &PrivateKey, Option<&str>),
) -> Result<Grant, Stop> {
    let challenge: Challenge = post(api, url, identity::CHALLENGE, &serde_json::json!({})).await?;
    agree(Timestamp::now().as_second(), challenge.now)?;
    let document = document.map(str::to_owned);
    let wanted = Wanted { node: node.to_owned(), public_key: key.public_key().to_pem(), document };
    let request = serde_json::to_string(&wanted).map_err(|error| unusable(&error))?;
    let proved = NodeChallenge {
        server: server.to_owned(),
        nonce: challenge.nonce.clone(),
        request: Digest::of_bytes(request.as_bytes()),
    };
    let credential = identifier.session().bootstrap_credential(proved).await.map_err(|error| {
        Error::new(code::IDENTITY, "the cloud does not prove who this machine is").cause(error.message)
    })?;
    let ask = Ask {
        server: server.to_owned(),
        nonce: challenge.nonce,
        request,
        credential: STANDARD.encode(credential),
    };
    let grant: Grant = post(api, url, identity::CREDENTIAL, &ask).await?;
    let certificate = Certificate::from_pem(&grant.certificate).map_err(|error| unusable(&error))?;
    if certificate.public_key() != key.public_key() {
        return Err(unusable(&"the certificate is for another key").into());
    }
    Ok(Grant { certificate: certificate.to_pem(), document: grant.document })
}

/// Holds that the clock of this machine and that of a control plane agree, both in seconds since 1970: otherwise the cloud would
/// refuse the signature, and the cluster the certificate, and neither would say why.
fn agree(own: i64, other: i64) -> Result<(), Stop> {
    let apart = own.abs_diff(other);
    if apart <= identity::CLOCKS.as_secs() {
        return Ok(());
    }
    let way = if own > other { "ahead of" } else { "behind" };
    Err(Stop::Waits(format!(
        "waits for its clock: it is {apart} s {way} that of the control plane, and may be {} s apart; check the time service of \
         both machines",
        identity::CLOCKS.as_secs()
    )))
}

async fn post<T: DeserializeOwned>(
    api: &Api,
    url: &str,
    path: &str,
    body: &impl Serialize,
) -> Result<T, Stop> {
    let body = serde_json::to_value(body).map_err(|error| unusable(&error))?;
    let answer = api.post(path, &body).await.map_err(|error| match &error {
        // A refusal may be one of the moment as well: an instance that was just started, a node that just went.
        ApiError::Refused { status, message, .. } if status.as_u16() == 403 => Stop::Failed(
            Error::new(
                code::NO_CREDENTIAL,
                "the control plane does not give this machine the credential of a node",
            )
            .cause(message.clone())
            .hint("this machine tries again; when the cause does not pass, replace the machine"),
        ),
        ApiError::Refused { status, message, .. } if matches!(status.as_u16(), 409 | 429 | 503) => {
            Stop::Waits(format!("waits for {url}: {message}"))
        }
        // While the control plane comes about, each attempt ends in another way: the console says it once.
        ApiError::Unreachable { text, .. } if text.contains("certificate") => {
            Stop::Waits(format!("waits for a control plane that it trusts at {url}: {text}"))
        }
        ApiError::Unreachable { .. } => {
            tracing::debug!(%error, "no control plane gives credentials yet");
            Stop::Waits(format!("waits for a control plane that gives credentials at {url}"))
        }
        _ => Stop::Failed(error.into()),
    })?;
    Ok(serde_json::from_value(answer).map_err(|error| unusable(&error))?)
}

/// The key of this machine.
fn key(root: &Path) -> Result<PrivateKey, Error> {
    let path = below(root, KEY);
    match slipway_limits::file::read_text(&path, slipway_limits::size::KEY_FILE) {
        Ok(text) => {
            if let Ok(key) = PrivateKey::from_pem(&text) {
                return Ok(key);
            }
            tracing::warn!(path = %path.display(), "a key cannot be used, and a new one is created");
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::file("the key", &path, &error)),
    }
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).map_err(|error| unusable(&error))?;
    let text = key.to_pem().map_err(|error| unusable(&error))?;
    let write = || {
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        replace::write(&path, text.expose().as_bytes(), Readers::Owner)
    };
    write().map_err(|error| Error::file("the key", &path, &error))?;
    Ok(key)
}

fn unusable(error: &dyn std::fmt::Display) -> Error {
    Error::new(code::IDENTITY, "the credential of the node cannot be used").cause(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_are_ten_minutes_apart_are_named() {
        let now = 1_767_225_600;
        for (own, way) in [(now + 600, "600 s ahead of"), (now - 600, "600 s behind")] {
            let Err(Stop::Waits(text)) = agree(own, now) else { panic!("{own} is accepted") };
            assert!(text.starts_with("waits for its clock") && text.contains(way), "{text}");
        }
        assert!(agree(now + 240, now).is_ok() && agree(now - 240, now).is_ok());
        assert!(agree(now + 241, now).is_err());
    }
}
