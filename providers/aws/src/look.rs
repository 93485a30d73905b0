//! One discovery of a cluster's objects: lists that several kinds need are read once.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use aws_sdk_ec2::types::{Filter, ResourceType};
use slipway_resource::ProviderError;
use slipway_resource::provider::DiscoverRequest;
use tokio::sync::OnceCell;

use crate::cloud::Cloud;
use crate::error::permanent;
use crate::owner::{CLUSTER, Owner, UID};
use crate::rate::Class;

/// A list that serves several kinds.
#[async_trait]
pub(crate) trait Listing: Send + Sync + Sized + 'static {
    /// Reads the list.
    ///
    /// # Errors
    /// As the calls say.
    async fn list(look: &Look) -> Result<Self, ProviderError>;
}

/// One discovery of a cluster's objects.
pub(crate) struct Look {
    /// The account and region.
    pub cloud: Cloud,
    /// The cluster.
    pub request: DiscoverRequest,
    listings: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

type Cell<L> = OnceCell<Result<Arc<L>, ProviderError>>;

impl Look {
    /// Begins a discovery.
    pub fn new(cloud: Cloud, request: DiscoverRequest) -> Self {
        Self { cloud, request, listings: Mutex::default() }
    }

    /// Whether only types that AWS lists by tags are read. All other types are listed if no unique id is
    /// known, or if the request names them.
    pub fn by_ownership_alone(&self) -> bool {
        self.request.uid.is_some() && self.request.types.is_empty()
    }

    /// Whether objects of a type are requested.
    pub fn wants(&self, kind: &str) -> bool {
        self.request.types.is_empty() || self.request.types.iter().any(|wanted| wanted == kind)
    }

    /// The tag that every object of the cluster has: its key and value.
    pub fn mark(&self) -> (&'static str, &str) {
        match &self.request.uid {
            Some(uid) => (UID, uid.as_str()),
            None => (CLUSTER, &self.request.cluster),
        }
    }

    /// Whether an owner is the one that is looked for.
    pub fn is_ours(&self, owner: &Owner) -> bool {
        match &self.request.uid {
            Some(uid) => owner.uid == *uid,
            None => owner.cluster == self.request.cluster,
        }
    }

    /// A list, read when it is first needed in this discovery.
    ///
    /// # Errors
    /// As the calls say, each time.
    pub async fn listing<L: Listing>(&self) -> Result<Arc<L>, ProviderError> {
        let cell = {
            let mut listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = listings.entry(TypeId::of::<L>()).or_insert_with(|| Arc::new(Cell::<L>::new()));
            Arc::clone(entry).downcast::<Cell<L>>()
        };
        let Ok(cell) = cell else {
            return Err(permanent("a list is stored under the type of another"));
        };
        cell.get_or_init(|| async { L::list(self).await.map(Arc::new) }).await.clone()
    }

    /// The ids of the cluster's objects of a type, as EC2's tags have it.
    ///
    /// # Errors
    /// As the call says.
    pub async fn tagged(&self, kind: &str) -> Result<Vec<String>, ProviderError> {
        let tagged = self.listing::<Tagged>().await?;
        Ok(tagged.0.get(kind).cloned().unwrap_or_default())
    }
}

/// Ids of objects that carry the cluster's tag, by EC2's name of their type.
pub(crate) struct Tagged(pub BTreeMap<String, Vec<String>>);

#[async_trait]
impl Listing for Tagged {
    async fn list(look: &Look) -> Result<Self, ProviderError> {
        tagged(&look.cloud, look.mark()).await.map(Self)
    }
}

/// The type of an object. Emulators of AWS use other names for some types: there, the id tells the type.
fn type_of<'a>(id: &str, kind: &'a ResourceType) -> &'a str {
    match id.split('-').next() {
        Some("eipalloc") => "elastic-ip",
        Some("nat") => "natgateway",
        _ => kind.as_str(),
    }
}

/// The ids of objects that carry a tag, by type.
pub(crate) async fn tagged(
    cloud: &Cloud,
    (key, value): (&str, &str),
) -> Result<BTreeMap<String, Vec<String>>, ProviderError> {
    tagged_any(cloud, &[key], &[value]).await
}

/// The ids of objects that carry a tag with one of some keys and one of some values, by type.
pub(crate) async fn tagged_any(
    cloud: &Cloud,
    keys: &[&str],
    values: &[&str],
) -> Result<BTreeMap<String, Vec<String>>, ProviderError> {
    let filters = vec![filter("key", keys.iter().copied()), filter("value", values.iter().copied())];
    let request = cloud.ec2().describe_tags().set_filters(Some(filters));
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud.pages(Class::Ec2Read, "DescribeTags", send, |page| page.next_token()).await?;
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for tag in pages.iter().flat_map(|page| page.tags()) {
        if let (Some(id), Some(kind)) = (tag.resource_id(), tag.resource_type()) {
            found.entry(type_of(id, kind).to_owned()).or_default().push(id.to_owned());
        }
    }
    found.values_mut().for_each(|ids| {
        ids.sort();
        ids.dedup();
    });
    Ok(found)
}

/// A filter of EC2's Describe calls.
pub(crate) fn filter<T: Into<String>>(name: &str, values: impl IntoIterator<Item = T>) -> Filter {
    Filter::builder().name(name).set_values(Some(values.into_iter().map(Into::into).collect())).build()
}
