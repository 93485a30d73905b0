//! Resources of a cluster from Slipway's specs on existing machines.
//!
//! [`expand`] turns a cluster and the [`Placement`] of its machines into resources: the authorities and
//! tokens that its state keeps, the resources of every machine, and the objects in the cluster. All founding
//! control planes begin together: their etcd members know each other, and their authorities come from the
//! state. Later ones join, one after the other. Pure: the same input gives the same resources.

mod authorities;
mod configuration;
mod effects;
mod egress_proxy;
mod emulation;
mod endpoint;
mod hooks;
mod images;
mod machine;
mod mirrors;
mod nodes;
mod objects;
mod packages;
mod preflight;
mod programs;
mod rotation;
mod settings;
mod weakened;

use slipway_cluster_input::ClusterInput;
use slipway_resource::provider::ExpandNote;
use slipway_resource::{Desired, Value};

use crate::expand::ExpandError;

pub(crate) use configuration::{of_machine, serving_names};
pub(crate) use objects::{audit, flannel};

pub use authorities::{
    AT_REST, CA, ENCRYPTION_CONFIGURATION, ETCD_CA, FRONT_PROXY_CA, JOIN_TOKEN, SERVICE_ACCOUNTS,
    configuration_name, keys,
};
pub use effects::{WithoutEffect, without_effect};
pub use emulation::FLAG as EMULATED_VERSION;
pub use endpoint::endpoint;
pub use hooks::hooks_without_effect;
pub use images::images_without_effect;
pub use machine::{FoundNode, Founder, Machine, Placement};
pub use nodes::turns_of_removals;
pub use objects::{UserObjects, settings_of_proxies};
pub use preflight::questions;
pub use programs::{lists_installed, lists_kubelet, programs_without_effect};
pub use rotation::{RotatedKey, Rotation, Stage, name_of_generation};

/// Why a cluster cannot be expanded on its machines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FromClusterError {
    /// A node cannot be expanded.
    #[error("{machine} cannot be expanded")]
    Node {
        /// The machine.
        machine: String,
        /// Why.
        #[source]
        source: ExpandError,
    },
    /// There is no control plane among the machines.
    #[error("the cluster {0} has no machine for its control plane")]
    NoControlPlane(String),
    /// The endpoint is a load balancer, which Slipway does not create for existing machines.
    #[error(
        "the cluster {0} asks for a load balancer, which Slipway does not create for machines that exist already"
    )]
    LoadBalancer(String),
    /// The spec lists kubelets, but not one for every machine.
    #[error("`assets.programs` lists kubelets, and none that fits {}", .0.join("; "))]
    NoKubelet(Vec<String>),
    /// The spec lists programs that not every machine can have.
    #[error("`assets.programs` lists programs that not every host can have: {}", .0.join("; "))]
    NoPrograms(Vec<String>),
    /// The spec has hooks, packages or a proxy, and machines without systemd.
    #[error("`nodeFiles.hooks`, `packages` and `egressProxy` need systemd, which these hosts do not have: {}", .0.join(", "))]
    NoSystemd(Vec<String>),
}

impl FromClusterError {
    /// The stable code of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Node { source, .. } => source.code(),
            Self::NoControlPlane(_) => "CLUSTER0001",
            Self::LoadBalancer(_) => "CLUSTER0002",
            Self::NoKubelet(_) => "CLUSTER0003",
            Self::NoPrograms(_) => "CLUSTER0004",
            Self::NoSystemd(_) => "CLUSTER0005",
        }
    }

    /// The hint, if there is one.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Node { .. } => None,
            Self::NoControlPlane(_) => Some("add a NodePool with `role: controlPlane` and `hosts`"),
            Self::LoadBalancer(_) => {
                Some("write `endpoint: { elected: {} }`, a `virtualIp`, or a `given` address that you keep")
            }
            Self::NoKubelet(_) => Some(
                "list a file with `name: kubelet`, this `version` and this `architecture` in `assets.programs.files`, or list no kubelet: \
                 then hosts run the one that is installed on them",
            ),
            Self::NoPrograms(_) => Some(
                "list the program for each `architecture` in `assets.programs.files`, or not at all: then hosts run what is installed on \
                 them",
            ),
            Self::NoSystemd(_) => {
                Some("write hooks and packages into pools of hosts with systemd, and remove `egressProxy`")
            }
        }
    }
}

/// The resources of a cluster, and remarks for the user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expanded {
    /// The resources, sorted by address.
    pub resources: Vec<Desired>,
    /// Remarks on fields of the spec.
    pub notes: Vec<ExpandNote>,
}

/// The resources of a cluster on its machines, with the objects that the user brings.
///
/// # Errors
/// When the cluster does not fit these machines.
pub fn expand(
    cluster: &ClusterInput,
    placement: &Placement,
    user: &[UserObjects],
) -> Result<Expanded, FromClusterError> {
    let endpoint = endpoint(cluster, placement)?;
    programs::check(cluster, placement)?;
    hooks::check(cluster, placement)?;
    let mut resources = authorities::resources(cluster, placement);
    let mut nodes = nodes::nodes(cluster, placement, &endpoint)?;
    resources.append(&mut nodes.resources);
    resources.extend(objects::of_users(user, &nodes.after));
    resources.sort_by(|one, other| one.address.cmp(&other.address));
    resources.dedup_by(|one, other| one.address == other.address);
    let mut notes = objects::notes(cluster);
    notes.extend(mirrors::note(cluster, placement));
    notes.extend(images::notes(cluster));
    Ok(Expanded { resources, notes })
}

/// Makes resources on a host depend on the provider's own resources for that host, such as its claim and its
/// agent.
#[must_use]
pub fn after_claims(mut resources: Vec<Desired>, claims: &[Desired]) -> Vec<Desired> {
    let host = |desired: &Desired| desired.attributes.get("host").and_then(Value::as_str).map(str::to_owned);
    for desired in &mut resources {
        let Some(own) = host(desired) else { continue };
        let before = claims.iter().filter(|claim| host(claim).as_ref() == Some(&own));
        desired.depends_on.extend(before.map(|claim| claim.address.clone()));
    }
    resources
}

#[cfg(test)]
mod tests;
