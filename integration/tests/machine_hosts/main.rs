//! The main job on real machines: hosts entered by SSH become a working cluster, and are given back as they were.

#![cfg(test)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "what fails in a test ends it; times are told"
)]

mod lab;

use std::time::Instant;

use lab::Lab;

const NEEDS_ROOT: &str = "needs root and namespaces";

#[test]
#[ignore = "needs root and namespaces"]
fn one_machine_becomes_a_cluster_drifts_is_mended_and_is_given_back() {
    let lab = Lab::new("hosts-single", &["server"]).unwrap_or_else(|error| panic!("{NEEDS_ROOT}: {error:#}"));
    let start = Instant::now();
    lab.done(&["apply", "-f", "spec", "--yes"]);
    eprintln!("a ready node: {:.1} s", start.elapsed().as_secs_f64());
    lab.is_as_wanted();
    lab.done(&["validate", "hosts-single", "--wait", "2m"]);

    // Somebody tampers with a file, a flag, and an object.
    let machine = &lab.machines[0];
    machine.write("/etc/kubernetes/controller-manager.conf", "600", "tampered").unwrap();
    machine
        .check([
            "sed",
            "-i",
            "s/--leader-elect=true/--leader-elect=false/",
            "/etc/kubernetes/manifests/kube-scheduler.yaml",
        ])
        .unwrap();
    let patch = r#"{"data":{"Corefile":"tampered"}}"#;
    lab.kubectl(&["-n", "kube-system", "patch", "configmap", "coredns", "--type=merge", "-p", patch]);
    let plan = lab.pending(&["plan", "-f", "spec"]);
    for changed in [
        "~ kubeconfig.server/controller-manager",
        "~ static_pod.server/kube-scheduler",
        "~ kubernetes_object.ConfigMap/kube-system/coredns",
    ] {
        assert!(plan.contains(changed), "{changed} in\n{plan}");
    }
    lab.done(&["apply", "-f", "spec", "--yes"]);
    lab.is_as_wanted();

    lab.done(&["delete", "hosts-single", "--yes"]);
    lab.nothing_is_left(&lab.machines[0]);
    assert!(!lab.is_claimed("server"));
}

#[test]
#[ignore = "needs root and namespaces"]
fn an_endpoint_moves_when_its_host_goes() {
    let lab = Lab::new("hosts-ha", &["cp-0", "cp-1", "cp-2", "worker-0"])
        .unwrap_or_else(|error| panic!("{NEEDS_ROOT}: {error:#}"));
    lab.edit(|spec| spec.replace("size: { fixed: 2 }", "size: { fixed: 1 }"));
    let start = Instant::now();
    lab.done(&["apply", "-f", "spec", "--yes"]);
    eprintln!("three control planes and a worker: {:.1} s", start.elapsed().as_secs_f64());
    lab.is_as_wanted();
    let before = lab.server();
    assert!(before.contains(&lab.machines[0].address()), "{before}");

    // A flag of the API server, previewed and carried out.
    lab.edit(|spec| spec.replace("components: {", "components: { apiServer: { extraArgs: { v: \"1\" } },"));
    let plan = lab.pending(&["plan", "-f", "spec"]);
    assert!(plan.contains("~ static_pod × 3") || plan.contains("~ static_pod.cp-0/kube-apiserver"), "{plan}");
    lab.done(&["apply", "-f", "spec", "--yes"]);
    lab.is_as_wanted();

    // The host that holds the endpoint goes: out of the inventory, out of the cluster.
    lab.forget_host("cp-0");
    lab.edit(|spec| spec.replace("size: { fixed: 3 }", "size: { fixed: 2 }"));
    let plan = lab.pending(&["plan", "-f", "spec"]);
    assert!(plan.contains("- kubernetes_node.cp-0"), "{plan}");
    lab.done(&["apply", "-f", "spec", "--yes"]);
    lab.is_as_wanted();
    let after = lab.server();
    assert!(after.contains(&lab.machines[1].address()), "{after}");
    lab.nothing_is_left(&lab.machines[0]);
    assert!(!lab.is_claimed("cp-0"));
    let of_kubelet = lab.machines[3].check(["cat", "/etc/kubernetes/kubelet.conf"]).unwrap();
    assert!(of_kubelet.contains(&after), "{of_kubelet}");
    lab.done(&["validate", "hosts-ha", "--wait", "3m"]);
    let nodes = lab.kubectl(&["get", "nodes", "-o", "name"]);
    assert_eq!(nodes.lines().collect::<Vec<_>>(), ["node/cp-1", "node/cp-2", "node/worker-0"]);

    lab.done(&["delete", "hosts-ha", "--yes"]);
    lab.machines.iter().for_each(|machine| lab.nothing_is_left(machine));
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_host_that_shows_another_key_is_refused() {
    let lab = Lab::new("hosts-single", &["server"]).unwrap_or_else(|error| panic!("{NEEDS_ROOT}: {error:#}"));
    let key = lab.machines[0].host_key().unwrap();
    let own = key.split_whitespace().nth(1).unwrap().to_owned();
    let other = "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";
    lab.edit_hosts(|hosts| hosts.replace(&own, other));
    let (code, _, err) = lab.run(&["apply", "-f", "spec", "--yes"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("is refused: it shows ssh-ed25519 SHA256:"), "{err}");
    assert!(
        err.contains("what is pinned is ssh-ed25519 SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"),
        "{err}"
    );
    assert!(!lab.is_claimed("server"));
}
