use super::super::survey::MemberStatus;
use super::*;

fn data(cluster: &str, revision: i64) -> MemberData {
    MemberData { cluster_id: cluster.to_owned(), revision, ..MemberData::default() }
}

/// A machine that answers, with data of the cluster `a`.
fn intact(machine: &str, revision: i64) -> ControlPlane {
    ControlPlane {
        machine: machine.to_owned(),
        silent: Some("no leader".to_owned()),
        data: Some(data("a", revision)),
        ..ControlPlane::default()
    }
}

fn empty(machine: &str) -> ControlPlane {
    ControlPlane { data: None, damage: Some("its data folder is empty".to_owned()), ..intact(machine, 0) }
}

fn away(machine: &str) -> ControlPlane {
    ControlPlane {
        machine: machine.to_owned(),
        unreachable: Some(format!("{machine} cannot be reached")),
        ..ControlPlane::default()
    }
}

fn with_majority(mut one: ControlPlane, has_majority: bool) -> ControlPlane {
    one.status = Some(MemberStatus { has_majority, revision: 1, term: 1 });
    one
}

fn begun(machines: &[&str]) -> Begun {
    Begun {
        id: "recovered-1".to_owned(),
        source: Source::Survivor(machines[0].to_owned()),
        machines: machines.iter().map(|machine| (*machine).to_owned()).collect(),
        absent: Vec::new(),
    }
}

fn in_recovery(mut one: ControlPlane, begun: &Begun, is_replaced: bool) -> ControlPlane {
    one.begun = Some(begun.clone());
    one.is_replaced = is_replaced;
    one
}

/// The decision in a few words.
fn said(found: &[ControlPlane], from_snapshot: Option<&str>) -> String {
    match decide(found, from_snapshot) {
        Ok(Decision::New(choice)) => {
            let source = match choice.source {
                Source::Survivor(machine) => machine,
                Source::Snapshot(name) => format!("snapshot {name}"),
            };
            let absent: Vec<String> =
                choice.absent.iter().map(|one| format!("{} ({})", one.machine, one.reason)).collect();
            format!("{source} -> {}; without {}", choice.machines.join(" "), absent.join(", "))
        }
        Ok(Decision::Continue(begun, progress)) => format!("{progress:?} {}", begun.machines.join(" ")),
        Err(Refusal::Majority(why)) => format!("majority: {why}"),
        Err(Refusal::Nothing(missing)) => format!("nothing: {}", missing.join(", ")),
        Err(Refusal::Interrupted(why)) => format!("interrupted: {why}"),
    }
}

#[test]
fn every_situation_has_one_answer() {
    let other = ControlPlane { data: Some(data("b", 2_000_000_000)), ..intact("cp-2", 0) };
    let table: [(&[ControlPlane], Option<&str>, &str); 12] = [
        (
            &[intact("cp-0", 7), away("cp-1"), away("cp-2")],
            None,
            "cp-0 -> cp-0; without cp-1 (cp-1 cannot be reached), cp-2 (cp-2 cannot be reached)",
        ),
        // A member whose data is gone gets that of the survivor.
        (&[empty("cp-0"), intact("cp-1", 7), empty("cp-2")], None, "cp-1 -> cp-0 cp-1 cp-2; without "),
        // The newest of several survivors.
        (
            &[intact("cp-0", 7), intact("cp-1", 9), away("cp-2"), away("cp-3"), away("cp-4")],
            None,
            "cp-1 -> cp-0 cp-1; without cp-2 (cp-2 cannot be reached), cp-3 (cp-3 cannot be reached), cp-4 (cp-4 cannot be reached)",
        ),
        // Data of an earlier history, on a machine that came back.
        (
            &[intact("cp-0", 7), away("cp-1"), other, away("cp-3"), away("cp-4")],
            None,
            "cp-2 -> cp-2; without cp-0 (its data is that of another etcd, the cluster a), cp-1 (cp-1 cannot be reached), \
             cp-3 (cp-3 cannot be reached), cp-4 (cp-4 cannot be reached)",
        ),
        (
            &[with_majority(intact("cp-0", 7), true), with_majority(intact("cp-1", 7), true), away("cp-2")],
            None,
            "majority: a majority of its members answers cp-0",
        ),
        (
            &[intact("cp-0", 7), with_majority(intact("cp-1", 8), false), away("cp-2")],
            None,
            "majority: 2 of 3 members have their data (cp-0, cp-1), which is a majority as soon as they run",
        ),
        (
            &[intact("cp-0", 7)],
            None,
            "majority: 1 of 1 members have their data (cp-0), which is a majority as soon as they run",
        ),
        (
            &[empty("cp-0"), away("cp-1")],
            None,
            "nothing: cp-0: its data folder is empty, cp-1 cannot be reached",
        ),
        (
            &[empty("cp-0"), away("cp-1")],
            Some("s"),
            "snapshot s -> cp-0; without cp-1 (cp-1 cannot be reached)",
        ),
        (
            &[intact("cp-0", 7), away("cp-1"), away("cp-2")],
            Some("s"),
            "snapshot s -> cp-0; without cp-1 (cp-1 cannot be reached), cp-2 (cp-2 cannot be reached)",
        ),
        (
            &[with_majority(intact("cp-0", 7), true)],
            Some("s"),
            "majority: a majority of its members answers cp-0",
        ),
        (&[away("cp-0")], Some("s"), "nothing: cp-0 cannot be reached"),
    ];
    for (found, from_snapshot, wanted) in table {
        assert_eq!(said(found, from_snapshot), wanted);
    }
}

#[test]
fn of_equal_survivors_the_one_with_the_longer_confirmed_log_is_used() {
    let mut longer = intact("cp-1", 7);
    longer.data = longer.data.map(|data| MemberData { commit: 40, ..data });
    let found = [intact("cp-0", 7), longer, away("cp-2"), away("cp-3"), away("cp-4")];
    assert!(said(&found, None).starts_with("cp-1 -> cp-0 cp-1"));
    let equal = [intact("cp-0", 7), intact("cp-1", 7), away("cp-2"), away("cp-3"), away("cp-4")];
    assert!(said(&equal, None).starts_with("cp-0 -> "));
}

#[test]
fn an_interrupted_recovery_goes_on_as_it_began() {
    let two = begun(&["cp-0", "cp-1"]);
    let one = begun(&["cp-0"]);
    let (cp0, cp1) = (intact("cp-0", 7), intact("cp-1", 7));
    let with = |machine: &ControlPlane, is_replaced| in_recovery(machine.clone(), &two, is_replaced);
    // Begun on one of two machines, on both, and with replaced data on one of them.
    assert_eq!(said(&[with(&cp0, false), cp1.clone()], None), "Interrupted cp-0 cp-1");
    assert_eq!(said(&[with(&cp0, false), with(&cp1, false)], None), "Interrupted cp-0 cp-1");
    assert_eq!(said(&[with(&cp0, true), with(&cp1, false)], None), "Interrupted cp-0 cp-1");
    // In the last step, machines forget the recovery one by one.
    assert_eq!(said(&[with(&cp0, true), cp1.clone()], None), "Restored cp-0 cp-1");
    // The lost members came back before anything was changed.
    let back = with_majority(in_recovery(cp0.clone(), &one, false), true);
    assert_eq!(said(&[back, cp1.clone()], None), "Needless cp-0");
    // After the data was replaced, the new etcd has a majority: the rest is done.
    let replaced = with_majority(in_recovery(cp0.clone(), &one, true), true);
    assert_eq!(said(&[replaced, away("cp-1")], None), "Interrupted cp-0");
    // A machine that takes part must answer, and all must be in the same recovery.
    assert_eq!(
        said(&[with(&cp0, true), away("cp-1")], None),
        "interrupted: cp-1 takes part in the recovery recovered-1 and does not answer: cp-1 cannot be reached"
    );
    let other = in_recovery(cp1, &Begun { id: "recovered-2".to_owned(), ..two.clone() }, false);
    assert!(said(&[with(&cp0, false), other], None).contains("two recoveries"));
}
