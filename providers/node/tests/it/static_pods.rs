//! When a pod that the kubelet runs counts as ready.

use serde_json::json;
use slipway_resource::{Path, Value};

use crate::bench::{Bench, value};

const PATH: &str = "/etc/kubernetes/manifests/member.yaml";

/// A pod that never answers: there is no kubelet.
fn pod(label: &str, port: u16) -> Value {
    let manifest = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    version: \"{label}\"\n  name: member\n  namespace: kube-system\n\
         spec:\n  containers:\n  - image: example.org/member:1\n    name: member\n"
    );
    value(json!({
        "path": PATH,
        "manifest": manifest,
        "ready_url": format!("http://127.0.0.1:{port}/readyz"),
        "ready_timeout_seconds": 1,
    }))
}

#[tokio::test]
async fn a_pod_that_gets_ready_later_is_waited_for_from_its_first_change_on() {
    let bench = Bench::new().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let later = |label: &str| {
        let mut wanted = pod(label, port);
        wanted.set(&Path::key("ready_later"), true.into());
        wanted
    };
    let refused = bench.create("static_pod.member", pod("1", port)).await.unwrap_err();
    assert!(refused.message.contains("was not ready within"), "{refused}");
    // The same after a making that did not end.
    bench.create("static_pod.member", later("1")).await.unwrap();
    assert_eq!(bench.attributes("static_pod.member", PATH).await.get("healthy"), Some(&false.into()));
    let refused = bench.update("static_pod.member", PATH, later("2")).await.unwrap_err();
    assert!(refused.message.contains("was not ready within"), "{refused}");
}

#[tokio::test]
async fn a_manifest_whose_pod_does_not_come_up_gives_way_to_the_one_before() {
    let bench = Bench::new().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let mut first = pod("1", port);
    first.set(&Path::key("ready_later"), true.into());
    bench.create("static_pod.member", first).await.unwrap();
    let before = bench.text(PATH);
    let refused = bench.update("static_pod.member", PATH, pod("2", port)).await.unwrap_err();
    assert!(refused.message.contains("; the manifest before was put back"), "{refused}");
    assert_eq!(bench.text(PATH), before);
    // The pod is waited for again, whatever the next desired value.
    let changes = bench.changes("static_pod.member", PATH, &pod("1", port)).await;
    assert!(changes.contains(&"settled: false -> true".to_owned()), "{changes:?}");
}
