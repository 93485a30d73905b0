//! What must hold of a live object for a step on it to run.

use serde::{Deserialize, Serialize};
use slipway_resource::{Digest, Mode, ResourceType, Value};

/// What the plan assumed about an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Precondition {
    /// Nothing: the step touches the state only.
    #[default]
    None,
    /// There is no object of that address, or only one that this run made.
    AbsentOrOurs,
    /// The managed fields have this digest.
    Unchanged {
        /// The fields, sorted.
        fields: Vec<String>,
        /// Digest of their values as they were read.
        digest: Digest,
    },
}

impl Precondition {
    /// The precondition that an object's managed fields stay as they are: those that the spec sets or has set.
    #[must_use]
    pub fn unchanged(kind: &ResourceType, observed: &Value, applied: &[&Value]) -> Self {
        let fields: Vec<String> = kind
            .attributes
            .iter()
            .filter(|(name, attribute)| {
                attribute.mode != Mode::Computed
                    && !attribute.write_only
                    && applied.iter().any(|applied| applied.get(name).is_some_and(|value| !value.is_null()))
            })
            .map(|(name, _)| name.clone())
            .collect();
        let digest = fields_digest(&fields, observed);
        Self::Unchanged { fields, digest }
    }

    /// The same precondition for the object as it is after a step of the run's own.
    #[must_use]
    pub fn carried_forward(&self, observed: &Value) -> Self {
        match self {
            Self::Unchanged { fields, .. } => {
                Self::Unchanged { fields: fields.clone(), digest: fields_digest(fields, observed) }
            }
            other => other.clone(),
        }
    }

    /// Whether it holds of an object with these attributes.
    #[must_use]
    pub fn holds(&self, observed: &Value) -> bool {
        match self {
            Self::None => true,
            Self::AbsentOrOurs => false,
            Self::Unchanged { fields, digest } => fields_digest(fields, observed) == *digest,
        }
    }
}

/// Digest of some fields of an object. A value always serialises, so there is no failure to report.
fn fields_digest(fields: &[String], observed: &Value) -> Digest {
    let values: Vec<(&str, &Value)> =
        fields.iter().map(|field| (field.as_str(), observed.get(field).unwrap_or(&Value::Null))).collect();
    Digest::of(&values).unwrap_or_else(|_| Digest::of_bytes(b""))
}
