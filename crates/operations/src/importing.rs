//! Importing the state of an archive over the present state of a cluster.
//!
//! An archive is older than the present state, or was written by others. It takes no protection away that the cluster has now,
//! as a rebuild takes none away.

mod putting;
mod refusal;

use slipway_engine::State;
use slipway_plan::Snapshot;
use slipway_resource::Address;
use slipway_state_store::{Backend, ClusterName, list_clusters};

pub use putting::{Compared, GivenUp, Import};
pub use refusal::Refusal;

use crate::protection::{is_set, set};
use crate::rebuilding::{readable, recorded};

/// The protections of the present state that an imported state keeps, although the archive does not have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Protection of the cluster from deletion; none where the archive has it, or where neither has it.
    pub protection: Option<Protection>,
    /// Resources that the deletion of the cluster keeps in the cloud, sorted.
    pub retained: Vec<Address>,
}

/// Why an imported state is protected from deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// The present state is protected.
    Present,
    /// The present state cannot be read.
    Unknown,
}

impl Kept {
    /// Whether the archive is imported as it is.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Adds the protections of the present state of a cluster to the state of an archive of the same cluster. A cluster of which the
/// store has remains that tell nothing counts as protected.
async fn keep(backend: &dyn Backend, cluster: &ClusterName, archived: &mut Snapshot) -> Kept {
    let present = match State::read(backend, cluster.as_str()).await {
        Ok(Some(state)) => Some(state.snapshot),
        Ok(None) | Err(_) => readable(backend, cluster).await,
    };
    let protection = match recorded(backend, cluster).await {
        Some(is_protected) => is_protected.then_some(Protection::Present),
        None => {
            let is_there = list_clusters(backend).await.is_ok_and(|clusters| clusters.contains(cluster));
            is_there.then_some(Protection::Unknown)
        }
    };
    merge(archived, present.as_ref(), protection)
}

/// Adds the protection from deletion, and keeps what the present state keeps on deletion.
fn merge(archived: &mut Snapshot, present: Option<&Snapshot>, protection: Option<Protection>) -> Kept {
    let mut kept = Kept { protection: protection.filter(|_| !is_set(&archived.spec)), retained: Vec::new() };
    if kept.protection.is_some() {
        set(&mut archived.spec, true);
    }
    let records = present.into_iter().flat_map(|present| &present.resources);
    for (address, record) in records.filter(|(_, record)| record.retain && !record.existing) {
        match archived.resources.get_mut(address) {
            Some(known) if known.retain || known.existing => continue,
            Some(known) => known.retain = true,
            None if archived.forgotten.contains_key(address) => continue,
            // Without a record, a deletion would find the object by its ownership and not know that it is kept.
            None => drop(archived.resources.insert(address.clone(), record.clone())),
        }
        kept.retained.push(address.clone());
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;
    use slipway_plan::Record;
    use slipway_resource::{ClusterUid, Identity};

    use super::*;

    fn snapshot(protected: bool, resources: &[(&str, bool)]) -> Snapshot {
        let record = |retain: bool| Record {
            provider: "any".to_owned(),
            schema_version: 1,
            identity: Identity::new("store-1"),
            applied: None,
            depends_on: Vec::new(),
            retain,
            protected: false,
            existing: false,
            as_found: BTreeMap::new(),
            untagged: false,
            deposed: Vec::new(),
        };
        let resources =
            resources.iter().map(|(name, retain)| (Address::new("store", *name), record(*retain)));
        Snapshot {
            spec: json!({ "deletionProtection": protected }),
            resources: resources.collect(),
            ..Snapshot::empty("demo", ClusterUid::new("uid-1"))
        }
    }

    #[test]
    fn an_archive_takes_no_protection_away() {
        for (archive, present, expected) in [
            (false, Some(Protection::Present), true),
            (false, Some(Protection::Unknown), true),
            (false, None, false),
            (true, None, true),
        ] {
            let mut archived = snapshot(archive, &[]);
            let kept = merge(&mut archived, None, present);
            assert_eq!(is_set(&archived.spec), expected, "{archive} {present:?}");
            assert_eq!(kept.protection, present.filter(|_| !archive), "{archive} {present:?}");
        }
    }

    #[test]
    fn what_a_deletion_keeps_now_is_kept_by_the_archive() {
        let mut archived = snapshot(false, &[("both", true), ("lost", false), ("neither", false)]);
        let present = snapshot(
            false,
            &[("both", true), ("lost", true), ("neither", false), ("new", true), ("other", false)],
        );
        let kept = merge(&mut archived, Some(&present), None);
        assert_eq!(kept.retained, [Address::new("store", "lost"), Address::new("store", "new")]);
        let retained =
            |name: &str| archived.resources.get(&Address::new("store", name)).map(|one| one.retain);
        assert_eq!([retained("both"), retained("lost"), retained("new")], [Some(true); 3]);
        assert_eq!([retained("neither"), retained("other")], [Some(false), None]);
        assert!(merge(&mut archived, Some(&present), None).is_nothing(), "the second time");
    }
}
