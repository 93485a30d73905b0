//! Finding and reading what exists.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use slipway_resource::provider::{DiscoverRequest, Discovery, ReadRequest, Unlisted};
use slipway_resource::{Observation, Observed, ProviderError};

use super::of_controllers;
use crate::cloud::Cloud;
use crate::kind::{self, Condition, Found, Kind};
use crate::known::Known;
use crate::look::Look;
use crate::owner::Owner;

/// Everything that a cluster owns; when the whole cluster is deleted, also what its controllers created.
pub(super) async fn discover(cloud: &Cloud, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
    let look = Look::new(cloud.clone(), request);
    let wanted = kind::all().iter().filter(|kind| look.wants(kind.name()));
    let lists = wanted.map(|kind| async { (*kind, kind.list(&look).await) });
    let known = cloud.shared::<Known>();
    let mut discovery = Discovery::default();
    let mut owners: BTreeMap<_, usize> = BTreeMap::new();
    for (kind, listed) in join_all(lists).await {
        match listed {
            Ok(found) => {
                for found in found {
                    if let Some(owner) = &found.owner
                        && look.is_ours(owner)
                    {
                        *owners.entry(owner.uid.clone()).or_default() += 1;
                        let owner = owner.clone();
                        if found.condition != Condition::Ending {
                            known.seen(kind.name(), &found);
                        }
                        discovery.observed.extend(owned(kind, owner, kind::in_form(kind, found)));
                    }
                }
            }
            Err(error) => {
                discovery.unlisted.push(Unlisted { kind: kind.name().to_owned(), error });
            }
        }
    }
    if cloud.leaving() {
        let owned: BTreeSet<_> = discovery.observed.iter().map(|found| found.identity.clone()).collect();
        discovery.observed.extend(of_controllers::discover(&look, &owned).await?);
    }
    if look.request.uid.is_none() {
        // Of several clusters with one name, the one with most objects is the one that still exists.
        let living = owners.into_iter().max_by_key(|(_, count)| *count).map(|(uid, _)| uid);
        discovery.uid = living;
    }
    discovery
        .observed
        .sort_by(|left, right| (&left.address, &left.identity).cmp(&(&right.address, &right.identity)));
    Ok(discovery)
}

fn owned(kind: &dyn Kind, owner: Owner, found: Found) -> Option<Observed> {
    let address = owner.address?;
    if address.kind() != kind.name() || found.condition == Condition::Ending {
        return None;
    }
    Some(Observed {
        address,
        identity: found.identity,
        token: owner.token,
        owner: None,
        observation: Observation::Present(found.attributes),
    })
}

/// Objects by identity; one answer for each request, in their order.
pub(super) async fn read(cloud: &Cloud, requests: Vec<ReadRequest>) -> Vec<Observed> {
    join_all(requests.into_iter().map(|request| read_one(cloud, request))).await
}

async fn read_one(cloud: &Cloud, request: ReadRequest) -> Observed {
    let found = match kind::of(&request.address) {
        Ok(kind) => kind::read(kind, cloud, &request.identity).await,
        Err(error) => Err(error),
    };
    let (observation, owner) = match found {
        Ok(Some(Found { condition: Condition::Ending, .. }) | None) => (Observation::Absent, None),
        Ok(Some(found)) => (Observation::Present(found.attributes), found.owner),
        Err(error) => (Observation::Unreadable(error.with_address(&request.address)), None),
    };
    let (token, owner) = owner.map_or((None, None), |owner| (owner.token, Some(owner.uid)));
    Observed { address: request.address, identity: request.identity, token, owner, observation }
}
