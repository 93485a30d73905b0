//! Gates of one group run one after the other, and know the results of earlier ones, since reads lag behind.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::grown::Sizes;

/// The turns of every group of a session.
#[derive(Default)]
pub(super) struct Turns {
    groups: Mutex<HashMap<String, Arc<Group>>>,
}

/// The actions of this process on one group.
pub(super) struct Group {
    one_at_a_time: Arc<Semaphore>,
    done: Mutex<Done>,
}

/// The completed actions.
#[derive(Default)]
pub(super) struct Done {
    /// Instances that left for their replacements, each with the token of its gate.
    pub left: BTreeMap<String, String>,
    /// Instances that left for good, since their group is to have fewer.
    pub retired: BTreeSet<String>,
    /// Instances that fill a slot, each with the token of its gate.
    pub claimed: BTreeMap<String, String>,
    /// The token of the gate for which the group is larger by one instance now.
    pub growing: Option<String>,
    /// The sizes of the group before it got larger, by the instances that leave it for that.
    pub sizes: BTreeMap<String, Sizes>,
    /// When the group got smaller again.
    pub smaller_since: Option<Instant>,
}

impl Turns {
    /// The turns of a group.
    pub fn of(&self, group: &str) -> Arc<Group> {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = groups.entry(group.to_owned()).or_insert_with(|| {
            Arc::new(Group { one_at_a_time: Arc::new(Semaphore::new(1)), done: Mutex::default() })
        });
        Arc::clone(entry)
    }
}

impl Group {
    /// Waits for the turn, which lasts until the permit is dropped. The result is never `None`, since the
    /// semaphore is not closed.
    pub async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.one_at_a_time).acquire_owned().await.ok()
    }

    /// The completed actions.
    pub fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
