//! Actions on resources.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Identity, Ownership, Path, Token, Value};

/// One action on one resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyRequest {
    /// Idempotency token: the same for every attempt of the same step.
    pub token: Token,
    /// The tags to write, including the address.
    pub ownership: Ownership,
    /// The action.
    pub action: Action,
    /// The timeout, in milliseconds.
    pub timeout_ms: u64,
}

/// An action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Action {
    /// Create the object, with the ownership tags in the same call.
    Create {
        /// Its attributes, all known.
        desired: Value,
    },
    /// Change the object in place.
    Update {
        /// The object.
        identity: Identity,
        /// Its attributes as they were read.
        prior: Value,
        /// Its desired attributes, all known.
        desired: Value,
    },
    /// Delete the object. It is a success if the object is gone already.
    Delete {
        /// The object.
        identity: Identity,
    },
    /// Write the ownership tags only: for a new address, or on adoption.
    Tag {
        /// The object.
        identity: Identity,
    },
    /// Run a gate that the type declares.
    Operation {
        /// The object.
        identity: Identity,
        /// The gate's name.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
}

/// An event of a running action. The end of the action is the result of the call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ApplyEvent {
    /// The provider has begun.
    Started,
    /// The object has an identity now. Sent as soon as it is known.
    Identity(Identity),
    /// A progress message for the user.
    Progress(String),
    /// A handle with which the action can be found again.
    Handle(String),
}

/// Receives the events of one action; never blocks.
#[derive(Clone)]
pub struct EventSink(Arc<dyn Fn(ApplyEvent) + Send + Sync>);

impl EventSink {
    /// A sink that calls a function.
    pub fn new(take: impl Fn(ApplyEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// A sink that discards events.
    #[must_use]
    pub fn discard() -> Self {
        Self::new(|_| {})
    }

    /// Sends an event.
    pub fn send(&self, event: ApplyEvent) {
        (self.0)(event);
    }
}

impl fmt::Debug for EventSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EventSink")
    }
}

/// The result of an action.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// The object; `None` after a delete.
    pub identity: Option<Identity>,
    /// Its present attributes; null after a delete. A gate returns the attributes that it found.
    pub attributes: Value,
    /// Attributes that it does not return as they were sent, although the call succeeded. They keep the found
    /// value until the desired one changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_shown: Vec<Path>,
}

impl Applied {
    /// An object that returns all attributes as they were sent.
    pub fn new(identity: Identity, attributes: Value) -> Self {
        Self { identity: Some(identity), attributes, not_shown: Vec::new() }
    }
}

/// The action to find again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResumeRequest {
    /// The request as it was sent.
    pub request: ApplyRequest,
    /// The identity that was announced, if any.
    pub identity: Option<Identity>,
    /// The handle that was announced, if any.
    pub handle: Option<String>,
    /// Whether another plan is to follow. The provider then need not wait for results that are still pending:
    /// the object is planned again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub superseded: bool,
}

/// The outcome of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Resolution {
    /// It had its effect.
    Done(Applied),
    /// It had none: the same request may be sent again.
    NotDone,
    /// The outcome is not known.
    Unknown,
}
