use slipway_operations::etcd::{Absent, MemberStatus, Newest, Snapshot};

use super::*;

fn snapshot() -> Snapshot {
    Snapshot {
        name: "20261126T074322Z-1203".to_owned(),
        taken: Some("2026-11-26T07:43:22Z".to_owned()),
        revision: Some(1203),
        size: Some(4 << 20),
        stored: None,
        member: None,
        etcd_version: None,
        sha256: None,
        verified: None,
        problem: None,
        machine: "cp-2".to_owned(),
        store: "/var/backups/slipway".to_owned(),
    }
}

fn plan() -> Recovery {
    let data = MemberData {
        revision: 1931,
        size: 5 << 20,
        term: 3,
        commit: 2400,
        written: Some("2026-11-26T08:01:02Z".to_owned()),
        ..MemberData::default()
    };
    let survivor = ControlPlane {
        machine: "cp-2".to_owned(),
        status: Some(MemberStatus { has_majority: false, revision: 1931, term: 3 }),
        data: Some(data),
        ..ControlPlane::default()
    };
    let away = ControlPlane {
        machine: "cp-0".to_owned(),
        unreachable: Some("cp-0 cannot be reached".to_owned()),
        ..ControlPlane::default()
    };
    Recovery {
        cluster: "demo".to_owned(),
        id: "recovered-1".to_owned(),
        progress: Progress::New,
        source: Source::Survivor("cp-2".to_owned()),
        revision: Some(1931),
        written: Some("2026-11-26T08:01:02Z".to_owned()),
        unconfirmed: Some(2),
        newest_snapshot: Some(Newest { snapshot: snapshot(), behind: Some(728) }),
        lost_revisions: None,
        machines: vec!["cp-2".to_owned()],
        absent: vec![Absent { machine: "cp-0".to_owned(), reason: "cp-0 cannot be reached".to_owned() }],
        control_planes: vec![away, survivor],
        stages: vec!["stop etcd".to_owned()],
    }
}

#[test]
fn a_preview_names_the_source_the_loss_and_the_machines_that_are_left_out() {
    let text = preview(&plan());
    for part in [
        "cp-0     not reachable    unknown\n",
        "cp-2     has no majority  intact   1931      3     2400    5 MiB  2026-11-26 08:01:02Z\n",
        "cp-0: cp-0 cannot be reached\n",
        "demo is recovered from the data of cp-2: revision 1931, last written 2026-11-26 08:01:02Z.\n",
        "2 requests in the log that were never known to be confirmed",
        "20261126T074322Z-1203 of 2026-11-26 07:43:22Z, is 728 revisions older",
        "Not recovered: cp-0.",
        "Each step ends on cp-2 before",
        "  1  stop etcd\n",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn the_loss_of_a_snapshot_is_counted_by_the_data_that_is_left() {
    let of_snapshot = Recovery {
        source: Source::Snapshot("20261126T074322Z-1203".to_owned()),
        lost_revisions: Some(728),
        ..plan()
    };
    assert!(
        preview(&of_snapshot).contains("LOST  728 revisions that the data of a reachable control plane has")
    );
    let unknown = Recovery { lost_revisions: None, ..of_snapshot };
    assert!(preview(&unknown).contains("LOST  all that was written since the snapshot was taken"));
}

#[test]
fn a_recovery_that_goes_on_says_so() {
    let goes_on = Recovery { progress: Progress::Interrupted, ..plan() };
    let text = preview(&goes_on);
    assert!(
        text.contains("The recovery recovered-1 of demo from the data of cp-2 was interrupted, and goes on.")
    );
    assert!(!text.contains("LOST"), "{text}");
}
