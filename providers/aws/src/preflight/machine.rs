//! Machines and images.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{Address, ErrorClass, ProviderError, Value};

use super::{finding, referred, unanswered, wanted};
use crate::catalog::{self, Seen};
use crate::cloud::Cloud;
use crate::kind::attribute::{block, blocks, number, text};
use crate::look::filter;
use crate::rate::Class;

const TEMPLATE: &str = "aws_launch_template";
const GROUP: &str = "aws_autoscaling_group";

/// Types of machines that AWS does not have, or that a zone of a group lacks.
pub(super) async fn types(
    cloud: &Cloud,
    items: &[PreflightItem],
) -> Result<Vec<PreflightFinding>, ProviderError> {
    let templates: BTreeMap<&Address, &str> = wanted(items, TEMPLATE)
        .filter_map(|item| Some((&item.address, text(&item.desired, "instance_type")?)))
        .collect();
    let groups: Vec<(&Address, BTreeSet<&str>, BTreeSet<&str>)> = wanted(items, GROUP)
        .map(|item| (&item.address, types_of(&item.desired, &templates), zones_of(&item.desired, items)))
        .collect();
    let mut names: BTreeSet<String> = templates.values().map(|name| (*name).to_owned()).collect();
    names.extend(groups.iter().flat_map(|(_, types, _)| types.iter().map(|name| (*name).to_owned())));
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let offers = match offers(cloud, &names).await {
        Ok(offers) => offers,
        Err(error) => return unanswered("what zones offer", error).map(|()| Vec::new()),
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
    Ok(found)
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

/// The machine types of a group: those of its mix, or that of its template.
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

/// Processors of machines of the families that share one quota, by how the machines are bought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Processors {
    pub on_demand: u64,
    pub spot: u64,
}

/// Whether a type is of the families that share one quota.
fn is_usual(name: &str) -> bool {
    name.starts_with(['a', 'c', 'd', 'h', 'i', 'm', 'r', 't', 'z'])
}

/// Reads the machine types of new groups that the session has not read: pinned ones were not read.
///
/// # Errors
/// As the call says.
pub(super) async fn learn_processors(cloud: &Cloud, items: &[PreflightItem]) -> Result<(), ProviderError> {
    let templates = templates(items);
    let mut names: BTreeSet<String> =
        new_groups(items).flat_map(|item| types_of(&item.desired, &templates)).map(str::to_owned).collect();
    {
        let seen = cloud.shared::<Seen>();
        let seen = seen.processors.lock().unwrap_or_else(PoisonError::into_inner);
        names.retain(|name| !seen.contains_key(name));
    }
    if !names.is_empty() {
        catalog::described(cloud, &names).await?;
    }
    Ok(())
}

/// The types of launch templates.
fn templates(items: &[PreflightItem]) -> BTreeMap<&Address, &str> {
    wanted(items, TEMPLATE)
        .filter_map(|item| Some((&item.address, text(&item.desired, "instance_type")?)))
        .collect()
}

/// The groups that a plan makes.
fn new_groups(items: &[PreflightItem]) -> impl Iterator<Item = &PreflightItem> {
    items.iter().filter(|item| item.address.kind() == GROUP && item.action == "create")
}

/// How many processors the machines of new groups have at the least, as far as the session has seen their types.
pub(super) fn processors(cloud: &Cloud, items: &[PreflightItem]) -> Processors {
    let templates = templates(items);
    let on_spot: BTreeSet<&Address> = wanted(items, TEMPLATE)
        .filter(|item| block(&item.desired, "instance_market_options").is_some())
        .map(|item| &item.address)
        .collect();
    let seen = cloud.shared::<Seen>();
    let seen = seen.processors.lock().unwrap_or_else(PoisonError::into_inner);
    let mut all = Processors::default();
    for item in new_groups(items) {
        let types = types_of(&item.desired, &templates);
        let of_types: Option<Vec<u64>> =
            types.iter().map(|name| seen.get(*name).copied().filter(|_| is_usual(name))).collect();
        let (Some(each), Some(count)) = (
            of_types.and_then(|of_types| of_types.into_iter().min()),
            number(&item.desired, "min_size").and_then(|count| u64::try_from(count).ok()),
        ) else {
            continue;
        };
        let own = block(&item.desired, "launch_template").and_then(|block| referred(block.get("id")));
        let on_demand = match block(&item.desired, "mixed_instances_policy") {
            Some(mix) => on_demand(mix, count),
            None if own.is_some_and(|template| on_spot.contains(template)) => 0,
            None => count,
        };
        all.on_demand = all.on_demand.saturating_add(each.saturating_mul(on_demand));
        all.spot = all.spot.saturating_add(each.saturating_mul(count.saturating_sub(on_demand)));
    }
    all
}

/// How many of a mixed group's machines are bought on demand.
fn on_demand(mix: &Value, count: u64) -> u64 {
    let distribution = block(mix, "instances_distribution");
    let of = |name: &str| {
        let number = distribution.and_then(|block| number(block, name));
        number.and_then(|number| u64::try_from(number).ok())
    };
    let base = of("on_demand_base_capacity").unwrap_or(0).min(count);
    let percent = of("on_demand_percentage_above_base_capacity").unwrap_or(100).min(100);
    base.saturating_add(count.saturating_sub(base).saturating_mul(percent).div_ceil(100))
}

/// The number of processors of running machines in the region, of any owner.
///
/// # Errors
/// As the call says.
pub(super) async fn running(cloud: &Cloud) -> Result<Processors, ProviderError> {
    let request =
        cloud.ec2().describe_instances().filters(filter("instance-state-name", ["pending", "running"]));
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud.pages(Class::Ec2Read, "DescribeInstances", send, |page| page.next_token()).await?;
    let reservations = pages.iter().flat_map(|page| page.reservations());
    let mut all = Processors::default();
    for instance in reservations.flat_map(|reservation| reservation.instances()) {
        let name = instance.instance_type().map(|name| name.as_str()).unwrap_or_default();
        if !is_usual(name) {
            continue;
        }
        let options = instance.cpu_options();
        let cores = options.and_then(|options| options.core_count()).unwrap_or(1);
        let threads = options.and_then(|options| options.threads_per_core()).unwrap_or(1);
        let count = u64::try_from(cores.saturating_mul(threads)).unwrap_or(1);
        match instance.instance_lifecycle().map(|lifecycle| lifecycle.as_str()) {
            Some("spot") => all.spot = all.spot.saturating_add(count),
            _ => all.on_demand = all.on_demand.saturating_add(count),
        }
    }
    Ok(all)
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

/// Images that do not exist, or whose id is not known.
pub(super) async fn images(
    cloud: &Cloud,
    items: &[PreflightItem],
) -> Result<Vec<PreflightFinding>, ProviderError> {
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
        return Ok(found);
    }
    let request = cloud.ec2().describe_images().filters(filter("image-id", ids.keys().copied()));
    match cloud.read(Class::Ec2Read, "DescribeImages", || request.clone().send()).await {
        Ok(page) => {
            let known: BTreeSet<&str> = page.images().iter().filter_map(|image| image.image_id()).collect();
            for (id, address) in ids.iter().filter(|(id, _)| !known.contains(*id)) {
                let text = format!("the image {id} does not exist for this account in {}", cloud.region());
                let hint = "name another image, or have it shared with the account";
                found.push(finding(Some(address), ErrorClass::NotFound, text, hint));
            }
        }
        Err(error) => unanswered("images", error)?,
    }
    Ok(found)
}

/// The message about an image whose id is not known.
fn missing(cloud: &Cloud) -> String {
    let seen = cloud.shared::<Seen>();
    let names = seen.missing_images.lock().unwrap_or_else(PoisonError::into_inner);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let named = if names.is_empty() { "that the spec names".to_owned() } else { names.join(" or ") };
    format!("the image {named} does not exist for this account in {}", cloud.region())
}
