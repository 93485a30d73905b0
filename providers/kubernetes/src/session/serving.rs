//! Serving certificates of kubelets. Kubernetes approves none, so each request is checked against the facts
//! of its node.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value as Json, json};
use slipway_bootstrap::approval::{self, Requester, SERVING_SIGNER};
use slipway_bootstrap::pki::{AlternativeNames, Certificate, Request as SigningRequest};
use slipway_resource::{ProviderError, Value};

use super::KubernetesSession;
use crate::api::{Answer, Connection, Request};
use crate::object::text;

const COLLECTION: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// The decisions about the requests of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Approvals {
    /// The number of approved requests.
    pub approved: usize,
    /// The reasons for denials.
    pub denied: Vec<String>,
    /// The newest request; `None` when there is none.
    pub newest: Option<Newest>,
}

/// The newest request of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Newest {
    /// When it was made, as the API says it, and its name: two requests may be of one second.
    made: (String, String),
    /// The common name of the authority that has signed its certificate; `None` while it has none.
    signer: Option<String>,
}

/// How long a kubelet without a certificate may take to ask for one. It asks again every 15 minutes, so that there is a request
/// for as long as it has none.
const ASKS_WITHIN: Duration = Duration::from_secs(60);

impl Approvals {
    /// Whether the kubelet has a certificate of an authority, after a wait.
    ///
    /// The newest request counts: after a way back in a rotation, there may still be an older one that the same authority has
    /// signed. Kubernetes deletes a request an hour after it was signed, so a kubelet that asks for nothing has its certificate.
    pub(super) fn are_done(&self, authority: &str, waited: Duration) -> bool {
        match &self.newest {
            Some(newest) => newest.signer.as_deref() == Some(authority),
            None => waited >= ASKS_WITHIN,
        }
    }

    fn see(&mut self, request: &Json) {
        let part = |pointer: &str| text(request, pointer).unwrap_or_default().to_owned();
        let made = (part("/metadata/creationTimestamp"), part("/metadata/name"));
        if self.newest.as_ref().is_none_or(|newest| newest.made < made) {
            self.newest = Some(Newest { made, signer: signer(request) });
        }
    }
}

impl KubernetesSession {
    /// Approves the permitted requests of a node, and denies the others with a reason. Earlier decisions are
    /// not changed.
    ///
    /// # Errors
    /// As the API says.
    pub(super) async fn approve_serving(
        &self,
        connection: &Connection,
        node: &str,
        known: &[String],
    ) -> Result<Approvals, ProviderError> {
        let path =
            format!("{COLLECTION}?fieldSelector=spec.signerName%3D{}", SERVING_SIGNER.replace('/', "%2F"));
        let list = connection.ask(&Request::list(path)).await?.body()?;
        let mut approvals = Approvals::default();
        let user = format!("system:node:{node}");
        let requests = list.get("items").and_then(Json::as_array).into_iter().flatten();
        for request in requests.filter(|request| text(request, "/spec/username") == Some(user.as_str())) {
            approvals.see(request);
            match decided(request) {
                Some(true) => approvals.approved += 1,
                Some(false) => {}
                None => {
                    let verdict = verdict(request, node, known);
                    self.decide(connection, request, &verdict).await?;
                    match verdict {
                        Ok(()) => approvals.approved += 1,
                        Err(why) => approvals.denied.push(why),
                    }
                }
            }
        }
        Ok(approvals)
    }

    async fn decide(
        &self,
        connection: &Connection,
        request: &Json,
        verdict: &Result<(), String>,
    ) -> Result<(), ProviderError> {
        let (kind, reason, message) = match verdict {
            Ok(()) => ("Approved", "KnownNode", "the node is known to have these names and addresses"),
            Err(why) => ("Denied", "NotKnown", why.as_str()),
        };
        let patch = json!({"metadata": {"resourceVersion": text(request, "/metadata/resourceVersion")},
            "status": {"conditions": [{"type": kind, "status": "True", "reason": reason, "message": message}]}});
        let name = text(request, "/metadata/name").unwrap_or_default();
        match connection.send(&Request::merge(format!("{COLLECTION}/{name}/approval"), &patch)).await? {
            // Another client has decided, or the request is gone: the next round reads the requests again.
            Answer::Refused(refusal) if matches!(refusal.status, 404 | 409) => Ok(()),
            answer => answer.body().map(drop),
        }
    }
}

/// The common name of the authority that has signed the certificate for a request; `None` without a certificate.
fn signer(request: &Json) -> Option<String> {
    let pem = BASE64.decode(text(request, "/status/certificate")?).ok()?;
    let certificate = Certificate::from_pem(&String::from_utf8(pem).ok()?).ok()?;
    Some(certificate.issuer().common_name.clone())
}

/// Whether a request is approved (`true`) or denied; `None` when it is pending.
fn decided(request: &Json) -> Option<bool> {
    let conditions = request.pointer("/status/conditions").and_then(Json::as_array).into_iter().flatten();
    let kinds: Vec<&str> = conditions.filter_map(|condition| text(condition, "/type")).collect();
    if kinds.iter().any(|kind| matches!(*kind, "Denied" | "Failed")) {
        return Some(false);
    }
    kinds.contains(&"Approved").then_some(true)
}

/// Checks a request of a node; the error is the reason for the denial. Pure.
fn verdict(request: &Json, node: &str, known: &[String]) -> Result<(), String> {
    let list = |pointer: &str| -> Vec<String> {
        let items = request.pointer(pointer).and_then(Json::as_array).into_iter().flatten();
        items.filter_map(Json::as_str).map(str::to_owned).collect()
    };
    let pem = BASE64.decode(text(request, "/spec/request").unwrap_or_default());
    let pem = pem.ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let asked = SigningRequest::from_pem(&pem).map_err(|error| format!("it cannot be read: {error}"))?;
    let (usages, groups) = (list("/spec/usages"), list("/spec/groups"));
    let requester = Requester { user: text(request, "/spec/username").unwrap_or_default(), groups: &groups };
    let mut names = AlternativeNames::of(known);
    // A node has its own name.
    names.add(node);
    approval::serving(&asked, &usages, requester, &names).map(drop).map_err(|denial| denial.to_string())
}

/// The names and addresses of a desired node, or in the arguments of a gate; `None` when none are given.
pub(super) fn known(value: &Value) -> Option<Vec<String>> {
    let items = value.get("serving")?.as_list()?;
    Some(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
}

#[cfg(test)]
mod tests {
    use slipway_bootstrap::configuration::EncryptionAlgorithm;
    use slipway_bootstrap::pki::{PrivateKey, Template};

    use super::*;

    fn request(name: &str, made: &str, authority: Option<&str>) -> Json {
        let certificate = authority.map(|authority| {
            let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
            let template = Template::authority(authority, jiff::Timestamp::now(), Duration::from_secs(60));
            BASE64.encode(template.unwrap().self_signed(&key).unwrap().to_pem())
        });
        json!({"metadata": {"name": name, "creationTimestamp": made}, "status": {"certificate": certificate}})
    }

    #[test]
    fn the_newest_request_says_whether_a_kubelet_has_its_certificate() {
        let (old, new) = ("kubernetes", "kubernetes-ca-2");
        let of = |requests: &[Json]| {
            let mut approvals = Approvals::default();
            requests.iter().for_each(|request| approvals.see(request));
            approvals
        };
        let first = request("csr-z", "2026-01-01T00:00:00Z", Some(new));
        let back = request("csr-y", "2026-01-01T00:10:00Z", Some(old));
        let pending = request("csr-x", "2026-01-01T00:20:00Z", None);
        let again = request("csr-x", "2026-01-01T00:20:00Z", Some(new));
        let long = ASKS_WITHIN * 2;
        assert!(of(std::slice::from_ref(&first)).are_done(new, Duration::ZERO));
        for requests in [vec![back.clone(), first.clone()], vec![first.clone(), pending, back.clone()]] {
            assert!(!of(&requests).are_done(new, long), "{requests:?}");
        }
        assert!(of(&[again, first, back]).are_done(new, Duration::ZERO));
        // The API does not keep signed requests.
        assert!(!of(&[]).are_done(new, Duration::ZERO) && of(&[]).are_done(new, long));
    }
}
