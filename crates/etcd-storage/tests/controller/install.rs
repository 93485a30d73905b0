//! The manifest, and what the API refuses.

use std::process::Command;

use serde_json::{Value as Json, json};
use slipway_controller::k8s_openapi::api::apps::v1::Deployment;
use slipway_controller::kube::Error;
use slipway_controller::kube::api::Api;

use super::lab::{Lab, NAMESPACE, PROGRAM, spec_for_none};

/// The manifest changes nothing when it is applied again, and the program understands the arguments in it.
pub async fn applied_again(lab: &Lab) {
    let said = lab.install().unwrap();
    assert_eq!(said.lines().count(), 9, "{said}");
    assert!(said.lines().all(|line| line.ends_with(" unchanged")), "{said}");
    let deployments: Api<Deployment> = Api::namespaced(lab.client().await, NAMESPACE);
    let deployment = deployments.get("etcdproxy-controller-deployment").await.unwrap();
    let container = deployment.spec.template.spec.unwrap().containers.remove(0);
    let help = Command::new(PROGRAM).args(container.args.unwrap()).arg("--help").output().unwrap();
    assert!(help.status.success(), "{}", String::from_utf8_lossy(&help.stderr));
    for command in ["controller", "manifest"] {
        let refused = Command::new(PROGRAM).args([command, "--etcd-core-url=http://a:1"]).output().unwrap();
        assert!(!refused.status.success() && refused.stdout.is_empty());
        assert!(String::from_utf8_lossy(&refused.stderr).contains("error[STORAGE0003]"), "{refused:?}");
    }
    let crd = Command::new(PROGRAM).args(["manifest", "--crd-only"]).output().unwrap().stdout;
    assert_eq!(String::from_utf8(crd).unwrap().matches("\nkind: ").count(), 1);
}

pub async fn core_was_reported(lab: &Lab) {
    lab.with_core().await;
}

/// The API refuses what the controller could not fulfil.
pub async fn refused(lab: &Lab) {
    let storages = lab.storages().await;
    let refused = async |name: &str, change: &dyn Fn(&mut Json)| {
        let mut object = json!({
            "apiVersion": "etcd.xmudrii.com/v1alpha1", "kind": "EtcdStorage", "metadata": {"name": name},
            "spec": spec_for_none("730h", "730h"),
        });
        change(&mut object["spec"]);
        // The type of this crate has every field, so the text is sent as it is.
        let request = http::Request::post("/apis/etcd.xmudrii.com/v1alpha1/etcdstorages?dryRun=All")
            .header("content-type", "application/json")
            .body(object.to_string().into_bytes())
            .unwrap();
        match storages.clone().into_client().request::<Json>(request).await {
            Err(Error::Api(status)) => status.message,
            other => format!("accepted: {other:?}"),
        }
    };
    let nothing = |_: &mut Json| {};
    assert!(refused("fine", &nothing).await.starts_with("accepted"));
    assert!(
        refused("compound", &|spec| spec["servingCertificateValidity"] = "1h30m".into())
            .await
            .starts_with("accepted")
    );
    for (name, needle) in [("a".repeat(59), "at most 58"), ("a.b".to_owned(), "lower-case letters")] {
        let message = refused(&name, &nothing).await;
        assert!(message.contains(needle), "{name}: {message}");
    }
    let with = async |field: &str, value: Json| refused("wrong", &|spec| spec[field] = value.clone()).await;
    for text in ["10s", "a month", "", "730", "-1h"] {
        let message = with("clientCertificateValidity", text.into()).await;
        assert!(message.contains("spec.clientCertificateValidity"), "{text}: {message}");
    }
    let same = json!({"name": "a", "namespace": "b"});
    assert!(with("clientCertSecret", json!([same, same])).await.contains("Duplicate value"));
    assert!(with("caCertConfigMap", json!([{"name": "a", "namespace": "B"}])).await.contains("namespace"));
    assert!(with("caCertConfigMap", json!([{"name": "a"}])).await.contains("namespace: Required"));
    assert!(with("signingCertificateValidity", Json::Null).await.contains("signingCertificateValidity"));
    assert!(with("replicas", 0.into()).await.contains("replicas"));
    assert!(with("deletionPolicy", "Forget".into()).await.contains("deletionPolicy"));
    assert!(with("quota", json!({"keys": 0})).await.contains("quota.keys"));
}
