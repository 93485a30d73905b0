//! Whether a plan may be applied now. Pure: the same facts give the same answer.

use jiff::Timestamp;

use crate::board::Pause;
use crate::configuration::{Apply, ClusterPolicy, Opening, Schedule};
use crate::facts::Facts;
use crate::status::Reason;

/// What is done with a plan that has changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is applied.
    Apply,
    /// It waits.
    Wait(Waiting),
}

/// Why a plan is not applied now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The reason of the condition.
    pub reason: Reason,
    /// A sentence about it.
    pub message: String,
    /// When that may change by itself.
    pub until: Option<Timestamp>,
}

impl Waiting {
    /// A plan that waits for a person or a change.
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), until: None }
    }
}

/// The question whether a plan may be applied.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The policy of the cluster.
    pub policy: &'a ClusterPolicy,
    /// The plan.
    pub facts: &'a Facts,
    /// The place of the plan in the state store, as `state:CLUSTER/DIGEST`, where it is stored.
    pub place: &'a str,
    /// The pause of the cluster.
    pub pause: Option<&'a Pause>,
    /// The persons who approved the plan and whose approvals count.
    pub approvals: usize,
    /// The time.
    pub now: Timestamp,
}

/// Whether a plan may be applied now.
#[must_use]
pub fn decide(question: Question<'_>) -> Verdict {
    let reasons: [fn(Question<'_>) -> Option<Waiting>; 6] =
        [by_pause, by_confirmation, by_drift, by_kind, by_approvals, by_schedule];
    match reasons.into_iter().find_map(|reason| reason(question)) {
        Some(waiting) => Verdict::Wait(waiting),
        None => Verdict::Apply,
    }
}

fn by_pause(Question { pause, .. }: Question<'_>) -> Option<Waiting> {
    let pause = pause?;
    Some(Waiting { until: pause.until, ..Waiting::new(Reason::Paused, pause.to_string()) })
}

/// A loss of data is confirmed by a person and by name, whatever the policy says.
fn by_confirmation(Question { facts, place, policy, .. }: Question<'_>) -> Option<Waiting> {
    if facts.confirmations.is_empty() || policy.apply == Apply::Never {
        return None;
    }
    let names: String = facts.confirmations.iter().map(|name| format!(" --confirm {name}")).collect();
    let message = format!(
        "the plan loses data, which a controller never does; a person can run `slipway apply {place}{names}`"
    );
    Some(Waiting::new(Reason::ConfirmationNeeded, message))
}

/// Drift alone is reported, also where a person has approved the plan: a person reverts it with `slipway apply`.
fn by_drift(Question { facts, policy, place, .. }: Question<'_>) -> Option<Waiting> {
    if !policy.reports_only(facts) {
        return None;
    }
    let what = match facts.drift {
        1 => "1 resource was".to_owned(),
        drift => format!("{drift} resources were"),
    };
    // An untrusted plan is not stored.
    let by_hand = match place {
        "" => String::new(),
        place => format!("; `slipway apply {place}` reverts it"),
    };
    let message = format!("{what} changed outside Slipway, and the policy reports drift only{by_hand}");
    Some(Waiting::new(Reason::Drifted, message))
}

fn by_kind(Question { facts, policy, place, .. }: Question<'_>) -> Option<Waiting> {
    match policy.apply {
        Apply::Never => {
            let why = if policy.is_unnamed() {
                "no `[[source.cluster]]` of the source matches this cluster, so the controller applies no plan of it"
            } else {
                "with `apply = \"never\"` the controller applies no plan of it"
            };
            let by_hand = match place {
                "" => String::new(),
                place => format!("; to apply this plan, run `slipway apply {place}`"),
            };
            Some(Waiting::new(Reason::PlanOnly, format!("{facts}; {why}{by_hand}")))
        }
        Apply::Safe if !facts.unsafe_because.is_empty() => {
            let why = facts.unsafe_because.join(", ");
            let message =
                format!("the plan is not a safe one: {why}; a person can run `slipway apply {place}`");
            Some(Waiting::new(Reason::NotSafe, message))
        }
        Apply::Always | Apply::Safe | Apply::Approved => None,
    }
}

fn by_approvals(Question { policy, approvals, place, .. }: Question<'_>) -> Option<Waiting> {
    let needed = usize::from(policy.approvals);
    if policy.apply != Apply::Approved || approvals >= needed {
        return None;
    }
    let message = format!("{approvals} of {needed} approvals; `slipway approve {place}` gives one");
    Some(Waiting::new(Reason::ApprovalNeeded, message))
}

fn by_schedule(Question { policy, now, .. }: Question<'_>) -> Option<Waiting> {
    let schedule = match Schedule::of(policy) {
        Ok(schedule) => schedule,
        // The configuration was checked; if it is wrong nevertheless, nothing is applied.
        Err(reason) => return Some(Waiting::new(Reason::OutsideWindow, reason)),
    };
    match schedule.at(now) {
        Opening::Open => None,
        Opening::Closed(until) => {
            let next = until
                .map_or_else(|| "none opens".to_owned(), |next| format!("the next one opens at {next:.0}"));
            let message = format!("no maintenance window is open; {next}");
            Some(Waiting { until, ..Waiting::new(Reason::OutsideWindow, message) })
        }
        Opening::Frozen(until, reason) => {
            let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let end = until.map(|until| format!(" until {until:.0}")).unwrap_or_default();
            Some(Waiting { until, ..Waiting::new(Reason::Frozen, format!("changes are frozen{end}{why}")) })
        }
    }
}

#[cfg(test)]
mod tests;
