//! Load balancers.

use async_trait::async_trait;
use aws_sdk_elasticloadbalancingv2::types::{
    EnforceSecurityGroupInboundRulesOnPrivateLinkTrafficEnum, IpAddressType, LoadBalancer as Sdk,
    LoadBalancerAttribute, LoadBalancerSchemeEnum, LoadBalancerStateEnum, LoadBalancerTypeEnum,
    SubnetMapping,
};
use slipway_resource::{ErrorClass, Identity, Ownership, ProviderError, Value};

use super::{
    Balancers, OfCluster, TagsOf, balancer_named, check_owner, made_or_claimed, missing, set_tags, to_tags,
    update_tags, with_tags,
};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::error;
use crate::kind::attribute::{block, blocks, differs, flag, need, some, text, texts};
use crate::kind::by_name::{if_any, made};
use crate::kind::{Blockers, Condition, Found, Kind, Tagged, blocker};
use crate::look::Look;
use crate::owner::{OF_CONTROLLERS, marks, visible};
use crate::rate::Class;

/// `aws_lb`.
pub(in crate::kind) struct LoadBalancer;

const CROSS_ZONE: &str = "load_balancing.cross_zone.enabled";
const PROTECTION: &str = "deletion_protection.enabled";
const ROUTING: &str = "dns_record.client_routing_policy";
const LOGS: &str = "access_logs.s3.enabled";
const LOGS_BUCKET: &str = "access_logs.s3.bucket";
const LOGS_PREFIX: &str = "access_logs.s3.prefix";

#[async_trait]
impl Kind for LoadBalancer {
    fn name(&self) -> &'static str {
        "aws_lb"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        if look.by_ownership_alone() {
            return Ok(Vec::new());
        }
        let arns = look.listing::<OfCluster>().await?;
        let reads = arns.0.iter().map(|arn| read(&look.cloud, arn));
        Ok(futures_util::future::try_join_all(reads).await?.into_iter().flatten().collect())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        read(cloud, id.as_str()).await
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let name = need(desired, "name")?;
        let groups = texts(desired, "security_groups");
        let scheme = if flag(desired, "internal") {
            LoadBalancerSchemeEnum::Internal
        } else {
            LoadBalancerSchemeEnum::InternetFacing
        };
        let request = act
            .cloud
            .balancing()
            .create_load_balancer()
            .name(name)
            .r#type(LoadBalancerTypeEnum::Network)
            .scheme(scheme)
            .set_ip_address_type(text(desired, "ip_address_type").map(IpAddressType::from))
            .set_subnet_mappings(Some(mappings(desired)))
            .set_security_groups((!groups.is_empty()).then_some(groups))
            .set_tags(Some(to_tags(&act.tags(desired))));
        let call = "CreateLoadBalancer";
        let answer = act.cloud.write(Class::Balancing, call, || request.clone().send()).await;
        let arn = answer.map(|answer| {
            answer.load_balancers().first().and_then(Sdk::load_balancer_arn).map(str::to_owned)
        });
        made_or_claimed(self, act, desired, (call, arn), balancer_named(act.cloud, name)).await
    }

    async fn complete(&self, act: &Act<'_>, id: &Identity, desired: &Value) -> Result<(), ProviderError> {
        check_owner(act, id.as_str()).await?;
        let attributes = missing(wanted(desired), &wanted(&Value::Null));
        set_attributes(act.cloud, id.as_str(), attributes).await?;
        match text(desired, ENFORCE) {
            Some(enforce) => set_groups(act.cloud, id.as_str(), desired, Some(enforce)).await,
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
        let (cloud, arn) = (act.cloud, id.as_str());
        set_attributes(cloud, arn, missing(wanted(desired), &wanted(prior))).await?;
        if differs(prior, desired, "security_groups") || differs(prior, desired, ENFORCE) {
            set_groups(cloud, arn, desired, text(desired, ENFORCE)).await?;
        }
        let family = text(desired, "ip_address_type").map(IpAddressType::from);
        if differs(prior, desired, "subnet_mapping") {
            let request = cloud
                .balancing()
                .set_subnets()
                .load_balancer_arn(arn)
                .set_subnet_mappings(Some(mappings(desired)))
                .set_ip_address_type(family);
            cloud.write(Class::Balancing, "SetSubnets", || request.clone().send()).await?;
        } else if differs(prior, desired, "ip_address_type") {
            let request =
                cloud.balancing().set_ip_address_type().load_balancer_arn(arn).set_ip_address_type(family);
            cloud.write(Class::Balancing, "SetIpAddressType", || request.clone().send()).await?;
        }
        update_tags(cloud, arn, prior, desired).await
    }

    /// A load balancer that a controller created is deleted after the machines: while the controller runs, it creates one that is gone
    /// again.
    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let Ownership { cluster, address, .. } = &act.request.ownership;
        if address.name().starts_with(OF_CONTROLLERS) {
            let balancer = act.cloud.get::<Balancers>(id.as_str()).await?;
            let network = balancer.as_ref().and_then(|balancer| balancer.vpc_id());
            // Those in other networks belong to another cluster of the name.
            let machines: Vec<String> = blocker::machines(act.cloud, cluster)
                .await?
                .into_iter()
                .filter(|(_, of)| of.is_some() && of.as_deref() == network)
                .map(|(machine, _)| machine)
                .collect();
            if !machines.is_empty() {
                let text = format!("{id} waits for the end of {}", machines.join(", "));
                return Err(error(ErrorClass::Dependency { blockers: machines }, text));
            }
        }
        let request = act.cloud.balancing().delete_load_balancer().load_balancer_arn(id.as_str());
        act.cloud.write(Class::Balancing, "DeleteLoadBalancer", || request.clone().send()).await.map(drop)
    }

    async fn blockers(&self, cloud: &Cloud, _: &Identity) -> Result<Blockers, ProviderError> {
        let machines = cloud.leaving().then(|| "the machines of the cluster".to_owned());
        Ok(Blockers { lasting: Vec::new(), passing: machines.into_iter().collect() })
    }

    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        set_tags(act.cloud, id.as_str(), &marks(&act.request.ownership, None)).await
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        match balancer_named(act.cloud, need(desired, "name")?).await? {
            Some(arn) => made(self, act, Identity::new(arn)).await,
            None => Ok(None),
        }
    }

    fn is_idempotent(&self) -> bool {
        true
    }

    async fn in_network(&self, cloud: &Cloud, vpc: &str) -> Result<Option<Vec<Tagged>>, ProviderError> {
        let request = cloud.balancing().describe_load_balancers();
        let send = |marker| request.clone().set_marker(marker).send();
        let pages =
            cloud.pages(Class::Balancing, "DescribeLoadBalancers", send, |page| page.next_marker()).await?;
        let is_there = |balancer: &&Sdk| {
            balancer.vpc_id() == Some(vpc) && balancer.r#type() == Some(&LoadBalancerTypeEnum::Network)
        };
        let there = pages.iter().flat_map(|page| page.load_balancers()).filter(is_there);
        with_tags(cloud, there.filter_map(Sdk::load_balancer_arn).map(str::to_owned).collect()).await
    }
}

const ENFORCE: &str = "enforce_security_group_inbound_rules_on_private_link_traffic";

async fn read(cloud: &Cloud, arn: &str) -> Result<Option<Found>, ProviderError> {
    let request = cloud.balancing().describe_load_balancer_attributes().load_balancer_arn(arn);
    let (balancer, tags, attributes) = tokio::join!(
        cloud.get::<Balancers>(arn),
        cloud.get::<TagsOf>(arn),
        cloud.read(Class::Balancing, "DescribeLoadBalancerAttributes", || request.clone().send()),
    );
    let (Some(balancer), Some(tags), Some(attributes)) = (balancer?, tags?, if_any(attributes)?) else {
        return Ok(None);
    };
    let found = Found::ready(arn, shape(&balancer, attributes.attributes(), visible(&tags)), &tags);
    let state = balancer.state();
    Ok(Some(match state.and_then(|state| state.code()) {
        Some(LoadBalancerStateEnum::Provisioning) => {
            found.but(Condition::Pending("it is being made ready".into()))
        }
        Some(LoadBalancerStateEnum::Failed) => {
            let reason = state.and_then(|state| state.reason()).unwrap_or("AWS names no reason");
            found.but(Condition::Failed(reason.to_owned()))
        }
        _ => found,
    }))
}

fn shape(balancer: &Sdk, attributes: &[LoadBalancerAttribute], tags: Value) -> Value {
    let attribute =
        |key: &str| attributes.iter().find(|pair| pair.key() == Some(key)).and_then(|pair| pair.value());
    let logs = Value::list([Value::map([
        ("enabled", some(attribute(LOGS))),
        ("bucket", some(attribute(LOGS_BUCKET))),
        ("prefix", some(attribute(LOGS_PREFIX))),
    ])]);
    let internal = balancer.scheme() == Some(&LoadBalancerSchemeEnum::Internal);
    let mappings = balancer.availability_zones().iter().map(|zone| {
        let address = zone.load_balancer_addresses().first();
        Value::map([
            ("subnet_id", Value::from(zone.subnet_id())),
            ("allocation_id", some(address.and_then(|address| address.allocation_id()))),
            ("private_ipv4_address", some(address.and_then(|address| address.private_ipv4_address()))),
            ("ipv6_address", some(address.and_then(|address| address.ipv6_address()))),
        ])
    });
    Value::map([
        ("id", Value::from(balancer.load_balancer_arn())),
        ("arn", balancer.load_balancer_arn().into()),
        ("name", balancer.load_balancer_name().into()),
        ("load_balancer_type", balancer.r#type().map(LoadBalancerTypeEnum::as_str).into()),
        ("internal", internal.into()),
        ("security_groups", balancer.security_groups().to_vec().into()),
        ("subnet_mapping", Value::list(mappings)),
        ("ip_address_type", balancer.ip_address_type().map(IpAddressType::as_str).into()),
        ("enable_cross_zone_load_balancing", some(attribute(CROSS_ZONE))),
        ("enable_deletion_protection", some(attribute(PROTECTION))),
        ("dns_record_client_routing_policy", some(attribute(ROUTING))),
        (ENFORCE, some(balancer.enforce_security_group_inbound_rules_on_private_link_traffic())),
        ("access_logs", if attribute(LOGS) == Some("true") { logs } else { Value::Null }),
        ("dns_name", balancer.dns_name().into()),
        ("zone_id", balancer.canonical_hosted_zone_id().into()),
        ("vpc_id", balancer.vpc_id().into()),
        ("tags", tags),
    ])
}

/// The desired settings that AWS stores as texts by key; missing ones have the defaults of a new load
/// balancer.
fn wanted(desired: &Value) -> Vec<(&'static str, String)> {
    let switch = |name: &str| flag(desired, name).to_string();
    let logs = block(desired, "access_logs").filter(|logs| flag(logs, "enabled"));
    let mut pairs = vec![
        (CROSS_ZONE, switch("enable_cross_zone_load_balancing")),
        (PROTECTION, switch("enable_deletion_protection")),
        (
            ROUTING,
            text(desired, "dns_record_client_routing_policy").unwrap_or("any_availability_zone").to_owned(),
        ),
        (LOGS, logs.is_some().to_string()),
    ];
    if let Some(logs) = logs {
        pairs.push((LOGS_BUCKET, text(logs, "bucket").unwrap_or_default().to_owned()));
        pairs.push((LOGS_PREFIX, text(logs, "prefix").unwrap_or_default().to_owned()));
    }
    pairs
}

async fn set_attributes(cloud: &Cloud, arn: &str, pairs: Vec<(&str, String)>) -> Result<(), ProviderError> {
    if pairs.is_empty() {
        return Ok(());
    }
    let attributes =
        pairs.into_iter().map(|(key, value)| LoadBalancerAttribute::builder().key(key).value(value).build());
    let request = cloud
        .balancing()
        .modify_load_balancer_attributes()
        .load_balancer_arn(arn)
        .set_attributes(Some(attributes.collect()));
    cloud.write(Class::Balancing, "ModifyLoadBalancerAttributes", || request.clone().send()).await.map(drop)
}

async fn set_groups(
    cloud: &Cloud,
    arn: &str,
    desired: &Value,
    enforce: Option<&str>,
) -> Result<(), ProviderError> {
    let request = cloud
        .balancing()
        .set_security_groups()
        .load_balancer_arn(arn)
        .set_security_groups(Some(texts(desired, "security_groups")))
        .set_enforce_security_group_inbound_rules_on_private_link_traffic(
            enforce.map(EnforceSecurityGroupInboundRulesOnPrivateLinkTrafficEnum::from),
        );
    cloud.write(Class::Balancing, "SetSecurityGroups", || request.clone().send()).await.map(drop)
}

fn mappings(desired: &Value) -> Vec<SubnetMapping> {
    let mapping = |mapping: &Value| {
        SubnetMapping::builder()
            .set_subnet_id(text(mapping, "subnet_id").map(str::to_owned))
            .set_allocation_id(text(mapping, "allocation_id").map(str::to_owned))
            .set_private_ipv4_address(text(mapping, "private_ipv4_address").map(str::to_owned))
            .set_ipv6_address(text(mapping, "ipv6_address").map(str::to_owned))
            .build()
    };
    blocks(desired, "subnet_mapping").iter().map(mapping).collect()
}
