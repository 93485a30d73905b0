//! Finds objects of another tool: objects of EC2 and load balancers by the tags of kOps, all others by names
//! that follow from the spec.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;
use slipway_aws_model::normalise::normalised;
use slipway_provider_sdk::Running;
use slipway_resource::provider::{Action, ApplyRequest, EventSink, LocateItem, LocateRequest, Located};
use slipway_resource::{
    Address, ClusterUid, ErrorClass, Identity, Ownership, Path, ProviderError, Token, Value,
};
use tokio::sync::OnceCell;

use crate::act::Act;
use crate::cloud::Cloud;
use crate::kind::{self, Condition, Found, Kind, Tagged};
use crate::look::tagged;
use crate::owner::{Owner, Tags};

/// The tag that every object of a cluster has which kOps or its controllers made; its value is the cluster's name.
const CLUSTER: &str = "KubernetesCluster";
/// The tag of a load balancer or a target group that kOps has replaced under another name: how often.
const REVISION: &str = "kops.k8s.io/revision";
/// The tag with the name that users see.
const NAME: &str = "Name";

/// Finds the objects of desired resources; one answer for each item, in their order. Changes nothing.
pub(super) async fn locate(
    cloud: &Cloud,
    running: &Running,
    request: LocateRequest,
) -> Result<Vec<Located>, ProviderError> {
    let mut search = Search {
        cloud,
        running,
        cluster: &request.cluster,
        items: &request.items,
        candidates: candidates(cloud, &request.cluster).await?,
        in_network: kind::all().iter().map(|kind| (kind.name(), OnceCell::new())).collect(),
        found: BTreeMap::new(),
        taken: BTreeSet::new(),
    };
    let mut waiting: Vec<&LocateItem> = request.items.iter().collect();
    // An item is looked up after the items that it refers to, unless this is not possible.
    let mut whole = true;
    while !waiting.is_empty() {
        let (ready, rest): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .map(|item| (item, search.resolved(&item.desired)))
            .partition(|(item, desired)| !whole || item.existing.is_some() || desired.is_known());
        let answers = try_join_all(ready.iter().map(|(item, desired)| search.find(item, desired))).await?;
        let mut left: Vec<&LocateItem> = rest.into_iter().map(|(item, _)| item).collect();
        let mut any = false;
        for ((item, _), answer) in ready.into_iter().zip(answers) {
            match answer {
                Some(located) => any |= search.keep(located),
                None if !whole => left.push(item),
                None => {}
            }
        }
        if !any && !whole {
            break;
        }
        whole = any || !whole;
        waiting = left;
    }
    let answer = |item: &LocateItem| search.found.get(&item.address).cloned();
    Ok(request
        .items
        .iter()
        .map(|item| answer(item).unwrap_or_else(|| Located::nothing(item.address.clone())))
        .collect())
}

/// Objects of EC2 with the cluster's tag and without an owner of ours, by type.
async fn candidates(
    cloud: &Cloud,
    cluster: &str,
) -> Result<BTreeMap<&'static str, Vec<Found>>, ProviderError> {
    let ids = tagged(cloud, (CLUSTER, cluster)).await?;
    let tagged = kind::all().iter().filter_map(|kind| Some((kind, kind.tagged_as()?)));
    let reads = tagged.map(|(kind, name)| {
        let ids = ids.get(name).cloned().unwrap_or_default();
        async move {
            let identities: Vec<Identity> = ids.into_iter().map(Identity::new).collect();
            let found = try_join_all(identities.iter().map(|id| kind::read(*kind, cloud, id))).await?;
            let free = found
                .into_iter()
                .flatten()
                .filter(|found| found.owner.is_none() && found.condition != Condition::Ending);
            Ok::<_, ProviderError>((kind.name(), free.collect()))
        }
    });
    Ok(try_join_all(reads).await?.into_iter().collect())
}

struct Search<'a> {
    cloud: &'a Cloud,
    running: &'a Running,
    cluster: &'a str,
    items: &'a [LocateItem],
    candidates: BTreeMap<&'static str, Vec<Found>>,
    /// The objects of other types in the cluster's network, by type.
    in_network: BTreeMap<&'static str, OnceCell<Option<Vec<Tagged>>>>,
    found: BTreeMap<Address, Located>,
    taken: BTreeSet<(String, Identity)>,
}

impl Search<'_> {
    /// Desired attributes with references to found objects resolved; other references are unknown.
    fn resolved(&self, desired: &Value) -> Value {
        desired.resolve(&mut |reference| {
            let located = self.found.get(&reference.address);
            located.and_then(|located| located.value_of(reference)).unwrap_or(Value::Unknown)
        })
    }

    /// The answer to an item; `None` when no object fits it, or when too few of its attributes are known.
    async fn find(&self, item: &LocateItem, desired: &Value) -> Result<Option<Located>, ProviderError> {
        let kind = kind::of(&item.address)?;
        if let Some(existing) = &item.existing {
            return self.read(kind, item, existing).await;
        }
        if kind.tagged_as().is_some() {
            // Its id tells nothing: it is recognised by its name tag.
            return Ok(self.among_candidates(kind.name(), item, desired));
        }
        if let Some(located) = self.in_network(kind, item, desired).await? {
            return Ok(Some(located));
        }
        let request = ApplyRequest {
            token: Token::new("locate"),
            ownership: Ownership {
                uid: ClusterUid::new(""),
                cluster: self.cluster.to_owned(),
                address: item.address.clone(),
            },
            action: Action::Create { desired: desired.clone() },
            timeout_ms: 60_000,
        };
        let events = EventSink::discard();
        let act = Act::new(self.cloud, &request, &events, self.running.begin(&request.token));
        match kind.made(&act, &normalised(kind.name(), desired)).await {
            Ok(Some(identity)) => self.read(kind, item, &identity).await,
            Ok(None) => Ok(None),
            // An attribute that tells its name is not known yet.
            Err(error) if error.class == ErrorClass::Invalid => Ok(None),
            Err(error) => Err(error.with_address(&item.address)),
        }
    }

    async fn read(
        &self,
        kind: &dyn Kind,
        item: &LocateItem,
        identity: &Identity,
    ) -> Result<Option<Located>, ProviderError> {
        let found = kind::read(kind, self.cloud, identity).await?;
        Ok(found.map(|found| Located::one(item.address.clone(), found.identity, found.attributes)))
    }

    /// The cluster's network, which may not be a resource: all items that name a network name the same one.
    fn vpc(&self) -> Option<String> {
        self.items.iter().find_map(|item| {
            let vpc = self.resolved(item.desired.get("vpc_id")?);
            vpc.as_str().map(str::to_owned)
        })
    }

    /// The newest object in the cluster's network with its tag and the desired name in another tag. Its own
    /// name tells nothing.
    async fn in_network(
        &self,
        kind: &dyn Kind,
        item: &LocateItem,
        desired: &Value,
    ) -> Result<Option<Located>, ProviderError> {
        let name = desired.at(&Path::key("tags").child(NAME)).and_then(Value::as_str);
        let (Some(vpc), Some(name), Some(cell)) = (self.vpc(), name, self.in_network.get(kind.name())) else {
            return Ok(None);
        };
        let listed = cell.get_or_try_init(|| kind.in_network(self.cloud, &vpc)).await?;
        let is_it = |tags: &Tags| {
            let has = |key: &str, value: &str| tags.get(key).is_some_and(|found| found == value);
            has(CLUSTER, self.cluster) && has(NAME, name) && Owner::of(tags).is_none()
        };
        let revision = |tags: &Tags| -> u64 {
            tags.get(REVISION).and_then(|revision| revision.parse().ok()).unwrap_or_default()
        };
        let fitting: Vec<_> = listed.iter().flatten().filter(|(_, tags)| is_it(tags)).collect();
        let newest = fitting.iter().map(|(_, tags)| revision(tags)).max();
        let newest: Vec<&Identity> =
            fitting.iter().filter(|(_, tags)| Some(revision(tags)) == newest).map(|(id, _)| id).collect();
        match newest.as_slice() {
            [] => Ok(None),
            [one] => self.read(kind, item, one).await,
            several => Ok(Some(Located {
                identities: several.iter().map(|id| (*id).clone()).collect(),
                ..Located::nothing(item.address.clone())
            })),
        }
    }

    fn among_candidates(&self, kind: &str, item: &LocateItem, desired: &Value) -> Option<Located> {
        let key = match kind {
            "aws_security_group" | "aws_launch_template" => Path::key("name"),
            _ => Path::key("tags").child(NAME),
        };
        let wanted = desired.at(&key).filter(|value| value.is_known() && !value.is_null())?;
        let fitting: Vec<&Found> = self
            .candidates
            .get(kind)?
            .iter()
            .filter(|found| found.attributes.at(&key) == Some(wanted))
            .filter(|found| !self.taken.contains(&(kind.to_owned(), found.identity.clone())))
            .collect();
        match fitting.as_slice() {
            [] => None,
            [one] => Some(Located::one(item.address.clone(), one.identity.clone(), one.attributes.clone())),
            several => Some(Located {
                identities: several.iter().map(|found| found.identity.clone()).collect(),
                ..Located::nothing(item.address.clone())
            }),
        }
    }

    /// Stores an answer; returns whether it is an object to which others may refer.
    fn keep(&mut self, located: Located) -> bool {
        let identity = located.identity().cloned();
        if let Some(identity) = &identity {
            self.taken.insert((located.address.kind().to_owned(), identity.clone()));
        }
        self.found.insert(located.address.clone(), located);
        identity.is_some()
    }
}
