//! A control plane that its cluster runs: the only machine takes its components over, loses power on the way and later, changes a flag,
//! and gives the components back.

use std::process::Stdio;

use slipway_testkit::wait::until;

use crate::lab::Lab;

const STATIC: &str = "endpoint: { elected: {} }";
const SELF_HOSTED: &str = "endpoint: { elected: {} }\n    hosting: selfHosted";

const MACHINE: &str = "cp-0";
const COMPONENTS: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// Goes there and back on a cluster with one control plane.
pub(crate) fn goes_and_comes_back(lab: &mut Lab) {
    lab.edit(STATIC, SELF_HOSTED);
    lab.pending(&["self_hosted_pod", "control_plane_recovery"]);
    loses_power_on_the_way(lab);
    lab.apply("a self-hosted control plane, after a loss of power on the way");
    lab.is_as_wanted();
    is_self_hosted(lab);
    loses_power(lab);
    is_self_hosted(lab);
    changes_a_flag(lab);

    lab.edit(SELF_HOSTED, STATIC);
    lab.changes("the way back to static pods", &["self_hosted_pod", "control_plane_recovery"]);
    assert_eq!(manifests(lab), COMPONENTS);
    let objects = lab.kubectl(&["-n", "kube-system", "get", "daemonsets", "-o", "name"]);
    assert!(!COMPONENTS.iter().any(|component| objects.contains(component)), "{objects}");
    let find = ["sh", "-c", "find /etc/kubernetes/self-hosted -type f 2>/dev/null || true"];
    assert_eq!(lab.machine(MACHINE).check(find).unwrap(), "");
    lab.done(&["validate", "hosts-ha", "--wait", "5m"]);
}

/// The machine loses power as soon as the manifest of its API server is beside the folder of the kubelet.
fn loses_power_on_the_way(lab: &mut Lab) {
    let administrator = lab.administrator();
    let mut command = lab.command(&["apply", "-f", "spec", "--yes"]);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the API server passes to its DaemonSet", || {
        let record = ["test", "-f", "/etc/kubernetes/self-hosted/kube-apiserver.json"];
        Ok(lab.machine(MACHINE).run(record)?.status.success().then_some(()))
    })
    .unwrap();
    lab.machine(MACHINE).kill();
    lab.machine(MACHINE).start().unwrap();
    // It goes on with the machine, or fails.
    let _ = run.wait().unwrap();
    lab.answers(&administrator, &[MACHINE]);
}

/// The only control plane loses power: it comes back without any help, first from its disk, then by its DaemonSets.
fn loses_power(lab: &mut Lab) {
    let administrator = lab.administrator();
    lab.machine(MACHINE).kill();
    lab.machine(MACHINE).start().unwrap();
    let took = lab.answers(&administrator, &[MACHINE]);
    eprintln!("after a loss of power, a self-hosted API answered in {:.1} s", took.as_secs_f64());
    until("the DaemonSets run the components again", || Ok(manifests(lab).is_empty().then_some(()))).unwrap();
    lab.done(&["validate", "hosts-ha", "--wait", "5m"]);
}

/// The DaemonSet gets the flag, and one of the two API servers answers meanwhile.
fn changes_a_flag(lab: &Lab) {
    lab.edit("components: {", "components: { apiServer: { extraArgs: { event-ttl: 2h0m0s } },");
    let gap = lab.longest_gap(&[MACHINE], || {
        lab.changes("a flag of a self-hosted API server", &["static_pod.cp-0/kube-apiserver"]);
    });
    eprintln!("the API of one control plane answered with gaps of at most {:.1} s", gap.as_secs_f64());
    let object = lab.kubectl(&["-n", "kube-system", "get", "daemonset", "kube-apiserver-cp-0", "-o", "yaml"]);
    assert!(object.contains("--event-ttl=2h0m0s"), "{object}");
    assert!(manifests(lab).is_empty());
}

/// Every component is a pod of its DaemonSet, and the kubelet has no manifest of it.
fn is_self_hosted(lab: &Lab) {
    assert!(manifests(lab).is_empty(), "{:?}", manifests(lab));
    let pods = ["-n", "kube-system", "get", "pods", "-l", "slipway.dev/self-hosted", "-o", "name"];
    let pods = lab.kubectl(&pods);
    assert_eq!(pods.lines().count(), COMPONENTS.len(), "{pods}");
    for component in COMPONENTS {
        assert!(pods.contains(&format!("pod/{component}-{MACHINE}-")), "{component} in {pods}");
    }
}

/// The components whose manifests the kubelet has.
fn manifests(lab: &Lab) -> Vec<&'static str> {
    let machine = lab.machines.iter().find(|machine| machine.name() == MACHINE).unwrap();
    let listed = machine.check(["ls", "/etc/kubernetes/manifests"]).unwrap();
    COMPONENTS.into_iter().filter(|component| listed.contains(&format!("{component}.yaml"))).collect()
}
