use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{SECRET_TYPE, Token, secret_name};

/// A token as its Secret has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The token.
    pub token: Token,
    /// Its purpose, in words.
    pub description: String,
    /// When it ends; never, when absent.
    pub expires: Option<Timestamp>,
    /// Its usages, in order.
    pub usages: Vec<String>,
    /// Its groups, besides `system:bootstrappers`.
    pub groups: Vec<String>,
}

/// Why a Secret is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoredError {
    /// It has another type.
    #[error("the Secret {0:?} is not of the type {SECRET_TYPE}")]
    OtherType(String),
    /// A field is missing or malformed.
    #[error("the Secret {name:?} is not a bootstrap token: its field `{field}` is missing or malformed")]
    Field {
        /// The Secret.
        name: String,
        /// The field.
        field: &'static str,
    },
    /// Its name does not fit the token.
    #[error("the Secret {found:?} would have to be called {wanted:?} for its token to be valid")]
    OtherName {
        /// Its name.
        found: String,
        /// The name that belongs to the token.
        wanted: String,
    },
}

impl Stored {
    /// Reads a Secret: its name, its type, and its fields after base64. As the API server has it, a Secret whose name
    /// does not fit makes no token valid.
    ///
    /// # Errors
    /// [`StoredError`] when it makes no token valid.
    pub fn from_secret(
        name: &str,
        secret_type: &str,
        fields: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Self, StoredError> {
        if secret_type != SECRET_TYPE {
            return Err(StoredError::OtherType(name.to_owned()));
        }
        let text = |field: &str| {
            let bytes = fields.get(field).map(Vec::as_slice).unwrap_or_default();
            std::str::from_utf8(bytes).unwrap_or_default()
        };
        let wrong = |field| StoredError::Field { name: name.to_owned(), field };
        let id = text("token-id");
        let token: Token = format!("{id}.{}", text("token-secret"))
            .parse()
            .map_err(|_| wrong(if super::is_id(id) { "token-secret" } else { "token-id" }))?;
        if name != secret_name(id) {
            return Err(StoredError::OtherName { found: name.to_owned(), wanted: secret_name(id) });
        }
        let expires = match text("expiration") {
            "" => None,
            text => Some(text.parse::<Timestamp>().map_err(|_| wrong("expiration"))?),
        };
        let usages = fields
            .iter()
            .filter(|(_, value)| value.as_slice() == b"true")
            .filter_map(|(name, _)| name.strip_prefix("usage-bootstrap-"));
        let groups = text("auth-extra-groups").split(',').filter(|group| !group.is_empty());
        Ok(Self {
            token,
            description: text("description").to_owned(),
            expires,
            usages: usages.map(ToOwned::to_owned).collect(),
            groups: groups.map(ToOwned::to_owned).collect(),
        })
    }

    /// Whether its time is over.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }

    /// Whether it signs `cluster-info` now.
    #[must_use]
    pub fn signs(&self, now: Timestamp) -> bool {
        !self.is_expired(now) && self.usages.iter().any(|usage| usage == "signing")
    }
}
