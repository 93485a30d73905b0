//! Rules of the protocol, broken one at a time.

use super::world::World;

/// The broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutation {
    /// A replaced holder uses the hold of its successor as its own.
    HoldIsNotCompared,
    /// The head is written without a condition.
    CommitWithoutSwap,
    /// The journal of the epoch before is left open.
    SealIsSkipped,
    /// A segment is written without a condition.
    AppendOverwrites,
    /// An append that finds its place taken continues at the next one.
    AppendGoesOn,
    /// A takeover does not increment the epoch.
    EpochStays,
    /// A refused write counts as one that an earlier attempt did.
    RefusedIsDone,
    /// A write whose answer was lost counts as done.
    LostIsDone,
    /// A snapshot claims to include the segment that is written next.
    SnapshotClaimsMore,
    /// A lease counts from the answer to its renewal instead of the request.
    LeaseFromAnswer,
    /// A contender counts from its request instead of the answer.
    SilenceFromQuestion,
    /// A contender keeps counting after the holder has renewed.
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
