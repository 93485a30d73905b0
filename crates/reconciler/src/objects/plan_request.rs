//! `PlanRequest`: a person or a program asks for a plan now, as `slipway controller request` does.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use slipway_controller::kube::CustomResource;
use slipway_controller::set_condition;

use super::common::PlanSummary;
use crate::status::{Reason, Status};

/// The cluster to plan. The fields cannot be changed.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "gitops.slipway.dev",
    version = "v1alpha1",
    kind = "PlanRequest",
    namespaced,
    status = "PlanRequestStatus",
    doc = "A request that the controller plans a cluster now. Whether the plan is applied is decided by the policy of the cluster.",
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".spec.cluster"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Outcome", "type": "string", "jsonPath": ".status.outcome"}"#,
    printcolumn = r#"{"name": "Create", "type": "integer", "jsonPath": ".status.plan.create"}"#,
    printcolumn = r#"{"name": "Update", "type": "integer", "jsonPath": ".status.plan.update"}"#,
    printcolumn = r#"{"name": "Replace", "type": "integer", "jsonPath": ".status.plan.replace"}"#,
    printcolumn = r#"{"name": "Delete", "type": "integer", "jsonPath": ".status.plan.delete"}"#,
    printcolumn = r#"{"name": "Link", "type": "string", "jsonPath": ".status.plan.link", "priority": 1}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    crates(
        kube = "slipway_controller::kube",
        kube_core = "slipway_controller::kube::core",
        k8s_openapi = "slipway_controller::k8s_openapi"
    )
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "self == oldSelf", "message": "a request cannot be changed; create another one"}]))]
pub struct PlanRequestSpec {
    /// Name of the cluster.
    #[schemars(
        regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"),
        length(max = 253)
    )]
    pub cluster: String,
    /// Seconds after the end of the request at which this object is deleted.
    #[serde(default = "one_day")]
    #[schemars(range(min = 0, max = 31_536_000))]
    pub ttl_seconds_after_finished: i32,
}

fn one_day() -> i32 {
    86_400
}

/// What became of a request.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanRequestStatus {
    /// The generation of this object that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Number of the request among those for the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<i64>,
    /// When the request was handed to the controllers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub requested_at: Option<String>,
    /// When the request was carried out, or refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub finished_at: Option<String>,
    /// Reason of the cluster's condition `Ready` after the plan, such as `InSync` or `ApprovalNeeded`; or `UnknownCluster`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The plan. Absent if none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanSummary>,
    /// Conditions: `Ready` when the cluster was planned, `Reconciling` until then, `Stalled` if it could not be planned.
    #[serde(default)]
    #[schemars(schema_with = "super::common::conditions")]
    pub conditions: Vec<Condition>,
}

/// The outcome of a request for a cluster that the controller does not know.
const UNKNOWN: &str = "UnknownCluster";

impl PlanRequest {
    /// Whether it was carried out or refused.
    pub(super) fn is_finished(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.finished_at.is_some())
    }

    /// When it is deleted; `None` while it is not finished.
    pub(super) fn expires(&self) -> Option<Timestamp> {
        let finished: Timestamp = self.status.as_ref()?.finished_at.as_ref()?.parse().ok()?;
        let seconds = SignedDuration::from_secs(self.spec.ttl_seconds_after_finished.into());
        finished.checked_add(seconds).ok()
    }

    /// Its status after it was handed to the controllers as this request.
    pub(super) fn requested(&self, number: i64, now: Timestamp) -> PlanRequestStatus {
        let mut status = self.status.clone().unwrap_or_default();
        status.request = Some(number);
        status.requested_at = Some(now.to_string());
        let message = format!("the cluster {} is being planned", self.spec.cluster);
        self.tell(&mut status, ["False", "True", "False"], ("Planning", message), now);
        status
    }

    /// Its status for a cluster that the controller does not know.
    pub(super) fn unknown(&self, now: Timestamp) -> PlanRequestStatus {
        let mut status = self.status.clone().unwrap_or_default();
        status.finished_at = Some(now.to_string());
        status.outcome = Some(UNKNOWN.to_owned());
        let message = format!("the controller does not know the cluster {}", self.spec.cluster);
        self.tell(&mut status, ["False", "False", "True"], (UNKNOWN, message), now);
        status
    }

    /// Its status by that of the cluster; `None` as long as the cluster is being planned or applied.
    pub(super) fn looked(&self, cluster: &Status, now: Timestamp) -> Option<PlanRequestStatus> {
        let mut status = self.status.clone().unwrap_or_default();
        let number = u64::try_from(status.request?).unwrap_or_default();
        let passing = [Reason::Applying, Reason::Held, Reason::Stopped];
        let ready = cluster.ready()?;
        if cluster.request < number || passing.iter().any(|reason| cluster.is(*reason)) {
            return None;
        }
        status.finished_at = Some(now.to_string());
        status.outcome = Some(ready.reason.clone());
        // After a failure, the last plan is one that was made before.
        let is_planned = cluster.problem.is_none();
        status.plan = cluster.plan.as_ref().filter(|_| is_planned).map(PlanSummary::of);
        let reported = (ready.reason.as_str(), ready.message.clone());
        let conditions = if is_planned { ["True", "False", "False"] } else { ["False", "False", "True"] };
        self.tell(&mut status, conditions, reported, now);
        Some(status)
    }

    /// Sets `Ready`, `Reconciling` and `Stalled`, in this order.
    fn tell(
        &self,
        status: &mut PlanRequestStatus,
        states: [&str; 3],
        (reason, message): (&str, String),
        now: Timestamp,
    ) {
        status.observed_generation = self.metadata.generation;
        for (kind, state) in ["Ready", "Reconciling", "Stalled"].into_iter().zip(states) {
            let condition = Condition {
                type_: kind.to_owned(),
                status: state.to_owned(),
                reason: reason.to_owned(),
                message: if kind == "Ready" { message.clone() } else { String::new() },
                observed_generation: self.metadata.generation,
                last_transition_time: Time(now),
            };
            set_condition(&mut status.conditions, condition, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> PlanRequest {
        PlanRequest::new("a", PlanRequestSpec { cluster: "prod".to_owned(), ttl_seconds_after_finished: 60 })
    }

    fn states(status: &PlanRequestStatus) -> Vec<&str> {
        status.conditions.iter().map(|condition| condition.status.as_str()).collect()
    }

    #[test]
    fn a_request_ends_with_the_look_that_has_seen_it() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut request = request();
        assert!(request.looked(&Status::default(), at(1)).is_none(), "it was not handed over");
        let status = request.requested(3, at(1));
        assert_eq!(states(&status), ["False", "True", "False"]);
        request.status = Some(status);
        assert!(!request.is_finished() && request.expires().is_none());

        let mut cluster = Status { request: 2, ..Status::default() };
        cluster.tell(Reason::InSync, "", at(2));
        assert!(request.looked(&cluster, at(3)).is_none(), "the look was one before the request");
        cluster.request = 3;
        cluster.tell(Reason::Applying, "", at(3));
        assert!(request.looked(&cluster, at(4)).is_none(), "the plan is being applied");
        cluster.tell(Reason::ApprovalNeeded, "0 of 2 approvals", at(4));
        let status = request.looked(&cluster, at(5)).unwrap();
        assert_eq!(status.outcome.as_deref(), Some("ApprovalNeeded"));
        assert_eq!(states(&status), ["True", "False", "False"]);
        request.status = Some(status);
        assert!(request.is_finished());
        assert_eq!(request.expires(), Some(at(65)));
    }

    #[test]
    fn a_failure_stalls_a_request_and_shows_no_earlier_plan() {
        let mut request = request();
        request.status = Some(request.requested(1, Timestamp::UNIX_EPOCH));
        let problem = crate::status::Problem { code: None, message: "no".to_owned(), hints: Vec::new() };
        let mut cluster = Status { request: 1, problem: Some(problem), ..Status::default() };
        cluster.tell(Reason::Failed, "no quota", Timestamp::UNIX_EPOCH);
        let status = request.looked(&cluster, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(states(&status), ["False", "False", "True"]);
        assert!(status.plan.is_none());
        let unknown = request.unknown(Timestamp::UNIX_EPOCH);
        assert_eq!(unknown.outcome.as_deref(), Some("UnknownCluster"));
    }
}
