//! Discovery: how a joining node establishes trust in a cluster.
//!
//! By token: the ConfigMap `cluster-info` in `kube-public` is read without authentication of the server. A
//! signature that requires the token proves its kubeconfig ([`signature`]), and pins prove its CA
//! ([`trust`]). Then it is read again over TLS that trusts only the pinned CAs, and must be the same
//! ([`Trusted::confirm`]). By file: a kubeconfig that the user brought there ([`FileTrust`]).

use std::collections::BTreeMap;

use aws_lc_rs::{constant_time::verify_slices_are_equal, hmac};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;

use crate::{
    kubeconfig::Kubeconfig,
    pki::{Certificate, Pin},
    token::{Stored, Token},
};

mod error;
mod file;

pub use error::Error;
pub use file::FileTrust;

/// The namespace of [`CONFIG_MAP`].
pub const NAMESPACE: &str = "kube-public";
/// The ConfigMap, which anonymous users may read.
pub const CONFIG_MAP: &str = "cluster-info";
/// Its key with the kubeconfig.
pub const KUBECONFIG: &str = "kubeconfig";
/// The prefix of its keys with signatures; the token's id follows.
pub const SIGNATURE_PREFIX: &str = "jws-kubeconfig-";

/// The signature of a kubeconfig's exact text with a token: a JWS (RFC 7515) with detached content.
#[must_use]
pub fn signature(kubeconfig: &str, token: &Token) -> String {
    // Clusters compare the whole text, so the header must have exactly these bytes.
    let header = format!(r#"{{"alg":"HS256","kid":"{}"}}"#, token.id());
    let header = URL_SAFE_NO_PAD.encode(header);
    let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(kubeconfig));
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.secret().expose().as_bytes());
    let tag = hmac::sign(&key, signed.as_bytes());
    format!("{header}..{}", URL_SAFE_NO_PAD.encode(tag))
}

/// Whether a signature of a kubeconfig's text was made with a token.
#[must_use]
pub fn is_signature(text: &str, kubeconfig: &str, token: &Token) -> bool {
    verify_slices_are_equal(text.as_bytes(), signature(kubeconfig, token).as_bytes()).is_ok()
}

/// The signatures for `cluster-info` beside a kubeconfig: one for each token that signs now, by its key.
#[must_use]
pub fn signatures(kubeconfig: &str, tokens: &[Stored], now: Timestamp) -> BTreeMap<String, String> {
    let signing = tokens.iter().filter(|stored| stored.signs(now));
    signing
        .map(|stored| {
            let key = format!("{SIGNATURE_PREFIX}{}", stored.token.id());
            (key, signature(kubeconfig, &stored.token))
        })
        .collect()
}

/// A cluster whose kubeconfig has a valid signature.
#[derive(Debug, Clone, PartialEq)]
pub struct Trusted {
    /// The kubeconfig: one cluster, without credentials.
    pub kubeconfig: Kubeconfig,
    /// Its exact text.
    pub text: String,
    /// The CAs that it names.
    pub authorities: Vec<Certificate>,
    /// The CAs with a matching pin: the only ones that the second read may trust. Without pins, all CAs.
    pub pinned: Vec<Certificate>,
}

/// Verifies the ConfigMap `cluster-info`: `data` are its texts by key. Without pins any CA is accepted.
///
/// # Errors
/// [`Error`] says which check failed: then no part of it may be used.
pub fn trust(data: &BTreeMap<String, String>, token: &Token, pins: &[Pin]) -> Result<Trusted, Error> {
    let text = data.get(KUBECONFIG).filter(|text| !text.is_empty()).ok_or(Error::NoKubeconfig)?;
    let key = format!("{SIGNATURE_PREFIX}{}", token.id());
    let signed = data.get(&key).filter(|text| !text.is_empty());
    let signed = signed.ok_or_else(|| Error::NoSignature(token.id().to_owned()))?;
    if !is_signature(signed, text, token) {
        return Err(Error::WrongSignature(token.id().to_owned()));
    }
    let kubeconfig = Kubeconfig::parse(text).map_err(|error| Error::Kubeconfig(error.to_string()))?;
    let cluster = kubeconfig.cluster().map_err(|error| Error::Kubeconfig(error.to_string()))?;
    let authority = cluster.authority.unwrap_or_default();
    let authorities =
        Certificate::chain_from_pem(&authority).map_err(|error| Error::Kubeconfig(error.to_string()))?;
    let is_pinned = |authority: &&Certificate| pins.is_empty() || pins.iter().any(|pin| pin.fits(authority));
    let pinned: Vec<Certificate> = authorities.iter().filter(is_pinned).cloned().collect();
    if pinned.is_empty() {
        let found = authorities.iter().map(|authority| Pin::of(authority.public_key())).collect();
        return Err(Error::NoPinFits { found });
    }
    Ok(Trusted { kubeconfig, text: text.clone(), authorities, pinned })
}

impl Trusted {
    /// Checks that the second read, over TLS that trusts only [`Trusted::pinned`], equals the first.
    ///
    /// # Errors
    /// [`Error::Changed`] when it is not.
    pub fn confirm(&self, data: &BTreeMap<String, String>) -> Result<(), Error> {
        if data.get(KUBECONFIG) == Some(&self.text) { Ok(()) } else { Err(Error::Changed) }
    }

    /// The PEM text of the CAs that the second read may trust.
    #[must_use]
    pub fn pinned_pem(&self) -> String {
        self.pinned.iter().map(Certificate::to_pem).collect()
    }
}

#[cfg(test)]
mod tests;
