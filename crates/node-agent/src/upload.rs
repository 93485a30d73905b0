//! Shared certificates in the cluster, encrypted, for control planes that join within two hours.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::Value as Json;
use slipway_bootstrap::certificate_upload::{self, CertificateKey};
use slipway_bootstrap::configuration::Configuration;
use slipway_bootstrap::objects::{self, TokenObject};
use slipway_bootstrap::token::Token;
use slipway_resource::{SecretText, Value};
use zeroize::Zeroizing;

use super::api::Api;
use super::begin::whole_seconds;
use super::facts::below;
use crate::code;
use crate::error::Error;

const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";
/// How long uploaded certificates live.
const LIFE: Duration = Duration::from_secs(2 * 3600);

/// Encrypts the shared certificates of this machine and stores them in the cluster. They are removed when the
/// token that owns them expires.
pub async fn certificates(root: &Path, configuration: &Configuration, key: &SecretText) -> Result<(), Error> {
    let refused = |error: certificate_upload::Error| Error::new(error.code(), error.to_string());
    let key: CertificateKey = key.expose().parse().map_err(refused)?;
    let authority = format!("{}/ca.key", configuration.cluster.certificates_dir);
    if !below(root, &authority).exists() {
        return Err(Error::new(
            code::SHARED_CERTIFICATES,
            format!("{authority} is not here, so there is nothing to share"),
        )
        .hint("with an external CA the files are brought to each control plane by other means"));
    }
    let read = |path: &str| -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
        match std::fs::read(below(root, path)) {
            Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure(Error::file("the certificate", path.as_ref(), &error))),
        }
    };
    let sealed = certificate_upload::seal(configuration, &key, read).map_err(|failure| failure.0)?;
    let data: Vec<(String, String)> =
        sealed.into_iter().map(|(name, bytes)| (name, BASE64_STANDARD.encode(bytes))).collect();
    let api = Api::of_administrator(root)?;
    let token = Token::generate().map_err(|error| Error::new(error.code(), error.to_string()))?;
    let owner = objects::bootstrap_token(&TokenObject {
        id: token.id(),
        secret: Value::from(token.secret().expose()),
        description: objects::OWNER_DESCRIPTION,
        expiration: Some(whole_seconds(Timestamp::now(), LIFE)?),
        usages: &[],
        groups: &[],
    });
    let owner = api.post(SECRETS, &owner.to_json()).await?;
    let uid = owner.pointer("/metadata/uid").and_then(Json::as_str).unwrap_or_default();
    let shared = objects::shared_certificates(&data, token.id(), uid);
    put(&api, SECRETS, certificate_upload::SECRET, &shared).await?;
    for role in objects::certificates_roles() {
        let kind = role.get("kind").and_then(Json::as_str).unwrap_or_default();
        let plural = format!("{}s", kind.to_lowercase());
        let name = role.pointer("/metadata/name").and_then(Json::as_str).unwrap_or_default().to_owned();
        let path = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/{plural}");
        put(&api, &path, &name, &role).await?;
    }
    Ok(())
}

/// Creates an object, or changes the existing one to match.
async fn put(api: &Api, path: &str, name: &str, object: &Json) -> Result<(), Error> {
    match api.post(path, object).await {
        Err(error) if error.status() == Some(409) => {
            api.merge(&format!("{path}/{name}"), object).await?;
        }
        answer => drop(answer?),
    }
    Ok(())
}

/// Why the files cannot be encrypted.
struct Failure(Error);

impl From<certificate_upload::Error> for Failure {
    fn from(error: certificate_upload::Error) -> Self {
        Self(Error::new(error.code(), error.to_string()))
    }
}
