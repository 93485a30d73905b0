//! Carrying one action out.

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
    /// The tags to write; the address among them.
    pub ownership: Ownership,
    /// What to do.
    pub action: Action,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Action {
    /// Make the object, ownership tags in the same call.
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
        /// Its attributes as they shall be, all known.
        desired: Value,
    },
    /// Delete the object; one that is gone already is a success.
    Delete {
        /// The object.
        identity: Identity,
    },
    /// Write the ownership tags only: a new address, or an object that is taken over.
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

/// What happens while an action runs. The end of it is the call's own result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ApplyEvent {
    /// The provider has begun.
    Started,
    /// The object has a name now; sent as early as it is known.
    Identity(Identity),
    /// Something for people to see.
    Progress(String),
    /// By this the action can be found again.
    Handle(String),
}

/// Takes events of one action; never blocks.
#[derive(Clone)]
pub struct EventSink(Arc<dyn Fn(ApplyEvent) + Send + Sync>);

impl EventSink {
    /// A sink that calls a function.
    pub fn new(take: impl Fn(ApplyEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// A sink that forgets.
    #[must_use]
    pub fn discard() -> Self {
        Self::new(|_| {})
    }

    /// Hands an event over.
    pub fn send(&self, event: ApplyEvent) {
        (self.0)(event);
    }
}

impl fmt::Debug for EventSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EventSink")
    }
}

/// What an action has left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// The object; `None` after a delete.
    pub identity: Option<Identity>,
    /// Its attributes as they are now; null after a delete. A gate returns what it found.
    pub attributes: Value,
    /// Attributes that it does not show as they were sent, although the call succeeded: they are left as found until
    /// something else is wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_shown: Vec<Path>,
}

impl Applied {
    /// An object that shows all that was asked for.
    pub fn new(identity: Identity, attributes: Value) -> Self {
        Self { identity: Some(identity), attributes, not_shown: Vec::new() }
    }
}

/// Which action to find again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResumeRequest {
    /// The request as it was sent.
    pub request: ApplyRequest,
    /// The identity that was announced, if any.
    pub identity: Option<Identity>,
    /// The handle that was announced, if any.
    pub handle: Option<String>,
    /// Whether something else is wanted by now. What was not waited for yet need not be waited for: the object is planned
    /// for anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub superseded: bool,
}

/// What became of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Resolution {
    /// It had its effect.
    Done(Applied),
    /// It had none: the same request may be sent again.
    NotDone,
    /// Nobody can tell.
    Unknown,
}
