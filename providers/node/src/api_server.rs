//! The API server of a control plane, asked by the agent there with the certificate that the API server itself uses for kubelets.

use std::time::Duration;

use serde_json::Value as Json;
use slipway_resource::{Attribute, ProviderError, Type};

use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::error::{not_found, permanent, transient};
use crate::http::{Answer, Client, Trust};

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(30);

/// The attributes with the way to an API server.
pub(crate) fn access_attributes() -> [(&'static str, Attribute); 4] {
    let required = |text: &str| Attribute::required(Type::String).write_only().describe(text);
    [
        ("api_url", required("The URL of the API server on this machine.")),
        ("api_ca_path", required("The CA of its certificate.")),
        ("api_cert_path", required("The certificate with which it is asked.")),
        ("api_key_path", required("The key of this certificate.")),
    ]
}

/// How to reach an API server.
pub(crate) struct ApiServer {
    client: Client,
    url: String,
}

impl ApiServer {
    /// The API server that the attributes name.
    ///
    /// # Errors
    /// When a file is missing or has another form.
    pub(crate) fn connect(disk: &Disk, wanted: Attributes<'_>) -> Result<Self, ProviderError> {
        let file = |name: &str| -> Result<Vec<u8>, ProviderError> {
            let path = wanted.text(name)?;
            let missing = || not_found(format!("{path} is not there, with which the API server is asked"));
            disk.read(path)?.ok_or_else(missing)
        };
        let client = (file("api_cert_path")?, file("api_key_path")?);
        Self::at(wanted.text("api_url")?, file("api_ca_path")?, client)
    }

    /// The API server at a URL, verified by these CAs, for a client with this certificate and key; all in PEM.
    ///
    /// # Errors
    /// When one of them has another form.
    pub(crate) fn at(
        url: &str,
        authorities: Vec<u8>,
        client: (Vec<u8>, Vec<u8>),
    ) -> Result<Self, ProviderError> {
        let trust = Trust { authorities: Some(authorities), client: Some(client) };
        let client = Client::new(&trust, ANSWER);
        let client = client.map_err(|error| permanent(format!("the API server: {error}")))?;
        Ok(Self { client, url: url.trim_end_matches('/').to_owned() })
    }

    /// An object, as JSON; `None` when there is none.
    pub(crate) async fn get(&self, path: &str) -> Result<Option<Json>, ProviderError> {
        let url = format!("{}{path}", self.url);
        let answer = self.client.get(&url).await.map_err(|error| transient(format!("{url}: {error}")))?;
        match answer.status {
            200 => serde_json::from_slice(&answer.body)
                .map(Some)
                .map_err(|error| transient(format!("{url}: {error}"))),
            404 => Ok(None),
            _ => Err(refused(&url, &answer)),
        }
    }

    /// Creates an object in a collection. Returns it as the API server keeps it.
    pub(crate) async fn post(&self, path: &str, object: &Json) -> Result<Json, ProviderError> {
        let url = format!("{}{path}", self.url);
        let answer = self.client.post(&url, object).await;
        let answer = answer.map_err(|error| transient(format!("{url}: {error}")))?;
        match answer.status {
            200 | 201 => {
                serde_json::from_slice(&answer.body).map_err(|error| transient(format!("{url}: {error}")))
            }
            _ => Err(refused(&url, &answer)),
        }
    }

    /// Writes an object back. Returns whether it was written: not if it changed or was deleted in between.
    pub(crate) async fn put(&self, path: &str, object: &Json) -> Result<bool, ProviderError> {
        let url = format!("{}{path}", self.url);
        let answer = self.client.put(&url, object).await;
        let answer = answer.map_err(|error| transient(format!("{url}: {error}")))?;
        match answer.status {
            200 | 201 => Ok(true),
            404 | 409 => Ok(false),
            _ => Err(refused(&url, &answer)),
        }
    }

    /// Deletes an object; one that is gone already is a success.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), ProviderError> {
        let url = format!("{}{path}", self.url);
        let answer = self.client.delete(&url).await;
        let answer = answer.map_err(|error| transient(format!("{url}: {error}")))?;
        match answer.status {
            200 | 202 | 404 => Ok(()),
            _ => Err(refused(&url, &answer)),
        }
    }

    /// The metrics whose names begin with one of these prefixes, one line for each.
    pub(crate) async fn metrics(&self, prefixes: &[&str]) -> Result<Vec<String>, ProviderError> {
        let url = format!("{}/metrics", self.url);
        let failed = |error: crate::http::Failure| transient(format!("{url}: {error}"));
        let mut lines = self.client.get_for_lines(&url).await.map_err(failed)?;
        if lines.status != 200 {
            return Err(transient(format!("{url} answers {}", lines.status)));
        }
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.map_err(failed)? {
            let line = String::from_utf8_lossy(&line);
            if prefixes.iter().any(|prefix| line.starts_with(prefix)) {
                found.push(line.into_owned());
            }
        }
        Ok(found)
    }
}

/// The refusal of an API server: its message, without the object that was sent.
fn refused(url: &str, answer: &Answer) -> ProviderError {
    let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
    let message = said.get("message").and_then(Json::as_str).unwrap_or("it does not say why");
    let text = format!("{url} answers {}: {message}", answer.status);
    if matches!(answer.status, 429 | 500..=599) { transient(text) } else { permanent(text) }
}
