//! The status of a cluster and of a source, as the state store keeps them.

mod conditions;
mod reason;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

pub use reason::Reason;

use crate::facts::Facts;

/// What a controller found and did last for a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The cluster.
    pub cluster: String,
    /// The name of the controller.
    pub controller: String,
    /// The source with its spec.
    pub source: String,
    /// The path in the source.
    pub path: String,
    /// The revision of the source: a commit, or the digest of a folder.
    pub revision: String,
    /// The digest of the files in the path.
    pub spec_digest: String,
    /// Which plans are applied.
    pub apply: String,
    /// The version of Kubernetes that was applied last; `None` before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `Ready`, `Reconciling` and `Stalled`, as kstatus reads them, and `Drifted`.
    pub conditions: Vec<Condition>,
    /// The last plan.
    pub plan: Option<LastPlan>,
    /// The digest of a plan that is being applied, or whose run was interrupted.
    pub applying: Option<String>,
    /// The revision from which that plan was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applying_revision: Option<String>,
    /// The process that holds the cluster, while another one does.
    pub held: Option<Held>,
    /// The last plan that was applied completely.
    pub applied: Option<LastApply>,
    /// The present failure.
    pub problem: Option<Problem>,
    /// How often in a row an attempt failed.
    pub failures: u32,
    /// The number of the last request that was carried out.
    pub request: u64,
    /// When the cluster was planned last.
    pub checked: Option<Timestamp>,
    /// When it is looked at again without a change.
    pub next: Option<Timestamp>,
    /// The digest of the last notification; `None` after its reason is over.
    #[serde(default, rename = "told", skip_serializing_if = "Option::is_none")]
    pub notified: Option<String>,
    /// Its place in the order among the clusters of its source; `None` where there is no order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
}

/// The place of a cluster in the order among the clusters of its source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollout {
    /// Its wave.
    pub wave: i32,
    /// The digest of the spec files with which it was in line last, or whose run has begun. The order does not hold plans for
    /// them.
    pub spec_digest: Option<String>,
    /// The cluster that it waits for; a pattern or a path where no cluster is known. The condition `Ready` says why.
    pub waits_for: Option<String>,
}

/// Another process that holds a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// Its hold, with the number of renewals of its lease.
    pub sign: String,
    /// Since when it has not renewed its lease, as far as this was looked at.
    pub since: Timestamp,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastPlan {
    /// Its digest.
    pub digest: String,
    /// The generation of the state that it was made for; 0 for a cluster without a state.
    pub generation: u64,
    /// When it was made.
    pub when: Timestamp,
    /// Its numbers.
    pub facts: Facts,
    /// Its place, as `state:CLUSTER/DIGEST`; empty for a plan that is not stored.
    pub place: String,
    /// The number of approvals that count.
    pub approvals: usize,
    /// The number of approvals that it needs.
    pub needed: u16,
}

/// A plan that was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastApply {
    /// Its digest.
    pub digest: String,
    /// The generation that it made.
    pub generation: Option<u64>,
    /// When it was through.
    pub when: Timestamp,
    /// How long it took, in seconds.
    pub seconds: u64,
    /// The revision of the source.
    pub revision: String,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Its code, where it has one.
    pub code: Option<String>,
    /// What went wrong.
    pub message: String,
    /// Ways out.
    pub hints: Vec<String>,
}

/// What was read last from a source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceStatus {
    /// The controller that reads it.
    pub controller: String,
    /// Its folder or URL.
    pub place: String,
    /// The revision: a commit, or the digest of a folder.
    pub revision: String,
    /// When this revision was read first.
    pub since: Option<Timestamp>,
    /// The generation of the `Source` object that was read last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The number of clusters in it.
    pub clusters: usize,
    /// Why it cannot be read, or what of it.
    pub problems: Vec<Problem>,
}

impl Problem {
    /// A failure of an operation.
    #[must_use]
    pub fn of(error: &slipway_operations::Error) -> Self {
        use slipway_operations::Error as Failure;
        let (mut message, mut code) = (error.to_string(), error.code());
        if let Failure::Specs(problems) = error {
            message = slipway_spec::diagnostic::render_all(problems);
            code = code.or_else(|| Some(problems.first()?.code.id));
        }
        for cause in error.causes() {
            message.push_str(": ");
            message.push_str(&cause);
        }
        Self { code: code.map(str::to_owned), message: short(&message), hints: error.hints() }
    }

    /// A failure of a review of a pull request.
    pub(crate) fn of_review(error: &slipway_reviews::Error) -> Self {
        if let slipway_reviews::Error::Operation(error) = error {
            return Self::of(error);
        }
        let mut message = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(inner) = cause {
            message.push_str(": ");
            message.push_str(&inner.to_string());
            cause = inner.source();
        }
        Self { code: error.code().map(str::to_owned), message: short(&message), hints: error.hints() }
    }

    /// Its code, or the word of a reason where it has none.
    pub(crate) fn code_or(&self, reason: Reason) -> String {
        self.code.clone().unwrap_or_else(|| reason.word().to_owned())
    }

    /// A failure of a source.
    #[must_use]
    pub fn of_source(error: &crate::Error) -> Self {
        let mut message = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(inner) = cause {
            message.push_str(": ");
            message.push_str(&inner.to_string());
            cause = inner.source();
        }
        let hints = error.hint().into_iter().collect();
        Self { code: Some(error.code().to_owned()), message: short(&message), hints }
    }
}

/// A message that fits into a document.
fn short(text: &str) -> String {
    slipway_limits::text::shorten(text.trim_end(), slipway_limits::size::MESSAGE).into_owned()
}
