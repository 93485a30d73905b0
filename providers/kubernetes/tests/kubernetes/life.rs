//! The life of objects, from the first apply to the last delete.

use anyhow::{Context as _, Result};
use serde_json::json;
use slipway_plan::ChangeAction;
use slipway_resource::provider::{Action, ApplyRequest, EventSink};
use slipway_resource::{Address, ClusterUid, ErrorClass, Ownership, Token};

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

    // A field of another manager is left alone.
    api.kubectl(&["patch", "configmap", "a", "--type=merge", "-p", r#"{"data": {"other": "o"}}"#])?;
    assert!(lab.plan(&[config(json!({"x": "3"}))]).await?.changes.is_empty());

    // Drift of a field of Slipway is shown with the manager that changed it, and corrected.
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
    let mut reasons = plan.drift[0].reasons.iter();
    assert!(reasons.any(|reason| reason.message.contains("somebody last wrote at 20")), "{:?}", plan.drift);
    lab.apply(&[config(json!({"x": "3"}))]).await?;
    assert_eq!(api.get(&["configmap", "a"])?["data"], json!({"x": "3", "other": "o"}));

    // Objects removed from the spec are deleted by the plan.
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
    // An object that its definition does not allow is refused before the first step.
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

#[tokio::test(flavor = "multi_thread")]
async fn what_holds_a_deletion_up_is_named() -> Result<()> {
    let api = Api::start(false)?;
    let lab = Lab::new(&api, "demo");
    lab.apply(&[config(json!({"x": "1"}))]).await?;
    api.kubectl(&[
        "patch",
        "configmap",
        "a",
        "--type=merge",
        "-p",
        r#"{"metadata": {"finalizers": ["example.com/hold"]}}"#,
    ])?;

    let providers = lab.providers().await?;
    let session = &providers.get("kubernetes").context("the provider")?.session;
    let identity = lab
        .state()
        .await?
        .context("a state")?
        .snapshot
        .resources
        .into_values()
        .next()
        .context("a record")?
        .identity;
    let request = |timeout_ms: u64| ApplyRequest {
        token: Token::new("t"),
        ownership: Ownership {
            uid: ClusterUid::new("u"),
            cluster: "demo".to_owned(),
            address: Address::new("kubernetes_object", "ConfigMap/default/a"),
        },
        action: Action::Delete { identity: identity.clone() },
        timeout_ms,
    };
    let held = session.apply(request(1_000), EventSink::discard()).await.unwrap_err();
    let ErrorClass::Dependency { blockers } = &held.class else { panic!("{held:?}") };
    assert_eq!(*blockers, ["finalizer example.com/hold"]);

    // A delete never affects another object of the same name.
    api.kubectl(&["patch", "configmap", "a", "--type=merge", "-p", r#"{"metadata": {"finalizers": null}}"#])?;
    api.kubectl(&["create", "configmap", "a"])?;
    session.apply(request(1_000), EventSink::discard()).await?;
    api.get(&["configmap", "a"])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_waited_for_until_it_is_ready() -> Result<()> {
    let api = Api::start(true)?;
    let lab = Lab::new(&api, "demo");
    let deployment = object(
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]}}}}),
    );
    lab.apply(&[deployment]).await?;
    // Its controller had seen it when the apply came to its end.
    assert_eq!(api.get(&["deployment", "web"])?["status"]["observedGeneration"], 1);
    Ok(())
}

/// The files of add-ons that users know, as they are.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_manifests_is_applied_in_its_order() -> Result<()> {
    let api = Api::start(false)?;
    let lab = Lab::new(&api, "demo");
    let text = "
apiVersion: v1
kind: List
items:
- {apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r, namespace: shop},
   roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: s, namespace: shop}]}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: shop}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: shop}, rules: []}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
";
    let plan = lab.apply(&slipway_provider_kubernetes::files::read("addon.yaml", text)?).await?;
    assert_eq!(plan.changes.len(), 6);
    assert_eq!(api.get(&["widgets", "-n", "shop"])?["items"].as_array().map(Vec::len), Some(1));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_to_be_changed_at_once_is_updated_in_turn() -> Result<()> {
    let api = Api::start(false)?;
    let lab = Lab::new(&api, "demo");
    let named = |name: &str, value: &str, after: &[&str]| {
        let mut desired = object(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"x": value}}),
        );
        let address = |name: &&str| Address::new("kubernetes_object", format!("ConfigMap/default/{name}"));
        desired.lifecycle.update_after = after.iter().map(address).collect();
        desired
    };
    let all =
        |value: &str| [named("a", value, &["b", "c"]), named("b", value, &[]), named("c", value, &["b"])];
    let order = |plan: &slipway_plan::Plan| -> Vec<(String, usize)> {
        plan.steps.iter().map(|step| (step.address.name().to_owned(), step.depends_on.len())).collect()
    };
    // The objects are created at the same time.
    let made = lab.apply(&all("1")).await?;
    assert!(order(&made).iter().all(|(_, earlier)| *earlier == 0), "{:?}", order(&made));
    let changed = lab.apply(&all("2")).await?;
    let expected =
        [("b", 0), ("c", 1), ("a", 2)].map(|(name, count)| (format!("ConfigMap/default/{name}"), count));
    assert_eq!(order(&changed), expected);
    // An object that does not change is not waited for.
    let some =
        lab.plan(&[named("a", "3", &["b", "c"]), named("b", "2", &[]), named("c", "3", &["b"])]).await?;
    assert_eq!(order(&some), [(expected[1].0.clone(), 0), (expected[2].0.clone(), 1)]);
    Ok(())
}
