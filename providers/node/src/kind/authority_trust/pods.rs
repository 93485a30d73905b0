//! The authorities that the cluster gives to pods.

use serde_json::Value as Json;
use slipway_bootstrap::pki::Certificate;
use slipway_resource::ProviderError;

use crate::api_server::ApiServer;

/// A controller manager writes the file of `--root-ca-file` into this object of every namespace
/// (`root_ca_cert_publisher` of kube-controller-manager). Kubelets write it into the volumes of pods.
const OBJECTS: &str = "/api/v1/configmaps?fieldSelector=metadata.name%3Dkube-root-ca.crt";

const KEY: &str = "ca.crt";

/// What is left to wait for, as a sentence; `None` when every namespace has the authorities and no others.
pub(super) async fn remaining(
    api: &ApiServer,
    authorities: &[Certificate],
) -> Result<Option<String>, ProviderError> {
    let list = api.get(OBJECTS).await?.unwrap_or_default();
    Ok(differs(&list, authorities))
}

/// The first object with other authorities, as a sentence; `None` when there is none.
fn differs(list: &Json, authorities: &[Certificate]) -> Option<String> {
    let objects = list.get("items").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    if objects.is_empty() {
        return Some("waits until a controller manager publishes the authorities to pods".to_owned());
    }
    let namespace = |object: &Json| {
        let name = object.pointer("/metadata/namespace").and_then(Json::as_str);
        name.unwrap_or_default().to_owned()
    };
    let other = objects.iter().find(|object| !has(object, authorities)).map(namespace)?;
    Some(format!(
        "waits until a controller manager publishes the authorities to pods of the namespace {other}"
    ))
}

fn has(object: &Json, authorities: &[Certificate]) -> bool {
    let text = object.get("data").and_then(|data| data.get(KEY)).and_then(Json::as_str).unwrap_or_default();
    let there = Certificate::chain_from_pem(text).unwrap_or_default();
    there.len() == authorities.len() && authorities.iter().all(|authority| there.contains(authority))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::authority;
    use super::*;

    #[test]
    fn every_namespace_has_all_authorities_and_no_others() {
        let [old, new] = ["kubernetes", "kubernetes-ca-2"].map(authority);
        let object = |namespace: &str, authorities: &[&Certificate]| {
            let text: String = authorities.iter().map(|authority| authority.to_pem()).collect();
            json!({"metadata": {"namespace": namespace}, "data": {KEY: text}})
        };
        let list =
            |second: &[&Certificate]| json!({"items": [object("a", &[&old, &new]), object("b", second)]});
        let both = [new.clone(), old.clone()];
        assert_eq!(differs(&list(&[&new, &old]), &both), None);
        assert!(differs(&list(&[&old]), &both).unwrap().ends_with("namespace b"));
        assert!(differs(&list(&[&new, &old]), &both[..1]).unwrap().ends_with("namespace a"));
        assert!(differs(&json!({}), &both).is_some());
    }
}
