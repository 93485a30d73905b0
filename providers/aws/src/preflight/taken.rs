//! Names of new objects that existing objects outside the cluster have.
//!
//! A creating call would refuse such a name in the middle of a run. Types with unique names in the account
//! and region are listed with one call each, as long as their lists have one page. An object that has the
//! name is read, to know its owner.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use slipway_aws_model::types::Kind;
use slipway_aws_model::{tags, types};
use slipway_resource::diff::diff;
use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{Address, ErrorClass, Identity, ProviderError};

use super::{finding, unanswered};
use crate::cloud::Cloud;
use crate::kind;
use crate::kind::attribute::text;
use crate::look::filter;
use crate::rate::Class;

/// How many names one question of Auto Scaling takes.
const GROUPS: usize = 50;
/// How many names one filter of EC2 takes.
const FILTERED: usize = 200;
/// The way out.
const HINT: &str = "give the cluster or the pool another name in the spec, or delete the object; if it belongs to a cluster \
                    of another tool, take that over with `slipway adopt`";

/// The new objects of one type by their names.
type Names<'a> = BTreeMap<&'a str, &'a PreflightItem>;
/// Names with the identities of the objects that have them.
type Hits = Vec<(String, Identity)>;

/// All new objects whose names are taken.
///
/// # Errors
/// `throttled`, when a call was throttled.
pub(super) async fn names(
    cloud: &Cloud,
    items: &[PreflightItem],
) -> Result<Vec<PreflightFinding>, ProviderError> {
    let mut of_kind: BTreeMap<&str, Names<'_>> = BTreeMap::new();
    for item in items.iter().filter(|item| item.action == "create") {
        let Some(kind) = Kind::of(item.address.kind()) else { continue };
        if let Some(name) = text(&item.desired, name_attribute(kind)) {
            of_kind.entry(item.address.kind()).or_default().insert(name, item);
        }
    }
    let asked = of_kind.iter().map(|(name, names)| async move {
        let Some(kind) = Kind::of(name) else { return Ok(Vec::new()) };
        match hits(cloud, kind, names).await {
            Ok(hits) => owned_by_others(cloud, names, hits).await,
            Err(error) => unanswered("names that are taken", error).map(|()| Vec::new()),
        }
    });
    let mut found = Vec::new();
    for findings in join_all(asked).await {
        found.extend(findings?);
    }
    found.sort_by(|left: &PreflightFinding, right| left.address.cmp(&right.address));
    Ok(found)
}

/// The attribute that a new object has its name in. Types without names have no such attribute.
fn name_attribute(kind: Kind) -> &'static str {
    match kind {
        Kind::KeyPair => "key_name",
        Kind::KmsKey => "alias",
        Kind::IamOpenidConnectProvider => "url",
        Kind::S3Object => "key",
        Kind::AutoscalingGroup
        | Kind::AutoscalingLifecycleHook
        | Kind::CloudwatchEventRule
        | Kind::CloudwatchEventTarget
        | Kind::EbsVolume
        | Kind::EgressOnlyInternetGateway
        | Kind::Eip
        | Kind::IamInstanceProfile
        | Kind::IamRole
        | Kind::IamRolePolicy
        | Kind::IamRolePolicyAttachment
        | Kind::Instance
        | Kind::InternetGateway
        | Kind::LaunchTemplate
        | Kind::Lb
        | Kind::LbListener
        | Kind::LbTargetGroup
        | Kind::NatGateway
        | Kind::Route
        | Kind::Route53Record
        | Kind::Route53Zone
        | Kind::Route53ZoneAssociation
        | Kind::RouteTable
        | Kind::RouteTableAssociation
        | Kind::SecurityGroup
        | Kind::SecurityGroupRule
        | Kind::SqsQueue
        | Kind::Subnet
        | Kind::Vpc
        | Kind::VpcDhcpOptions
        | Kind::VpcDhcpOptionsAssociation
        | Kind::VpcIpv4CidrBlockAssociation => "name",
    }
}

/// The objects that have one of the names. Types without unique names have no hits.
async fn hits(cloud: &Cloud, kind: Kind, names: &Names<'_>) -> Result<Hits, ProviderError> {
    let all: Vec<&str> = names.keys().copied().collect();
    let hits = match kind {
        Kind::KeyPair => key_pairs(cloud, &all).await?,
        Kind::LaunchTemplate => launch_templates(cloud, &all).await?,
        Kind::AutoscalingGroup => groups(cloud, &all).await?,
        Kind::IamRole => roles(cloud).await?,
        Kind::IamInstanceProfile => profiles(cloud).await?,
        Kind::Lb => balancers(cloud).await?,
        Kind::LbTargetGroup => target_groups(cloud).await?,
        Kind::AutoscalingLifecycleHook
        | Kind::CloudwatchEventRule
        | Kind::CloudwatchEventTarget
        | Kind::EbsVolume
        | Kind::EgressOnlyInternetGateway
        | Kind::Eip
        | Kind::IamOpenidConnectProvider
        | Kind::IamRolePolicy
        | Kind::IamRolePolicyAttachment
        | Kind::Instance
        | Kind::InternetGateway
        | Kind::KmsKey
        | Kind::LbListener
        | Kind::NatGateway
        | Kind::Route
        | Kind::Route53Record
        | Kind::Route53Zone
        | Kind::Route53ZoneAssociation
        | Kind::RouteTable
        | Kind::RouteTableAssociation
        | Kind::S3Object
        | Kind::SecurityGroup
        | Kind::SecurityGroupRule
        | Kind::SqsQueue
        | Kind::Subnet
        | Kind::Vpc
        | Kind::VpcDhcpOptions
        | Kind::VpcDhcpOptionsAssociation
        | Kind::VpcIpv4CidrBlockAssociation => by_identity(cloud, names).await?,
    };
    Ok(hits.into_iter().filter(|(name, _)| names.contains_key(name.as_str())).collect())
}

async fn key_pairs(cloud: &Cloud, names: &[&str]) -> Result<Hits, ProviderError> {
    let mut hits = Vec::new();
    for names in names.chunks(FILTERED) {
        let request = cloud.ec2().describe_key_pairs().filters(filter("key-name", names.iter().copied()));
        let page = cloud.read(Class::Ec2Read, "DescribeKeyPairs", || request.clone().send()).await?;
        hits.extend(page.key_pairs().iter().filter_map(|pair| named(pair.key_name()?, pair.key_name())));
    }
    Ok(hits)
}

async fn launch_templates(cloud: &Cloud, names: &[&str]) -> Result<Hits, ProviderError> {
    let mut hits = Vec::new();
    for names in names.chunks(FILTERED) {
        let by_name = filter("launch-template-name", names.iter().copied());
        let request = cloud.ec2().describe_launch_templates().filters(by_name);
        let page = cloud.read(Class::Ec2Read, "DescribeLaunchTemplates", || request.clone().send()).await?;
        hits.extend(
            page.launch_templates().iter().filter_map(|template| {
                named(template.launch_template_name()?, template.launch_template_id())
            }),
        );
    }
    Ok(hits)
}

async fn groups(cloud: &Cloud, names: &[&str]) -> Result<Hits, ProviderError> {
    let mut hits = Vec::new();
    for names in names.chunks(GROUPS) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let request =
            cloud.autoscaling().describe_auto_scaling_groups().set_auto_scaling_group_names(Some(names));
        let action = "DescribeAutoScalingGroups";
        let page = cloud.read(Class::AutoScaling, action, || request.clone().send()).await?;
        let groups = page.auto_scaling_groups().iter();
        hits.extend(
            groups
                .filter_map(|group| named(group.auto_scaling_group_name()?, group.auto_scaling_group_name())),
        );
    }
    Ok(hits)
}

async fn roles(cloud: &Cloud) -> Result<Hits, ProviderError> {
    let request = cloud.iam().list_roles().max_items(1_000);
    let send = |marker| request.clone().set_marker(marker).send();
    let pages = cloud
        .pages(Class::Iam, "ListRoles", send, |page| page.marker().filter(|_| page.is_truncated()))
        .await?;
    let roles = pages.iter().flat_map(|page| page.roles());
    Ok(roles.filter_map(|role| named(role.role_name(), Some(role.role_name()))).collect())
}

async fn profiles(cloud: &Cloud) -> Result<Hits, ProviderError> {
    let request = cloud.iam().list_instance_profiles().max_items(1_000);
    let send = |marker| request.clone().set_marker(marker).send();
    let pages = cloud
        .pages(Class::Iam, "ListInstanceProfiles", send, |page| page.marker().filter(|_| page.is_truncated()))
        .await?;
    let names = pages.iter().flat_map(|page| page.instance_profiles());
    let names = names.map(|profile| profile.instance_profile_name());
    Ok(names.filter_map(|name| named(name, Some(name))).collect())
}

async fn balancers(cloud: &Cloud) -> Result<Hits, ProviderError> {
    let request = cloud.balancing().describe_load_balancers();
    let send = |marker| request.clone().set_marker(marker).send();
    let action = "DescribeLoadBalancers";
    let pages = cloud.pages(Class::Balancing, action, send, |page| page.next_marker()).await?;
    let balancers = pages.iter().flat_map(|page| page.load_balancers());
    Ok(balancers
        .filter_map(|balancer| named(balancer.load_balancer_name()?, balancer.load_balancer_arn()))
        .collect())
}

async fn target_groups(cloud: &Cloud) -> Result<Hits, ProviderError> {
    let request = cloud.balancing().describe_target_groups();
    let send = |marker| request.clone().set_marker(marker).send();
    let action = "DescribeTargetGroups";
    let pages = cloud.pages(Class::Balancing, action, send, |page| page.next_marker()).await?;
    let groups = pages.iter().flat_map(|page| page.target_groups());
    Ok(groups.filter_map(|group| named(group.target_group_name()?, group.target_group_arn())).collect())
}

/// Reads objects one by one. Their desired values determine their identity, and a cluster has few of them.
async fn by_identity(cloud: &Cloud, names: &Names<'_>) -> Result<Hits, ProviderError> {
    let reads = names.iter().map(|(name, item)| async move {
        let kind = kind::of(&item.address)?;
        let Some(identity) = kind.identity(cloud, &item.desired).await? else { return Ok(None) };
        let found = kind::read(kind, cloud, &identity).await?;
        Ok::<_, ProviderError>(found.map(|_| ((*name).to_owned(), identity)))
    });
    let found: Result<Vec<_>, _> = join_all(reads).await.into_iter().collect();
    Ok(found?.into_iter().flatten().collect())
}

fn named(name: &str, identity: Option<&str>) -> Option<(String, Identity)> {
    Some((name.to_owned(), Identity::new(identity?)))
}

/// The hits that do not belong to the cluster: its own objects are replaced, or were created by an earlier
/// attempt.
async fn owned_by_others(
    cloud: &Cloud,
    names: &Names<'_>,
    hits: Hits,
) -> Result<Vec<PreflightFinding>, ProviderError> {
    let mut found = Vec::new();
    let seen: BTreeSet<(String, Identity)> = hits.into_iter().collect();
    for (name, identity) in seen {
        let Some(item) = names.get(name.as_str()) else { continue };
        let read = match kind::read(kind::of(&item.address)?, cloud, &identity).await {
            Ok(Some(read)) => read,
            Ok(None) => continue,
            Err(error) => {
                unanswered("the owner of an object", error)?;
                continue;
            }
        };
        let cluster = item.desired.get("tags").and_then(|tags| text(tags, tags::CLUSTER));
        let owner = read.owner.as_ref();
        let is_own = owner.is_some_and(|owner| {
            cluster.map_or(owner.address.as_ref() == Some(&item.address), |cluster| owner.cluster == cluster)
        });
        // A record has no owner: an existing one that is as desired is recorded.
        let is_same = owner.is_none()
            && item.address.kind() == "aws_route53_record"
            && types::get(item.address.kind())
                .is_some_and(|schema| diff(schema, &read.attributes, &item.desired, None).is_empty());
        if !is_own && !is_same {
            let whose = match owner {
                Some(owner) => format!("of the cluster {}", owner.cluster),
                None => "that does not belong to the cluster".to_owned(),
            };
            found.push(conflict(&item.address, &name, &identity, &whose));
        }
    }
    Ok(found)
}

fn conflict(address: &Address, name: &str, identity: &Identity, whose: &str) -> PreflightFinding {
    let text = format!("the name {name} is taken by an object {whose} ({identity})");
    finding(Some(address), ErrorClass::Conflict, text, HINT)
}
