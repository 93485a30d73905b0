//! The controller beside kube-controller-manager, each with an API server of its own and the same objects.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "what fails in a test ends it")]

mod lab;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value as Json, json};
use slipway_testkit::wait::until;

use lab::{Lab, Side, manifest};

/// How long the token `soon00` is valid.
const SOON: SignedDuration = SignedDuration::from_secs(10);

#[test]
fn it_does_what_kube_controller_manager_does() {
    let lab = Lab::start();
    assert!(lab.install().lines().all(|line| line.ends_with(" unchanged")), "the manifest is applied again");
    let objects = objects(Timestamp::now() + SOON);
    for side in lab.sides() {
        side.apply(&objects);
    }
    let signed = |side: &Side| {
        until("the tokens sign, and those that are over are gone", || {
            let (data, tokens) = (side.cluster_info(), side.tokens());
            let is_done = data.get("jws-kubeconfig-steady").is_some()
                && data.get("jws-kubeconfig-gone00").is_none()
                && data.get("jws-kubeconfig-soon00").is_none()
                && !["over00", "broken", "soon00"]
                    .iter()
                    .any(|id| tokens.contains(&format!("bootstrap-token-{id}")));
            Ok(is_done.then_some((data, tokens)))
        })
        .unwrap()
    };
    let [witness, ours] = lab.sides().map(signed);
    assert_eq!(ours, witness);
    assert_eq!(ours.0["other"], "kept");

    // A changed kubeconfig is signed anew, and a token that is given an end in the past ends.
    let changes = json!([
        cluster_info(json!({"kubeconfig": "another kubeconfig"})),
        secret("steady", json!({"usage-bootstrap-signing": "true", "expiration": "2026-01-01T00:00:00Z"})),
        secret("second", json!({"usage-bootstrap-signing": "true"})),
    ]);
    let changed = |side: &Side| {
        let before = side.cluster_info()["jws-kubeconfig-silent"].clone();
        assert_eq!(before, Json::Null);
        side.apply(&changes);
        until("the change is followed", || {
            let (data, tokens) = (side.cluster_info(), side.tokens());
            let is_done = data.get("jws-kubeconfig-second").is_some()
                && data["kubeconfig"] == "another kubeconfig"
                && data.get("jws-kubeconfig-steady").is_none()
                && !tokens.contains("bootstrap-token-steady");
            Ok(is_done.then_some((data, tokens)))
        })
        .unwrap()
    };
    let [witness, ours] = lab.sides().map(changed);
    assert_eq!(ours, witness);

    lab.controller().unwrap();
    let rights = lab.rights();
    assert_eq!(rights.unused(&manifest()), BTreeSet::new(), "rights that nothing needs");
    assert_eq!(rights.refused, BTreeSet::new());
}

/// `cluster-info` with further data.
fn cluster_info(more: Json) -> Json {
    let mut data = json!({"kubeconfig": "a kubeconfig", "other": "kept"});
    for (key, value) in more.as_object().unwrap() {
        data[key] = value.clone();
    }
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster-info", "namespace": "kube-public"},
        "data": data,
    })
}

/// The Secret of a token with further fields.
fn secret(id: &str, more: Json) -> Json {
    let mut fields = json!({"token-id": id, "token-secret": "0123456789abcdef"});
    for (key, value) in more.as_object().unwrap() {
        fields[key] = value.clone();
    }
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": format!("bootstrap-token-{id}"), "namespace": "kube-system"},
        "stringData": fields,
    })
}

fn objects(soon: Timestamp) -> Json {
    let signing = |more: Json| {
        let mut fields = json!({"usage-bootstrap-signing": "true"});
        for (key, value) in more.as_object().unwrap() {
            fields[key] = value.clone();
        }
        fields
    };
    let mut misnamed = secret("named0", signing(json!({})));
    misnamed["metadata"]["name"] = "bootstrap-token-other0".into();
    let mut untyped = secret("opaque", signing(json!({})));
    untyped["type"] = "Opaque".into();
    json!([
        cluster_info(json!({"jws-kubeconfig-gone00": "a signature of a token that is gone"})),
        secret("steady", signing(json!({}))),
        secret("silent", json!({"usage-bootstrap-authentication": "true"})),
        secret("denied", signing(json!({"usage-bootstrap-signing": "false"}))),
        secret("over00", signing(json!({"expiration": "2026-01-01T00:00:00Z"}))),
        secret("broken", signing(json!({"expiration": "tomorrow"}))),
        secret("soon00", signing(json!({"expiration": soon.to_string()}))),
        misnamed,
        untyped,
    ])
}
