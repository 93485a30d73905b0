//! Snapshots of etcd that a control plane takes by itself: listed, taken on request, opened again, kept.

use serde_json::Value as Json;
use slipway_testkit::wait::until;

use crate::lab::{Lab, etcdctl};

const SERVICE: &str = "slipway-etcd-backup";

fn snapshots(lab: &Lab) -> Json {
    serde_json::from_str(&lab.run(&["etcd", "snapshots", "hosts-single", "-o", "json"]).out).unwrap()
}

/// The names of the snapshots, the newest first, of a cluster in which nothing is wrong.
fn names(lab: &Lab) -> Vec<String> {
    let found = snapshots(lab);
    assert_eq!(found["keepers"][0]["problem"], Json::Null, "{found}");
    let listed = found["snapshots"].as_array().unwrap();
    listed.iter().map(|snapshot| snapshot["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_control_plane_takes_snapshots_by_itself() {
    let lab = Lab::new("hosts-single", &["server"]);
    let refused = lab.run(&["etcd", "snapshots", "hosts-single"]).wanted(1, "slipway etcd").unwrap().err;
    assert!(refused.contains("CLI0009"), "{refused}");
    lab.apply("a ready node");
    lab.is_as_wanted();
    let machine = &lab.machines[0];

    // The first snapshot is taken at once, without a command.
    let first = until("a snapshot", || Ok(names(&lab).pop())).unwrap();
    let said = lab.done(&["etcd", "backup", "hosts-single"]);
    assert!(
        said.contains("Saved and verified") && said.contains("on server in /var/backups/slipway"),
        "{said}"
    );
    let both = names(&lab);
    assert_eq!((both.len(), &both[1]), (2, &first), "{both:?}");
    let table = lab.done(&["etcd", "snapshots", "hosts-single"]);
    for part in ["REVISION", "VERIFIED", &both[0], "server:/var/backups/slipway"] {
        assert!(table.contains(part), "{part} in\n{table}");
    }

    // etcd's tools can read the snapshot, and it has the revision that etcd had.
    let (_, revision) = both[0].split_once('-').unwrap();
    let status = etcdctl(machine, "endpoint status -w json");
    let status: Json = serde_json::from_str(&status).unwrap();
    let now = status[0]["Status"]["header"]["revision"].as_i64().unwrap();
    assert!(revision.parse::<i64>().unwrap() <= now, "{revision} {now}");
    let fetch =
        format!("/var/lib/slipway/bin/slipway node etcd-backup --fetch {} --out /root/snapshot.db", both[0]);
    machine.check(["sh", "-c", &fetch]).unwrap();
    let size = machine.check(["stat", "-c", "%s %a", "/root/snapshot.db"]).unwrap();
    assert!(size.trim().ends_with(" 600"), "{size}");
    let again = machine.run(["sh", "-c", &fetch]).unwrap();
    assert!(String::from_utf8_lossy(&again.stderr).contains("ETCD0003"), "a file is not overwritten");

    // The database is written again, and the cluster is as before.
    let table = lab.done(&["etcd", "defragment", "hosts-single"]);
    assert!(table.starts_with("MEMBER  BEFORE") && table.contains("\nserver  "), "{table}");
    lab.done(&["validate", "hosts-single", "--wait", "1m"]);

    // A stopped service is drift, and a changed schedule is a change.
    machine.check(["systemctl", "stop", SERVICE]).unwrap();
    lab.changes("the service again", &["etcd_backup.server/etcd", "running"]);
    lab.edit(
        "  kubernetesVersion: 1.34.4\n",
        "  kubernetesVersion: 1.34.4\n  etcd: [ { name: main, backups: { interval: 5s, retention: 1h } } ]\n",
    );
    lab.pending(&["etcd_backup.server/etcd", "interval_seconds"]);
    let unconfirmed = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap().err;
    assert!(unconfirmed.contains("RUN0008"), "{unconfirmed}");
    lab.done(&["apply", "-f", "spec", "--yes", "--confirm", "etcd_backup.server/etcd"]);
    lab.is_as_wanted();
    let before = names(&lab).len();
    until("snapshots on the new schedule", || Ok(Some(()).filter(|()| names(&lab).len() >= before + 2)))
        .unwrap();

    keeps_no_backups_that_the_host_would_delete(&lab);

    // A problem is printed, and sets the exit code.
    machine.check(["sh", "-c", "mv /etc/kubernetes/pki/etcd/ca.key /root/ca.key"]).unwrap();
    let wrong = lab.run(&["etcd", "snapshots", "hosts-single"]).wanted(1, "slipway etcd").unwrap().out;
    assert!(wrong.contains("PROBLEMS") && wrong.contains("ca.key"), "{wrong}");
    machine.check(["sh", "-c", "mv /root/ca.key /etc/kubernetes/pki/etcd/ca.key"]).unwrap();

    // The cluster is deleted, and its snapshots stay.
    lab.done(&["delete", "hosts-single", "--yes", "--confirm", "hosts-single"]);
    lab.nothing_is_left(machine);
    let units =
        machine.run(["sh", "-c", "ls /etc/systemd/system/slipway-etcd-backup.service /etc/slipway"]).unwrap();
    assert!(units.stdout.is_empty(), "{units:?}");
    let kept = machine.check(["ls", "/var/backups/slipway/hosts-single/etcd"]).unwrap();
    assert!(kept.contains(&first), "{kept}");
}

/// A spec that keeps backups does not delete a cluster whose host was told to delete them.
fn keeps_no_backups_that_the_host_would_delete(lab: &Lab) {
    let kept = names(lab);
    lab.edit("retention: 1h }", "retention: 1h, keepOnDelete: false }");
    lab.done(&["apply", "-f", "spec", "--yes"]);
    lab.edit("keepOnDelete: false", "keepOnDelete: true");
    let delete = ["delete", "-f", "spec", "--yes", "--confirm", "hosts-single"];
    let refused = lab.run(&delete).wanted(1, "slipway delete").unwrap().err;
    assert!(refused.contains("ETCD0009"), "{refused}");
    assert!(lab.is_claimed("server") && names(lab).len() >= kept.len(), "something was deleted");
    lab.done(&["apply", "-f", "spec", "--yes"]);
    lab.is_as_wanted();
}

/// The ConfigMaps of the namespace `default` that a test has made.
fn notes(lab: &Lab) -> Vec<String> {
    let listed = lab.kubectl(&["get", "configmaps", "-n", "default", "-o", "name"]);
    let names = listed.lines().map(|line| line.trim_start_matches("configmap/").to_owned());
    names.filter(|name| name.starts_with("note-")).collect()
}

/// Takes a snapshot between two notes, and restores it: the second one is gone.
fn is_restored(lab: &Lab, cluster: &str, machines: &[&str]) {
    lab.kubectl(&["create", "configmap", "note-before", "-n", "default"]);
    let saved = lab.done(&["etcd", "backup", cluster, "-o", "json"]);
    let saved: Json = serde_json::from_str(&saved).unwrap();
    let name = saved["name"].as_str().unwrap();
    lab.kubectl(&["create", "configmap", "note-after", "-n", "default"]);
    let nodes = lab.nodes();

    let restore = ["etcd", "restore", cluster, "--snapshot", name];
    let preview = lab.expect(2, &[&restore[..], &["--dry-run"]].concat()).unwrap();
    for part in [name, "LOST  revisions", &machines.join(", ")] {
        assert!(preview.contains(part), "{part} in\n{preview}");
    }
    let refused = lab.run(&restore).wanted(1, "slipway etcd restore").unwrap().err;
    assert!(refused.contains("--confirm"), "the name of the cluster was not asked for: {refused}");
    assert_eq!(notes(lab).len(), 2);
    let unknown = ["etcd", "restore", cluster, "--snapshot", "20200101T000000Z-1", "--confirm", cluster];
    assert!(lab.run(&unknown).wanted(1, "slipway etcd restore").unwrap().err.contains("ETCD0004"));

    let start = std::time::Instant::now();
    eprintln!("{}", lab.done(&[&restore[..], &["--confirm", cluster]].concat()));
    eprintln!("restored: {:.1} s", start.elapsed().as_secs_f64());
    assert_eq!(notes(lab), ["note-before"]);
    assert_eq!(lab.nodes(), nodes);
    // Revisions go on far behind all that a client may have seen.
    let status = etcdctl(&lab.machines[0], "endpoint status -w json");
    let status: Json = serde_json::from_str(&status).unwrap();
    let revision = status[0]["Status"]["header"]["revision"].as_i64().unwrap();
    assert!(revision > 1_000_000_000, "{revision}");
    for machine in lab.machines.iter().take(machines.len()) {
        let left =
            machine.run(["ls", "/var/lib/etcd/slipway-restore", "/var/lib/slipway/etcd-restore"]).unwrap();
        assert!(left.stdout.is_empty(), "{left:?}");
    }
    lab.done(&["validate", cluster, "--wait", "3m"]);
    lab.kubectl(&["create", "configmap", "note-later", "-n", "default"]);
    lab.is_as_wanted();
    lab.done(&["etcd", "backup", cluster]);
}

#[test]
#[ignore = "needs root and namespaces"]
fn one_control_plane_is_restored() {
    let lab = Lab::new("hosts-single", &["server"]);
    lab.apply("a ready node");
    is_restored(&lab, "hosts-single", &["server"]);
    // The deletion finds the restored objects as owned.
    lab.done(&["delete", "hosts-single", "--yes", "--confirm", "hosts-single"]);
    lab.nothing_is_left(&lab.machines[0]);
}

#[test]
#[ignore = "needs root and namespaces"]
fn three_members_are_restored_together_from_one_machines_snapshot() {
    let lab = Lab::new("hosts-ha", &["cp-0", "cp-1", "cp-2", "worker-0"]);
    lab.edit("size: { fixed: 2 }", "size: { fixed: 1 }");
    lab.apply("three control planes and a worker");
    is_restored(&lab, "hosts-ha", &["cp-0", "cp-1", "cp-2"]);
}
