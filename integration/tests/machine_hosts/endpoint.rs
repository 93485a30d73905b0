//! Three control planes that began together, one of which is the endpoint of all.

use std::time::{Duration, Instant};

use crate::balancer::{self, Poll, Polled};
use crate::lab::Lab;
use crate::virtual_address;

/// The endpoint of the example.
pub(crate) const ELECTED: &str = "endpoint: { elected: {} }";

#[test]
#[ignore = "needs root and namespaces"]
fn an_endpoint_moves_when_its_host_goes() {
    let mut lab = Lab::new("hosts-ha", &["cp-0", "cp-1", "cp-2", "worker-0"]);
    lab.edit("size: { fixed: 2 }", "size: { fixed: 1 }");
    // The cluster begins with a virtual address, and its endpoint becomes an elected one.
    virtual_address::is_handed_over(&mut lab);
    lab.edit(virtual_address::ENDPOINT, ELECTED);
    lab.changes("the elected endpoint", &["- virtual_address"]);
    let before = lab.server();
    assert!(before.contains(&lab.machines[0].address()), "{before}");

    lab.machines.iter().for_each(balancer::uses_its_balancer);

    // A flag of all API servers: one host after the other, and the API answers all the while. A client that uses the balancer of
    // its node sees next to nothing of it.
    lab.edit("components: {", "components: { apiServer: { extraArgs: { v: \"1\" } },");
    let pods = "cp-0/kube-apiserver, cp-1/kube-apiserver, cp-2/kube-apiserver";
    let poll = Poll::start(&lab.machines[3]);
    let gap = lab.longest_gap(&["cp-0", "cp-1", "cp-2"], || {
        lab.changes("a flag of API servers", &["~ static_pod × 3", pods])
    });
    eprintln!("a flag changes: the API answered again after {:.1} s at most", gap.as_secs_f64());
    assert!(gap < Duration::from_secs(8), "the API was gone for {gap:?}");
    let Polled { answered, failed, refused } = poll.end();
    eprintln!(
        "through the balancer of worker-0: {answered} answers, {failed:?}, refused for {refused:?} in all"
    );
    assert!(answered > 100 && refused < Duration::from_secs(1), "{answered} answers, {failed:?}");

    a_setting_that_no_kubelet_knows_breaks_one(&lab);
    an_api_server_that_does_not_start_gives_way_to_the_one_before(&lab);
    a_version_without_images_takes_nothing_down(&lab);

    // The host with the endpoint is removed from the inventory and from the cluster.
    lab.forget_host("cp-0");
    lab.edit("size: { fixed: 3 }", "size: { fixed: 2 }");
    let ready = lab.ready_since("worker-0");
    lab.changes("a control plane less", &["- kubernetes_node.cp-0", "- etcd_member.cp-0/etcd"]);
    let after = lab.server();
    assert!(after.contains(&lab.machines[1].address()), "{after}");
    lab.nothing_is_left(&lab.machines[0]);
    assert!(!lab.is_claimed("cp-0"));
    // Kubelets need no change; their balancers forget the control plane.
    balancer::uses_its_balancer(&lab.machines[3]);
    let settings = lab.machines[3].check(["cat", "/etc/slipway/api-balancer.json"]).unwrap();
    assert!(settings.contains(&after) && !settings.contains(&lab.machines[0].address()), "{settings}");
    lab.done(&["validate", "hosts-ha", "--wait", "5m"]);
    assert_eq!(lab.nodes(), ["cp-1", "cp-2", "worker-0"]);
    assert_eq!(lab.ready_since("worker-0"), ready, "the worker stayed ready");

    lab.done(&["delete", "hosts-ha", "--yes", "--confirm", "hosts-ha"]);
    lab.machines.iter().for_each(|machine| lab.nothing_is_left(machine));
}

const MACHINES: [&str; 4] = ["cp-0", "cp-1", "cp-2", "worker-0"];

/// The output of a command on each machine.
fn said_by_all(lab: &Lab, command: &str) -> Vec<String> {
    let machines = lab.machines.iter().filter(|machine| MACHINES.contains(&machine.name()));
    machines.map(|machine| machine.check(["sh", "-c", command]).unwrap()).collect()
}

/// One kubelet is tried and restored, the others are left alone, and the corrected setting is applied.
fn a_setting_that_no_kubelet_knows_breaks_one(lab: &Lab) {
    let kubelets = || said_by_all(lab, "systemctl show kubelet --property MainPID --value");
    let before = kubelets();
    lab.edit("    failSwapOn: false\n", "    failSwapOn: false\n    featureGates: { NoSuchGate: true }\n");
    let said = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap();
    for part in
        ["NoSuchGate", "cp-1", "/var/lib/kubelet/config.yaml was put back as it was", "runs well with that"]
    {
        assert!(
            said.err.split_whitespace().collect::<Vec<_>>().join(" ").contains(part),
            "{part} in {}",
            said.err
        );
    }
    let after = kubelets();
    let touched: Vec<&str> = MACHINES
        .into_iter()
        .zip(before.iter().zip(&after))
        .filter(|(_, (one, other))| one != other)
        .map(|(name, _)| name)
        .collect();
    // Not the host of the endpoint, and only one.
    assert_eq!(touched, ["cp-1"]);
    for answer in said_by_all(lab, "curl --silent --max-time 5 http://127.0.0.1:10248/healthz") {
        assert_eq!(answer, "ok");
    }
    for config in said_by_all(lab, "cat /var/lib/kubelet/config.yaml") {
        assert!(!config.contains("NoSuchGate"), "{config}");
    }
    for node in MACHINES {
        lab.ready_since(node);
    }

    lab.edit("featureGates: { NoSuchGate: true }", "maxPods: 90");
    lab.changes("the corrected setting", &["~ service"]);
    for config in said_by_all(lab, "cat /var/lib/kubelet/config.yaml") {
        assert!(config.contains("maxPods: 90"), "{config}");
    }
}

/// One API server is tried and restored, the others and the endpoint are left alone.
fn an_api_server_that_does_not_start_gives_way_to_the_one_before(lab: &Lab) {
    let manifests = || said_by_all(lab, "cat /etc/kubernetes/manifests/* 2>/dev/null | sha256sum");
    let servers = || said_by_all(lab, "pidof kube-apiserver || true");
    let (before, running, endpoint) = (manifests(), servers(), lab.server());
    lab.edit("extraArgs: { v: \"1\" }", "extraArgs: { v: \"1\", no-such-flag: \"1\" }");
    let start = Instant::now();
    let said = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap();
    eprintln!("an API server that does not start: {:.1} s", start.elapsed().as_secs_f64());
    let text = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["cp-1/kube-apiserver", "the manifest before was put back, and its pod is ready again"] {
        assert!(text.contains(part), "{part} in {}", said.err);
    }
    assert_eq!((manifests(), lab.server()), (before, endpoint));
    let now = servers();
    let touched = MACHINES.into_iter().zip(running.iter().zip(&now)).filter(|(_, (one, other))| one != other);
    assert_eq!(touched.map(|(name, _)| name).collect::<Vec<_>>(), ["cp-1"]);
    assert!(now.iter().take(3).all(|process| !process.trim().is_empty()), "{now:?}");
    lab.edit(", no-such-flag: \"1\"", "");
    lab.apply("the flags that were there");
    lab.is_as_wanted();
}

/// No host has the images of this version, which is found before a manifest changes.
fn a_version_without_images_takes_nothing_down(lab: &Lab) {
    let manifests = || said_by_all(lab, "cat /etc/kubernetes/manifests/* 2>/dev/null | sha256sum");
    let servers = || said_by_all(lab, "pidof kube-apiserver etcd kube-scheduler || true");
    let before = (manifests(), servers());
    lab.edit("kubernetesVersion: 1.34.4", "kubernetesVersion: 1.34.99");
    let said = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap();
    let text = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "kube-apiserver:v1.34.99 (it is not on the host",
        "host_claim.cp-0",
        "nothing was done",
        "ctr -n k8s.io images import",
    ] {
        assert!(text.contains(part), "{part} in {}", said.err);
    }
    assert_eq!((manifests(), servers()), before);
    lab.edit("kubernetesVersion: 1.34.99", "kubernetesVersion: 1.34.4");
    lab.apply("the version that was there");
    lab.is_as_wanted();
}
