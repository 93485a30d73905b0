//! Objects that block the deletion of parts of a network, of any owner.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{
    InstanceStateName, NatGatewayState, NetworkInterface, NetworkInterfaceType, SecurityGroup,
};
use slipway_aws_model::tags::membership;
use slipway_resource::ProviderError;

use super::Blockers;
use crate::cloud::Cloud;
use crate::look::filter;
use crate::rate::Class;

/// The objects in a VPC.
pub(super) async fn of_vpc(cloud: &Cloud, vpc: &str) -> Result<Blockers, ProviderError> {
    let (interfaces, subnets, groups, gateways, nat) = tokio::try_join!(
        interfaces(cloud, "vpc-id", vpc),
        subnets(cloud, vpc),
        groups(cloud, "vpc-id", vpc),
        internet_gateways(cloud, vpc),
        nat_gateways(cloud, "vpc-id", vpc),
    )?;
    let mut blockers = interfaces;
    blockers.lasting.extend(subnets);
    blockers.lasting.extend(groups);
    blockers.lasting.extend(gateways);
    blockers.add(nat);
    Ok(blockers)
}

/// The objects in a subnet.
pub(super) async fn of_subnet(cloud: &Cloud, subnet: &str) -> Result<Blockers, ProviderError> {
    let (mut blockers, nat) =
        tokio::try_join!(interfaces(cloud, "subnet-id", subnet), nat_gateways(cloud, "subnet-id", subnet))?;
    blockers.add(nat);
    Ok(blockers)
}

/// The users of a security group: interfaces, and other groups' rules.
pub(super) async fn of_security_group(cloud: &Cloud, group: &str) -> Result<Blockers, ProviderError> {
    let (mut blockers, naming, naming_out) = tokio::try_join!(
        interfaces(cloud, "group-id", group),
        groups(cloud, "ip-permission.group-id", group),
        groups(cloud, "egress.ip-permission.group-id", group),
    )?;
    let others = naming.into_iter().chain(naming_out).filter(|other| !other.starts_with(group));
    blockers.lasting.extend(others.map(|other| format!("{other} has a rule that names it")));
    blockers.lasting.dedup();
    Ok(blockers)
}

/// The objects with a public address in the VPC of an internet gateway.
pub(super) async fn of_internet_gateway(cloud: &Cloud, vpc: &str) -> Result<Blockers, ProviderError> {
    let request = cloud.ec2().describe_network_interfaces().filters(filter("vpc-id", [vpc]));
    let page = cloud.read(Class::Ec2Read, "DescribeNetworkInterfaces", || request.clone().send()).await?;
    let public = page.network_interfaces().iter().filter(|interface| interface.association().is_some());
    sort_out(cloud, public.collect()).await
}

/// Network interfaces that a filter finds.
async fn interfaces(cloud: &Cloud, name: &str, value: &str) -> Result<Blockers, ProviderError> {
    let request = cloud.ec2().describe_network_interfaces().filters(filter(name, [value]));
    let page = cloud.read(Class::Ec2Read, "DescribeNetworkInterfaces", || request.clone().send()).await?;
    sort_out(cloud, page.network_interfaces().iter().collect()).await
}

/// Separates interfaces that AWS removes by itself (of AWS services and of terminating instances) from interfaces that stay.
async fn sort_out(cloud: &Cloud, interfaces: Vec<&NetworkInterface>) -> Result<Blockers, ProviderError> {
    let instances: Vec<&str> = interfaces.iter().filter_map(|interface| instance_of(interface)).collect();
    let going = instances_going(cloud, &instances).await?;
    let mut blockers = Blockers::default();
    for interface in interfaces {
        let id = interface.network_interface_id().unwrap_or_default();
        let instance = instance_of(interface);
        let text = match (instance, interface.description().filter(|text| !text.is_empty())) {
            (Some(instance), _) => format!("{id} (interface of {instance})"),
            (None, Some(description)) => format!("{id} ({description})"),
            (None, None) => id.to_owned(),
        };
        let is_going = instance.is_some_and(|instance| going.get(instance).copied().unwrap_or_default());
        if is_going || is_of_a_service(interface) {
            blockers.passing.push(text);
        } else {
            blockers.lasting.push(text);
        }
    }
    Ok(blockers)
}

fn instance_of(interface: &NetworkInterface) -> Option<&str> {
    interface.attachment().and_then(|attachment| attachment.instance_id())
}

fn is_of_a_service(interface: &NetworkInterface) -> bool {
    let of_a_service = matches!(
        interface.interface_type(),
        Some(NetworkInterfaceType::NatGateway | NetworkInterfaceType::NetworkLoadBalancer)
    );
    of_a_service || interface.requester_managed().unwrap_or_default()
}

/// The instances that use an object: terminating ones release it.
pub(super) async fn of_instances(cloud: &Cloud, ids: &[String]) -> Result<Blockers, ProviderError> {
    let going = instances_going(cloud, &ids.iter().map(String::as_str).collect::<Vec<_>>()).await?;
    let (passing, lasting) = ids.iter().cloned().partition(|id| going.get(id).copied().unwrap_or_default());
    Ok(Blockers { lasting, passing })
}

/// The instances with the tag of a cluster that are not on their way out, each with its network. The tag has the name of the cluster,
/// which a cluster in another network may have too.
///
/// # Errors
/// When they cannot be read.
pub(crate) async fn machines(
    cloud: &Cloud,
    cluster: &str,
) -> Result<Vec<(String, Option<String>)>, ProviderError> {
    let filters = vec![
        filter("tag-key", [membership(cluster)]),
        filter("instance-state-name", ["pending", "running", "stopping", "stopped"]),
    ];
    let request = cloud.ec2().describe_instances().set_filters(Some(filters));
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud.pages(Class::Ec2Read, "DescribeInstances", send, |page| page.next_token()).await?;
    let instances =
        pages.iter().flat_map(|page| page.reservations()).flat_map(|reservation| reservation.instances());
    let found = instances.filter_map(|instance| {
        Some((instance.instance_id()?.to_owned(), instance.vpc_id().map(str::to_owned)))
    });
    Ok(found.collect())
}

/// Of each instance that is listed whether it is on its way out.
///
/// # Errors
/// When they cannot be read.
pub(super) async fn instances_going(
    cloud: &Cloud,
    ids: &[&str],
) -> Result<BTreeMap<String, bool>, ProviderError> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let request = cloud.ec2().describe_instances().filters(filter("instance-id", ids.iter().copied()));
    let page = cloud.read(Class::Ec2Read, "DescribeInstances", || request.clone().send()).await?;
    let instances = page.reservations().iter().flat_map(|reservation| reservation.instances());
    Ok(instances
        .map(|instance| {
            let state = instance.state().and_then(|state| state.name());
            let is_going =
                matches!(state, Some(InstanceStateName::ShuttingDown | InstanceStateName::Terminated));
            (instance.instance_id().unwrap_or_default().to_owned(), is_going)
        })
        .collect())
}

async fn subnets(cloud: &Cloud, vpc: &str) -> Result<Vec<String>, ProviderError> {
    let request = cloud.ec2().describe_subnets().filters(filter("vpc-id", [vpc]));
    let page = cloud.read(Class::Ec2Read, "DescribeSubnets", || request.clone().send()).await?;
    Ok(page.subnets().iter().filter_map(|subnet| subnet.subnet_id()).map(str::to_owned).collect())
}

async fn groups(cloud: &Cloud, name: &str, value: &str) -> Result<Vec<String>, ProviderError> {
    let request = cloud.ec2().describe_security_groups().filters(filter(name, [value]));
    let page = cloud.read(Class::Ec2Read, "DescribeSecurityGroups", || request.clone().send()).await?;
    let named = |group: &SecurityGroup| {
        let (id, name) = (group.group_id()?, group.group_name().unwrap_or_default());
        // A VPC's default group is deleted with it.
        (name != "default").then(|| format!("{id} (security group {name})"))
    };
    Ok(page.security_groups().iter().filter_map(named).collect())
}

async fn internet_gateways(cloud: &Cloud, vpc: &str) -> Result<Vec<String>, ProviderError> {
    let request = cloud.ec2().describe_internet_gateways().filters(filter("attachment.vpc-id", [vpc]));
    let page = cloud.read(Class::Ec2Read, "DescribeInternetGateways", || request.clone().send()).await?;
    let gateways = page.internet_gateways().iter();
    Ok(gateways.filter_map(|gateway| gateway.internet_gateway_id()).map(str::to_owned).collect())
}

async fn nat_gateways(cloud: &Cloud, name: &str, value: &str) -> Result<Blockers, ProviderError> {
    let request = cloud.ec2().describe_nat_gateways().filter(filter(name, [value]));
    let page = cloud.read(Class::Ec2Read, "DescribeNatGateways", || request.clone().send()).await?;
    let mut blockers = Blockers::default();
    for gateway in page.nat_gateways() {
        let id = gateway.nat_gateway_id().unwrap_or_default().to_owned();
        match gateway.state() {
            Some(NatGatewayState::Deleted) => {}
            Some(NatGatewayState::Deleting) => blockers.passing.push(id),
            _ => blockers.lasting.push(id),
        }
    }
    Ok(blockers)
}

impl Blockers {
    fn add(&mut self, other: Self) {
        self.lasting.extend(other.lasting);
        self.passing.extend(other.passing);
    }
}
