//! NAT gateways, and the addresses that stay.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_ec2::types::{
    Address as Sdk, ConnectivityType, DomainType, NatGateway as NatSdk, NatGatewayAddress, NatGatewayState,
};
use slipway_resource::{Identity, ProviderError, Value};

use super::attribute::{need, some, text};
use super::family::NatGateways;
use super::{Blockers, Condition, Found, Kind};
use crate::act::Act;
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::look::filter;
use crate::owner::{identity, of_ec2, specification, visible};
use crate::rate::Class;

/// `aws_nat_gateway`.
pub(super) struct NatGateway;

/// `aws_eip`.
pub(super) struct ElasticAddress;

#[async_trait]
impl Kind for NatGateway {
    fn name(&self) -> &'static str {
        "aws_nat_gateway"
    }

    fn tagged_as(&self) -> Option<&'static str> {
        Some("natgateway")
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let Some(gateway) = cloud.get::<NatGateways>(id.as_str()).await? else { return Ok(None) };
        let found = Found::ready(id.as_str(), gateway_attributes(&gateway), &of_ec2(gateway.tags()));
        Ok(match gateway.state() {
            // AWS shows a deleted gateway for an hour.
            Some(NatGatewayState::Deleted) => None,
            Some(NatGatewayState::Deleting) => Some(found.but(Condition::Ending)),
            Some(NatGatewayState::Pending) => {
                Some(found.but(Condition::Pending("the NAT gateway starts".into())))
            }
            Some(NatGatewayState::Failed) => {
                let code = gateway.failure_code().unwrap_or("no code");
                let message = gateway.failure_message().unwrap_or_default();
                Some(found.but(Condition::Failed(format!("{code}: {message}"))))
            }
            _ => Some(found),
        })
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let request = act
            .cloud
            .ec2()
            .create_nat_gateway()
            .subnet_id(need(desired, "subnet_id")?)
            .set_allocation_id(text(desired, "allocation_id").map(str::to_owned))
            .set_connectivity_type(text(desired, "connectivity_type").map(ConnectivityType::from))
            .set_private_ip_address(text(desired, "private_ip").map(str::to_owned))
            .client_token(act.client_token())
            .tag_specifications(specification("natgateway", &act.tags(desired)));
        let answer = act.cloud.write(Class::Ec2Write, "CreateNatGateway", || request.clone().send()).await?;
        let id = answer.nat_gateway().and_then(NatSdk::nat_gateway_id);
        Ok(identity(id.ok_or_else(|| incomplete("CreateNatGateway", "id"))?))
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.ec2().delete_nat_gateway().nat_gateway_id(id.as_str());
        act.cloud.write(Class::Ec2Write, "DeleteNatGateway", || request.clone().send()).await.map(drop)
    }

    /// A NAT gateway keeps its address and its interface until it is deleted.
    fn lingers(&self) -> bool {
        true
    }
}

fn gateway_attributes(gateway: &NatSdk) -> Value {
    let addresses = gateway.nat_gateway_addresses();
    let is_primary = |address: &&NatGatewayAddress| address.is_primary().unwrap_or(true);
    let address = addresses.iter().find(is_primary);
    Value::map([
        ("id", Value::from(gateway.nat_gateway_id())),
        ("subnet_id", gateway.subnet_id().into()),
        ("allocation_id", address.and_then(|address| address.allocation_id()).into()),
        ("association_id", address.and_then(|address| address.association_id()).into()),
        ("connectivity_type", gateway.connectivity_type().map(ConnectivityType::as_str).into()),
        ("private_ip", address.and_then(|address| address.private_ip()).into()),
        ("public_ip", address.and_then(|address| address.public_ip()).into()),
        ("network_interface_id", address.and_then(|address| address.network_interface_id()).into()),
        ("tags", visible(&of_ec2(gateway.tags()))),
    ])
}

/// Elastic addresses by allocation.
struct Addresses;

#[async_trait]
impl Family for Addresses {
    type Item = Sdk;
    const LIMIT: usize = 200;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Sdk>, ProviderError> {
        let request = cloud.ec2().describe_addresses().filters(filter("allocation-id", keys));
        let page = cloud.read(Class::Ec2Read, "DescribeAddresses", || request.clone().send()).await?;
        let addresses = page.addresses().iter();
        Ok(addresses
            .filter_map(|address| Some((address.allocation_id()?.to_owned(), address.clone())))
            .collect())
    }
}

#[async_trait]
impl Kind for ElasticAddress {
    fn name(&self) -> &'static str {
        "aws_eip"
    }

    fn tagged_as(&self) -> Option<&'static str> {
        Some("elastic-ip")
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let Some(address) = cloud.get::<Addresses>(id.as_str()).await? else { return Ok(None) };
        let attributes = Value::map([
            ("id", Value::from(id.as_str())),
            ("arn", cloud.ec2_arn(None, "elastic-ip", id.as_str()).into()),
            ("allocation_id", id.as_str().into()),
            ("association_id", some(address.association_id())),
            ("domain", address.domain().map(DomainType::as_str).into()),
            ("public_ip", address.public_ip().into()),
            ("public_ipv4_pool", address.public_ipv4_pool().into()),
            ("network_border_group", address.network_border_group().into()),
            ("tags", visible(&of_ec2(address.tags()))),
        ]);
        Ok(Some(Found::ready(id.as_str(), attributes, &of_ec2(address.tags()))))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let request = act
            .cloud
            .ec2()
            .allocate_address()
            .domain(DomainType::from(text(desired, "domain").unwrap_or("vpc")))
            .set_public_ipv4_pool(text(desired, "public_ipv4_pool").map(str::to_owned))
            .set_network_border_group(text(desired, "network_border_group").map(str::to_owned))
            .tag_specifications(specification("elastic-ip", &act.tags(desired)));
        let answer = act.cloud.write(Class::Ec2Write, "AllocateAddress", || request.clone().send()).await?;
        Ok(identity(answer.allocation_id().ok_or_else(|| incomplete("AllocateAddress", "id"))?))
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.ec2().release_address().allocation_id(id.as_str());
        act.cloud.write(Class::Ec2Write, "ReleaseAddress", || request.clone().send()).await.map(drop)
    }

    async fn blockers(&self, cloud: &Cloud, id: &Identity) -> Result<Blockers, ProviderError> {
        let address = cloud.get::<Addresses>(id.as_str()).await?;
        let interface = address.as_ref().and_then(|address| address.network_interface_id());
        let user = address.as_ref().and_then(|address| address.instance_id()).or(interface);
        let lasting = user.filter(|user| !user.is_empty()).map(str::to_owned).into_iter().collect();
        Ok(Blockers { lasting, passing: Vec::new() })
    }
}
