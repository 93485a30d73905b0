//! Two of three control planes are destroyed, and etcd has no majority: the survivor's data becomes a new etcd, and other hosts
//! join it. One that is reinstalled under its old name joins again.

use std::path::Path;

use serde_json::Value as Json;
use slipway_testkit::wait::until;

use crate::lab::{Lab, etcdctl};

/// Writes to the state store at which the recovery is killed, one run after the other.
const KILLS: [usize; 2] = [9, 17];

const RECOVER: [&str; 3] = ["etcd", "recover", "hosts-ha"];

/// Asks the API server of one machine.
fn ask(lab: &Lab, administrator: &Path, machine: &str, words: &[&str]) -> String {
    let server = format!("https://{}:6443", lab.address(machine));
    lab.ask(administrator, &[&["--server", &server], words].concat()).unwrap()
}

/// The addresses of the service `kubernetes`.
fn endpoints(lab: &Lab, administrator: &Path) -> String {
    let addresses = "jsonpath={.items[*].endpoints[*].addresses[*]}";
    let label = "kubernetes.io/service-name=kubernetes";
    ask(lab, administrator, "cp-2", &["get", "endpointslices", "-n", "default", "-l", label, "-o", addresses])
}

/// Previews the recovery, without a change.
fn preview(lab: &Lab) {
    let refused = lab.run(&RECOVER).wanted(1, "slipway etcd recover").unwrap().err;
    assert!(refused.contains("--confirm"), "the name of the cluster was not asked for: {refused}");
    let text = lab.expect(2, &[&RECOVER[..], &["--dry-run"]].concat()).unwrap();
    for part in
        ["is recovered from the data of cp-2", "LOST  writes", "Not recovered: cp-0, cp-1.", "not reachable"]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let json = lab.expect(2, &[&RECOVER[..], &["--dry-run", "-o", "json"]].concat()).unwrap();
    let plan: Json = serde_json::from_str(&json).unwrap();
    assert_eq!(plan["machines"], serde_json::json!(["cp-2"]), "{plan}");
    let survivor = &plan["control_planes"][2];
    assert_eq!(survivor["data"]["revision"], plan["revision"], "{plan}");
    assert!(survivor["data"]["term"].as_i64() > Some(0), "{plan}");
}

/// Recovers, killed at some writes of the state, and then to the end.
fn recover(lab: &Lab) {
    let confirmed = [&RECOVER[..], &["--confirm", "hosts-ha"]].concat();
    for kill in KILLS {
        let at = format!("{kill}:after");
        let said = lab.run_with(&[("SLIPWAY_TEST_KILL", &at)], &confirmed);
        eprintln!("killed at {at}: {said:?}");
        assert!(matches!(said.code, None | Some(137)), "it was not killed at {at}: {said:?}");
        let text = lab.expect(2, &[&RECOVER[..], &["--dry-run"]].concat()).unwrap();
        assert!(text.contains("was interrupted, and goes on"), "{text}");
    }
    let start = std::time::Instant::now();
    lab.done(&confirmed);
    eprintln!("recovered: {:.1} s", start.elapsed().as_secs_f64());
}

/// A founding control plane, whose address is the endpoint, loses its disks. Its member is replaced after a confirmation by name.
fn joins_again_after_a_reinstallation(lab: &mut Lab) {
    const MEMBER: &str = "etcd_member.cp-0/etcd";
    let founded = member_of(lab, "cp-0");
    lab.reinstall("cp-0");
    let plan = words(&lab.pending(&["+ etcd_member.cp-0/etcd", "+ etcd_voter.cp-0/etcd"]));
    assert!(plan.contains("the old member is removed from etcd"), "{plan}");
    let refused = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap().err;
    assert!(refused.contains("RUN0008") && refused.contains(MEMBER), "{refused}");
    assert!(!refused.contains("file.cp-0/"), "one name confirms all of it: {refused}");
    let start = std::time::Instant::now();
    // Also a plan that was saved asks for this name alone.
    lab.expect(2, &["plan", "-f", "spec", "--out", "joins.plan"]).unwrap();
    lab.done(&["apply", "joins.plan", "--yes", "--confirm", MEMBER]);
    eprintln!("a control plane joined again: {:.1} s", start.elapsed().as_secs_f64());
    assert_eq!(lab.voters("cp-2"), ["cp-0", "cp-1", "cp-2"]);
    assert_ne!(member_of(lab, "cp-0"), founded);
    assert!(!lab.server().contains(&lab.address("cp-0")), "the endpoint was on a machine without an API");
    lab.done(&["validate", "hosts-ha", "--wait", "5m"]);
    lab.is_as_wanted();
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The id of a machine's member, as the member of cp-2 has it.
fn member_of(lab: &mut Lab, machine: &str) -> String {
    let listed = etcdctl(lab.machine("cp-2"), "member list");
    let line = listed.lines().find(|line| line.contains(&format!(", {machine}, "))).unwrap();
    line.split(", ").next().unwrap().to_owned()
}

/// Two of three control planes lose their disks: no plan makes an empty etcd of them.
fn begins_no_empty_etcd(lab: &mut Lab) {
    for name in ["cp-0", "cp-1"] {
        lab.reinstall(name);
    }
    for arguments in [&["plan", "-f", "spec"][..], &["apply", "-f", "spec", "--yes"]] {
        let refused = lab.run(arguments).wanted(1, "slipway").unwrap().err;
        assert!(refused.contains("ETCD0010"), "{refused}");
        for part in ["cp-1: the machine has no data of etcd", "slipway etcd recover hosts-ha"] {
            assert!(words(&refused).contains(part), "{part} in {refused}");
        }
    }
    let text = lab.expect(2, &[&RECOVER[..], &["--dry-run"]].concat()).unwrap();
    assert!(text.contains("is recovered from the data of cp-2"), "{text}");
}

/// A lost machine comes back with its old data: it finds no majority and no place.
fn comes_back(lab: &mut Lab, administrator: &Path) {
    lab.machine("cp-0").start().unwrap();
    until("the old etcd runs again", || {
        let found = lab.machines[0].run(["pgrep", "-x", "etcd"])?;
        Ok(Some(()).filter(|()| found.status.success()))
    })
    .unwrap();
    lab.done(&["validate", "hosts-ha", "--wait", "5m"]);
    let listed = etcdctl(&lab.machines[2], "member list");
    assert!(!listed.contains(&lab.address("cp-0")), "{listed}");
    let server = format!("https://{}:6443", lab.address("cp-0"));
    let words = ["--server", &server, "--request-timeout=5s", "get", "secret", "kept"];
    let old = lab.hosts().kubectl(administrator, &words).unwrap().output().unwrap();
    assert!(!old.status.success(), "the old API server serves old data");
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_lost_majority_is_recovered_from_the_survivor_and_other_hosts_join() {
    let mut lab = Lab::new("hosts-ha", &["cp-0", "cp-1", "cp-2", "cp-3", "cp-4", "worker-0"]);
    lab.edit("size: { fixed: 2 }", "size: { fixed: 1 }");
    // With a balancer, the kubelet of a machine that comes back finds the cluster, and shows its old pods there.
    lab.edit("endpoint: { elected: {} }", "endpoint: { elected: {} }\n    nodeLocalBalancer: false");
    lab.apply("three control planes and a worker");
    lab.kubectl(&["create", "secret", "generic", "kept", "--from-literal=word=open-sesame"]);
    let word = ["get", "secret", "kept", "-o", "jsonpath={.data.word}"];
    let before = lab.kubectl(&word);
    let administrator = lab.administrator();
    let refused = lab.run(&RECOVER).wanted(1, "slipway etcd recover").unwrap().err;
    assert!(refused.contains("ETCD0006"), "{refused}");

    for name in ["cp-0", "cp-1"] {
        lab.machine(name).kill();
    }
    // A kubelet that has reached no API server since its start ends no pod by itself.
    lab.machine("cp-2").kill();
    lab.machine("cp-2").start().unwrap();
    until("the survivor runs etcd again", || {
        Ok(lab.machine("cp-2").run(["pgrep", "-x", "etcd"])?.status.success().then_some(()))
    })
    .unwrap();
    preview(&lab);
    recover(&lab);
    assert_eq!(ask(&lab, &administrator, "cp-2", &word), before);
    assert_eq!(lab.voters("cp-2"), ["cp-2"]);
    let own = lab.address("cp-2");
    until("lost API servers are no endpoints", || {
        Ok(Some(()).filter(|()| endpoints(&lab, &administrator) == own))
    })
    .unwrap();
    let left =
        lab.machine("cp-2").run(["ls", "/var/lib/etcd/slipway-restore", "/var/lib/slipway/etcd-restore"]);
    assert!(left.unwrap().stdout.is_empty());

    // Two other hosts take the places of the lost ones.
    lab.lose_host("cp-0");
    lab.lose_host("cp-1");
    lab.apply("two control planes in place of the lost ones");
    lab.is_as_wanted();
    assert_eq!(lab.voters("cp-2"), ["cp-2", "cp-3", "cp-4"]);
    let nodes = ["cp-2", "cp-3", "cp-4", "worker-0"];
    assert_eq!(lab.nodes(), nodes);
    assert_eq!(lab.kubectl(&word), before);
    lab.kubectl(&["create", "configmap", "note-later", "-n", "default"]);

    comes_back(&mut lab, &administrator);
    assert_eq!(lab.voters("cp-2"), ["cp-2", "cp-3", "cp-4"]);
    assert_eq!(lab.nodes(), nodes);
    assert_eq!(lab.kubectl(&["get", "configmap", "note-later", "-o", "name"]), "configmap/note-later\n");
    lab.is_as_wanted();
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_reinstalled_control_plane_joins_again_and_begins_no_empty_etcd() {
    let mut lab = Lab::new("hosts-ha", &["cp-0", "cp-1", "cp-2", "worker-0"]);
    lab.edit("size: { fixed: 2 }", "size: { fixed: 1 }");
    lab.apply("three control planes and a worker");
    lab.kubectl(&["create", "secret", "generic", "kept", "--from-literal=word=open-sesame"]);
    let word = ["get", "secret", "kept", "-o", "jsonpath={.data.word}"];
    let before = lab.kubectl(&word);
    joins_again_after_a_reinstallation(&mut lab);
    assert_eq!(lab.kubectl(&word), before);
    begins_no_empty_etcd(&mut lab);
}
