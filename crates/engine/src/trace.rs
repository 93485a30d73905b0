//! Spans of an operation, for traces: planning, a run, its steps, and the calls of providers.
//!
//! A span has names, addresses, counts and classes of errors. It never has values of attributes, texts of providers or secrets.

use slipway_resource::ProviderError;
use tracing::Span;
use tracing::field::{Empty, display};

/// The target of all spans. An exporter selects spans by it, and logs leave them out.
pub const TARGET: &str = "slipway::spans";

/// The field with the code or the class of the error by which a span failed.
pub const ERROR: &str = "error";

/// Planning for a cluster.
#[must_use]
pub fn plan(cluster: &str) -> Span {
    tracing::info_span!(target: TARGET, "plan", cluster, error = Empty)
}

/// One look of a controller at a cluster.
#[must_use]
pub fn pass(cluster: &str) -> Span {
    tracing::info_span!(target: TARGET, "pass", cluster, reason = Empty)
}

/// A run of a plan.
pub(crate) fn apply(cluster: &str, steps: usize) -> Span {
    tracing::info_span!(target: TARGET, "apply", cluster, steps, failed_steps = Empty, error = Empty)
}

/// A step of a run.
pub(crate) fn step(step: &slipway_plan::Step) -> Span {
    tracing::info_span!(target: TARGET, "step", step = %step.title(), error = Empty)
}

/// A call of a provider, with all that is done until its answer.
pub(crate) fn call(provider: &str, what: &str) -> Span {
    tracing::info_span!(target: TARGET, "provider call", provider, call = what, error = Empty)
}

/// Notes in a span how a call ended.
pub(crate) fn answered<T>(span: &Span, answer: &Result<T, ProviderError>) {
    if let Err(error) = answer {
        span.record(ERROR, display(&error.class));
    }
}
