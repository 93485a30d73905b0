//! Bootstrap tokens, and the Secrets that make them valid.
//!
//! A token has a public id of 6 and a secret of 16 letters and digits. The API server reads it from the
//! Secret `bootstrap-token-<id>` in `kube-system`. A client with the token is the user
//! `system:bootstrap:<id>` in the token's groups.

use std::{collections::BTreeMap, fmt, str::FromStr};

use aws_lc_rs::{
    constant_time::verify_slices_are_equal,
    rand::{SecureRandom as _, SystemRandom},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_resource::SecretText;

use crate::configuration::BootstrapTokenSettings;

mod bound;
mod stored;

pub use bound::{BOUND_GROUP, ONCE, USED_BY, group_of_node, groups_of_node, node_of_groups};
pub use stored::{Stored, StoredError};

/// The namespace of token Secrets.
pub const NAMESPACE: &str = "kube-system";
/// The type of token Secrets.
pub const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";
/// The group of nodes that join with a token of kubeadm's kind.
pub const DEFAULT_GROUP: &str = "system:bootstrappers:kubeadm:default-node-token";
/// The prefix of every group of a token.
pub const GROUP_PREFIX: &str = "system:bootstrappers:";
/// The usages of tokens.
pub const USAGES: [&str; 2] = ["signing", "authentication"];

const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const ID_LENGTH: usize = 6;
const SECRET_LENGTH: usize = 16;

/// A bootstrap token. `Debug` and `Display` show its id only.
#[derive(Clone)]
pub struct Token {
    id: String,
    secret: SecretText,
}

/// Errors of tokens.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// A text does not have the form of a token. The message does not show it, since it may be a token with a
    /// typing mistake.
    #[error(
        "this is not a bootstrap token: it has the form `abcdef.0123456789abcdef`, in small letters and digits"
    )]
    Malformed,
    /// The source of randomness failed.
    #[error("the system gave no random numbers for a bootstrap token")]
    Random,
}

impl TokenError {
    /// The stable code, with a page in `docs/errors/`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed => "TOKEN0001",
            Self::Random => "TOKEN0002",
        }
    }
}

impl Token {
    /// Generates a token.
    ///
    /// # Errors
    /// [`TokenError::Random`] when the source of randomness fails.
    pub fn generate() -> Result<Self, TokenError> {
        let id = random_letters(ID_LENGTH)?.expose().to_owned();
        Ok(Self { id, secret: random_letters(SECRET_LENGTH)? })
    }

    /// The public part.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The secret part.
    #[must_use]
    pub const fn secret(&self) -> &SecretText {
        &self.secret
    }

    /// The whole token, as `id.secret`.
    #[must_use]
    pub fn to_text(&self) -> SecretText {
        SecretText::new(format!("{}.{}", self.id, self.secret.expose()))
    }

    /// The name of its Secret.
    #[must_use]
    pub fn secret_name(&self) -> String {
        secret_name(&self.id)
    }

    /// The fields of its Secret, as texts. Its end is relative to `now`; fractions of a second are dropped.
    #[must_use]
    pub fn fields(&self, settings: &BootstrapTokenSettings, now: Timestamp) -> BTreeMap<String, SecretText> {
        let mut fields = BTreeMap::new();
        let mut add = |name: &str, text: &str| fields.insert(name.to_owned(), SecretText::new(text));
        add("token-id", &self.id);
        add("token-secret", self.secret.expose());
        if !settings.description.is_empty() {
            add("description", &settings.description);
        }
        if let Some(end) = expiration(settings, now) {
            add("expiration", &end);
        }
        for usage in &settings.usages {
            add(&format!("usage-bootstrap-{usage}"), "true");
        }
        if !settings.groups.is_empty() {
            add("auth-extra-groups", &settings.groups.join(","));
        }
        fields
    }

    /// Its Secret, complete: an object of the core API whose `data` is base64. It is as secret as the token.
    #[must_use]
    pub fn object(&self, settings: &BootstrapTokenSettings, now: Timestamp) -> Value {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        let fields = self.fields(settings, now);
        let data: BTreeMap<&String, String> =
            fields.iter().map(|(name, text)| (name, STANDARD.encode(text.expose()))).collect();
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": self.secret_name(), "namespace": NAMESPACE },
            "type": SECRET_TYPE,
            "data": data,
        })
    }
}

/// The name of the Secret of the token with this id.
#[must_use]
pub fn secret_name(id: &str) -> String {
    format!("bootstrap-token-{id}")
}

/// Whether a text is the public part of a token.
#[must_use]
pub fn is_id(text: &str) -> bool {
    text.len() == ID_LENGTH && text.bytes().all(is_letter)
}

/// Whether a token may have this group: it begins with `system:bootstrappers:`, and ends in a letter or
/// digit.
#[must_use]
pub fn is_group(text: &str) -> bool {
    text.strip_prefix(GROUP_PREFIX).is_some_and(|rest| {
        (1..=256).contains(&rest.len())
            && rest.bytes().all(|byte| is_letter(byte) || matches!(byte, b':' | b'-'))
            && rest.bytes().last().is_some_and(is_letter)
    })
}

/// The end of a token that is made now, as in its Secret; `None` for never.
fn expiration(settings: &BootstrapTokenSettings, now: Timestamp) -> Option<String> {
    let end = match settings.expires {
        Some(end) => end,
        None if settings.ttl.is_zero() => return None,
        None => now.checked_add(settings.ttl.get()).unwrap_or(Timestamp::MAX),
    };
    Some(Timestamp::from_second(end.as_second()).unwrap_or(end).to_string())
}

/// Random letters with equal probability.
fn random_letters(count: usize) -> Result<SecretText, TokenError> {
    let mut text = String::with_capacity(count);
    let mut byte = [0];
    while text.len() < count {
        SystemRandom::new().fill(&mut byte).map_err(|_| TokenError::Random)?;
        // Bytes beyond the last whole multiple of 36 would favour the first letters.
        if usize::from(byte[0]) < 256 / LETTERS.len() * LETTERS.len() {
            text.push(char::from(LETTERS[usize::from(byte[0]) % LETTERS.len()]));
        }
    }
    Ok(SecretText::new(text))
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let (id, secret) = text.split_once('.').ok_or(TokenError::Malformed)?;
        if !is_id(id) || secret.len() != SECRET_LENGTH || !secret.bytes().all(is_letter) {
            return Err(TokenError::Malformed);
        }
        Ok(Self { id: id.to_owned(), secret: SecretText::new(secret) })
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (self.secret.expose().as_bytes(), other.secret.expose().as_bytes());
        self.id == other.id && verify_slices_are_equal(own, others).is_ok()
    }
}

impl Eq for Token {}

impl fmt::Display for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.****************", self.id)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Token({})", self.id)
    }
}

#[cfg(test)]
mod tests;
