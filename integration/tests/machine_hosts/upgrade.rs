//! A cluster on hosts is upgraded to the next minor version, its kubelets included.

mod reversible;
mod runtime;
mod several;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use slipway_resource::Digest;
use slipway_testkit::kubernetes::{self, OLDER_VERSION, VERSION};
use slipway_testkit::{Machine, image};

use crate::lab::Lab;

const NODES: [&str; 2] = ["cp-0", "worker-0"];

/// A kubelet that prints its version, and exits whenever it is started.
const BROKEN: &str = "#!/bin/sh
if [ \"$1\" = --version ]; then echo 'Kubernetes v1.34.4'; exit 0; fi
echo 'panic: this kubelet never starts' >&2
exit 1
";

/// A deployment that the drained worker gives away and gets back.
const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: { name: moves, namespace: default }
spec:
  replicas: 1
  selector: { matchLabels: { app: moves } }
  template:
    metadata: { labels: { app: moves } }
    spec:
      terminationGracePeriodSeconds: 0
      containers: [ { name: pause, image: \"registry.k8s.io/pause:3.10.1\" } ]
";

/// A webhook whose Service does not exist. No request matches its rules.
const LEFT_OVER: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: left-over }
webhooks:
  - name: left-over.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    clientConfig: { service: { namespace: default, name: left-over } }
    rules: [ { apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things] } ]
";

/// A pod on the control plane, with a budget that lets it never leave.
const STAYS: &str = "apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: stays, namespace: default }
spec: { minAvailable: 1, selector: { matchLabels: { app: stays } } }
---
apiVersion: v1
kind: Pod
metadata: { name: stays, namespace: default, labels: { app: stays } }
spec:
  nodeName: cp-0
  terminationGracePeriodSeconds: 0
  containers: [ { name: pause, image: \"registry.k8s.io/pause:3.10.1\" } ]
";

#[test]
#[ignore = "needs root and namespaces"]
fn kubelets_are_upgraded_with_their_cluster_and_come_back_when_they_do_not_start() {
    let lab = Lab::new("hosts-ha", &NODES);
    let folder = lab.file("../release");
    fs::create_dir(&folder).unwrap();
    let _mirror = lab.network().serve(&folder).unwrap();
    let newer = begin_with_the_older_version(&lab, &folder);
    let kubelet = fs::read(folder.join("newer")).unwrap();
    let patched = publish(&folder, "patched", &[kubelet.as_slice(), b"patched"].concat());
    let broken = publish(&folder, "broken", BROKEN.as_bytes());
    lab.edit("size: { fixed: 3 }", "size: { fixed: 1 }");
    lab.edit("size: { fixed: 2 }", "size: { fixed: 1 }");
    lab.apply("a control plane and a worker of the older version");
    lab.is_as_wanted();
    assert_eq!(reported(&lab), [OLDER_VERSION; 2]);
    let administrator = lab.administrator();
    fs::write(lab.file("../moves.yaml"), DEPLOYMENT).unwrap();
    lab.ask(&administrator, &["apply", "-f", &lab.file("../moves.yaml").display().to_string()]).unwrap();

    // The next minor version: all API servers first, then the kubelets of pools without a version of their own, each on an empty node.
    let role = "  role: worker\n";
    let pinned = format!("{role}  kubernetesVersion: {OLDER_VERSION}\n");
    lab.edit(role, &pinned);
    lab.is_as_wanted();
    let upgrade = ["upgrade", "-f", "spec", "--to", VERSION];
    gates_stop_it_until_they_are_waived(&lab, &administrator, &[&upgrade[..], &["--dry-run"]].concat());
    let plan = lab.expect(2, &[&upgrade[..], &["--dry-run"]].concat()).unwrap();
    let words = plan.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "~ service.cp-0/kubelet",
        "program_version: \"1.33.13\" → \"1.34.4\"",
        "because the minor version changes from 1.33.13 to 1.34.4: the node is drained before",
        "go to 1.34.4 from `assets.programs`, one host first",
        "the kubelets of the pool workers are those of 1.33.13, as the spec says",
        "a snapshot of etcd is saved before the first step",
    ] {
        assert!(words.contains(told), "{told} in\n{plan}");
    }
    assert!(!words.contains("service.worker-0/kubelet"), "{plan}");
    reversible::goes_there_and_back(&lab);
    // An operator has cordoned a node for another reason.
    lab.ask(&administrator, &["cordon", "cp-0"]).unwrap();
    let begun = Instant::now();
    reversible::goes_there_and_becomes_final(&lab, &administrator);
    eprintln!("the next minor version: {:.1} s", begun.elapsed().as_secs_f64());
    assert_eq!(reported(&lab), [VERSION, OLDER_VERSION]);
    assert_eq!(unschedulable(&lab), "node/cp-0\n");
    lab.ask(&administrator, &["uncordon", "cp-0"]).unwrap();
    lab.is_as_wanted();

    // The pool follows when the spec has no version for it any more.
    lab.edit(&pinned, role);
    let plan = lab.pending(&["~ service.worker-0/kubelet"]);
    let words = plan.split_whitespace().collect::<Vec<_>>().join(" ");
    let drained = "cordon and drain kubernetes_node.worker-0 before, uncordon kubernetes_node.worker-0 after";
    assert!(words.contains(drained) && !words.contains("service.cp-0/kubelet"), "{plan}");
    lab.apply("the kubelets of a pool");
    assert_eq!(reported(&lab), [VERSION; 2]);
    lab.is_as_wanted();
    for machine in &lab.machines {
        runs(machine, &newer);
    }

    // A kubelet that does not start breaks one node, which gets its kubelet back.
    let proxies = ["-n", "kube-system", "rollout", "status", "daemonset/kube-proxy", "--timeout=2m"];
    lab.ask(&administrator, &proxies).unwrap();
    let pods = containers(&lab);
    lab.edit(&format!("path: newer, sha256: {newer}"), &format!("path: broken, sha256: {broken}"));
    let failed = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap().err;
    let words = failed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("update service.worker-0/kubelet failed"), "{failed}");
    assert!(words.contains("kubelet does not run well with its new settings"), "{failed}");
    assert!(words.contains("was put back as it was, and kubelet runs well with that"), "{failed}");
    for machine in &lab.machines {
        runs(machine, &newer);
    }

    // The next plan uses another file of the same version, like a patch release. Pods are not disrupted.
    lab.edit(&format!("path: broken, sha256: {broken}"), &format!("path: patched, sha256: {patched}"));
    let plan = lab.pending(&["~ service.cp-0/kubelet", "~ service.worker-0/kubelet"]);
    assert!(!plan.contains("cordon"), "{plan}");
    lab.apply("another kubelet of the same version");
    lab.is_as_wanted();
    for machine in &lab.machines {
        runs(machine, &patched);
    }
    assert_eq!(containers(&lab), pods);
    runtime::comes_from_the_list(&lab, &folder, &format!("path: patched, sha256: {patched} }}\n"));
}

/// A webhook without endpoints and a budget that blocks a drain stop the upgrade. The settings of the provider waive them by their names,
/// and the plan says so.
fn gates_stop_it_until_they_are_waived(lab: &Lab, administrator: &Path, upgrade: &[&str]) {
    let file = left_over(lab);
    let stays = lab.file("../stays.yaml");
    fs::write(&stays, STAYS).unwrap();
    let stays = stays.display().to_string();
    lab.ask(administrator, &["apply", "-f", &file, "-f", &stays]).unwrap();
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    lab.edit(ENDPOINT, &format!("{ENDPOINT}{GATES}"));
    let stopped = words(lab.expect(1, upgrade).unwrap());
    for told in [
        "Webhook--left-over.example.com: requests that the webhook left-over.example.com checks fail",
        "the Service default/left-over has no ready endpoint",
        "`ignore_preflight_errors: [Webhook--left-over.example.com]`",
        "Drain--cp-0: the drain of the node cp-0 is blocked: budget default/stays allows 0 disruptions",
        "UnmanagedPods--cp-0: the drain of the node cp-0 deletes pods that no controller creates again: default/stays",
        "Gate--spread: `size(objects) > 2` is false",
        "Gate--labels: the expression cannot be evaluated: the field `rack` does not exist",
        "Gate--errors: it cannot be read: ",
    ] {
        assert!(stopped.contains(told), "{told} in {stopped}");
    }
    let waiver = "    config: { ignore_preflight_errors: [Webhook--left-over.example.com, Drain--cp-0, UnmanagedPods--cp-0] }\n";
    lab.edit("    name: hosts\n", &format!("    name: hosts\n{waiver}"));
    let known = GATES.replace("expression:", "waived: a known problem\n        expression:");
    lab.edit(GATES, &known);
    let waived = words(lab.expect(2, upgrade).unwrap());
    for gate in ["Webhook--left-over.example.com", "Drain--cp-0", "UnmanagedPods--cp-0"] {
        assert!(waived.contains(&format!("the gate {gate} of the upgrade is waived")), "{gate} in {waived}");
    }
    // All gates are waived, also the one that holds.
    for gate in ["Gate--ready", "Gate--spread", "Gate--labels", "Gate--errors"] {
        assert!(
            waived.contains(&format!("the gate {gate} is waived: a known problem")),
            "{gate} in {waived}"
        );
    }
    lab.edit(&known, "");
    lab.edit(waiver, "");
    lab.ask(administrator, &["delete", "-f", &file, "-f", &stays]).unwrap();
}

/// The place of the gates in the spec.
const ENDPOINT: &str = "    endpoint: { elected: {} }\n";

/// Gates of the spec: one that holds, one that is false, one whose objects lack a field, and one without its Prometheus.
const GATES: &str = r#"    gates:
      - name: ready
        objects: { apiVersion: v1, kind: Node }
        expression: objects.all(n, n.status.conditions.exists(c, c.type == "Ready" && c.status == "True"))
      - name: spread
        objects: { apiVersion: v1, kind: Node }
        expression: size(objects) > 2
      - name: labels
        objects: { apiVersion: apps/v1, kind: Deployment, namespace: default }
        expression: objects.all(d, d.spec.rack == "a")
      - name: errors
        prometheus: { namespace: default, service: prometheus, query: up }
        expression: samples.all(s, s.value > 0)
"#;

/// The file of a webhook without endpoints.
fn left_over(lab: &Lab) -> String {
    let file = lab.file("../left-over.yaml");
    fs::write(&file, LEFT_OVER).unwrap();
    file.display().to_string()
}

/// Puts the kubelets of both versions on the mirror, and has the spec list them and begin with the older version. Gives the digest
/// of the newer kubelet.
fn begin_with_the_older_version(lab: &Lab, folder: &Path) -> String {
    let images = image::older().unwrap();
    for machine in &lab.machines {
        take_older_images(machine, &images);
    }
    let older = fs::read(kubernetes::install_older().unwrap().join("kubelet")).unwrap();
    let newer = fs::read(kubernetes::install().unwrap().join("kubelet")).unwrap();
    let (older, newer) = (publish(folder, "older", &older), publish(folder, "newer", &newer));
    let address = lab.network().address();
    let programs = format!(
        "  kubernetesVersion: {OLDER_VERSION}\n  assets:\n    programs:\n      mirrors: [ \"http://{address}:8000\" ]\n      files:\n      \
         - {{ name: kubelet, version: {OLDER_VERSION}, path: older, sha256: {older} }}\n      \
         - {{ name: kubelet, version: {VERSION}, path: newer, sha256: {newer} }}\n"
    );
    lab.edit(&format!("  kubernetesVersion: {VERSION}\n"), &programs);
    newer
}

/// Puts a file on the mirror; gives its digest.
fn publish(folder: &Path, name: &str, content: &[u8]) -> String {
    fs::write(folder.join(name), content).unwrap();
    Digest::of_bytes(content).hex().to_owned()
}

/// Gives a machine the images of the older version that its node needs.
fn take_older_images(machine: &Machine, folder: &Path) {
    let needed: &[&str] = match machine.name() {
        "worker-0" | "worker-1" => &["kube-proxy"],
        _ => &["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"],
    };
    for name in needed {
        let archive = fs::File::open(folder.join(format!("{name}.tar"))).unwrap();
        let mut import = machine.command(["ctr", "-n", "k8s.io", "images", "import", "-"]).unwrap();
        assert!(import.stdin(archive).stdout(Stdio::null()).status().unwrap().success());
    }
}

/// The versions that the kubelets report, by node.
fn reported(lab: &Lab) -> Vec<String> {
    let path = "jsonpath={range .items[*]}{.status.nodeInfo.kubeletVersion}{\"\\n\"}{end}";
    let versions = lab.kubectl(&["get", "nodes", "-o", path]);
    versions.lines().map(|version| version.trim_start_matches('v').to_owned()).collect()
}

/// The nodes that take no pods.
fn unschedulable(lab: &Lab) -> String {
    lab.kubectl(&["get", "nodes", "--field-selector", "spec.unschedulable=true", "-o", "name"])
}

/// All containers of the cluster, with how often they were restarted.
fn containers(lab: &Lab) -> String {
    let path = "jsonpath={range .items[*]}{.metadata.name} {range .status.containerStatuses[*]}{.containerID} {.restartCount} {end}{\"\\n\"}{end}";
    lab.kubectl(&["get", "pods", "-A", "-o", path])
}

/// The kubelet of a machine is the one with this digest, and no other one is left.
fn runs(machine: &Machine, sha256: &str) {
    let process = machine.check(["pgrep", "-o", "-f", "^/usr/local/bin/kubelet-"]).unwrap();
    let program = format!("/proc/{}/exe", process.trim());
    let digest = machine.check(["sha256sum", &program]).unwrap();
    assert_eq!(digest.split(' ').next(), Some(sha256), "{}", machine.name());
    let all = machine.check(["sh", "-c", "ls /usr/local/bin/kubelet-*"]).unwrap();
    let short = &sha256[..12];
    assert!(all.lines().count() <= 2 && all.contains(short), "{all}");
}
