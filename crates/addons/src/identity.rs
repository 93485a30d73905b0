//! Roles of service accounts in pods: the token that proves to the cloud which account a pod has.

use serde_json::{Value, json};

/// The folder of the token in containers.
const FOLDER: &str = "/var/run/secrets/amazonaws.com/";
/// The audience for which the cloud accepts tokens.
const AUDIENCE: &str = "amazonaws.com";
/// How long a token is good for, in seconds; the kubelet renews it before.
const VALIDITY: u32 = 86_400;
/// The group that may read the token.
const GROUP: u32 = 10_001;
const VOLUME: &str = "token-amazonaws-com";

/// Gives the pods of an object the role of their service account, where that has one.
pub(crate) fn assume_role(object: &mut Value, role: impl Fn(&str) -> Option<String>) {
    let Some(pod) = object.pointer_mut("/spec/template/spec") else { return };
    let account = pod.get("serviceAccountName").and_then(Value::as_str).unwrap_or_default();
    let Some(arn) = role(account) else { return };
    if pod.pointer("/securityContext/fsGroup").is_none() {
        pod["securityContext"]["fsGroup"] = GROUP.into();
    }
    push(
        pod,
        "volumes",
        json!({
            "name": VOLUME,
            "projected": {"defaultMode": 0o644, "sources": [{"serviceAccountToken": {
                "audience": AUDIENCE, "expirationSeconds": VALIDITY, "path": "token",
            }}]},
        }),
    );
    let Some(containers) = pod.get_mut("containers").and_then(Value::as_array_mut) else { return };
    for container in containers {
        push(container, "env", json!({"name": "AWS_ROLE_ARN", "value": arn}));
        push(
            container,
            "env",
            json!({"name": "AWS_WEB_IDENTITY_TOKEN_FILE", "value": format!("{FOLDER}token")}),
        );
        push(container, "volumeMounts", json!({"name": VOLUME, "mountPath": FOLDER, "readOnly": true}));
    }
}

/// Adds an item to a list, which is made when it is not there.
fn push(object: &mut Value, list: &str, item: Value) {
    match object.get_mut(list).and_then(Value::as_array_mut) {
        Some(items) => items.push(item),
        None => object[list] = json!([item]),
    }
}
