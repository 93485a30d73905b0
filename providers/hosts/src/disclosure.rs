//! Files that another tool has made on a host which is entered by its agent only.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use slipway_bootstrap::certificate_upload::{CertificateKey, Error};
use slipway_provider_node::{DISCLOSE, SEALED};
use slipway_resource::provider::{Action, ApplyRequest, EventSink};
use slipway_resource::{
    Address, ClusterUid, Identity, Ownership, ProviderError, Secret, SecretText, Session, Token, Value,
};

use crate::error::permanent;
use crate::session::identity_on;

/// How long one file may take, in milliseconds.
const TIMEOUT_MS: u64 = 30_000;

/// A file of a host below `/etc/kubernetes`, for a cluster that is adopted. The host's agent encrypts it, and
/// it is decrypted here. `None` when the file does not exist, or is not text.
///
/// # Errors
/// When the agent does not answer, or the node belongs to another cluster.
pub async fn disclosed(
    session: &dyn Session,
    (uid, cluster): (&ClusterUid, &str),
    host: &str,
    path: &str,
) -> Result<Option<SecretText>, ProviderError> {
    let failed = |error: Error| permanent(format!("{host}: {path}: {error}"));
    let key = CertificateKey::generate().map_err(failed)?;
    let secret = Secret { text: Some(key.to_text()), ..Secret::new("disclosure") };
    let request = ApplyRequest {
        token: Token::new(format!("{DISCLOSE}-{host}-{path}")),
        ownership: Ownership {
            uid: uid.clone(),
            cluster: cluster.to_owned(),
            address: Address::new("file", format!("{host}/{DISCLOSE}")),
        },
        action: Action::Operation {
            identity: identity_on(host, &Identity::new(path)),
            name: DISCLOSE.to_owned(),
            arguments: Value::map([("key", Value::from(secret))]),
        },
        timeout_ms: TIMEOUT_MS,
    };
    let answer = session.apply(request, EventSink::discard()).await?;
    let Some(sealed) = answer.attributes.get(SEALED).and_then(Value::as_str) else { return Ok(None) };
    let sealed = BASE64.decode(sealed).map_err(|error| permanent(format!("{host}: {path}: {error}")))?;
    let content = key.open(path, &sealed).map_err(failed)?;
    Ok(std::str::from_utf8(&content).ok().map(SecretText::new))
}
