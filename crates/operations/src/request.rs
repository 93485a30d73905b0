//! Requests and the terms on which they are executed.

use std::time::Duration;

use slipway_plan::{Mode, Options, Unfinished};

use crate::composition;
use crate::error::Error;
use crate::opened::Opened;
use crate::rotation::RotationChange;
use crate::version_change::VersionChange;

/// The kind of plan that is requested, with its options.
#[derive(Clone, Debug)]
pub struct Request {
    /// The kind of plan.
    pub mode: Mode,
    /// Options beside the spec.
    pub options: Options,
    /// For an upgrade: the scope of the plan, and the omitted changes.
    pub(crate) version_change: Option<VersionChange>,
    /// For a rotation: the stage, which is the scope of the plan.
    pub(crate) rotation: Option<RotationChange>,
    /// For a deletion: whether a run that did not complete may have taken the protection away.
    pub(crate) unprotect: bool,
}

impl Request {
    fn new(mode: Mode, options: Options) -> Self {
        Self { mode, options, version_change: None, rotation: None, unprotect: false }
    }

    /// Brings a cluster to its spec. Providers check beforehand for problems that would stop the plan.
    #[must_use]
    pub fn apply() -> Self {
        Self::new(Mode::Apply, Options { preflight: true, ..Options::default() })
    }

    /// The same with other options: a part of the cluster, resources to replace, no preflight.
    #[must_use]
    pub fn apply_with(options: Options) -> Self {
        Self::new(Mode::Apply, options)
    }

    /// Shows changes since the last apply. The cluster is the recorded one: [`crate::state::recorded`].
    #[must_use]
    pub fn drift() -> Self {
        Self::new(Mode::Drift, Options::default())
    }

    /// Deletes a cluster. With `delete_retained`, resources that its spec keeps are deleted too. With
    /// `unprotect`, also an incomplete run removes the protection from deletion. Providers check beforehand
    /// for problems that would stop the plan.
    #[must_use]
    pub fn delete(delete_retained: bool, unprotect: bool) -> Self {
        let options = Options { delete_retained, preflight: true, ..Options::default() };
        Self { unprotect, ..Self::new(Mode::Delete, options) }
    }

    /// The same request without the preflight checks of the providers.
    #[must_use]
    pub fn without_preflight(mut self) -> Self {
        self.options.preflight = false;
        self
    }

    /// Deletes what was made for a subject, with these options.
    #[must_use]
    pub fn delete_with(options: Options) -> Self {
        Self::new(Mode::Delete, options)
    }

    /// Replaces the machines of pools although nothing asks for it; of all pools without names. `unfinished` says what happens to
    /// an earlier roll of these pools that did not end.
    ///
    /// # Errors
    /// When the cluster does not exist yet, is on hosts, or has no such pool.
    pub fn roll(opened: &Opened, pools: &[String], unfinished: Unfinished) -> Result<Self, Error> {
        opened.spec.check_pools(pools)?;
        opened.check_exists("roll")?;
        if composition::has_hosts(opened.providers()) {
            return Err(Error::RollOnHosts { cluster: opened.spec.cluster.name.to_string() });
        }
        let roll = Some(pools.to_vec());
        let options = Options { preflight: true, roll, unfinished, ..Options::default() };
        Ok(Self::new(Mode::Apply, options))
    }

    /// Changes the version of a cluster and nothing else.
    pub(crate) fn version(change: VersionChange) -> Self {
        let options = Options { preflight: true, ..Options::default() };
        Self { version_change: Some(change), ..Self::new(Mode::Apply, options) }
    }

    /// Changes the stage of a rotation of a key and nothing else.
    pub(crate) fn rotation(change: RotationChange) -> Self {
        let options =
            Options { preflight: true, overwrites: change.overwrites.clone(), ..Options::default() };
        Self { rotation: Some(change), ..Self::new(Mode::Apply, options) }
    }

    /// The operation as the history names it.
    pub(crate) fn operation(&self) -> &'static str {
        match self.mode {
            Mode::Delete => "delete",
            _ if self.version_change.is_some() => "upgrade",
            _ if self.rotation.is_some() => "rotate",
            _ if self.options.roll.is_some() => "roll",
            _ => "apply",
        }
    }
}

/// The terms on which a plan is executed.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// How long to wait for another process that holds the cluster.
    pub wait: Option<Duration>,
    /// The approvals that a plan needs.
    pub approvals: Approvals,
    /// Whether to create infrastructure that will not become a working cluster.
    pub infrastructure_only: bool,
}

/// The approvals that a plan needs before it is executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Approvals {
    /// The number of approvals; 0 if a plan needs none.
    pub needed: u16,
    /// Whether the approval of the caller does not count.
    pub by_other: bool,
}

impl Approvals {
    /// The number of approvals that are needed.
    pub(crate) fn number(self) -> u16 {
        self.needed.max(u16::from(self.by_other))
    }

    /// Whether no approval is needed.
    pub(crate) fn are_needless(self) -> bool {
        self.number() == 0
    }

    /// The approvals that both policies demand.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { needed: self.needed.max(other.needed), by_other: self.by_other || other.by_other }
    }
}
