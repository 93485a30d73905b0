//! Changes of settings that reach running machines without replacing them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_testkit::lab::LabInstance;

use crate::life::Operator;

/// Changes a flag of the API server, a field of the worker's kubelet and its label in place. Then a field with which the kubelet
/// does not start: the machine goes back by itself.
pub fn reach_running_machines(
    operator: &Operator<'_>,
    [(control_plane, first), (worker, status)]: [(&LabInstance, &Json); 2],
    kubectl: &dyn Fn(&[&str]) -> Result<String>,
) -> Result<()> {
    let name = |status: &Json| status["node"].as_str().context("no name").map(str::to_owned);
    let (first, node) = (name(first)?, name(status)?);
    let api_server = || control_plane.check(["cat", "/etc/kubernetes/manifests/kube-apiserver.yaml"]);
    ensure!(api_server()?.contains("--event-ttl=1h30m0s"), "{}", api_server()?);
    let kubelet = || worker.check(["cat", "/var/lib/kubelet/config.yaml"]);
    ensure!(kubelet()?.contains("imageGCLowThresholdPercent: 97"), "{}", kubelet()?);
    let id = worker.check(["cat", "/etc/machine-id"])?;
    // A plan names the nodes that have reported.
    let begun = Instant::now();
    for node in [&first, &node] {
        while !kubectl(&["get", "node", node, "-o", "jsonpath={.metadata.annotations}"])?
            .contains("settings-applied")
        {
            ensure!(begun.elapsed() < Duration::from_secs(120), "{node} reports no settings");
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    operator.edit("imageGCLowThresholdPercent: 97", "imageGCLowThresholdPercent: 98")?;
    operator.edit("tier: gold", "tier: silver")?;
    operator.edit("event-ttl: 1h30m0s", "event-ttl: 2h0m0s")?;
    let planned: Json =
        serde_json::from_str(&operator.expect(2, &["plan", "-f", "spec.yaml", "-o", "json"])?.out)?;
    let steps = planned["steps"].as_array().context("no steps")?;
    ensure!(steps.iter().all(|step| step["action"] == "update"), "{steps:#?}");
    for reason in [
        format!("node {first} changes in place, without a drain: components.apiServer"),
        format!("node {node} changes in place"),
    ] {
        ensure!(planned.to_string().contains(&reason), "no {reason:?}: {planned:#}");
    }
    operator.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    ensure!(kubelet()?.contains("imageGCLowThresholdPercent: 98"), "{}", kubelet()?);
    ensure!(worker.check(["cat", "/etc/machine-id"])? == id, "the machine was replaced");
    ensure!(api_server()?.contains("--event-ttl=2h0m0s"), "{}", api_server()?);
    let silver = kubectl(&["get", "nodes", "-l", "tier=silver", "-o", "name"])?;
    ensure!(silver.trim() == format!("node/{node}"), "{silver}");
    operator.expect(0, &["plan", "-f", "spec.yaml"])?;

    let right = "kubelet: { imageGCLowThresholdPercent: 98 }";
    let wrong = "kubelet: { imageGCLowThresholdPercent: 98, extraConfig: { registryPullQPS: -1 } }";
    operator.edit(right, wrong)?;
    let failed = operator.expect(1, &["apply", "-f", "spec.yaml", "--yes"])?;
    let said = format!("{} {}", failed.out, failed.err);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(said.contains(&format!("node {node} does not run well with the new settings")), "{said}");
    ensure!(!kubelet()?.contains("registryPullQPS"), "{}", kubelet()?);
    operator.edit(wrong, right)?;
    operator.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    operator.expect(0, &["validate", "lab.example.com", "--wait", "2m"])?;
    operator.expect(0, &["plan", "-f", "spec.yaml"])?;
    Ok(())
}
