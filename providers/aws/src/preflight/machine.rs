//! Machines and images.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{Address, ErrorClass, ProviderError, Value};

use super::{finding, referred, wanted};
use crate::catalog::{self, Seen};
use crate::cloud::Cloud;
use crate::kind::attribute::{block, blocks, number, text};
use crate::look::filter;
use crate::rate::Class;

const TEMPLATE: &str = "aws_launch_template";
const GROUP: &str = "aws_autoscaling_group";

/// Types of machines that AWS does not have, or that a zone of a group lacks.
pub(super) async fn types(cloud: &Cloud, items: &[PreflightItem]) -> Vec<PreflightFinding> {
    let templates: BTreeMap<&Address, &str> = wanted(items, TEMPLATE)
        .filter_map(|item| Some((&item.address, text(&item.desired, "instance_type")?)))
        .collect();
    let groups: Vec<(&Address, BTreeSet<&str>, BTreeSet<&str>)> = wanted(items, GROUP)
        .map(|item| (&item.address, types_of(&item.desired, &templates), zones_of(&item.desired, items)))
        .collect();
    let mut names: BTreeSet<String> = templates.values().map(|name| (*name).to_owned()).collect();
    names.extend(groups.iter().flat_map(|(_, types, _)| types.iter().map(|name| (*name).to_owned())));
    if names.is_empty() {
        return Vec::new();
    }
    let offers = match offers(cloud, &names).await {
        Ok(offers) => offers,
        Err(error) => {
            tracing::debug!(%error, "offers cannot be read");
            return Vec::new();
        }
    };
    let is_offered = |name: &str, zone: Option<&str>| {
        offers.iter().any(|(offered, at)| offered == name && zone.is_none_or(|zone| zone == at))
    };
    let mut found = Vec::new();
    for (address, name) in templates.iter().filter(|(_, name)| !is_offered(name, None)) {
        let text = format!("{} has no machines of type {name}", cloud.region());
        found.push(finding(Some(address), ErrorClass::Invalid, text, "name another type, or another region"));
    }
    for (address, types, zones) in &groups {
        for name in types.iter().filter(|name| is_offered(name, None)) {
            let lacking: Vec<&str> =
                zones.iter().copied().filter(|zone| !is_offered(name, Some(zone))).collect();
            if !lacking.is_empty() {
                let text = format!("machines of type {name} are not offered in {}", lacking.join(", "));
                let hint = "name another type, or leave the zone's subnet out of the pool";
                found.push(finding(Some(address), ErrorClass::Invalid, text, hint));
            }
        }
    }
    found
}

/// The zones that offer types, as the session has seen them or else as AWS says.
async fn offers(cloud: &Cloud, names: &BTreeSet<String>) -> Result<Vec<(String, String)>, ProviderError> {
    {
        let seen = cloud.shared::<Seen>();
        let seen = seen.offers.lock().unwrap_or_else(PoisonError::into_inner);
        if names.iter().all(|name| seen.contains_key(name)) {
            let of = |name: &String| {
                let zones = seen.get(name).into_iter().flatten();
                zones.map(|zone| (name.clone(), zone.clone())).collect::<Vec<_>>()
            };
            return Ok(names.iter().flat_map(of).collect());
        }
    }
    catalog::offered(cloud, names).await
}

/// The types of a group: those of its mix, or that of its template.
fn types_of<'a>(group: &'a Value, templates: &BTreeMap<&Address, &'a str>) -> BTreeSet<&'a str> {
    let template = |block: Option<&Value>, name: &str| {
        let address = referred(block.and_then(|block| block.get(name)))?;
        templates.get(address).copied()
    };
    let mix = block(group, "mixed_instances_policy").and_then(|mix| block(mix, "launch_template"));
    let Some(mix) = mix else {
        return template(block(group, "launch_template"), "id").into_iter().collect();
    };
    let overrides: BTreeSet<&str> =
        blocks(mix, "override").iter().filter_map(|one| text(one, "instance_type")).collect();
    if overrides.is_empty() {
        template(block(mix, "launch_template_specification"), "launch_template_id").into_iter().collect()
    } else {
        overrides
    }
}

/// How many processors the on-demand machines of new groups have at the least, of the families that share one quota and
/// as far as the session has seen them.
pub(super) fn processors(cloud: &Cloud, items: &[PreflightItem]) -> u64 {
    let templates: BTreeMap<&Address, &str> = wanted(items, TEMPLATE)
        .filter(|item| block(&item.desired, "instance_market_options").is_none())
        .filter_map(|item| Some((&item.address, text(&item.desired, "instance_type")?)))
        .collect();
    let seen = cloud.shared::<Seen>();
    let seen = seen.processors.lock().unwrap_or_else(PoisonError::into_inner);
    items
        .iter()
        .filter(|item| item.address.kind() == GROUP && item.action == "create")
        .filter(|item| block(&item.desired, "mixed_instances_policy").is_none())
        .filter_map(|item| {
            let name = types_of(&item.desired, &templates).into_iter().next()?;
            let is_usual = name.starts_with(['a', 'c', 'd', 'h', 'i', 'm', 'r', 't', 'z']);
            let each = seen.get(name).copied().filter(|_| is_usual)?;
            let count = u64::try_from(number(&item.desired, "min_size")?).ok()?;
            Some(each.saturating_mul(count))
        })
        .sum()
}

/// The zones of a group, as far as its subnets are made in the same plan.
fn zones_of<'a>(group: &Value, items: &'a [PreflightItem]) -> BTreeSet<&'a str> {
    let subnets = group.get("vpc_zone_identifier").and_then(Value::as_list).unwrap_or_default();
    subnets
        .iter()
        .filter_map(|subnet| referred(Some(subnet)))
        .filter_map(|address| items.iter().find(|item| item.address == *address))
        .filter_map(|item| text(&item.desired, "availability_zone"))
        .collect()
}

/// Images that do not exist, or that nobody knows the id of.
pub(super) async fn images(cloud: &Cloud, items: &[PreflightItem]) -> Vec<PreflightFinding> {
    let mut found = Vec::new();
    let mut ids: BTreeMap<&str, &Address> = BTreeMap::new();
    for item in wanted(items, TEMPLATE) {
        match item.desired.get("image_id") {
            Some(Value::String(id)) => {
                ids.insert(id, &item.address);
            }
            Some(Value::Unknown) => {
                let hint = "name an image by its id, by owner and name, or by the path of a parameter";
                found.push(finding(Some(&item.address), ErrorClass::NotFound, missing(cloud), hint));
            }
            _ => {}
        }
    }
    {
        let seen = cloud.shared::<Seen>();
        let seen = seen.images.lock().unwrap_or_else(PoisonError::into_inner);
        ids.retain(|id, _| !seen.contains(*id));
    }
    if ids.is_empty() {
        return found;
    }
    let request = cloud.ec2().describe_images().filters(filter("image-id", ids.keys().copied()));
    match cloud.ask(Class::Ec2Read, "DescribeImages", || request.clone().send()).await {
        Ok(page) => {
            let known: BTreeSet<&str> = page.images().iter().filter_map(|image| image.image_id()).collect();
            for (id, address) in ids.iter().filter(|(id, _)| !known.contains(*id)) {
                let text = format!("the image {id} does not exist for this account in {}", cloud.region());
                let hint = "name another image, or have it shared with the account";
                found.push(finding(Some(address), ErrorClass::NotFound, text, hint));
            }
        }
        Err(error) => tracing::debug!(%error, "images cannot be read"),
    }
    found
}

/// What to say of an image that nobody knows the id of.
fn missing(cloud: &Cloud) -> String {
    let seen = cloud.shared::<Seen>();
    let names = seen.missing_images.lock().unwrap_or_else(PoisonError::into_inner);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let named = if names.is_empty() { "that the spec names".to_owned() } else { names.join(" or ") };
    format!("the image {named} does not exist for this account in {}", cloud.region())
}
