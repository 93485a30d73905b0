//! Settings of nodes that change in place. No machine runs here: the test reports as the agents of machines do.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value as Json, json};
use slipway_bootstrap::boot::{
    NEXT_SETTINGS, SETTINGS, SETTINGS_OF, SETTINGS_REPORT, SettingsReport, WANTED_SETTINGS, settings_digest,
};
use slipway_engine::Report;
use slipway_plan::{Mode, Plan};
use slipway_resource::provider::{Action, ApplyRequest, EventSink, Resolution, ResumeRequest};
use slipway_resource::{Desired, Ownership, Token};

use crate::lab::{Api, Lab, object, shown};
use crate::nodes::{end_pods, register, run_pod};

const NODES: [&str; 2] = ["node-a", "node-b"];

fn settings(text: &str) -> Desired {
    let labels = json!({ SETTINGS_OF: "nodes" });
    object(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "slipway-settings-nodes", "namespace": "kube-system", "labels": labels},
        "data": { SETTINGS: text }}))
}

fn text(threshold: u32) -> String {
    format!("{:#}\n", json!({"kubelet": {"imageGCLowThresholdPercent": threshold}}))
}

fn map(api: &Api) -> Result<Json> {
    Ok(api.get(&["configmap", "slipway-settings-nodes", "--namespace", "kube-system"])?["data"].clone())
}

fn report(api: &Api, node: &str, report: &SettingsReport) -> Result<()> {
    let text = serde_json::to_string(report)?;
    let labels = json!({ SETTINGS_OF: report.pool });
    let patch = json!({"metadata": {"annotations": { SETTINGS_REPORT: text }, "labels": labels}}).to_string();
    api.kubectl(&["patch", "node", node, "--type=merge", "-p", &patch]).map(drop)
}

/// Nodes, and a text with which they do not run well.
type Bad<'a> = (&'a [&'a str], &'a str);

/// Does what the agents of the machines do, once.
fn machines(
    api: &Api,
    running: &mut BTreeMap<&str, String>,
    bad: Bad<'_>,
    order: &Mutex<Vec<String>>,
) -> Result<()> {
    for (node, digest) in running {
        let live = api.get(&["node", node])?;
        let wanted = live["metadata"]["annotations"][WANTED_SETTINGS].as_str().unwrap_or(digest).to_owned();
        if wanted == *digest {
            let said =
                SettingsReport { pool: "nodes".to_owned(), digest: wanted, ..SettingsReport::default() };
            report(api, node, &said)?;
            continue;
        }
        let map = map(api)?;
        let mut texts = [SETTINGS, NEXT_SETTINGS].iter().filter_map(|key| map[*key].as_str());
        let found = texts.find(|text| settings_digest(text) == wanted).context("no such settings")?;
        let drained = if live["spec"]["unschedulable"] == true { " drained" } else { "" };
        order.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(format!("{node}{drained}"));
        let mut said = SettingsReport { pool: "nodes".to_owned(), ..SettingsReport::default() };
        if found == bad.1 && bad.0.contains(node) {
            (said.failed, said.message) = (Some(wanted), Some("kubelet does not run well".to_owned()));
        } else {
            *digest = wanted;
        }
        said.digest.clone_from(digest);
        report(api, node, &said)?;
    }
    Ok(())
}

/// Runs an apply beside the agents. Returns the nodes in the order in which they changed, too.
fn apply(
    (api, lab): (&Api, &Lab),
    desired: &Desired,
    running: &mut BTreeMap<&'static str, String>,
    bad: Bad<'_>,
) -> Result<(Plan, Report, Vec<String>)> {
    let (over, order) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let ran = std::thread::scope(|scope| {
        let agents = scope.spawn(|| -> Result<()> {
            while !over.load(Ordering::SeqCst) {
                machines(api, running, bad, &order)?;
                end_pods(api)?;
                std::thread::sleep(Duration::from_millis(100));
            }
            Ok(())
        });
        let ran = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(lab.run(std::slice::from_ref(desired), Mode::Apply))
        });
        over.store(true, Ordering::SeqCst);
        agents.join().map_err(|_| anyhow::anyhow!("a thread has ended"))??;
        ran
    });
    let (plan, report) = ran?;
    Ok((plan, report, order.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)))
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_reach_one_machine_after_the_other_and_come_back_where_they_do_harm() -> Result<()> {
    let api = Api::start(false)?;
    let lab = Lab::new(&api, "demo");
    let old = text(80);
    lab.apply(&[settings(&old)]).await?;
    let mut running = BTreeMap::new();
    for node in NODES {
        register(&api, node)?;
        running.insert(node, settings_digest(&old));
    }
    machines(&api, &mut running, (&[], ""), &Mutex::default())?;

    // The plan says for each node how it changes, and why.
    let new = text(70);
    let (plan, report, order) = apply((&api, &lab), &settings(&new), &mut running, (&[], ""))?;
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    for node in NODES {
        let reason =
            format!("node {node} changes in place, without a drain: kubelet.imageGCLowThresholdPercent");
        assert!(shown(&plan).contains(&reason), "{}", shown(&plan));
        assert_eq!(running[node], settings_digest(&new));
    }
    assert_eq!(order, NODES);
    assert_eq!(map(&api)?, json!({ SETTINGS: new }));
    assert!(lab.plan(&[settings(&new)]).await?.changes.is_empty());

    // Settings that break a machine stay on one machine, and not even there.
    let bad = text(60);
    let (_, report, order) = apply((&api, &lab), &settings(&bad), &mut running, (&NODES, &bad))?;
    let failure = &report.failures.first().context("a failure")?.error;
    let expected = "node node-a does not run well with the new settings: kubelet does not run well. \
                    1 other node was not changed";
    assert_eq!(failure.message, expected);
    assert!(order.iter().all(|node| node == "node-a"), "{order:?}");
    for node in NODES {
        let wanted = api.get(&["node", node])?["metadata"]["annotations"][WANTED_SETTINGS].clone();
        assert_eq!(wanted, settings_digest(&new));
    }
    assert_eq!(map(&api)?[SETTINGS], new);
    assert_eq!(lab.plan(&[settings(&bad)]).await?.changes.len(), 1);

    // A machine that has changed before another one does not run well goes back too.
    let (_, report, order) = apply((&api, &lab), &settings(&bad), &mut running, (&NODES[1..], &bad))?;
    let failure = &report.failures.first().context("a failure")?.error;
    assert_eq!(
        failure.message,
        "node node-b does not run well with the new settings: kubelet does not run well"
    );
    assert_eq!(order[0], "node-a", "{order:?}");
    assert_eq!(running["node-a"], settings_digest(&new));
    assert_eq!(map(&api)?[SETTINGS], new);

    // Only the nodes of the pool are read, whatever else is in the cluster.
    let lists = api.requests("slipway")?.into_iter().filter(|request| request.contains("/api/v1/nodes?"));
    let others: Vec<String> =
        lists.filter(|request| !request.contains("labelSelector=slipway.dev")).collect();
    assert!(others.is_empty(), "{others:?}");
    Ok(())
}

/// A kubelet that starts with less for pods refuses pods that it runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_drained_before_it_has_less_for_pods() -> Result<()> {
    let api = Api::start(true)?;
    let lab = Lab::new(&api, "demo");
    let reserved = |cpu: &str| format!("{:#}\n", json!({"kubelet": {"kubeReserved": {"cpu": cpu}}}));
    let (old, new) = (reserved("100m"), reserved("200m"));
    lab.apply(&[settings(&old)]).await?;
    register(&api, "node-a")?;
    slipway_testkit::wait::until("a controller has seen that the node is ready", || {
        Ok(api.get(&["node", "node-a"])?["spec"].get("taints").is_none().then_some(()))
    })?;
    let mut running = BTreeMap::from([("node-a", settings_digest(&old))]);
    machines(&api, &mut running, (&[], ""), &Mutex::default())?;
    run_pod(&api, "web", "node-a")?;

    let (plan, report, order) = apply((&api, &lab), &settings(&new), &mut running, (&[], ""))?;
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    let reason = "node node-a changes in place, after a drain: kubelet.kubeReserved";
    assert!(shown(&plan).contains(reason), "{}", shown(&plan));
    assert_eq!(order, ["node-a drained"]);
    assert_eq!(running["node-a"], settings_digest(&new));
    assert_eq!(api.get(&["pods"])?["items"], json!([]));
    let node = api.get(&["node", "node-a"])?;
    assert!(node["spec"].get("unschedulable").is_none(), "{node}");
    assert!(lab.plan(&[settings(&new)]).await?.changes.is_empty());
    Ok(())
}

/// What a run leaves that was killed after it had changed the first of two nodes.
fn leave_mixed(api: &Api, running: &mut BTreeMap<&'static str, String>, next: &str) -> Result<()> {
    let patch = json!({"data": { NEXT_SETTINGS: next }}).to_string();
    let name = "slipway-settings-nodes";
    api.kubectl(&["patch", "configmap", name, "--namespace", "kube-system", "--type=merge", "-p", &patch])?;
    let digest = settings_digest(next);
    let patch = json!({"metadata": {"annotations": { WANTED_SETTINGS: digest }}}).to_string();
    api.kubectl(&["patch", "node", "node-a", "--type=merge", "-p", &patch])?;
    machines(api, running, (&[], ""), &Mutex::default())
}

/// How the step that updates an object is resumed when its run was killed.
async fn resumed(lab: &Lab, desired: &Desired) -> Result<Resolution> {
    let snapshot = lab.state().await?.context("no state")?.snapshot;
    let record = snapshot.resources.get(&desired.address).context("no record")?;
    let attributes = desired.attributes.clone();
    let request = ApplyRequest {
        token: Token::new("killed"),
        ownership: Ownership {
            uid: snapshot.uid,
            cluster: lab.cluster.clone(),
            address: desired.address.clone(),
        },
        action: Action::Update {
            identity: record.identity.clone(),
            prior: attributes.clone(),
            desired: attributes,
        },
        timeout_ms: 20_000,
    };
    let providers = lab.providers().await?;
    let session = &providers.get("kubernetes").context("no provider")?.session;
    let resume = ResumeRequest { request, identity: None, handle: None, superseded: false };
    Ok(session.resume(resume, EventSink::discard()).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_shows_a_mixed_pool_and_an_apply_ends_it() -> Result<()> {
    let api = Api::start(false)?;
    let lab = Lab::new(&api, "demo");
    let old = text(80);
    lab.apply(&[settings(&old)]).await?;
    let mut running = BTreeMap::new();
    for node in NODES {
        register(&api, node)?;
        running.insert(node, settings_digest(&old));
    }
    machines(&api, &mut running, (&[], ""), &Mutex::default())?;
    assert!(matches!(resumed(&lab, &settings(&old)).await?, Resolution::Done(_)));

    // The spec has the old settings again: the node that has changed gets them back.
    let new = text(70);
    leave_mixed(&api, &mut running, &new)?;
    assert_eq!(running["node-a"], settings_digest(&new));
    let mixed = lab.plan(&[settings(&old)]).await?;
    let reasons = mixed.changes.iter().flat_map(|change| change.reasons.iter());
    let reasons: Vec<&str> = reasons.map(|reason| reason.message.as_str()).collect();
    let expected = "node node-a changes in place, without a drain: its machine has other settings than its pool, as after a \
                    run that did not end";
    assert!(reasons.contains(&expected), "{reasons:?}");
    assert!(reasons.iter().all(|reason| !reason.contains("node-b")), "{reasons:?}");
    assert_eq!(resumed(&lab, &settings(&old)).await?, Resolution::NotDone);
    let (_, report, order) = apply((&api, &lab), &settings(&old), &mut running, (&[], ""))?;
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert_eq!(order, ["node-a"]);
    assert_eq!(running["node-a"], settings_digest(&old));
    assert_eq!(map(&api)?, json!({ SETTINGS: old }));
    let again = lab.plan(&[settings(&old)]).await?;
    assert!(again.changes.is_empty(), "{}", shown(&again));
    assert!(matches!(resumed(&lab, &settings(&old)).await?, Resolution::Done(_)));

    // The spec has the new settings still: the other node gets them too, and the first is not changed again.
    leave_mixed(&api, &mut running, &new)?;
    assert_eq!(resumed(&lab, &settings(&new)).await?, Resolution::NotDone);
    let (plan, report, order) = apply((&api, &lab), &settings(&new), &mut running, (&[], ""))?;
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert!(!shown(&plan).contains("node-a"), "{}", shown(&plan));
    assert_eq!(order, ["node-b"]);
    assert_eq!(map(&api)?, json!({ SETTINGS: new }));
    assert!(lab.plan(&[settings(&new)]).await?.changes.is_empty());

    // A step has the time for a machine as often as it has turns.
    let step = plan.steps.iter().find(|step| step.address == settings(&new).address).context("no step")?;
    assert_eq!(step.estimate_ms, 60_000);
    for node in ["node-c", "node-d"] {
        register(&api, node)?;
        running.insert(node, settings_digest(&new));
    }
    machines(&api, &mut running, (&[], ""), &Mutex::default())?;
    let plan = lab.plan(&[settings(&old)]).await?;
    let step = plan.steps.iter().find(|step| step.address == settings(&new).address).context("no step")?;
    assert_eq!((step.estimate_ms, step.timeout_ms), (240_000, 2_400_000));
    Ok(())
}
