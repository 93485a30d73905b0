//! The permitted changes of a head, as pure functions: how a contender acquires it, and how its holder
//! changes it.
//!
//! All decisions are made here; [`crate::holder`] only reads, calls, and writes by compare-and-swap. After a
//! lost swap it reads again and calls again.

use std::time::Duration;

use jiff::Timestamp;

use super::{CommitMeta, FORMAT, Head, Holding, JournalStart, Lease, SnapshotRef};
use crate::name::{ClusterName, ClusterUid, Epoch, Generation, HolderId};
use crate::process::Identity;

/// A claim to hold a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// New for each takeover.
    pub id: HolderId,
    /// The operator, the operation and the process.
    pub identity: Identity,
    /// The wall clock, for messages.
    pub since: Timestamp,
    /// The term of the lease; whole seconds.
    pub term: Duration,
    /// The uid of the cluster to create when there is none, or only a tombstone.
    pub create: Option<ClusterUid>,
}

/// The observed state of the present holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// Not known yet: the holder counts as alive.
    Assumed,
    /// This version of the head stayed unchanged for a full term on the contender's own clock.
    Silent,
    /// It is a dead process of this host.
    Dead,
}

/// The identification of a holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hold {
    /// The epoch that it holds.
    pub epoch: Epoch,
    /// The id of its claim.
    pub id: HolderId,
}

/// A new state to commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Commit {
    /// The new generation: one more than the head's.
    pub generation: Generation,
    /// The snapshot, stored before.
    pub snapshot: SnapshotRef,
    /// The first segment that the snapshot does not include.
    pub journal_from: JournalStart,
    /// The operator, time and operation.
    pub meta: CommitMeta,
}

/// A change of the head by its holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Renews the lease.
    Renew,
    /// Makes a new generation.
    Commit(Box<Commit>),
    /// Records a run that ends without a commit.
    Unfinished(Box<CommitMeta>),
    /// Releases the hold, with or without a last commit.
    Release(Option<Box<Commit>>),
    /// Marks the cluster as deleted, and releases the hold. Epoch and generation stay, so that a later
    /// cluster of the name continues them.
    Tombstone {
        /// The first segment that no reader needs.
        journal_from: JournalStart,
        /// The operator, time and operation.
        meta: CommitMeta,
    },
}

/// Why a change of the head is refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Another holder has the cluster, and may be alive.
    Held(Box<Holding>),
    /// There is no cluster, and the claim does not create one.
    NoCluster,
    /// Another holder took over, or this holder released the hold.
    Lost {
        /// The present holder.
        by: Option<String>,
    },
    /// The commit was not made for the next generation.
    OutOfTurn {
        /// The generation of the head.
        generation: Generation,
    },
}

/// Acquires a head, or creates one. The epoch always increases.
pub fn acquire(
    cluster: &ClusterName,
    head: Option<&Head>,
    claim: &Claim,
    presence: Presence,
    salt: String,
) -> Result<Head, Refusal> {
    let holder = Holding {
        id: claim.id.clone(),
        who: claim.identity.who.clone(),
        operation: claim.identity.operation.clone(),
        process: claim.identity.process.clone(),
        since: claim.since,
        lease: Lease { term_seconds: claim.term.as_secs(), renewals: 0 },
    };
    let epoch = head.map_or(Epoch(0), |head| head.epoch).next();
    match head {
        Some(Head { holder: Some(holder), .. }) if presence == Presence::Assumed => {
            Err(Refusal::Held(Box::new(holder.clone())))
        }
        Some(head) if !head.deleted => Ok(Head { epoch, holder: Some(holder), salt, ..head.clone() }),
        absent_or_deleted => Ok(Head {
            format: FORMAT,
            cluster: cluster.clone(),
            uid: claim.create.clone().ok_or(Refusal::NoCluster)?,
            generation: absent_or_deleted.map_or(Generation(0), |head| head.generation),
            epoch,
            holder: Some(holder),
            snapshot: None,
            journal_from: JournalStart::of(epoch),
            last_commit: None,
            unfinished: None,
            deleted: false,
            salt,
        }),
    }
}

/// Applies a change to the head, if `hold` still holds it.
pub fn apply(head: &Head, hold: &Hold, event: &Event, salt: String) -> Result<Head, Refusal> {
    let mut next = Head { salt, ..head.clone() };
    let holder = match &mut next.holder {
        Some(holder) if head.epoch == hold.epoch && holder.id == hold.id => holder,
        other => {
            return Err(Refusal::Lost { by: other.as_ref().map(|holder| holder.who.clone()) });
        }
    };
    // Every write of the holder renews its lease.
    holder.lease.renewals += 1;
    match event {
        Event::Renew => {}
        Event::Commit(commit) => make_generation(&mut next, commit)?,
        Event::Unfinished(meta) => next.unfinished = Some((**meta).clone()),
        Event::Release(last) => {
            if let Some(commit) = last {
                make_generation(&mut next, commit)?;
            }
            next.holder = None;
        }
        Event::Tombstone { journal_from, meta } => {
            next.generation = next.generation.next();
            next.snapshot = None;
            next.journal_from = *journal_from;
            next.last_commit = Some(meta.clone());
            next.unfinished = None;
            next.deleted = true;
            next.holder = None;
        }
    }
    Ok(next)
}

fn make_generation(head: &mut Head, commit: &Commit) -> Result<(), Refusal> {
    if commit.generation != head.generation.next() {
        return Err(Refusal::OutOfTurn { generation: head.generation });
    }
    head.generation = commit.generation;
    head.snapshot = Some(commit.snapshot.clone());
    head.journal_from = commit.journal_from;
    head.last_commit = Some(commit.meta.clone());
    head.unfinished = None;
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::head::Outcome;
    use crate::name::Sequence;
    use crate::process::Process;

    pub(crate) fn claim(who: &str) -> Claim {
        Claim {
            id: HolderId::new(who),
            identity: Identity {
                who: format!("{who}@laptop"),
                operation: "apply".into(),
                process: Process::current(),
            },
            since: Timestamp::UNIX_EPOCH,
            term: Duration::from_secs(60),
            create: Some("uid-1".parse().unwrap()),
        }
    }

    pub(crate) fn new_head(claim: &Claim) -> Head {
        acquire(&cluster(), None, claim, Presence::Assumed, "salt".into()).unwrap()
    }

    fn cluster() -> ClusterName {
        ClusterName::new("prod").unwrap()
    }

    fn hold(head: &Head) -> Hold {
        Hold { epoch: head.epoch, id: head.holder.as_ref().unwrap().id.clone() }
    }

    fn commit(generation: u64) -> Commit {
        let snapshot = SnapshotRef { key: "prod/snapshots/x".into(), digest: Digest::of(b"x"), size: 1 };
        let journal_from = JournalStart { epoch: Epoch(1), sequence: Sequence(4), previous: None };
        Commit { generation: Generation(generation), snapshot, journal_from, meta: CommitMeta::default() }
    }

    fn take(head: &Head, claim: &Claim, presence: Presence) -> Result<Head, Refusal> {
        acquire(&cluster(), Some(head), claim, presence, "salt".into())
    }

    fn act(head: &Head, hold: &Hold, event: Event) -> Result<Head, Refusal> {
        apply(head, hold, &event, "salt".into())
    }

    #[test]
    fn a_new_cluster_begins_at_generation_0_and_epoch_1() {
        let head = new_head(&claim("ada"));
        assert_eq!((head.generation, head.epoch, head.deleted), (Generation(0), Epoch(1), false));
        assert_eq!(head.journal_from, JournalStart::of(Epoch(1)));
        let read_only = Claim { create: None, ..claim("ada") };
        assert_eq!(
            acquire(&cluster(), None, &read_only, Presence::Assumed, "salt".into()),
            Err(Refusal::NoCluster)
        );
    }

    #[test]
    fn a_holder_is_replaced_only_when_it_is_known_to_be_gone() {
        let head = new_head(&claim("ada"));
        let refusal = take(&head, &claim("bob"), Presence::Assumed).unwrap_err();
        assert!(matches!(refusal, Refusal::Held(holder) if holder.who == "ada@laptop"));
        for presence in [Presence::Silent, Presence::Dead] {
            let taken = take(&head, &claim("bob"), presence).unwrap();
            assert_eq!((taken.epoch, taken.uid.as_str()), (Epoch(2), "uid-1"));
            for event in [Event::Renew, Event::Commit(Box::new(commit(1))), Event::Release(None)] {
                let refusal = act(&taken, &hold(&head), event).unwrap_err();
                assert_eq!(refusal, Refusal::Lost { by: Some("bob@laptop".into()) });
            }
        }
    }

    #[test]
    fn commits_count_the_generation_by_one() {
        let head = new_head(&claim("ada"));
        let hold = hold(&head);
        let committed = act(&head, &hold, Event::Commit(Box::new(commit(1)))).unwrap();
        assert_eq!((committed.generation, committed.epoch), (Generation(1), Epoch(1)));
        for wrong in [1, 3] {
            let refusal = act(&committed, &hold, Event::Commit(Box::new(commit(wrong)))).unwrap_err();
            assert_eq!(refusal, Refusal::OutOfTurn { generation: Generation(1) });
        }
        let released = act(&committed, &hold, Event::Release(Some(Box::new(commit(2))))).unwrap();
        assert_eq!((released.generation, released.holder.clone()), (Generation(2), None));
        assert_eq!(act(&released, &hold, Event::Renew), Err(Refusal::Lost { by: None }));
        assert_eq!(take(&released, &claim("bob"), Presence::Assumed).unwrap().epoch, Epoch(2));
    }

    #[test]
    fn a_run_without_a_commit_is_told_of_until_the_next_commit() {
        let head = new_head(&claim("ada"));
        let hold = hold(&head);
        let meta = CommitMeta { outcome: Outcome::Failed, ..CommitMeta::default() };
        let noted = act(&head, &hold, Event::Unfinished(Box::new(meta.clone()))).unwrap();
        assert_eq!((noted.unfinished.clone(), noted.generation), (Some(meta.clone()), Generation(0)));
        let released = act(&noted, &hold, Event::Release(None)).unwrap();
        let taken = take(&released, &claim("bob"), Presence::Assumed).unwrap();
        assert_eq!(taken.unfinished, Some(meta));
        let hold = super::Hold { epoch: taken.epoch, id: taken.holder.as_ref().unwrap().id.clone() };
        assert_eq!(act(&taken, &hold, Event::Commit(Box::new(commit(1)))).unwrap().unfinished, None);
    }

    #[test]
    fn a_new_life_counts_on_from_the_tombstone() {
        let head = new_head(&claim("ada"));
        let meta = CommitMeta { operation: "delete".into(), ..CommitMeta::default() };
        let event = Event::Tombstone { journal_from: JournalStart::of(Epoch(1)), meta };
        let tombstone = act(&head, &hold(&head), event).unwrap();
        assert!(tombstone.deleted && tombstone.holder.is_none() && tombstone.snapshot.is_none());
        assert_eq!((tombstone.generation, tombstone.epoch), (Generation(1), Epoch(1)));

        let nothing = Claim { create: None, ..claim("bob") };
        assert_eq!(take(&tombstone, &nothing, Presence::Assumed), Err(Refusal::NoCluster));
        let again = Claim { create: Some("uid-2".parse().unwrap()), ..claim("bob") };
        let reborn = take(&tombstone, &again, Presence::Assumed).unwrap();
        assert_eq!((reborn.generation, reborn.epoch), (Generation(1), Epoch(2)));
        assert_eq!((reborn.uid.as_str(), reborn.deleted), ("uid-2", false));
    }

    #[test]
    fn every_write_of_a_holder_shows_that_it_is_there() {
        let head = new_head(&claim("ada"));
        let renewed = act(&head, &hold(&head), Event::Renew).unwrap();
        assert_eq!(renewed.holder.unwrap().lease.renewals, 1);
    }
}
