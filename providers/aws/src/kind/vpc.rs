//! VPCs.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_ec2::types::{
    AttributeBooleanValue, Tenancy, Vpc as Sdk, VpcAttributeName, VpcCidrBlockStateCode,
    VpcIpv6CidrBlockAssociation,
};
use futures_util::future::try_join_all;
use slipway_resource::{Identity, ProviderError, Value};

use super::attribute::{differs, flag, need, text};
use super::family::Vpcs;
use super::{Blockers, Condition, Found, Kind, update_tags};
use crate::act::Act;
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::owner::{identity, of_ec2, specification, visible};
use crate::rate::Class;

/// `aws_vpc`.
pub(super) struct Vpc;

/// The switches that have calls of their own, each with its value after a create.
const SWITCHES: [(&str, VpcAttributeName, bool); 2] = [
    ("enable_dns_support", VpcAttributeName::EnableDnsSupport, true),
    ("enable_dns_hostnames", VpcAttributeName::EnableDnsHostnames, false),
];

#[async_trait]
impl Kind for Vpc {
    fn name(&self) -> &'static str {
        "aws_vpc"
    }

    fn tagged_as(&self) -> Option<&'static str> {
        Some("vpc")
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let id = id.as_str();
        let (vpc, support, hostnames) =
            tokio::join!(cloud.get::<Vpcs>(id), cloud.get::<Support>(id), cloud.get::<Hostnames>(id),);
        let Some(vpc) = vpc? else { return Ok(None) };
        let (Some(support), Some(hostnames)) = (support?, hostnames?) else { return Ok(None) };
        let tags = of_ec2(vpc.tags());
        let mut found = Found::ready(id, attributes(cloud, &vpc, *support, *hostnames), &tags);
        if let Some(association) = vpc.ipv6_cidr_block_association_set().first()
            && is_on_its_way(association)
        {
            found = found.but(Condition::Pending("its IPv6 range is being associated".into()));
        }
        Ok(Some(found))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let request = act
            .cloud
            .ec2()
            .create_vpc()
            .cidr_block(need(desired, "cidr_block")?)
            .set_instance_tenancy(text(desired, "instance_tenancy").map(Tenancy::from))
            .amazon_provided_ipv6_cidr_block(flag(desired, "assign_generated_ipv6_cidr_block"))
            .tag_specifications(specification("vpc", &act.tags(desired)));
        let answer = act.cloud.write(Class::Ec2Write, "CreateVpc", || request.clone().send()).await?;
        let id = answer.vpc().and_then(Sdk::vpc_id).ok_or_else(|| incomplete("CreateVpc", "id"))?;
        Ok(identity(id))
    }

    async fn complete(&self, act: &Act<'_>, id: &Identity, desired: &Value) -> Result<(), ProviderError> {
        for (name, attribute, initial) in SWITCHES {
            if flag(desired, name) != initial {
                set_switch(act.cloud, id.as_str(), &attribute, flag(desired, name)).await?;
            }
        }
        Ok(())
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        update_tags(act.cloud, id.as_str(), prior, desired).await?;
        for (name, attribute, _) in SWITCHES {
            if differs(prior, desired, name) {
                set_switch(act.cloud, id.as_str(), &attribute, flag(desired, name)).await?;
            }
        }
        if differs(prior, desired, "assign_generated_ipv6_cidr_block") {
            associate_ipv6(act.cloud, id.as_str(), prior, desired).await?;
        }
        Ok(())
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.ec2().delete_vpc().vpc_id(id.as_str());
        act.cloud.write(Class::Ec2Write, "DeleteVpc", || request.clone().send()).await.map(drop)
    }

    async fn blockers(&self, cloud: &Cloud, id: &Identity) -> Result<Blockers, ProviderError> {
        super::blocker::of_vpc(cloud, id.as_str()).await
    }
}

/// Whether Amazon's resolver answers, by VPC.
struct Support;

/// Whether instances have DNS names, by VPC.
struct Hostnames;

#[async_trait]
impl Family for Support {
    type Item = bool;
    const LIMIT: usize = 200;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, bool>, ProviderError> {
        switches(cloud, keys, &SWITCHES[0].1).await
    }
}

#[async_trait]
impl Family for Hostnames {
    type Item = bool;
    const LIMIT: usize = 200;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, bool>, ProviderError> {
        switches(cloud, keys, &SWITCHES[1].1).await
    }
}

/// One of the switches of some VPCs: AWS returns one in each call.
async fn switches(
    cloud: &Cloud,
    ids: &[String],
    name: &VpcAttributeName,
) -> Result<BTreeMap<String, bool>, ProviderError> {
    let asked = ids.iter().map(|id| async move { Ok((id.clone(), switch(cloud, id, name).await?)) });
    let found: Vec<(String, Option<bool>)> = try_join_all(asked).await?;
    Ok(found.into_iter().filter_map(|(id, value)| Some((id, value?))).collect())
}

/// One of the switches; `None` when the VPC does not exist.
async fn switch(cloud: &Cloud, id: &str, name: &VpcAttributeName) -> Result<Option<bool>, ProviderError> {
    let request = cloud.ec2().describe_vpc_attribute().vpc_id(id).attribute(name.clone());
    let answer = cloud.read(Class::Ec2Read, "DescribeVpcAttribute", || request.clone().send()).await;
    match answer {
        Ok(answer) => {
            let value = match name {
                VpcAttributeName::EnableDnsSupport => answer.enable_dns_support(),
                _ => answer.enable_dns_hostnames(),
            };
            Ok(value.and_then(AttributeBooleanValue::value))
        }
        Err(error) if error.class == slipway_resource::ErrorClass::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

async fn set_switch(
    cloud: &Cloud,
    id: &str,
    name: &VpcAttributeName,
    value: bool,
) -> Result<(), ProviderError> {
    let value = AttributeBooleanValue::builder().value(value).build();
    let request = cloud.ec2().modify_vpc_attribute().vpc_id(id);
    let request = match name {
        VpcAttributeName::EnableDnsSupport => request.enable_dns_support(value),
        _ => request.enable_dns_hostnames(value),
    };
    cloud.write(Class::Ec2Write, "ModifyVpcAttribute", || request.clone().send()).await.map(drop)
}

async fn associate_ipv6(
    cloud: &Cloud,
    id: &str,
    prior: &Value,
    desired: &Value,
) -> Result<(), ProviderError> {
    if flag(desired, "assign_generated_ipv6_cidr_block") {
        let request = cloud.ec2().associate_vpc_cidr_block().vpc_id(id).amazon_provided_ipv6_cidr_block(true);
        return cloud
            .write(Class::Ec2Write, "AssociateVpcCidrBlock", || request.clone().send())
            .await
            .map(drop);
    }
    let association = need(prior, "ipv6_association_id")?;
    let request = cloud.ec2().disassociate_vpc_cidr_block().association_id(association);
    cloud.write(Class::Ec2Write, "DisassociateVpcCidrBlock", || request.clone().send()).await.map(drop)
}

fn is_on_its_way(association: &VpcIpv6CidrBlockAssociation) -> bool {
    state(association) == Some(&VpcCidrBlockStateCode::Associating)
}

fn state(association: &VpcIpv6CidrBlockAssociation) -> Option<&VpcCidrBlockStateCode> {
    association.ipv6_cidr_block_state().and_then(|state| state.state())
}

fn attributes(cloud: &Cloud, vpc: &Sdk, support: bool, hostnames: bool) -> Value {
    let ipv6 = vpc.ipv6_cidr_block_association_set().iter().find(|association| {
        matches!(
            state(association),
            Some(VpcCidrBlockStateCode::Associated | VpcCidrBlockStateCode::Associating)
        )
    });
    let id = vpc.vpc_id().unwrap_or_default();
    Value::map([
        ("id", id.into()),
        ("arn", Value::from(cloud.ec2_arn(vpc.owner_id(), "vpc", id))),
        ("cidr_block", vpc.cidr_block().into()),
        ("instance_tenancy", vpc.instance_tenancy().map(Tenancy::as_str).into()),
        ("assign_generated_ipv6_cidr_block", ipv6.is_some().into()),
        ("enable_dns_support", support.into()),
        ("enable_dns_hostnames", hostnames.into()),
        ("ipv6_cidr_block", ipv6.and_then(VpcIpv6CidrBlockAssociation::ipv6_cidr_block).into()),
        ("ipv6_association_id", ipv6.and_then(VpcIpv6CidrBlockAssociation::association_id).into()),
        ("dhcp_options_id", vpc.dhcp_options_id().into()),
        ("owner_id", vpc.owner_id().into()),
        ("tags", visible(&of_ec2(vpc.tags()))),
    ])
}
