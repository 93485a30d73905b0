//! VPCs that see a private zone.

use async_trait::async_trait;
use aws_sdk_route53::types::{Vpc, VpcRegion};
use slipway_aws_model::names;
use slipway_resource::{Address, ErrorClass, Identity, ProviderError, Value};

use super::{Zones, bare, change, plain};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::invalid;
use crate::kind::attribute::{need, text};
use crate::kind::family::Vpcs;
use crate::kind::{Condition, Found, Kind};
use crate::look::Look;
use crate::owner::{Owner, of_ec2};
use crate::rate::Class;

/// `aws_route53_zone_association`.
pub(in crate::kind) struct ZoneAssociation;

#[async_trait]
impl Kind for ZoneAssociation {
    fn name(&self) -> &'static str {
        "aws_route53_zone_association"
    }

    /// The associations of the cluster's VPC, when its state is lost.
    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        if look.by_ownership_alone() {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        for vpc in look.tagged("vpc").await? {
            let Some(owner) =
                look.cloud.get::<Vpcs>(&vpc).await?.and_then(|vpc| Owner::of(&of_ec2(vpc.tags())))
            else {
                continue;
            };
            let region = VpcRegion::from(look.cloud.region());
            let request = look.cloud.route53().list_hosted_zones_by_vpc().vpc_id(&vpc).vpc_region(region);
            let page =
                look.cloud.read(Class::Route53, "ListHostedZonesByVPC", || request.clone().send()).await?;
            for zone in page.hosted_zone_summaries() {
                let id = Identity::new(format!("{}:{vpc}", bare(zone.hosted_zone_id())));
                let address = Address::new(self.name(), names::address(&plain(zone.name())));
                let found = self.read(&look.cloud, &id).await?;
                all.extend(found.map(|found| Found { owner: Some(owner.at(address)), ..found }));
            }
        }
        Ok(all)
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let (zone, vpc) = parts(id)?;
        let Some(found) = cloud.get::<Zones>(zone).await? else { return Ok(None) };
        let seen = found.vpcs().iter().find(|seen| seen.vpc_id() == Some(vpc));
        Ok(seen.map(|seen| {
            let attributes = Value::map([
                ("id", Value::from(id.as_str())),
                ("zone_id", zone.into()),
                ("vpc_id", vpc.into()),
                ("vpc_region", seen.vpc_region().map(VpcRegion::as_str).into()),
            ]);
            Found { identity: id.clone(), attributes, owner: None, condition: Condition::Ready }
        }))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let (zone, vpc) = (bare(need(desired, "zone_id")?), need(desired, "vpc_id")?);
        let id = Identity::new(format!("{zone}:{vpc}"));
        let seen = network(act.cloud, vpc, text(desired, "vpc_region"));
        let request = act.cloud.route53().associate_vpc_with_hosted_zone().hosted_zone_id(zone).vpc(seen);
        match act.cloud.write(Class::Route53, "AssociateVPCWithHostedZone", || request.clone().send()).await {
            Ok(answer) => {
                act.announce(&id);
                if let Some(change) = answer.change_info() {
                    change::in_sync(act, change.id()).await?;
                }
                Ok(id)
            }
            // The association exists already, or another zone with the name is associated.
            Err(error) if matches!(error.class, ErrorClass::Conflict | ErrorClass::Invalid) => {
                self.read(act.cloud, &id).await?.map(|_| id).ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let (zone, vpc) = parts(id)?;
        let region = self.read(act.cloud, id).await?;
        let Some(found) = region else { return Ok(()) };
        let seen = network(act.cloud, vpc, text(&found.attributes, "vpc_region"));
        let request = act.cloud.route53().disassociate_vpc_from_hosted_zone().hosted_zone_id(zone).vpc(seen);
        let action = "DisassociateVPCFromHostedZone";
        act.cloud.write(Class::Route53, action, || request.clone().send()).await.map(drop)
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let (zone, vpc) = (bare(need(desired, "zone_id")?), need(desired, "vpc_id")?);
        let id = Identity::new(format!("{zone}:{vpc}"));
        Ok(self.read(act.cloud, &id).await?.map(|_| id))
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}

fn network(cloud: &Cloud, vpc: &str, region: Option<&str>) -> Vpc {
    Vpc::builder().vpc_id(vpc).vpc_region(VpcRegion::from(region.unwrap_or(cloud.region()))).build()
}

fn parts(id: &Identity) -> Result<(&str, &str), ProviderError> {
    id.as_str()
        .split_once(':')
        .ok_or_else(|| invalid(format!("{id} is not a zone's id, a colon and a VPC's id")))
}
