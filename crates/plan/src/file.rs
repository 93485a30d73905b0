//! The plan as it is reviewed, kept and executed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slipway_resource::provider::{Catalog, ExpandNote, PreflightFinding, RateClass, Scope};
use slipway_resource::{Address, ClusterUid, Digest};

use crate::change::{ChangeAction, ResourceChange};
use crate::derived;
use crate::error::Error;
use crate::ignored::Ignored;
use crate::lint::lint;
use crate::losses;
use crate::prices::Prices;
use crate::providers::Providers;
use crate::scope::LeftOut;
use crate::soundness;
use crate::state::Snapshot;
use crate::step::Step;

/// Version of the usual form of a plan file. Version 2 has steps on the nodes of machines, version 3 the digest of the state that
/// the plan was made from.
pub const FORMAT: u32 = 3;

/// Version of the form of a plan file with dependencies of resources that do not change. A plan without them has the usual form, which
/// former readers take.
pub const WITH_DEPENDENCIES: u32 = 4;

/// The newest version of a plan file's form; a reader refuses any newer one. Version 5 names the run that did not end before the plan
/// was made.
pub const NEWEST: u32 = 5;

/// A plan: the changes of resources, and the order of the steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this form.
    pub format: u32,
    /// The cluster's name.
    pub cluster: String,
    /// The kind of plan.
    pub mode: Mode,
    /// The state and versions that it was made from, and to which it may be applied.
    pub binding: Binding,
    /// The spec with all defaults, as JSON of the internal type. The state keeps it after the plan is
    /// applied.
    #[serde(default)]
    pub spec: serde_json::Value,
    /// The resources that change, sorted by address.
    pub changes: Vec<ResourceChange>,
    /// How many resources stay as they are.
    pub unchanged: u64,
    /// The dependencies of resources that stay as they are, where the state has other ones: it records them when the plan is
    /// carried out. They alone are no change, and no step belongs to them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dependencies: BTreeMap<Address, Vec<Address>>,
    /// Changes that were made outside Slipway, sorted by address; including those that no step reverts.
    #[serde(default)]
    pub drift: Vec<ResourceChange>,
    /// Resources that stay in the cloud although the spec or the cluster is deleted.
    #[serde(default)]
    pub kept: Vec<ResourceChange>,
    /// The graph. A step's dependencies come before it.
    pub steps: Vec<Step>,
    /// Later plans that follow this one, in words: the further hops of an upgrade.
    #[serde(default)]
    pub outlook: Vec<String>,
    /// How many changes a plan of a part leaves out.
    #[serde(default)]
    pub left_out: u64,
    /// Which ones, sorted by address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<LeftOut>,
    /// Resources that differ from the spec and do not change, because `ignoreChanges` leaves their differences alone; sorted by
    /// address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<Ignored>,
    /// Remarks of the providers on fields of the spec, and on machines of pools that do not change.
    #[serde(default)]
    pub notes: Vec<ExpandNote>,
    /// Problems found by the providers that would stop it.
    #[serde(default)]
    pub findings: Vec<PreflightFinding>,
    /// Properties of the spec that its infrastructure does not implement. With any of them, an apply needs
    /// `--infrastructure-only`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub infrastructure_only: Vec<String>,
    /// Whether infrastructure alone was asked for when it was made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub infrastructure_accepted: bool,
    /// The protection from deletion as it is when the plan is carried out, where the plan changes it: no resource shows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sets_protection: Option<bool>,
    /// The monthly price, where the providers know prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// Pace limits by rate class, as the estimate used them.
    #[serde(default)]
    pub rate_classes: BTreeMap<String, RateClass>,
    /// Expected duration of the whole in milliseconds.
    pub estimate_ms: u64,
    /// Length of the longest chain of steps in milliseconds.
    pub critical_path_ms: u64,
}

/// The kinds of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Brings the cluster to its spec.
    Apply,
    /// Removes the cluster.
    Delete,
    /// Shows what changed behind Slipway's back; has no steps.
    Drift,
}

/// The state and versions that a plan was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// The cluster's unique id; unknown before its first apply.
    pub uid: Option<ClusterUid>,
    /// The head's generation; `None` for a plan without state.
    pub generation: Option<u64>,
    /// Digest of the stored state of this generation: the same number can belong to another state after a rebuild. `None` for a
    /// plan without state, and in files of version 2 and older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Digest>,
    /// The run that did not end, and whose results the plan was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<Continued>,
    /// Digest of the spec with all defaults.
    pub spec_digest: Digest,
    /// The pinned choices of each provider.
    pub catalogs: BTreeMap<String, Catalog>,
    /// By provider: which one made the plan.
    pub providers: BTreeMap<String, ProviderPin>,
}

impl Binding {
    /// Whether the plan may be about the state with this digest. A plan that does not name a state may be about any.
    #[must_use]
    pub fn is_of(&self, state: Option<&Digest>) -> bool {
        self.snapshot.is_none() || self.snapshot.as_ref() == state
    }
}

/// A run that did not end, with its progress. A plan that was made after it starts from what it has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Continued {
    /// The digest of its plan.
    pub plan: Digest,
    /// The epoch in which it began.
    pub epoch: u64,
    /// How many steps are done since the last commit, those of runs before it included.
    pub done: u64,
}

/// Which provider made a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderPin {
    /// Its version.
    pub version: String,
    /// Digest of its schema.
    pub schema_digest: Digest,
    /// The account and region.
    pub scope: Scope,
    /// Its configuration from the spec; secrets by reference.
    pub config: slipway_resource::Value,
}

impl Plan {
    /// A plan of a cluster that changes nothing, does nothing and says nothing, with a spec of JSON's `null`.
    #[must_use]
    pub fn without_changes(cluster: &str, mode: Mode, binding: Binding) -> Self {
        Self {
            format: FORMAT,
            cluster: cluster.to_owned(),
            mode,
            binding,
            spec: serde_json::Value::Null,
            changes: Vec::new(),
            unchanged: 0,
            dependencies: BTreeMap::new(),
            drift: Vec::new(),
            kept: Vec::new(),
            steps: Vec::new(),
            outlook: Vec::new(),
            left_out: 0,
            pending: Vec::new(),
            ignored: Vec::new(),
            notes: Vec::new(),
            findings: Vec::new(),
            infrastructure_only: Vec::new(),
            infrastructure_accepted: false,
            sets_protection: None,
            prices: None,
            rate_classes: BTreeMap::new(),
            estimate_ms: 0,
            critical_path_ms: 0,
        }
    }

    /// Whether it does nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.steps.is_empty()
    }

    /// Whether something could not be decided.
    #[must_use]
    pub fn has_deferred(&self) -> bool {
        self.changes.iter().any(|change| change.action == ChangeAction::Deferred)
    }

    /// The digest that names the plan: the same inputs give the same one.
    ///
    /// # Errors
    /// When the plan cannot be written as JSON.
    pub fn digest(&self) -> Result<Digest, Error> {
        Digest::of(self).map_err(Error::Write)
    }

    /// The plan file: one JSON document with the digest beside the plan.
    ///
    /// # Errors
    /// When the plan cannot be written as JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        self.to_bytes_with(None)
    }

    /// The plan file with something sealed beside the plan; the digest is the plan's alone.
    ///
    /// # Errors
    /// As [`Plan::to_bytes`].
    pub fn to_bytes_with(&self, sealed: Option<&serde_json::Value>) -> Result<Vec<u8>, Error> {
        let document = Written { kind: KIND, digest: self.digest()?, sealed, plan: self };
        serde_json::to_vec(&document).map_err(Error::Write)
    }

    /// Reads a plan file.
    ///
    /// # Errors
    /// When it is no plan file, of another version, or not as its digest says.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Ok(Self::from_bytes_with(bytes)?.0)
    }

    /// Reads a plan file, with what is sealed beside the plan.
    ///
    /// # Errors
    /// As [`Plan::from_bytes`].
    pub fn from_bytes_with(bytes: &[u8]) -> Result<(Self, Option<serde_json::Value>), Error> {
        let head: Head = serde_json::from_slice(bytes).map_err(Error::NotAPlan)?;
        if head.kind != KIND {
            return Err(Error::WrongKind { kind: head.kind });
        }
        if head.plan.format == 0 || head.plan.format > NEWEST {
            return Err(Error::Format { found: head.plan.format, supported: NEWEST });
        }
        let document: Document = serde_json::from_slice(bytes).map_err(Error::NotAPlan)?;
        if document.plan.digest()? != document.digest {
            return Err(Error::Damaged);
        }
        if let Some(fault) = soundness::fault(&document.plan) {
            return Err(Error::Unsound { fault });
        }
        Ok((document.plan, document.sealed))
    }
}

impl Plan {
    /// Checks a read plan for what the file alone tells: digests, totals, limits of steps, and the order of the steps, as they follow
    /// from its other parts.
    ///
    /// # Errors
    /// [`Error::Unsound`] with the part that was edited.
    pub fn check_alone(&self) -> Result<(), Error> {
        match derived::alone::fault(self) {
            Some(fault) => Err(Error::Unsound { fault }),
            None => Ok(()),
        }
    }

    /// Checks a read plan against the types of its resources: a loss that they require a confirmation for
    /// must be marked, and steps must have the order that follows from the references and holders of the changes. The marks and
    /// the order in a plan file alone are not trusted.
    ///
    /// # Errors
    /// When a change would lose data and the plan requires no confirmation, or a step does not wait for one that comes before it.
    pub fn check_losses(&self, providers: &Providers, prior: Option<&Snapshot>) -> Result<(), Error> {
        let type_of = |kind: &str| providers.of_type(kind).map(|(_, _, declared)| declared);
        let fault = soundness::hidden_loss(self, &type_of, prior);
        match fault.or_else(|| lint(self, &type_of).into_iter().next()) {
            Some(fault) => Err(Error::Unsound { fault }),
            None => Ok(()),
        }
    }

    /// Holds the objects that the plan deletes, and that the state does not have at their addresses, against what the providers find
    /// by the ownership of the cluster.
    ///
    /// # Errors
    /// When the cluster does not own one of them, or a provider cannot be asked.
    pub async fn check_owners(&self, providers: &Providers, prior: Option<&Snapshot>) -> Result<(), Error> {
        losses::check_owners(self, providers, prior).await
    }

    /// Holds the objects that the plan changes or deletes against those that the state has at their addresses. Not for a run that
    /// is taken up again: its state has changed since.
    ///
    /// # Errors
    /// When the plan names another object.
    pub fn check_identities(&self, prior: Option<&Snapshot>) -> Result<(), Error> {
        let others = self.changes.iter().filter(|change| {
            change.action.is_replace() || matches!(change.action, ChangeAction::Update | ChangeAction::Delete)
        });
        for change in others {
            let Some(identity) = &change.identity else { continue };
            let address = change.previous_address.as_ref().unwrap_or(&change.address);
            let Some(record) = prior.and_then(|prior| prior.resources.get(address)) else { continue };
            if record.identity != *identity && !record.deposed.contains(identity) {
                let fault =
                    format!("{address} is {} in the state, and the plan names {identity}", record.identity);
                return Err(Error::Unsound { fault });
            }
        }
        Ok(())
    }

    /// Derives the changes again from what is carried out, by the types and the providers, and holds them against those that the
    /// plan shows: values, differences, marks, limits of steps, machines of rolls and needed confirmations. Not for a run that is
    /// taken up again: its state has changed since.
    ///
    /// # Errors
    /// When one of them differs, and when a provider cannot plan.
    pub async fn check_derived(&self, providers: &Providers, prior: Option<&Snapshot>) -> Result<(), Error> {
        derived::check(self, providers, prior).await
    }

    /// The same as [`Plan::check_losses`] for the data of machines that leave, which providers tell from the pools as they exist.
    /// Not for a run that is taken up again: its pools have changed since. The machines must also leave within the budgets of their
    /// pools.
    ///
    /// # Errors
    /// As [`Plan::check_losses`], when machines leave too early, and when a pool whose machines leave cannot be read.
    pub async fn check_machines(&self, providers: &Providers, prior: Option<&Snapshot>) -> Result<(), Error> {
        losses::check(self, providers, prior).await?;
        losses::check_budgets(self, providers, prior).await
    }
}

/// The value of the kind in every plan file.
pub const KIND: &str = "slipway-plan";

/// A plan file as it is written.
#[derive(Serialize)]
struct Written<'a> {
    kind: &'a str,
    digest: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed: Option<&'a serde_json::Value>,
    plan: &'a Plan,
}

/// A plan file as it is read; the kind was looked at before.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "kind")]
    _kind: serde::de::IgnoredAny,
    digest: Digest,
    #[serde(default)]
    sealed: Option<serde_json::Value>,
    plan: Plan,
}

/// The part of a plan file that every version has.
#[derive(Deserialize)]
struct Head {
    kind: String,
    plan: PlanHead,
}

#[derive(Deserialize)]
struct PlanHead {
    format: u32,
}
