//! The provider traits: embedded providers implement them, and so does the gRPC client.
//!
//! The rules that every implementation keeps are in `docs/design/provider-contract.md`; the conformance suite
//! proves them.

mod act;
mod actual;
mod adoption;
mod balancing;
mod desire;
mod identity;
mod instances;
mod keys;
mod lifecycle;
mod nodes;
mod planning;
mod pricing;
mod routing;

use async_trait::async_trait;
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::{Address, ErrorClass, Identity, Observed, ProviderError, Schema, Token, Value};

pub use act::{Action, Applied, ApplyEvent, ApplyRequest, EventSink, Resolution, ResumeRequest};
pub use actual::{DiscoverRequest, Discovery, ReadRequest, Unlisted};
pub use adoption::{LocateItem, LocateRequest, Located};
pub use balancing::{
    BalancedPort, BalancedService, BalancerKey, DesiredBalancer, Ingress, IngressPoint, IngressPort,
    IpFamily, IpMode, LoadBalancer, LoadBalancers, NodeTarget, PortProtocol, balancer_name,
};
pub use desire::{Catalog, CatalogRequest, ExpandNote, ExpandRequest, Expansion};
pub use identity::{CREDENTIAL_BYTES, NodeChallenge, VerifiedNode, VerifyNodeRequest};
pub use instances::{
    Instance, InstanceAnswer, InstanceQuery, InstancesRequest, NodeAddress, NodeAddressKind,
};
pub use keys::{UnwrapKeyRequest, WrapKeyRequest};
pub use lifecycle::{Capabilities, Info, RateClass, Scope, SessionRequest, Terms, executable_name};
pub use nodes::{Node, NodeReference};
pub use planning::{
    Disruption, DryRun, Fate, Member, OnBlocked, PlanItem, Planned, PreflightFinding, PreflightItem,
    Prerequisite, Rollout, operation,
};
pub use pricing::{MonthlyPrice, PriceReport, ResourcePrice};
pub use routing::{NewRoute, Route, Routes};

/// A provider: a source of sessions.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Name, version, limits.
    ///
    /// # Errors
    /// When the provider cannot be reached.
    async fn info(&self) -> Result<Info, ProviderError>;

    /// All resource types. The same for the whole life of the process.
    ///
    /// # Errors
    /// When the provider cannot be reached.
    async fn schema(&self) -> Result<Arc<Schema>, ProviderError>;

    /// Problems of a configuration beyond its schema, each as a sentence; empty when it is good.
    ///
    /// # Errors
    /// When the provider cannot be reached.
    async fn validate_config(&self, config: &Value) -> Result<Vec<String>, ProviderError>;

    /// Opens a session with one account in one region. Opening changes nothing in the cloud.
    ///
    /// # Errors
    /// `invalid` for a bad configuration, `unauthenticated` and `permission` as the cloud says.
    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError>;

    /// Opens a session on terms. A provider that writes nothing while it only looks, and whose settings run no command, has no
    /// need of its own answer.
    ///
    /// # Errors
    /// As for [`Self::open_session`], and when a setting that the caller does not vouch for asks for too much.
    async fn open_session_on(
        &self,
        request: SessionRequest,
        _terms: Terms,
    ) -> Result<Arc<dyn Session>, ProviderError> {
        self.open_session(request).await
    }
}

/// A provider at work in one account and region.
#[async_trait]
pub trait Session: Send + Sync {
    /// Which account and region this is.
    fn scope(&self) -> &Scope;

    /// A snapshot of what only the cloud knows (zones, machine types, images); pinned in the state.
    ///
    /// # Errors
    /// As the cloud says.
    async fn catalog(&self) -> Result<Catalog, ProviderError>;

    /// The catalog for one cluster: the pinned choices of the state, and the additional ones that the cluster
    /// needs. A provider whose catalog is the same for all clusters need not implement it.
    ///
    /// # Errors
    /// The error of the cloud.
    async fn catalog_for(&self, request: CatalogRequest) -> Result<Catalog, ProviderError> {
        match request.pinned {
            Some(pinned) => Ok(pinned),
            None => self.catalog().await,
        }
    }

    /// Pure: the typed resources of a cluster. The same input gives the same answer, byte for byte.
    ///
    /// # Errors
    /// `invalid` when the cluster asks for what the provider cannot give.
    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError>;

    /// Every object that carries the cluster's ownership.
    ///
    /// # Errors
    /// When nothing can be listed at all; a type that cannot be listed is named in the answer instead.
    async fn discover(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError>;

    /// Reads objects by identity; one answer for each request, in their order.
    ///
    /// # Errors
    /// When nothing can be read at all; one object that cannot be read is `Unreadable` in its answer.
    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError>;

    /// Finds the objects that another tool made for what a cluster wants, by that tool's names and tags; one answer
    /// for each item, in their order. Objects with an ownership of Slipway's are never among them. Optional.
    ///
    /// # Errors
    /// `invalid` when the provider cannot do this; as the cloud says.
    async fn locate(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        let text = format!("this provider cannot look for what others made for cluster {}", request.cluster);
        Err(ProviderError::new(ErrorClass::Invalid, text))
    }

    /// The nodes of the cluster behind the session, sorted by name. Changes nothing. Called only if [`Capabilities::nodes`] is declared.
    ///
    /// # Errors
    /// When the nodes cannot be read. They are then unreadable, and not absent.
    async fn nodes(&self) -> Result<Vec<Node>, ProviderError> {
        Err(ProviderError::new(ErrorClass::Invalid, "this provider knows no nodes"))
    }

    /// Asks the cloud for the result of desired changes without side effects, as in a dry run. Returns one
    /// answer for each item, in their order, for use in [`Session::plan`]. Called only if
    /// [`Capabilities::dry_run`] is declared.
    ///
    /// # Errors
    /// When no dry run is possible. A refusal of the cloud is not an error: it is a finding of
    /// [`Session::preflight`].
    async fn dry_run(&self, items: Vec<PlanItem>) -> Result<Vec<DryRun>, ProviderError> {
        Ok(items.iter().map(|_| DryRun::default()).collect())
    }

    /// Pure: the plan of each change; one answer for each item, in their order.
    ///
    /// # Errors
    /// `invalid` with the address of an impossible item.
    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError>;

    /// Problems that would stop these changes: permissions, quotas, capacity, names in use. Changes nothing.
    ///
    /// # Errors
    /// When no check is possible.
    async fn preflight(&self, items: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError>;

    /// Pure: the monthly prices of the resources, before and after the changes, from a price list of the
    /// provider. References stay, so that the price of one resource may depend on another. Called only if
    /// [`Capabilities::price`] is declared.
    ///
    /// # Errors
    /// `invalid` when the list cannot be read.
    async fn price(&self, items: Vec<PlanItem>) -> Result<PriceReport, ProviderError> {
        let _ = items;
        Ok(PriceReport::default())
    }

    /// Does one action. Events go to `events` as they happen, the identity before the first wait. Repeating a
    /// request with the same token has no second effect.
    ///
    /// # Errors
    /// By class; `outcome-unknown` when it is not certain that nothing happened.
    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError>;

    /// Finds the outcome of an action, after a crash or an unknown outcome. Waits for an action that still
    /// runs.
    ///
    /// # Errors
    /// The error of the cloud; the outcome then stays unknown.
    async fn resume(&self, request: ResumeRequest, events: EventSink) -> Result<Resolution, ProviderError>;

    /// Asks a running action to stop as soon as that is safe; without token, all of them.
    ///
    /// # Errors
    /// When the provider cannot be reached.
    async fn cancel(&self, token: Option<Token>) -> Result<(), ProviderError>;

    /// Rewrites attributes kept under an older schema version.
    ///
    /// # Errors
    /// `invalid` when that version is not known.
    async fn upgrade_state(
        &self,
        kind: &str,
        version: u32,
        attributes: Value,
    ) -> Result<Value, ProviderError>;

    /// Finds an object by the id that users know, in order to adopt it, as [`Session::read`] does.
    ///
    /// # Errors
    /// `not-found`, or the error of the cloud.
    async fn import(&self, address: &Address, identity: &Identity) -> Result<Observed, ProviderError> {
        let request = ReadRequest { address: address.clone(), identity: identity.clone() };
        let read = self.read(vec![request]).await?.into_iter().next();
        let missing = || ProviderError::new(ErrorClass::Permanent, format!("{address} was not read"));
        read.ok_or_else(missing)?.existing()
    }

    /// Wraps a data key with a key of the cloud's key service. Optional, together with [`Session::unwrap_key`].
    ///
    /// # Errors
    /// `invalid` when the provider has no key service; as the cloud says.
    async fn wrap_key(&self, request: WrapKeyRequest) -> Result<Vec<u8>, ProviderError> {
        Err(no_key_service(&request.key))
    }

    /// Unwraps what [`Session::wrap_key`] has wrapped, for the same key and scope. Optional.
    ///
    /// # Errors
    /// `invalid` when the provider has no key service, or when this is not what the key has wrapped for that scope; as
    /// the cloud says.
    async fn unwrap_key(&self, request: UnwrapKeyRequest) -> Result<Zeroizing<Vec<u8>>, ProviderError> {
        Err(no_key_service(&request.key))
    }

    /// A credential that proves which machine of the cloud this is, for one challenge. Called on the machine
    /// itself. Optional, together with [`Session::verify_node`], declared in [`Capabilities`].
    ///
    /// # Errors
    /// `invalid` when the provider has no machines; the error of the cloud.
    async fn bootstrap_credential(&self, challenge: NodeChallenge) -> Result<Vec<u8>, ProviderError> {
        Err(no_node_identity(&challenge.server))
    }

    /// Which machine has shown a credential, when it is one of the cluster's and the credential is for this challenge.
    /// Called on a control plane. Optional.
    ///
    /// # Errors
    /// `permission` when the machine is refused, with the reason; `invalid` when the provider knows no machines; as the
    /// cloud says.
    async fn verify_node(&self, request: VerifyNodeRequest) -> Result<VerifiedNode, ProviderError> {
        Err(no_node_identity(&request.challenge.server))
    }

    /// The instances of the cloud behind nodes; one answer for each query, in their order. Changes nothing. Called only if
    /// [`Capabilities::instances`] is declared.
    ///
    /// # Errors
    /// When nothing can be said about any of them. An answer of the cloud that is incomplete is such a failure, or makes the
    /// instances that it does not contain unreadable; it never makes them absent.
    async fn instances(&self, request: InstancesRequest) -> Result<Vec<InstanceAnswer>, ProviderError> {
        let text = format!("this provider knows no instances of cluster {}", request.cluster);
        Err(ProviderError::new(ErrorClass::Invalid, text))
    }

    /// The load balancers of the account, for a cloud controller. `None` unless
    /// [`Capabilities::load_balancers`] is declared. The engine uses none.
    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        None
    }

    /// The routes of the account, for a cloud controller. `None` unless [`Capabilities::routes`] is declared. The engine uses
    /// none.
    fn routes(&self) -> Option<&dyn Routes> {
        None
    }

    /// Ends the session; nothing may be asked of it afterwards.
    ///
    /// # Errors
    /// When the provider cannot be reached.
    async fn close(&self) -> Result<(), ProviderError>;
}

fn no_node_identity(server: &str) -> ProviderError {
    let text = format!("this provider proves the identity of no machine, so that {server} knows none");
    ProviderError::new(ErrorClass::Invalid, text)
}

fn no_key_service(key: &str) -> ProviderError {
    let text = format!("this provider has no key service, so that there is no key {key}");
    ProviderError::new(ErrorClass::Invalid, text)
}
