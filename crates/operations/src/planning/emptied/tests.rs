use serde_json::json;
use slipway_plan::Record;
use slipway_resource::provider::Discovery;
use slipway_resource::{ClusterUid, ErrorClass, Identity, Observation, Observed, ProviderError};

use super::*;

/// What is on a machine.
#[derive(Clone, Copy, PartialEq)]
enum On {
    Everything,
    Nothing,
    Data,
    Dark,
}

const MACHINES: [&str; 3] = ["cp-0", "cp-1", "cp-2"];

fn part(address: &Address) -> Option<Part> {
    match address.kind() {
        "etcd_member" => Some(Part::EtcdMember),
        "static_pod" => Some(Part::ApiServer),
        _ => None,
    }
}

fn addresses(machine: &str) -> [Address; 3] {
    [("etcd_member", "etcd"), ("directory", "etcd-data"), ("static_pod", "kube-apiserver")]
        .map(|(kind, name)| Address::new(kind, format!("{machine}/{name}")))
}

/// A state with three founding members, of which `joined` has joined again in a run that was interrupted.
fn prior(joined: Option<&str>) -> Snapshot {
    let mut snapshot = Snapshot::empty("demo", ClusterUid::new("u1"));
    for machine in MACHINES {
        for address in addresses(machine) {
            let applied = Value::map([(JOINS, joined == Some(machine))]);
            let record = Record {
                provider: "hosts".to_owned(),
                schema_version: 1,
                identity: Identity::new(address.to_string()),
                applied: Some(applied),
                depends_on: Vec::new(),
                retain: false,
                protected: false,
                existing: false,
                as_found: BTreeMap::new(),
                untagged: false,
                deposed: Vec::new(),
            };
            snapshot.resources.insert(address, record);
        }
    }
    snapshot
}

fn observed(machines: [On; 3]) -> Observations {
    let mut observations = Observations::default();
    let mut discovery = Discovery::default();
    for (machine, on) in MACHINES.into_iter().zip(machines) {
        let attributes = [(ID, "8e9e05c52164694d"), (FINGERPRINT, "etcd cluster 1"), ("path", "/etc")];
        for (address, attribute) in addresses(machine).into_iter().zip(attributes) {
            let present = Observation::Present(Value::map([attribute]));
            let observation = match on {
                On::Everything => present,
                On::Data if address.kind() == "directory" => present,
                On::Nothing | On::Data => Observation::Absent,
                On::Dark => Observation::Unreadable(ProviderError::new(
                    ErrorClass::Transient,
                    format!("the host {machine} cannot be reached"),
                )),
            };
            let identity = Identity::new(address.to_string());
            discovery.observed.push(Observed { address, identity, token: None, owner: None, observation });
        }
    }
    observations.add_discovery(discovery);
    observations
}

/// The members, and those that are gone with their data.
fn members(prior: &Snapshot, machines: [On; 3]) -> (Members, Vec<Address>) {
    let members = Members::of(prior, &observed(machines), part);
    let desired: Vec<Address> = MACHINES.iter().flat_map(|machine| addresses(machine)).collect();
    let emptied = members.emptied(&desired.iter().collect());
    (members, emptied)
}

fn placement() -> Placement {
    let machine = |name: &&str| json!({ "name": name, "pool": "control-plane", "address": "192.0.2.1", "founding": true });
    let machines: Vec<_> = MACHINES.iter().map(machine).collect();
    serde_json::from_value(json!({ "machines": machines, "elected": "cp-0" })).unwrap()
}

/// The machines that found the cluster, those that join again, and the elected one.
fn placed_as(members: &Members, emptied: &[Address]) -> (Vec<String>, Vec<String>, Option<String>) {
    let mut placement = placement();
    members.place(emptied, &mut placement);
    let names = |is: fn(&slipway_bootstrap::from_cluster::Machine) -> bool| {
        placement.machines.iter().filter(|machine| is(machine)).map(|machine| machine.name.clone()).collect()
    };
    (names(|machine| machine.founding), names(|machine| machine.rejoins), placement.elected.clone())
}

#[test]
fn a_machine_without_data_joins_the_majority() {
    let (members, emptied) = members(&prior(None), [On::Nothing, On::Everything, On::Everything]);
    assert_eq!(emptied, [Address::new("etcd_member", "cp-0/etcd")]);
    members.check_majority("demo", &emptied).unwrap();
    let (founding, rejoining, elected) = placed_as(&members, &emptied);
    assert_eq!(
        (founding.as_slice(), rejoining.as_slice()),
        (&MACHINES.map(str::to_owned)[1..], &["cp-0".to_owned()][..])
    );
    assert_eq!(elected.as_deref(), Some("cp-1"), "kubelets are sent to a server that exists");
}

#[test]
fn no_etcd_begins_anew_without_a_majority() {
    for machines in [
        [On::Nothing; 3],
        [On::Nothing, On::Nothing, On::Dark],
        [On::Nothing, On::Dark, On::Dark],
        [On::Nothing, On::Data, On::Data],
    ] {
        let (members, emptied) = members(&prior(None), machines);
        let refused = members.check_majority("demo", &emptied).unwrap_err();
        assert_eq!(refused.code(), Some("ETCD0010"));
        assert!(
            refused.causes().contains(&"cp-0: the machine has no data of etcd".to_owned()),
            "{refused:?}"
        );
        let survives = machines.iter().any(|on| *on != On::Nothing);
        let hints = refused.hints().join("\n");
        assert_eq!(hints.contains("slipway etcd recover demo"), survives, "{hints}");
        assert!(hints.lines().last().unwrap().starts_with("only if the data of etcd is given up"), "{hints}");
    }
}

#[test]
fn machines_that_are_dark_or_whole_stay_as_they_were() {
    for machines in [[On::Everything; 3], [On::Dark; 3], [On::Everything, On::Dark, On::Data]] {
        let (members, emptied) = members(&prior(None), machines);
        assert_eq!(emptied, [] as [Address; 0]);
        members.check_majority("demo", &emptied).unwrap();
        assert_eq!(placed_as(&members, &emptied).0.len(), 3);
    }
}

#[test]
fn a_machine_with_data_of_an_etcd_before_a_recovery_is_no_endpoint() {
    let (members, emptied) = members(&prior(None), [On::Data, On::Everything, On::Everything]);
    assert_eq!(emptied, [] as [Address; 0]);
    let (founding, rejoining, elected) = placed_as(&members, &emptied);
    assert_eq!((founding.len(), rejoining.len(), elected.as_deref()), (3, 0, Some("cp-1")));
}

#[test]
fn an_interrupted_run_does_not_make_a_founder_of_a_member_that_joined() {
    let (members, emptied) = members(&prior(Some("cp-0")), [On::Everything; 3]);
    assert_eq!(emptied, [] as [Address; 0]);
    let (founding, rejoining, elected) = placed_as(&members, &emptied);
    assert_eq!(founding, ["cp-1", "cp-2"]);
    assert_eq!((rejoining.len(), elected.as_deref()), (0, Some("cp-0")));
}

/// Which changes of a plan are to be confirmed by name, when cp-0 has no data.
fn confirmed(made: &[&str]) -> Vec<String> {
    let change = |address: &&str| {
        json!({
            "address": address, "provider": "hosts", "schema_version": 1, "action": "create",
            "confirmation": "a new one begins without its data", "precondition": "absent-or-ours", "record": {},
        })
    };
    let digest = slipway_resource::Digest::of(&serde_json::Value::Null).unwrap();
    let binding =
        json!({ "uid": null, "generation": 1, "spec_digest": digest, "catalogs": {}, "providers": {} });
    let changes: Vec<serde_json::Value> = made.iter().map(change).collect();
    let plan = json!({
        "format": 3, "cluster": "demo", "mode": "apply", "binding": binding, "changes": changes, "unchanged": 0,
        "steps": [], "estimate_ms": 0, "critical_path_ms": 0,
    });
    let mut plan: Plan = serde_json::from_value(plan).unwrap();
    name(&mut plan, &[Address::new("etcd_member", "cp-0/etcd")]);
    let asked = plan.changes.iter().filter(|change| change.confirmation.is_some());
    asked.map(|change| change.address.to_string()).collect()
}

#[test]
fn the_name_of_the_member_confirms_its_machine_where_the_plan_has_it() {
    let (member, key, other) = ("etcd_member.cp-0/etcd", "file.cp-0/pki/ca.key", "file.cp-1/pki/ca.key");
    assert_eq!(confirmed(&[member, key, other]), [member, other]);
    assert_eq!(confirmed(&[key, other]), [key, other], "a plan of a part");
}
