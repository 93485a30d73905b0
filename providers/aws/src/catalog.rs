//! What only the account knows, and an expansion needs: zones, types of machines, images, hosted zones, networks that
//! exist already.

use aws_sdk_ec2::types::AvailabilityZoneState;
use slipway_aws_model::catalog::Catalog as Data;
use slipway_resource::provider::Catalog;
use slipway_resource::{Digest, ProviderError};

use crate::cloud::Cloud;
use crate::error::permanent;
use crate::look::filter;
use crate::rate::Class;

/// A snapshot of the account.
pub(crate) async fn snapshot(cloud: &Cloud) -> Result<Catalog, ProviderError> {
    let data = Data {
        region: cloud.region().to_owned(),
        account: Some(cloud.account().to_owned()),
        partition: Some(cloud.partition().to_owned()),
        zones: zones(cloud).await?,
        ..Data::default()
    };
    pinned(&data)
}

/// A catalog with its digest.
pub(crate) fn pinned(data: &Data) -> Result<Catalog, ProviderError> {
    let data = serde_json::to_value(data).map_err(|error| permanent(error.to_string()))?;
    let digest = Digest::of(&data).map_err(|error| permanent(error.to_string()))?;
    Ok(Catalog { digest, data })
}

/// The region's zones that are open to the account, sorted.
async fn zones(cloud: &Cloud) -> Result<Vec<String>, ProviderError> {
    let request = cloud.ec2().describe_availability_zones().filters(filter("state", ["available"]));
    let answer = cloud.read(Class::Ec2Read, "DescribeAvailabilityZones", || request.clone().send()).await?;
    let open = |state| state == Some(&AvailabilityZoneState::Available);
    let mut zones: Vec<String> = answer
        .availability_zones()
        .iter()
        .filter(|zone| open(zone.state()))
        .filter_map(|zone| zone.zone_name().map(str::to_owned))
        .collect();
    zones.sort();
    Ok(zones)
}
