//! The example of the guide, from its first object to its last.

use std::fs;
use std::time::Duration;

use serde_json::json;
use slipway_controller::k8s_openapi::api::apps::v1::Deployment;
use slipway_controller::k8s_openapi::api::core::v1::{ConfigMap, Pod as PodObject, Secret, Service};
use slipway_controller::kube::api::{Api, ListParams, Patch, PatchParams};
use slipway_testkit::control_plane::{ControlPlane, Etcd, Options};

use super::deletion::core;
use super::lab::{Lab, NAMESPACE};
use super::pod::{Given, Pod};
use super::sample;
use super::until::until;

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/etcd-storage.md");
const NAME: &str = "sample-apiserver";
const TENANT: &str = "k8s-sample-apiserver";

/// The YAML of the guide whose first line ends with this.
fn block(begins: &str) -> String {
    let guide = fs::read_to_string(GUIDE).unwrap();
    let mut blocks = guide.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.find(|block| block.starts_with(begins)).unwrap().to_owned()
}

fn apply(lab: &Lab, begins: &str) {
    let file = lab.plane.folder().join("example.yaml");
    fs::write(&file, block(begins)).unwrap();
    lab.kubectl(&["apply", "--filename", &file.display().to_string()]).unwrap();
}

/// A kube-apiserver and an aggregated API server store their objects through the proxy of the example, and nothing of the
/// controller is left at the end.
pub async fn works(lab: &Lab) {
    lab.with_core().await;
    let kube = lab.client().await;
    // In the wrong order: the objects of the API server do not exist yet.
    apply(lab, "apiVersion: etcd.xmudrii.com/v1alpha1");
    let message = lab.condition(NAME, "CertificatesReady", "False", "DestinationForbidden").await;
    assert!(message.contains("needs the rights get, update and patch"), "{message}");
    apply(lab, "apiVersion: v1\nkind: Namespace");
    lab.condition(NAME, "CertificatesReady", "True", "Issued").await;
    lab.condition(NAME, "Deployed", "True", "Deployed").await;
    lab.event(NAME, "EtcdStorageDeployed").await;
    lab.condition(NAME, "ProxyAvailable", "False", "Unavailable").await;
    become_ready(lab).await;
    lab.condition(NAME, "ProxyAvailable", "True", "Available").await;
    lab.kubectl(&["wait", "etcdstorage", NAME, "--for=condition=Ready", "--timeout=60s"]).unwrap();
    let table = lab.kubectl(&["get", "etcdstorages", NAME]).unwrap();
    assert!(table.contains("https://etcd-sample-apiserver.kube-apiserver-storage.svc:2379"), "{table}");
    keys_are_only_in_secrets(lab).await;

    let given = until("certificates are given", async || Given::read(&kube, TENANT).await).await;
    let pod = Pod::start(lab, NAME).await;
    serve(lab, &given, &pod);
    drift_is_corrected(lab).await;
    drop(pod);

    lab.kubectl(&["delete", "etcdstorage", NAME, "--timeout=60s"]).unwrap();
    nothing_is_left(lab).await;
    let keys = core(lab).keys().await;
    for kept in ["configmaps/default/flunder".to_owned(), sample::key()] {
        let kept = format!("/sample-apiserver//registry/{kept}");
        assert!(keys.contains(&kept), "data is kept: {kept} in {keys:?}");
    }
}

/// Reports as a kubelet that all pods of the Deployment are ready.
async fn become_ready(lab: &Lab) {
    let pods: Api<PodObject> = Api::namespaced(lab.client().await, NAMESPACE);
    let parameters = ListParams::default().labels(&format!("etcd.xmudrii.com/etcdstorage={NAME}"));
    let all = until("there are three pods", async || {
        let pods = pods.list(&parameters).await.unwrap().items;
        (pods.len() == 3).then_some(pods)
    })
    .await;
    let ready = json!({"status": {"phase": "Running", "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    for pod in all {
        let name = pod.metadata.name.unwrap();
        pods.patch_status(&name, &PatchParams::default(), &Patch::Merge(&ready)).await.unwrap();
    }
}

async fn keys_are_only_in_secrets(lab: &Lab) {
    let maps = lab
        .kubectl(&["get", "configmaps,etcdstorages,deployments", "--all-namespaces", "--output=json"])
        .unwrap();
    assert!(!maps.contains("PRIVATE KEY"));
    let client = lab.client().await;
    for name in ["sample-apiserver-server-cert", "sample-apiserver-signers"] {
        let secret = Api::<Secret>::namespaced(client.clone(), NAMESPACE).get(name).await.unwrap();
        assert_eq!(secret.metadata.owner_references.unwrap()[0].kind, "EtcdStorage");
    }
    let map = Api::<ConfigMap>::namespaced(client, NAMESPACE).get("sample-apiserver-ca-cert").await.unwrap();
    assert_eq!(map.metadata.owner_references.unwrap()[0].kind, "EtcdStorage");
    assert!(map.data.unwrap()["client-ca.crt"].contains("BEGIN CERTIFICATE"));
}

/// Runs kubectl, which must succeed.
pub fn kubectl(plane: &ControlPlane, arguments: &[&str]) -> String {
    let output = plane.kubectl(arguments).unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A kube-apiserver with the proxy for its etcd, and an aggregated API server behind it with the same proxy.
fn serve(lab: &Lab, given: &Given, pod: &Pod) {
    let folder = lab.plane.folder();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let storage = Etcd {
        url: pod.url(),
        ca: file("given-ca.crt", &given.authorities),
        certificate: file("given.crt", &given.certificate),
        key: file("given.key", &given.key),
    };
    let tenant =
        ControlPlane::start(&Options { storage: Some(storage.clone()), ..Options::default() }).unwrap();
    for arguments in [
        ["create", "configmap", "flunder"].as_slice(),
        &["label", "configmap", "flunder", "stored=here"],
        &["wait", "configmap", "flunder", "--for=jsonpath={.metadata.labels.stored}=here", "--timeout=30s"],
    ] {
        kubectl(&tenant, arguments);
    }
    sample::works(&tenant, &storage);
    // It is another cluster than ours.
    assert!(lab.kubectl(&["get", "configmap", "flunder"]).is_err());
}

async fn drift_is_corrected(lab: &Lab) {
    let client = lab.client().await;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let services: Api<Service> = Api::namespaced(client, NAMESPACE);
    let name = "etcd-sample-apiserver";
    let edit = json!({"metadata": {"annotations": {"mine": "kept"}}, "spec": {"replicas": 1}});
    deployments.patch(name, &PatchParams::default(), &Patch::Merge(edit)).await.unwrap();
    let edit = json!({"spec": {"selector": {"app.kubernetes.io/name": "other"}}});
    services.patch(name, &PatchParams::default(), &Patch::Merge(edit)).await.unwrap();
    until("what was edited is as before", async || {
        let deployment = deployments.get(name).await.unwrap();
        let service = services.get(name).await.unwrap();
        let selector = service.spec?.selector?;
        let is_kept = deployment.metadata.annotations?["mine"] == "kept";
        (deployment.spec.replicas == Some(3) && selector["app.kubernetes.io/name"] == "etcdproxy" && is_kept)
            .then_some(())
    })
    .await;
}

/// The cluster deletes what belongs to the `EtcdStorage`, and the objects of the API server are as they were.
async fn nothing_is_left(lab: &Lab) {
    let kinds = "deployments,replicasets,pods,services,poddisruptionbudgets,configmaps,secrets";
    let label = format!("--selector=etcd.xmudrii.com/etcdstorage={NAME}");
    let list = ["get", kinds, "--namespace", NAMESPACE, &label, "--output=name"];
    until("everything is deleted", async || {
        let left = lab.kubectl(&list).unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        left.trim().is_empty().then_some(())
    })
    .await;
    let client = lab.client().await;
    let map = Api::<ConfigMap>::namespaced(client.clone(), TENANT).get("etcd-serving-ca").await.unwrap();
    let ours = |annotations: Option<std::collections::BTreeMap<String, String>>| {
        annotations.unwrap_or_default().keys().any(|key| key.starts_with("etcd.xmudrii.com/"))
    };
    assert!(!map.data.unwrap_or_default().contains_key("serving-ca.crt") && !ours(map.metadata.annotations));
    let secret = Api::<Secret>::namespaced(client, TENANT).get("etcd-client-cert").await.unwrap();
    assert!(secret.data.unwrap_or_default().values().all(|value| value.0.is_empty()));
    assert!(!ours(secret.metadata.annotations));
}
