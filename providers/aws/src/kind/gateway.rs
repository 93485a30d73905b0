//! Internet gateways, and those for the way out alone.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_ec2::types::{
    AttachmentStatus, EgressOnlyInternetGateway as EgressSdk, InternetGateway as Sdk,
    InternetGatewayAttachment,
};
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::attribute::{differs, need, text};
use super::family::InternetGateways;
use super::{Blockers, Found, Kind, blocker, or_gone, update_tags};
use crate::act::Act;
use crate::batch::{Family, fetch_existing};
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::owner::{identity, of_ec2, specification, visible};
use crate::rate::Class;

/// `aws_internet_gateway`.
pub(super) struct Internet;

/// `aws_egress_only_internet_gateway`.
pub(super) struct EgressOnly;

#[async_trait]
impl Kind for Internet {
    fn name(&self) -> &'static str {
        "aws_internet_gateway"
    }

    fn tagged_as(&self) -> Option<&'static str> {
        Some("internet-gateway")
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let Some(gateway) = cloud.get::<InternetGateways>(id.as_str()).await? else { return Ok(None) };
        let attributes = Value::map([
            ("id", Value::from(id.as_str())),
            ("arn", cloud.ec2_arn(gateway.owner_id(), "internet-gateway", id.as_str()).into()),
            ("vpc_id", attached(&gateway).into()),
            ("owner_id", gateway.owner_id().into()),
            ("tags", visible(&of_ec2(gateway.tags()))),
        ]);
        Ok(Some(Found::ready(id.as_str(), attributes, &of_ec2(gateway.tags()))))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let tags = specification("internet-gateway", &act.tags(desired));
        let request = act.cloud.ec2().create_internet_gateway().tag_specifications(tags);
        let answer =
            act.cloud.write(Class::Ec2Write, "CreateInternetGateway", || request.clone().send()).await?;
        let id = answer.internet_gateway().and_then(Sdk::internet_gateway_id);
        Ok(identity(id.ok_or_else(|| incomplete("CreateInternetGateway", "id"))?))
    }

    async fn complete(&self, act: &Act<'_>, id: &Identity, desired: &Value) -> Result<(), ProviderError> {
        match text(desired, "vpc_id") {
            Some(vpc) => attach(act.cloud, id.as_str(), vpc).await,
            None => Ok(()),
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
        if differs(prior, desired, "vpc_id") {
            if let Some(vpc) = text(prior, "vpc_id") {
                detach(act.cloud, id.as_str(), vpc).await?;
            }
            if let Some(vpc) = text(desired, "vpc_id") {
                attach(act.cloud, id.as_str(), vpc).await?;
            }
        }
        Ok(())
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let gateway = act.cloud.get::<InternetGateways>(id.as_str()).await?;
        if let Some(vpc) = gateway.as_deref().and_then(attached) {
            detach(act.cloud, id.as_str(), vpc).await?;
        }
        let request = act.cloud.ec2().delete_internet_gateway().internet_gateway_id(id.as_str());
        act.cloud.write(Class::Ec2Write, "DeleteInternetGateway", || request.clone().send()).await.map(drop)
    }

    async fn blockers(&self, cloud: &Cloud, id: &Identity) -> Result<Blockers, ProviderError> {
        let gateway = cloud.get::<InternetGateways>(id.as_str()).await?;
        match gateway.as_deref().and_then(attached) {
            Some(vpc) => blocker::of_internet_gateway(cloud, vpc).await,
            None => Ok(Blockers::default()),
        }
    }
}

/// The VPC that a gateway is attached to.
fn attached(gateway: &Sdk) -> Option<&str> {
    let is_going = |attachment: &&InternetGatewayAttachment| {
        !matches!(attachment.state(), Some(AttachmentStatus::Detached | AttachmentStatus::Detaching))
    };
    gateway.attachments().iter().find(is_going).and_then(InternetGatewayAttachment::vpc_id)
}

async fn attach(cloud: &Cloud, id: &str, vpc: &str) -> Result<(), ProviderError> {
    let request = cloud.ec2().attach_internet_gateway().internet_gateway_id(id).vpc_id(vpc);
    let attached =
        cloud.write(Class::Ec2Write, "AttachInternetGateway", || request.clone().send()).await.map(drop);
    match attached {
        // Sent a second time it is attached already; whether to the right VPC, the read after it shows.
        Err(error) if error.class == ErrorClass::Conflict => Ok(()),
        other => other,
    }
}

async fn detach(cloud: &Cloud, id: &str, vpc: &str) -> Result<(), ProviderError> {
    let request = cloud.ec2().detach_internet_gateway().internet_gateway_id(id).vpc_id(vpc);
    let detached =
        cloud.write(Class::Ec2Write, "DetachInternetGateway", || request.clone().send()).await.map(drop);
    // `Gateway.NotAttached` is of the class of what is gone.
    or_gone(detached)
}

/// Egress-only gateways by id: they have no filter for it.
struct EgressGateways;

#[async_trait]
impl Family for EgressGateways {
    type Item = EgressSdk;
    const LIMIT: usize = 100;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, EgressSdk>, ProviderError> {
        fetch_existing(keys, |keys| describe(cloud, keys)).await
    }
}

async fn describe(cloud: &Cloud, keys: Vec<String>) -> Result<BTreeMap<String, EgressSdk>, ProviderError> {
    let request = cloud
        .ec2()
        .describe_egress_only_internet_gateways()
        .set_egress_only_internet_gateway_ids(Some(keys.clone()));
    let page =
        cloud.read(Class::Ec2Read, "DescribeEgressOnlyInternetGateways", || request.clone().send()).await?;
    let gateways = page.egress_only_internet_gateways().iter();
    Ok(gateways
        .filter_map(|gateway| {
            let id = gateway.egress_only_internet_gateway_id()?;
            // Some answer with all there are.
            keys.iter().any(|key| key == id).then(|| (id.to_owned(), gateway.clone()))
        })
        .collect())
}

#[async_trait]
impl Kind for EgressOnly {
    fn name(&self) -> &'static str {
        "aws_egress_only_internet_gateway"
    }

    fn tagged_as(&self) -> Option<&'static str> {
        Some("egress-only-internet-gateway")
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let Some(gateway) = cloud.get::<EgressGateways>(id.as_str()).await? else { return Ok(None) };
        let vpc = gateway.attachments().first().and_then(InternetGatewayAttachment::vpc_id);
        let attributes = Value::map([
            ("id", Value::from(id.as_str())),
            ("vpc_id", vpc.into()),
            ("tags", visible(&of_ec2(gateway.tags()))),
        ]);
        Ok(Some(Found::ready(id.as_str(), attributes, &of_ec2(gateway.tags()))))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let request = act
            .cloud
            .ec2()
            .create_egress_only_internet_gateway()
            .vpc_id(need(desired, "vpc_id")?)
            .client_token(act.client_token())
            .tag_specifications(specification("egress-only-internet-gateway", &act.tags(desired)));
        let answer = act
            .cloud
            .write(Class::Ec2Write, "CreateEgressOnlyInternetGateway", || request.clone().send())
            .await?;
        let id = answer.egress_only_internet_gateway().and_then(EgressSdk::egress_only_internet_gateway_id);
        Ok(identity(id.ok_or_else(|| incomplete("CreateEgressOnlyInternetGateway", "id"))?))
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act
            .cloud
            .ec2()
            .delete_egress_only_internet_gateway()
            .egress_only_internet_gateway_id(id.as_str());
        act.cloud
            .write(Class::Ec2Write, "DeleteEgressOnlyInternetGateway", || request.clone().send())
            .await
            .map(drop)
    }
}
