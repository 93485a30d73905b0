//! The authorities that API servers publish for aggregated APIs.

use serde_json::Value as Json;
use slipway_bootstrap::pki::Certificate;
use slipway_resource::ProviderError;

use crate::api_server::ApiServer;

/// Every API server adds its own authorities to this object (`cluster_authentication_trust_controller` of kube-apiserver), and
/// removes only those that have expired.
const OBJECT: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

/// The line with which a certificate begins.
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";

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
    let there = Published::all(&text);
    if let Some(why) = missing(&there, authorities, key) {
        return Ok(Some(why));
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

/// A published certificate.
struct Published {
    pem: String,
    /// The certificate, if it can be read. The object is open to others, who may have written anything there.
    certificate: Option<Certificate>,
}

impl Published {
    /// The certificates of a text.
    fn all(text: &str) -> Vec<Self> {
        let published = text.split(BEGIN).skip(1).map(|rest| {
            let pem = format!("{BEGIN}{}\n", rest.trim_end());
            let certificate = Certificate::from_pem(&pem).ok();
            Self { pem, certificate }
        });
        published.collect()
    }
}

/// The authority that is not published yet, as a sentence. API servers publish nothing beside a certificate that they cannot read.
fn missing(there: &[Published], authorities: &[Certificate], key: &str) -> Option<String> {
    let is_there = |authority: &Certificate| {
        there.iter().any(|published| published.certificate.as_ref() == Some(authority))
    };
    let missing = authorities.iter().find(|authority| !is_there(authority))?;
    let name = &missing.subject().common_name;
    let malformed = there.iter().position(|published| published.certificate.is_none());
    Some(match malformed {
        None => format!("waits until an API server publishes the authority {name} for aggregated APIs"),
        Some(index) => format!(
            "the authority {name} is not published for aggregated APIs: certificate {} of {} under {key} in the ConfigMap \
             kube-system/extension-apiserver-authentication cannot be read, so API servers do not change it. Remove that certificate \
             with `kubectl --namespace kube-system edit configmap extension-apiserver-authentication`",
            index + 1,
            there.len()
        ),
    })
}

fn pointer(key: &str) -> String {
    format!("/data/{key}")
}

/// The published authorities without the former ones, as PEM; `None` when there are none of these.
fn without_former(there: &[Published], authorities: &[Certificate], former: &[String]) -> Option<String> {
    let is_former = |published: &&Published| {
        published.certificate.as_ref().is_some_and(|certificate| {
            former.contains(&certificate.subject().common_name) && !authorities.contains(certificate)
        })
    };
    if !there.iter().any(|published| is_former(&published)) {
        return None;
    }
    Some(
        there
            .iter()
            .filter(|published| !is_former(published))
            .map(|published| published.pem.as_str())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::authority;
    use super::*;

    const KEY: &str = "requestheader-client-ca-file";

    /// A block whose content is no certificate.
    const MALFORMED: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

    fn published(authorities: &[&Certificate]) -> Vec<Published> {
        Published::all(&authorities.iter().map(|authority| authority.to_pem()).collect::<String>())
    }

    #[test]
    fn only_former_authorities_are_removed() {
        let [old, new, foreign] = ["front-proxy-ca", "front-proxy-ca-2", "of somebody else"].map(authority);
        let former = ["front-proxy-ca".to_owned()];
        let there = published(&[&old, &new, &foreign]);
        let kept = without_former(&there, std::slice::from_ref(&new), &former).unwrap();
        assert_eq!(Certificate::chain_from_pem(&kept).unwrap(), [new.clone(), foreign.clone()]);
        let without = published(&[&new, &foreign]);
        assert_eq!(without_former(&without, std::slice::from_ref(&new), &former), None);
        assert_eq!(without_former(&there, &[old, new], &former), None, "both are accepted");
    }

    #[test]
    fn a_malformed_certificate_is_kept_and_named_where_it_is_in_the_way() {
        let [old, new] = ["front-proxy-ca", "front-proxy-ca-2"].map(authority);
        let former = ["front-proxy-ca".to_owned()];
        let there = Published::all(&format!("{}{MALFORMED}{}", old.to_pem(), new.to_pem()));
        assert_eq!(missing(&there, std::slice::from_ref(&new), KEY), None);
        let kept = without_former(&there, std::slice::from_ref(&new), &former).unwrap();
        assert_eq!(kept, format!("{MALFORMED}{}", new.to_pem()));

        let there = Published::all(&format!("{}{MALFORMED}", old.to_pem()));
        let why = missing(&there, std::slice::from_ref(&new), KEY).unwrap();
        for part in
            ["front-proxy-ca-2 is not published", "certificate 2 of 2 under requestheader", "`kubectl "]
        {
            assert!(why.contains(part), "{why}");
        }
        let why = missing(&published(&[&old]), &[new], KEY).unwrap();
        assert!(why.starts_with("waits until"), "{why}");
    }
}
