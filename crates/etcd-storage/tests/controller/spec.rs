//! A spec that changes.

use serde_json::{Value as Json, json};
use slipway_controller::k8s_openapi::api::apps::v1::Deployment;
use slipway_controller::k8s_openapi::api::core::v1::{ConfigMap, Secret};
use slipway_controller::kube::api::{Api, Patch, PatchParams};

use super::lab::{Lab, NAMESPACE, spec_for};
use super::until::until;

const VALIDITY: &str = "etcd.xmudrii.com/certificate-validity";

pub async fn followed(lab: &Lab) {
    lab.with_core().await;
    let kube = lab.client().await;
    lab.tenant("changing", "etcd-serving-ca", "etcd-client-cert").await;
    lab.tenant("changing-too", "etcd-serving-ca", "etcd-client-cert").await;
    lab.create("changing", &spec_for("changing", "100h", "10h")).await;
    lab.condition("changing", "CertificatesReady", "True", "Issued").await;
    let storages = lab.storages().await;
    let patch = async |spec: Json| {
        let patch = json!({"spec": spec});
        storages.patch("changing", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    };
    let secret = async |namespace: &str, name: &str| {
        Api::<Secret>::namespaced(kube.clone(), namespace).get(name).await.unwrap()
    };
    let validity = |secret: &Secret| secret.metadata.annotations.as_ref().unwrap()[VALIDITY].clone();
    assert_eq!(validity(&secret("changing", "etcd-client-cert").await), "36000s");

    patch(json!({"clientCertificateValidity": "20h", "servingCertificateValidity": "30h", "signingCertificateValidity": "200h"}))
        .await;
    until("certificates have the new validity", async || {
        let client = validity(&secret("changing", "etcd-client-cert").await);
        let server = validity(&secret(NAMESPACE, "changing-server-cert").await);
        (client == "72000s" && server == "108000s").then_some(())
    })
    .await;
    // A successor of each authority is trusted, and begins to sign after a quarter of its validity.
    let status = until("both successors are prepared", async || {
        let status = storages.get("changing").await.unwrap().status?;
        let prepared = status.certificates.iter().filter_map(|one| one.next.as_ref()?.signs_from.clone());
        (prepared.count() == 2).then_some(status)
    })
    .await;
    assert_eq!(status.endpoint.as_deref(), Some("https://etcd-changing.kube-apiserver-storage.svc:2379"));
    assert_eq!(
        status.data_on_deletion.as_deref(),
        Some("Retain: keys below /changing/ stay in the core etcd")
    );

    patch(json!({
        "caCertConfigMap": [{"name": "etcd-serving-ca", "namespace": "changing-too"}],
        "clientCertSecret": [{"name": "etcd-client-cert", "namespace": "changing-too"}],
        "replicas": 2, "adopt": true, "quota": {"keys": 10, "bytes": 20, "requestsPerSecond": 30},
        "deletionPolicy": "Delete",
    }))
    .await;
    let maps = async |namespace: &str| {
        Api::<ConfigMap>::namespaced(kube.clone(), namespace).get("etcd-serving-ca").await.unwrap()
    };
    until("the new destination is written and the old one is cleaned", async || {
        let new = maps("changing-too").await.data?.contains_key("serving-ca.crt");
        let old = maps("changing").await;
        let is_clean =
            !old.data.as_ref()?.contains_key("serving-ca.crt") && old.metadata.annotations.is_none();
        let emptied = secret("changing", "etcd-client-cert").await;
        let is_empty = emptied.data?.values().all(|value| value.0.is_empty());
        (new && is_clean && is_empty && emptied.metadata.annotations.is_none()).then_some(())
    })
    .await;
    assert_eq!(maps("changing").await.data.unwrap()["mine"], "kept");
    let deployments: Api<Deployment> = Api::namespaced(kube.clone(), NAMESPACE);
    until("the Deployment follows", async || {
        let spec = deployments.get("etcd-changing").await.unwrap().spec;
        let arguments = spec.template.spec?.containers.remove(0).args?;
        let limits = ["--adopt", "--max-keys=10", "--max-bytes=20", "--max-requests-per-second=30"];
        (spec.replicas == Some(2) && arguments.ends_with(&limits.map(str::to_owned))).then_some(())
    })
    .await;
    until("the status follows", async || {
        let status = storages.get("changing").await.unwrap().status?;
        let is_told =
            status.data_on_deletion? == "Delete: keys below /changing/ are deleted from the core etcd";
        (is_told && status.destinations.len() == 2).then_some(())
    })
    .await;
}
