//! Rules of the protocol, broken one at a time.

use super::world::World;

/// The broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutation {
    /// A holder that was replaced takes the hold of its successor for its own.
    HoldIsNotCompared,
    /// The head is written without a condition.
    CommitWithoutSwap,
    /// The journal of the epoch before is left open.
    SealIsSkipped,
    /// A segment is written without a condition.
    AppendOverwrites,
    /// An append that finds its place taken continues at the next one.
    AppendGoesOn,
    /// Taking over does not count the epoch up.
    EpochStays,
    /// A refused write is taken for one that an earlier attempt did.
    RefusedIsDone,
    /// A write whose answer was lost is taken for done.
    LostIsDone,
    /// A snapshot is said to include the segment that is written next.
    SnapshotClaimsMore,
    /// A lease counts from when the answer to its renewal came.
    LeaseFromAnswer,
    /// A contender counts from when it asked, not from when it was answered.
    SilenceFromQuestion,
    /// A contender counts on when the holder has renewed.
    RenewalIsIgnored,
}

impl Mutation {
    pub(super) const ALL: [Self; 12] = [
        Self::HoldIsNotCompared,
        Self::CommitWithoutSwap,
        Self::SealIsSkipped,
        Self::AppendOverwrites,
        Self::AppendGoesOn,
        Self::EpochStays,
        Self::RefusedIsDone,
        Self::LostIsDone,
        Self::SnapshotClaimsMore,
        Self::LeaseFromAnswer,
        Self::SilenceFromQuestion,
        Self::RenewalIsIgnored,
    ];

    /// The world in which it shows.
    pub(super) fn shows_in(self) -> World {
        match self {
            Self::LeaseFromAnswer | Self::SilenceFromQuestion | Self::RenewalIsIgnored => World::honest(),
            Self::LostIsDone | Self::CommitWithoutSwap => World::lossy(),
            _ => World::paused(),
        }
    }
}
