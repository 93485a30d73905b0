//! Security groups.

use async_trait::async_trait;
use aws_sdk_ec2::types::{IpPermission, IpRange, Ipv6Range};
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::attribute::{need, text, texts};
use super::family::SecurityGroups;
use super::{Blockers, Found, Kind, blocker, rule, taken, update_tags};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::look::filter;
use crate::owner::{OF_CONTROLLERS, Owner, identity, of_ec2, specification, visible};
use crate::rate::Class;
use crate::session::shut_out;

/// The attribute with the rules of others.
const FOREIGN_RULES: &str = "foreign_rules";

/// `aws_security_group`.
pub(super) struct SecurityGroup;

#[async_trait]
impl Kind for SecurityGroup {
    fn name(&self) -> &'static str {
        "aws_security_group"
    }

    fn tagged_as(&self) -> Option<&'static str> {
        Some("security-group")
    }

    // A VPC has no two groups of one name.
    fn is_idempotent(&self) -> bool {
        true
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let Some(group) = cloud.get::<SecurityGroups>(id.as_str()).await? else { return Ok(None) };
        let tags = of_ec2(group.tags());
        // In a group of another tool, nothing tells its rules from those of others.
        let foreign = match Owner::of(&tags) {
            Some(_) => rule::foreign(cloud, id.as_str()).await?,
            None => Vec::new(),
        };
        let attributes = Value::map([
            ("id", Value::from(id.as_str())),
            ("arn", cloud.ec2_arn(group.owner_id(), "security-group", id.as_str()).into()),
            ("name", group.group_name().into()),
            ("description", group.description().into()),
            ("vpc_id", group.vpc_id().into()),
            ("owner_id", group.owner_id().into()),
            ("tags", visible(&tags)),
            (FOREIGN_RULES, Value::list(foreign)),
        ]);
        Ok(Some(Found::ready(id.as_str(), attributes, &tags)))
    }

    /// Sets its tags, and revokes the rules of others that the plan has named.
    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        update_tags(act.cloud, id.as_str(), prior, desired).await?;
        let kept = texts(desired, FOREIGN_RULES);
        for rule in texts(prior, FOREIGN_RULES).iter().filter(|rule| !kept.contains(rule)) {
            rule::revoke(act.cloud, &Identity::new(rule.as_str())).await?;
        }
        Ok(())
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let request = act
            .cloud
            .ec2()
            .create_security_group()
            .group_name(need(desired, "name")?)
            .description(need(desired, "description")?)
            .vpc_id(need(desired, "vpc_id")?)
            .tag_specifications(specification("security-group", &act.tags(desired)));
        let answer =
            act.cloud.write(Class::Ec2Write, "CreateSecurityGroup", || request.clone().send()).await?;
        Ok(identity(answer.group_id().ok_or_else(|| incomplete("CreateSecurityGroup", "id"))?))
    }

    /// A new group allows all outgoing traffic, with IPv6 if its VPC has it; the desired outgoing traffic has
    /// separate rules.
    async fn complete(&self, act: &Act<'_>, id: &Identity, _desired: &Value) -> Result<(), ProviderError> {
        let everything = IpPermission::builder()
            .ip_protocol("-1")
            .ip_ranges(IpRange::builder().cidr_ip("0.0.0.0/0").build())
            .ipv6_ranges(Ipv6Range::builder().cidr_ipv6("::/0").build())
            .build();
        match revoke(act.cloud, id.as_str(), vec![everything]).await {
            // The group is not known yet, or it allows less: its rules tell.
            Err(error) if error.class == ErrorClass::NotFound => {
                let Some(group) = act.cloud.get::<SecurityGroups>(id.as_str()).await? else {
                    return Err(error);
                };
                match group.ip_permissions_egress() {
                    [] => Ok(()),
                    left => revoke(act.cloud, id.as_str(), left.to_vec()).await,
                }
            }
            other => other,
        }
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        if act.request.ownership.address.name().starts_with(OF_CONTROLLERS) {
            // Its controller let it into the groups of nodes, and would remove these rules.
            shut_out(act.cloud, id.as_str()).await?;
        }
        let request = act.cloud.ec2().delete_security_group().group_id(id.as_str());
        act.cloud.write(Class::Ec2Write, "DeleteSecurityGroup", || request.clone().send()).await.map(drop)
    }

    /// The group of the name in the VPC, when it is this cluster's.
    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let filters =
            vec![filter("group-name", [need(desired, "name")?]), filter("vpc-id", text(desired, "vpc_id"))];
        let request = act.cloud.ec2().describe_security_groups().set_filters(Some(filters));
        let page =
            act.cloud.read(Class::Ec2Read, "DescribeSecurityGroups", || request.clone().send()).await?;
        let Some(group) = page.security_groups().first() else { return Ok(None) };
        let id = group.group_id().ok_or_else(|| incomplete("DescribeSecurityGroups", "id"))?;
        match Owner::of(&of_ec2(group.tags())) {
            Some(owner) if owner.uid == act.request.ownership.uid => Ok(Some(identity(id))),
            _ => Err(taken(&format!("the security group {} ({id})", need(desired, "name")?))),
        }
    }

    async fn blockers(&self, cloud: &Cloud, id: &Identity) -> Result<Blockers, ProviderError> {
        blocker::of_security_group(cloud, id.as_str()).await
    }
}

async fn revoke(cloud: &Cloud, id: &str, permissions: Vec<IpPermission>) -> Result<(), ProviderError> {
    let request =
        cloud.ec2().revoke_security_group_egress().group_id(id).set_ip_permissions(Some(permissions));
    cloud.write(Class::Ec2Write, "RevokeSecurityGroupEgress", || request.clone().send()).await.map(drop)
}
