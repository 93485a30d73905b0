//! Discloses the content of a file when a node is adopted.
//!
//! No answer of a provider contains a secret's text. So the caller makes a key for this one request, and the
//! answer is encrypted with it. Callers can change anything on the node anyway, so this discloses nothing
//! that they could not take.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use slipway_bootstrap::certificate_upload::CertificateKey;
use slipway_resource::provider::Applied;
use slipway_resource::schema::Operation;
use slipway_resource::{ProviderError, Value};

use super::Work;
use crate::attributes::Attributes;
use crate::error::{invalid, permanent};

/// The operation: `key` is a secret of 64 hexadecimal digits, under which the content is sealed.
pub const DISCLOSE: &str = "disclose";

/// The answer: nonce, content and tag of AES-256-GCM, in base64; absent when the file does not exist.
pub const SEALED: &str = "sealed";

/// The folder of files that may be disclosed: those of a cluster that another tool has made.
const FOLDER: &str = "/etc/kubernetes/";

pub(super) fn operation() -> Operation {
    Operation {
        description:
            "Gives its content away, sealed with the key of the arguments; only of what kubeadm makes."
                .to_owned(),
        duration_ms: 5,
        read_only: true,
    }
}

pub(super) async fn run(work: &Work, arguments: &Value) -> Result<Applied, ProviderError> {
    let path = work.identity();
    crate::root::check(path)?;
    if !path.starts_with(FOLDER) {
        return Err(invalid(format!("{path} is not given away: it is not in {FOLDER}")));
    }
    let key: CertificateKey = Attributes(arguments)
        .text("key")?
        .parse()
        .map_err(|error: slipway_bootstrap::certificate_upload::Error| invalid(format!("key: {error}")))?;
    let sealed = work
        .blocking(move |work| {
            let Some(content) = work.host().disk.read(work.identity())? else { return Ok(Value::Null) };
            let sealed = key.seal(&content).map_err(|error| permanent(error.to_string()))?;
            Ok(BASE64.encode(sealed).into())
        })
        .await?;
    Ok(Applied::new(work.place.identity.clone(), Value::map([(SEALED, sealed)])))
}
