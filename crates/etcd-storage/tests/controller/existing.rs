//! Objects that existed in the namespace before.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use slipway_bootstrap::configuration::EncryptionAlgorithm;
use slipway_bootstrap::pki::{PrivateKey, Template};
use slipway_controller::k8s_openapi::api::core::v1::{ConfigMap, Service};
use slipway_controller::kube::api::{Api, DeleteParams};

use super::lab::{Lab, NAMESPACE, spec_for_none};

/// What belongs to somebody else is not touched. Authorities that another controller has left stay trusted.
pub async fn are_respected(lab: &Lab) {
    let kube = lab.client().await;
    let services: Api<Service> = Api::namespaced(kube.clone(), NAMESPACE);
    let mine = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "etcd-existing"},
        "spec": {"ports": [{"port": 1}]}});
    let before = lab.apply(&services, &mine).await;
    let maps: Api<ConfigMap> = Api::namespaced(kube, NAMESPACE);
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    let left = Template::authority("left", Timestamp::now(), Duration::from_secs(3600)).unwrap();
    let left = left.self_signed(&key).unwrap().to_pem();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "existing-ca-cert"},
        "data": {"client-ca.crt": left}});
    lab.apply(&maps, &map).await;

    lab.create("existing", &spec_for_none("10h", "1h")).await;
    let message = lab.condition("existing", "Deployed", "False", "FailedDeploying").await;
    assert!(
        message.contains("Service etcd-existing exists and does not belong to this EtcdStorage"),
        "{message}"
    );
    assert_eq!(lab.event("existing", "EtcdStorageDeployFailure").await, message);
    assert_eq!(services.get("etcd-existing").await.unwrap(), before);
    lab.condition("existing", "CertificatesReady", "True", "Issued").await;
    let bundle = maps.get("existing-ca-cert").await.unwrap().data.unwrap().remove("client-ca.crt").unwrap();
    assert!(bundle.contains(&left) && bundle.matches("BEGIN").count() == 2, "{bundle}");

    services.delete("etcd-existing", &DeleteParams::default()).await.unwrap();
    lab.condition("existing", "Deployed", "True", "Deployed").await;
}
