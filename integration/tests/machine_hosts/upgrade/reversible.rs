//! The control plane gets the next minor version and emulates the one before; it goes back, and then becomes final.

use std::path::Path;

use serde_json::Value as Json;
use slipway_testkit::kubernetes::{OLDER_VERSION, VERSION};

use super::{containers, left_over, reported};
use crate::lab::Lab;

/// The write to the state at which the first stage is killed.
const KILL: &str = "3:after";

const REVERSIBLE: [&str; 6] = ["upgrade", "-f", "spec", "--to", VERSION, "--reversible"];

/// An upgrade is killed in its first stage and goes on, and is taken back. Nothing but the programs of the control plane changes.
pub(super) fn goes_there_and_back(lab: &Lab) {
    let plan = lab.expect(2, &[&REVERSIBLE[..], &["--dry-run", "--full"]].concat()).unwrap();
    let said = words(&plan);
    for told in [
        "stage 1 of 2:",
        "go from 1.33.13 to 1.34.4 and emulate 1.33",
        "~ static_pod.cp-0/kube-apiserver",
        "~ static_pod.cp-0/kube-scheduler",
        "then `slipway upgrade --finalise`",
    ] {
        assert!(said.contains(told), "{told} in\n{plan}");
    }
    for kept in ["static_pod.cp-0/etcd", "service.cp-0/kubelet", "DaemonSet/kube-system/kube-proxy", "cordon"]
    {
        assert!(!said.contains(kept), "{kept} in\n{plan}");
    }
    let pods = pods_that_stay(lab);
    let said = lab.run_with(&[("SLIPWAY_TEST_KILL", KILL)], &[&REVERSIBLE[..], &["--yes"]].concat());
    assert!(matches!(said.code, None | Some(137)), "it was not killed: {said:?}");
    let begun = lab.run(&[&REVERSIBLE[..], &["--yes"]].concat()).wanted(0, "slipway upgrade").unwrap();
    assert!(begun.err.contains("emulates 1.33."), "{}", begun.err);
    assert_eq!(served(lab), (format!("v{VERSION}"), "33".to_owned()));
    assert_eq!(reported(lab), [OLDER_VERSION; 2]);
    lab.is_as_wanted();
    let listed = lab.done(&["upgrade", "-f", "spec"]);
    assert!(listed.contains("emulates 1.33:"), "{listed}");

    let plan = lab.expect(2, &["upgrade", "-f", "spec", "--back", "--dry-run"]).unwrap();
    assert!(words(&plan).contains("back: the API servers"), "{plan}");
    lab.done(&["upgrade", "-f", "spec", "--back", "--yes"]);
    assert_eq!(served(lab), (format!("v{OLDER_VERSION}"), "33".to_owned()));
    assert_eq!(reported(lab), [OLDER_VERSION; 2]);
    lab.is_as_wanted();
    assert_eq!(pods_that_stay(lab), pods);
    let refused =
        lab.run(&["upgrade", "-f", "spec", "--back", "--yes"]).wanted(1, "slipway upgrade").unwrap().err;
    assert!(refused.contains("CLI0076"), "{refused}");
}

/// The same upgrade again; then it is finalised, and there is no way back.
pub(super) fn goes_there_and_becomes_final(lab: &Lab, administrator: &Path) {
    let begun = lab.run(&[&REVERSIBLE[..], &["--yes"]].concat()).wanted(0, "slipway upgrade").unwrap();
    assert!(begun.err.contains("Saved the snapshot "), "{}", begun.err);
    assert_eq!(served(lab), (format!("v{VERSION}"), "33".to_owned()));
    gates_hold_until_the_soak_is_over(lab, administrator);
    let further = lab.run(&["upgrade", "-f", "spec", "--to", "1.35.2", "--yes"]).wanted(1, "slipway upgrade");
    assert!(further.unwrap().err.contains("CLI0074"));
    let plan = lab.expect(2, &["upgrade", "-f", "spec", "--finalise", "--dry-run", "--full"]).unwrap();
    let said = words(&plan);
    for told in [
        "the last point of return",
        "`slipway upgrade --back` goes back to 1.33.13",
        "~ static_pod.cp-0/etcd",
        "~ service.cp-0/kubelet",
        "the kubelets of the pool workers are those of 1.33.13, as the spec says",
    ] {
        assert!(said.contains(told), "{told} in\n{plan}");
    }
    let finalised = lab.run(&["upgrade", "-f", "spec", "--finalise", "--yes"]).wanted(0, "slipway upgrade");
    let finalised = finalised.unwrap().err;
    assert!(finalised.contains("Saved the snapshot ") && finalised.contains("is final"), "{finalised}");
    assert_eq!(served(lab), (format!("v{VERSION}"), "34".to_owned()));
    let refused =
        lab.run(&["upgrade", "-f", "spec", "--back", "--yes"]).wanted(1, "slipway upgrade").unwrap().err;
    assert!(refused.contains("CLI0076"), "{refused}");
}

/// A soak keeps the upgrade from being finalised, and a webhook without endpoints takes it back if the spec says so.
fn gates_hold_until_the_soak_is_over(lab: &Lab, administrator: &Path) {
    let endpoint = "    endpoint: { elected: {} }\n";
    let soak = format!("{endpoint}    soak: 24h\n    onBrokenGate: back\n");
    lab.edit(endpoint, &soak);
    lab.is_as_wanted();
    let finalise = ["upgrade", "-f", "spec", "--finalise", "--dry-run"];
    let refused = lab.run(&finalise).wanted(1, "slipway upgrade").unwrap();
    let said = words(&format!("{} {}", refused.out, refused.err));
    assert!(said.contains("Soak: the control plane emulates") && said.contains("[Soak]"), "{said}");
    let file = left_over(lab);
    lab.ask(administrator, &["apply", "-f", &file]).unwrap();
    let other = "  sysctls: { vm.max_map_count: \"262144\" }\n  controlPlane:\n";
    lab.edit("  controlPlane:\n", other);
    let plan = lab.expect(2, &["plan", "-f", "spec"]).unwrap();
    let said = words(&plan);
    assert!(!said.contains("max_map_count"), "the way back makes another change of the spec:\n{plan}");
    lab.edit(other, "  controlPlane:\n");
    for told in [
        "the upgrade to 1.34.4 is taken back, because these gates have not held for a minute: Webhook--left-over.example.com",
        "Other changes of the spec are left out",
        "back: the API servers",
        "~ static_pod.cp-0/kube-apiserver",
    ] {
        assert!(said.contains(told), "{told} in\n{plan}");
    }
    lab.ask(administrator, &["delete", "-f", &file]).unwrap();
    lab.is_as_wanted();
    lab.edit(&soak, endpoint);
}

/// The version of the API server, and the minor version that it emulates.
fn served(lab: &Lab) -> (String, String) {
    let version: Json = serde_json::from_str(&lab.kubectl(&["get", "--raw", "/version"])).unwrap();
    let text = |name: &str| version[name].as_str().unwrap_or_default().to_owned();
    (text("gitVersion"), text("emulationMinor"))
}

/// The containers of etcd and kube-proxy, which no stage before the last one changes.
fn pods_that_stay(lab: &Lab) -> Vec<String> {
    let all = containers(lab);
    let stays = |line: &&str| ["etcd-", "kube-proxy-"].iter().any(|component| line.starts_with(component));
    all.lines().filter(stays).map(str::to_owned).collect()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
