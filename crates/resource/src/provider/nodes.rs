//! The nodes of a cluster, and which node a machine is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Identity, Value};

/// A node of the cluster, as the provider of nodes sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The name of the node.
    pub name: String,
    /// The identity of the node as an object of the type with the part [`Part::Node`](crate::schema::Part::Node).
    pub identity: Identity,
    /// The identifier that the cloud gave the machine, as `aws:///us-east-1a/i-0123`; `None` while the node has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Whether the kubelet of the node reports that it is ready.
    pub ready: bool,
    /// Objects that would block a drain of the node now, as `budget default/web allows 0 disruptions`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<String>,
}

/// Which node a machine is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeReference {
    /// The node of this name.
    Name(String),
    /// The node with this identifier in its field `providerID`.
    ProviderId(String),
}

impl NodeReference {
    /// Whether a node is the one that is named.
    #[must_use]
    pub fn is(&self, name: &str, provider_id: Option<&str>) -> bool {
        match self {
            Self::Name(wanted) => wanted == name,
            Self::ProviderId(wanted) => provider_id == Some(wanted.as_str()),
        }
    }

    /// The reference as an argument of an operation and in the answer of `surge`: `{name: …}` or `{provider_id: …}`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Name(name) => Value::map([("name", name.as_str())]),
            Self::ProviderId(id) => Value::map([("provider_id", id.as_str())]),
        }
    }

    /// Reads such a value; `None` for any other value.
    #[must_use]
    pub fn of_value(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        text("provider_id").map(Self::ProviderId).or_else(|| text("name").map(Self::Name))
    }
}

impl fmt::Display for NodeReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(formatter, "node {name}"),
            Self::ProviderId(id) => write!(formatter, "the node with the provider id {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_as_it_was_written() {
        for reference in [NodeReference::Name("a".into()), NodeReference::ProviderId("x:///a".into())] {
            assert_eq!(NodeReference::of_value(&reference.to_value()), Some(reference));
        }
        for other in [Value::Null, "a".into(), Value::map([("name", "")]), Value::map([("id", "a")])] {
            assert_eq!(NodeReference::of_value(&other), None);
        }
    }

    #[test]
    fn a_node_is_found_by_exactly_what_names_it() {
        let id = NodeReference::ProviderId("aws:///us-east-1a/i-1".into());
        assert!(id.is("a", Some("aws:///us-east-1a/i-1")));
        assert!(!id.is("a", Some("aws:///us-east-1a/i-12")) && !id.is("aws:///us-east-1a/i-1", None));
        assert!(NodeReference::Name("a".into()).is("a", None));
    }
}
