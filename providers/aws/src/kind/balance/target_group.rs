//! Target groups.

use async_trait::async_trait;
use aws_sdk_elasticloadbalancingv2::types::{
    Matcher, ProtocolEnum, TargetGroup as Sdk, TargetGroupAttribute, TargetGroupIpAddressTypeEnum,
    TargetTypeEnum,
};
use slipway_aws_model::names::hashed;
use slipway_resource::{Identity, ProviderError, Value};

use super::{
    TagsOf, TargetGroups, check_owner, made_or_claimed, missing, set_tags, to_tags, update_tags, with_tags,
};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::kind::attribute::{block, differs, flag, need, number32, some, text};
use crate::kind::by_name::{if_any, made};
use crate::kind::{Blockers, Found, Kind, Tagged};
use crate::look::Look;
use crate::owner::{marks, visible};
use crate::rate::Class;

/// `aws_lb_target_group`.
pub(in crate::kind) struct TargetGroup;

const DELAY: &str = "deregistration_delay.timeout_seconds";
const TERMINATION: &str = "deregistration_delay.connection_termination.enabled";
const CLIENT_ADDRESS: &str = "preserve_client_ip.enabled";
const PROXY_PROTOCOL: &str = "proxy_protocol_v2.enabled";
const STICKY: &str = "stickiness.enabled";
const STICKY_TYPE: &str = "stickiness.type";

/// The prefixes of names of target groups.
pub(super) const PREFIXES: [&str; 5] = ["tcp", "tls", "kops-controller", "etcd-cilium", "bastion"];

#[async_trait]
impl Kind for TargetGroup {
    fn name(&self) -> &'static str {
        "aws_lb_target_group"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        if look.by_ownership_alone() {
            return Ok(Vec::new());
        }
        let names = PREFIXES.map(|prefix| hashed(prefix, &look.request.cluster));
        // A call with names that do not exist fails. Reading all groups needs fewer calls than reading each name alone.
        let request = look.cloud.balancing().describe_target_groups();
        let send = |marker| request.clone().set_marker(marker).send();
        let action = "DescribeTargetGroups";
        let pages = look.cloud.pages(Class::Balancing, action, send, |page| page.next_marker()).await?;
        let is_named = |group: &&Sdk| {
            group.target_group_name().is_some_and(|name| names.iter().any(|known| known == name))
        };
        let groups = pages.iter().flat_map(|page| page.target_groups()).filter(is_named);
        let arns: Vec<&str> = groups.filter_map(Sdk::target_group_arn).collect();
        let reads = arns.iter().map(|arn| read(&look.cloud, arn));
        Ok(futures_util::future::try_join_all(reads).await?.into_iter().flatten().collect())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        read(cloud, id.as_str()).await
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let name = need(desired, "name")?;
        let check = block(desired, "health_check").unwrap_or(&Value::Null);
        let request = act
            .cloud
            .balancing()
            .create_target_group()
            .name(name)
            .set_port(number32(desired, "port"))
            .set_protocol(text(desired, "protocol").map(ProtocolEnum::from))
            .vpc_id(need(desired, "vpc_id")?)
            .set_target_type(text(desired, "target_type").map(TargetTypeEnum::from))
            .set_ip_address_type(text(desired, "ip_address_type").map(TargetGroupIpAddressTypeEnum::from))
            .set_health_check_enabled(check.get("enabled").and_then(Value::as_bool))
            .set_health_check_protocol(text(check, "protocol").map(ProtocolEnum::from))
            .set_health_check_port(text(check, "port").map(str::to_owned))
            .set_health_check_path(text(check, "path").map(str::to_owned))
            .set_health_check_interval_seconds(number32(check, "interval"))
            .set_health_check_timeout_seconds(number32(check, "timeout"))
            .set_healthy_threshold_count(number32(check, "healthy_threshold"))
            .set_unhealthy_threshold_count(number32(check, "unhealthy_threshold"))
            .set_matcher(text(check, "matcher").map(|codes| Matcher::builder().http_code(codes).build()))
            .set_tags(Some(to_tags(&act.tags(desired))));
        let call = "CreateTargetGroup";
        let answer = act.cloud.write(Class::Balancing, call, || request.clone().send()).await;
        let arn = answer
            .map(|answer| answer.target_groups().first().and_then(Sdk::target_group_arn).map(str::to_owned));
        made_or_claimed(self, act, desired, (call, arn), named(act.cloud, name)).await
    }

    async fn complete(&self, act: &Act<'_>, id: &Identity, desired: &Value) -> Result<(), ProviderError> {
        check_owner(act, id.as_str()).await?;
        let attributes = missing(wanted(desired), &wanted(&Value::Null));
        set_attributes(act.cloud, id.as_str(), attributes).await
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        let (cloud, arn) = (act.cloud, id.as_str());
        if differs(prior, desired, "health_check") {
            set_health_check(cloud, arn, desired).await?;
        }
        set_attributes(cloud, arn, missing(wanted(desired), &wanted(prior))).await?;
        update_tags(cloud, arn, prior, desired).await
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.balancing().delete_target_group().target_group_arn(id.as_str());
        act.cloud.write(Class::Balancing, "DeleteTargetGroup", || request.clone().send()).await.map(drop)
    }

    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        set_tags(act.cloud, id.as_str(), &marks(&act.request.ownership, None)).await
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        match named(act.cloud, need(desired, "name")?).await? {
            Some(arn) => made(self, act, Identity::new(arn)).await,
            None => Ok(None),
        }
    }

    fn is_idempotent(&self) -> bool {
        true
    }

    async fn in_network(&self, cloud: &Cloud, vpc: &str) -> Result<Option<Vec<Tagged>>, ProviderError> {
        let request = cloud.balancing().describe_target_groups();
        let send = |marker| request.clone().set_marker(marker).send();
        let pages =
            cloud.pages(Class::Balancing, "DescribeTargetGroups", send, |page| page.next_marker()).await?;
        let there = pages.iter().flat_map(|page| page.target_groups());
        let there = there.filter(|group| group.vpc_id() == Some(vpc)).filter_map(Sdk::target_group_arn);
        with_tags(cloud, there.map(str::to_owned).collect()).await
    }

    async fn blockers(&self, cloud: &Cloud, id: &Identity) -> Result<Blockers, ProviderError> {
        let group = cloud.get::<TargetGroups>(id.as_str()).await?;
        let balancers = group.iter().flat_map(|group| group.load_balancer_arns());
        let listeners = balancers.map(|arn| format!("listeners of {arn}")).collect();
        // With the cluster, its load balancers are deleted too.
        Ok(match cloud.leaving() {
            true => Blockers { lasting: Vec::new(), passing: listeners },
            false => Blockers { lasting: listeners, passing: Vec::new() },
        })
    }
}

async fn read(cloud: &Cloud, arn: &str) -> Result<Option<Found>, ProviderError> {
    let request = cloud.balancing().describe_target_group_attributes().target_group_arn(arn);
    let (group, tags, attributes) = tokio::join!(
        cloud.get::<TargetGroups>(arn),
        cloud.get::<TagsOf>(arn),
        cloud.read(Class::Balancing, "DescribeTargetGroupAttributes", || request.clone().send()),
    );
    let (Some(group), Some(tags), Some(attributes)) = (group?, tags?, if_any(attributes)?) else {
        return Ok(None);
    };
    Ok(Some(Found::ready(arn, shape(&group, attributes.attributes(), visible(&tags)), &tags)))
}

/// The ARN of a target group by name.
async fn named(cloud: &Cloud, name: &str) -> Result<Option<String>, ProviderError> {
    let request = cloud.balancing().describe_target_groups().names(name);
    let page = if_any(cloud.read(Class::Balancing, "DescribeTargetGroups", || request.clone().send()).await)?;
    let group = page.as_ref().and_then(|page| page.target_groups().first());
    Ok(group.and_then(Sdk::target_group_arn).map(str::to_owned))
}

fn shape(group: &Sdk, attributes: &[TargetGroupAttribute], tags: Value) -> Value {
    let attribute =
        |key: &str| attributes.iter().find(|pair| pair.key() == Some(key)).and_then(|pair| pair.value());
    let codes = group.matcher().and_then(|matcher| matcher.http_code());
    let check = Value::map([
        ("enabled", Value::from(group.health_check_enabled().unwrap_or(true))),
        ("protocol", group.health_check_protocol().map(ProtocolEnum::as_str).into()),
        ("port", group.health_check_port().into()),
        ("path", some(group.health_check_path())),
        ("matcher", some(codes)),
        ("interval", group.health_check_interval_seconds().map(i64::from).into()),
        ("timeout", group.health_check_timeout_seconds().map(i64::from).into()),
        ("healthy_threshold", group.healthy_threshold_count().map(i64::from).into()),
        ("unhealthy_threshold", group.unhealthy_threshold_count().map(i64::from).into()),
    ]);
    let sticky = (attribute(STICKY) == Some("true")).then(|| {
        Value::list([Value::map([("enabled", Value::from(true)), ("type", some(attribute(STICKY_TYPE)))])])
    });
    let arn = group.target_group_arn();
    Value::map([
        ("id", Value::from(arn)),
        ("arn", arn.into()),
        ("name", group.target_group_name().into()),
        ("port", group.port().map(i64::from).into()),
        ("protocol", group.protocol().map(ProtocolEnum::as_str).into()),
        ("vpc_id", group.vpc_id().into()),
        ("target_type", group.target_type().map(TargetTypeEnum::as_str).into()),
        ("ip_address_type", group.ip_address_type().map(TargetGroupIpAddressTypeEnum::as_str).into()),
        ("deregistration_delay", some(attribute(DELAY))),
        ("connection_termination", some(attribute(TERMINATION))),
        ("preserve_client_ip", some(attribute(CLIENT_ADDRESS))),
        ("proxy_protocol_v2", some(attribute(PROXY_PROTOCOL))),
        ("health_check", Value::list([check])),
        ("stickiness", sticky.into()),
        ("tags", tags),
    ])
}

/// The desired settings that AWS stores as texts by key; missing ones have the defaults of a new target
/// group.
fn wanted(desired: &Value) -> Vec<(&'static str, String)> {
    let sticky = block(desired, "stickiness").filter(|sticky| flag(sticky, "enabled"));
    let mut pairs = vec![
        (DELAY, text(desired, "deregistration_delay").unwrap_or("300").to_owned()),
        (TERMINATION, flag(desired, "connection_termination").to_string()),
        (PROXY_PROTOCOL, flag(desired, "proxy_protocol_v2").to_string()),
        (STICKY, sticky.is_some().to_string()),
    ];
    // Left out, AWS decides by the kind of targets.
    pairs.extend(text(desired, "preserve_client_ip").map(|preserve| (CLIENT_ADDRESS, preserve.to_owned())));
    let kind = sticky.and_then(|sticky| text(sticky, "type"));
    pairs.extend(kind.map(|kind| (STICKY_TYPE, kind.to_owned())));
    pairs
}

async fn set_attributes(cloud: &Cloud, arn: &str, pairs: Vec<(&str, String)>) -> Result<(), ProviderError> {
    if pairs.is_empty() {
        return Ok(());
    }
    let attributes =
        pairs.into_iter().map(|(key, value)| TargetGroupAttribute::builder().key(key).value(value).build());
    let request = cloud
        .balancing()
        .modify_target_group_attributes()
        .target_group_arn(arn)
        .set_attributes(Some(attributes.collect()));
    cloud.write(Class::Balancing, "ModifyTargetGroupAttributes", || request.clone().send()).await.map(drop)
}

async fn set_health_check(cloud: &Cloud, arn: &str, desired: &Value) -> Result<(), ProviderError> {
    let check = block(desired, "health_check").unwrap_or(&Value::Null);
    let request = cloud
        .balancing()
        .modify_target_group()
        .target_group_arn(arn)
        .set_health_check_enabled(check.get("enabled").and_then(Value::as_bool))
        .set_health_check_protocol(text(check, "protocol").map(ProtocolEnum::from))
        .set_health_check_port(text(check, "port").map(str::to_owned))
        .set_health_check_path(text(check, "path").map(str::to_owned))
        .set_health_check_interval_seconds(number32(check, "interval"))
        .set_health_check_timeout_seconds(number32(check, "timeout"))
        .set_healthy_threshold_count(number32(check, "healthy_threshold"))
        .set_unhealthy_threshold_count(number32(check, "unhealthy_threshold"))
        .set_matcher(text(check, "matcher").map(|codes| Matcher::builder().http_code(codes).build()));
    cloud.write(Class::Balancing, "ModifyTargetGroup", || request.clone().send()).await.map(drop)
}
