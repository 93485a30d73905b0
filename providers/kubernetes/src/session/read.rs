//! Reads objects by identity: a list where many of one kind are needed, otherwise one request for each.

use std::collections::{BTreeMap, HashMap};

use futures_util::{FutureExt as _, StreamExt as _, stream};
use serde_json::Value as Json;
use slipway_resource::provider::{LocateItem, LocateRequest, Located, ReadRequest};
use slipway_resource::{ErrorClass, Observation, Observed, ProviderError, Value};

use super::{KubernetesSession, unknown_type};
use crate::api::{Connection, Request, Selector};
use crate::fields;
use crate::manifest;
use crate::marks::{MANAGER, Marks, PART_OF};
use crate::node;
use crate::object::{GroupKind, ObjectIdentity, ObjectKey, text};
use crate::schema::{API, NODE, OBJECT};
use crate::view;

/// How many requests for single objects are under way at once.
const PARALLEL: usize = 32;
/// From how many objects of a kind on a list is cheaper than reading each.
const MANY: usize = 16;

impl KubernetesSession {
    pub(super) async fn read_all(&self, requests: &[ReadRequest]) -> Result<Vec<Observed>, ProviderError> {
        let all = |observation: Observation| -> Vec<Observed> {
            let one = |request: &ReadRequest| {
                view::without(&request.address, &request.identity, observation.clone())
            };
            requests.iter().map(one).collect()
        };
        let connection = match self.connector.connection().await {
            Ok(Some(connection)) => connection,
            Ok(None) => return Ok(all(Observation::Absent)),
            // Without credentials, it is not known which objects exist behind the API; they are not absent.
            Err(error) if error.class != ErrorClass::Invalid => {
                return Ok(all(Observation::Unreadable(error)));
            }
            Err(error) => return Err(error),
        };
        let mut wanted: BTreeMap<GroupKind, Vec<(usize, ObjectIdentity)>> = BTreeMap::new();
        let mut answers: Vec<Option<Observation>> = vec![None; requests.len()];
        for (place, request) in requests.iter().enumerate() {
            if request.address.kind() == API {
                set(&mut answers, place, self.observed_api(&connection, &request.identity).await);
                continue;
            }
            let parsed = match request.address.kind() {
                OBJECT | NODE => ObjectIdentity::parse(&request.identity),
                _ => Err(unknown_type(&request.address)),
            };
            match parsed {
                Ok(identity) => wanted.entry(identity.key.kind.clone()).or_default().push((place, identity)),
                Err(error) => set(&mut answers, place, Observation::Unreadable(error)),
            }
        }
        for (kind, wanted) in wanted {
            let mut single = Vec::new();
            let listed =
                if wanted.len() >= MANY { self.listed(&connection, &kind).await? } else { HashMap::new() };
            for (place, identity) in wanted {
                match listed.get(&identity.key).filter(|live| is_life(live, &identity)) {
                    Some(live) => {
                        if let Some(request) = requests.get(place) {
                            set(
                                &mut answers,
                                place,
                                Observation::Present(view::attributes(&request.address, live)),
                            );
                        }
                    }
                    None => single.push((place, identity)),
                }
            }
            let reads = single.into_iter().map(|(place, identity)| {
                let connection = &connection;
                async move {
                    let live = self.live(connection, &identity.key).await;
                    let address = requests.get(place).map(|request| &request.address);
                    (place, observation(live, &identity, address))
                }
            });
            let reads: Vec<_> = stream::iter(reads).buffer_unordered(PARALLEL).collect().await;
            for (place, observation) in reads {
                set(&mut answers, place, observation);
            }
        }
        let answer = |(request, observation): (&ReadRequest, Option<Observation>)| Observed {
            address: request.address.clone(),
            identity: request.identity.clone(),
            token: None,
            owner: None,
            observation: observation.unwrap_or(Observation::Absent),
        };
        Ok(requests.iter().zip(answers).map(answer).collect())
    }

    /// All members of any set of a kind, in the version in which Slipway's fields are named where that is the
    /// preferred one.
    async fn listed(
        &self,
        connection: &Connection,
        kind: &GroupKind,
    ) -> Result<HashMap<ObjectKey, Json>, ProviderError> {
        let Some(resource) = self.resource(connection, kind, None).await? else { return Ok(HashMap::new()) };
        let api_version = resource.api_version(kind);
        let mut found = HashMap::new();
        let mut take = |live: Json| {
            let applied = fields::applied_by(&live, MANAGER);
            if applied.is_none_or(|applied| applied.api_version == api_version)
                && let Some(identity) = ObjectIdentity::of(&live)
            {
                found.insert(identity.key, live);
            }
        };
        connection
            .list(
                &resource.collection(kind, ""),
                (&api_version, &kind.kind),
                Selector::Labels(PART_OF),
                &mut take,
            )
            .await?;
        Ok(found)
    }

    /// A live object, in the version in which Slipway's fields are named; `None` when it does not exist.
    ///
    /// # Errors
    /// As the API says.
    pub(super) async fn live(
        &self,
        connection: &Connection,
        key: &ObjectKey,
    ) -> Result<Option<Json>, ProviderError> {
        if key.kind == node::kind() {
            // Nodes have one version, so they need no catalogue.
            let path = format!("/api/v1/nodes/{}", key.name);
            return connection.ask(&Request::get(path)).await?.found();
        }
        let Some(resource) = self.resource(connection, &key.kind, None).await? else { return Ok(None) };
        let path = resource.object(&key.kind, &key.namespace, &key.name);
        let Some(live) = connection.ask(&Request::get(path)).await?.found()? else { return Ok(None) };
        let named_in = fields::applied_by(&live, MANAGER).map(|applied| applied.api_version);
        let (_, version) = crate::object::split_api_version(named_in.as_deref().unwrap_or_default());
        if named_in.is_none() || version == resource.version {
            return Ok(Some(live));
        }
        let Some(resource) = self.resource(connection, &key.kind, Some(version)).await? else {
            return Ok(Some(live));
        };
        let path = resource.object(&key.kind, &key.namespace, &key.name);
        connection.ask(&Request::get(path)).await?.found()
    }

    /// Finds objects by the names in their manifests, whichever tool created them.
    pub(super) async fn locate_all(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        let Some(connection) = self.connector.connection().await? else {
            return Ok(request.items.into_iter().map(|item| Located::nothing(item.address)).collect());
        };
        let located: Vec<_> =
            request.items.into_iter().map(|item| self.locate_one(&connection, item).boxed()).collect();
        let located: Vec<Result<Located, ProviderError>> =
            stream::iter(located).buffered(PARALLEL).collect().await;
        located.into_iter().collect()
    }

    async fn locate_one(&self, connection: &Connection, item: LocateItem) -> Result<Located, ProviderError> {
        let key = match (&item.existing, item.address.kind()) {
            // The endpoint becomes known when a step has waited for it.
            (_, API) => None,
            (Some(identity), _) => Some(ObjectIdentity::parse(identity)?.key),
            (None, NODE) => node::key_of(&item.desired),
            (None, OBJECT) => {
                let manifest = item.desired.get("manifest");
                // A manifest with references has a name all the same; a manifest that is not known yet names
                // no object.
                match manifest.map(|manifest| (manifest.is_known(), manifest::wanted(manifest))) {
                    Some((_, Ok(wanted))) => Some(self.key(connection, &wanted).await?),
                    Some((true, Err(error))) => return Err(error),
                    _ => None,
                }
            }
            _ => return Err(unknown_type(&item.address)),
        };
        let Some(key) = key else { return Ok(Located::nothing(item.address)) };
        let Some(live) = self.live(connection, &key).await? else {
            return Ok(Located::nothing(item.address));
        };
        let identity = view::identity(&item.address, &live);
        // An object that Slipway already manages for a cluster is owned, and not found by its name.
        match identity.filter(|_| Marks::read(&live).address.is_none()) {
            Some(identity) => {
                let attributes = view::attributes(&item.address, &live);
                Ok(Located::one(item.address, identity, attributes))
            }
            None => Ok(Located::nothing(item.address)),
        }
    }

    /// The object that a manifest is about; where it names no namespace and its kind has some, `default`.
    pub(super) async fn key(
        &self,
        connection: &Connection,
        wanted: &manifest::Wanted,
    ) -> Result<ObjectKey, ProviderError> {
        let resource = self.resource(connection, &wanted.kind, None).await?;
        let namespace =
            match (resource.is_some_and(|resource| resource.namespaced), wanted.namespace.as_str()) {
                (true, "") => "default",
                (_, namespace) => namespace,
            };
        Ok(ObjectKey {
            kind: wanted.kind.clone(),
            namespace: namespace.to_owned(),
            name: wanted.name.clone(),
        })
    }
}

fn set(answers: &mut [Option<Observation>], place: usize, observation: Observation) {
    if let Some(answer) = answers.get_mut(place) {
        *answer = Some(observation);
    }
}

/// Whether a live object is the one of an identity, not another of the same name.
pub(super) fn is_life(live: &Json, identity: &ObjectIdentity) -> bool {
    identity.uid.is_empty() || text(live, "/metadata/uid") == Some(identity.uid.as_str())
}

fn observation(
    live: Result<Option<Json>, ProviderError>,
    identity: &ObjectIdentity,
    address: Option<&slipway_resource::Address>,
) -> Observation {
    match (live, address) {
        (Ok(Some(live)), Some(address)) if is_life(&live, identity) => {
            Observation::Present(view::attributes(address, &live))
        }
        (Ok(_), _) => Observation::Absent,
        (Err(error), _) => Observation::Unreadable(error),
    }
}

/// An attribute of a desired resource; null when it is missing.
pub(super) fn attribute<'a>(attributes: &'a Value, name: &str) -> &'a Value {
    attributes.get(name).unwrap_or(&Value::Null)
}
