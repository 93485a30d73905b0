//! Types of machines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use aws_sdk_ec2::types::{EphemeralNvmeSupport, InstanceTypeInfo, LocationType};
use slipway_aws_model::catalog::InstanceType;
use slipway_resource::ProviderError;

use super::Seen;
use crate::cloud::Cloud;
use crate::look::filter;
use crate::rate::Class;

/// How many values a filter takes.
const FILTER: usize = 200;

/// Types of machines by name; one that AWS does not have is left out, and found missing before anything is changed.
pub(super) async fn types(
    cloud: &Cloud,
    names: &BTreeSet<String>,
) -> Result<BTreeMap<String, InstanceType>, ProviderError> {
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (mut types, offers) = tokio::try_join!(described(cloud, names), offered(cloud, names))?;
    for (name, zone) in offers {
        if let Some(known) = types.get_mut(&name) {
            known.zones.push(zone);
        }
    }
    for known in types.values_mut() {
        known.zones.sort();
        known.zones.dedup();
    }
    Ok(types)
}

/// Types by name, as AWS describes them. The session remembers how many processors each has.
///
/// # Errors
/// As the calls say.
pub(crate) async fn described(
    cloud: &Cloud,
    names: &BTreeSet<String>,
) -> Result<BTreeMap<String, InstanceType>, ProviderError> {
    let mut found = BTreeMap::new();
    let names: Vec<&String> = names.iter().collect();
    for part in names.chunks(FILTER) {
        let wanted = filter("instance-type", part.iter().map(|name| name.as_str()));
        let request = cloud.ec2().describe_instance_types().filters(wanted);
        let send = |token| request.clone().set_next_token(token).send();
        let pages =
            cloud.pages(Class::Ec2Read, "DescribeInstanceTypes", send, |page| page.next_token()).await?;
        for info in pages.iter().flat_map(|page| page.instance_types()) {
            if let Some(name) = info.instance_type() {
                let count = info.v_cpu_info().and_then(|processors| processors.default_v_cpus());
                let count = count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default();
                let seen = cloud.shared::<Seen>();
                let mut seen = seen.processors.lock().unwrap_or_else(PoisonError::into_inner);
                seen.insert(name.as_str().to_owned(), count);
                found.insert(name.as_str().to_owned(), known(info));
            }
        }
    }
    Ok(found)
}

/// The zones that offer each type.
pub(crate) async fn offered(
    cloud: &Cloud,
    names: &BTreeSet<String>,
) -> Result<Vec<(String, String)>, ProviderError> {
    let mut found = Vec::new();
    let names: Vec<&String> = names.iter().collect();
    for part in names.chunks(FILTER) {
        let wanted = filter("instance-type", part.iter().map(|name| name.as_str()));
        let request = cloud
            .ec2()
            .describe_instance_type_offerings()
            .location_type(LocationType::AvailabilityZone)
            .filters(wanted);
        let send = |token| request.clone().set_next_token(token).send();
        let action = "DescribeInstanceTypeOfferings";
        let pages = cloud.pages(Class::Ec2Read, action, send, |page| page.next_token()).await?;
        for offer in pages.iter().flat_map(|page| page.instance_type_offerings()) {
            if let (Some(name), Some(zone)) = (offer.instance_type(), offer.location()) {
                found.push((name.as_str().to_owned(), zone.to_owned()));
            }
        }
    }
    Ok(found)
}

fn known(info: &InstanceTypeInfo) -> InstanceType {
    let number = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok()).unwrap_or_default();
    let cpus = info.v_cpu_info().and_then(|cpus| cpus.default_v_cpus());
    let architectures = info.processor_info().map(|info| info.supported_architectures()).unwrap_or_default();
    let mut architectures: Vec<String> =
        architectures.iter().map(|architecture| architecture.as_str().to_owned()).collect();
    architectures.retain(|architecture| architecture == "x86_64" || architecture == "arm64");
    architectures.sort();
    InstanceType {
        instance_store_disks: mapped_disks(info),
        cpus: cpus.and_then(|cpus| u32::try_from(cpus).ok()).unwrap_or_default(),
        memory_mebibytes: number(info.memory_info().and_then(|memory| memory.size_in_mib())),
        architectures,
        zones: Vec::new(),
    }
}

/// The number of instance store disks that an image's mapping must name: those that are not on NVMe.
fn mapped_disks(info: &InstanceTypeInfo) -> u32 {
    let Some(storage) = info.instance_storage_info() else { return 0 };
    let is_nvme = matches!(
        storage.nvme_support(),
        Some(EphemeralNvmeSupport::Required | EphemeralNvmeSupport::Supported)
    );
    if is_nvme {
        return 0;
    }
    let count: i32 = storage.disks().iter().filter_map(|disk| disk.count()).sum();
    u32::try_from(count).unwrap_or_default()
}
