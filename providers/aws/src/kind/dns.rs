//! Route 53. Records have a deterministic id and no tags; changes of one zone that arrive together go in one call.

mod association;
mod change;
mod record;
mod zone;

pub(super) use association::ZoneAssociation;
pub(super) use record::Record;
pub(super) use zone::Zone;

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_route53::operation::get_hosted_zone::GetHostedZoneOutput;
use slipway_resource::ProviderError;

use super::by_name::if_any;
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::rate::Class;

/// Hosted zones by id.
struct Zones;

#[async_trait]
impl Family for Zones {
    type Item = GetHostedZoneOutput;
    const LIMIT: usize = 1;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Self::Item>, ProviderError> {
        let mut found = BTreeMap::new();
        for key in keys {
            let request = cloud.route53().get_hosted_zone().id(key);
            let zone = cloud.read(Class::Route53, "GetHostedZone", || request.clone().send()).await;
            if let Some(zone) = if_any(zone)? {
                found.insert(key.clone(), zone);
            }
        }
        Ok(found)
    }
}

/// The id of a zone without the path before it.
fn bare(zone: &str) -> &str {
    zone.rsplit('/').next().unwrap_or(zone)
}

/// A DNS name as plans have it: lower case, without a dot at its end, `*` not in its octal form.
fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase().replace("\\052", "*")
}
