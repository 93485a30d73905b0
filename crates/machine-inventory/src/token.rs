//! Tokens: JSON Web Tokens (RFC 7519) that are signed with Ed25519 (`EdDSA`, RFC 8037). Other algorithms are refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::keys::{PrivateKey, PublicKey};

/// How long a token of a host is valid.
const HOST_TOKEN: SignedDuration = SignedDuration::from_secs(60);
/// How far the clocks of a host and of the controller may differ.
const SKEW: SignedDuration = SignedDuration::from_secs(60);
/// The largest token that is read.
const LARGEST: usize = 4096;

/// A token was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The text is not a token that is signed with Ed25519.
    #[error("it is not a token that is signed with EdDSA")]
    Unreadable,
    /// The signature is of another key.
    #[error("its signature is not of the expected key")]
    Signature,
    /// The token has another subject or audience.
    #[error("its subject or its audience differs")]
    Purpose,
    /// The token has expired, or is not valid yet.
    #[error("it is not valid at this time")]
    Time,
}

/// The claims of a token. Times are in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Claims {
    /// Issuer.
    pub iss: String,
    /// Subject: the name of the host, or the address of the registration.
    pub sub: String,
    /// Audience: the address of the registration.
    pub aud: String,
    /// Begin of its validity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
    /// End of its validity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exp: Option<i64>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
}

impl Claims {
    /// A token with which hosts register at an address. Without a duration it never expires.
    #[must_use]
    pub fn of_registration(uri: &str, duration: SignedDuration, now: Timestamp) -> Self {
        let expires = (!duration.is_zero()).then(|| now.as_second().saturating_add(duration.as_secs()));
        let text = uri.to_owned();
        Self {
            iss: "ElementalRegistrationReconciler".to_owned(),
            sub: text.clone(),
            aud: text,
            nbf: None,
            exp: expires,
        }
    }

    /// A token with which a host shows that it has its key.
    #[must_use]
    pub fn of_host(name: &str, uri: &str, now: Timestamp) -> Self {
        let now = now.as_second();
        Self {
            iss: name.to_owned(),
            sub: name.to_owned(),
            aud: uri.to_owned(),
            nbf: Some(now.saturating_sub(2)),
            exp: Some(now.saturating_add(HOST_TOKEN.as_secs())),
        }
    }

    /// The signed token.
    #[must_use]
    pub fn sign(&self, key: &PrivateKey) -> String {
        let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(json!({"alg": "EdDSA", "typ": "JWT"})), part(json!(self)));
        let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }
}

/// Checks a token: its signature, its subject, its audience and its times.
///
/// # Errors
/// When it is not valid.
pub fn check(
    token: &str,
    key: &PublicKey,
    subject: &str,
    audience: &str,
    now: Timestamp,
) -> Result<(), TokenError> {
    if token.len() > LARGEST {
        return Err(TokenError::Unreadable);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Unreadable)?;
    let (header, claims) = signed.split_once('.').ok_or(TokenError::Unreadable)?;
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Unreadable);
    let header: Header = serde_json::from_slice(&bytes(header)?).map_err(|_| TokenError::Unreadable)?;
    if header.alg != "EdDSA" {
        return Err(TokenError::Unreadable);
    }
    if !key.verifies(signed.as_bytes(), &bytes(signature)?) {
        return Err(TokenError::Signature);
    }
    let claims: Claims = serde_json::from_slice(&bytes(claims)?).map_err(|_| TokenError::Unreadable)?;
    if claims.sub != subject || claims.aud != audience {
        return Err(TokenError::Purpose);
    }
    let (now, skew) = (now.as_second(), SKEW.as_secs());
    let expired = claims.exp.is_some_and(|until| until <= now);
    let early = claims.nbf.is_some_and(|from| from > now.saturating_add(skew));
    if expired || early { Err(TokenError::Time) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URI: &str = "https://example.com/elemental/v1/namespaces/default/registrations/rack";

    fn key() -> PrivateKey {
        PrivateKey::read(&PrivateKey::generate().unwrap()).unwrap()
    }

    #[test]
    fn a_token_is_for_one_subject_one_place_and_a_time() {
        let (own, other) = (key(), key());
        let public = own.public().unwrap();
        let now = Timestamp::from_second(1_000_000).unwrap();
        let later = |seconds| now + SignedDuration::from_secs(seconds);
        let token = Claims::of_host("a", URI, now).sign(&own);
        let refused =
            |token: &str, subject, audience, at| check(token, &public, subject, audience, at).unwrap_err();
        assert_eq!(check(&token, &public, "a", URI, now), Ok(()));
        assert_eq!(refused(&token, "b", URI, now), TokenError::Purpose);
        assert_eq!(refused(&token, "a", "https://example.com/other", now), TokenError::Purpose);
        assert_eq!(refused(&token, "a", URI, later(61)), TokenError::Time);
        assert_eq!(refused(&token, "a", URI, later(-120)), TokenError::Time);
        assert_eq!(
            refused(&Claims::of_host("a", URI, now).sign(&other), "a", URI, now),
            TokenError::Signature
        );
        assert_eq!(refused("a.b", "a", URI, now), TokenError::Unreadable);
        let unsigned =
            format!("{}.{}.", URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#), URL_SAFE_NO_PAD.encode("{}"));
        assert_eq!(refused(&unsigned, "a", URI, now), TokenError::Unreadable);
        let bent = token.replacen('.', ".A", 1);
        assert!(check(&bent, &public, "a", URI, now).is_err());
    }

    #[test]
    fn a_registration_token_expires_as_asked() {
        let (key, now) = (key(), Timestamp::from_second(1_000_000).unwrap());
        let public = key.public().unwrap();
        let token = |hours| Claims::of_registration(URI, SignedDuration::from_hours(hours), now).sign(&key);
        let at =
            |token: &str, hours| check(token, &public, URI, URI, now + SignedDuration::from_hours(hours));
        assert_eq!(at(&token(0), 1_000_000), Ok(()));
        assert_eq!(at(&token(24), 23), Ok(()));
        assert_eq!(at(&token(24), 24), Err(TokenError::Time));
        assert_eq!(at(&token(-1), 0), Err(TokenError::Time));
    }
}
