//! Subnets.

use async_trait::async_trait;
use aws_sdk_ec2::operation::modify_subnet_attribute::builders::ModifySubnetAttributeFluentBuilder;
use aws_sdk_ec2::types::{
    AttributeBooleanValue, HostnameType, Subnet as Sdk, SubnetCidrBlockStateCode,
    SubnetIpv6CidrBlockAssociation, SubnetState,
};
use slipway_resource::{Identity, ProviderError, Value};

use super::attribute::{differs, flag, need, some, text};
use super::family::Subnets;
use super::{Blockers, Condition, Found, Kind, blocker, update_tags};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::owner::{identity, of_ec2, specification, visible};
use crate::rate::Class;

/// `aws_subnet`.
pub(super) struct Subnet;

type Modify =
    fn(ModifySubnetAttributeFluentBuilder, AttributeBooleanValue) -> ModifySubnetAttributeFluentBuilder;

/// The switches, each set by a call of its own; all are off after a create.
const SWITCHES: [(&str, Modify); 5] = [
    ("assign_ipv6_address_on_creation", |request, value| request.assign_ipv6_address_on_creation(value)),
    ("map_public_ip_on_launch", |request, value| request.map_public_ip_on_launch(value)),
    ("enable_dns64", |request, value| request.enable_dns64(value)),
    ("enable_resource_name_dns_a_record_on_launch", |request, value| {
        request.enable_resource_name_dns_a_record_on_launch(value)
    }),
    ("enable_resource_name_dns_aaaa_record_on_launch", |request, value| {
        request.enable_resource_name_dns_aaaa_record_on_launch(value)
    }),
];

/// The setting for the names of instances.
const HOSTNAMES: &str = "private_dns_hostname_type_on_launch";

#[async_trait]
impl Kind for Subnet {
    fn name(&self) -> &'static str {
        "aws_subnet"
    }

    fn tagged_as(&self) -> Option<&'static str> {
        Some("subnet")
    }

    // Two subnets never have one range.
    fn is_idempotent(&self) -> bool {
        true
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let Some(subnet) = cloud.get::<Subnets>(id.as_str()).await? else { return Ok(None) };
        let found = Found::ready(id.as_str(), attributes(&subnet), &of_ec2(subnet.tags()));
        Ok(Some(match subnet.state() {
            Some(SubnetState::Pending) => found.but(Condition::Pending("the subnet comes about".into())),
            _ => found,
        }))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let request = act
            .cloud
            .ec2()
            .create_subnet()
            .vpc_id(need(desired, "vpc_id")?)
            .availability_zone(need(desired, "availability_zone")?)
            .set_cidr_block(text(desired, "cidr_block").map(str::to_owned))
            .set_ipv6_cidr_block(text(desired, "ipv6_cidr_block").map(str::to_owned))
            .set_ipv6_native(flag(desired, "ipv6_native").then_some(true))
            .tag_specifications(specification("subnet", &act.tags(desired)));
        let answer = act.cloud.write(Class::Ec2Write, "CreateSubnet", || request.clone().send()).await?;
        let id = answer.subnet().and_then(Sdk::subnet_id);
        Ok(identity(id.ok_or_else(|| incomplete("CreateSubnet", "id"))?))
    }

    async fn complete(&self, act: &Act<'_>, id: &Identity, desired: &Value) -> Result<(), ProviderError> {
        // A subnet of IPv6 alone begins with addresses for every interface.
        modify(
            act.cloud,
            id.as_str(),
            |name| {
                let initial = name == SWITCHES[0].0 && flag(desired, "ipv6_native");
                flag(desired, name) != initial
            },
            desired,
        )
        .await?;
        match text(desired, HOSTNAMES) {
            None | Some("ip-name") => Ok(()),
            Some(hostnames) => name_after(act.cloud, id.as_str(), hostnames).await,
        }
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        update_tags(act.cloud, id.as_str(), prior, desired).await?;
        if differs(prior, desired, "ipv6_cidr_block") {
            change_range(act.cloud, id.as_str(), prior, desired).await?;
        }
        modify(act.cloud, id.as_str(), |name| flag(prior, name) != flag(desired, name), desired).await?;
        if differs(prior, desired, HOSTNAMES)
            && let Some(hostnames) = text(desired, HOSTNAMES)
        {
            name_after(act.cloud, id.as_str(), hostnames).await?;
        }
        Ok(())
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.ec2().delete_subnet().subnet_id(id.as_str());
        act.cloud.write(Class::Ec2Write, "DeleteSubnet", || request.clone().send()).await.map(drop)
    }

    async fn blockers(&self, cloud: &Cloud, id: &Identity) -> Result<Blockers, ProviderError> {
        blocker::of_subnet(cloud, id.as_str()).await
    }
}

/// Sets the switches that `is_due` names, one call after the other: AWS takes one attribute a call.
async fn modify(
    cloud: &Cloud,
    id: &str,
    is_due: impl Fn(&str) -> bool,
    desired: &Value,
) -> Result<(), ProviderError> {
    for (name, set) in SWITCHES.into_iter().filter(|(name, _)| is_due(name)) {
        let value = AttributeBooleanValue::builder().value(flag(desired, name)).build();
        let request = set(cloud.ec2().modify_subnet_attribute().subnet_id(id), value);
        cloud.write(Class::Ec2Write, "ModifySubnetAttribute", || request.clone().send()).await?;
    }
    Ok(())
}

async fn name_after(cloud: &Cloud, id: &str, hostnames: &str) -> Result<(), ProviderError> {
    let kind = HostnameType::from(hostnames);
    let request =
        cloud.ec2().modify_subnet_attribute().subnet_id(id).private_dns_hostname_type_on_launch(kind);
    cloud.write(Class::Ec2Write, "ModifySubnetAttribute", || request.clone().send()).await.map(drop)
}

/// Gives the subnet another IPv6 range, in place of the present one: a subnet has at most one.
async fn change_range(cloud: &Cloud, id: &str, prior: &Value, desired: &Value) -> Result<(), ProviderError> {
    if let Some(association) = text(prior, "ipv6_cidr_block_association_id") {
        let request = cloud.ec2().disassociate_subnet_cidr_block().association_id(association);
        super::or_gone(
            cloud
                .write(Class::Ec2Write, "DisassociateSubnetCidrBlock", || request.clone().send())
                .await
                .map(drop),
        )?;
    }
    let Some(range) = text(desired, "ipv6_cidr_block") else { return Ok(()) };
    let request = cloud.ec2().associate_subnet_cidr_block().subnet_id(id).ipv6_cidr_block(range);
    cloud.write(Class::Ec2Write, "AssociateSubnetCidrBlock", || request.clone().send()).await.map(drop)
}

fn is_current(association: &SubnetIpv6CidrBlockAssociation) -> bool {
    let state = association.ipv6_cidr_block_state().and_then(|state| state.state());
    matches!(state, Some(SubnetCidrBlockStateCode::Associated | SubnetCidrBlockStateCode::Associating))
}

fn attributes(subnet: &Sdk) -> Value {
    let range = subnet.ipv6_cidr_block_association_set().iter().find(|association| is_current(association));
    let options = subnet.private_dns_name_options_on_launch();
    let hostnames = options.and_then(|options| options.hostname_type()).map(HostnameType::as_str);
    Value::map([
        ("id", subnet.subnet_id().into()),
        ("arn", subnet.subnet_arn().into()),
        ("vpc_id", subnet.vpc_id().into()),
        ("availability_zone", subnet.availability_zone().into()),
        ("cidr_block", some(subnet.cidr_block())),
        ("ipv6_cidr_block", range.and_then(SubnetIpv6CidrBlockAssociation::ipv6_cidr_block).into()),
        (
            "ipv6_cidr_block_association_id",
            range.and_then(SubnetIpv6CidrBlockAssociation::association_id).into(),
        ),
        ("ipv6_native", subnet.ipv6_native().into()),
        ("assign_ipv6_address_on_creation", subnet.assign_ipv6_address_on_creation().into()),
        ("map_public_ip_on_launch", subnet.map_public_ip_on_launch().into()),
        ("enable_dns64", subnet.enable_dns64().into()),
        (
            "enable_resource_name_dns_a_record_on_launch",
            options.and_then(|options| options.enable_resource_name_dns_a_record()).into(),
        ),
        (
            "enable_resource_name_dns_aaaa_record_on_launch",
            options.and_then(|options| options.enable_resource_name_dns_aaaa_record()).into(),
        ),
        (HOSTNAMES, hostnames.into()),
        ("owner_id", subnet.owner_id().into()),
        ("tags", visible(&of_ec2(subnet.tags()))),
    ])
}
