//! Requests of machines that join with a token bound to a node's name: approved for that name, denied for any other.
//!
//! Kubernetes approves requests with a token of its usual group by itself. A bound token is not in that
//! group, so that its request waits until a program that knows this rule decides.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};
use slipway_bootstrap::approval::{self, CLIENT_SIGNER, Requester};
use slipway_bootstrap::pki::Request;
use slipway_bootstrap::token::{self, ONCE, USED_BY};

use super::api::{Api, ApiError};
use crate::error::Error;

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";
const USER: &str = "system:bootstrap:";

/// A decision about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The request.
    pub request: String,
    /// The id of the token with which it was made.
    pub token: String,
    /// The node that has its certificate now; else why not.
    pub verdict: Result<String, String>,
}

impl std::fmt::Display for Decision {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { request, token, verdict } = self;
        match verdict {
            Ok(node) => write!(formatter, "{request} with token {token} is approved: the node {node}"),
            Err(why) => write!(formatter, "{request} with token {token} is denied: {why}"),
        }
    }
}

/// Decides about each pending request with a bound token, and removes tokens for one use that were used.
///
/// # Errors
/// As the API says.
pub async fn decide(api: &Api) -> Result<Vec<Decision>, Error> {
    let path = format!("{REQUESTS}?fieldSelector=spec.signerName%3D{}", CLIENT_SIGNER.replace('/', "%2F"));
    let list = api.get(&path).await?.body;
    let mut decisions = Vec::new();
    for request in list.get("items").and_then(Json::as_array).into_iter().flatten() {
        let groups = texts(request, "/spec/groups");
        let user = text(request, "/spec/username");
        let (Some(id), Some(_)) =
            (user.strip_prefix(USER), token::node_of_groups(groups.iter().map(String::as_str)))
        else {
            continue;
        };
        if has_decision(request) {
            continue;
        }
        let verdict = match verdict(request, user, &groups) {
            Ok(node) => claim(api, id, text(request, "/metadata/name")).await?.map(|()| node),
            Err(why) => Err(why),
        };
        if write(api, request, &verdict).await? {
            let name = text(request, "/metadata/name").to_owned();
            decisions.push(Decision { request: name, token: id.to_owned(), verdict });
        }
    }
    remove_used(api).await?;
    Ok(decisions)
}

/// Whether there is a token of this id.
///
/// # Errors
/// As the API says.
pub async fn is_there(api: &Api, id: &str) -> Result<bool, Error> {
    Ok(api.find(&format!("{SECRETS}/{}", token::secret_name(id))).await?.is_some())
}

fn verdict(request: &Json, user: &str, groups: &[String]) -> Result<String, String> {
    let pem = BASE64_STANDARD.decode(text(request, "/spec/request")).ok();
    let pem = pem.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let asked = Request::from_pem(&pem).map_err(|error| format!("it cannot be read: {error}"))?;
    let client = approval::client(&asked, &texts(request, "/spec/usages"), Requester { user, groups });
    client.map(|client| client.node).map_err(|denial| denial.to_string())
}

/// Uses a token for a request. A token for one use is marked with the request, by compare-and-swap.
async fn claim(api: &Api, id: &str, request: &str) -> Result<Result<(), String>, Error> {
    let path = format!("{SECRETS}/{}", token::secret_name(id));
    loop {
        let Some(secret) = api.find(&path).await? else {
            return Ok(Err("the token is used up, or was removed".to_owned()));
        };
        if annotation(&secret, ONCE) != Some("true") {
            return Ok(Ok(()));
        }
        match annotation(&secret, USED_BY) {
            Some(used_by) if used_by == request => return Ok(Ok(())),
            Some(used_by) => {
                let why = format!("the token is good for one use, which the request {used_by} had");
                return Ok(Err(why));
            }
            None => {}
        }
        let version = text(&secret, "/metadata/resourceVersion");
        let patch = json!({"metadata": {"resourceVersion": version, "annotations": {USED_BY: request}}});
        match api.merge(&path, &patch).await {
            Ok(_) => return Ok(Ok(())),
            // Another process has changed the token since it was read.
            Err(error) if error.status() == Some(409) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Writes a verdict; `false` when another process has changed or removed the request.
async fn write(api: &Api, request: &Json, verdict: &Result<String, String>) -> Result<bool, Error> {
    let (kind, reason, message) = match verdict {
        Ok(node) => ("Approved", "BoundToken", format!("the token is for the node {node}")),
        Err(why) => ("Denied", "BoundToken", why.clone()),
    };
    let patch = json!({"metadata": {"resourceVersion": text(request, "/metadata/resourceVersion")},
        "status": {"conditions": [{"type": kind, "status": "True", "reason": reason, "message": message}]}});
    let path = format!("{REQUESTS}/{}/approval", text(request, "/metadata/name"));
    match api.merge(&path, &patch).await {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.status(), Some(404 | 409)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes tokens that were used once and whose node has registered. Until then, the kubelet of the node gets
/// its certificate with the token.
async fn remove_used(api: &Api) -> Result<(), Error> {
    let selector = "?fieldSelector=type%3Dbootstrap.kubernetes.io%2Ftoken";
    let list = api.get(&format!("{SECRETS}{selector}")).await?.body;
    for secret in list.get("items").and_then(Json::as_array).into_iter().flatten() {
        if annotation(secret, USED_BY).is_none() {
            continue;
        }
        let groups = secret.pointer("/data/auth-extra-groups").and_then(Json::as_str).unwrap_or_default();
        let groups = BASE64_STANDARD.decode(groups).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(node) = token::node_of_groups(groups.unwrap_or_default().split(',')) else { continue };
        if api.find(&format!("/api/v1/nodes/{node}")).await?.is_none() {
            continue;
        }
        let name = text(secret, "/metadata/name");
        match api.delete(&format!("{SECRETS}/{name}")).await {
            Ok(()) => {
                let id = name.strip_prefix("bootstrap-token-").unwrap_or(name);
                super::cluster_info::unsign(api, id).await?;
            }
            Err(ApiError::Refused { status, .. }) if status.as_u16() == 404 => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn has_decision(request: &Json) -> bool {
    let conditions = request.pointer("/status/conditions").and_then(Json::as_array).into_iter().flatten();
    let decided = |condition: &Json| matches!(text(condition, "/type"), "Approved" | "Denied" | "Failed");
    conditions.into_iter().any(decided)
}

fn annotation<'a>(object: &'a Json, name: &str) -> Option<&'a str> {
    object.pointer("/metadata/annotations")?.get(name)?.as_str()
}

fn text<'a>(object: &'a Json, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

fn texts(object: &Json, pointer: &str) -> Vec<String> {
    let items = object.pointer(pointer).and_then(Json::as_array).into_iter().flatten();
    items.filter_map(Json::as_str).map(str::to_owned).collect()
}
