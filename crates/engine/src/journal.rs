//! What a run writes down, before and after each step.
//!
//! `Begin` is durable before a call leaves, `End` before a dependent starts. A record is one JSON value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slipway_plan::{Record, StepId};
use slipway_resource::provider::{Applied, ApplyRequest};
use slipway_resource::{Address, Digest, ErrorClass, Identity, Schema, Value};

/// One record of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Entry {
    /// A plan begins to be carried out.
    RunBegin(RunBegin),
    /// A call is about to leave.
    Begin(Box<Begin>),
    /// The object's name became known before the end.
    Identity {
        /// The step.
        step: StepId,
        /// The object.
        identity: Identity,
    },
    /// The action can be found again by this.
    Handle {
        /// The step.
        step: StepId,
        /// The handle.
        handle: String,
    },
    /// A step is over.
    End(End),
    /// Nothing more comes from this run.
    RunEnd,
}

/// The plan that a run carries out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunBegin {
    /// Digest of the plan.
    pub plan: Digest,
    /// The epoch in which the plan was begun first: part of every token, the same for a run that is taken up.
    pub epoch: u64,
    /// The spec that the plan brings about.
    pub spec: serde_json::Value,
}

/// A step that begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// The step.
    pub step: StepId,
    /// The provider that is called; empty for a step without a call.
    pub provider: String,
    /// The call, to be resumed or repeated; none for a step that touches the state only.
    pub request: Option<ApplyRequest>,
    /// What the state learns when it is done.
    pub effect: Effect,
}

/// How a step changes the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Effect {
    /// Not at all.
    None,
    /// The resource is as this record says; its identity is that of the end, if that names one.
    Put {
        /// The resource.
        address: Address,
        /// What to remember.
        record: Box<Record>,
        /// The address it had before.
        previous: Option<Address>,
    },
    /// The resource is gone or forgotten.
    Remove {
        /// The resource.
        address: Address,
    },
    /// An older or doubled object of the resource is gone.
    RemoveSurplus {
        /// The resource.
        address: Address,
        /// The object.
        identity: Identity,
    },
}

impl Effect {
    /// The resource that it is about.
    #[must_use]
    pub fn address(&self) -> Option<&Address> {
        match self {
            Self::None => None,
            Self::Put { address, .. } | Self::Remove { address } | Self::RemoveSurplus { address, .. } => {
                Some(address)
            }
        }
    }
}

/// A step that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The step.
    pub step: StepId,
    /// How it ended.
    pub result: EndResult,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum EndResult {
    /// It had its effect.
    Done {
        /// The object, where there is one.
        identity: Option<Identity>,
        /// What the state remembers of what the server set.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        remembered: BTreeMap<String, Value>,
    },
    /// It had none.
    NotDone,
    /// It failed.
    Failed {
        /// The class of the failure.
        class: ErrorClass,
        /// The failure in a sentence, without secrets.
        message: String,
        /// The object that exists all the same.
        identity: Option<Identity>,
    },
}

impl EndResult {
    /// The end of a step that touched the state only.
    pub(crate) fn nothing() -> Self {
        Self::Done { identity: None, remembered: BTreeMap::new() }
    }

    /// The end of a step that had its effect on a resource of a type.
    pub(crate) fn done(applied: &Applied, schema: &Schema, kind: &str) -> Self {
        let kind = schema.types.get(kind);
        Self::Done {
            identity: applied.identity.clone(),
            remembered: kind.map(|kind| kind.remembered(&applied.attributes)).unwrap_or_default(),
        }
    }
}

impl Entry {
    /// The record's bytes.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }
}
