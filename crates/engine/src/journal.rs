//! The records that a run writes before and after each step.
//!
//! `Begin` is durable before a call leaves, `End` before a dependent starts. A record is one JSON value.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use slipway_plan::precondition::may_be_digested;
use slipway_plan::{Record, StepId};
use slipway_resource::provider::{Action, Applied, ApplyRequest, NodeReference, operation};
use slipway_resource::{
    Address, Digest, ErrorClass, Identity, Path, ResourceType, Schema, Segment, Token, Value,
};

/// One record of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Entry {
    /// A plan begins to be carried out.
    RunBegin(RunBegin),
    /// A call is about to leave.
    Begin(Box<Begin>),
    /// The identity of the object became known before the end of the step.
    Identity {
        /// The step.
        step: StepId,
        /// The object.
        identity: Identity,
    },
    /// The handle by which the provider finds the action again.
    Handle {
        /// The step.
        step: StepId,
        /// The handle.
        handle: String,
    },
    /// A step is over.
    End(End),
    /// A step of an earlier plan is over: its provider could not report it while that plan was the last one.
    Settled(Settled),
    /// The run writes nothing more.
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
    /// The spec that the plan applies.
    pub spec: serde_json::Value,
    /// The pools whose machines are replaced on request, with the machines that leave.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rolls: BTreeMap<Address, BTreeSet<Identity>>,
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
    /// How the state changes when it is done.
    pub effect: Effect,
}

/// How a step changes the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Effect {
    /// Not at all.
    None,
    /// The state gets this record. Its identity is that of the end, if the end names one.
    Put {
        /// The resource.
        address: Address,
        /// The record.
        record: Box<Record>,
        /// The address it had before.
        previous: Option<Address>,
    },
    /// The resource is gone or forgotten.
    Remove {
        /// The resource.
        address: Address,
    },
    /// A node is cordoned for a change of its pool or its kubelet.
    Cordon {
        /// The node.
        node: Address,
        /// Its identity.
        identity: Identity,
        /// The pool or the kubelet.
        pool: Address,
    },
    /// A node takes pods again, or its machine is gone.
    Uncordon {
        /// The node.
        node: Address,
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
            Self::None | Self::Cordon { .. } | Self::Uncordon { .. } => None,
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

/// A step of an earlier plan that is over. Each plan numbers its own steps, so the token names the step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settled {
    /// The token of its call.
    pub token: Token,
    /// How it ended.
    pub result: EndResult,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum EndResult {
    /// It had its effect.
    Done {
        /// The object, if there is one.
        identity: Option<Identity>,
        /// Attributes set by the server that the state keeps.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        remembered: BTreeMap<String, Value>,
        /// Attributes that the object does not return as they were set, with the digests of the desired
        /// values.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        as_found: BTreeMap<Path, Digest>,
        /// The node of the machine that the step started.
        #[serde(default, skip_serializing_if = "NewNode::is_unnamed")]
        node: NewNode,
    },
    /// It had none.
    NotDone,
    /// It failed.
    Failed {
        /// The class of the failure.
        class: ErrorClass,
        /// The failure in a sentence, without secrets.
        message: String,
        /// The object, if it exists nevertheless.
        identity: Option<Identity>,
    },
}

/// The node of the machine that a step has started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum NewNode {
    /// The step started no machine, or its provider did not name the node.
    #[default]
    Unnamed,
    /// No machine was needed any more.
    NotNeeded,
    /// The machine is, or will be, this node.
    Named(NodeReference),
}

impl NewNode {
    /// The node that the answer of an action names.
    fn of(action: Option<&Action>, attributes: &Value) -> Self {
        let is_surge = |name: &String| name == operation::SURGE;
        if !matches!(action, Some(Action::Operation { name, .. }) if is_surge(name)) {
            return Self::Unnamed;
        }
        match attributes.get(operation::NODE).and_then(NodeReference::of_value) {
            Some(node) => Self::Named(node),
            None if attributes.get(operation::NOT_NEEDED) == Some(&Value::Bool(true)) => Self::NotNeeded,
            None => Self::Unnamed,
        }
    }

    fn is_unnamed(&self) -> bool {
        *self == Self::Unnamed
    }
}

impl EndResult {
    /// The end of a step that touched the state only.
    pub(crate) fn nothing() -> Self {
        Self::Done {
            identity: None,
            remembered: BTreeMap::new(),
            as_found: BTreeMap::new(),
            node: NewNode::Unnamed,
        }
    }

    /// The end of a step that had its effect on a resource of a type.
    pub(crate) fn done(
        applied: &Applied,
        schema: &Schema,
        kind: &str,
        sent: Option<&Action>,
        effect: &Effect,
    ) -> Self {
        let kind = schema.types.get(kind);
        let as_found = match (kind, sent, effect) {
            (
                Some(kind),
                Some(Action::Create { desired } | Action::Update { desired, .. }),
                Effect::Put { record, .. },
            ) => digests_of(&applied.not_shown, kind, desired, record.applied.as_ref()),
            _ => BTreeMap::new(),
        };
        Self::Done {
            identity: applied.identity.clone(),
            remembered: kind.map(|kind| kind.remembered(&applied.attributes)).unwrap_or_default(),
            as_found,
            node: NewNode::of(sent, &applied.attributes),
        }
    }
}

/// Attributes that the object does not return as they were sent, with the digests of the desired values.
/// Planning them again would change nothing.
///
/// The value of a reference is the one that was sent, as the next plan resolves it. Secrets are left out:
/// they could be guessed from a digest.
fn digests_of(
    not_shown: &[Path],
    kind: &ResourceType,
    sent: &Value,
    wanted: Option<&Value>,
) -> BTreeMap<Path, Digest> {
    let Some(wanted) = wanted else { return BTreeMap::new() };
    let digest = |path: &Path| {
        let value = wanted.at(path).unwrap_or(&Value::Null);
        let Some(Segment::Key(name)) = path.segments().first() else { return None };
        let (mut refers, mut secret) = (false, !may_be_digested(kind.attributes.get(name)?));
        value.for_each_reference(&mut |_| refers = true);
        value.for_each_secret(&mut |_| secret = true);
        if secret {
            return None;
        }
        let value = if refers { sent.at(path)? } else { value };
        Some((path.clone(), Digest::of(value).ok()?))
    };
    not_shown.iter().filter_map(digest).collect()
}

impl Entry {
    /// The record's bytes.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::schema::OwnershipKind;
    use slipway_resource::{Attribute, Reference, Type};

    use super::*;

    fn kind() -> ResourceType {
        let attributes = [
            ("name", Attribute::required(Type::String)),
            ("lifetime", Attribute::optional(Type::Integer)),
            ("secret", Attribute::optional(Type::String).write_only()),
        ];
        let attributes = attributes.map(|(name, attribute)| (name.to_owned(), attribute)).into();
        ResourceType { attributes, ..ResourceType::new("", OwnershipKind::Tags, "") }
    }

    fn lifetime(value: i64) -> Value {
        Value::map([("name", Value::from("a")), ("lifetime", Value::from(value))])
    }

    fn digests(paths: &[&str], sent: &Value, wanted: &Value) -> BTreeMap<Path, Digest> {
        let paths: Vec<Path> = paths.iter().map(|path| path.parse().unwrap()).collect();
        digests_of(&paths, &kind(), sent, Some(wanted))
    }

    fn expected(path: &str, value: impl Into<Value>) -> BTreeMap<Path, Digest> {
        BTreeMap::from([(path.parse().unwrap(), Digest::of(&value.into()).unwrap())])
    }

    #[test]
    fn what_is_not_shown_is_kept_with_what_was_wanted() {
        assert!(digests(&[], &lifetime(7), &lifetime(7)).is_empty());
        // The sent value differs from the desired one. The digest is that of the desired value.
        assert_eq!(digests(&["lifetime"], &lifetime(8), &lifetime(7)), expected("lifetime", 7_i64));
    }

    #[test]
    fn what_was_not_asked_for_is_kept_as_nothing() {
        let none = Value::map([("name", "a")]);
        assert_eq!(digests(&["lifetime"], &none, &none), expected("lifetime", Value::Null));
    }

    #[test]
    fn what_refers_to_others_is_known_by_what_was_sent() {
        let reference = Reference { address: Address::new("cloud_group", "a"), path: "id".parse().unwrap() };
        let wanted = Value::map([("name", Value::from(reference))]);
        assert_eq!(digests(&["name"], &Value::map([("name", "one")]), &wanted), expected("name", "one"));
    }

    #[test]
    fn the_end_of_a_surge_keeps_the_node_of_the_machine() {
        let surge = |name: &str| Action::Operation {
            identity: Identity::new("pool"),
            name: name.to_owned(),
            arguments: Value::map([("slot", "1")]),
        };
        let named = NodeReference::ProviderId("aws:///a/i-1".to_owned());
        let answer = |node: Value| Value::map([("instance", Value::from("i-1")), ("node", node)]);
        let of = |name: &str, attributes: &Value| NewNode::of(Some(&surge(name)), attributes);
        assert_eq!(of("surge", &answer(named.to_value())), NewNode::Named(named.clone()));
        assert_eq!(of("surge", &Value::map([("not_needed", true)])), NewNode::NotNeeded);
        assert_eq!(of("surge", &Value::map([("instance", "i-1")])), NewNode::Unnamed);
        assert_eq!(of("verify", &answer(named.to_value())), NewNode::Unnamed);

        let applied = Applied::new(Identity::new("pool"), answer(named.to_value()));
        let done =
            EndResult::done(&applied, &Schema::default(), "pool", Some(&surge("surge")), &Effect::None);
        let entry = Entry::End(End { step: StepId(3), result: done });
        let text = String::from_utf8(entry.to_bytes().unwrap()).unwrap();
        assert!(text.contains("aws:///a/i-1"), "{text}");
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
        // As it was written before steps had nodes.
        let old = r#"{"end": {"step": 3, "result": {"done": {"identity": "pool"}}}}"#;
        let Entry::End(End { result: EndResult::Done { node, .. }, .. }) = serde_json::from_str(old).unwrap()
        else {
            panic!("{old}")
        };
        assert_eq!(node, NewNode::Unnamed);
    }

    #[test]
    fn secrets_leave_no_digest() {
        let value = Value::map([("name", "a"), ("secret", "s")]);
        assert!(digests(&["secret"], &value, &value).is_empty());
    }
}
