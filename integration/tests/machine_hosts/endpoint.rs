//! Three control planes that began together, one of which is the endpoint of all.

use std::time::Duration;

use crate::lab::Lab;

#[test]
#[ignore = "needs root and namespaces"]
fn an_endpoint_moves_when_its_host_goes() {
    let lab = Lab::new("hosts-ha", &["cp-0", "cp-1", "cp-2", "worker-0"]);
    lab.edit("size: { fixed: 2 }", "size: { fixed: 1 }");
    lab.apply("three control planes and a worker");
    lab.is_as_wanted();
    let before = lab.server();
    assert!(before.contains(&lab.machines[0].address()), "{before}");

    // A flag of all API servers: one host after the other, and the API answers all the while.
    lab.edit("components: {", "components: { apiServer: { extraArgs: { v: \"1\" } },");
    let pods = "cp-0/kube-apiserver, cp-1/kube-apiserver, cp-2/kube-apiserver";
    let gap = lab.longest_gap(&["cp-0", "cp-1", "cp-2"], || {
        lab.changes("a flag of API servers", &["~ static_pod × 3", pods])
    });
    eprintln!("a flag changes: the API answered again after {:.1} s at most", gap.as_secs_f64());
    assert!(gap < Duration::from_secs(8), "the API was gone for {gap:?}");

    // The host that holds the endpoint goes: out of the inventory, out of the cluster.
    lab.forget_host("cp-0");
    lab.edit("size: { fixed: 3 }", "size: { fixed: 2 }");
    let ready = lab.ready_since("worker-0");
    lab.changes("a control plane less", &["- kubernetes_node.cp-0", "- etcd_member.cp-0/etcd"]);
    let after = lab.server();
    assert!(after.contains(&lab.machines[1].address()), "{after}");
    lab.nothing_is_left(&lab.machines[0]);
    assert!(!lab.is_claimed("cp-0"));
    let of_kubelet = lab.machines[3].check(["cat", "/etc/kubernetes/kubelet.conf"]).unwrap();
    assert!(of_kubelet.contains(&after), "{of_kubelet}");
    lab.done(&["validate", "hosts-ha", "--wait", "5m"]);
    assert_eq!(lab.nodes(), ["cp-1", "cp-2", "worker-0"]);
    assert_eq!(lab.ready_since("worker-0"), ready, "the worker stayed ready");

    lab.done(&["delete", "hosts-ha", "--yes", "--confirm", "hosts-ha"]);
    lab.machines.iter().for_each(|machine| lab.nothing_is_left(machine));
}
