//! The executable keeps the contract, in front of a real API server.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value as Json, json};
use slipway_provider_conformance::{Limits, Scenario, Suite, Verdict};

use crate::lab::Api;

/// Simulates the machines: node-1 is registered and ready, and load balancers appear after a while.
struct Machines {
    is_over: Arc<AtomicBool>,
    work: Option<std::thread::JoinHandle<()>>,
}

impl Machines {
    fn start(api: Arc<Api>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let work = std::thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                // A failure is tried again in the next round.
                let _ = node(&api);
                let _ = balancers(&api);
                std::thread::sleep(Duration::from_millis(300));
            }
        });
        Self { is_over, work: Some(work) }
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(work) = self.work.take() {
            let _ = work.join();
        }
    }
}

fn node(api: &Api) -> Result<()> {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}});
    if api.get(&["node", "node-1"]).is_err() {
        api.kubectl_with(&["create", "-f", "-"], &node.to_string())?;
    }
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}]}});
    api.kubectl(&[
        "patch",
        "node",
        "node-1",
        "--subresource=status",
        "--type=merge",
        "-p",
        &ready.to_string(),
    ])?;
    Ok(())
}

fn balancers(api: &Api) -> Result<()> {
    let services = api.get(&["services", "-n", "default", "-l", "conformance=slow"])?;
    for service in services["items"].as_array().into_iter().flatten() {
        let age = api.age(service)?;
        if age >= Duration::from_secs(3) && service["status"]["loadBalancer"] == json!({}) {
            let name = service["metadata"]["name"].as_str().unwrap_or_default();
            let patch = r#"{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}"#;
            api.kubectl(&["patch", "service", name, "--subresource=status", "--type=merge", "-p", patch])?;
        }
    }
    Ok(())
}

/// A kubeconfig with hardly any permissions: an administrator who impersonates another user.
fn blind(api: &Api, folder: &Path) -> Result<PathBuf> {
    let text = api.kubectl(&["config", "view", "--raw", "-o", "json"])?;
    let mut config: Json = serde_json::from_str(&text)?;
    config["users"][0]["user"]["as"] = "nobody".into();
    let path = folder.join("blind.conf");
    std::fs::write(&path, config.to_string())?;
    api.kubectl(&["create", "clusterrole", "look", "--verb=get", "--resource=namespaces"])?;
    api.kubectl(&["create", "clusterrolebinding", "look", "--clusterrole=look", "--user=nobody"])?;
    Ok(path)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_is_kept() -> Result<()> {
    let (api, other) = (Arc::new(Api::start(true)?), Api::start(false)?);
    let folder = tempfile::tempdir()?;
    let machines = Machines::start(api.clone());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance.json");
    let mut scenario = Scenario::read(&file)?;
    let place = |path: &Path| serde_json::from_value(json!({"config": {"kubeconfig": path}}));
    scenario.other = Some(place(&other.kubeconfig())?);
    scenario.unreadable = Some(place(&blind(&api, folder.path())?)?);
    let mut setting = OsString::from("KUBECONFIG=");
    setting.push(api.kubeconfig());
    let arguments = vec![setting, env!("CARGO_BIN_EXE_slipway-provider-kubernetes").into()];
    // All checks share one API, so objects of two checks may not have one name: the checks run one after the
    // other.
    let limits = Limits { start: Duration::from_secs(30), parallel: 1, ..Limits::default() };
    let suite = Suite::new("kubernetes", PathBuf::from("/usr/bin/env"), scenario)
        .with_arguments(arguments)
        .with_limits(limits);
    let report = suite.run(&[]).await;
    drop(machines);
    // Optional rules pass, too: the provider answers dry runs, locates, and reports what it waits for.
    assert!(report.with(&Verdict::Fail).is_empty(), "{}", report.to_text());
    let skipped = report.with(&Verdict::Skip);
    // The provider is of no cloud, and secrets are parts of a manifest: Secrets have tests of their own.
    let of_clouds = ["keys-", "instances", "load-balancers", "routes"];
    let is_expected =
        |rule: &str| of_clouds.iter().any(|begin| rule.starts_with(begin)) || rule == "no-secret-shown";
    assert!(skipped.iter().all(|rule| is_expected(rule)), "{}", report.to_text());
    Ok(())
}
