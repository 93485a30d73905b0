use std::time::Duration;

use super::*;
use crate::configuration::{Drift, Window};

fn now() -> Timestamp {
    "2026-11-26T12:00:00Z".parse().unwrap()
}

/// The reason for which a plan waits; `None` if it is applied.
fn reason(policy: &ClusterPolicy, facts: &Facts, approvals: usize, pause: Option<&Pause>) -> Option<Reason> {
    let place = "state:prod/0123abcd";
    match decide(Question { policy, facts, place, pause, approvals, now: now() }) {
        Verdict::Apply => None,
        Verdict::Wait(waiting) => Some(waiting.reason),
    }
}

fn policy(apply: Apply) -> ClusterPolicy {
    ClusterPolicy { apply, ..ClusterPolicy::unnamed() }
}

fn changes() -> Facts {
    Facts { create: 1, from_spec: 1, ..Facts::default() }
}

#[test]
fn each_policy_applies_its_plans_only() {
    let dangerous = Facts { unsafe_because: vec!["delete sim_network.main".to_owned()], ..changes() };
    let of = |apply, facts: &Facts, approvals| reason(&policy(apply), facts, approvals, None);
    assert_eq!(of(Apply::Always, &changes(), 0), None);
    assert_eq!(of(Apply::Always, &dangerous, 0), None);
    assert_eq!(of(Apply::Safe, &changes(), 0), None);
    assert_eq!(of(Apply::Safe, &dangerous, 0), Some(Reason::NotSafe));
    assert_eq!(of(Apply::Approved, &changes(), 0), Some(Reason::ApprovalNeeded));
    assert_eq!(of(Apply::Approved, &dangerous, 1), None);
    assert_eq!(of(Apply::Never, &changes(), 9), Some(Reason::PlanOnly));
    let two = ClusterPolicy { approvals: 2, ..policy(Apply::Approved) };
    assert_eq!(reason(&two, &changes(), 1, None), Some(Reason::ApprovalNeeded));
}

#[test]
fn a_cluster_without_a_policy_is_told_apart_from_one_whose_plans_are_not_applied() {
    let message = |policy: &ClusterPolicy| {
        let facts = changes();
        let place = "state:prod/0123abcd";
        match decide(Question { policy, facts: &facts, place, pause: None, approvals: 0, now: now() }) {
            Verdict::Wait(waiting) => waiting.message,
            Verdict::Apply => panic!("it is applied"),
        }
    };
    let unnamed = message(&ClusterPolicy::unnamed());
    assert!(unnamed.contains("no `[[source.cluster]]` of the source matches this cluster"), "{unnamed}");
    let named = message(&ClusterPolicy { name: "*".to_owned(), ..ClusterPolicy::unnamed() });
    assert!(named.ends_with("to apply this plan, run `slipway apply state:prod/0123abcd`"), "{named}");
    assert!(named.contains("with `apply = \"never\"` the controller applies no plan"), "{named}");
}

#[test]
fn a_loss_of_data_is_never_applied() {
    let loss = Facts { confirmations: vec!["sim_volume.etcd".to_owned()], ..changes() };
    for apply in [Apply::Always, Apply::Safe, Apply::Approved] {
        assert_eq!(reason(&policy(apply), &loss, 9, None), Some(Reason::ConfirmationNeeded));
    }
}

#[test]
fn drift_alone_is_reverted_only_if_the_policy_says_so() {
    let drift = Facts { update: 1, drift: 1, ..Facts::default() };
    let both = Facts { update: 2, drift: 1, from_spec: 1, ..Facts::default() };
    let report = policy(Apply::Always);
    let revert = ClusterPolicy { drift: Drift::Revert, ..policy(Apply::Always) };
    assert_eq!(reason(&report, &drift, 0, None), Some(Reason::Drifted));
    assert_eq!(reason(&report, &both, 0, None), None, "a change of the spec is applied as a whole");
    assert_eq!(reason(&revert, &drift, 0, None), None);
    for apply in [Apply::Safe, Apply::Approved, Apply::Never] {
        assert_eq!(reason(&policy(apply), &drift, 9, None), Some(Reason::Drifted), "{apply:?}");
    }
    let approved = ClusterPolicy { drift: Drift::Revert, ..policy(Apply::Approved) };
    assert_eq!(reason(&approved, &drift, 0, None), Some(Reason::ApprovalNeeded));
    assert_eq!(reason(&approved, &drift, 1, None), None);
    assert_eq!(reason(&policy(Apply::Approved), &both, 1, None), None);
}

#[test]
fn a_pause_comes_before_everything_and_a_window_after_everything() {
    let pause = Pause { who: "ada@laptop".into(), since: now(), until: None, reason: "incident".into() };
    assert_eq!(reason(&policy(Apply::Always), &changes(), 0, Some(&pause)), Some(Reason::Paused));
    let window = Window { cron: "0 22 * * *".to_owned(), lasts: Duration::from_secs(3600) };
    let windowed = ClusterPolicy { windows: vec![window], ..policy(Apply::Approved) };
    assert_eq!(reason(&windowed, &changes(), 0, None), Some(Reason::ApprovalNeeded));
    let place = "state:prod/0123abcd";
    let facts = changes();
    let question =
        Question { policy: &windowed, facts: &facts, place, pause: None, approvals: 1, now: now() };
    let Verdict::Wait(waiting) = decide(question) else { panic!("no window is open") };
    assert_eq!((waiting.reason, waiting.until), (Reason::OutsideWindow, "2026-11-26T22:00:00Z".parse().ok()));
}

#[test]
fn drift_waits_with_the_other_changes_of_its_plan() {
    let revert = ClusterPolicy { drift: Drift::Revert, ..policy(Apply::Always) };
    let drift = Facts { update: 1, drift: 1, ..Facts::default() };
    assert_eq!(reason(&revert, &drift, 0, None), None);
    let both = Facts { from_spec: 1, confirmations: vec!["sim_volume.a".to_owned()], ..drift.clone() };
    assert_eq!(reason(&revert, &both, 0, None), Some(Reason::ConfirmationNeeded));
    // A change of the spec reverts drift whatever the policy says about drift alone.
    let report = policy(Apply::Always);
    assert_eq!(reason(&report, &drift, 0, None), Some(Reason::Drifted));
    assert_eq!(reason(&report, &Facts { from_spec: 1, ..drift }, 0, None), None);
}
