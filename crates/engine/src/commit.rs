//! What a complete run commits beside the effects of its steps, and the history's entry for a run.

use std::collections::{BTreeMap, BTreeSet};

use slipway_plan::{ChangeAction, LeftOut, Plan, Snapshot};
use slipway_resource::{Address, Identity};
use slipway_state_store::Outcome;

use crate::report::Report;

/// Records the dependencies of resources that a plan leaves as they are otherwise.
pub(crate) fn record_dependencies(plan: &Plan, snapshot: &mut Snapshot) {
    for (address, depends_on) in &plan.dependencies {
        if let Some(record) = snapshot.resources.get_mut(address) {
            record.depends_on.clone_from(depends_on);
        }
    }
}

/// Forgets the requested rolls that a complete run has brought to an end. Those of pools that its plan leaves out, or could not decide
/// about, stay; so do the pools that were rolled with them, so that the same request does not roll them again.
pub(crate) fn end_rolls(plan: &Plan, snapshot: &mut Snapshot) {
    let is_left = |pool: &Address| {
        let may_roll = |left: &&LeftOut| left.rolls || left.action == ChangeAction::Deferred;
        plan.pending.iter().filter(may_roll).any(|left| left.address == *pool)
            || plan
                .changes
                .iter()
                .any(|change| change.action == ChangeAction::Deferred && change.address == *pool)
    };
    let is_open = |(pool, machines): (&Address, &BTreeSet<Identity>)| !machines.is_empty() && is_left(pool);
    if snapshot.rolls.iter().any(is_open) {
        snapshot.rolls.retain(|pool, machines| machines.is_empty() || is_left(pool));
    } else {
        snapshot.rolls.clear();
    }
}

/// Leaves the objects alone that a plan took out of the state by entries of `removed`.
pub(crate) fn leave_removed(plan: &Plan, snapshot: &mut Snapshot) {
    for (address, identity) in slipway_plan::removed::objects(plan) {
        let objects = snapshot.forgotten.entry(address.clone()).or_default();
        if !objects.contains(identity) {
            objects.push(identity.clone());
        }
    }
}

/// The outcome of a run.
#[must_use]
pub fn outcome(plan: &Plan, report: &Report) -> Outcome {
    if !report.failures.is_empty() {
        Outcome::Failed
    } else if !report.is_complete() {
        Outcome::Stopped
    } else if plan.has_deferred() {
        Outcome::Deferred
    } else {
        Outcome::Complete
    }
}

/// A sentence on the work of a run: its changes when it is complete, its steps when it is not.
pub(crate) fn summary(plan: &Plan, report: &Report) -> String {
    if !report.is_complete() {
        let done = report.done + report.done_before;
        let failed = report.failures.len();
        let under_way = match report.under_way {
            0 => String::new(),
            steps => format!("{steps} left under way, "),
        };
        return format!("{done} steps done, {failed} failed, {under_way}{} not started", report.not_begun);
    }
    let mut counts: BTreeMap<usize, (&str, usize)> = BTreeMap::new();
    for change in &plan.changes {
        let (rank, word) = match change.action {
            ChangeAction::Create => (0, "created"),
            // As a plan counts it.
            ChangeAction::NoOp | ChangeAction::Update | ChangeAction::Record if change.rolls() => {
                (2, "rolled")
            }
            ChangeAction::Update => (1, "updated"),
            ChangeAction::ReplaceDeleteFirst | ChangeAction::ReplaceCreateFirst => (3, "replaced"),
            ChangeAction::Delete => (4, "deleted"),
            ChangeAction::Forget => (5, "forgotten"),
            ChangeAction::NoOp | ChangeAction::Adopt | ChangeAction::Record => (6, "recorded"),
            ChangeAction::Deferred => (7, "deferred"),
        };
        counts.entry(rank).or_insert((word, 0)).1 += 1;
    }
    if counts.is_empty() {
        return "nothing changed".to_owned();
    }
    counts.into_values().map(|(word, count)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Facts about a cluster for lists, from the applied spec.
#[must_use]
pub fn about(spec: &serde_json::Value) -> BTreeMap<String, String> {
    let fields = [
        ("provider", "/provider/name"),
        ("version", "/kubernetesVersion"),
        ("emulates", "/emulatedVersion"),
        ("region", "/region"),
    ];
    let known =
        |(name, pointer): (&str, &str)| Some((name.to_owned(), spec.pointer(pointer)?.as_str()?.to_owned()));
    fields.into_iter().filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use slipway_plan::file::Mode;
    use slipway_plan::{Inputs, Observations, Options, Record};
    use slipway_resource::{ClusterUid, Desired, Observation, Observed, Value};

    use super::*;
    use crate::scripted::{Scripted, providers_of, record, thing, things};

    /// The plan of two things that exist, the first of which depends on the second.
    async fn plan(prior: &Snapshot) -> Plan {
        let name = |name: &str| Value::map([("name", name)]);
        let mut desired = ["a", "b"].map(|one| Desired::new(thing(one), name(one))).to_vec();
        desired[0].depends_on = vec![thing("b")];
        let mut observations = Observations::default();
        for one in ["a", "b"] {
            observations.add_read(Observed {
                address: thing(one),
                identity: Identity::new(one),
                token: None,
                owner: None,
                observation: Observation::Present(name(one)),
            });
        }
        let inputs = Inputs {
            cluster: "a",
            uid: None,
            mode: Mode::Apply,
            spec: serde_json::Value::Null,
            changed: Vec::new(),
            desired,
            notes: Vec::new(),
            prior: Some(prior),
            generation: None,
            observations,
            providers: &providers_of(Scripted::default(), things()),
            catalogs: BTreeMap::new(),
            uncompared: BTreeMap::new(),
            options: Options::default(),
            locate: &|_| None,
        };
        slipway_plan::plan(inputs).await.unwrap()
    }

    #[tokio::test]
    async fn other_dependencies_alone_are_no_change_and_are_recorded_with_a_run() {
        let mut state = Snapshot::empty("a", ClusterUid::new("u"));
        // Of an earlier spec, in which they were the other way round.
        for (one, depends_on) in [("a", vec![]), ("b", vec![thing("a")])] {
            let applied = Some(Value::map([("name", one)]));
            let one_record = Record { identity: Identity::new(one), applied, depends_on, ..record() };
            state.resources.insert(thing(one), one_record);
        }
        let planned = plan(&state).await;
        assert!(planned.is_empty(), "{:?}", planned.changes);
        let wanted = BTreeMap::from([(thing("a"), vec![thing("b")]), (thing("b"), Vec::new())]);
        assert_eq!(planned.dependencies, wanted);
        record_dependencies(&planned, &mut state);
        assert_eq!(state.resources[&thing("a")].depends_on, [thing("b")]);
        assert!(state.resources[&thing("b")].depends_on.is_empty());
        assert!(plan(&state).await.dependencies.is_empty());
    }

    #[tokio::test]
    async fn a_requested_roll_stays_while_plans_leave_it_out() {
        let mut state = Snapshot::empty("a", ClusterUid::new("u"));
        for one in ["a", "b"] {
            let applied = Some(Value::map([("name", one)]));
            state.resources.insert(thing(one), Record { identity: Identity::new(one), applied, ..record() });
        }
        let mut planned = plan(&state).await;
        let machines = |names: &[&str]| -> BTreeSet<Identity> {
            names.iter().map(|name| Identity::new(*name)).collect()
        };
        // The first pool is rolled already, and the last one with this plan.
        state.rolls.insert(thing("a"), machines(&[]));
        state.rolls.insert(thing("b"), machines(&["m-1"]));
        state.rolls.insert(thing("c"), machines(&["m-2"]));
        planned.pending = vec![LeftOut { address: thing("b"), action: ChangeAction::NoOp, rolls: true }];
        end_rolls(&planned, &mut state);
        assert_eq!(state.rolls.keys().collect::<Vec<_>>(), [&thing("a"), &thing("b")]);
        planned.pending.clear();
        end_rolls(&planned, &mut state);
        assert!(state.rolls.is_empty());
    }
}
