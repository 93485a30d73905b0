//! Quotas of the account.

use std::collections::BTreeMap;

use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{Address, ErrorClass, ProviderError, Value};

use super::machine::{self, Processors};
use super::{finding, made, referred, unanswered};
use crate::cloud::Cloud;
use crate::kind::attribute::text;
use crate::rate::Class;

/// VPCs in a region.
const VPCS: (&str, &str) = ("vpc", "L-F678F1CE");
/// Elastic addresses in a region.
const ADDRESSES: (&str, &str) = ("ec2", "L-0263D0A3");
/// Rules of a security group, in and out each.
const RULES: (&str, &str) = ("vpc", "L-0EA8095F");
/// NAT gateways in a zone.
const GATEWAYS: (&str, &str) = ("vpc", "L-FE5A380F");
/// Processors of on-demand machines of the usual families (A, C, D, H, I, M, R, T and Z).
const PROCESSORS: (&str, &str) = ("ec2", "L-1216C47A");
/// Processors of spot machines of the same families.
const SPOT_PROCESSORS: (&str, &str) = ("ec2", "L-34B43A08");
/// Network load balancers in a region.
const BALANCERS: (&str, &str) = ("elasticloadbalancing", "L-69A177A2");
/// The least quota of every account: up to this number, the quota is not read.
const VPCS_AT_LEAST: u64 = 5;
const ADDRESSES_AT_LEAST: u64 = 5;
const RULES_AT_LEAST: u64 = 60;
const GATEWAYS_AT_LEAST: u64 = 5;
const PROCESSORS_AT_LEAST: u64 = 5;
const BALANCERS_AT_LEAST: u64 = 50;

/// Quotas that the changes would exceed.
pub(super) async fn exceeded(
    cloud: &Cloud,
    items: &[PreflightItem],
) -> Result<Vec<PreflightFinding>, ProviderError> {
    let (vpcs, addresses, rules, gateways, processors, balancers) = tokio::join!(
        vpcs(cloud, items),
        addresses(cloud, items),
        rules(cloud, items),
        gateways(cloud, items),
        processors(cloud, items),
        balancers(cloud, items),
    );
    let mut found = Vec::new();
    for asked in [vpcs, addresses, rules, gateways, processors, balancers] {
        match asked {
            Ok(findings) => found.extend(findings),
            Err(error) => unanswered("a quota", error)?,
        }
    }
    Ok(found)
}

async fn vpcs(cloud: &Cloud, items: &[PreflightItem]) -> Result<Vec<PreflightFinding>, ProviderError> {
    let new = made(items, "aws_vpc");
    if new == 0 {
        return Ok(Vec::new());
    }
    let request = cloud.ec2().describe_vpcs();
    let page = cloud.read(Class::Ec2Read, "DescribeVpcs", || request.clone().send()).await?;
    let used = page.vpcs().len() as u64;
    if used.saturating_add(new) <= VPCS_AT_LEAST {
        return Ok(Vec::new());
    }
    Ok(over("VPCs", limit(cloud, VPCS).await?, used, new).into_iter().collect())
}

async fn addresses(cloud: &Cloud, items: &[PreflightItem]) -> Result<Vec<PreflightFinding>, ProviderError> {
    let new = made(items, "aws_eip");
    if new == 0 {
        return Ok(Vec::new());
    }
    let request = cloud.ec2().describe_addresses();
    let page = cloud.read(Class::Ec2Read, "DescribeAddresses", || request.clone().send()).await?;
    let used = page.addresses().len() as u64;
    if used.saturating_add(new) <= ADDRESSES_AT_LEAST {
        return Ok(Vec::new());
    }
    Ok(over("elastic IP addresses", limit(cloud, ADDRESSES).await?, used, new).into_iter().collect())
}

/// Gateways are counted in the zones of the subnets that the plan creates, and added to the existing ones.
async fn gateways(cloud: &Cloud, items: &[PreflightItem]) -> Result<Vec<PreflightFinding>, ProviderError> {
    let mut of_zone: BTreeMap<&str, u64> = BTreeMap::new();
    for item in
        items.iter().filter(|item| item.address.kind() == "aws_nat_gateway" && item.action == "create")
    {
        let subnet = referred(item.desired.get("subnet_id"));
        let subnet = subnet.and_then(|address| items.iter().find(|item| item.address == *address));
        if let Some(zone) = subnet.and_then(|subnet| text(&subnet.desired, "availability_zone")) {
            *of_zone.entry(zone).or_default() += 1;
        }
    }
    of_zone.retain(|_, count| *count > GATEWAYS_AT_LEAST);
    if of_zone.is_empty() {
        return Ok(Vec::new());
    }
    let limit = limit(cloud, GATEWAYS).await?;
    let over = |(zone, new)| over(&format!("NAT gateways in {zone}"), limit, 0, new);
    Ok(of_zone.into_iter().filter_map(over).collect())
}

/// The initial machines of new groups are counted, and the running ones.
async fn processors(cloud: &Cloud, items: &[PreflightItem]) -> Result<Vec<PreflightFinding>, ProviderError> {
    machine::learn_processors(cloud, items).await?;
    let new = machine::processors(cloud, items);
    if new == Processors::default() {
        return Ok(Vec::new());
    }
    let running = machine::running(cloud).await?;
    let mut found = Vec::new();
    for (what, quota, at_least, used, new) in [
        (
            "processors of on-demand machines",
            PROCESSORS,
            PROCESSORS_AT_LEAST,
            running.on_demand,
            new.on_demand,
        ),
        ("processors of spot machines", SPOT_PROCESSORS, 0, running.spot, new.spot),
    ] {
        if new > 0 && used.saturating_add(new) > at_least {
            found.extend(over(what, limit(cloud, quota).await?, used, new));
        }
    }
    Ok(found)
}

async fn balancers(cloud: &Cloud, items: &[PreflightItem]) -> Result<Vec<PreflightFinding>, ProviderError> {
    let new = made(items, "aws_lb");
    if new <= BALANCERS_AT_LEAST {
        return Ok(Vec::new());
    }
    Ok(over("network load balancers", limit(cloud, BALANCERS).await?, 0, new).into_iter().collect())
}

/// Rules are counted as the plan has them: a group's own side and direction.
async fn rules(cloud: &Cloud, items: &[PreflightItem]) -> Result<Vec<PreflightFinding>, ProviderError> {
    let mut counts: BTreeMap<(String, &str), (u64, &Address)> = BTreeMap::new();
    for item in items.iter().filter(|item| item.address.kind() == "aws_security_group_rule") {
        let group = match item.desired.get("security_group_id") {
            Some(Value::Reference(reference)) => reference.address.to_string(),
            Some(Value::String(id)) => id.clone(),
            _ => continue,
        };
        let direction = text(&item.desired, "type").unwrap_or("ingress");
        counts.entry((group, direction)).or_insert((0, &item.address)).0 +=
            u64::from(item.action == "create");
    }
    counts.retain(|_, (count, _)| *count > RULES_AT_LEAST);
    if counts.is_empty() {
        return Ok(Vec::new());
    }
    let limit = limit(cloud, RULES).await?;
    Ok(counts
        .into_iter()
        .filter(|(_, (count, _))| *count > limit)
        .map(|((group, direction), (count, address))| {
            let text = format!("{group} would have {count} {direction} rules; the account allows {limit}");
            let class = ErrorClass::Quota { name: "rules of a security group".into(), limit, used: count };
            finding(Some(address), class, text, "name fewer ranges, use a prefix list, or ask AWS for more")
        })
        .collect())
}

/// The account's limit.
async fn limit(cloud: &Cloud, (service, code): (&str, &str)) -> Result<u64, ProviderError> {
    let request = cloud.quotas().get_service_quota().service_code(service).quota_code(code);
    let answer = cloud.read(Class::Quotas, "GetServiceQuota", || request.clone().send()).await?;
    let value = answer.quota().and_then(|quota| quota.value()).unwrap_or(f64::MAX);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a quota is a small count")]
    Ok(value.max(0.0) as u64)
}

fn over(what: &str, limit: u64, used: u64, new: u64) -> Option<PreflightFinding> {
    (used.saturating_add(new) > limit).then(|| {
        let text =
            format!("the account may have {limit} {what} in the region; it has {used}, the plan makes {new}");
        let class = ErrorClass::Quota { name: what.to_owned(), limit, used };
        finding(None, class, text, "delete what is not used any more, or ask AWS for more")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_no_finding() {
        assert!(over("VPCs", 5, 4, 1).is_none());
        let finding = over("VPCs", 5, 5, 1).unwrap();
        assert_eq!(finding.class, ErrorClass::Quota { name: "VPCs".into(), limit: 5, used: 5 });
    }
}
