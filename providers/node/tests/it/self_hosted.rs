//! Components of a control plane that DaemonSets run, as far as it works without a container runtime.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::bench::{Bench, value};

#[tokio::test]
async fn a_plan_refuses_a_manifest_without_a_place() {
    let bench = Bench::new().await;
    let wanted = |path: &str| {
        value(json!({
            "path": path, "node": "cp-0", "api_url": "https://192.0.2.10:6443", "api_ca_path": "/ca.crt",
            "api_cert_path": "/client.crt", "api_key_path": "/client.key",
        }))
    };
    let planned = async |path: &str| bench.planned("self_hosted_pod.kube-scheduler", wanted(path)).await;
    planned("/etc/kubernetes/manifests/kube-scheduler.yaml").await.unwrap();
    let error = planned("kube-scheduler.yaml").await.unwrap_err();
    assert!(error.message.contains("is not an absolute path"), "{error:?}");
}

#[test]
fn the_recovery_ends_without_settings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    for (text, why) in [(None, "cannot be read"), (Some("{}"), "does not have the settings")] {
        if let Some(text) = text {
            fs::write(&path, text).unwrap();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_slipway-provider-node"));
        let output = command.arg("control-plane-recovery").arg("--config").arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{why} in {said}");
    }
}
