//! `ManagedCluster`: a cluster as a controller sees it. The controller writes it; nothing is read from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use slipway_controller::kube::CustomResource;

use super::common::{PlanSummary, number};
use crate::status::Status;

/// The place of the cluster's spec, and the policy.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "gitops.slipway.dev",
    version = "v1alpha1",
    kind = "ManagedCluster",
    namespaced,
    status = "ManagedClusterStatus",
    doc = "A cluster that a controller of Slipway keeps in line with its spec. The controller writes this object from its state store. Changes of others have no effect.",
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name": "Version", "type": "string", "jsonPath": ".status.version"}"#,
    printcolumn = r#"{"name": "Drift", "type": "integer", "jsonPath": ".status.plan.drift"}"#,
    printcolumn = r#"{"name": "Source", "type": "string", "jsonPath": ".spec.source"}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].message", "priority": 1}"#,
    printcolumn = r#"{"name": "Revision", "type": "string", "jsonPath": ".status.revision", "priority": 1}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    crates(
        kube = "slipway_controller::kube",
        kube_core = "slipway_controller::kube::core",
        k8s_openapi = "slipway_controller::k8s_openapi"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSpec {
    /// Name of the controller.
    pub controller: String,
    /// Source with the spec of the cluster.
    pub source: String,
    /// Path in the source.
    pub path: String,
    /// Which plans are applied: `always`, `safe`, `approved` or `never`.
    pub apply: String,
}

/// The state that the controller has found, and its last plan.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterStatus {
    /// The generation of this object that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Version of Kubernetes that was applied last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Revision of the source: a commit, or a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The last plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanSummary>,
    /// Digest of the plan that is being applied, or whose run was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applying: Option<String>,
    /// The last plan that was applied completely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<Applied>,
    /// The present failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<ObjectProblem>,
    /// Its wave in the order among clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<i32>,
    /// Cluster that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// When the cluster was planned last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub planned_at: Option<String>,
    /// When it is planned again without a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub next_plan_at: Option<String>,
    /// Conditions: `Ready`, `Reconciling`, `Stalled`, `Drifted`.
    #[serde(default)]
    #[schemars(schema_with = "super::common::conditions")]
    pub conditions: Vec<Condition>,
}

/// A plan that was applied.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// Digest of the plan.
    pub digest: String,
    /// Generation of the cluster's state that it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// When it was completed.
    #[schemars(extend("format" = "date-time"))]
    pub finished_at: String,
    /// How long it took, in seconds.
    pub seconds: i64,
    /// Revision of the source.
    pub revision: String,
}

/// A failure.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectProblem {
    /// Its code. `slipway explain CODE` describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Description of the failure.
    pub message: String,
    /// Ways out.
    #[serde(default)]
    pub hints: Vec<String>,
}

impl ManagedClusterSpec {
    pub(super) fn of(status: &Status) -> Self {
        Self {
            controller: status.controller.clone(),
            source: status.source.clone(),
            path: status.path.clone(),
            apply: status.apply.clone(),
        }
    }
}

impl ManagedClusterStatus {
    /// The status that the state store has, of an object of this generation.
    pub(super) fn of(status: &Status, generation: i64) -> Self {
        let observed =
            |condition: &Condition| Condition { observed_generation: Some(generation), ..condition.clone() };
        let rollout = status.rollout.as_ref();
        Self {
            observed_generation: Some(generation),
            version: status.version.clone(),
            revision: Some(status.revision.clone()).filter(|revision| !revision.is_empty()),
            plan: status.plan.as_ref().map(PlanSummary::of),
            applying: status.applying.clone(),
            applied: status.applied.as_ref().map(|applied| Applied {
                digest: applied.digest.clone(),
                generation: applied.generation.map(number),
                finished_at: applied.when.to_string(),
                seconds: number(applied.seconds),
                revision: applied.revision.clone(),
            }),
            problem: status.problem.as_ref().map(|problem| ObjectProblem {
                code: problem.code.clone(),
                message: problem.message.clone(),
                hints: problem.hints.clone(),
            }),
            wave: rollout.map(|rollout| rollout.wave),
            waits_for: rollout.and_then(|rollout| rollout.waits_for.clone()),
            planned_at: status.checked.map(|time| time.to_string()),
            next_plan_at: status.next.map(|time| time.to_string()),
            conditions: status.conditions.iter().map(observed).collect(),
        }
    }
}
