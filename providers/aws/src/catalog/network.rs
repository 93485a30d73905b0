//! Zones, and networks that exist already.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::types::{
    AvailabilityZone, EgressOnlyInternetGateway, InternetGatewayAttachment, Vpc as Sdk,
    VpcCidrBlockAssociation, VpcIpv6CidrBlockAssociation,
};
use slipway_aws_model::catalog::{Vpc, VpcSubnet};
use slipway_resource::ProviderError;

use crate::cloud::Cloud;
use crate::error::invalid;
use crate::look::filter;
use crate::rate::Class;

/// The region's zones that are open to the account, sorted.
pub(super) async fn zones(cloud: &Cloud, is_due: bool) -> Result<Vec<String>, ProviderError> {
    if !is_due {
        return Ok(Vec::new());
    }
    let request = cloud.ec2().describe_availability_zones().filters(filter("state", ["available"]));
    let answer = cloud.read(Class::Ec2Read, "DescribeAvailabilityZones", || request.clone().send()).await?;
    let zones = answer.availability_zones().iter().filter_map(AvailabilityZone::zone_name);
    let mut zones: Vec<String> = zones.map(str::to_owned).collect();
    zones.sort();
    Ok(zones)
}

/// The allocations of elastic addresses; one that is not the account's is left out.
pub(super) async fn addresses(
    cloud: &Cloud,
    wanted: &BTreeSet<String>,
) -> Result<BTreeMap<String, String>, ProviderError> {
    if wanted.is_empty() {
        return Ok(BTreeMap::new());
    }
    let request =
        cloud.ec2().describe_addresses().filters(filter("public-ip", wanted.iter().map(String::as_str)));
    let answer = cloud.read(Class::Ec2Read, "DescribeAddresses", || request.clone().send()).await?;
    let known = answer.addresses().iter();
    Ok(known.filter_map(|one| Some((one.public_ip()?.to_owned(), one.allocation_id()?.to_owned()))).collect())
}

/// An existing network with its gateways and subnets.
pub(super) async fn existing(
    cloud: &Cloud,
    id: Option<&str>,
) -> Result<BTreeMap<String, Vpc>, ProviderError> {
    let Some(id) = id else { return Ok(BTreeMap::new()) };
    let (vpc, internet, egress, subnets) =
        tokio::try_join!(vpc(cloud, id), internet(cloud, id), egress(cloud, id), subnets(cloud, id))?;
    let Some(vpc) = vpc else {
        let text = format!("network.id: there is no VPC {id} in {}", cloud.region());
        return Err(invalid(text).with_hint("look at the region and the account of the session"));
    };
    let ranges = vpc.cidr_block_association_set().iter().filter_map(VpcCidrBlockAssociation::cidr_block);
    let mut cidr_blocks: Vec<String> = vpc.cidr_block().map(str::to_owned).into_iter().collect();
    cidr_blocks.extend(ranges.filter(|range| vpc.cidr_block() != Some(*range)).map(str::to_owned));
    let ipv6 = vpc.ipv6_cidr_block_association_set().first();
    let known = Vpc {
        cidr_blocks,
        ipv6_cidr_block: ipv6.and_then(VpcIpv6CidrBlockAssociation::ipv6_cidr_block).map(str::to_owned),
        internet_gateway: internet,
        egress_only_internet_gateway: egress,
        subnets,
    };
    Ok(BTreeMap::from([(id.to_owned(), known)]))
}

async fn vpc(cloud: &Cloud, id: &str) -> Result<Option<Sdk>, ProviderError> {
    let request = cloud.ec2().describe_vpcs().filters(filter("vpc-id", [id]));
    let page = cloud.read(Class::Ec2Read, "DescribeVpcs", || request.clone().send()).await?;
    Ok(page.vpcs().first().cloned())
}

async fn internet(cloud: &Cloud, vpc: &str) -> Result<Option<String>, ProviderError> {
    let request = cloud.ec2().describe_internet_gateways().filters(filter("attachment.vpc-id", [vpc]));
    let page = cloud.read(Class::Ec2Read, "DescribeInternetGateways", || request.clone().send()).await?;
    let gateway = page.internet_gateways().first();
    Ok(gateway.and_then(|gateway| gateway.internet_gateway_id()).map(str::to_owned))
}

/// These have no filter for what they are attached to.
async fn egress(cloud: &Cloud, vpc: &str) -> Result<Option<String>, ProviderError> {
    let request = cloud.ec2().describe_egress_only_internet_gateways();
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud
        .pages(Class::Ec2Read, "DescribeEgressOnlyInternetGateways", send, |page| page.next_token())
        .await?;
    let is_attached = |gateway: &&EgressOnlyInternetGateway| {
        gateway.attachments().iter().filter_map(InternetGatewayAttachment::vpc_id).any(|own| own == vpc)
    };
    let found = pages.iter().flat_map(|page| page.egress_only_internet_gateways()).find(is_attached);
    let id = found.and_then(EgressOnlyInternetGateway::egress_only_internet_gateway_id);
    Ok(id.map(str::to_owned))
}

async fn subnets(cloud: &Cloud, vpc: &str) -> Result<BTreeMap<String, VpcSubnet>, ProviderError> {
    let request = cloud.ec2().describe_subnets().filters(filter("vpc-id", [vpc]));
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud.pages(Class::Ec2Read, "DescribeSubnets", send, |page| page.next_token()).await?;
    let mut found = BTreeMap::new();
    for subnet in pages.iter().flat_map(|page| page.subnets()) {
        let (Some(id), Some(zone)) = (subnet.subnet_id(), subnet.availability_zone()) else { continue };
        let range = subnet.ipv6_cidr_block_association_set().first();
        let known = VpcSubnet {
            zone: zone.to_owned(),
            cidr_block: subnet.cidr_block().filter(|range| !range.is_empty()).map(str::to_owned),
            ipv6_cidr_block: range.and_then(|range| range.ipv6_cidr_block()).map(str::to_owned),
        };
        found.insert(id.to_owned(), known);
    }
    Ok(found)
}
