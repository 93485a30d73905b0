//! The file of an administrator on control planes, which one plan cannot change from credentials to the one of the profile
//! `hardened` that has none, or back: the new file is made before the former one is deleted, at the same path.

use slipway_plan::Snapshot;
use slipway_spec::model::{Cluster, Endpoint, Profile, VirtualIpHolder};

use crate::diagnose;
use crate::error::Error;
use crate::spec::ClusterSpec;
use crate::state::spec_of;

/// The content of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Credentials of an administrator.
    Credentials,
    /// The address of the cluster alone.
    NoCredentials,
    /// There is no file.
    Absent,
}

impl Content {
    fn of(cluster: &Cluster) -> Self {
        // kube-vip works with the credentials.
        let has_kube_vip = matches!(&cluster.control_plane.endpoint, Endpoint::VirtualIp(address)
            if address.holder == VirtualIpHolder::KubeVip);
        match cluster.profile {
            Profile::Kubeadm => Self::Credentials,
            _ if has_kube_vip => Self::Credentials,
            Profile::Hardened => Self::NoCredentials,
            Profile::Slipway => Self::Absent,
        }
    }
}

/// Refuses a spec that changes one of the two files into the other.
///
/// # Errors
/// When the spec of the state cannot be read, or the spec does that.
pub(super) fn check(prior: Option<&Snapshot>, spec: &ClusterSpec) -> Result<(), Error> {
    let Some(prior) = prior.filter(|prior| !prior.resources.is_empty()) else { return Ok(()) };
    let Some(applied) = spec_of(prior)? else { return Ok(()) };
    match (Content::of(&applied), Content::of(&spec.cluster)) {
        (Content::Credentials, Content::NoCredentials) | (Content::NoCredentials, Content::Credentials) => {
            let field =
                if applied.profile == spec.cluster.profile { "controlPlane.endpoint" } else { "profile" };
            Err(diagnose::administrator_file(spec.place(field)))
        }
        _ => Ok(()),
    }
}
