//! A cluster grows, shrinks, has its control planes stopped one after the other, and loses one for ever.

use std::fs;

use slipway_testkit::wait::until;

use crate::balancer;
use crate::lab::Lab;
use crate::rotate;

/// The object of the token with which machines join, without the public part of the token.
const JOIN_TOKEN: &str = "Secret/kube-system/bootstrap-token-";

const EXTRA: &str = "---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: extra }
spec:
  role: worker
  size: { fixed: 1 }
  nodeLabels: { example.com/tier: extra }
  hosts: { inventory: rack, matchLabels: { role: worker } }
";

#[test]
#[ignore = "needs root and namespaces"]
fn control_planes_and_pools_come_and_go_and_one_is_lost() {
    let mut lab = Lab::new("hosts-ha", &["cp-0", "cp-1", "cp-2", "worker-0", "worker-1"]);
    lab.edit("size: { fixed: 3 }", "size: { fixed: 1 }");
    lab.edit("size: { fixed: 2 }", "size: { fixed: 1 }");
    lab.apply("a control plane and a worker");

    // Two more control planes in one plan: they join etcd one after the other.
    lab.edit("role: controlPlane\n  size: { fixed: 1 }", "role: controlPlane\n  size: { fixed: 3 }");
    lab.changes("two more control planes", &["+ etcd_voter.cp-1/etcd", "+ kubernetes_node.cp-2"]);
    assert_eq!(lab.voters("cp-0"), ["cp-0", "cp-1", "cp-2"]);
    assert_eq!(lab.nodes(), ["cp-0", "cp-1", "cp-2", "worker-0"]);
    rotate::sa_key_on_several(&lab, &["cp-0", "cp-1", "cp-2"]);

    // A cluster that began with one control plane has no balancers, until its spec asks for them: kubelets move in their turn.
    assert!(
        lab.machine("worker-0").run(["test", "-e", "/etc/slipway/api-balancer.json"]).unwrap().status.code()
            != Some(0)
    );
    lab.edit("endpoint: { elected: {} }", "endpoint: { elected: {} }\n    nodeLocalBalancer: true");
    let workers_ready = lab.ready_since("worker-0");
    lab.changes(
        "balancers on nodes that exist",
        &["+ api_balancer", "~ kubelet_credentials", "ConfigMap/kube-system/kube-proxy"],
    );
    lab.machines.iter().filter(|machine| machine.name() != "worker-1").for_each(balancer::uses_its_balancer);
    assert_eq!(lab.ready_since("worker-0"), workers_ready, "it stayed ready");

    // A pool is added and removed.
    let spec = fs::read_to_string(lab.file("cluster.yaml")).unwrap();
    fs::write(lab.file("cluster.yaml"), format!("{spec}{EXTRA}")).unwrap();
    lab.changes("a pool more", &["+ kubernetes_node.worker-1", "+ host_claim.worker-1"]);
    assert_eq!(
        lab.kubectl(&["get", "nodes", "-l", "example.com/tier=extra", "-o", "name"]),
        "node/worker-1\n"
    );
    fs::write(lab.file("cluster.yaml"), spec).unwrap();
    lab.changes("the pool less", &["- kubernetes_node.worker-1", "- host_claim.worker-1"]);
    lab.nothing_is_left(&lab.machines[4]);
    assert!(!lab.is_claimed("worker-1"));
    // A pool grows by the same machine, after the token with which it joined has expired. Without it, nothing is renewed.
    join_token_expires(&lab);
    lab.is_as_wanted();
    assert_eq!(join_tokens(&lab), "");
    lab.edit("role: worker\n  size: { fixed: 1 }", "role: worker\n  size: { fixed: 2 }");
    lab.changes("a worker more", &["+ kubernetes_node.worker-1", JOIN_TOKEN]);
    assert_ne!(join_tokens(&lab), "");

    // Each control plane is stopped in turn, as by a cut of its power; the last one never comes back.
    let administrator = lab.administrator();
    let ready = ["worker-0", "worker-1"].map(|worker| lab.ready_since(worker));
    for (stopped, others) in [("cp-2", ["cp-0", "cp-1"]), ("cp-1", ["cp-0", "cp-2"])] {
        lab.machine(stopped).kill();
        let gap = lab.answers(&administrator, &others);
        eprintln!("{stopped} is stopped: the API answers again after {:.1} s", gap.as_secs_f64());
        lab.machine(stopped).start().unwrap();
        let back = lab.answers(&administrator, &[stopped]);
        eprintln!("{stopped} is back after {:.1} s", back.as_secs_f64());
        assert_eq!(
            ["worker-0", "worker-1"].map(|worker| lab.ready_since(worker)),
            ready,
            "workers stayed ready"
        );
    }
    lab.machine("cp-0").kill();
    let gap = lab.answers(&administrator, &["cp-1", "cp-2"]);
    eprintln!("cp-0, the endpoint, is stopped: the API answers again after {:.1} s", gap.as_secs_f64());
    // Nobody needs the endpoint but people.
    balancer::nodes_live_on(&lab, &["cp-1", "cp-2", "worker-0", "worker-1"]);

    // The spec says that the host is lost for ever; before that, the plan decides nothing about it.
    lab.edit("role: controlPlane\n  size: { fixed: 3 }", "role: controlPlane\n  size: { fixed: 2 }");
    lab.lose_host("cp-0");
    let plan = lab.pending(&["- etcd_member.cp-0/etcd", "- kubernetes_node.cp-0", "- host_claim.cp-0"]);
    assert!(plan.contains("does not connect to this host any more"), "{plan}");
    lab.apply("the control plane given up");
    lab.is_as_wanted();
    let server = lab.server();
    assert!(server.contains(&lab.address("cp-1")), "{server}");
    assert_eq!(lab.voters("cp-1"), ["cp-1", "cp-2"]);
    assert_eq!(lab.nodes(), ["cp-1", "cp-2", "worker-0", "worker-1"]);
    assert!(!lab.is_claimed("cp-0"));
    lab.done(&["validate", "hosts-ha", "--wait", "5m"]);
    // Its document may go now.
    lab.forget_host("cp-0");
    lab.is_as_wanted();

    // A second control plane is lost, and the majority of etcd with it. The deletion does not need etcd.
    lab.machine("cp-1").kill();
    lab.lose_host("cp-1");
    lab.edit("role: controlPlane\n  size: { fixed: 2 }", "role: controlPlane\n  size: { fixed: 1 }");
    lab.done(&["delete", "-f", "spec", "--yes", "--confirm", "hosts-ha"]);
    for name in ["cp-2", "worker-0", "worker-1"] {
        lab.nothing_is_left(lab.machines.iter().find(|machine| machine.name() == name).unwrap());
        assert!(!lab.is_claimed(name));
    }
    assert!(!lab.is_claimed("cp-1"));
}

/// The objects of tokens, one in a line.
fn join_tokens(lab: &Lab) -> String {
    let of_tokens = "type=bootstrap.kubernetes.io/token";
    lab.kubectl(&["-n", "kube-system", "get", "secrets", "--field-selector", of_tokens, "-o", "name"])
}

/// Ends the token with which machines join now, and waits until Kubernetes has deleted it.
fn join_token_expires(lab: &Lab) {
    let token = join_tokens(lab);
    assert_eq!(token.lines().count(), 1, "{token}");
    let ended = "{\"stringData\":{\"expiration\":\"2020-01-01T00:00:00Z\"}}";
    lab.kubectl(&["-n", "kube-system", "patch", token.trim(), "-p", ended]);
    until("the token is deleted", || Ok(join_tokens(lab).is_empty().then_some(()))).unwrap();
}
