//! Finds the members of a cluster's ApplySet: one paged list for each kind that its parent names, in
//! parallel.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::PoisonError;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use serde_json::Value as Json;
use slipway_resource::provider::{DiscoverRequest, Discovery, Unlisted};
use slipway_resource::{ClusterUid, ErrorClass, Observed, ProviderError};

use super::KubernetesSession;
use crate::api::{Catalogue, Connection, Request, Resource, Selector};
use crate::applyset::{self, ApplySet, COLLECTION, Members};
use crate::fields;
use crate::marks::{MANAGER, Marks, PART_OF};
use crate::object::{GroupKind, ObjectKey, key_of, text};
use crate::schema::{NODE, OBJECT};
use crate::view;

/// How many kinds are listed at once.
const PARALLEL: usize = 16;

/// The members of one kind.
#[derive(Default)]
struct Found {
    observed: Vec<Observed>,
    keys: Vec<ObjectKey>,
    /// API versions other than the listed one in which the fields of some objects are named.
    elsewhere: BTreeSet<String>,
}

impl KubernetesSession {
    pub(super) async fn discover_owned(&self, request: &DiscoverRequest) -> Result<Discovery, ProviderError> {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&request.uid);
        match self.members(request).await {
            Ok(discovery) => Ok(discovery),
            // The API does not answer, or refuses this user: the objects may well exist.
            Err(error) if error.class != ErrorClass::Invalid => {
                let unlisted = [NODE, OBJECT]
                    .map(|kind| Unlisted { kind: kind.to_owned(), error: error.clone() })
                    .into();
                Ok(Discovery { unlisted, uid: request.uid.clone(), ..Discovery::default() })
            }
            Err(error) => Err(error),
        }
    }

    async fn members(&self, request: &DiscoverRequest) -> Result<Discovery, ProviderError> {
        // An API that does not exist yet has no objects.
        let Some(connection) = self.connector.connection().await? else { return Ok(Discovery::default()) };
        let (parent, uid) = match &request.uid {
            Some(uid) => {
                let path = ApplySet::of(uid).path();
                (connection.ask(&Request::get(path)).await?.found()?, Some(uid.clone()))
            }
            None => parent_by_name(&connection, &request.cluster).await?,
        };
        let (Some(parent), Some(uid)) = (parent, uid) else {
            if let Some(uid) = &request.uid {
                self.parents.listed(uid, Members::default(), HashSet::new());
            }
            return Ok(Discovery::default());
        };
        let members = Members::of(&parent);
        let catalogue = self.catalogue(&connection).await?;
        let mut discovery = Discovery { uid: Some(uid.clone()), ..Discovery::default() };
        let mut keys = HashSet::new();
        let one = |kind| list(&connection, &catalogue, kind, &uid).map(move |found| (kind, found)).boxed();
        let lists: Vec<_> = members.kinds.iter().map(one).collect();
        let lists: Vec<_> = stream::iter(lists).buffer_unordered(PARALLEL).collect().await;
        for (kind, found) in lists {
            match found {
                Ok(found) => {
                    discovery.observed.extend(found.observed);
                    keys.extend(found.keys);
                }
                Err(error) => {
                    let error = ProviderError { message: format!("{kind}: {}", error.message), ..error };
                    let types = [Some(OBJECT), (*kind == GroupKind::new("", "Node")).then_some(NODE)];
                    for name in types.into_iter().flatten() {
                        if discovery.unlisted.iter().all(|unlisted| unlisted.kind != name) {
                            discovery.unlisted.push(Unlisted { kind: name.to_owned(), error: error.clone() });
                        }
                    }
                }
            }
        }
        if discovery.unlisted.is_empty() {
            self.parents.listed(&uid, members, keys);
        }
        discovery.observed.sort_by(|left, right| {
            (&left.address, left.identity.as_str()).cmp(&(&right.address, right.identity.as_str()))
        });
        Ok(discovery)
    }
}

/// The parent of a cluster with this name, and its unique id.
async fn parent_by_name(
    connection: &Connection,
    cluster: &str,
) -> Result<(Option<Json>, Option<ClusterUid>), ProviderError> {
    let mut found: Vec<(ClusterUid, Json)> = Vec::new();
    let selector = applyset::parents_of(cluster);
    let mut take = |parent: Json| {
        if let Some(uid) = applyset::uid_of(&parent, cluster) {
            found.push((uid, parent));
        }
    };
    connection.list(COLLECTION, ("v1", "ConfigMap"), Selector::Labels(&selector), &mut take).await?;
    // Among several parents with one name, the latest counts.
    found.sort_by(|left, right| {
        let time = |parent: &Json| text(parent, "/metadata/creationTimestamp").unwrap_or_default().to_owned();
        time(&left.1).cmp(&time(&right.1))
    });
    Ok(found.pop().map_or((None, None), |(uid, parent)| (Some(parent), Some(uid))))
}

/// The members of a kind.
async fn list(
    connection: &Connection,
    catalogue: &Catalogue,
    kind: &GroupKind,
    uid: &ClusterUid,
) -> Result<Found, ProviderError> {
    let Some(resource) = catalogue.resource(kind, None) else {
        if catalogue.is_stale(&kind.group) {
            let text = format!("the server of the API group {} does not answer", kind.group);
            return Err(ProviderError::new(ErrorClass::Transient, text));
        }
        // The definition of the kind is gone, and all its objects with it.
        return Ok(Found::default());
    };
    let mut found = list_version(connection, kind, resource, uid, None).await?;
    for api_version in std::mem::take(&mut found.elsewhere) {
        let (_, version) = crate::object::split_api_version(&api_version);
        let other = catalogue.resource(kind, Some(version));
        // If the version is not served any more, the objects are read in the present one.
        let other = other.unwrap_or(resource);
        let more = list_version(connection, kind, other, uid, Some(&api_version)).await?;
        found.observed.extend(more.observed);
        found.keys.extend(more.keys);
    }
    Ok(found)
}

/// The members of a kind in one version: those whose fields are named in it, or in the given version.
async fn list_version(
    connection: &Connection,
    kind: &GroupKind,
    resource: &Resource,
    uid: &ClusterUid,
    named_in: Option<&str>,
) -> Result<Found, ProviderError> {
    let set = ApplySet::of(uid);
    let api_version = resource.api_version(kind);
    let named_in = named_in.unwrap_or(&api_version);
    // By uid: a list that begins again returns objects twice.
    let mut objects: BTreeMap<String, (Observed, ObjectKey)> = BTreeMap::new();
    let mut elsewhere = BTreeSet::new();
    let mut take = |live: Json| {
        let marks = Marks::read(&live);
        let (Some(address), true) = (marks.address, marks.uid == uid.as_str()) else { return };
        let applied = fields::applied_by(&live, MANAGER);
        if let Some(applied) = applied
            && applied.api_version != named_in
        {
            elsewhere.insert(applied.api_version);
            return;
        }
        if let (Some(observed), Some(key)) = (view::observed(&address, &live), key_of(&live)) {
            let life = text(&live, "/metadata/uid").unwrap_or_default().to_owned();
            objects.insert(life, (observed, key));
        }
    };
    let selector = format!("{PART_OF}={}", set.id);
    connection
        .list(
            &resource.collection(kind, ""),
            (&api_version, &kind.kind),
            Selector::Labels(&selector),
            &mut take,
        )
        .await?;
    if named_in != api_version {
        elsewhere.clear();
    }
    let (observed, keys) = objects.into_values().unzip();
    Ok(Found { observed, keys, elsewhere })
}
