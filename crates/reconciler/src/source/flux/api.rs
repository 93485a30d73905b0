//! Reads an object of Flux from the API of its cluster.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, USER_AGENT};
use http::{Request, StatusCode};
use serde::Deserialize;
use slipway_cluster_api::{Client, KubeconfigText};
use slipway_limits::{file, size};
use slipway_resource::SecretText;
use tokio::time::timeout;

use super::unavailable;
use crate::configuration::FluxSettings;
use crate::error::Error;

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(30);

/// The part of a `Status` of the API that is looked at.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    reason: String,
    message: String,
}

/// The object as JSON, and the client that got it.
pub(super) async fn get(settings: &FluxSettings, kept: Option<Client>) -> Result<(Client, Bytes), Error> {
    let failed = |reason: &str| unavailable(settings, reason);
    let client = match kept {
        Some(client) => client,
        None => connect(settings).await?,
    };
    let request = Request::get(settings.path())
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, concat!("slipway/", env!("CARGO_PKG_VERSION")))
        .body(Bytes::new())
        .map_err(|error| failed(&error.to_string()))?;
    let reply = timeout(ANSWER, client.exchange(request, size::MANIFEST.in_memory())).await;
    let reply =
        reply.map_err(|_| failed(&format!("{} does not answer within {ANSWER:?}", client.endpoint())))?;
    let reply = reply.map_err(|failure| failed(&format!("{}: {failure}", client.endpoint())))?;
    if reply.status.is_success() {
        return Ok((client, reply.body));
    }
    let refusal: Refusal = serde_json::from_slice(&reply.body).unwrap_or_default();
    if reply.status == StatusCode::NOT_FOUND {
        // Without the kind there is no document in the answer.
        return Err(if refusal.reason == "NotFound" {
            Error::NoReference {
                what: format!("the {}", settings.title()),
                url: client.endpoint().to_string(),
            }
        } else {
            failed("the cluster has no such kind in source.toolkit.fluxcd.io/v1")
        });
    }
    Err(failed(&format!("the API server answers {}: {}", reply.status, refusal.message)))
}

#[allow(clippy::disallowed_methods, reason = "the operator names the kubeconfig")]
async fn connect(settings: &FluxSettings) -> Result<Client, Error> {
    let client = match &settings.kubeconfig {
        None => Client::in_cluster(),
        Some(path) => {
            let text = file::read_given_text(path, size::KUBECONFIG).map_err(|source| Error::File {
                what: "the kubeconfig",
                path: path.clone(),
                source,
            })?;
            let text = SecretText::new(text);
            Client::by(&KubeconfigText { text: &text, context: None, is_callers: true, networks: None }).await
        }
    };
    client.map_err(|error| unavailable(settings, &error.to_string()))
}
