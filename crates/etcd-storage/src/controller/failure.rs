//! Why an `EtcdStorage` is not as desired.

use slipway_bootstrap::pki;
use slipway_controller::kube;

use crate::proxy;
use crate::storage::InvalidValidity;

use super::signers::DamagedSigners;

/// Why an `EtcdStorage` is not as desired.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The spec cannot be fulfilled.
    #[error("{0}")]
    Spec(String),
    /// An object of that name exists, and is not the `EtcdStorage`'s.
    #[error(
        "{kind} {name} exists and does not belong to this EtcdStorage: delete it, or use another name for the EtcdStorage"
    )]
    Foreign {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
    },
    /// The authorities cannot be read.
    #[error("Secret {name} is damaged: {cause}. Delete it: new authorities and certificates are made then")]
    Damaged {
        /// The name of the Secret.
        name: String,
        /// Why.
        cause: DamagedSigners,
    },
    /// A key or certificate cannot be made.
    #[error(transparent)]
    Pki(#[from] pki::Error),
    /// The API refused, or gave no answer.
    #[error("{}", explained(.0))]
    Api(#[from] kube::Error),
    /// The core etcd refused, or gave no answer.
    #[error("{0}")]
    Core(#[from] proxy::Error),
    /// The core etcd gave no answer in time.
    #[error("the core etcd did not answer in time")]
    CoreSilent,
}

impl Failure {
    /// Whether an object was changed by another writer, so that the next attempt starts from the new one.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Api(kube::Error::Api(status)) if status.code == 409)
    }
}

impl From<InvalidValidity> for Failure {
    fn from(error: InvalidValidity) -> Self {
        Self::Spec(error.to_string())
    }
}

/// The message of an answer of the API without its Rust form.
pub(crate) fn explained(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => slipway_resource::with_causes(other),
    }
}
