//! Objects of API servers that are missing, cannot be written, or belong to another `EtcdStorage`.

use serde_json::json;
use slipway_controller::k8s_openapi::api::core::v1::{ConfigMap, Secret};
use slipway_controller::kube::api::{Api, DeleteParams, Patch, PatchParams};

use super::lab::{Lab, spec_for};
use super::pod::Given;
use super::until::until;

pub async fn heal(lab: &Lab) {
    lab.with_core().await;
    let kube = lab.client().await;
    let maps: Api<ConfigMap> = Api::namespaced(kube.clone(), "healing");
    let secrets: Api<Secret> = Api::namespaced(kube.clone(), "healing");
    lab.tenant("healing", "etcd-serving-ca", "etcd-client-cert").await;
    secrets.delete("etcd-client-cert", &DeleteParams::default()).await.unwrap();
    lab.create("healing", &spec_for("healing", "10h", "1h")).await;
    let message = lab.condition("healing", "CertificatesReady", "False", "DestinationMissing").await;
    assert!(message.contains("Secret healing/etcd-client-cert: it does not exist"), "{message}");
    assert_eq!(lab.event("healing", "CertificatesDeployFailure").await, message);
    lab.condition("healing", "Ready", "False", "DestinationMissing").await;
    // The other destination is written nevertheless, beside what its owner has in it.
    let map = maps.get("etcd-serving-ca").await.unwrap().data.unwrap();
    assert_eq!(map["mine"], "kept");
    assert!(map["serving-ca.crt"].contains("BEGIN CERTIFICATE"));

    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "etcd-client-cert"},
        "data": {"mine": "a2VwdA=="}});
    lab.apply(&secrets, &secret).await;
    lab.condition("healing", "CertificatesReady", "True", "Issued").await;
    lab.event("healing", "CertificatesDeployed").await;
    let data = secrets.get("etcd-client-cert").await.unwrap().data.unwrap();
    assert_eq!(data["mine"].0, b"kept");
    let given = Given::read(&kube, "healing").await.unwrap();

    // A damaged certificate is replaced at the next look, which a change of the object is.
    let damage = json!({"data": {"tls.crt": "Pz8="}});
    secrets.patch("etcd-client-cert", &PatchParams::default(), &Patch::Merge(damage)).await.unwrap();
    lab.kubectl(&["annotate", "etcdstorage", "healing", "look=again"]).unwrap();
    until("another certificate is issued", async || {
        let now = Given::read(&kube, "healing").await?;
        (now.certificate.contains("BEGIN") && now.certificate != given.certificate).then_some(())
    })
    .await;

    // Nobody else gets the same object.
    lab.create("healing-too", &spec_for("healing", "10h", "1h")).await;
    let message = lab.condition("healing-too", "CertificatesReady", "False", "DestinationTaken").await;
    assert!(message.contains("already belongs to the EtcdStorage healing"), "{message}");
    let storages = lab.storages().await;
    storages.delete("healing", &DeleteParams::default()).await.unwrap();
    // When its user is gone, it is free, and its owner's keys are still there.
    lab.condition("healing-too", "CertificatesReady", "True", "Issued").await;
    assert_eq!(maps.get("etcd-serving-ca").await.unwrap().data.unwrap()["mine"], "kept");
    assert_eq!(secrets.get("etcd-client-cert").await.unwrap().data.unwrap()["mine"].0, b"kept");
}
