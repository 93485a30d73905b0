//! The providers of one stage of an operation, with what that stage knows of the cluster.

use std::sync::Arc;

use slipway_engine::WaitHandler;
use slipway_generated_secrets::{GeneratedSecrets, Vault};
use slipway_plan::Providers;
use slipway_provider_kubernetes::Kubernetes;
use slipway_resource::Value;
use slipway_resource::provider::SessionRequest;

use crate::access::{ClusterAccess, KnownApi};
use crate::composition::{self, Linked};
use crate::error::Error;
use crate::providers::{self, KUBERNETES};

/// The providers of one stage of an operation.
///
/// A cluster on hosts has two providers beside its own: the secrets in its state, and the objects behind its API. A cluster
/// whose machines a provider makes has each of them where a plan or the state has its resources. One whose settings name an API
/// has the latter for its nodes. Both need what becomes known only on the way: the hold, the place of the API, whether there is one. Each stage knows that from its
/// beginning and opens sessions of its own; the sessions of the cluster's own provider are the same in all stages.
pub(crate) struct Stage {
    /// All providers.
    pub providers: Providers,
    /// Those beside the cluster's own.
    pub linked: Providers,
    /// The secrets that the cluster keeps itself.
    pub vault: Arc<Vault>,
    /// The way to the cluster's API.
    pub access: Arc<ClusterAccess>,
}

impl Stage {
    /// Opens the sessions of a stage. Makes no other calls. `linked` names the providers that a cluster needs
    /// whose machines its provider makes.
    pub async fn open(
        own: &Providers,
        cluster: &str,
        (vault, api, needed): (Vault, KnownApi, Linked),
        (waits, offline): (WaitHandler, bool),
    ) -> Result<Self, Error> {
        let sessions = own.iter().map(|(name, handle)| (name.to_owned(), handle.session.clone()));
        let vault = Arc::new(vault.with_services(sessions));
        let nodes = api.nodes.clone().filter(|_| !offline);
        let access = Arc::new(ClusterAccess::new(vault.clone(), cluster, api));
        let (mut providers, mut linked) = (own.clone(), Providers::default());
        let request = || SessionRequest { config: Value::Null, region: None, offline };
        let has_hosts = composition::has_hosts(own);
        if has_hosts || needed.keys {
            let secrets = GeneratedSecrets::new(vault.clone());
            providers::add(waits.clone(), &mut linked, slipway_generated_secrets::NAME, &secrets, request())
                .await?;
        }
        if has_hosts || needed.objects || nodes.is_some() {
            let mut kubernetes = Kubernetes::new(access.clone());
            if let Some(nodes) = nodes {
                kubernetes = kubernetes.with_nodes_by(nodes);
            }
            providers::add(waits, &mut linked, KUBERNETES, &kubernetes, request()).await?;
        }
        for (name, handle) in linked.iter() {
            providers.insert(name, handle.clone());
        }
        Ok(Self { providers, linked, vault, access })
    }
}
