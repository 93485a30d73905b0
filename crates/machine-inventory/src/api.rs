//! The kinds of the group `infrastructure.cluster.x-k8s.io/v1beta1`, with the fields of Elemental's provider.
//!
//! The custom resource definitions are made from these types ([`crate::crds`]).

mod cluster;
mod common;
mod host;
mod machine;
mod registration;

pub use cluster::{
    ClusterTemplate, ElementalCluster, ElementalClusterSpec, ElementalClusterStatus,
    ElementalClusterTemplate, ElementalClusterTemplateSpec, Endpoint, EndpointElection, IpFamily, KubeVip,
};
pub use common::{AddressType, Initialization, MachineAddress, ObjectReference};
pub use host::{
    ElementalHost, ElementalHostSpec, ElementalHostStatus, EndpointReservation, HostAddress, Phase,
    VirtualAddress,
};
pub use machine::{
    ElementalMachine, ElementalMachineSpec, ElementalMachineStatus, ElementalMachineTemplate,
    ElementalMachineTemplateSpec, MachineTemplate,
};
pub use registration::{
    Config, ElementalConfig, ElementalRegistration, ElementalRegistrationSpec, ElementalRegistrationStatus,
    Registration,
};

/// The API group of the kinds.
pub const GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// The API version of the kinds.
pub const VERSION: &str = "v1beta1";
