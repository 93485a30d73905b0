//! Phases made into the resources that they consist of.
//!
//! [`init`], [`join_worker`] and [`join_control_plane`] say what a node must look like as resources
//! ([`slipway_resource::Desired`]) of the providers `node` and `kubernetes`, each under the name of its phase
//! ([`crate::phase`]). They depend on each other only where they have to: kubeconfigs on the CA, static pods on their
//! certificates and on the kubelet, API objects on the API server. Pure: the same configuration, facts and inputs give
//! the same resources.

mod api_balancer;
mod certificates;
mod cluster;
mod control_plane;
mod etcd_backup;
mod facts;
mod host;
mod init;
mod inputs;
mod join;
mod kubeconfigs;
mod kubelet;
mod objects;
mod phased;
mod requests;
mod upload;
mod virtual_address;

use crate::patch::PatchError;

pub use facts::{Facts, InitSystem};
pub use host::on_host;
pub use init::init;
pub use inputs::{Discovered, EtcdBackup, Inputs, KubeletProgram, Tokens, VirtualAddress};
pub use join::{join_control_plane, join_worker};
pub use phased::Phased;
pub use requests::certificate_requests;
pub use upload::{UploadedFile, upload_certificates};

/// Why a node cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// A patch cannot be read or does not fit.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// A bootstrap token is not known yet.
    #[error("a bootstrap token has no text: generate it first, or leave out the phase bootstrap-token")]
    Token,
    /// The results of discovery are missing.
    #[error("nothing is known of the cluster to join: discover it first")]
    Undiscovered,
}

impl ExpandError {
    /// The stable code of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Patch(error) => error.code(),
            Self::Token => "EXPAND0010",
            Self::Undiscovered => "EXPAND0011",
        }
    }
}

#[cfg(test)]
mod tests;
