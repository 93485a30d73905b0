//! Finding and reading what exists.

use std::collections::BTreeMap;

use slipway_resource::provider::{DiscoverRequest, Discovery, ReadRequest, Unlisted};
use slipway_resource::{ClusterUid, Identity, Observation, Observed, ProviderError, Value};

use super::SimSession;
use crate::cloud::{Object, World, view};
use crate::fault::{Call, Kind as FaultKind};
use crate::kind::{self, NODE};

/// How much simulated time a read takes where reads are delayed, so that waiting for them comes to an end.
const READ_MS: u64 = 100;

impl SimSession {
    pub(super) async fn discover_owned(&self, request: &DiscoverRequest) -> Result<Discovery, ProviderError> {
        self.begin(call("discover", "", ""), "network").await?;
        self.pass_time().await;
        let mut unlisted = Vec::new();
        let mut records = Vec::new();
        for kind in kind::all().values() {
            if let Some(error) = self.faults.unreadable(call("discover", kind.name, "")) {
                records.push(self.record(call("list", kind.name, ""), error.class.name(), 0));
                unlisted.push(Unlisted { kind: kind.name.to_owned(), error });
            }
        }
        let listable = |kind: &str| unlisted.iter().all(|unlisted| unlisted.kind != kind);
        let discovery = self.cloud.read(&self.clock, |world, now| {
            let uid = match &request.uid {
                Some(uid) => Some(uid.clone()),
                None => newest_uid(world, &request.cluster),
            };
            let mut observed: Vec<Observed> = world
                .all_remembered()
                .filter(|object| listable(&object.kind))
                .filter_map(|object| {
                    let owner = object.owner.as_ref()?;
                    if Some(&owner.uid) != uid.as_ref() {
                        return None;
                    }
                    let attributes = view::attributes(world, object, now)?;
                    Some(Observed {
                        address: owner.address.clone(),
                        identity: Identity::new(object.id.as_str()),
                        token: object.token.clone(),
                        owner: None,
                        observation: Observation::Present(attributes),
                    })
                })
                .collect();
            observed.sort_by(|left, right| {
                (&left.address, &left.identity).cmp(&(&right.address, &right.identity))
            });
            (observed, uid)
        });
        let (mut observed, uid) = discovery?;
        if self.faults.any(FaultKind::Unreadable) {
            for found in &mut observed {
                self.hide(found);
            }
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for found in &observed {
            *counts.entry(found.address.kind()).or_default() += 1;
        }
        for kind in kind::all().values().filter(|kind| listable(kind.name)) {
            let count = counts.get(kind.name).copied().unwrap_or_default();
            records.push(self.record(call("list", kind.name, ""), "ok", count));
        }
        self.calls.append(&records);
        Ok(Discovery {
            observed,
            unlisted,
            uid: match &request.uid {
                Some(_) => None,
                None => uid,
            },
        })
    }

    pub(super) async fn read_all(
        &self,
        requests: &[ReadRequest],
        method: &str,
    ) -> Result<Vec<Observed>, ProviderError> {
        self.begin(call(method, "", ""), "network").await?;
        self.pass_time().await;
        let mut observed = self.cloud.read(&self.clock, |world, now| {
            requests
                .iter()
                .map(|request| {
                    if request.address.kind() == NODE {
                        return node(world, request, now);
                    }
                    let object = world
                        .remembered(request.identity.as_str())
                        .filter(|object| object.kind == request.address.kind());
                    Observed {
                        address: request.address.clone(),
                        identity: request.identity.clone(),
                        token: object.and_then(|object| object.token.clone()),
                        owner: object.and_then(|object| Some(object.owner.as_ref()?.uid.clone())),
                        observation: observe(world, object, &request.identity, now),
                    }
                })
                .collect::<Vec<_>>()
        })?;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for found in &mut observed {
            *counts.entry(found.address.kind().to_owned()).or_default() += 1;
            self.hide(found);
        }
        let records: Vec<_> =
            counts.iter().map(|(kind, count)| self.record(call(method, kind, ""), "ok", *count)).collect();
        self.calls.append(&records);
        Ok(observed)
    }

    /// Makes an object unreadable where a fault says so.
    fn hide(&self, found: &mut Observed) {
        let call = call("read", found.address.kind(), found.address.name());
        if let Some(error) = self.faults.unreadable(call) {
            found.observation = Observation::Unreadable(error.with_address(&found.address));
        }
    }

    async fn pass_time(&self) {
        if self.config.read_delay_ms > 0 || self.faults.any(FaultKind::Stale) {
            self.clock.sleep_until(self.clock.now() + READ_MS).await;
        }
    }
}

/// A node as it is; nodes are no objects of their own, but machines of pools.
fn node(world: &World, request: &ReadRequest, now: u64) -> Observed {
    let machine = world.machine(request.identity.as_str());
    Observed {
        address: request.address.clone(),
        identity: request.identity.clone(),
        token: None,
        owner: None,
        observation: machine.map_or(Observation::Absent, |machine| {
            Observation::Present(super::node::attributes(machine, now))
        }),
    }
}

fn observe(world: &World, object: Option<&Object>, identity: &Identity, now: u64) -> Observation {
    match object {
        Some(object) => match view::attributes(world, object, now) {
            Some(attributes) => Observation::Present(attributes),
            None => Observation::Absent,
        },
        // Ids of other clouds name objects that are assumed to exist and are otherwise unknown.
        None if kind::is_foreign(identity.as_str()) => {
            Observation::Present(Value::map([("id", identity.as_str())]))
        }
        None => Observation::Absent,
    }
}

fn newest_uid(world: &World, cluster: &str) -> Option<ClusterUid> {
    world
        .objects()
        .filter_map(|object| Some((object.created_at, &object.id, object.owner.as_ref()?)))
        .filter(|(_, _, owner)| owner.cluster == cluster)
        .max_by_key(|(created_at, id, _)| (*created_at, *id))
        .map(|(_, _, owner)| owner.uid.clone())
}

fn call<'a>(method: &'a str, type_name: &'a str, name: &'a str) -> Call<'a> {
    Call { method, type_name, name }
}
