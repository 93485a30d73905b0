//! The types of a node, and what each of them must be able to do.

mod api_balancer;
mod api_server_encryption;
mod authority_trust;
mod certificate;
mod certificate_request;
mod control_plane_recovery;
mod directory;
mod encrypted_objects;
mod etcd_backup;
mod etcd_member;
mod etcd_restore;
mod etcd_voter;
mod file;
mod form;
mod installed_programs;
mod kernel_module;
mod key_pair;
mod kubeconfig;
mod kubelet_credentials;
mod kubelet_state;
mod network_state;
mod program;
mod self_hosted_pod;
mod service;
mod static_pod;
mod sysctl;
mod system_account;
mod virtual_address;
mod x509;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value as Json;
use slipway_resource::provider::{Applied, ApplyEvent, EventSink, PlanItem, Planned};
use slipway_resource::{Address, ErrorClass, Identity, ProviderError, ResourceType, Schema, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::attributes::Attributes;
use crate::config::Config;
use crate::error::invalid;
use crate::host::Host;
use crate::ledger::{Entry, Found};

use file::digest as file_digest;
pub use file::{DISCLOSE, SEALED};
pub(crate) use form::RATE_CLASS;
pub(crate) use static_pod::Manifest;
pub use static_pod::images_of_pod;

/// The type of a file.
pub const FILE: &str = "file";
/// The type of a kubeconfig.
pub const KUBECONFIG: &str = "kubeconfig";
/// The type of a static pod.
pub const STATIC_POD: &str = "static_pod";
/// The type of a member of etcd.
pub const ETCD_MEMBER: &str = "etcd_member";
/// The type of the vote of a member of etcd.
pub const ETCD_VOTER: &str = "etcd_voter";

/// An object of a type.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) host: Arc<Host>,
    pub(crate) identity: Identity,
    /// The ledger's entry of the object.
    pub(crate) entry: Option<Entry>,
}

impl Place {
    /// The record of the type.
    pub(crate) fn memory(&self) -> &Json {
        self.entry.as_ref().map_or(&Json::Null, |entry| &entry.memory)
    }

    /// The desired attributes of the last step, without texts of secrets.
    pub(crate) fn wanted(&self) -> Attributes<'_> {
        Attributes(self.entry.as_ref().map_or(&Value::Null, |entry| &entry.wanted))
    }

    /// Does what blocks elsewhere.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Self, &Host) -> Result<T, ProviderError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let place = self.clone();
        self.host.blocking(move |host| look(&place, host)).await
    }
}

/// One action on an object.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) place: Place,
    /// The desired attributes; null for a delete.
    pub(crate) desired: Value,
    pub(crate) events: EventSink,
    pub(crate) stop: CancellationToken,
    pub(crate) deadline: Instant,
}

impl Work {
    pub(crate) fn host(&self) -> &Arc<Host> {
        &self.place.host
    }

    pub(crate) fn wanted(&self) -> Attributes<'_> {
        Attributes(&self.desired)
    }

    pub(crate) fn identity(&self) -> &str {
        self.place.identity.as_str()
    }

    /// Tells people what is going on.
    pub(crate) fn tell(&self, text: impl Into<String>) {
        self.events.send(ApplyEvent::Progress(text.into()));
    }

    /// Whether the object existed before and stays when it is not desired any more; if so, this is reported.
    pub(crate) fn stays(&self) -> bool {
        let stays = self.place.entry.as_ref().is_some_and(|entry| entry.found == Found::Kept);
        if stays {
            self.tell(format!("{} was there before and stays", self.identity()));
        }
        stays
    }

    /// Waits a little, or not, when the action was cancelled or its time is over.
    pub(crate) async fn pause(&self, time: std::time::Duration) -> Result<(), ProviderError> {
        let until = Instant::now() + time;
        if until >= self.deadline {
            return Err(ProviderError::new(ErrorClass::Permanent, "the time for this step is over"));
        }
        tokio::select! {
            () = tokio::time::sleep_until(until) => Ok(()),
            () = self.stop.cancelled() => Err(self.cancelled()),
        }
    }

    /// Cancelled, with the object that is left.
    pub(crate) fn cancelled(&self) -> ProviderError {
        let mut error = ProviderError::new(ErrorClass::Cancelled, "stopped while it waited");
        error.identity = Some(self.place.identity.clone());
        error
    }

    /// Does what blocks elsewhere.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Work) -> Result<T, ProviderError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let work = self.clone();
        self.host().blocking(move |_| act(&work)).await
    }
}

/// A type of objects of a node.
///
/// Creation and change are one operation, [`Kind::make`]: from any existing object to the desired one. It may
/// be called again after an interruption at any point.
#[async_trait]
pub(crate) trait Kind: Send + Sync {
    /// Its attributes.
    fn resource_type(&self) -> ResourceType;

    /// The identity of the object, from the desired attributes.
    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError>;

    /// Pure: converts the desired attributes into those that a read will return. `planned.normalised` has the
    /// desired ones with their defaults already, and unknown for attributes that the node sets.
    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        let _ = (item, planned);
        Ok(())
    }

    /// Checks what exists in the object's place, before the first change.
    ///
    /// # Errors
    /// `conflict` when an existing object must not be changed.
    async fn look(&self, work: &Work) -> Result<Found, ProviderError>;

    /// Returns the record to store before the object is changed, so that an interrupted change is understood.
    async fn foresee(&self, work: &Work) -> Result<Json, ProviderError> {
        Ok(work.place.memory().clone())
    }

    /// Makes the object as desired; returns the record of it.
    async fn make(&self, work: &Work) -> Result<Json, ProviderError>;

    /// Takes the object away, as far as it is ours; one that is gone already is a success.
    async fn remove(&self, work: &Work) -> Result<(), ProviderError>;

    /// Removes from the cluster what other machines see of an object that is not in the ledger and stays
    /// here. Called when the machine leaves a cluster that continues.
    async fn part(&self, work: &Work) -> Result<(), ProviderError> {
        let _ = work;
        Ok(())
    }

    /// Its attributes; `None` when it is not there.
    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError>;

    /// Runs a gate that the type declares.
    async fn operate(&self, work: &Work, name: &str, arguments: &Value) -> Result<Applied, ProviderError> {
        let _ = (work, arguments);
        Err(invalid(format!("there is no operation {name}")))
    }
}

/// All types by name.
pub(crate) struct Kinds(BTreeMap<&'static str, Box<dyn Kind>>);

impl Kinds {
    pub(crate) fn new() -> Self {
        let kinds: [(&'static str, Box<dyn Kind>); 26] = [
            ("api_balancer", Box::new(api_balancer::ApiBalancer)),
            ("api_server_encryption", Box::new(api_server_encryption::ApiServerEncryption)),
            ("authority_trust", Box::new(authority_trust::AuthorityTrust)),
            ("certificate", Box::new(certificate::Certificate)),
            ("certificate_request", Box::new(certificate_request::CertificateRequest)),
            ("control_plane_recovery", Box::new(control_plane_recovery::ControlPlaneRecovery)),
            ("directory", Box::new(directory::Directory)),
            ("encrypted_objects", Box::new(encrypted_objects::EncryptedObjects)),
            ("etcd_backup", Box::new(etcd_backup::EtcdBackup)),
            (ETCD_MEMBER, Box::new(etcd_member::EtcdMember)),
            (ETCD_VOTER, Box::new(etcd_voter::EtcdVoter)),
            (FILE, Box::new(file::File)),
            ("installed_programs", Box::new(installed_programs::InstalledPrograms)),
            ("kernel_module", Box::new(kernel_module::KernelModule)),
            ("key_pair", Box::new(key_pair::KeyPair)),
            (KUBECONFIG, Box::new(kubeconfig::Kubeconfig)),
            ("kubelet_credentials", Box::new(kubelet_credentials::KubeletCredentials)),
            ("kubelet_state", Box::new(kubelet_state::KubeletState)),
            ("network_state", Box::new(network_state::NetworkState)),
            ("program", Box::new(program::Program)),
            ("self_hosted_pod", Box::new(self_hosted_pod::SelfHostedPod)),
            ("service", Box::new(service::Service)),
            (STATIC_POD, Box::new(static_pod::StaticPod)),
            ("sysctl", Box::new(sysctl::Sysctl)),
            ("system_account", Box::new(system_account::SystemAccount)),
            ("virtual_address", Box::new(virtual_address::VirtualAddress)),
        ];
        Self(BTreeMap::from(kinds))
    }

    /// The type of an address.
    pub(crate) fn of(&self, address: &Address) -> Result<&dyn Kind, ProviderError> {
        self.0.get(address.kind()).map(AsRef::as_ref).ok_or_else(|| {
            invalid(format!("{}: a node has no such type", address.kind())).with_address(address)
        })
    }

    /// The names of the types.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    pub(crate) fn schema(&self) -> Schema {
        Schema {
            config: Config::schema(),
            types: self.0.iter().map(|(name, kind)| ((*name).to_owned(), kind.resource_type())).collect(),
        }
    }
}
