//! The registration API, as the agent calls it.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::{Certificate, Method, Response, Url};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::AgentError;
use super::config::Access;
use crate::keys::PrivateKey;
use crate::server::{Bootstrap, HostState, NewHost, Report};
use crate::token::Claims;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The largest answer: secrets have at most 1 MiB.
const LARGEST: usize = 4 * 1024 * 1024;

/// The registration API for one host.
pub(super) struct Api {
    http: reqwest::Client,
    access: Access,
    name: String,
}

impl Api {
    pub(super) fn new(access: Access, name: String) -> Result<Self, AgentError> {
        let unusable = |error: reqwest::Error| AgentError::Api(slipway_resource::with_causes(&error));
        let mut builder = reqwest::Client::builder()
            .https_only(!access.insecure_allow_http)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(PATIENCE)
            .user_agent(concat!("slipway-machine-inventory/", env!("CARGO_PKG_VERSION")));
        if let Some(authority) = &access.ca_cert {
            let authorities = Certificate::from_pem_bundle(authority.as_bytes()).map_err(unusable)?;
            builder = builder.tls_certs_only(authorities);
        }
        Ok(Self { http: builder.build().map_err(unusable)?, access, name })
    }

    /// Registers the host. Returns `false` if a host with its name is registered already.
    pub(super) async fn register(&self, key: &PrivateKey) -> Result<bool, AgentError> {
        let bad = |error: crate::keys::KeyError| AgentError::Api(error.to_string());
        let new = NewHost {
            name: self.name.clone(),
            pub_key: key.public().and_then(|key| key.to_pem()).map_err(bad)?,
        };
        match self.ask(Method::POST, "", key, Some(json!(new))).await {
            Ok(_) => Ok(true),
            Err(AgentError::Refused { status: 409, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reports, and returns what the controller knows about the host.
    pub(super) async fn report(&self, key: &PrivateKey, report: &Report) -> Result<HostState, AgentError> {
        let answer = self.ask(Method::PATCH, &format!("/{}", self.name), key, Some(json!(report))).await?;
        read(answer).await
    }

    /// The bootstrap data.
    pub(super) async fn bootstrap(&self, key: &PrivateKey) -> Result<Bootstrap, AgentError> {
        let answer = self.ask(Method::GET, &format!("/{}/bootstrap", self.name), key, None).await?;
        read(answer).await
    }

    /// Deletes the host. A host that does not exist is no problem.
    pub(super) async fn leave(&self, key: &PrivateKey) -> Result<(), AgentError> {
        match self.ask(Method::DELETE, &format!("/{}", self.name), key, None).await {
            Ok(_) | Err(AgentError::Refused { status: 404, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        key: &PrivateKey,
        body: Option<Json>,
    ) -> Result<Response, AgentError> {
        let unusable = |error: reqwest::Error| AgentError::Api(slipway_resource::with_causes(&error));
        let uri = self.access.uri.trim_end_matches('/');
        let url =
            Url::parse(&format!("{uri}/hosts{path}")).map_err(|error| AgentError::Api(error.to_string()))?;
        let token = Claims::of_host(&self.name, &self.access.uri, Timestamp::now()).sign(key);
        let mut request = self.http.request(method, url).header("Authorization", format!("Bearer {token}"));
        request = request.header("Registration-Authorization", format!("Bearer {}", self.access.token));
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.map_err(unusable)?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status().as_u16();
        let body: Json = read(answer).await.unwrap_or_default();
        let message = body["message"].as_str().unwrap_or("without a reason").to_owned();
        Err(AgentError::Refused { status, message })
    }
}

async fn read<T: DeserializeOwned>(mut answer: Response) -> Result<T, AgentError> {
    let unusable = |error: reqwest::Error| AgentError::Api(slipway_resource::with_causes(&error));
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(unusable)? {
        if bytes.len() + chunk.len() > LARGEST {
            return Err(AgentError::Api(format!("an answer has more than {LARGEST} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| AgentError::Api(format!("an answer cannot be read: {error}")))
}
