//! `Source`: where specs are, for a source of the configuration that names this object.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use slipway_controller::kube::CustomResource;
use slipway_controller::set_condition;

use super::managed_cluster::ObjectProblem;
use crate::status::SourceStatus;

/// Where the specs are: one of `git` and `oci`.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "gitops.slipway.dev",
    version = "v1alpha1",
    kind = "Source",
    namespaced,
    status = "SourceObjectStatus",
    doc = "The place of specs. It has an effect if a source in the configuration of the controller names this object. What the specs may name, which clusters get them and which plans are applied is in that configuration.",
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name": "Clusters", "type": "integer", "jsonPath": ".status.clusters"}"#,
    printcolumn = r#"{"name": "Revision", "type": "string", "jsonPath": ".status.revision"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    crates(
        kube = "slipway_controller::kube",
        kube_core = "slipway_controller::kube::core",
        k8s_openapi = "slipway_controller::k8s_openapi"
    )
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "has(self.git) != has(self.oci)", "message": "a source has one of git and oci"}]))]
pub struct SourceSpec {
    /// Git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitLocation>,
    /// Artifact in an OCI registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oci: Option<OciLocation>,
    /// Nothing of the source is applied while it is true.
    #[serde(default)]
    pub suspend: bool,
}

/// A Git repository. At most one of `branch`, `tag` and `commit` is followed, by default the branch `main`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GitLocation {
    /// URL without credentials. The configuration of the controller must allow it.
    #[schemars(length(min = 1, max = 2048))]
    pub url: String,
    /// Branch to follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub branch: Option<String>,
    /// Tag to follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub tag: Option<String>,
    /// Commit to use, with all its digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^([0-9a-f]{40}|[0-9a-f]{64})$"))]
    pub commit: Option<String>,
}

/// An artifact in an OCI registry. At most one of `tag` and `digest` is followed, by default the tag `latest`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OciLocation {
    /// `oci://REGISTRY/NAME`. The configuration of the controller must allow it.
    #[schemars(length(min = 1, max = 2048))]
    pub url: String,
    /// Tag to follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub tag: Option<String>,
    /// Digest of the manifest to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub digest: Option<String>,
}

/// What the controller has read last.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceObjectStatus {
    /// The generation of this object that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Revision that was read last: a commit or a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Number of clusters in it.
    #[serde(default)]
    pub clusters: i64,
    /// Why it cannot be read, or what of it.
    #[serde(default)]
    pub problems: Vec<ObjectProblem>,
    /// Conditions: `Ready` without problems, `Stalled` with one, `Reconciling`.
    #[serde(default)]
    #[schemars(schema_with = "super::common::conditions")]
    pub conditions: Vec<Condition>,
}

/// How many problems an object shows.
const PROBLEMS: usize = 20;

impl SourceObjectStatus {
    /// The status that the state store has, after an earlier status of the object.
    pub(super) fn of(source: &SourceStatus, before: Option<&Self>, now: Timestamp) -> Self {
        let problem = |problem: &crate::status::Problem| ObjectProblem {
            code: problem.code.clone(),
            message: problem.message.clone(),
            hints: problem.hints.clone(),
        };
        let mut status = Self {
            observed_generation: source.generation,
            revision: Some(source.revision.clone()).filter(|revision| !revision.is_empty()),
            clusters: i64::try_from(source.clusters).unwrap_or(i64::MAX),
            problems: source.problems.iter().take(PROBLEMS).map(problem).collect(),
            conditions: before.map(|before| before.conditions.clone()).unwrap_or_default(),
        };
        let (is_ready, reason, message) = match source.problems.first() {
            None => (true, "Read".to_owned(), "the revision was read".to_owned()),
            Some(first) => {
                let reason = first.code.clone().unwrap_or_else(|| "Problem".to_owned());
                (false, reason, first.message.clone())
            }
        };
        for (kind, holds) in [("Ready", is_ready), ("Reconciling", false), ("Stalled", !is_ready)] {
            let condition = Condition {
                type_: kind.to_owned(),
                status: if holds { "True" } else { "False" }.to_owned(),
                reason: reason.clone(),
                message: if kind == "Ready" { message.clone() } else { String::new() },
                observed_generation: source.generation,
                last_transition_time: Time(now),
            };
            set_condition(&mut status.conditions, condition, now);
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Problem;

    #[test]
    fn a_problem_stalls_a_source_until_it_is_over() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let ready = |status: &SourceObjectStatus| {
            let ready = &status.conditions[0];
            (ready.status.clone(), ready.reason.clone(), ready.last_transition_time.clone())
        };
        let mut source = SourceStatus { generation: Some(2), clusters: 3, ..SourceStatus::default() };
        let first = SourceObjectStatus::of(&source, None, at(1));
        assert_eq!(ready(&first), ("True".to_owned(), "Read".to_owned(), Time(at(1))));
        assert_eq!((first.observed_generation, first.clusters), (Some(2), 3));
        let again = SourceObjectStatus::of(&source, Some(&first), at(2));
        assert_eq!(again, first, "nothing has changed");
        let code = Some("RECON0004".to_owned());
        source.problems.push(Problem { code, message: "no network".to_owned(), hints: Vec::new() });
        let failed = SourceObjectStatus::of(&source, Some(&again), at(3));
        assert_eq!(ready(&failed), ("False".to_owned(), "RECON0004".to_owned(), Time(at(3))));
    }
}
