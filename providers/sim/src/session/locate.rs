//! Finds objects without tags by the attributes that make an object unique.

use std::collections::BTreeMap;

use slipway_provider_sdk::{Candidate, Key, locate};
use slipway_resource::provider::{LocateItem, LocateRequest, Located};
use slipway_resource::{Identity, Path, ProviderError, Value};

use super::{SimSession, kind_of};
use crate::cloud::view;
use crate::fault::Call;
use crate::kind;

impl SimSession {
    pub(super) async fn locate_all(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        let call = Call { method: "locate", type_name: "", name: "" };
        self.begin(call, "network").await?;
        let items = request
            .items
            .into_iter()
            .map(|item| {
                let desired = Value::Map(kind_of(&item.address)?.normalised(&item.desired));
                Ok(LocateItem { desired, ..item })
            })
            .collect::<Result<Vec<_>, ProviderError>>()?;
        let existing: Vec<&Identity> = items.iter().filter_map(|item| item.existing.as_ref()).collect();
        let candidates = self.cloud.read(&self.clock, |world, now| {
            let mut candidates: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
            for object in world.objects() {
                let identity = Identity::new(object.id.as_str());
                if object.owner.is_some() && !existing.contains(&&identity) {
                    continue;
                }
                if let Some(attributes) = view::attributes(world, object, now) {
                    let of_kind = candidates.entry(object.kind.clone()).or_default();
                    of_kind.push(Candidate { identity, attributes });
                }
            }
            candidates
        })?;
        let found: usize = candidates.values().map(Vec::len).sum();
        self.calls.append(&[self.record(call, "ok", found)]);
        Ok(locate(&items, &candidates, keys))
    }
}

/// The attributes that identify an object of a type.
fn keys(kind: &str) -> Vec<Key> {
    let unique = kind::all().get(kind).map(|kind| kind.unique).unwrap_or_default();
    let unique: Key = unique.iter().map(|name| Path::key(*name)).collect();
    let others = match kind {
        "sim_nat_gateway" => Path::key("subnet_id"),
        _ => Path::key("name"),
    };
    if unique.is_empty() { vec![vec![others]] } else { vec![unique, vec![others]] }
}
