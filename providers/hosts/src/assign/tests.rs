use super::*;

/// A cluster with pools of these sizes, on hosts of these names, zones and roles.
fn cluster(pools: &[(&str, &str, u32)], hosts: &[(&str, &str, &str)]) -> ClusterInput {
    let mut text = "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: { name: demo }\nspec:\n  provider: { name: hosts }\n  kubernetesVersion: 1.34.4\n".to_owned();
    for (name, role, size) in pools {
        text += &format!(
            "---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: {name} }}\nspec:\n  role: {role}\n  size: {{ fixed: {size} }}\n  hosts: {{ inventory: rack, matchLabels: {{ role: {role} }} }}\n"
        );
    }
    for (index, (name, zone, role)) in hosts.iter().enumerate() {
        text += &format!(
            "---\napiVersion: slipway.dev/v1alpha1\nkind: Host\nmetadata: {{ name: {name}, labels: {{ role: {role} }} }}\nspec:\n  inventory: rack\n  zone: {zone}\n  addresses: [ {{ address: 10.0.0.{} }} ]\n",
            index + 1
        );
    }
    let file = slipway_spec::source::SourceFile::new("spec.yaml", text);
    slipway_spec::load_files(vec![file], &[]).clusters.remove(0).into()
}

fn names(known: &Known<'_>) -> Vec<(String, String)> {
    let one = |one: &Assigned<'_>| (one.pool.name.clone(), one.host.name.clone());
    assign(known).unwrap().iter().map(one).collect()
}

fn pinned(machines: &[(&str, &str)], elected: Option<&str>) -> Placement {
    let machines = machines.iter().map(|(pool, name)| slipway_bootstrap::from_cluster::Machine {
        name: (*name).to_owned(),
        pool: (*pool).to_owned(),
        address: "10.0.0.1".parse().unwrap(),
        zone: None,
        region: None,
        node_labels: Default::default(),
        founding: true,
        rejoins: false,
        facts: slipway_bootstrap::expand::Facts::default(),
        cri_sockets: Vec::new(),
        kubelet_is_named: false,
        programs_from_start: None,
        found: None,
    });
    Placement {
        machines: machines.collect(),
        elected: elected.map(ToOwned::to_owned),
        ..Placement::default()
    }
}

#[test]
fn hosts_spread_over_zones_and_stay_where_they_are() {
    let hosts = [("a1", "a", "worker"), ("a2", "a", "worker"), ("b1", "b", "worker"), ("c1", "c", "worker")];
    let cluster = cluster(&[("w", "worker", 3)], &hosts);
    let taken = BTreeMap::new();
    let fresh = Known { cluster: &cluster, hosts: &cluster.hosts, pinned: None, taken: &taken };
    let of = |list: &[&str]| -> Vec<(String, String)> {
        list.iter().map(|name| ("w".to_owned(), (*name).to_owned())).collect()
    };
    assert_eq!(names(&fresh), of(&["a1", "b1", "c1"]));
    let before = pinned(&[("w", "a1"), ("w", "a2")], None);
    let later = Known { pinned: Some(&before), ..fresh };
    assert_eq!(
        names(&later),
        of(&["a1", "a2", "b1"]),
        "what it has stays, although it would be chosen otherwise"
    );
}

#[test]
fn a_host_of_somebody_else_is_named() {
    let cluster = cluster(&[("w", "worker", 2)], &[("a", "a", "worker"), ("b", "b", "worker")]);
    let taken = BTreeMap::from([(("rack".to_owned(), "b".to_owned()), "other".to_owned())]);
    let known = Known { cluster: &cluster, hosts: &cluster.hosts, pinned: None, taken: &taken };
    let refused = assign(&known).unwrap_err();
    assert_eq!(refused.message, "the pool w asks for 2 hosts, and 2 fit: b belongs to cluster other");
}

#[test]
fn all_pools_that_lack_hosts_are_named_at_once() {
    let cluster = cluster(
        &[("cp", "controlPlane", 3), ("w", "worker", 2)],
        &[("a", "a", "controlPlane"), ("b", "b", "worker")],
    );
    let taken = BTreeMap::new();
    let known = Known { cluster: &cluster, hosts: &cluster.hosts, pinned: None, taken: &taken };
    let refused = assign(&known).unwrap_err();
    assert_eq!(
        refused.message,
        "the pool cp asks for 3 hosts, and 1 fits; the pool w asks for 2 hosts, and 1 fits"
    );
    let hint = refused.hint.unwrap();
    assert_eq!(hint, "add Host documents with the labels of the pool's selection, or ask for fewer");
}

#[test]
fn a_host_that_vanished_is_named_when_there_is_no_other() {
    let cluster = cluster(&[("w", "worker", 1)], &[("a", "a", "controlPlane")]);
    let before = pinned(&[("w", "gone")], None);
    let taken = BTreeMap::new();
    let known = Known { cluster: &cluster, hosts: &cluster.hosts, pinned: Some(&before), taken: &taken };
    let refused = assign(&known).unwrap_err();
    assert!(refused.message.ends_with("gone is in the inventory no more"), "{refused}");
}

#[test]
fn the_endpoint_stays_when_a_pool_shrinks() {
    let hosts = [("a", "a", "controlPlane"), ("b", "b", "controlPlane"), ("c", "c", "controlPlane")];
    let cluster = cluster(&[("cp", "controlPlane", 1)], &hosts);
    let before = pinned(&[("cp", "a"), ("cp", "b"), ("cp", "c")], Some("c"));
    let taken = BTreeMap::new();
    let known = Known { cluster: &cluster, hosts: &cluster.hosts, pinned: Some(&before), taken: &taken };
    assert_eq!(names(&known), [("cp".to_owned(), "c".to_owned())]);
}
