//! Values that several kinds have.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::status::LastPlan;

/// A plan in numbers.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanSummary {
    /// Digest of the plan.
    pub digest: String,
    /// Generation of the cluster's state for which it was made; 0 for a cluster without a state.
    pub generation: i64,
    /// When it was made.
    #[schemars(extend("format" = "date-time"))]
    pub made_at: String,
    /// Resources that it creates.
    pub create: i64,
    /// Resources that it changes in place.
    pub update: i64,
    /// Resources that it replaces.
    pub replace: i64,
    /// Resources that it deletes.
    pub delete: i64,
    /// Resources that it rolls, renames, adopts, records or forgets.
    pub other: i64,
    /// Resources that were changed outside Slipway.
    pub drift: i64,
    /// Expected duration, in seconds.
    pub expected_seconds: i64,
    /// Argument of `slipway show`, `slipway approve` and `slipway apply` for it. Absent for a plan that is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Number of approvals that count.
    pub approvals: i64,
    /// Number of approvals that it needs.
    pub needed_approvals: i64,
}

impl PlanSummary {
    pub(super) fn of(plan: &LastPlan) -> Self {
        let facts = &plan.facts;
        Self {
            digest: plan.digest.clone(),
            generation: number(plan.generation),
            made_at: plan.when.to_string(),
            create: number(facts.create),
            update: number(facts.update),
            replace: number(facts.replace),
            delete: number(facts.delete),
            other: number(facts.other),
            drift: number(facts.drift),
            expected_seconds: number(facts.estimate_ms.div_ceil(1_000)),
            link: Some(plan.place.clone()).filter(|place| !place.is_empty()),
            approvals: i64::try_from(plan.approvals).unwrap_or(i64::MAX),
            needed_approvals: i64::from(plan.needed),
        }
    }
}

/// A number as the API has it.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The schema of a list of conditions, by the conventions of the Kubernetes API.
pub(super) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "description": "Conditions, as kstatus reads them: Ready, Reconciling, Stalled, and Drifted of a cluster.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {"type": "string", "maxLength": 316},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "reason": {"type": "string", "minLength": 1, "maxLength": 1024},
                "message": {"type": "string", "maxLength": 32768},
            },
        },
    })
}
