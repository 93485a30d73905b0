//! The life of objects, from the first apply to the last delete.

use anyhow::Result;
use serde_json::json;
use slipway_plan::ChangeAction;

use crate::lab::{Api, Lab, behind, object, shown, with};

fn config(data: serde_json::Value) -> slipway_resource::Desired {
    object(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": data}),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_made_changed_mended_and_deleted() -> Result<()> {
    let api = Api::start(false)?;
    let lab = Lab::new(&api, "demo");

    let plan = lab.apply(&[config(json!({"x": "1", "y": "2"}))]).await?;
    assert_eq!(plan.changes[0].action, ChangeAction::Create);
    let live = api.get(&["configmap", "a"])?;
    assert_eq!(live["data"], json!({"x": "1", "y": "2"}));
    assert_eq!(
        live["metadata"]["annotations"]["slipway.dev/address"],
        "kubernetes_object.ConfigMap/default/a"
    );

    // A changed and a removed field.
    let plan = lab.apply(&[config(json!({"x": "3"}))]).await?;
    let text = shown(&plan);
    assert!(text.contains("manifest.data.x") && text.contains("manifest.data.y"), "{text}");
    assert_eq!(api.get(&["configmap", "a"])?["data"], json!({"x": "3"}));

    // Another field of somebody else is left alone.
    api.kubectl(&["patch", "configmap", "a", "--type=merge", "-p", r#"{"data": {"other": "o"}}"#])?;
    assert!(lab.plan(&[config(json!({"x": "3"}))]).await?.changes.is_empty());

    // A field of ours that somebody else changed is shown with who did it, and mended.
    api.kubectl(&[
        "patch",
        "configmap",
        "a",
        "--type=merge",
        "--field-manager=somebody",
        "-p",
        r#"{"data": {"x": "9"}}"#,
    ])?;
    let plan = lab.plan(&[config(json!({"x": "3"}))]).await?;
    let text = shown(&plan);
    assert!(text.contains("somebody") && text.contains('9') && text.contains('3'), "{text}");
    assert_eq!(plan.drift.len(), 1);
    lab.apply(&[config(json!({"x": "3"}))]).await?;
    assert_eq!(api.get(&["configmap", "a"])?["data"], json!({"x": "3", "other": "o"}));

    // What leaves the spec is deleted, through the plan.
    let plan = lab.apply(&[]).await?;
    assert_eq!(plan.changes[0].action, ChangeAction::Delete);
    let left = api.get(&["configmaps", "-A", "-l", "applyset.kubernetes.io/part-of"])?;
    assert_eq!(left["items"], json!([]));
    let parents = api.get(&["configmaps", "-A", "-l", "applyset.kubernetes.io/id"])?;
    assert_eq!(parents["items"], json!([]), "the parent goes with the last member");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_objects_stand_on_comes_first_and_is_in_the_same_plan() -> Result<()> {
    let api = Api::start(true)?;
    let lab = Lab::new(&api, "demo");
    let namespace = object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
    let definition = object(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}}}]}}));
    let widget = |size: i64| {
        let widget = object(json!({"apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"name": "w", "namespace": "shop"}, "spec": {"size": size}}));
        behind(behind(widget, &namespace), &definition)
    };
    let all = |size: i64| vec![namespace.clone(), definition.clone(), widget(size)];
    let plan = lab.plan(&all(1)).await?;
    let text = shown(&plan);
    assert!(text.contains("does not serve Widget.example.com yet"), "{text}");
    lab.apply(&all(1)).await?;
    assert_eq!(api.get(&["widgets", "-n", "shop", "w"])?["spec"]["size"], 1);
    lab.apply(&all(2)).await?;
    // What its namespace does not allow is refused before anything is done.
    let wrong = with(
        widget(2),
        "manifest",
        slipway_resource::Value::from_json(&json!({"apiVersion": "example.com/v1",
        "kind": "Widget", "metadata": {"name": "w", "namespace": "shop"}, "spec": {"sise": 2}})),
    );
    let plan = lab.plan(&[namespace.clone(), definition.clone(), wrong]).await?;
    assert!(plan.findings.iter().any(|finding| finding.message.contains("sise")), "{:?}", plan.findings);
    lab.delete().await?;
    assert_eq!(api.get(&["crds"])?["items"], json!([]));
    Ok(())
}
