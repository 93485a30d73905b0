//! Hosted zones. The creating call takes no tags: a zone that was made and not yet marked is found by its caller's
//! reference, which is the action's token.

use async_trait::async_trait;
use aws_sdk_route53::types::{HostedZone, HostedZoneConfig, Tag, TagResourceType, Vpc, VpcRegion};
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::{Zones, bare, change, plain};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::kind::attribute::{blocks, differs, need, some, text};
use crate::kind::by_name::if_any;
use crate::kind::{Found, Kind, taken};
use crate::look::Look;
use crate::owner::{Tags, difference, marks, visible};
use crate::rate::Class;

/// `aws_route53_zone`.
pub(in crate::kind) struct Zone;

#[async_trait]
impl Kind for Zone {
    fn name(&self) -> &'static str {
        "aws_route53_zone"
    }

    /// Nothing: a zone is known by the state, or by its token.
    async fn list(&self, _look: &Look) -> Result<Vec<Found>, ProviderError> {
        Ok(Vec::new())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let zone = bare(id.as_str());
        let (found, tags) = tokio::join!(cloud.get::<Zones>(zone), tags(cloud, zone));
        let (Some(found), Some(tags)) = (found?, tags?) else { return Ok(None) };
        let Some(hosted) = found.hosted_zone() else { return Ok(None) };
        let networks = found.vpcs().iter().map(|vpc| {
            Value::map([
                ("vpc_id", Value::from(vpc.vpc_id())),
                ("vpc_region", vpc.vpc_region().map(VpcRegion::as_str).into()),
            ])
        });
        let servers = found.delegation_set().map(|set| set.name_servers().to_vec()).unwrap_or_default();
        let attributes = Value::map([
            ("id", Value::from(zone)),
            ("zone_id", zone.into()),
            ("arn", format!("arn:{}:route53:::hostedzone/{zone}", cloud.partition()).into()),
            ("name", hosted.name().into()),
            ("comment", some(hosted.config().and_then(HostedZoneConfig::comment))),
            ("vpc", Value::list(networks)),
            ("name_servers", servers.into()),
            ("tags", visible(&tags)),
        ]);
        Ok(Some(Found { identity: id.clone(), ..Found::ready(zone, attributes, &tags) }))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let name = need(desired, "name")?;
        let networks = networks(act.cloud, desired);
        let config = HostedZoneConfig::builder()
            .set_comment(text(desired, "comment").map(str::to_owned))
            .private_zone(!networks.is_empty())
            .build();
        let request = act
            .cloud
            .route53()
            .create_hosted_zone()
            .name(name)
            .caller_reference(act.client_token())
            .hosted_zone_config(config)
            .set_vpc(networks.first().cloned());
        match act.cloud.write(Class::Route53, "CreateHostedZone", || request.clone().send()).await {
            Ok(answer) => {
                let zone = answer.hosted_zone().ok_or_else(|| incomplete("CreateHostedZone", "zone"))?;
                let id = Identity::new(bare(zone.id()));
                act.announce(&id);
                if let Some(change) = answer.change_info() {
                    change::in_sync(act, change.id()).await?;
                }
                Ok(id)
            }
            Err(error) if error.class == ErrorClass::Conflict => {
                self.made(act, desired).await?.ok_or_else(|| taken(&format!("zone {name}")))
            }
            Err(error) => Err(error),
        }
    }

    async fn complete(&self, act: &Act<'_>, id: &Identity, desired: &Value) -> Result<(), ProviderError> {
        set_tags(act.cloud, id.as_str(), &act.tags(desired), Vec::new()).await?;
        let Some(found) = self.read(act.cloud, id).await? else { return Ok(()) };
        set_networks(act, id.as_str(), &found.attributes, desired).await
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        if differs(prior, desired, "comment") {
            let comment = text(desired, "comment").unwrap_or_default();
            let request = act.cloud.route53().update_hosted_zone_comment().id(id.as_str()).comment(comment);
            act.cloud.write(Class::Route53, "UpdateHostedZoneComment", || request.clone().send()).await?;
        }
        set_networks(act, id.as_str(), prior, desired).await?;
        let (set, gone) = difference(prior, desired);
        set_tags(act.cloud, id.as_str(), &set, gone).await
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.route53().delete_hosted_zone().id(bare(id.as_str()));
        act.cloud.write(Class::Route53, "DeleteHostedZone", || request.clone().send()).await.map(drop)
    }

    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        set_tags(act.cloud, id.as_str(), &marks(&act.request.ownership, None), Vec::new()).await
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let (name, token) = (need(desired, "name")?, act.client_token());
        let request = act.cloud.route53().list_hosted_zones_by_name().dns_name(name).max_items(20);
        let page = act.cloud.read(Class::Route53, "ListHostedZonesByName", || request.clone().send()).await?;
        let ours = |zone: &&HostedZone| plain(zone.name()) == plain(name) && zone.caller_reference() == token;
        Ok(page.hosted_zones().iter().find(ours).map(|zone| Identity::new(bare(zone.id()))))
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}

async fn tags(cloud: &Cloud, zone: &str) -> Result<Option<Tags>, ProviderError> {
    let request =
        cloud.route53().list_tags_for_resource().resource_type(TagResourceType::Hostedzone).resource_id(zone);
    let answer = if_any(cloud.read(Class::Route53, "ListTagsForResource", || request.clone().send()).await)?;
    Ok(answer.map(|answer| {
        let tags = answer.resource_tag_set().map(|set| set.tags()).unwrap_or_default().iter();
        tags.filter_map(|tag| Some((tag.key()?.to_owned(), tag.value().unwrap_or_default().to_owned())))
            .collect()
    }))
}

async fn set_tags(cloud: &Cloud, zone: &str, set: &Tags, gone: Vec<String>) -> Result<(), ProviderError> {
    if set.is_empty() && gone.is_empty() {
        return Ok(());
    }
    let set: Vec<Tag> = set.iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect();
    let request = cloud
        .route53()
        .change_tags_for_resource()
        .resource_type(TagResourceType::Hostedzone)
        .resource_id(bare(zone))
        .set_add_tags((!set.is_empty()).then_some(set))
        .set_remove_tag_keys((!gone.is_empty()).then_some(gone));
    cloud.write(Class::Route53, "ChangeTagsForResource", || request.clone().send()).await.map(drop)
}

fn networks(cloud: &Cloud, attributes: &Value) -> Vec<Vpc> {
    let network = |block: &Value| {
        let region = text(block, "vpc_region").unwrap_or(cloud.region());
        let id = text(block, "vpc_id").map(str::to_owned);
        Vpc::builder().set_vpc_id(id).vpc_region(VpcRegion::from(region)).build()
    };
    blocks(attributes, "vpc").iter().map(network).collect()
}

/// Lets more VPCs see a zone first, and then some no more, since a private zone keeps at least one.
async fn set_networks(
    act: &Act<'_>,
    zone: &str,
    prior: &Value,
    desired: &Value,
) -> Result<(), ProviderError> {
    let (cloud, zone) = (act.cloud, bare(zone));
    let (before, after) = (networks(cloud, prior), networks(cloud, desired));
    let has = |all: &[Vpc], one: &Vpc| all.iter().any(|other| other.vpc_id() == one.vpc_id());
    for vpc in after.iter().filter(|vpc| !has(&before, vpc)) {
        let request = cloud.route53().associate_vpc_with_hosted_zone().hosted_zone_id(zone).vpc(vpc.clone());
        cloud.write(Class::Route53, "AssociateVPCWithHostedZone", || request.clone().send()).await?;
    }
    // Others may have been let in by associations of their own: only those that this zone named leave.
    for vpc in before.iter().filter(|vpc| !has(&after, vpc) && !after.is_empty()) {
        let request =
            cloud.route53().disassociate_vpc_from_hosted_zone().hosted_zone_id(zone).vpc(vpc.clone());
        cloud.write(Class::Route53, "DisassociateVPCFromHostedZone", || request.clone().send()).await?;
    }
    Ok(())
}
