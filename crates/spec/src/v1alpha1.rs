//! The documents of `slipway.dev/v1alpha1`, which users write.
//!
//! Groups of fields whose defaults do not depend on others are the model's own types. The checked-in JSON
//! schemas are the contract of this version. A change of the model that would change them makes their test
//! fail; this module then needs a separate type.

mod cluster;
mod convert;
mod defaults;
mod environment;
mod full;
mod host;
mod network;
mod node_pool;
mod order;
mod reader;

pub use cluster::{
    AuditSpec, ClusterDocument, ClusterMetadata, ClusterSpec, ControlPlaneSpec, EtcdClusterSpec,
    EtcdMemberSpec, ServiceAccountsSpec,
};
pub use environment::{
    EnvironmentDocument, EnvironmentMetadata, EnvironmentPatch, EnvironmentSpec, OperationKind,
    PatchOperation, PatchTarget, VariableDeclaration, VariableType,
};
pub use full::full_documents;
pub(crate) use full::usual_members;
pub use host::{HostDocument, HostMetadata, HostSpec};
pub use network::{NetworkSpec, SubnetSpec};
pub use node_pool::{NodePoolDocument, NodePoolMetadata, NodePoolSpec, RolloutSpec};
pub use order::keep_order;
pub use reader::V1Alpha1;

/// The `apiVersion` of these documents.
pub const API_VERSION: &str = "slipway.dev/v1alpha1";
