//! The API server of this machine, as the service asks it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use slipway_bootstrap::kubeconfig::Kubeconfig;
use slipway_bootstrap::objects::{SYSTEM, VIRTUAL_ADDRESS_LEASE};

use super::lease::Lease;
use crate::http::{Answer, Client, Failure, Trust};

/// How long a request may take unless its caller says less. Each caller does.
const CLIENT: Duration = Duration::from_secs(5);

/// Asks by a kubeconfig, which is read again when it has changed: its certificate is renewed.
pub(super) struct Api {
    path: PathBuf,
    made: Option<(String, Asking)>,
}

/// A way to ask, as of now. Connections are kept between requests.
#[derive(Clone)]
pub(super) struct Asking {
    client: Arc<Client>,
    server: String,
}

impl Api {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path, made: None }
    }

    /// The way to ask with the present kubeconfig.
    ///
    /// # Errors
    /// When it cannot be used.
    pub(super) fn now(&mut self) -> Result<Asking, String> {
        let failed = |why: String| format!("{}: {why}", self.path.display());
        let text = std::fs::read_to_string(&self.path).map_err(|error| failed(error.to_string()))?;
        if let Some((before, asking)) = &self.made
            && *before == text
        {
            return Ok(asking.clone());
        }
        let asking = Asking::by(&text).map_err(failed)?;
        self.made = Some((text, asking.clone()));
        Ok(asking)
    }
}

impl Asking {
    fn by(text: &str) -> Result<Self, String> {
        let kubeconfig = Kubeconfig::parse(text).map_err(|error| error.to_string())?;
        let cluster = kubeconfig.cluster().map_err(|error| error.to_string())?;
        let certificate = kubeconfig.certificate().map_err(|error| error.to_string())?;
        let key = kubeconfig.key().map_err(|error| error.to_string())?;
        let (Some(authority), Some(certificate), Some(key)) = (cluster.authority, certificate, key) else {
            return Err("it does not have a CA and a client certificate with its key".to_owned());
        };
        let key = key.to_pem().map_err(|error| error.to_string())?;
        let client = (certificate.to_pem().into_bytes(), key.expose().as_bytes().to_vec());
        let trust = Trust { authorities: Some(authority.into_bytes()), client: Some(client) };
        let client = Client::new(&trust, CLIENT).map_err(|error| error.to_string())?;
        Ok(Self { client: Arc::new(client), server: cluster.server })
    }

    /// Whether the API server serves requests and is not about to end.
    pub(super) async fn is_ready(&self, limit: Duration) -> Readiness {
        match within(limit, self.client.get(&format!("{}/readyz", self.server))).await {
            Ok(answer) if answer.status == 200 => Readiness::Ready,
            Ok(answer) => Readiness::Unready(format!("it answers {} for /readyz", answer.status)),
            Err(why) => Readiness::Unknown(why),
        }
    }

    /// The Lease, if there is one.
    ///
    /// # Errors
    /// When there is no answer in time, or another one.
    pub(super) async fn read(&self, limit: Duration) -> Result<Option<Lease>, String> {
        let answer = within(limit, self.client.get(&self.url(true))).await?;
        match answer.status {
            404 => Ok(None),
            200 => lease(&answer).map(Some),
            _ => Err(refused(&answer)),
        }
    }

    /// Writes the Lease, which has the version that it replaces, or none if it is new. Returns it as it is stored; nothing when
    /// another process was faster.
    ///
    /// # Errors
    /// When there is no answer in time, or another one. The Lease may have been written.
    pub(super) async fn write(&self, wanted: &Lease, limit: Duration) -> Result<Option<Lease>, String> {
        let document = wanted.document();
        let answer = match wanted.version() {
            "" => within(limit, self.client.post(&self.url(false), document)).await?,
            _ => within(limit, self.client.put(&self.url(true), document)).await?,
        };
        match answer.status {
            200 | 201 => lease(&answer).map(Some),
            // It was written by another process, or was deleted.
            404 | 409 => Ok(None),
            _ => Err(refused(&answer)),
        }
    }

    fn url(&self, is_named: bool) -> String {
        let name = if is_named { format!("/{VIRTUAL_ADDRESS_LEASE}") } else { String::new() };
        format!("{}/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases{name}", self.server)
    }
}

/// What an API server says about itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    /// It is ready.
    Ready,
    /// It says that it is not.
    Unready(String),
    /// It says nothing.
    Unknown(String),
}

async fn within(
    limit: Duration,
    answer: impl Future<Output = Result<Answer, Failure>>,
) -> Result<Answer, String> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {} ms", limit.as_millis())),
    }
}

fn lease(answer: &Answer) -> Result<Lease, String> {
    Lease::read(&answer.body)
        .ok_or_else(|| "the API server answers with something else than a Lease".to_owned())
}

fn refused(answer: &Answer) -> String {
    let status: Option<serde_json::Value> = serde_json::from_slice(&answer.body).ok();
    let message = status.as_ref().and_then(|status| status["message"].as_str()).unwrap_or_default();
    format!("the API server answers {}: {message}", answer.status)
}
