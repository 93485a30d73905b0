//! Hosted zones.

use aws_sdk_route53::types::HostedZone as Sdk;
use slipway_aws_model::catalog::{HostedZone, ZoneNeed};
use slipway_resource::{ErrorClass, ProviderError};

use crate::cloud::Cloud;
use crate::rate::Class;

/// How many zones of one name are looked at.
const ZONES: i32 = 20;

/// The hosted zones that a spec may mean: the one it names, or the closest around it.
pub(super) async fn hosted(cloud: &Cloud, need: Option<&ZoneNeed>) -> Result<Vec<HostedZone>, ProviderError> {
    let Some(need) = need else { return Ok(Vec::new()) };
    if !need.named.contains('.') {
        let id = need.named.trim_start_matches("/hostedzone/");
        return Ok(by_id(cloud, id).await?.into_iter().collect());
    }
    let mut domain = need.named.trim_end_matches('.');
    loop {
        let found = by_domain(cloud, domain, need.private).await?;
        if !found.is_empty() {
            return Ok(found);
        }
        match domain.split_once('.') {
            Some((_, parent)) if parent.contains('.') => domain = parent,
            _ => return Ok(Vec::new()),
        }
    }
}

async fn by_domain(cloud: &Cloud, domain: &str, private: bool) -> Result<Vec<HostedZone>, ProviderError> {
    let request = cloud.route53().list_hosted_zones_by_name().dns_name(domain).max_items(ZONES);
    let page = cloud.read(Class::Route53, "ListHostedZonesByName", || request.clone().send()).await?;
    let is_private = |zone: &Sdk| zone.config().is_some_and(|config| config.private_zone());
    let own = page
        .hosted_zones()
        .iter()
        .filter(|zone| zone.name().trim_end_matches('.') == domain && is_private(zone) == private);
    let mut found = Vec::new();
    for zone in own {
        // One call returns the networks of one zone.
        if private {
            found.extend(by_id(cloud, zone.id()).await?);
        } else {
            found.push(known(zone, Vec::new()));
        }
    }
    Ok(found)
}

async fn by_id(cloud: &Cloud, id: &str) -> Result<Option<HostedZone>, ProviderError> {
    let request = cloud.route53().get_hosted_zone().id(id);
    let answer = match cloud.read(Class::Route53, "GetHostedZone", || request.clone().send()).await {
        Ok(answer) => answer,
        Err(error) if error.class == ErrorClass::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let vpcs = answer.vpcs().iter().filter_map(|vpc| vpc.vpc_id()).map(str::to_owned).collect();
    Ok(answer.hosted_zone().map(|zone| known(zone, vpcs)))
}

fn known(zone: &Sdk, vpcs: Vec<String>) -> HostedZone {
    HostedZone {
        id: zone.id().trim_start_matches("/hostedzone/").to_owned(),
        name: zone.name().trim_end_matches('.').to_owned(),
        private: zone.config().is_some_and(|config| config.private_zone()),
        vpcs,
    }
}
