//! KMS as the service that wraps data keys. The scope is the encryption context: KMS unwraps only with the
//! same context, and names it in CloudTrail.

use std::time::Duration;

use aws_sdk_kms::primitives::Blob;
use slipway_resource::provider::{UnwrapKeyRequest, WrapKeyRequest};
use slipway_resource::{ErrorClass, ProviderError, Value};
use zeroize::Zeroizing;

use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::known::Known;
use crate::rate::Class;

/// The key of the encryption context.
const SCOPE: &str = "slipway.dev/cluster";
/// How often a key that this session knows to exist is asked for again when KMS does not know it yet.
const ATTEMPTS: u32 = 20;
/// The pause before that.
const PAUSE: Duration = Duration::from_secs(1);

/// Wraps a data key. Nothing is kept in KMS, so that the call may be sent again.
pub(super) async fn wrap(cloud: &Cloud, request: &WrapKeyRequest) -> Result<Vec<u8>, ProviderError> {
    let call = || {
        cloud
            .kms()
            .encrypt()
            .key_id(&request.key)
            .plaintext(Blob::new(request.plain.as_slice()))
            .encryption_context(SCOPE, &request.scope)
            .send()
    };
    let mut answer = cloud.read(Class::Kms, "Encrypt", call).await;
    let is_known = !cloud.shared::<Known>().named_by(&Value::from(request.key.as_str())).is_empty();
    let attempts = if is_known { ATTEMPTS } else { 0 };
    for _ in 0..attempts {
        match &answer {
            Err(error) if error.class == ErrorClass::NotFound => tokio::time::sleep(PAUSE).await,
            _ => break,
        }
        answer = cloud.read(Class::Kms, "Encrypt", call).await;
    }
    let answer = answer?;
    let wrapped = answer.ciphertext_blob.ok_or_else(|| incomplete("Encrypt", "ciphertext"))?;
    Ok(wrapped.into_inner())
}

/// Unwraps a data key, with the key that is named and no other.
pub(super) async fn unwrap(
    cloud: &Cloud,
    request: &UnwrapKeyRequest,
) -> Result<Zeroizing<Vec<u8>>, ProviderError> {
    let call = || {
        cloud
            .kms()
            .decrypt()
            .key_id(&request.key)
            .ciphertext_blob(Blob::new(request.wrapped.as_slice()))
            .encryption_context(SCOPE, &request.scope)
            .send()
    };
    let answer = cloud.read(Class::Kms, "Decrypt", call).await?;
    let plain = answer.plaintext.ok_or_else(|| incomplete("Decrypt", "plaintext"))?;
    Ok(Zeroizing::new(plain.into_inner()))
}
