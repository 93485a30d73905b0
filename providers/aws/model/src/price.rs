//! The monthly cost of a cluster, from a snapshot of list prices. No network request is made. The setting
//! `prices` replaces the snapshot by the user's price list.

mod list;

use std::collections::BTreeMap;

use slipway_resource::provider::{MonthlyPrice, PlanItem, PriceReport, ResourcePrice};
use slipway_resource::{Address, ProviderError, Value};

use crate::types::Kind;

pub use list::PriceList;

/// The cost of the resources, before and after the plan. Types that are not listed below have no cost of
/// their own. Data transfer, requests and metrics are never counted.
///
/// # Errors
/// `invalid` when the price list of the settings does not have the right form.
pub fn price(region: &str, own: &Value, items: &[PlanItem]) -> Result<PriceReport, ProviderError> {
    let list = PriceList::read(own)?;
    let of_zone = if region.is_empty() { region_of(items) } else { None };
    let region = of_zone.as_deref().unwrap_or(region);
    let before = side(&list, region, items, |item| item.observed.as_ref());
    let after = side(&list, region, items, |item| item.desired.as_ref());
    let prices = items.iter().filter_map(|item| {
        let (before, after) = (before.get(&item.address).cloned(), after.get(&item.address).cloned());
        (before.is_some() || after.is_some()).then(|| ResourcePrice {
            address: item.address.clone(),
            before,
            after,
        })
    });
    let mut prices: Vec<ResourcePrice> = prices.collect();
    prices.sort_by(|left, right| left.address.cmp(&right.address));
    Ok(PriceReport { list: list.name.clone(), prices })
}

/// The region that a zone's name tells, for plans without a session's region.
fn region_of(items: &[PlanItem]) -> Option<String> {
    let zones = items.iter().filter_map(|item| item.desired.as_ref().or(item.observed.as_ref()));
    let zone = zones.filter_map(|attributes| attributes.get("availability_zone")?.as_str()).next()?;
    Some(zone.trim_end_matches(|letter: char| letter.is_ascii_lowercase()).to_owned())
}

/// Prices of one side of a plan, by address.
fn side<'a>(
    list: &PriceList,
    region: &str,
    items: &'a [PlanItem],
    of: impl Fn(&'a PlanItem) -> Option<&'a Value>,
) -> BTreeMap<Address, MonthlyPrice> {
    let there: Vec<(&Address, &Value)> =
        items.iter().filter_map(|item| Some((&item.address, of(item)?))).collect();
    let factor = list.factor(region);
    let all = Side { list, there: &there };
    let priced = |(address, attributes): &(&'a Address, &'a Value)| {
        let price = all.dollars(address.kind(), attributes)?;
        let price = match (price, factor) {
            (Ok(dollars), Some(factor)) => MonthlyPrice::Known(millis(dollars * factor)),
            (Ok(_), None) => MonthlyPrice::Unknown(format!("the list has no prices of {region}")),
            (Err(why), _) => MonthlyPrice::Unknown(why),
        };
        Some(((*address).clone(), price))
    };
    there.iter().filter_map(priced).collect()
}

fn millis(dollars: f64) -> u64 {
    let text = format!("{:.0}", (dollars * 1000.0).max(0.0));
    text.parse().unwrap_or(u64::MAX)
}

/// All resources of one side.
struct Side<'a> {
    list: &'a PriceList,
    there: &'a [(&'a Address, &'a Value)],
}

impl Side<'_> {
    /// The cost of a resource. `None` when AWS charges nothing for it; an error when the list has no price for it.
    fn dollars(&self, kind: &str, attributes: &Value) -> Option<Result<f64, String>> {
        match Kind::of(kind)? {
            Kind::AutoscalingGroup => Some(self.group(attributes)),
            Kind::EbsVolume => Some(self.volume(attributes, "size", "type")),
            Kind::NatGateway => Some(Ok(self.list.monthly(self.list.nat_gateway_per_hour))),
            // The address of a NAT gateway or a load balancer; addresses of machines are counted with the
            // machines.
            Kind::Eip => Some(Ok(self.list.monthly(self.list.public_address_per_hour))),
            Kind::Lb => Some(Ok(self.list.monthly(self.list.network_load_balancer_per_hour))),
            Kind::Route53Zone => Some(Ok(self.list.hosted_zone_per_month)),
            Kind::KmsKey => Some(Ok(self.list.encryption_key_per_month)),
            // All other types have no cost of their own, or one by use only.
            Kind::AutoscalingLifecycleHook
            | Kind::CloudwatchEventRule
            | Kind::CloudwatchEventTarget
            | Kind::EgressOnlyInternetGateway
            | Kind::IamInstanceProfile
            | Kind::IamOpenidConnectProvider
            | Kind::IamRole
            | Kind::IamRolePolicy
            | Kind::IamRolePolicyAttachment
            | Kind::Instance
            | Kind::InternetGateway
            | Kind::KeyPair
            | Kind::LaunchTemplate
            | Kind::LbListener
            | Kind::LbTargetGroup
            | Kind::Route
            | Kind::Route53Record
            | Kind::Route53ZoneAssociation
            | Kind::RouteTable
            | Kind::RouteTableAssociation
            | Kind::S3Object
            | Kind::SecurityGroup
            | Kind::SecurityGroupRule
            | Kind::SqsQueue
            | Kind::Subnet
            | Kind::Vpc
            | Kind::VpcDhcpOptions
            | Kind::VpcDhcpOptionsAssociation
            | Kind::VpcIpv4CidrBlockAssociation => None,
        }
    }

    /// The machines of a group, as many as it has at least, with their disks and public addresses.
    fn group(&self, group: &Value) -> Result<f64, String> {
        let count = ["desired_capacity", "min_size"]
            .iter()
            .find_map(|name| group.get(name).and_then(Value::as_integer))
            .ok_or_else(|| "its size is not known".to_owned())?;
        if count == 0 {
            return Ok(0.0);
        }
        let mixed =
            first(group.get("mixed_instances_policy")).and_then(|mix| first(mix.get("launch_template")));
        let template = match mixed {
            Some(launch) => first(launch.get("launch_template_specification"))
                .and_then(|specification| specification.get("launch_template_id")),
            None => first(group.get("launch_template")).and_then(|launch| launch.get("id")),
        };
        let template = template
            .and_then(|template| self.find("aws_launch_template", template))
            .ok_or_else(|| "its launch template is not known".to_owned())?;
        if first(template.get("instance_market_options")).is_some() {
            return Err("it lives on the spot market".to_owned());
        }
        let distribution = first(group.get("mixed_instances_policy"))
            .and_then(|mix| first(mix.get("instances_distribution")))
            .and_then(|distribution| distribution.get("on_demand_percentage_above_base_capacity"))
            .and_then(Value::as_integer);
        if distribution.is_some_and(|percentage| percentage < 100) {
            return Err("part of it lives on the spot market".to_owned());
        }
        let machine = mixed
            .and_then(|launch| first(launch.get("override")))
            .and_then(|first| first.get("instance_type"))
            .or_else(|| template.get("instance_type"))
            .and_then(Value::as_str)
            .ok_or_else(|| "its type of machines is not known".to_owned())?;
        let hour =
            self.list.instance(machine).ok_or_else(|| format!("the list has no price of {machine}"))?;
        let mut one = self.list.monthly(hour);
        for mapping in template.get("block_device_mappings").and_then(Value::as_list).unwrap_or_default() {
            if let Some(ebs) = first(mapping.get("ebs")) {
                one += self.volume(ebs, "volume_size", "volume_type")?;
            }
        }
        let public = first(template.get("network_interfaces"))
            .and_then(|interface| interface.get("associate_public_ip_address"))
            .and_then(Value::as_bool);
        if public == Some(true) {
            one += self.list.monthly(self.list.public_address_per_hour);
        }
        Ok(one * as_number(count))
    }

    fn volume(&self, volume: &Value, size: &str, kind: &str) -> Result<f64, String> {
        let number = |name: &str| volume.get(name).and_then(Value::as_integer).map(as_number);
        let size = number(size).ok_or_else(|| "its size is not known".to_owned())?;
        let kind = volume.get(kind).and_then(Value::as_str).unwrap_or("gp2");
        self.list
            .volume(kind, size, number("iops"), number("throughput"))
            .ok_or_else(|| format!("the list has no price of volumes of {kind}"))
    }

    /// The resource of a type to which a value refers: by its address, or by its id if it exists already.
    fn find(&self, kind: &str, wanted: &Value) -> Option<&Value> {
        let of_kind = self.there.iter().filter(|(address, _)| address.kind() == kind);
        match wanted {
            Value::Reference(reference) => {
                of_kind.clone().find(|(address, _)| **address == reference.address).map(|(_, found)| *found)
            }
            Value::String(id) => of_kind
                .clone()
                .find(|(_, found)| found.get("id").and_then(Value::as_str) == Some(id))
                .map(|(_, found)| *found),
            _ => None,
        }
    }
}

/// The one block of a list of blocks.
fn first(blocks: Option<&Value>) -> Option<&Value> {
    blocks?.as_list()?.first()
}

#[allow(clippy::cast_precision_loss, reason = "sizes are far below what a float holds exactly")]
fn as_number(count: i64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
