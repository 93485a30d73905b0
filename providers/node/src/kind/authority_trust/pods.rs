//! The authorities that the cluster gives to pods.

use serde_json::Value as Json;
use slipway_bootstrap::pki::Certificate;
use slipway_resource::ProviderError;

use crate::api_server::ApiServer;

/// A controller manager writes the file of `--root-ca-file` into this object of every namespace
/// (`root_ca_cert_publisher` of kube-controller-manager). Kubelets write it into the volumes of pods.
const OBJECTS: &str = "/api/v1/configmaps?fieldSelector=metadata.name%3Dkube-root-ca.crt&limit=500";

const KEY: &str = "ca.crt";

/// What is left to wait for, as a sentence; `None` when every namespace has the authorities and no others.
pub(super) async fn remaining(
    api: &ApiServer,
    authorities: &[Certificate],
) -> Result<Option<String>, ProviderError> {
    let (mut from, mut is_first) = (None::<String>, true);
    loop {
        let list = api.get(&page(from.as_deref())).await?.unwrap_or_default();
        let why = differs(&list, authorities, std::mem::take(&mut is_first));
        from = next(&list);
        if why.is_some() || from.is_none() {
            return Ok(why);
        }
    }
}

/// A page of the objects, from the place at which the last one ended.
fn page(from: Option<&str>) -> String {
    from.map_or_else(|| OBJECTS.to_owned(), |from| format!("{OBJECTS}&continue={}", encoded(from)))
}

/// The place at which the next page begins; `None` after the last one.
fn next(list: &Json) -> Option<String> {
    let from = list.pointer("/metadata/continue").and_then(Json::as_str);
    from.filter(|from| !from.is_empty()).map(str::to_owned)
}

/// A text as the value in a query.
fn encoded(text: &str) -> String {
    let letter = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(letter).collect()
}

/// The first object of a page with other authorities, as a sentence; `None` when there is none. The first page is not empty.
fn differs(list: &Json, authorities: &[Certificate], is_first: bool) -> Option<String> {
    let objects = list.get("items").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    if objects.is_empty() && is_first {
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
        let differs = |list: &Json, wanted: &[Certificate]| differs(list, wanted, true);
        assert_eq!(differs(&list(&[&new, &old]), &both), None);
        assert!(differs(&list(&[&old]), &both).unwrap().ends_with("namespace b"));
        assert!(differs(&list(&[&new, &old]), &both[..1]).unwrap().ends_with("namespace a"));
        assert!(differs(&json!({}), &both).is_some());
        assert_eq!(super::differs(&json!({}), &both, false), None, "a last page may be empty");
    }

    #[test]
    fn objects_are_read_by_pages_whose_size_does_not_grow_with_the_cluster() {
        let list = |from: &str| json!({"metadata": {"continue": from}, "items": []});
        assert_eq!((next(&list("")), next(&json!({}))), (None, None));
        assert!(page(None).ends_with("&limit=500"));
        let from = next(&list("a+b/c=")).unwrap();
        assert!(page(Some(&from)).ends_with("&limit=500&continue=a%2Bb%2Fc%3D"), "{}", page(Some(&from)));
    }
}
