//! Access to the API of a cluster whose certificate authority is in the state. Credentials are those of an administrator,
//! valid for an hour, created when they are needed and never stored.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use jiff::Timestamp;
use slipway_bootstrap::configuration::{EncryptionAlgorithm, LocalEndpoint};
use slipway_bootstrap::from_cluster::{CA, Rotation, name_of_generation};
use slipway_bootstrap::kubeconfig::{Credentials, Kubeconfig};
use slipway_bootstrap::pki::{Certificate, PrivateKey, Subject, Template, Usage};
use slipway_generated_secrets::{KEYPAIR, Vault};
use slipway_provider_kubernetes::{Access, ApiEndpoint, SecretKubeconfig, TokenAccess};
use slipway_resource::{Address, ClusterUid, ErrorClass, ProviderError, SecretText, Value};
use slipway_trust::Reach;

/// How long credentials are valid.
const VALIDITY: Duration = Duration::from_secs(3_600);

/// How long an API server may take to accept a connection.
const KNOCK: Duration = Duration::from_secs(2);

/// The facts of one stage of an operation about the API of a cluster. They do not change: the next stage has
/// another value.
#[derive(Clone, Debug, Default)]
pub struct KnownApi {
    /// The unique id of the cluster, where it has one.
    pub uid: Option<ClusterUid>,
    /// Addresses at which the API may be reached, the preferred one first.
    pub endpoints: Vec<LocalEndpoint>,
    /// Whether the API exists, existed, or will exist before the first request to it.
    pub exists: bool,
    /// Whether the state has an API, and therefore an authority that can sign credentials.
    pub recorded: bool,
    /// Whether a run was interrupted, so that missing objects may not have been created yet.
    pub interrupted: bool,
    /// How far the authority of the API is rotated.
    pub rotation: Rotation,
    /// A kubeconfig of the user, to read a cluster whose authority Slipway does not have.
    pub lent: Option<SecretText>,
    /// The way to the nodes of a cluster that Slipway did not make. None if the state has an API.
    pub nodes: Option<Arc<TokenAccess>>,
    /// Networks and names in which the caller allows servers whose addresses are reserved.
    pub networks: Vec<String>,
}

impl KnownApi {
    /// The same API, with an address to try first.
    #[must_use]
    pub fn first_at(mut self, mut endpoints: Vec<LocalEndpoint>) -> Self {
        for before in std::mem::take(&mut self.endpoints) {
            if !endpoints.contains(&before) {
                endpoints.push(before);
            }
        }
        Self { endpoints, ..self }
    }

    /// The same API, with a further address to try when no other address answers.
    #[must_use]
    pub fn also_at(mut self, endpoints: Vec<LocalEndpoint>) -> Self {
        for endpoint in endpoints {
            if !self.endpoints.contains(&endpoint) {
                self.endpoints.push(endpoint);
            }
        }
        self
    }
}

/// Access to the API of one cluster, as one stage of an operation knows it.
pub struct ClusterAccess {
    vault: Arc<Vault>,
    cluster: String,
    api: KnownApi,
}

/// The identity of a client.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The user.
    pub user: String,
    /// The user's groups.
    pub groups: Vec<String>,
    /// How long the credentials are valid.
    pub validity: Duration,
    /// Whether the kubeconfig names the endpoint of the API, also when another of its servers answers first.
    pub endpoint_only: bool,
}

/// The authority that signs credentials.
struct Authority {
    /// Its certificate, and then those of the other authorities that are trusted, in PEM.
    certificates: String,
    key: SecretText,
}

impl Authority {
    fn parts(&self) -> (&str, &SecretText) {
        (&self.certificates, &self.key)
    }
}

impl ClusterAccess {
    /// Access to the API of a cluster whose keys are in a vault.
    #[must_use]
    pub fn new(vault: Arc<Vault>, cluster: &str, api: KnownApi) -> Self {
        Self { vault, cluster: cluster.to_owned(), api }
    }

    /// The addresses at which the API may be reached, the preferred one first.
    #[must_use]
    pub fn endpoints(&self) -> &[LocalEndpoint] {
        &self.api.endpoints
    }

    /// A kubeconfig for an identity; none when the cluster has no authority yet.
    ///
    /// # Errors
    /// When the authority cannot be opened here.
    pub async fn for_entry(&self, entry: &Entry) -> Result<Option<Kubeconfig>, ProviderError> {
        let Some(authority) = self.authority().await? else { return Ok(None) };
        let server = match self.api.endpoints.first() {
            Some(endpoint) if entry.endpoint_only => Some(endpoint.clone()),
            _ => reachable(&self.api.endpoints, &self.api.networks).await,
        };
        let Some(server) = server else { return Ok(None) };
        signed(&self.cluster, &server, authority.parts(), entry).map(Some)
    }

    /// The certificates of the authorities that clients of the API trust, in PEM, that of the authority in use first; none when the
    /// cluster has no authority yet.
    ///
    /// # Errors
    /// When they cannot be read here.
    pub async fn certificates(&self) -> Result<Option<String>, ProviderError> {
        let rotation = self.api.rotation;
        let address = |generation| Address::new(KEYPAIR, name_of_generation(CA, generation));
        let (Some(uid), Some(_)) = (&self.api.uid, self.vault.known(&address(rotation.used()))) else {
            return Ok(None);
        };
        let mut certificates = String::new();
        for generation in rotation.in_use_first() {
            // The run that removes an authority may have been interrupted.
            let Some(identity) = self.vault.known(&address(generation)) else { continue };
            let shown = self.vault.attributes(uid, &identity).await?;
            let certificate = shown.get("certificate_pem").and_then(Value::as_str).unwrap_or_default();
            // That of an adopted cluster may end without a line break.
            certificates.push_str(certificate.trim_end());
            certificates.push('\n');
        }
        Ok(Some(certificates))
    }

    /// The cluster's authority in use, and those that are trusted beside it; none when it does not have one yet.
    async fn authority(&self) -> Result<Option<Authority>, ProviderError> {
        let used = Address::new(KEYPAIR, name_of_generation(CA, self.api.rotation.used()));
        let (Some(uid), Some(identity)) = (&self.api.uid, self.vault.known(&used)) else {
            return Ok(None);
        };
        let key = self.vault.text(uid, &identity, "private_key_pem").await?;
        let certificates = self.certificates().await?;
        Ok(certificates.map(|certificates| Authority { certificates, key }))
    }

    /// A kubeconfig of Slipway's own, for a server that the spec or its provider names.
    fn own(&self, kubeconfig: &Kubeconfig) -> SecretKubeconfig {
        SecretKubeconfig {
            text: kubeconfig.to_yaml(),
            context: None,
            is_callers: true,
            networks: Some(self.api.networks.clone()),
        }
    }
}

/// A kubeconfig for Slipway itself, with an authority that was found on a control plane: to read a cluster whose state is
/// lost. None where the cluster has no endpoint.
///
/// # Errors
/// When it is no authority.
pub(crate) async fn with_authority(
    cluster: &str,
    endpoints: &[LocalEndpoint],
    networks: &[String],
    authority: (&str, &SecretText),
) -> Result<Option<SecretText>, ProviderError> {
    let Some(server) = reachable(endpoints, networks).await else { return Ok(None) };
    Ok(Some(signed(cluster, &server, authority, &administrator())?.to_yaml()))
}

/// A kubeconfig for an identity, signed by the first of these authorities. It trusts all of them.
fn signed(
    cluster: &str,
    server: &LocalEndpoint,
    (authority, key): (&str, &SecretText),
    entry: &Entry,
) -> Result<Kubeconfig, ProviderError> {
    let failed = |error: slipway_bootstrap::pki::Error| {
        let text = format!("credentials for {cluster} cannot be made: {error}");
        ProviderError::new(ErrorClass::Permanent, text)
    };
    let certificate = Certificate::from_pem(authority).map_err(failed)?;
    let authority_key = PrivateKey::from_pem(key.expose()).map_err(failed)?;
    let own = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).map_err(failed)?;
    let subject = Subject::new(entry.user.as_str()).with_organizations(entry.groups.iter().cloned());
    let template = Template::leaf(subject, Timestamp::now(), entry.validity).map_err(failed)?;
    let template = template.with_usages([Usage::Client]);
    let signed = template.signed_by(own.public_key(), &certificate, &authority_key).map_err(failed)?;
    let credentials =
        Credentials::Certificate { certificate: signed.to_pem(), key: own.to_pem().map_err(failed)? };
    Ok(Kubeconfig::new(cluster, &server.url(), authority, &entry.user, &credentials))
}

/// Slipway itself. The group is bound to nothing: it may do everything before there is anything that it could be bound to.
fn administrator() -> Entry {
    Entry {
        user: "slipway".to_owned(),
        groups: vec!["system:masters".to_owned()],
        validity: VALIDITY,
        endpoint_only: false,
    }
}

/// The first endpoint that answers; the preferred one when none answers, so that the error names it.
async fn reachable(endpoints: &[LocalEndpoint], networks: &[String]) -> Option<LocalEndpoint> {
    let knock = |endpoint: &LocalEndpoint| {
        let host = endpoint.host.trim_matches(['[', ']']).to_owned();
        let port = endpoint.port;
        async move { Reach::host(&host, networks).answers(&host, port, KNOCK).await }
    };
    let answers = join_all(endpoints.iter().map(knock)).await;
    let first = endpoints.iter().zip(answers).find(|(_, answers)| *answers).map(|(endpoint, _)| endpoint);
    first.or(endpoints.first()).cloned()
}

#[async_trait]
impl Access for ClusterAccess {
    async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError> {
        if let Some(lent) = &self.api.lent {
            // A host has told it: it is data, whatever it says.
            let (text, networks) = (lent.clone(), Some(self.api.networks.clone()));
            return Ok(Some(SecretKubeconfig { text, context: None, is_callers: false, networks }));
        }
        if !self.api.exists {
            return Ok(None);
        }
        let kubeconfig = self.for_entry(&administrator()).await?;
        if kubeconfig.is_none() && self.api.recorded {
            // Objects behind an API that cannot be accessed are unknown, not deleted.
            let text = format!(
                "the API of {} cannot be entered: the state does not have its authority",
                self.cluster
            );
            let hint = if self.api.interrupted {
                "an earlier run was interrupted: `slipway apply -f …` goes on with it, and makes the authority".to_owned()
            } else {
                format!("`slipway state rebuild {} -f …` takes it from the control planes", self.cluster)
            };
            return Err(ProviderError::new(ErrorClass::Permanent, text).with_hint(hint));
        }
        Ok(kubeconfig.map(|kubeconfig| self.own(&kubeconfig)))
    }

    async fn kubeconfig_at(&self, endpoint: &ApiEndpoint) -> Result<Option<SecretKubeconfig>, ProviderError> {
        let Some(authority) = self.authority().await? else { return Ok(None) };
        let ApiEndpoint { host, port } = endpoint.clone();
        let server = LocalEndpoint { host, port };
        let kubeconfig = signed(&self.cluster, &server, authority.parts(), &administrator())?;
        Ok(Some(self.own(&kubeconfig)))
    }
}
