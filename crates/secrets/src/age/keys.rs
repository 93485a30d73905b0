//! Recipients, to encrypt for, and identities, to decrypt with.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use zeroize::Zeroizing;

use super::bech32;
use crate::cipher::{self, Key};
use crate::error::{Error, Result};
use crate::{encoding, random};

const RECIPIENT: &str = "age";
const IDENTITY: &str = "age-secret-key-";
const INFO: &[u8] = b"age-encryption.org/v1/X25519";

/// The length of the key of an age file.
pub(super) const FILE_KEY: usize = 16;

/// A public key, written `age1…`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Recipient([u8; cipher::KEY]);

/// A private key, written `AGE-SECRET-KEY-1…`. It is wiped when it is dropped, and shown only as its
/// recipient.
pub struct Identity {
    secret: Key,
    recipient: Recipient,
}

impl Identity {
    /// Generates a new identity.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn generate() -> Result<Self> {
        Self::of_secret(random::key()?)
    }

    /// The recipient that it belongs to.
    #[must_use]
    pub fn recipient(&self) -> &Recipient {
        &self.recipient
    }

    /// The text for an identity file.
    #[must_use]
    pub fn to_secret_text(&self) -> Zeroizing<String> {
        let mut text = bech32::encode(IDENTITY, &*self.secret);
        text.make_ascii_uppercase();
        Zeroizing::new(text)
    }

    /// The identities of an identity file: one a line, with comments and blank lines between them.
    ///
    /// # Errors
    /// When a line is not an X25519 identity. The message has the number of the line and no part of its text.
    pub fn read_all(text: &str) -> Result<Vec<Self>> {
        let lines = text.lines().enumerate().map(|(index, line)| (index, line.trim()));
        lines
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .map(|(index, line)| {
                line.parse().map_err(|_| {
                    let reason = format!("line {} is not an identity such as AGE-SECRET-KEY-1…", index + 1);
                    Error::InvalidKey { what: "an identity file".to_owned(), reason }
                })
            })
            .collect()
    }

    fn of_secret(secret: Key) -> Result<Self> {
        let refused = |_| Error::Crypto("a private key is refused");
        let private = PrivateKey::from_private_key(&X25519, &*secret).map_err(|_| refused(()))?;
        let public = private.compute_public_key().map_err(|_| refused(()))?;
        let public = public.as_ref().try_into().map_err(|_| refused(()))?;
        Ok(Self { secret, recipient: Recipient(public) })
    }

    /// The file key of a stanza; `None` when the stanza is for another recipient.
    pub(super) fn unwrap(&self, share: &[u8], body: Vec<u8>) -> Option<Zeroizing<Vec<u8>>> {
        if body.len() != FILE_KEY + cipher::TAG {
            return None;
        }
        let key = wrapping_key(&self.secret, share, share, &self.recipient.0).ok()?;
        cipher::chacha_open(&key, [0; cipher::NONCE], body)
    }
}

impl Recipient {
    /// The line and the body of a stanza that holds a file key.
    pub(super) fn wrap(&self, file_key: &[u8; FILE_KEY]) -> Result<(String, Vec<u8>)> {
        let ephemeral = Identity::generate()?;
        let share = ephemeral.recipient.0;
        let key = wrapping_key(&ephemeral.secret, &self.0, &share, &self.0)?;
        let body = cipher::chacha_seal(&key, [0; cipher::NONCE], file_key)?;
        Ok((format!("X25519 {}", encoding::encode_bare(&share)), body))
    }
}

fn wrapping_key(secret: &Key, peer: &[u8], share: &[u8], recipient: &[u8]) -> Result<Key> {
    // aws-lc refuses a peer with which the shared secret would be all zeros.
    let refused = || Error::Crypto("a public key is refused");
    let private = PrivateKey::from_private_key(&X25519, &**secret).map_err(|_| refused())?;
    let peer = UnparsedPublicKey::new(&X25519, peer);
    agree(&private, peer, refused(), |shared| cipher::derive(shared, &[share, recipient].concat(), INFO))
}

impl FromStr for Identity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = || Error::InvalidKey {
            what: "an age identity".to_owned(),
            reason: "it has the form AGE-SECRET-KEY-1…".to_owned(),
        };
        let (prefix, bytes) = bech32::decode(text).ok_or_else(invalid)?;
        let bytes = Zeroizing::new(bytes);
        if prefix != IDENTITY {
            return Err(invalid());
        }
        Self::of_secret(Zeroizing::new(bytes.as_slice().try_into().map_err(|_| invalid())?))
    }
}

impl FromStr for Recipient {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = |reason: &str| Error::InvalidKey {
            what: format!("the age recipient `{text}`"),
            reason: reason.to_owned(),
        };
        if text.to_ascii_lowercase().starts_with(IDENTITY) {
            // The text is a secret, so the message does not repeat it.
            return Err(Error::InvalidKey {
                what: "an age recipient".to_owned(),
                reason: "this is an identity, which is secret; its recipient is age1…".to_owned(),
            });
        }
        match bech32::decode(text) {
            Some((prefix, bytes)) if prefix == RECIPIENT => {
                bytes.try_into().map(Self).map_err(|_| invalid("it has the wrong length"))
            }
            Some(_) => Err(invalid("only X25519 recipients are supported, age1… of 62 characters")),
            None => Err(invalid("it is mistyped")),
        }
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&bech32::encode(RECIPIENT, &self.0))
    }
}

impl fmt::Debug for Recipient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Identity({})", self.recipient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_shown_by_its_recipient_only() {
        let identity = Identity::generate().unwrap();
        let text = identity.to_secret_text();
        assert!(text.starts_with("AGE-SECRET-KEY-1"), "the form");
        let again: Identity = text.parse().unwrap();
        assert_eq!(again.recipient(), identity.recipient());
        assert_eq!(format!("{identity:?}"), format!("Identity({})", identity.recipient()));
        let mistaken = text.parse::<Recipient>().unwrap_err().to_string();
        assert!(!mistaken.contains(text.as_str()), "a secret in a message");
    }

    #[test]
    fn an_identity_file_has_comments_and_several_keys() {
        let (one, other) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let (first, second) = (one.to_secret_text(), other.to_secret_text());
        let file = format!("# created\n\n{}\n# old\n{}\n", *first, *second);
        let read = Identity::read_all(&file).unwrap();
        assert_eq!(
            read.iter().map(Identity::recipient).collect::<Vec<_>>(),
            [one.recipient(), other.recipient()]
        );
        let error = Identity::read_all("# a\nAGE-SECRET-KEY-1BAD").unwrap_err().to_string();
        assert!(error.contains("line 2") && !error.contains("BAD"), "{error}");
    }
}
