//! Reasons of conditions.

/// Why a cluster is ready, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The last plan was empty.
    InSync,
    /// A plan is being applied.
    Applying,
    /// The policy applies no plans.
    PlanOnly,
    /// The plan needs approvals.
    ApprovalNeeded,
    /// The plan destroys, rolls or interrupts something.
    NotSafe,
    /// The plan loses data, which a person has to confirm by name.
    ConfirmationNeeded,
    /// A person has paused the cluster.
    Paused,
    /// No maintenance window is open.
    OutsideWindow,
    /// A freeze holds.
    Frozen,
    /// Clusters that come before it are not in line with the revision yet.
    WaitsFor,
    /// Something was changed outside Slipway, and the policy reports that only.
    Drifted,
    /// Another process holds the cluster.
    Held,
    /// An attempt failed, and is repeated.
    Failed,
    /// The run stopped before its end, and goes on.
    Stopped,
    /// A run of another plan was interrupted.
    Interrupted,
    /// The spec has problems.
    SpecInvalid,
    /// The spec is not in the source any more.
    SpecVanished,
    /// Two specs have the same name.
    Duplicate,
    /// A person has deleted the cluster, or has begun to, and its spec is still in the source.
    Deleted,
    /// The spec is in another source than the one that the cluster belongs to.
    SourceChanged,
    /// The source cannot be read, or is refused.
    SourceProblem,
}

/// What a reason means for the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub ready: bool,
    pub reconciling: bool,
    pub stalled: bool,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 21] = [
        Self::InSync,
        Self::Applying,
        Self::PlanOnly,
        Self::ApprovalNeeded,
        Self::NotSafe,
        Self::ConfirmationNeeded,
        Self::Paused,
        Self::OutsideWindow,
        Self::Frozen,
        Self::WaitsFor,
        Self::Drifted,
        Self::Held,
        Self::Failed,
        Self::Stopped,
        Self::Interrupted,
        Self::SpecInvalid,
        Self::SpecVanished,
        Self::Duplicate,
        Self::Deleted,
        Self::SourceChanged,
        Self::SourceProblem,
    ];

    /// As the condition has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::InSync => "InSync",
            Self::Applying => "Applying",
            Self::PlanOnly => "PlanOnly",
            Self::ApprovalNeeded => "ApprovalNeeded",
            Self::NotSafe => "NotSafe",
            Self::ConfirmationNeeded => "ConfirmationNeeded",
            Self::Paused => "Paused",
            Self::OutsideWindow => "OutsideWindow",
            Self::Frozen => "Frozen",
            Self::WaitsFor => "WaitsFor",
            Self::Drifted => "Drifted",
            Self::Held => "Held",
            Self::Failed => "Failed",
            Self::Stopped => "Stopped",
            Self::Interrupted => "Interrupted",
            Self::SpecInvalid => "SpecInvalid",
            Self::SpecVanished => "SpecVanished",
            Self::Duplicate => "Duplicate",
            Self::Deleted => "Deleted",
            Self::SourceChanged => "SourceChanged",
            Self::SourceProblem => "SourceProblem",
        }
    }

    /// Whether a notification can be sent for it. The others come and go within each attempt.
    pub(crate) fn is_told(self) -> bool {
        !matches!(self, Self::Applying | Self::Held | Self::Stopped)
    }

    /// Whether a plan waits that a person can apply at any time, or a person has to apply one or delete the cluster.
    pub(crate) fn ends_with_run(self) -> bool {
        matches!(
            self,
            Self::PlanOnly
                | Self::ApprovalNeeded
                | Self::NotSafe
                | Self::ConfirmationNeeded
                | Self::Paused
                | Self::OutsideWindow
                | Self::Frozen
                | Self::WaitsFor
                | Self::Drifted
                | Self::Interrupted
                | Self::SpecVanished
                | Self::Deleted
        )
    }

    /// Whether it is about the spec or its source, so that the present spec, if there is one, was not planned.
    pub(crate) fn is_about_spec(self) -> bool {
        matches!(
            self,
            Self::SpecInvalid
                | Self::SpecVanished
                | Self::Duplicate
                | Self::SourceChanged
                | Self::SourceProblem
        )
    }

    /// Whether receivers that name no reasons get a notification for it: a person has to act, or this is over.
    pub(crate) fn is_told_by_default(self) -> bool {
        let waits = [Self::PlanOnly, Self::Paused, Self::OutsideWindow, Self::Frozen, Self::WaitsFor];
        self.is_told() && !waits.contains(&self)
    }

    pub(crate) fn meaning(self) -> Meaning {
        let (reconciling, stalled) = match self {
            Self::Applying | Self::Held | Self::Failed | Self::Stopped => (true, false),
            Self::Interrupted
            | Self::SpecInvalid
            | Self::SpecVanished
            | Self::Duplicate
            | Self::Deleted
            | Self::SourceChanged
            | Self::SourceProblem => (false, true),
            Self::InSync
            | Self::PlanOnly
            | Self::ApprovalNeeded
            | Self::NotSafe
            | Self::ConfirmationNeeded
            | Self::Paused
            | Self::OutsideWindow
            | Self::Frozen
            | Self::WaitsFor
            | Self::Drifted => (false, false),
        };
        Meaning { ready: self == Self::InSync, reconciling, stalled }
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.word())
    }
}
