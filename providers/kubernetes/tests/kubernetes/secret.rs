//! The content of a Secret is applied, compared, and never shown.

use std::sync::Arc;

use anyhow::Result;
use serde_json::json;
use slipway_engine::{SecretError, SecretSource};
use slipway_resource::{Desired, Path, Secret, SecretText, Value};

use crate::lab::{Api, Lab, object, shown};

/// One secret, `env:PASSWORD`, whose text differs between runs.
struct One(&'static str);

impl SecretSource for One {
    fn text(&self, source: &str) -> Result<SecretText, SecretError> {
        match source {
            "env:PASSWORD" => Ok(SecretText::new(self.0)),
            _ => Err(SecretError { source_name: source.to_owned(), message: "there is none".to_owned() }),
        }
    }
}

fn wanted(label: &str) -> Desired {
    let mut object = object(json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": "a", "namespace": "default", "labels": {"x": label}}, "stringData": {"user": "root"}}));
    let path = Path::key("manifest").child("stringData").child("password");
    object.attributes.set(&path, Value::from(Secret::new("env:PASSWORD")));
    object
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_kept_and_not_shown() -> Result<()> {
    let api = Api::start(false)?;
    let mut lab = Lab::new(&api, "demo");
    lab.secrets = Arc::new(One("hunter2"));
    let plan = lab.apply(&[wanted("1")]).await?;
    let hidden = |text: &str| !text.contains("hunter2") && !text.contains("aHVudGVyMg==");
    assert!(hidden(&shown(&plan)) && hidden(&serde_json::to_string(&plan)?));
    assert_eq!(api.get(&["secret", "a"])?["data"], json!({"password": "aHVudGVyMg==", "user": "cm9vdA=="}));

    // A label changes: the content stays, and is no change.
    let plan = lab.apply(&[wanted("2")]).await?;
    let changed: Vec<String> = plan.changes[0].changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(changed, ["manifest.metadata.labels.x"], "{}", shown(&plan));
    assert!(hidden(&serde_json::to_string(&plan)?));
    assert_eq!(api.get(&["secret", "a"])?["data"]["password"], "aHVudGVyMg==");

    // Another client changes the content: the plan reports it without showing it, and the apply corrects it.
    api.kubectl(&["patch", "secret", "a", "--type=merge", "-p", r#"{"data": {"password": "b3RoZXI="}}"#])?;
    let plan = lab.plan(&[wanted("2")]).await?;
    let changed: Vec<(String, bool)> =
        plan.changes[0].changes.iter().map(|change| (change.path.to_string(), change.sensitive)).collect();
    let expected = [("manifest.stringData.password", true), ("take_over", false)];
    assert_eq!(changed, expected.map(|(path, hidden)| (path.to_owned(), hidden)), "{}", shown(&plan));
    assert!(!serde_json::to_string(&plan)?.contains("b3RoZXI="));
    lab.apply(&[wanted("2")]).await?;
    assert_eq!(api.get(&["secret", "a"])?["data"]["password"], "aHVudGVyMg==");
    let state = lab.state().await?.map(|state| state.snapshot.to_bytes()).transpose()?.unwrap_or_default();
    assert!(hidden(&String::from_utf8(state)?));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_another_cluster_is_refused() -> Result<()> {
    let api = Api::start(false)?;
    let config = object(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}),
    );
    Lab::new(&api, "one").apply(std::slice::from_ref(&config)).await?;
    let plan = Lab::new(&api, "two").plan(&[config]).await?;
    assert!(plan.findings[0].message.contains("of cluster one"), "{:?}", plan.findings);
    Ok(())
}
