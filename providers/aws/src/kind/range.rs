//! Further IPv4 ranges of a VPC: known by the VPC and the range.

use async_trait::async_trait;
use aws_sdk_ec2::types::{Vpc, VpcCidrBlockAssociation, VpcCidrBlockStateCode};
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::attribute::need;
use super::family::Vpcs;
use super::{Condition, Found, Kind, child, create_tags};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::invalid;
use crate::look::Look;
use crate::owner::{Owner, Tags, identity, of_ec2};
use crate::rate::Class;

/// `aws_vpc_ipv4_cidr_block_association`.
pub(super) struct Range;

/// The prefix of the tag on the VPC that marks a range as ours; the range follows.
const MARK: &str = "slipway.dev/range/";

#[async_trait]
impl Kind for Range {
    fn name(&self) -> &'static str {
        "aws_vpc_ipv4_cidr_block_association"
    }

    fn is_idempotent(&self) -> bool {
        true
    }

    /// Ours is one that a tag on our own VPC names: others may have added theirs.
    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        let vpcs = look.tagged("vpc").await?;
        let mut found = Vec::new();
        for vpc in look.cloud.get_all::<Vpcs>(vpcs.iter().map(String::as_str)).await? {
            let tags = of_ec2(vpc.tags());
            let Some(owner) = Owner::of(&tags) else { continue };
            for association in further(&vpc) {
                let range = association.cidr_block().unwrap_or_default();
                if tags.contains_key(&mark(range)) {
                    let owner = Some(owner.at(child::range(range)));
                    found.extend(shown(&vpc, association).map(|found| Found { owner, ..found }));
                }
            }
        }
        Ok(found)
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let (vpc, range) = parts(id)?;
        let Some(vpc) = cloud.get::<Vpcs>(vpc).await? else { return Ok(None) };
        Ok(association(&vpc, range).and_then(|association| shown(&vpc, association)))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let (vpc, range) = (need(desired, "vpc_id")?, need(desired, "cidr_block")?);
        if let Some(made) = self.made(act, desired).await? {
            return Ok(made);
        }
        let request = act.cloud.ec2().associate_vpc_cidr_block().vpc_id(vpc).cidr_block(range);
        act.cloud.write(Class::Ec2Write, "AssociateVpcCidrBlock", || request.clone().send()).await?;
        Ok(id_of(vpc, range))
    }

    async fn complete(&self, act: &Act<'_>, id: &Identity, _desired: &Value) -> Result<(), ProviderError> {
        let (vpc, range) = parts(id)?;
        let name = act.request.ownership.address.name().to_owned();
        create_tags(act.cloud, vpc, &Tags::from([(mark(range), name)])).await
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let (vpc, range) = parts(id)?;
        let Some(found) = act.cloud.get::<Vpcs>(vpc).await? else { return Ok(()) };
        let association = association(&found, range).and_then(VpcCidrBlockAssociation::association_id);
        let Some(association) = association else { return Ok(()) };
        let request = act.cloud.ec2().disassociate_vpc_cidr_block().association_id(association);
        act.cloud.write(Class::Ec2Write, "DisassociateVpcCidrBlock", || request.clone().send()).await?;
        let mark = aws_sdk_ec2::types::Tag::builder().key(mark(range)).build();
        let request = act.cloud.ec2().delete_tags().resources(vpc).tags(mark);
        let removed = act.cloud.write(Class::Ec2Write, "DeleteTags", || request.clone().send()).await;
        match removed {
            // A mark without a range says nothing.
            Err(error) if error.class != ErrorClass::Unauthenticated => {
                tracing::debug!(%error, "the mark of a range is left");
                Ok(())
            }
            other => other.map(drop),
        }
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let id = id_of(need(desired, "vpc_id")?, need(desired, "cidr_block")?);
        Ok(self.read(act.cloud, &id).await?.map(|found| found.identity))
    }
}

/// Keys of tags have letters, digits and few signs; `/` is one of them.
fn mark(range: &str) -> String {
    format!("{MARK}{range}")
}

fn id_of(vpc: &str, range: &str) -> Identity {
    identity(&format!("{vpc}_{range}"))
}

fn parts(id: &Identity) -> Result<(&str, &str), ProviderError> {
    id.as_str().split_once('_').ok_or_else(|| invalid(format!("{id} is not an id of a range")))
}

/// The ranges beside the first one.
fn further(vpc: &Vpc) -> impl Iterator<Item = &VpcCidrBlockAssociation> {
    let first = vpc.cidr_block();
    vpc.cidr_block_association_set().iter().filter(move |association| {
        let state = association.cidr_block_state().and_then(|state| state.state());
        let is_gone = matches!(
            state,
            Some(VpcCidrBlockStateCode::Disassociated | VpcCidrBlockStateCode::Disassociating)
        );
        association.cidr_block() != first && !is_gone
    })
}

fn association<'a>(vpc: &'a Vpc, range: &str) -> Option<&'a VpcCidrBlockAssociation> {
    further(vpc).find(|association| association.cidr_block() == Some(range))
}

fn shown(vpc: &Vpc, association: &VpcCidrBlockAssociation) -> Option<Found> {
    let (vpc, range) = (vpc.vpc_id()?, association.cidr_block()?);
    let id = id_of(vpc, range);
    let attributes = Value::map([("id", id.as_str()), ("vpc_id", vpc), ("cidr_block", range)]);
    let found = Found::ready(id.as_str(), attributes, &Tags::new());
    let state = association.cidr_block_state();
    Some(match state.and_then(|state| state.state()) {
        Some(VpcCidrBlockStateCode::Associating) => {
            found.but(Condition::Pending("the range is being associated".into()))
        }
        Some(VpcCidrBlockStateCode::Failed | VpcCidrBlockStateCode::Failing) => {
            let message = state.and_then(|state| state.status_message()).unwrap_or("no reason given");
            found.but(Condition::Failed(message.to_owned()))
        }
        _ => found,
    })
}
