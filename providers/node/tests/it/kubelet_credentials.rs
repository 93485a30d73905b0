//! A kubelet that is sent to another API.

use serde_json::json;
use slipway_bootstrap::kubeconfig::{Credentials, Kubeconfig};
use slipway_resource::provider::{Action, ApplyRequest};
use slipway_resource::{Identity, Value};

use super::bench::{Bench, value};
use super::services::{healthy, until};

#[tokio::test]
async fn a_kubelet_goes_to_another_api_only_if_that_answers_and_it_runs_well_with_it() {
    let bench = Bench::new().await;
    let (path, current) = ("/etc/kubernetes/kubelet.conf", "/var/lib/kubelet/pki/current.pem");
    let kubeconfig = |server: &str| {
        let files = Credentials::Files { certificate: current.to_owned(), key: current.to_owned() };
        Kubeconfig::new("a", server, "", "kubelet", &files).to_yaml().expose().to_owned()
    };
    let (good, bad) = ("https://10.0.0.1:6443", "https://10.0.0.2:6443");
    bench.put(path, &kubeconfig(good));
    bench.put(current, "a certificate");
    // It runs with one server only.
    let root = bench.root.display();
    let script = format!(
        "sleep 0.6; grep -q 10.0.0.2 {root}{path} && exit 1; echo $$ >>{root}/runs; while [ -d {root} ]; do sleep 0.2; done"
    );
    let service = value(json!({ "name": "kubelet", "command": ["/bin/sh", "-c", script] }));
    bench.create("service.kubelet", service).await.unwrap();
    let runs = || std::fs::read_to_string(bench.path("/runs")).unwrap_or_default();
    until("the first run", || (!runs().is_empty()).then_some(())).await;
    let wanted = |server: &str, further: serde_json::Value| {
        let mut all = json!({
            "name": "kubelet", "kubeconfig_path": path, "certificate_path": current, "server": server,
            "steady_url": healthy(), "steady_seconds": 1,
        });
        all.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        value(all)
    };
    bench.create("kubelet_credentials.kubelet", wanted(good, json!({}))).await.unwrap();
    let before = runs();

    // Nothing listens there: the kubelet is left alone.
    bench.put("/ca.crt", "");
    let unreached = wanted("https://127.0.0.1:9", json!({ "server_ca_path": "/ca.crt" }));
    let identity = Identity::new("kubelet");
    let action = Action::Update { identity, prior: Value::Null, desired: unreached };
    let request = ApplyRequest { timeout_ms: 1_000, ..bench.request("kubelet_credentials.kubelet", action) };
    bench.apply(request).await.unwrap_err();
    assert_eq!((bench.text(path), runs()), (kubeconfig(good), before.clone()));

    let other = "https://10.0.0.3:6443";
    bench.update("kubelet_credentials.kubelet", "kubelet", wanted(other, json!({}))).await.unwrap();
    assert_eq!(bench.text(path), kubeconfig(other));
    assert_ne!(runs(), before);

    // It does not run with this one, and goes back.
    let refused = bench.update("kubelet_credentials.kubelet", "kubelet", wanted(bad, json!({}))).await;
    let refused = refused.unwrap_err().message;
    let why =
        format!("does not run well with the API at {bad}, and uses {other} again: it ends again and again");
    assert!(refused.contains(&why), "{refused}");
    assert_eq!(bench.text(path), kubeconfig(other));
    bench.delete("service.kubelet", "kubelet").await.unwrap();
}
