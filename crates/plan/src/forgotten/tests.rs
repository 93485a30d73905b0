//! Forgetting follows the object, whatever address its ownership has.

use slipway_resource::provider::Discovery;
use slipway_resource::{ClusterUid, Observation, Observed, Value};

use super::*;
use crate::examples;

fn address(name: &str) -> Address {
    Address::new("sim_volume", name)
}

fn record(identity: &str) -> Record {
    Record { provider: "sim".to_owned(), ..examples::record(identity) }
}

/// The objects that are left at the addresses `tagged` and `forgotten`, and the renames. One object was forgotten at the address
/// `forgotten`, and its ownership has the address `tagged`.
fn left(wanted: &[&str], records: &[(&str, &str)]) -> (Vec<String>, Vec<String>, usize) {
    let mut snapshot = Snapshot::empty("demo", ClusterUid::new("uid"));
    snapshot.forgotten.insert(address("forgotten"), vec![Identity::new("disk-1")]);
    let mut observations = Observations::default();
    let observed = Observed {
        address: address("tagged"),
        identity: Identity::new("disk-1"),
        token: None,
        owner: None,
        observation: Observation::Present(Value::Null),
    };
    observations.add_discovery(Discovery { observed: vec![observed], ..Discovery::default() });
    let records = records.iter().map(|(name, identity)| (address(name), record(identity))).collect();
    let mut moved = BTreeMap::new();
    let is_wanted = |address: &Address, _: &Identity| wanted.contains(&address.name());
    let notes = leave_alone(Some(&snapshot), &records, is_wanted, &mut observations, &mut moved);
    assert_eq!(
        moved.contains_key(&address("forgotten")),
        !observations.objects(&address("forgotten")).is_empty()
    );
    let names = |name: &str| {
        let objects = observations.objects(&address(name)).iter();
        objects.map(|found| found.identity.to_string()).collect::<Vec<_>>()
    };
    (names("tagged"), names("forgotten"), notes.len())
}

#[test]
fn an_object_with_another_address_in_its_ownership_is_left_alone() {
    assert_eq!(left(&[], &[]), (vec![], vec![], 1));
    // Another object of the state is at one of its addresses.
    assert_eq!(left(&["tagged"], &[("tagged", "disk-2")]), (vec![], vec![], 1));
    assert_eq!(left(&["forgotten"], &[("forgotten", "disk-2")]), (vec![], vec![], 1));
}

#[test]
fn an_object_is_taken_over_again_at_either_of_its_addresses() {
    let disk = || vec!["disk-1".to_owned()];
    assert_eq!(left(&["tagged"], &[]), (disk(), vec![], 0));
    assert_eq!(left(&["forgotten"], &[]), (vec![], disk(), 0));
    assert_eq!(left(&["tagged", "forgotten"], &[]), (disk(), vec![], 0));
    // It has a record again.
    assert_eq!(left(&[], &[("tagged", "disk-1")]), (disk(), vec![], 0));
}
