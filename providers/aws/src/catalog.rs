//! The facts of the account that an expansion needs: zones, types of machines, images, hosted zones, existing
//! networks. Facts that the state has pinned are not read again.

mod image;
mod machine;
mod network;
mod zone;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use slipway_aws_model::catalog::{Catalog as Data, Image, InstanceType, Needs};
use slipway_provider_sdk::cluster;
use slipway_resource::ProviderError;
use slipway_resource::provider::{Catalog, CatalogRequest};

use crate::cloud::Cloud;
use crate::error::invalid;

pub(crate) use machine::{described, offered};

/// The facts that a session has read already, so that preflight need not read them again.
#[derive(Default)]
pub(crate) struct Seen {
    /// Ids of images.
    pub images: Mutex<BTreeSet<String>>,
    /// Images that specs name and that do not exist.
    pub missing_images: Mutex<BTreeSet<String>>,
    /// The zones that offer a type of machines.
    pub offers: Mutex<BTreeMap<String, Vec<String>>>,
    /// The number of processors of each machine type.
    pub processors: Mutex<BTreeMap<String, u64>>,
    /// Whether a launch template of the cluster has the user data of another tool.
    pub other_user_data: AtomicBool,
}

/// The facts of the account for any cluster.
pub(crate) async fn snapshot(cloud: &Cloud) -> Result<Catalog, ProviderError> {
    let needs = Needs { zones: true, ..Needs::default() };
    Catalog::new(&complete(cloud, empty(cloud), needs).await?)
}

/// The facts of the account for one cluster: the pinned ones, and the missing ones.
pub(crate) async fn for_cluster(cloud: &Cloud, request: CatalogRequest) -> Result<Catalog, ProviderError> {
    let cluster = cluster::read(&request.cluster)?.cluster;
    let data = match &request.pinned {
        Some(pinned) => Data::deserialize(&pinned.data)
            .map_err(|error| invalid(format!("the pinned catalog is not of this version: {error}")))?,
        None => empty(cloud),
    };
    let needs = data.needs(&cluster);
    match request.pinned {
        Some(pinned) if needs.is_empty() => Ok(pinned),
        _ => Catalog::new(&complete(cloud, data, needs).await?),
    }
}

fn empty(cloud: &Cloud) -> Data {
    Data {
        region: cloud.region().to_owned(),
        account: Some(cloud.account().to_owned()),
        partition: Some(cloud.partition().to_owned()),
        ..Data::default()
    }
}

async fn complete(cloud: &Cloud, mut data: Data, needs: Needs) -> Result<Data, ProviderError> {
    let (zones, images, machines, hosted, vpc, addresses) = tokio::try_join!(
        network::zones(cloud, needs.zones),
        image::images(cloud, &needs.images),
        machine::types(cloud, &needs.instance_types),
        zone::hosted(cloud, needs.hosted_zone.as_ref()),
        network::existing(cloud, needs.vpc.as_deref()),
        network::addresses(cloud, &needs.addresses),
    )?;
    if needs.zones {
        data.zones = zones;
    }
    remember(cloud, &needs.images, &images, &machines);
    data.images.extend(images);
    data.instance_types.extend(machines);
    data.hosted_zones.extend(hosted);
    data.hosted_zones.sort_by(|left, right| left.id.cmp(&right.id));
    data.hosted_zones.dedup();
    data.vpcs.extend(vpc);
    data.addresses.extend(addresses);
    Ok(data)
}

fn remember(
    cloud: &Cloud,
    asked: &BTreeSet<String>,
    images: &BTreeMap<String, Image>,
    machines: &BTreeMap<String, InstanceType>,
) {
    let seen = cloud.shared::<Seen>();
    let missing = asked.iter().filter(|name| !images.contains_key(*name)).cloned();
    seen.missing_images.lock().unwrap_or_else(PoisonError::into_inner).extend(missing);
    let ids = images.values().map(|image| image.id.clone());
    seen.images.lock().unwrap_or_else(PoisonError::into_inner).extend(ids);
    let offers = machines.iter().map(|(name, known)| (name.clone(), known.zones.clone()));
    seen.offers.lock().unwrap_or_else(PoisonError::into_inner).extend(offers);
}
