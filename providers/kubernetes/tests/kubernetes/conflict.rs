//! Fields that several managers want.

use anyhow::Result;
use serde_json::{Value as Json, json};
use slipway_plan::{ChangeAction, Mode};
use slipway_resource::{Desired, ErrorClass};

use crate::lab::{Api, Lab, object, shown, with};

fn config(data: Json) -> Desired {
    object(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": data}),
    )
}

fn applied(manager: &str, api: &Api, data: Json, more: &[&str]) -> Result<String> {
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": data});
    let manager = format!("--field-manager={manager}");
    let arguments = [&["apply", "--server-side", "-f", "-", manager.as_str()], more].concat();
    api.kubectl_with(&arguments, &manifest.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_applier_has_is_a_conflict_with_its_name() -> Result<()> {
    let api = Api::start(false)?;
    let lab = Lab::new(&api, "demo");
    lab.apply(&[config(json!({"x": "1"}))]).await?;

    // Another applier takes a field, which is a finding for the user.
    applied("flux", &api, json!({"x": "2"}), &["--force-conflicts"])?;
    let plan = lab.plan(&[config(json!({"x": "1"}))]).await?;
    let finding = &plan.findings[0];
    assert_eq!(finding.class, ErrorClass::Conflict);
    assert!(finding.message.contains(".data.x is held by flux"), "{}", finding.message);
    assert!(finding.hint.as_ref().is_some_and(|hint| hint.contains("force_conflicts")));
    let text = shown(&plan);
    assert!(text.contains("flux") && text.contains('1') && text.contains('2'), "{text}");

    // A run that applies all the same gets the error from the step, and takes no field.
    let (_, report) = lab.run(&[config(json!({"x": "1"}))], Mode::Apply).await?;
    assert_eq!(report.failures.len(), 1);
    assert!(format!("{:?}", report.failures).contains("held by flux"));
    assert_eq!(api.get(&["configmap", "a"])?["data"]["x"], "2");

    // With `force_conflicts`, the field is taken, and the next apply of the other manager fails.
    let forced = with(config(json!({"x": "1"})), "force_conflicts", true);
    let plan = lab.apply(&[forced]).await?;
    assert!(shown(&plan).contains("is held by flux: it is taken back"), "{}", shown(&plan));
    assert_eq!(api.get(&["configmap", "a"])?["data"]["x"], "1");
    assert!(applied("flux", &api, json!({"x": "2"}), &[]).is_err());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_somebody_else_is_taken_over_and_given_back() -> Result<()> {
    let api = Api::start(false)?;
    let lab = Lab::new(&api, "demo");
    applied("argo", &api, json!({"x": "1", "y": "1"}), &[])?;

    // Another value for a field that argo owns is a conflict.
    let plan = lab.plan(&[config(json!({"y": "2"}))]).await?;
    assert!(
        plan.findings.iter().any(|finding| finding.message.contains(".data.y is held by argo")),
        "{:?}",
        plan.findings
    );

    let plan = lab.apply(&[config(json!({"y": "1", "z": "1"}))]).await?;
    assert_eq!(plan.changes[0].action, ChangeAction::Create);
    assert!(shown(&plan).contains("it exists already, written by argo"), "{}", shown(&plan));
    assert_eq!(api.get(&["configmap", "a"])?["data"], json!({"x": "1", "y": "1", "z": "1"}));

    // Slipway did not create the object, so it stays; the fields that Slipway added are removed.
    lab.apply(&[]).await?;
    let left = api.get(&["configmap", "a"])?;
    assert_eq!(left["data"], json!({"x": "1", "y": "1"}));
    assert!(
        left["metadata"].get("labels").is_none() && left["metadata"].get("annotations").is_none(),
        "{left}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_changed_in_place_is_replaced() -> Result<()> {
    let api = Api::start(false)?;
    let lab = Lab::new(&api, "demo");
    let deployment = |app: &str, image: &str| {
        let labels = json!({"app": app});
        let manifest = object(
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": image, "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}}}]}}}}),
        );
        with(manifest, "wait", "none")
    };
    lab.apply(&[deployment("a", "web:1")]).await?;
    let before = api.get(&["deployment", "web"])?["metadata"]["uid"].clone();

    // Quantities that the server writes in another way are no change; an image is one in place.
    let plan = lab.apply(&[deployment("a", "web:2")]).await?;
    assert_eq!(plan.changes[0].action, ChangeAction::Update);
    assert_eq!(plan.changes[0].changes.len(), 1, "{}", shown(&plan));
    assert_eq!(
        plan.changes[0].changes[0].path.to_string(),
        "manifest.spec.template.spec.containers[0].image"
    );
    assert_eq!(api.get(&["deployment", "web"])?["metadata"]["uid"], before);

    let plan = lab.apply(&[deployment("b", "web:2")]).await?;
    assert!(plan.changes[0].action.is_replace(), "{}", shown(&plan));
    let reasons = &plan.changes[0].reasons;
    assert!(reasons.iter().any(|reason| reason.message.contains("field is immutable")), "{reasons:?}");
    assert_ne!(api.get(&["deployment", "web"])?["metadata"]["uid"], before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_was_made_anew_by_somebody_is_not_the_same() -> Result<()> {
    let api = Api::start(false)?;
    let mut lab = Lab::new(&api, "demo");
    let wanted = [config(json!({"x": "1"}))];
    lab.apply(&wanted).await?;

    // A lost state is found again by the set.
    lab.lose_state();
    let plan = lab.apply(&wanted).await?;
    assert_eq!(plan.changes[0].action, ChangeAction::Adopt);

    api.kubectl(&["delete", "configmap", "a"])?;
    api.kubectl(&["create", "configmap", "a", "--from-literal=x=7"])?;
    let plan = lab.apply(&wanted).await?;
    assert_eq!(plan.changes[0].action, ChangeAction::Create, "{}", shown(&plan));
    assert_eq!(api.get(&["configmap", "a"])?["data"]["x"], "1");
    Ok(())
}
