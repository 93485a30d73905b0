//! Signatures of `cluster-info`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use slipway_bootstrap::discovery::{KUBECONFIG, SIGNATURE_PREFIX, signatures};
use slipway_bootstrap::token::Stored;
use slipway_controller::k8s_openapi::api::core::v1::Secret;

/// The data of `cluster-info` with one signature for each token that signs now, and no other signature. `None` if nothing
/// changes, or if there is no kubeconfig to sign.
#[must_use]
pub fn signed(
    data: &BTreeMap<String, String>,
    tokens: &[Stored],
    now: Timestamp,
) -> Option<BTreeMap<String, String>> {
    let kubeconfig = data.get(KUBECONFIG)?;
    let others = data.iter().filter(|(key, _)| !key.starts_with(SIGNATURE_PREFIX));
    let mut wanted: BTreeMap<String, String> =
        others.map(|(key, value)| (key.clone(), value.clone())).collect();
    wanted.extend(signatures(kubeconfig, tokens, now));
    (wanted != *data).then_some(wanted)
}

/// The token of a Secret; `None` if the Secret makes no token valid.
#[must_use]
pub fn token(secret: &Secret) -> Option<Stored> {
    let name = secret.metadata.name.as_deref()?;
    let fields: BTreeMap<String, Vec<u8>> =
        secret.data.iter().flatten().map(|(key, value)| (key.clone(), value.0.clone())).collect();
    match Stored::from_secret(name, secret.type_.as_deref().unwrap_or_default(), &fields) {
        Ok(stored) => Some(stored),
        Err(error) => {
            tracing::debug!(%error, "a Secret signs nothing");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret(id: &str, more: serde_json::Value) -> Secret {
        let mut object = json!({
            "metadata": {"name": format!("bootstrap-token-{id}")}, "type": "bootstrap.kubernetes.io/token",
        });
        let mut data = json!({"token-id": id, "token-secret": "0123456789abcdef"});
        for (key, value) in more.as_object().unwrap() {
            data[key] = value.clone();
        }
        let encoded = data.as_object().unwrap().iter().map(|(key, value)| {
            let text = value.as_str().unwrap().as_bytes().to_vec();
            (key.clone(), serde_json::to_value(slipway_controller::k8s_openapi::ByteString(text)).unwrap())
        });
        object["data"] = encoded.collect::<serde_json::Map<_, _>>().into();
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn only_tokens_that_may_sign_do() {
        let signing = json!({"usage-bootstrap-signing": "true"});
        let over = json!({"usage-bootstrap-signing": "true", "expiration": "2026-01-01T00:00:00Z"});
        let tokens: Vec<Stored> = [
            secret("aaaaaa", signing),
            secret("bbbbbb", json!({"usage-bootstrap-authentication": "true"})),
            secret("cccccc", over),
        ]
        .iter()
        .filter_map(token)
        .collect();
        assert_eq!(tokens.len(), 3);
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let text = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let data = text(&[("kubeconfig", "k"), ("jws-kubeconfig-bbbbbb", "forged"), ("other", "kept")]);
        let wanted = signed(&data, &tokens, now).unwrap();
        let keys: Vec<&str> = wanted.keys().map(String::as_str).collect();
        assert_eq!(keys, ["jws-kubeconfig-aaaaaa", "kubeconfig", "other"]);
        assert_eq!(signed(&wanted, &tokens, now), None);
        assert_eq!(signed(&text(&[("other", "kept")]), &tokens, now), None);
        assert!(token(&secret("short", json!({}))).is_none());
    }
}
