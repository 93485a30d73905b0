//! The inputs of a plan, and the options of the user.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::provider::{Catalog, ExpandNote};
use slipway_resource::{Address, ClusterUid, Desired, Identity, Turn};

use crate::file::Mode;
use crate::observations::Observations;
use crate::providers::Providers;
use crate::reason::Located;
use crate::requested::Unfinished;
use crate::state::Snapshot;

/// Options of the user besides the spec.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only these resources, those that they depend on, and on deletion those that depend on them; `*` for
    /// anything.
    pub targets: Vec<String>,
    /// Resources to replace although they have no difference.
    pub replace: Vec<String>,
    /// Whether a deletion also deletes objects that the spec keeps (backups).
    pub delete_retained: bool,
    /// Resources that a deletion keeps by the spec of the cluster, whatever the state says. `None` where the spec was not
    /// asked: then the state decides.
    pub retained: Option<BTreeSet<Address>>,
    /// Pools whose machines are replaced although they need no replacement, by name or address. An empty list
    /// means all of them, `None` means none. The plan is about these pools, their parts and their
    /// dependencies only.
    pub roll: Option<Vec<String>>,
    /// What happens to a roll of these pools that did not end. That of other pools is continued.
    pub unfinished: Unfinished,
    /// Only these resources and their dependencies, as for a change of version. `None` for no such limit.
    pub only: Option<BTreeSet<Address>>,
    /// Whether the providers check for problems that would stop the plan.
    pub preflight: bool,
    /// Whether the plan uses infrastructure that does not implement all that the spec asks for.
    pub infrastructure_only: bool,
    /// The fingerprints of keys in files that this plan overwrites with other keys, as a stage of a rotation does: the state
    /// keeps these keys. Any other plan refuses to overwrite a key.
    pub overwrites: BTreeSet<String>,
    /// The turns in which resources are deleted that are not desired any more. Others are deleted as soon as nothing needs them.
    pub removal_turns: BTreeMap<Address, Turn>,
    /// Existing objects that become those of resources without a record, as the spec says. They are among the observations.
    pub imports: BTreeMap<Address, Identity>,
}

impl Options {
    /// Whether the plan is about a part of the cluster only, and may leave out pending changes.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        !self.targets.is_empty() || self.roll.is_some() || self.only.is_some()
    }
}

/// All inputs of a plan.
pub struct Inputs<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// Its unique id, when it has one.
    pub uid: Option<ClusterUid>,
    /// The kind of plan.
    pub mode: Mode,
    /// The spec with all defaults.
    pub spec: serde_json::Value,
    /// The fields of the spec that differ from those that were applied last ([`fields::causes`](crate::fields::causes)).
    pub changed: Vec<String>,
    /// The desired resources, in any order; none for a deletion.
    pub desired: Vec<Desired>,
    /// The providers' remarks on the spec.
    pub notes: Vec<ExpandNote>,
    /// The state of the last commit.
    pub prior: Option<&'a Snapshot>,
    /// The head's generation, with a state.
    pub generation: Option<u64>,
    /// The objects that were found.
    pub observations: Observations,
    /// The providers that the plan uses.
    pub providers: &'a Providers,
    /// The pinned choices of each provider.
    pub catalogs: BTreeMap<String, Catalog>,
    /// Resources whose secrets cannot be compared with what was applied last.
    pub uncompared: BTreeMap<Address, Uncompared>,
    /// The options of the user.
    pub options: Options,
    /// The position of a field of the spec in its file.
    pub locate: &'a (dyn Fn(&str) -> Option<Located> + Send + Sync),
}

/// Why the secrets of a resource cannot be compared with those that were applied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Uncompared {
    /// A text cannot be read here, with the reason: the plan defers the resource.
    Unread(String),
    /// The state recorded a fingerprint, and the key of the fingerprint is gone: the plan records the secrets again after a
    /// confirmation that names the resource. The prior snapshot does not have such fingerprints.
    Forgotten,
}
