//! Why an operation did not happen, or did not end.

mod explain;
mod problem;
mod version;

pub use explain::store_hint;
pub use problem::{DownloadProblem, KubeletProblem};
use problem::{approvals, found, of_another, of_name, problems};
pub use version::VersionError;

use std::path::PathBuf;

use slipway_bootstrap::from_cluster::FromClusterError;
use slipway_engine::Foreign;
use slipway_plan::Confirmation;
use slipway_resource::provider::PreflightFinding;
use slipway_resource::{Address, AddressError, Identity, ProviderError};
use slipway_spec::diagnostic::Diagnostic;
use slipway_spec::stored::Unreadable;
use slipway_spec::value::KubernetesVersion;
use slipway_trust::Refusal;

use crate::adopting::KeyProblem;
use crate::decide::Declined;

/// Why an operation did not happen, or did not end.
///
/// [`Error::code`] is the stable code with a page in `docs/errors/`, [`Error::causes`] and [`Error::hints`] are the
/// other lines that a person reads.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The state store refused.
    #[error(transparent)]
    Store(#[from] slipway_state_store::Error),
    /// A run could not begin or go on.
    #[error(transparent)]
    Engine(#[from] slipway_engine::Error),
    /// No plan can be made.
    #[error(transparent)]
    Plan(#[from] slipway_plan::Error),
    /// Secrets cannot be sealed or opened.
    #[error(transparent)]
    Secrets(#[from] slipway_secrets::Error),
    /// A provider cannot be started.
    #[error(transparent)]
    Protocol(#[from] slipway_protocol::Error),
    /// A provider that was asked outside of a plan's steps refused.
    #[error("{}", .0.message)]
    Provider(#[from] ProviderError),
    /// The trust policy refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The state of an archive is not imported.
    #[error(transparent)]
    Import(#[from] crate::importing::Refusal),
    /// The cluster cannot be expanded on its machines.
    #[error(transparent)]
    Expansion(#[from] FromClusterError),
    /// The decision was negative, or could not be made.
    #[error(transparent)]
    Declined(#[from] Declined),
    /// The version of Kubernetes is not changed.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// Problems of the specs, each with its place.
    #[error("the specs have {}; nothing was done", problems(.0))]
    Specs(Vec<Diagnostic>),
    /// The manifest of an add-on cannot be read.
    #[error("{source}")]
    Manifest {
        /// Why.
        source: slipway_provider_kubernetes::files::Error,
        /// The add-on.
        addon: String,
    },
    /// Two manifests have the same object.
    #[error("{place}: {object} is there already, in {first}")]
    DoubledObject {
        /// The manifest.
        place: String,
        /// The object.
        object: String,
        /// The manifest that has it, too.
        first: String,
    },
    /// The manifest of an add-on cannot be fetched from its URL.
    #[error("the add-on {addon} is at {url}, {problem}")]
    Download {
        /// The add-on.
        addon: String,
        /// Where its manifest is.
        url: String,
        /// The problem.
        problem: DownloadProblem,
    },
    /// A file that a spec names cannot be read.
    #[error("{what} {} cannot be used", path.display())]
    File {
        /// The description of the file.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Something that should not be.
    #[error("{what}")]
    Internal {
        /// The operation that is not possible.
        what: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An operation on the state, without a state.
    #[error("{cluster} is planned without a state; nothing was done")]
    NoState {
        /// The cluster.
        cluster: String,
    },
    /// The provider that plans offline is not built.
    #[error("what plans {provider} offline is not built: {} does not exist", path.display())]
    NotBuilt {
        /// The provider.
        provider: String,
        /// The missing path.
        path: PathBuf,
    },
    /// An entry of `moved` or `import` in the spec names no resource.
    #[error("an entry of `moved` or `import` names no resource: {0}")]
    BadRename(AddressError),
    /// The state has no such cluster.
    #[error("the state has no cluster `{cluster}`")]
    UnknownCluster {
        /// The cluster.
        cluster: String,
        /// Where the state is.
        place: String,
    },
    /// The state does not have the spec of a cluster.
    #[error("the state of `{cluster}` does not have its spec")]
    NoRecordedSpec {
        /// The cluster.
        cluster: String,
    },
    /// The state has a spec that this version cannot read.
    #[error("{cluster}: the spec in the state cannot be read")]
    UnreadableSpec {
        /// The cluster.
        cluster: String,
        /// Why.
        #[source]
        source: Unreadable,
    },
    /// The hosts that a provider has pinned in the state cannot be read.
    #[error("{cluster}: the hosts in the state cannot be read")]
    UnreadableHosts {
        /// The cluster.
        cluster: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// A key of the cluster cannot be rotated.
    #[error("{subject} of {cluster} cannot be rotated: {why}")]
    CannotRotate {
        /// The cluster.
        cluster: String,
        /// The key, as the command line names it.
        subject: &'static str,
        /// Why not.
        why: String,
    },
    /// A stage of a rotation was interrupted, and another plan would undo a part of it.
    #[error("the rotation of {subject} of {cluster} was interrupted in a stage; nothing was planned")]
    RotationInterrupted {
        /// The cluster.
        cluster: String,
        /// The key, as the command line names it.
        subject: &'static str,
    },
    /// A rotation has no way back.
    #[error("the rotation of {subject} of {cluster} has no way back: {why}")]
    NoWayBack {
        /// The cluster.
        cluster: String,
        /// The key, as the command line names it.
        subject: &'static str,
        /// Why not.
        why: String,
    },
    /// The state reached another stage of a rotation while this one was decided.
    #[error("{cluster}: the rotation of {subject} has reached another stage since this command began")]
    RotationMoved {
        /// The cluster.
        cluster: String,
        /// The key, as the command line names it.
        subject: &'static str,
    },
    /// A verb that changes a running cluster where there is none.
    #[error(
        "{cluster} was not applied yet: the state in {place} has no generation of it; {verb} creates nothing"
    )]
    NotMadeYet {
        /// The cluster.
        cluster: String,
        /// Where the state is.
        place: String,
        /// The verb.
        verb: &'static str,
    },
    /// A cluster exists that this state store has never had.
    #[error(
        "{objects} objects of a cluster {cluster} ({uid}) exist, and this state store has no state of it; nothing was planned"
    )]
    UnknownToStore {
        /// The cluster.
        cluster: String,
        /// Its unique id in the ownership of its objects.
        uid: String,
        /// How many objects were found.
        objects: usize,
    },
    /// Neither an upgrade nor a rotation begins without a snapshot of etcd.
    #[error("{cluster}: no snapshot of etcd could be saved before the {work}; nothing was changed")]
    Unsaved {
        /// The cluster.
        cluster: String,
        /// What does not begin: an upgrade or a rotation.
        work: &'static str,
        /// Why the last machine that was asked did not save one.
        #[source]
        source: Box<Error>,
    },
    /// The state names objects whose ownership contradicts it.
    #[error("the state of {cluster} contradicts the ownership tags of objects; nothing was planned")]
    Foreign {
        /// The cluster.
        cluster: String,
        /// The objects.
        objects: Vec<Foreign>,
    },
    /// A key differs although the state is whole.
    #[error(transparent)]
    SoundState(Box<slipway_plan::Error>),
    /// Fields of the spec that have no effect on machines that exist already.
    #[error(
        "{cluster}: {} no effect on machines that exist already; nothing was done",
        if fields.len() == 1 { "a field has" } else { "fields have" }
    )]
    WithoutEffect {
        /// The cluster.
        cluster: String,
        /// Each field with its place and why it has none.
        fields: Vec<String>,
    },
    /// A pool that the cluster does not have.
    #[error("{cluster} has no pool `{pool}`")]
    UnknownPool {
        /// The cluster.
        cluster: String,
        /// The pool.
        pool: String,
        /// The pools that it has.
        pools: Vec<String>,
    },
    /// No control plane has a snapshot of this name that can be opened.
    #[error("no control plane of {cluster} has a snapshot {name} that can be opened")]
    NoSnapshot {
        /// The cluster.
        cluster: String,
        /// The name.
        name: String,
    },
    /// Etcd has a majority, so it is not recovered.
    #[error("etcd of {cluster} is not recovered: {why}")]
    EtcdHasMajority {
        /// The cluster.
        cluster: String,
        /// What shows that.
        why: String,
    },
    /// No data of etcd is left that can be reached.
    #[error("etcd of {cluster} cannot be recovered: {}", missing.join("; "))]
    NothingToRecover {
        /// The cluster.
        cluster: String,
        /// What is missing on each control plane.
        missing: Vec<String>,
    },
    /// A recovery that was interrupted cannot go on.
    #[error("the recovery of etcd of {cluster} cannot go on: {why}")]
    RecoveryInterrupted {
        /// The cluster.
        cluster: String,
        /// Why not.
        why: String,
    },
    /// The name of the actor can be taken for that of another person.
    #[error("the actor `{name}` {}", of_name(name))]
    AmbiguousActor {
        /// The name.
        name: String,
    },
    /// Too few persons have approved a change beside the plans of a cluster.
    #[error("{change}: this change needs {} and has {}; nothing was done", approvals(*needed), found(*counted))]
    UnapprovedChange {
        /// The operation and its cluster, and the digest of the change.
        change: String,
        /// The required number of approvals.
        needed: u16,
        /// The number of approvals that count.
        counted: usize,
        /// The person who makes the change, if their own approval does not count.
        own: Option<String>,
    },
    /// Machines have lost the data of etcd, and no majority of the members answers.
    #[error(
        "the plan of {cluster} would begin an empty etcd in place of the one that its state has; nothing was planned"
    )]
    EtcdEmptied {
        /// The cluster.
        cluster: String,
        /// What was found of each member, in sentences.
        members: Vec<String>,
        /// Whether a member is left that may have its data.
        survives: bool,
    },
    /// Nothing of the cluster takes snapshots of its etcd.
    #[error("no machine of {cluster} takes snapshots of etcd")]
    NoBackups {
        /// The cluster.
        cluster: String,
    },
    /// No machine of the cluster has a member of etcd that can be asked.
    #[error("no machine of {cluster} has a member of etcd that Slipway can ask")]
    NoMembers {
        /// The cluster.
        cluster: String,
    },
    /// The machines of a cluster on hosts would delete backups that the named spec keeps: they have what was applied last.
    #[error(
        "the spec keeps the backups of etcd {etcd} when {cluster} is deleted, and its hosts do not; nothing was done"
    )]
    BackupsNotKept {
        /// The cluster.
        cluster: String,
        /// The etcd cluster.
        etcd: String,
    },
    /// Hosts are not replaced.
    #[error("{cluster} is on hosts, which Slipway does not replace; nothing was done")]
    RollOnHosts {
        /// The cluster.
        cluster: String,
    },
    /// The cluster is protected from deletion.
    #[error("{cluster} is protected from deletion; nothing was done")]
    Protected {
        /// The cluster.
        cluster: String,
        /// The complete generation that protects it, where a run that did not complete takes the protection away.
        lifted_since: Option<u64>,
    },
    /// A provider says that the plan cannot work.
    #[error("this plan cannot work; nothing was done")]
    CannotWork(Vec<PreflightFinding>),
    /// The plan creates infrastructure that will not become a working cluster.
    #[error("the plan makes infrastructure that will not be a working cluster; nothing was done")]
    InfrastructureOnly {
        /// What the infrastructure lacks, a sentence each.
        missing: Vec<String>,
        /// Whether the plan was saved: it cannot be changed any more.
        is_saved: bool,
    },
    /// The plan loses data that was not confirmed by name.
    #[error("the plan needs confirmations by name; nothing of it was done")]
    Unconfirmed(Vec<Confirmation>),
    /// Too few persons have approved the plan.
    #[error(
        "plan {plan} needs {}{} and has {}; nothing was done",
        approvals(*needed),
        of_another(own.as_deref()),
        found(*counted)
    )]
    Unapproved {
        /// The cluster.
        cluster: String,
        /// The digest of the plan.
        plan: String,
        /// Whether the state store has the plan.
        is_stored: bool,
        /// The operation that made the plan, as the history names it; `None` for a plan that was saved.
        operation: Option<&'static str>,
        /// How many it needs.
        needed: u16,
        /// How many count.
        counted: usize,
        /// The person who applies the plan, if their own approval does not count.
        own: Option<String>,
        /// Whether the approval of the person who applies the plan would not count.
        by_other: bool,
    },
    /// A run was interrupted, and nothing but an apply may change the state.
    #[error("a run of {cluster} was interrupted; its state is not settled")]
    Interrupted {
        /// The cluster.
        cluster: String,
        /// The version of the upgrade, if the run was one.
        upgrade: Option<KubernetesVersion>,
    },
    /// The state store has no such plan.
    #[error("{message}")]
    StoredPlan {
        /// The problem of the reference.
        message: String,
        /// Plans that it may mean.
        candidates: Vec<String>,
        /// A way to solve it.
        hint: Option<&'static str>,
    },
    /// A resource that the state does not have.
    #[error("the state of {cluster} has no resource `{first}`")]
    UnknownResource {
        /// The cluster.
        cluster: String,
        /// The first pattern without a match.
        first: String,
        /// The other ones.
        more: Vec<String>,
    },
    /// The state has the cluster that is to be adopted.
    #[error("there is a state of {cluster} already; nothing was done")]
    KnownCluster {
        /// The cluster.
        cluster: String,
    },
    /// Several objects fit one resource.
    #[error("several objects fit the same resource; nothing was done")]
    AmbiguousObjects(Vec<(Address, Vec<Identity>)>),
    /// A control plane lacks files that an adoption needs.
    #[error("the control plane {machine} does not have {}; nothing was done", files.join(", "))]
    MissingFiles {
        /// The control plane.
        machine: String,
        /// The files.
        files: Vec<String>,
    },
    /// The keys of a cluster cannot be read from the store of the tool that made it.
    #[error("{object}: the keys of {cluster} cannot be read; nothing was done")]
    KeyStore {
        /// The cluster.
        cluster: String,
        /// The object, or the folder.
        object: String,
        /// Why.
        #[source]
        source: KeyProblem,
    },
    /// No host has a control plane.
    #[error("no host of {cluster} has a control plane; there is nothing to take over")]
    NothingToAdopt {
        /// The cluster.
        cluster: String,
    },
    /// The state is not damaged.
    #[error("the state of {cluster} is not damaged; nothing was done")]
    NotDamaged {
        /// The cluster.
        cluster: String,
    },
    /// The cluster has no API that Slipway could give access to.
    #[error("{cluster} has no Kubernetes API: provider {provider} makes machines that do not run Kubernetes")]
    NoApi {
        /// The cluster.
        cluster: String,
        /// Its provider.
        provider: String,
    },
    /// The state does not have the authority of the cluster.
    #[error("the state of {cluster} has no authority that could let somebody in")]
    NoAuthority {
        /// The cluster.
        cluster: String,
    },
}

impl Error {
    /// Something that should not be.
    pub fn internal(what: &'static str, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Internal { what, source: error.into() }
    }

    /// The same error about a plan that was saved.
    pub(crate) fn of_saved_plan(self) -> Self {
        match self {
            Self::InfrastructureOnly { missing, .. } => Self::InfrastructureOnly { missing, is_saved: true },
            other => other,
        }
    }
}
