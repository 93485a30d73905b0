//! The way to the API of a cluster whose authority lies in its state: as an administrator, for an hour, with credentials
//! that are made when they are needed and stored nowhere.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use jiff::Timestamp;
use slipway_bootstrap::configuration::{EncryptionAlgorithm, LocalEndpoint};
use slipway_bootstrap::from_cluster::CA;
use slipway_bootstrap::kubeconfig::{Credentials, Kubeconfig};
use slipway_bootstrap::pki::{Certificate, PrivateKey, Subject, Template, Usage};
use slipway_builtin::{KEYPAIR, Vault};
use slipway_provider_kubernetes::{Access, SecretKubeconfig};
use slipway_resource::{Address, ClusterUid, ErrorClass, ProviderError, SecretText, Value};

/// How long credentials are good for.
const VALIDITY: Duration = Duration::from_secs(3_600);

/// How long an API server may take to answer a knock.
const KNOCK: Duration = Duration::from_secs(2);

/// The way to one cluster's API.
pub(crate) struct ClusterAccess {
    vault: Arc<Vault>,
    cluster: String,
    known: Mutex<Known>,
}

/// What is known of the API.
#[derive(Clone, Debug, Default)]
struct Known {
    uid: Option<ClusterUid>,
    /// Where it may be reached, the best first.
    endpoints: Vec<LocalEndpoint>,
    /// Whether there is, or was, one.
    exists: bool,
    /// Whether the state has one, and so an authority to make credentials with.
    recorded: bool,
    /// Whether a run was interrupted, so that what is missing is still to be made.
    interrupted: bool,
    /// Credentials that somebody has lent, until there is an authority to make some with.
    lent: Option<SecretText>,
}

/// As whom somebody enters.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub user: String,
    pub groups: Vec<String>,
    pub validity: Duration,
    /// Whether the API is named by its endpoint, also when another of its servers answers sooner.
    pub endpoint_only: bool,
}

impl ClusterAccess {
    pub fn new(vault: Arc<Vault>, cluster: &str) -> Self {
        Self { vault, cluster: cluster.to_owned(), known: Mutex::default() }
    }

    /// Says which cluster it is, where its API may be reached, the best first, and whether there is one yet.
    pub fn know(&self, uid: Option<&ClusterUid>, endpoints: Vec<LocalEndpoint>, exists: bool) {
        let mut known = self.lock();
        known.uid = uid.cloned().or(known.uid.take());
        if !endpoints.is_empty() {
            known.endpoints = endpoints;
        }
        known.exists = exists;
        known.recorded = exists;
    }

    /// Says that a run was interrupted before its end.
    pub fn is_interrupted(&self, interrupted: bool) {
        self.lock().interrupted = interrupted;
    }

    /// Says where the API will be reached, which is better than where it was: who was there may be about to go.
    pub fn also_at(&self, mut endpoints: Vec<LocalEndpoint>) {
        let mut known = self.lock();
        for before in std::mem::take(&mut known.endpoints) {
            if !endpoints.contains(&before) {
                endpoints.push(before);
            }
        }
        known.endpoints = endpoints;
    }

    /// Takes a kubeconfig of somebody else's, to look at a cluster that is not Slipway's yet.
    pub fn borrow(&self, kubeconfig: SecretText) {
        self.lock().lent = Some(kubeconfig);
    }

    /// Enters with an authority that was found on a control plane, to look at a cluster whose state is lost.
    ///
    /// # Errors
    /// When it is no authority.
    pub async fn enter_with(
        &self,
        endpoints: &[LocalEndpoint],
        certificate: &str,
        key: &SecretText,
    ) -> Result<(), ProviderError> {
        let Some(server) = reachable(endpoints).await else { return Ok(()) };
        let kubeconfig = self.signed(&server, certificate, key, &administrator())?;
        self.borrow(kubeconfig.to_yaml());
        Ok(())
    }

    /// From now on the API exists for those that come after its beginning.
    pub fn begins(&self, uid: &ClusterUid) {
        let mut known = self.lock();
        known.uid = Some(uid.clone());
        known.exists = true;
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A kubeconfig for somebody; none when the cluster has no authority yet.
    ///
    /// # Errors
    /// When the authority cannot be opened here.
    pub async fn for_entry(&self, entry: &Entry) -> Result<Option<Kubeconfig>, ProviderError> {
        let known = self.lock().clone();
        let address = Address::new(KEYPAIR, CA);
        let (Some(uid), Some(identity)) = (known.uid, self.vault.known(&address)) else { return Ok(None) };
        let key = self.vault.text(&uid, &identity, "private_key_pem").await?;
        let shown = self.vault.attributes(&uid, &identity).await?;
        let authority = shown.get("certificate_pem").and_then(Value::as_str).unwrap_or_default();
        let server = match known.endpoints.first() {
            Some(endpoint) if entry.endpoint_only => Some(endpoint.clone()),
            _ => reachable(&known.endpoints).await,
        };
        let Some(server) = server else { return Ok(None) };
        self.signed(&server, authority, &key, entry).map(Some)
    }

    /// A kubeconfig for somebody, signed with an authority.
    fn signed(
        &self,
        server: &LocalEndpoint,
        authority: &str,
        key: &SecretText,
        entry: &Entry,
    ) -> Result<Kubeconfig, ProviderError> {
        let failed = |error: slipway_bootstrap::pki::Error| {
            let text = format!("credentials for {} cannot be made: {error}", self.cluster);
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
        Ok(Kubeconfig::new(&self.cluster, &server.url(), authority, &entry.user, &credentials))
    }
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

/// The first endpoint that answers; the best when none does, so that the failure names it.
async fn reachable(endpoints: &[LocalEndpoint]) -> Option<LocalEndpoint> {
    let knock = |endpoint: &LocalEndpoint| {
        let place = (endpoint.host.trim_matches(['[', ']']).to_owned(), endpoint.port);
        async move {
            let connected = tokio::time::timeout(KNOCK, tokio::net::TcpStream::connect(place)).await;
            matches!(connected, Ok(Ok(_)))
        }
    };
    let answers = join_all(endpoints.iter().map(knock)).await;
    let first = endpoints.iter().zip(answers).find(|(_, answers)| *answers).map(|(endpoint, _)| endpoint);
    first.or(endpoints.first()).cloned()
}

#[async_trait]
impl Access for ClusterAccess {
    async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError> {
        {
            let known = self.lock();
            if let Some(lent) = &known.lent {
                // A host has told it: it is data, whatever it says.
                return Ok(Some(SecretKubeconfig { text: lent.clone(), context: None, is_callers: false }));
            }
            if !known.exists {
                return Ok(None);
            }
        }
        let recorded = self.lock().recorded;
        let kubeconfig = self.for_entry(&administrator()).await?;
        if kubeconfig.is_none() && recorded {
            // What is behind an API that cannot be entered is not known; it is not gone.
            let text = format!(
                "the API of {} cannot be entered: the state does not have its authority",
                self.cluster
            );
            let hint = if self.lock().interrupted {
                "an earlier run was interrupted: `slipway apply -f …` goes on with it, and makes the authority".to_owned()
            } else {
                format!("`slipway state rebuild {} -f …` takes it from the control planes", self.cluster)
            };
            return Err(ProviderError::new(ErrorClass::Permanent, text).with_hint(hint));
        }
        Ok(kubeconfig.map(|kubeconfig| SecretKubeconfig {
            text: kubeconfig.to_yaml(),
            context: None,
            is_callers: true,
        }))
    }
}
