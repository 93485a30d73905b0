use std::{fmt, str::FromStr};

use aws_lc_rs::digest::{SHA256, digest};
use slipway_resource::hexadecimal;

use super::{certificate::Certificate, key::PublicKey};

/// A pin of a public key: `sha256:` and the digest of its `SubjectPublicKeyInfo` in 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pin([u8; 32]);

/// A text that is no pin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a pin of a CA: write `sha256:` and the 64 hexadecimal digits of its public key's digest"
)]
pub struct PinError(String);

impl Pin {
    /// The pin of a key.
    #[must_use]
    pub fn of(key: &PublicKey) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, key.as_der()).as_ref());
        Self(bytes)
    }

    /// Whether the pin is that of the key which the certificate vouches for.
    #[must_use]
    pub fn fits(&self, certificate: &Certificate) -> bool {
        *self == Self::of(certificate.public_key())
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sha256:{}", hexadecimal(&self.0))
    }
}

impl FromStr for Pin {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        let wrong = || PinError(text.to_owned());
        let (kind, digits) = text.split_once(':').ok_or_else(wrong)?;
        if !kind.eq_ignore_ascii_case("sha256") {
            return Err(wrong());
        }
        let bytes = super::hex::decode(digits).ok_or_else(wrong)?;
        Ok(Self(bytes.try_into().map_err(|_| wrong())?))
    }
}
