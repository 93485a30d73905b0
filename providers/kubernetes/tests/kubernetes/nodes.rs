//! Nodes: their labels and taints, the gates, and requests for serving certificates. No kubelet runs here:
//! the test registers nodes, binds pods, and removes evicted ones.

use std::time::Duration;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use serde_json::json;
use slipway_bootstrap::configuration::EncryptionAlgorithm;
use slipway_bootstrap::pki::{AlternativeNames, Certificate, PrivateKey, Request, Subject};
use slipway_plan::Mode;
use slipway_resource::provider::{Action, ApplyRequest, EventSink, NodeReference, operation};
use slipway_resource::{
    Address, ClusterUid, Desired, ErrorClass, Identity, Ownership, ProviderError, Token, Value,
};

use crate::lab::{Api, Lab, shown};

fn node(attributes: serde_json::Value) -> Desired {
    Desired::new(Address::new("kubernetes_node", "node-a"), Value::from_json(&attributes))
}

pub fn register(api: &Api, name: &str) -> Result<()> {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
    api.kubectl_with(&["create", "-f", "-"], &node.to_string())?;
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}]}});
    api.kubectl(&["patch", "node", name, "--subresource=status", "--type=merge", "-p", &ready.to_string()])?;
    Ok(())
}

pub fn run_pod(api: &Api, name: &str, node: &str) -> Result<()> {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": node, "tolerations": [{"operator": "Exists"}], "containers": [{"name": "a", "image": "a:1"}]}});
    api.kubectl_with(&["create", "-f", "-"], &pod.to_string())?;
    let status = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    api.kubectl(&["patch", "pod", name, "--subresource=status", "--type=merge", "-p", &status.to_string()])?;
    Ok(())
}

/// Takes the pods away that were told to go, as a kubelet does.
pub fn end_pods(api: &Api) -> Result<()> {
    let pods = api.get(&["pods"])?;
    for pod in pods["items"].as_array().into_iter().flatten() {
        if pod["metadata"].get("deletionTimestamp").is_some() {
            let name = pod["metadata"]["name"].as_str().context("a name")?;
            api.kubectl(&["delete", "pod", name, "--grace-period=0", "--force"])?;
        }
    }
    Ok(())
}

async fn gate(lab: &Lab, name: &str, arguments: Value) -> Result<Result<Value, ProviderError>> {
    gate_on(lab, "Node//node-a", name, arguments).await
}

pub async fn gate_on(
    lab: &Lab,
    identity: &str,
    name: &str,
    arguments: Value,
) -> Result<Result<Value, ProviderError>> {
    let providers = lab.providers().await?;
    let handle = providers.get("kubernetes").context("the provider")?;
    let request = ApplyRequest {
        token: Token::new(format!("t-{name}")),
        ownership: Ownership {
            uid: ClusterUid::new("u"),
            cluster: "demo".to_owned(),
            address: Address::new("kubernetes_node", "node-a"),
        },
        action: Action::Operation { identity: Identity::new(identity), name: name.to_owned(), arguments },
        timeout_ms: 20_000,
    };
    Ok(handle.session.apply(request, EventSink::discard()).await.map(|applied| applied.attributes))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_described_drained_within_its_budgets_and_let_go() -> Result<()> {
    let api = Api::start(true)?;
    let lab = Lab::new(&api, "demo");
    register(&api, "node-a")?;
    slipway_testkit::wait::until("a controller has seen that the node is ready", || {
        Ok(api.get(&["node", "node-a"])?["spec"].get("taints").is_none().then_some(()))
    })?;
    api.kubectl(&["taint", "node", "node-a", "other=x:NoSchedule"])?;
    let wanted = node(json!({"name": "node-a", "labels": {"team": "a"},
        "taints": [{"key": "dedicated", "value": "a", "effect": "NoSchedule"}]}));
    lab.apply(&[wanted]).await?;
    let live = api.get(&["node", "node-a"])?;
    assert_eq!(live["metadata"]["labels"]["team"], "a");
    let taints = |live: &serde_json::Value| -> Vec<String> {
        let taints = live["spec"]["taints"].as_array().cloned().unwrap_or_default();
        let mut keys: Vec<String> =
            taints.iter().map(|taint| taint["key"].as_str().unwrap_or_default().to_owned()).collect();
        keys.sort();
        keys
    };
    assert_eq!(taints(&live), ["dedicated", "other"]);
    let other = node(json!({"name": "node-a", "labels": {"team": "b"}}));
    lab.apply(std::slice::from_ref(&other)).await?;
    let live = api.get(&["node", "node-a"])?;
    assert_eq!(
        (live["metadata"]["labels"]["team"].as_str(), taints(&live)),
        (Some("b"), vec!["other".to_owned()])
    );

    // A budget that allows no disruption is in the plan of the node that would have to be drained.
    run_pod(&api, "web-0", "node-a")?;
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
    api.kubectl_with(&["create", "-f", "-"], &budget.to_string())?;
    slipway_testkit::wait::until("the budget counts", || {
        Ok((api.get(&["pdb", "web"])?["status"]["currentHealthy"] == 1).then_some(()))
    })?;
    let plan = lab.plan(&[]).await?;
    let finding = plan.findings.first().context("a finding")?;
    assert!(finding.message.contains("budget default/web allows 0 disruptions"), "{}", finding.message);
    assert!(matches!(finding.class, ErrorClass::Dependency { .. }));

    gate(&lab, operation::CORDON, Value::Null).await??;
    assert_eq!(api.get(&["node", "node-a"])?["spec"]["unschedulable"], true);
    let held = gate(&lab, operation::DRAIN, Value::map([("timeout_ms", 1_500i64)])).await?.unwrap_err();
    assert!(held.message.contains("disruption budget web"), "{}", held.message);
    let ErrorClass::Dependency { blockers } = &held.class else { panic!("{held:?}") };
    assert!(blockers[0].starts_with("pod default/web-0"), "{blockers:?}");
    // The machine may be removed with the remaining pods, or they may be deleted; both need an option.
    let skip = Value::map([("timeout_ms", Value::from(500_i64)), ("on_blocked", "skip".into())]);
    gate(&lab, operation::DRAIN, skip).await??;
    assert!(api.get(&["pod", "web-0"])?["metadata"].get("deletionTimestamp").is_none());
    let nodes = lab.providers().await?.get("kubernetes").context("the provider")?.session.nodes().await?;
    assert_eq!(nodes.len(), 1, "{nodes:?}");
    assert_eq!((nodes[0].name.as_str(), nodes[0].identity.as_str()), ("node-a", "Node//node-a"));
    assert!(nodes[0].ready && nodes[0].provider_id.is_none());
    assert_eq!(nodes[0].blockers, ["budget default/web allows 0 disruptions"]);
    gate(&lab, "uncordon", Value::Null).await??;
    assert!(api.get(&["node", "node-a"])?["spec"].get("unschedulable").is_none());
    gate(&lab, operation::VERIFY, Value::Null).await??;

    // Without it the node leaves: empty first, then out of the cluster.
    api.kubectl(&["delete", "pdb", "web"])?;
    let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (_, report) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::SeqCst) {
                let _ = end_pods(&api);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        let ran = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(lab.run(&[], Mode::Apply))
        });
        over.store(true, std::sync::atomic::Ordering::SeqCst);
        ran
    })?;
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert!(api.get(&["node", "node-a"]).is_err());
    assert_eq!(api.get(&["pods"])?["items"], json!([]));
    assert!(lab.plan(&[]).await?.changes.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_of_a_new_machine_is_found_by_its_provider_id() -> Result<()> {
    let api = Api::start(true)?;
    let lab = Lab::new(&api, "demo");
    let arguments = |timeout_ms: i64| {
        let node = NodeReference::ProviderId("cloud:///zone/machine-1".to_owned()).to_value();
        let times = [("timeout_ms", timeout_ms.into()), ("settle_ms", 300_i64.into())];
        Value::map(times.into_iter().chain([(operation::NODE, node)]))
    };
    register(&api, "node-b")?;
    let missing = gate_on(&lab, "", operation::VERIFY, arguments(500)).await?.unwrap_err();
    assert_eq!(missing.class, ErrorClass::Permanent);
    assert!(missing.message.contains("cloud:///zone/machine-1"), "{}", missing.message);
    assert!(missing.message.contains("has not joined the cluster"), "{}", missing.message);
    api.kubectl(&[
        "patch",
        "node",
        "node-b",
        "--type=merge",
        "-p",
        r#"{"spec":{"providerID":"cloud:///zone/machine-1"}}"#,
    ])?;
    let found = gate_on(&lab, "", operation::VERIFY, arguments(20_000)).await??;
    assert_eq!(found.get("name").and_then(Value::as_str), Some("node-b"));

    // The node is found, and its kubelet is not ready any more.
    let unready =
        json!({"status": {"conditions": [{"type": "Ready", "status": "False", "message": "no network"}]}});
    api.kubectl(&[
        "patch",
        "node",
        "node-b",
        "--subresource=status",
        "--type=merge",
        "-p",
        &unready.to_string(),
    ])?;
    let late = gate_on(&lab, "", operation::VERIFY, arguments(500)).await?.unwrap_err();
    assert!(late.message.contains("node node-b is not ready in time"), "{}", late.message);
    Ok(())
}

/// A request of a kubelet.
fn ask_for_certificate(api: &Api, name: &str, node: &str, names: &[&str]) -> Result<()> {
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256)?;
    let subject = Subject::new(format!("system:node:{node}")).with_organizations(["system:nodes"]);
    let pem = Request::new(&subject, &AlternativeNames::of(names), &key)?.to_pem();
    let request = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {"request": base64::engine::general_purpose::STANDARD.encode(pem), "signerName": "kubernetes.io/kubelet-serving",
            "usages": ["digital signature", "server auth"]}});
    let user = format!("--as=system:node:{node}");
    let groups = ["--as-group=system:nodes", "--as-group=system:authenticated"];
    api.kubectl_with(&["create", "-f", "-", &user, groups[0], groups[1]], &request.to_string())?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serving_certificate_is_for_what_the_node_is_known_to_have() -> Result<()> {
    let api = Api::start(true)?;
    let lab = Lab::new(&api, "demo");
    register(&api, "node-a")?;
    ask_for_certificate(&api, "forged", "node-a", &["node-a", "192.0.2.99"])?;
    ask_for_certificate(&api, "good", "node-a", &["node-a", "192.0.2.1"])?;
    ask_for_certificate(&api, "other", "node-b", &["node-b"])?;
    let served_by = |authority: &str| {
        let annotations = json!({"slipway.dev/serving-authority": authority});
        node(json!({"name": "node-a", "serving": ["192.0.2.1"], "annotations": annotations}))
    };
    let plan = lab.apply(&[served_by("of-before")]).await?;
    assert_eq!(plan.changes.len(), 1, "{}", shown(&plan));
    let conditions = |name: &str| -> Result<serde_json::Value> {
        Ok(api.get(&["csr", name])?["status"]["conditions"].clone())
    };
    let forged = conditions("forged")?;
    assert_eq!(forged[0]["type"], "Denied");
    assert!(forged[0]["message"].as_str().context("a message")?.contains("192.0.2.99"), "{forged}");
    assert_eq!(conditions("good")?[0]["type"], "Approved");
    assert_eq!(conditions("other")?, serde_json::Value::Null, "that of another node is nobody's matter here");

    // In a rotation, the kubelet asks again, and a certificate of the other authority is waited for.
    let authority = Certificate::from_pem(&std::fs::read_to_string(api.server().1)?)?;
    ask_for_certificate(&api, "again", "node-a", &["node-a", "192.0.2.1"])?;
    lab.apply(&[served_by(&authority.subject().common_name)]).await?;
    assert_eq!(conditions("again")?[0]["type"], "Approved");
    Ok(())
}
