//! Puts the state of an archive in the place of the present one, as a new generation.

use std::sync::Arc;
use std::time::Duration;

use slipway_engine::State;
use slipway_plan::Snapshot;
use slipway_state_store::archive::Archive;
use slipway_state_store::{
    Acquire, Backend, Generation, Head, HeadStands, Holder, SystemClock, head_stands, history, read_head,
    restore_head,
};

use super::{Kept, Refusal, keep};
use crate::environment::Environment;
use crate::error::Error;
use crate::holding::{lost_head, meta};
use crate::unplanned::Allowed;

/// What the user gives up for an import.
#[derive(Clone, Copy, Debug, Default)]
pub struct GivenUp<'a> {
    /// The present generation, although it is newer than that of the archive.
    pub generation: Option<u64>,
    /// The unique id of the present cluster, although the archive is of another one.
    pub uid: Option<&'a str>,
}

/// An archive beside the present state of its cluster.
#[derive(Debug)]
pub enum Compared {
    /// The present state is that of the archive, at this generation.
    Same(Generation),
    /// The state of the archive may be put in the place of the present one.
    Import(Box<Import>),
}

/// The state of an archive that may be put in the place of the present one.
#[derive(Debug)]
pub struct Import {
    archive: Archive,
    snapshot: Snapshot,
    present: Option<Head>,
    kept: Kept,
}

impl Import {
    /// Compares an archive with the present state of its cluster.
    ///
    /// # Errors
    /// [`Refusal`], or when the state of the archive or that of the store cannot be read.
    pub async fn of(
        backend: &dyn Backend,
        archive: Archive,
        given_up: GivenUp<'_>,
    ) -> Result<Compared, Error> {
        let about = &archive.about;
        let cluster = &about.cluster;
        // A state that cannot be read is not imported.
        let mut snapshot = State::snapshot_of(cluster.as_str(), &archive.snapshot)?;
        if snapshot.cluster != cluster.as_str() || snapshot.uid.as_str() != about.uid.as_str() {
            return Err(Refusal::OfAnother { cluster: cluster.clone(), found: snapshot.cluster }.into());
        }
        let present = match head_stands(backend, cluster).await? {
            HeadStands::Whole => read_head(backend, cluster).await?.map(|(head, _)| head),
            HeadStands::Lost | HeadStands::Damaged | HeadStands::Old => None,
        };
        if let Some(present) = &present {
            check(present, &archive, given_up)?;
            if is_same(present, &archive) {
                return Ok(Compared::Same(present.generation));
            }
        }
        let unforced = present.as_ref().filter(|_| given_up.generation.is_none());
        check_history(backend, &archive, unforced).await?;
        // A cluster of another unique id, or one that was deleted, is given up with its protections.
        let is_same_cluster =
            present.as_ref().is_none_or(|present| !present.deleted && present.uid == about.uid);
        let kept = match is_same_cluster {
            true => keep(backend, cluster, &mut snapshot).await,
            false => Kept::default(),
        };
        Ok(Compared::Import(Box::new(Self { archive, snapshot, present, kept })))
    }

    /// The archive.
    #[must_use]
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The protections that the imported state keeps although the archive does not have them.
    #[must_use]
    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// The number of resources in the state that is imported.
    #[must_use]
    pub fn resources(&self) -> usize {
        self.snapshot.resources.len()
    }

    /// Whether the store has no state of the cluster.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.present.is_none()
    }

    /// The effects of the import, for its approvals.
    #[must_use]
    pub fn effects(&self) -> Vec<String> {
        let about = &self.archive.about;
        let mut effects =
            vec![format!("generation {} of {}, {}, is put back", about.generation, about.uid, about.digest)];
        effects.extend(self.kept.retained.iter().map(|address| format!("{address} is still kept")));
        effects
    }

    /// Takes the cluster and commits the state as the next generation.
    ///
    /// # Errors
    /// When the cluster is held, [`Refusal::Moved`] when it came to another generation, or when the store refuses.
    pub async fn put_back(
        self,
        environment: &Environment,
        allowed: &Allowed,
        wait: Option<Duration>,
    ) -> Result<Generation, Error> {
        let about = &self.archive.about;
        let (cluster, imported) = (&about.cluster, about.generation);
        let about_spec = slipway_engine::about(&self.snapshot.spec);
        let bytes = match self.kept.is_nothing() {
            true => self.archive.snapshot.to_vec(),
            false => {
                let written = self.snapshot.to_bytes();
                written.map_err(|error| Error::internal("the state cannot be written as JSON", error))?
            }
        };
        let backend = environment.store(cluster.as_str())?.backend.clone();
        let actor = &environment.actor;
        if self.present.is_none() {
            let meta = lost_head(actor, about_spec.clone());
            restore_head(&backend, cluster, about.uid.clone(), imported, meta).await?;
        }
        let mut acquire = Acquire::new(actor.doing("state import")).over_damage().create(about.uid.clone());
        acquire.wait = wait;
        let holder = Holder::acquire(backend, cluster, acquire, Arc::new(SystemClock)).await?;
        if let Some(present) = &self.present {
            let now = holder.head().generation;
            let checked = match present.generation == now {
                true => allowed.check(now),
                false => Err(Refusal::Moved { cluster: cluster.clone(), now }.into()),
            };
            if let Err(error) = checked {
                let _ = holder.release(None).await;
                return Err(error);
            }
        }
        let detail = format!("generation {imported}, exported as {}", about.digest);
        let meta = meta(actor, "state import", detail, about_spec);
        Ok(holder.release(Some((bytes, meta))).await?.generation)
    }
}

/// Whether the present state is that of the archive.
fn is_same(present: &Head, archive: &Archive) -> bool {
    present.snapshot.as_ref().is_some_and(|snapshot| snapshot.digest == archive.about.digest)
}

/// Refuses an archive with another state than the store's own history has of its generation, and one of a generation that the
/// history of a present state does not have.
async fn check_history(
    backend: &dyn Backend,
    archive: &Archive,
    present: Option<&Head>,
) -> Result<(), Refusal> {
    let about = &archive.about;
    let (cluster, generation) = (about.cluster.clone(), about.generation);
    let Ok(entry) = history::entry(backend, &cluster, Some(generation)).await else {
        // A store without a head has nothing to compare with. Another store may have gone on from this one.
        let Some(present) = present.filter(|present| present.uid == about.uid) else { return Ok(()) };
        return Err(Refusal::NoHistory { cluster, generation, now: present.generation });
    };
    let recorded = entry.snapshot.as_ref().filter(|_| entry.uid == about.uid);
    match recorded.is_none_or(|recorded| recorded.digest == about.digest) {
        true => Ok(()),
        false => Err(Refusal::OtherDigest { cluster, generation }),
    }
}

/// Refuses to replace a newer state by an older one, or one cluster by another, unless the user gives up what is there.
fn check(present: &Head, archive: &Archive, given_up: GivenUp<'_>) -> Result<(), Refusal> {
    let about = &archive.about;
    let (cluster, now) = (about.cluster.clone(), present.generation);
    let present_uid = Some(present.uid.as_str());
    if present.uid != about.uid && (given_up.generation, given_up.uid) != (Some(now.0), present_uid) {
        let (archived, present) = (about.uid.clone(), present.uid.clone());
        return Err(Refusal::OtherCluster { cluster, archived, present, now });
    }
    match given_up.generation {
        Some(named) if named == now.0 => Ok(()),
        Some(named) => Err(Refusal::OtherGeneration { cluster, now, named }),
        None if now < about.generation || is_same(present, archive) => Ok(()),
        None => Err(Refusal::Newer { cluster, now, archived: about.generation }),
    }
}
