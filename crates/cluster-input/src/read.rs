//! Reading and writing the message.

use serde::Deserialize as _;
use serde_json::Value as Json;

use crate::cluster::{API_VERSION, ClusterInput};
use crate::{fields, schema};

/// The code of a refusal because of a field that must be understood.
pub const NOT_UNDERSTOOD: &str = "PROVIDER0020";

/// The code of a refusal because the message has another version or another form.
pub const MALFORMED: &str = "PROVIDER0021";

/// A message, and what this version does not know of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The cluster.
    pub cluster: ClusterInput,
    /// The fields that were ignored, in the order of the message.
    pub unknown: Vec<UnknownField>,
}

/// A field that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    /// The JSON pointer (RFC 6901), as in `/pools/0/image`.
    pub pointer: String,
    /// The path as in the spec: list items by their name, as in `pools[workers].image`.
    pub path: String,
}

/// Why a message is refused.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The message has another version.
    #[error("the cluster has the version `{found}`; this provider reads `{API_VERSION}`")]
    Version {
        /// The version of the message.
        found: String,
    },
    /// The message has fields that must be understood, and this version does not know them.
    #[error("this provider does not know {}, which it must understand", listed(.0))]
    NotUnderstood(Vec<UnknownField>),
    /// A known field has a value that this version does not know.
    #[error("the cluster does not have the form of `{API_VERSION}`: {0}")]
    Malformed(#[source] serde_json::Error),
}

impl ReadError {
    /// The stable code, with a page in `docs/errors/`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotUnderstood(_) => NOT_UNDERSTOOD,
            Self::Version { .. } | Self::Malformed(_) => MALFORMED,
        }
    }

    /// The first field that the refusal is about, by its path.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::NotUnderstood(fields) => fields.first().map(|field| field.path.as_str()),
            Self::Version { .. } | Self::Malformed(_) => None,
        }
    }
}

fn listed(fields: &[UnknownField]) -> String {
    fields.iter().map(|field| format!("`{}`", field.path)).collect::<Vec<_>>().join(", ")
}

impl ClusterInput {
    /// Reads a message. Unknown fields are ignored and returned.
    ///
    /// # Errors
    /// [`ReadError::Version`] for a message of another version, [`ReadError::NotUnderstood`] when `mustUnderstand` names an
    /// unknown field or something inside one, [`ReadError::Malformed`] when a known field has an unknown form.
    pub fn read(message: &Json) -> Result<Reading, ReadError> {
        let unknown = Self::check(message)?;
        let cluster = Self::deserialize(message).map_err(ReadError::Malformed)?;
        Ok(Reading { cluster, unknown })
    }

    /// Checks a message without reading it: for a provider that makes nothing of the cluster. Returns the unknown fields.
    ///
    /// # Errors
    /// [`ReadError::Version`] and [`ReadError::NotUnderstood`], as [`ClusterInput::read`].
    pub fn check(message: &Json) -> Result<Vec<UnknownField>, ReadError> {
        if let Some(found) = message.get("apiVersion").and_then(Json::as_str).filter(|it| *it != API_VERSION)
        {
            return Err(ReadError::Version { found: found.to_owned() });
        }
        let compared = fields::compare(&schema::of_types(), message);
        let unknown: Vec<UnknownField> = compared
            .unknown
            .into_iter()
            .map(|field| UnknownField { pointer: field.pointer, path: field.path })
            .collect();
        let must: Vec<&str> = message
            .get("mustUnderstand")
            .and_then(Json::as_array)
            .map(|pointers| pointers.iter().filter_map(Json::as_str).collect())
            .unwrap_or_default();
        let is_inside = |pointer: &str, field: &str| {
            pointer.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let not_understood: Vec<UnknownField> = unknown
            .iter()
            .filter(|field| must.iter().any(|pointer| is_inside(pointer, &field.pointer)))
            .cloned()
            .collect();
        if !not_understood.is_empty() {
            return Err(ReadError::NotUnderstood(not_understood));
        }
        Ok(unknown)
    }

    /// The message as JSON. `mustUnderstand` names the fields that are set and that the schema marks.
    ///
    /// # Errors
    /// A value that JSON cannot express, which these types do not have.
    pub fn to_json(&self) -> Result<Json, serde_json::Error> {
        let mut message = serde_json::to_value(self)?;
        let mut marked: Vec<String> = fields::compare(&schema::of_types(), &message)
            .marked
            .into_iter()
            .map(|field| field.pointer)
            .collect();
        marked.sort();
        if let Some(entries) = message.as_object_mut().filter(|_| !marked.is_empty()) {
            entries.insert("mustUnderstand".to_owned(), marked.into());
        }
        Ok(message)
    }
}
