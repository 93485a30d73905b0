//! How many requests a plan costs.

use anyhow::{Result, ensure};
use serde_json::json;
use slipway_resource::Desired;

use crate::lab::{Api, Lab, behind, object};

/// Objects of four kinds in some namespaces.
fn wanted(namespaces: usize, each: usize, value: &str) -> Vec<Desired> {
    let mut all = Vec::new();
    for namespace in 0..namespaces {
        let namespace = format!("n-{namespace}");
        let place = object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        for number in 0..each {
            let name = format!("o-{number}");
            let metadata = json!({"name": name, "namespace": namespace});
            for manifest in [
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": value}}),
                json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
                json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata,
                    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
            ] {
                all.push(behind(object(manifest), &place));
            }
        }
        all.push(place);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_changes_costs_no_request_for_each_object() -> Result<()> {
    let api = Api::start(false)?;
    let lab = Lab::new(&api, "demo");
    let all = wanted(3, 200, "1");
    lab.apply(&all).await?;

    let before = api.requests("slipway")?.len();
    assert!(lab.plan(&all).await?.changes.is_empty());
    let requests = api.requests("slipway")?.split_off(before);
    // Four kinds, of which three have 600 objects, in two pages of 500.
    let allowed = 1 + 3 * 2 + 5;
    ensure!(requests.len() <= allowed, "{} requests: {requests:#?}", requests.len());
    ensure!(requests.iter().all(|request| !request.contains("dryRun")), "{requests:#?}");

    // Only the changed object is read.
    let mut changed = all.clone();
    changed[0] = wanted(1, 1, "2").swap_remove(0);
    let before = api.requests("slipway")?.len();
    assert_eq!(lab.plan(&changed).await?.changes.len(), 1);
    let requests = api.requests("slipway")?.split_off(before);
    ensure!(requests.len() <= allowed + 2, "{requests:#?}");
    assert_eq!(requests.iter().filter(|request| request.contains("dryRun")).count(), 1);
    Ok(())
}
