//! Decides which machine gets the credential of a node.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use slipway_bootstrap::boot::POOLS;
use slipway_bootstrap::pki::{Certificate, Pin, PublicKey, Subject, Template, Usage};
use slipway_bootstrap::token::Token;
use slipway_resource::provider::{NodeChallenge, VerifiedNode, VerifyNodeRequest};
use slipway_resource::{Digest, ErrorClass, ProviderError, Session};
use tokio::time::Instant;

use super::pools::Pools;
use super::registry::{Binding, Registry};
use super::{Ask, Challenge, Grant, Wanted};
use crate::api::ApiError;
use crate::authority::Authority;

/// How long a nonce is good for.
const NONCE: Duration = Duration::from_secs(120);
/// How many nonces are kept at most.
const NONCES: usize = 4096;
/// The largest age of a machine that asks. An older machine has joined, or never will; its binding is
/// forgotten.
const YOUNG: Duration = Duration::from_secs(24 * 3600);
/// How long the certificate is good for: until the kubelet has asked for its own.
const CERTIFICATE: Duration = Duration::from_secs(1800);

/// The group of nodes.
const NODES: &str = "system:nodes";

/// Why there is no credential.
#[derive(Debug)]
pub enum Refusal {
    /// The nonce is not known, used up or old: another one may help.
    Nonce,
    /// The machine is refused, with the reason.
    Refused(String),
    /// A service that is needed does not answer. A later attempt may succeed.
    Unavailable(String),
}

/// Answers machines.
pub struct Desk<R> {
    /// The cluster.
    pub cluster: String,
    /// The names by which the endpoint may be dialled.
    pub names: Vec<String>,
    /// The provider of the cloud.
    pub session: Arc<dyn Session>,
    /// The cluster's records of nodes.
    pub registry: R,
    /// Nonces that were issued, with the end of each.
    nonces: Mutex<BTreeMap<String, Instant>>,
}

impl<R: Registry> Desk<R> {
    /// The desk of a cluster, which machines reach by these names.
    pub fn new(cluster: String, names: Vec<String>, session: Arc<dyn Session>, registry: R) -> Self {
        Self { cluster, names, session, registry, nonces: Mutex::default() }
    }

    /// A new challenge.
    pub fn challenge(&self) -> Result<Challenge, Refusal> {
        let random =
            |error: &dyn std::fmt::Display| Refusal::Unavailable(format!("no random numbers: {error}"));
        // Two tokens have more than 200 random bits.
        let token = || Ok(Token::generate().map_err(|error| random(&error))?.to_text().expose().to_owned());
        let nonce = format!("{}.{}", token()?, token()?);
        let now = Instant::now();
        let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.retain(|_, end| *end > now);
        if nonces.len() >= NONCES {
            return Err(Refusal::Unavailable("too many machines ask at once".to_owned()));
        }
        nonces.insert(nonce.clone(), now + NONCE);
        Ok(Challenge { nonce, now: Timestamp::now().as_second() })
    }

    /// Returns the credential of a node for a machine that proves its identity.
    pub async fn grant(&self, ask: &Ask, authority: &Authority) -> Result<Grant, Refusal> {
        let end = self.nonces.lock().unwrap_or_else(PoisonError::into_inner).remove(&ask.nonce);
        if end.is_none_or(|end| end <= Instant::now()) {
            return Err(Refusal::Nonce);
        }
        if !self.names.contains(&ask.server) {
            return Err(refused(format!("this endpoint is not called {}", ask.server.escape_debug())));
        }
        let unreadable =
            |error: &dyn std::fmt::Display| refused(format!("the request cannot be read: {error}"));
        let wanted: Wanted = serde_json::from_str(&ask.request).map_err(|error| unreadable(&error))?;
        let key = PublicKey::from_pem(&wanted.public_key).map_err(|error| unreadable(&error))?;
        // Before the cloud is asked: while a cluster is created, all its workers ask every second.
        let pools = self.pools().await?;
        let verified = self.verified(ask).await?;
        let now = Timestamp::now();
        let node = &wanted.node;
        is_allowed(&verified, node, now)?;
        pools.check(&verified).map_err(refused)?;
        let document = self.document(&verified, wanted.document.as_deref()).await?;
        if self.registry.is_live(node).await.map_err(|error| unavailable(&error))? {
            return Err(refused(format!("the cluster has a node {node}, and it is ready")));
        }
        let binding =
            Binding { machine: verified.machine, node: node.clone(), key: Pin::of(&key).to_string() };
        self.registry.forget(YOUNG, now).await.map_err(|error| unavailable(&error))?;
        let bound = self.registry.bind(&binding, now).await.map_err(|error| unavailable(&error))?;
        if bound != binding {
            let text = format!(
                "the machine {} got the credential of the node {} for another key before: replace the machine",
                binding.machine, bound.node
            );
            return Err(refused(text));
        }
        let certificate =
            sign(node, &key, authority, now).map_err(|error| Refusal::Unavailable(error.to_string()))?;
        tracing::info!(machine = binding.machine, %node, pool = verified.pool, "a machine gets the credential of its node");
        Ok(Grant { certificate: certificate.to_pem(), document })
    }

    /// The pools that the plan of the cluster lists.
    async fn pools(&self) -> Result<Pools, Refusal> {
        let pools = self.registry.pools().await.map_err(|error| unavailable(&error))?;
        pools.ok_or_else(|| {
            let text = format!(
                "the ConfigMap {POOLS} in kube-system, which `slipway apply` creates, does not exist yet"
            );
            Refusal::Unavailable(text)
        })
    }

    /// The bootstrap document of a machine that asks for one with a digest.
    async fn document(
        &self,
        verified: &VerifiedNode,
        digest: Option<&str>,
    ) -> Result<Option<String>, Refusal> {
        let (Some(digest), Some(pool)) = (digest, &verified.pool) else { return Ok(None) };
        let found = self.registry.document(pool).await.map_err(|error| unavailable(&error))?;
        let found = found.filter(|text| Digest::of_bytes(text.as_bytes()).as_str() == digest);
        // A plan that changes the document creates machines that ask for it a moment before the cluster has it.
        found.map(Some).ok_or_else(|| {
            let text = format!(
                "the cluster does not have the bootstrap document {} of the pool {pool}: `slipway apply` writes that of the present spec, and replaces machines that were launched before it changed",
                digest.escape_debug()
            );
            Refusal::Unavailable(text)
        })
    }

    async fn verified(&self, ask: &Ask) -> Result<VerifiedNode, Refusal> {
        let credential =
            STANDARD.decode(&ask.credential).map_err(|error| refused(format!("the credential: {error}")))?;
        let challenge = NodeChallenge {
            server: ask.server.clone(),
            nonce: ask.nonce.clone(),
            request: Digest::of_bytes(ask.request.as_bytes()),
        };
        let request = VerifyNodeRequest { challenge, credential, cluster: self.cluster.clone() };
        self.session.verify_node(request).await.map_err(|error| of_provider(&error))
    }
}

/// Holds that a machine may have this node.
fn is_allowed(verified: &VerifiedNode, node: &str, now: Timestamp) -> Result<(), Refusal> {
    if !verified.nodes.iter().any(|name| name == node) {
        let names = verified.nodes.join(", ");
        let text =
            format!("the node of {} is called {names}, and not {}", verified.machine, node.escape_debug());
        return Err(refused(text));
    }
    let age = now.as_second().saturating_sub(verified.started);
    if age > i64::try_from(YOUNG.as_secs()).unwrap_or(i64::MAX) {
        let text =
            format!("the machine {} was started {} hours ago: replace it", verified.machine, age / 3600);
        return Err(refused(text));
    }
    Ok(())
}

/// The client certificate of a node.
fn sign(
    node: &str,
    key: &PublicKey,
    authority: &Authority,
    now: Timestamp,
) -> slipway_bootstrap::pki::Result<Certificate> {
    let subject = Subject::new(format!("system:node:{node}")).with_organizations([NODES]);
    let template = Template::leaf(subject, now, CERTIFICATE)?.with_usages([Usage::Client]);
    template.signed_by(key, &authority.certificate, &authority.key)
}

fn refused(reason: String) -> Refusal {
    Refusal::Refused(reason)
}

fn unavailable(error: &ApiError) -> Refusal {
    Refusal::Unavailable(format!("the API of the cluster: {error}"))
}

fn of_provider(error: &ProviderError) -> Refusal {
    match error.class {
        ErrorClass::Permission { .. } | ErrorClass::Invalid | ErrorClass::NotFound => {
            Refusal::Refused(error.message.clone())
        }
        _ => Refusal::Unavailable(error.message.clone()),
    }
}

#[cfg(test)]
mod tests;
