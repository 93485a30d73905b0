//! The authorities that API servers publish for aggregated APIs.

use serde_json::Value as Json;
use slipway_bootstrap::pki::Certificate;
use slipway_resource::ProviderError;

use crate::api_server::ApiServer;

/// Every API server adds its own authorities to this object (`cluster_authentication_trust_controller` of kube-apiserver), and
/// removes only those that have expired.
const OBJECT: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

/// What is left to wait for, as a sentence; `None` when the authorities are published and the former ones are not. With
/// `publishes`, former authorities are removed.
pub(super) async fn remaining(
    api: &ApiServer,
    key: &str,
    authorities: &[Certificate],
    former: &[String],
    publishes: bool,
) -> Result<Option<String>, ProviderError> {
    let Some(mut object) = api.get(OBJECT).await? else {
        return Ok(Some("no API server has published its authorities yet".to_owned()));
    };
    let text = object.pointer(&pointer(key)).and_then(Json::as_str).unwrap_or_default().to_owned();
    let there = Certificate::chain_from_pem(&text).unwrap_or_default();
    if let Some(missing) = authorities.iter().find(|authority| !there.contains(authority)) {
        let name = &missing.subject().common_name;
        return Ok(Some(format!(
            "waits until an API server publishes the authority {name} for aggregated APIs"
        )));
    }
    let Some(kept) = without_former(&there, authorities, former) else { return Ok(None) };
    let why = Some(format!("former authorities are published for aggregated APIs under {key}"));
    if publishes && let Some(value) = object.pointer_mut(&pointer(key)) {
        *value = Json::String(kept);
        // The next look shows whether an API server has put them back.
        api.put(OBJECT, &object).await?;
    }
    Ok(why)
}

fn pointer(key: &str) -> String {
    format!("/data/{key}")
}

/// The published authorities without the former ones, as PEM; `None` when there are none of these.
fn without_former(there: &[Certificate], authorities: &[Certificate], former: &[String]) -> Option<String> {
    let is_former = |certificate: &&Certificate| {
        former.contains(&certificate.subject().common_name) && !authorities.contains(certificate)
    };
    if !there.iter().any(|certificate| is_former(&certificate)) {
        return None;
    }
    Some(there.iter().filter(|certificate| !is_former(certificate)).map(Certificate::to_pem).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::authority;
    use super::*;

    #[test]
    fn only_former_authorities_are_removed() {
        let [old, new, foreign] = ["front-proxy-ca", "front-proxy-ca-2", "of somebody else"].map(authority);
        let former = ["front-proxy-ca".to_owned()];
        let there = [old.clone(), new.clone(), foreign.clone()];
        let kept = without_former(&there, std::slice::from_ref(&new), &former).unwrap();
        assert_eq!(Certificate::chain_from_pem(&kept).unwrap(), [new.clone(), foreign.clone()]);
        assert_eq!(without_former(&[new.clone(), foreign], std::slice::from_ref(&new), &former), None);
        assert_eq!(without_former(&there, &[old, new], &former), None, "both are accepted");
    }
}
