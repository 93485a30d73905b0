//! The parents of ApplySets: written before the first member of a kind, gone with the last.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use slipway_resource::{ClusterUid, ErrorClass, Ownership, ProviderError};

use super::KubernetesSession;
use crate::api::{Answer, Connection, Request};
use crate::applyset::{ApplySet, COLLECTION, Members};
use crate::marks::PART_OF;
use crate::object::{GroupKind, ObjectKey, text};

/// How often a parent is written again after another client changed it in between.
const ATTEMPTS: usize = 5;

/// The parents that a session knows.
#[derive(Default)]
pub(super) struct Parents {
    known: Mutex<HashMap<ClusterUid, Known>>,
    /// One writer at a time: the others find their members written when it is their turn.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    /// The members that the parent names.
    written: Members,
    /// The members that it should name, too.
    wishes: Members,
    /// The members, once they were listed.
    members: Option<HashSet<ObjectKey>>,
}

impl Parents {
    fn with<T>(&self, uid: &ClusterUid, work: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        work(known.entry(uid.clone()).or_default())
    }

    /// All members were listed.
    pub(super) fn listed(&self, uid: &ClusterUid, written: Members, members: HashSet<ObjectKey>) {
        self.with(uid, |known| {
            known.written = written;
            known.members = Some(members);
        });
    }

    /// An object became a member.
    pub(super) fn joined(&self, uid: &ClusterUid, key: &ObjectKey) {
        self.with(uid, |known| {
            if let Some(members) = &mut known.members {
                members.insert(key.clone());
            }
        });
    }
}

impl KubernetesSession {
    /// Writes into the parent that it has members of a kind in a namespace, before the first one is created,
    /// so that discovery finds it.
    ///
    /// # Errors
    /// As the API says.
    pub(super) async fn expect_member(
        &self,
        connection: &Connection,
        ownership: &Ownership,
        kind: &GroupKind,
        namespace: &str,
    ) -> Result<(), ProviderError> {
        let wish = Members {
            kinds: BTreeSet::from([kind.clone()]),
            namespaces: (!namespace.is_empty()).then(|| namespace.to_owned()).into_iter().collect(),
        };
        let uid = &ownership.uid;
        let is_written = |known: &mut Known| known.written.has(&wish);
        let waits = self.parents.with(uid, |known| {
            let waits = !is_written(known);
            if waits {
                known.wishes.extend(wish.clone());
            }
            waits
        });
        if !waits {
            return Ok(());
        }
        let _turn = self.parents.writing.lock().await;
        if self.parents.with(uid, is_written) {
            return Ok(());
        }
        let written = self.write_parent(connection, ownership).await?;
        self.parents.with(uid, |known| known.written.extend(written));
        Ok(())
    }

    /// Writes all expected members into the parent; returns the members that it then names.
    async fn write_parent(
        &self,
        connection: &Connection,
        ownership: &Ownership,
    ) -> Result<Members, ProviderError> {
        let set = ApplySet::of(&ownership.uid);
        for _ in 0..ATTEMPTS {
            let live = connection.send(&Request::get(set.path())).await?.found()?;
            let mut members = live.as_ref().map(Members::of).unwrap_or_default();
            members.extend(self.parents.with(&ownership.uid, |known| known.wishes.clone()));
            let parent = set.parent(&ownership.uid, &ownership.cluster, &members, live.as_ref());
            let request = match live {
                Some(_) => Request::put(set.path(), &parent),
                None => Request::post(COLLECTION, &parent),
            };
            match connection.send(&request).await? {
                // Another client has written the parent since it was read.
                Answer::Refused(refusal) if refusal.status == 409 => {}
                // At the very first start, the namespace is created a moment later.
                Answer::Refused(refusal) if refusal.is_not_found() => {
                    return Err(ProviderError::new(ErrorClass::Transient, refusal.message));
                }
                answer => {
                    answer.body()?;
                    return Ok(members);
                }
            }
        }
        let text = format!("ConfigMap kube-system/{} is changed by another client all the time", set.name);
        Err(ProviderError::new(ErrorClass::Transient, text))
    }

    /// Notes that an object is not a member any more. The parent is deleted with the last member.
    ///
    /// # Errors
    /// As the API says.
    pub(super) async fn left(
        &self,
        connection: &Connection,
        uid: &ClusterUid,
        key: &ObjectKey,
    ) -> Result<(), ProviderError> {
        let some_are_left = self.parents.with(uid, |known| match &mut known.members {
            Some(members) => {
                members.remove(key);
                !members.is_empty()
            }
            None => false,
        });
        if some_are_left {
            return Ok(());
        }
        let _turn = self.parents.writing.lock().await;
        let set = ApplySet::of(uid);
        let Some(parent) = connection.send(&Request::get(set.path())).await?.found()? else { return Ok(()) };
        let catalogue = self.catalogue(connection).await?;
        for kind in &Members::of(&parent).kinds {
            let Some(resource) = catalogue.resource(kind, None) else { continue };
            let path =
                format!("{}?limit=1&labelSelector={PART_OF}%3D{}", resource.collection(kind, ""), set.id);
            let list = connection.send(&Request::list(path)).await?.found()?.unwrap_or_default();
            if list.pointer("/items/0").is_some() {
                return Ok(());
            }
        }
        let version = text(&parent, "/metadata/resourceVersion").unwrap_or_default();
        let options = json!({"preconditions": {"resourceVersion": version}});
        match connection.send(&Request::delete(set.path(), &options)).await? {
            // A new member is being written down.
            Answer::Refused(refusal) if refusal.status == 409 => Ok(()),
            answer => {
                answer.found()?;
                self.parents.with(uid, |known| *known = Known::default());
                Ok(())
            }
        }
    }
}
