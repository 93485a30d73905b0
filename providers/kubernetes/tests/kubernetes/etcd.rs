//! Control planes whose members of etcd are on volumes: one leaves only while all others vote. No kubelet runs here: the test
//! makes the pods of the members.

use anyhow::Result;
use serde_json::json;
use slipway_resource::provider::operation;
use slipway_resource::{ErrorClass, Value};

use crate::lab::{Api, Lab};
use crate::nodes::{gate_on, register};

/// Makes the pod of a member.
fn member(api: &Api, name: &str, node: &str) -> Result<()> {
    let command = [
        "etcd".to_owned(),
        format!("--name={name}"),
        "--data-dir=/var/lib/etcd/data".to_owned(),
        "--initial-cluster=a=https://10.0.0.1:2380,b=https://10.0.0.2:2380,c=https://10.0.0.3:2380"
            .to_owned(),
    ];
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("etcd-{node}"), "namespace": "kube-system",
        "labels": {"component": "etcd", "tier": "control-plane"}},
        "spec": {"nodeName": node, "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "etcd", "image": "a:1", "command": command}]}});
    api.kubectl_with(&["create", "-f", "-"], &pod.to_string()).map(drop)
}

/// Says whether the pod of a member is ready.
fn says(api: &Api, node: &str, ready: &str) -> Result<()> {
    let status = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}});
    let pod = format!("etcd-{node}");
    api.kubectl(&[
        "--namespace=kube-system",
        "patch",
        "pod",
        &pod,
        "--subresource=status",
        "--type=merge",
        "-p",
        &status.to_string(),
    ])
    .map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_leaves_only_while_all_other_members_vote() -> Result<()> {
    let api = Api::start(true)?;
    let lab = Lab::new(&api, "demo");
    slipway_testkit::wait::until("pods may be made", || {
        Ok(api.get(&["--namespace=kube-system", "serviceaccount", "default"]).is_ok().then_some(()))
    })?;
    for (name, node) in [("a", "node-a"), ("b", "node-b"), ("c", "node-c")] {
        register(&api, node)?;
        member(&api, name, node)?;
        says(&api, node, "True")?;
    }
    says(&api, "node-c", "False")?;
    let soon = || Value::map([("timeout_ms", 500_i64)]);
    let refused = gate_on(&lab, "Node//node-a", operation::CORDON, soon()).await?.unwrap_err();
    assert!(matches!(refused.class, ErrorClass::Dependency { .. }), "{refused:?}");
    let why = "node node-a is not removed: etcd has 3 members, and beside a only b of the others votes";
    assert_eq!(refused.message, why);
    assert!(api.get(&["node", "node-a"])?["spec"].get("unschedulable").is_none());
    // The one that does not vote may be replaced, and is not ready before it votes again.
    let late = gate_on(&lab, "Node//node-c", operation::VERIFY, soon()).await?.unwrap_err();
    assert!(late.message.contains("the member of etcd on node node-c does not vote in time"), "{late}");
    gate_on(&lab, "Node//node-c", operation::CORDON, soon()).await??;
    says(&api, "node-c", "True")?;
    gate_on(&lab, "Node//node-c", operation::VERIFY, Value::Null).await??;
    gate_on(&lab, "Node//node-a", operation::CORDON, soon()).await??;
    assert_eq!(api.get(&["node", "node-a"])?["spec"]["unschedulable"], true);
    Ok(())
}
