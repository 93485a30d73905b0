//! Members of etcd, and their snapshots.

use super::*;

#[test]
fn control_planes_that_come_later_join_etcd_one_after_the_other() {
    let resources = expand(&cluster("elected: {}"), &placement(1), &[]).unwrap().resources;
    let before = stands_on(&resources, "etcd_member.cp-2/etcd");
    assert!(before.contains("etcd_voter.cp-1/etcd"), "{before:#?}");
    assert!(!stands_on(&resources, "etcd_member.cp-1/etcd").contains("etcd_member.cp-2/etcd"));
    // Resources that do not change etcd are in parallel.
    assert!(!stands_on(&resources, "service.cp-2/kubelet").contains("etcd_voter.cp-1/etcd"));
}

#[test]
fn a_control_plane_that_joins_several_founders_starts_with_the_members_that_are_there() {
    let mut placed = placement(2);
    let founder = |machine: &Machine| Founder { name: machine.name.clone(), address: machine.address };
    placed.founders = placed.machines.iter().take(2).map(founder).collect();
    let resources = expand(&cluster("elected: {}"), &placed, &[]).unwrap().resources;
    let pod =
        |machine: &str| format!("{:?}", find(&resources, &format!("static_pod.{machine}/etcd")).attributes);
    let founders = "--initial-cluster=cp-0=https://192.0.2.10:2380,cp-1=https://192.0.2.11:2380";
    assert!(pod("cp-0").contains(founders) && pod("cp-1").contains(founders), "{}", pod("cp-0"));
    assert!(!pod("cp-2").contains("--initial-cluster=cp-0"), "{}", pod("cp-2"));
    assert!(stands_on(&resources, "static_pod.cp-2/etcd").contains("etcd_member.cp-2/etcd"));
}

#[test]
fn every_member_of_etcd_knows_all_others() {
    for founding in [1, 3] {
        let resources = expand(&cluster("elected: {}"), &placement(founding), &[]).unwrap().resources;
        for machine in ["cp-0", "cp-1", "cp-2"] {
            let member = find(&resources, &format!("etcd_member.{machine}/etcd"));
            let Some(Value::List(endpoints)) = member.attributes.get("endpoints") else {
                panic!("{member:?}")
            };
            let known: Vec<&str> = endpoints.iter().filter_map(Value::as_str).collect();
            for other in 0..3 {
                let url = format!("https://192.0.2.1{other}:2379");
                // A joining control plane is not a member yet, and has its own URL besides.
                let expected = machine != format!("cp-{other}") || known.len() == 3;
                assert_eq!(known.contains(&url.as_str()), expected, "{machine}: {known:?}");
            }
        }
    }
}

#[test]
fn control_planes_take_snapshots_of_etcd_where_the_spec_has_backups() {
    let backups = |resources: &[Desired]| -> Vec<String> {
        let found = resources.iter().filter(|desired| desired.address.kind() == "etcd_backup");
        found.map(|desired| desired.address.to_string()).collect()
    };
    let resources = expand(&cluster("elected: {}"), &placement(1), &[]).unwrap().resources;
    let all = ["etcd_backup.cp-0/etcd", "etcd_backup.cp-1/etcd", "etcd_backup.cp-2/etcd"];
    assert_eq!(backups(&resources), all, "one for each control plane");
    // It is created after the member and its encryption key; no resource waits for it.
    for (backup, member) in [(all[0], "etcd_member.cp-0/etcd"), (all[1], "etcd_voter.cp-1/etcd")] {
        let before = stands_on(&resources, backup);
        let key = backup.replace("etcd_backup", "file").replace("/etcd", "/pki/etcd/ca.key");
        assert!(before.contains(member) && before.contains(&key), "{before:#?}");
    }
    for desired in &resources {
        assert!(
            desired.depends_on.iter().all(|needed| needed.kind() != "etcd_backup"),
            "{}",
            desired.address
        );
    }
    let backup = &find(&resources, all[0]).attributes;
    assert_eq!(backup.get("interval_seconds"), Some(&Value::Integer(900)));
    assert_eq!(backup.get("cluster").and_then(Value::as_str), Some("demo"));
    assert_eq!(backup.get("store"), None, "the provider knows where, unless the spec says so");

    let mut other = cluster("elected: {}");
    other.etcd[0].backups.store = Some("s3://bucket/prefix".to_owned());
    other.etcd[0].backups.keep_on_delete = false;
    let resources = expand(&other, &placement(3), &[]).unwrap().resources;
    let backup = &find(&resources, all[2]).attributes;
    assert_eq!(backup.get("store").and_then(Value::as_str), Some("s3://bucket/prefix"));
    assert_eq!(backup.get("keep_on_delete"), Some(&Value::Bool(false)));
    other.etcd[0].backups.enabled = false;
    assert!(backups(&expand(&other, &placement(3), &[]).unwrap().resources).is_empty());
}
