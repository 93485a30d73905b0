//! A state that is lost with all its keys: no key of a running cluster is generated again.

use std::fs;

use slipway_bootstrap::pki::{Certificate, Pin};
use slipway_testkit::Machine;

use crate::lab::Lab;

/// The irreplaceable files of the first machine.
fn keys(lab: &Lab) -> Vec<(String, Vec<u8>)> {
    keys_of(&lab.machines[0])
}

/// The same of any machine.
fn keys_of(machine: &Machine) -> Vec<(String, Vec<u8>)> {
    let folder = "/etc/kubernetes";
    let names = [
        "pki/ca.crt",
        "pki/ca.key",
        "pki/front-proxy-ca.crt",
        "pki/front-proxy-ca.key",
        "pki/etcd/ca.crt",
        "pki/etcd/ca.key",
        "pki/sa.key",
        "pki/sa.pub",
        "apiserver/encryption.yaml",
    ];
    let read = |name: &&str| machine.read(&format!("{folder}/{name}")).unwrap();
    names.iter().map(|name| ((*name).to_owned(), read(name))).collect()
}

fn pin(lab: &Lab) -> String {
    let text = String::from_utf8(lab.machines[0].read("/etc/kubernetes/pki/ca.crt").unwrap()).unwrap();
    Pin::of(Certificate::from_pem(&text).unwrap().public_key()).to_string()
}

/// The changes of keys in a plan, by its lines.
fn touches_keys(plan: &str) -> Vec<&str> {
    let is_key = |line: &&str| {
        let names = ["keypair.", "encryption_key.", "/pki/", "encryption-configuration"];
        let changes = ["+ ", "~ ", "- ", "± ", "-/+", "+/-"];
        let line = line.trim_start();
        changes.iter().any(|mark| line.starts_with(mark)) && names.iter().any(|name| line.contains(name))
    };
    plan.lines().filter(is_key).collect()
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_cluster_outlives_its_state() {
    let lab = Lab::new("hosts-single", &["server"]);
    lab.apply("a ready node");
    lab.kubectl(&["create", "secret", "generic", "sealed", "--from-literal=word=open-sesame"]);
    let sealed = ["get", "secret", "sealed", "-o", "jsonpath={.data.word}"];
    let word = lab.kubectl(&sealed);
    let (before, authority) = (keys(&lab), pin(&lab));

    // Everything that Slipway knew is gone: state, secrets, and the inventory's claims.
    fs::remove_dir_all(lab.file("../state")).unwrap();
    for arguments in [&["plan", "-f", "spec"][..], &["apply", "-f", "spec", "--yes"]] {
        let refused = lab.run(arguments).wanted(1, "slipway").unwrap();
        assert!(refused.err.contains("STATE0051"), "{refused:?}");
        assert!(refused.err.contains("slipway state rebuild hosts-single"), "{}", refused.err);
    }
    assert_eq!(keys(&lab), before);

    let rebuilt = lab.done(&["state", "rebuild", "hosts-single", "-f", "spec", "--yes"]);
    let recovered = format!("keypair.kubernetes-ca  ({authority}): recovered from a control plane");
    assert!(rebuilt.contains(&recovered), "{rebuilt}");
    assert_eq!(rebuilt.matches("recovered from a control plane").count(), 5, "{rebuilt}");
    assert!(lab.is_claimed("server"));
    assert_eq!(keys(&lab), before);

    let plan = lab.run(&["plan", "-f", "spec"]).out;
    assert_eq!(touches_keys(&plan), [""; 0], "{plan}");
    lab.apply("what a rebuilt state does not know");
    assert_eq!(lab.kubectl(&sealed), word);
    assert_eq!(keys(&lab), before);
    lab.is_as_wanted();

    // The secrets alone are lost: the state names them, and makes no others.
    fs::remove_dir_all(lab.file("../state/hosts-single/secrets")).unwrap();
    let refused = lab.run(&["plan", "-f", "spec"]).wanted(1, "slipway plan").unwrap();
    assert!(refused.err.contains("PLAN0020") && refused.err.contains("its object is gone"), "{refused:?}");
    lab.done(&["state", "rebuild", "hosts-single", "-f", "spec", "--yes"]);
    lab.apply("what a state without its secrets does not know");
    assert_eq!(lab.kubectl(&sealed), word);
    assert_eq!(keys(&lab), before);
}

/// Several control planes, one of which is entered by an agent alone: they agree on the keys, and none gets others.
#[test]
#[ignore = "needs root and namespaces"]
fn a_cluster_of_several_control_planes_outlives_its_state() {
    const ALL: [&str; 4] = ["cp-0", "cp-1", "cp-2", "worker-0"];
    let mut lab = Lab::new("hosts-ha", &ALL);
    lab.edit("size: { fixed: 2 }", "size: { fixed: 1 }");
    lab.apply("three control planes and a worker");
    lab.kubectl(&["create", "secret", "generic", "sealed", "--from-literal=word=open-sesame"]);
    let sealed = ["get", "secret", "sealed", "-o", "jsonpath={.data.word}"];
    let word = lab.kubectl(&sealed);
    let (before, server) = (keys(&lab), lab.server());
    for machine in &lab.machines[1..3] {
        assert_eq!(keys_of(machine), before, "{}", machine.name());
    }
    let voters = lab.voters("cp-0");

    fs::remove_dir_all(lab.file("../state")).unwrap();
    let refused = lab.run(&["plan", "-f", "spec"]).wanted(1, "slipway plan").unwrap();
    assert!(refused.err.contains("STATE0051"), "{refused:?}");
    let _agent = lab.by_agent("cp-1");
    let rebuilt = lab.done(&["state", "rebuild", "hosts-ha", "-f", "spec", "--yes"]);
    assert_eq!(rebuilt.matches("recovered from a control plane").count(), 5, "{rebuilt}");
    assert!(ALL.iter().all(|host| lab.is_claimed(host)));

    let plan = lab.run(&["plan", "-f", "spec"]).out;
    assert_eq!(touches_keys(&plan), [""; 0], "{plan}");
    for made in ["etcd_member", "etcd_voter", "static_pod", "kubelet_credentials"] {
        assert!(!plan.contains(&format!("+ {made}")) && !plan.contains(&format!("- {made}")), "{plan}");
    }
    lab.apply("what a rebuilt state does not know");
    assert_eq!(lab.kubectl(&sealed), word);
    for machine in &lab.machines[..3] {
        assert_eq!(keys_of(machine), before, "{}", machine.name());
    }
    assert_eq!((lab.voters("cp-0"), lab.server()), (voters, server));
    lab.is_as_wanted();

    // While two of them do not answer, nothing tells what is on them: a state without that would be wrong.
    fs::remove_dir_all(lab.file("../state")).unwrap();
    for name in ["cp-0", "cp-2"] {
        lab.machine(name).disconnect().unwrap();
    }
    let blind = lab.run(&["state", "rebuild", "hosts-ha", "-f", "spec", "--yes"]);
    let blind = blind.wanted(1, "a rebuild while two control planes do not answer").unwrap();
    assert!(blind.err.contains("error[") && blind.err.contains("cp-0"), "{blind:?}");
    assert!(!lab.file("../state/hosts-ha/head").exists(), "a state was stored: {blind:?}");
    for machine in &lab.machines[..3] {
        assert_eq!(keys_of(machine), before, "{}", machine.name());
    }
}
