//! A toy of a key service: enough to show the contract, and no protection at all.

use slipway_resource::provider::{UnwrapKeyRequest, WrapKeyRequest};
use slipway_resource::{Digest, ErrorClass, ProviderError};
use zeroize::Zeroizing;

use crate::defect::Defect;

const KEYS: [&str; 2] = ["main", "other"];

/// How long the text of a digest is.
const SEAL: usize = 71;

pub fn wrap(request: &WrapKeyRequest, defect: &Defect) -> Result<Vec<u8>, ProviderError> {
    if !KEYS.contains(&request.key.as_str()) {
        let text = format!("there is not a key {}", request.key);
        return Err(ProviderError::new(ErrorClass::NotFound, text));
    }
    let masked = mask(&request.key, &request.plain);
    let mut wrapped = seal(&request.key, &request.scope, &masked, defect).as_str().as_bytes().to_vec();
    wrapped.extend(masked);
    Ok(wrapped)
}

pub fn unwrap(request: &UnwrapKeyRequest, defect: &Defect) -> Result<Zeroizing<Vec<u8>>, ProviderError> {
    let refused = || ProviderError::new(ErrorClass::Invalid, "this is not what the key has wrapped");
    let (sealed, masked) = request.wrapped.split_at_checked(SEAL).ok_or_else(refused)?;
    if seal(&request.key, &request.scope, masked, defect).as_str().as_bytes() != sealed {
        return Err(refused());
    }
    let mut plain = Zeroizing::new(mask(&request.key, masked));
    if defect.breaks("keys-round-trip") {
        plain.reverse();
    }
    Ok(plain)
}

fn seal(key: &str, scope: &str, masked: &[u8], defect: &Defect) -> Digest {
    let scope = if defect.breaks("keys-bound") { "" } else { scope };
    Digest::of_bytes(&[key.as_bytes(), b"\n", scope.as_bytes(), b"\n", masked].concat())
}

fn mask(key: &str, bytes: &[u8]) -> Vec<u8> {
    let stream = Digest::of_bytes(key.as_bytes());
    bytes
        .iter()
        .zip(stream.as_str().bytes().skip("sha256:".len()).cycle())
        .map(|(byte, mask)| byte ^ mask)
        .collect()
}
