//! Rules of security groups: known by group, direction, protocol, ports and the other side.

mod permission;
mod writer;

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_ec2::types::SecurityGroupRule as Sdk;
use slipway_aws_model::normalise::normalised;
use slipway_resource::{ClusterUid, Identity, ProviderError, Value};

use super::attribute::text;
use super::family::SecurityGroups;
use super::{Found, Kind, child};
use crate::act::Act;
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::look::{Look, filter};
use crate::owner::{Owner, of_ec2};
use crate::rate::Class;
use permission::{Direction, Permission, Rule};
use writer::{Whose, Writer};

/// The type's name.
const NAME: &str = "aws_security_group_rule";

/// `aws_security_group_rule`.
pub(super) struct SecurityGroupRule;

#[async_trait]
impl Kind for SecurityGroupRule {
    fn name(&self) -> &'static str {
        NAME
    }

    fn is_idempotent(&self) -> bool {
        true
    }

    /// Ours are those with the cluster's tag: controllers and people add theirs to the same groups.
    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        let (ids, groups) = (look.tagged("security-group-rule").await?, look.tagged("security-group").await?);
        let groups = look.cloud.get_all::<SecurityGroups>(groups.iter().map(String::as_str)).await?;
        let names: BTreeMap<String, String> = groups
            .iter()
            .filter_map(|group| {
                let owner = Owner::of(&of_ec2(group.tags()))?;
                Some((group.group_id()?.to_owned(), owner.address?.name().to_owned()))
            })
            .collect();
        // The groups read their rules at the same time, to find those of others: one call reads both.
        let of_groups: Vec<&str> = groups.iter().filter_map(|group| group.group_id()).collect();
        let of_groups = look.cloud.get_all::<OfGroups>(of_groups).await?;
        let inside: BTreeMap<&str, &Sdk> = of_groups
            .iter()
            .flat_map(|rules| rules.iter())
            .filter_map(|rule| Some((rule.security_group_rule_id()?, rule)))
            .collect();
        // Rules of ours in groups that are not.
        let others: Vec<&str> =
            ids.iter().map(String::as_str).filter(|id| !inside.contains_key(id)).collect();
        let others = look.cloud.get_all::<Rules>(others).await?;
        let ours = ids.iter().filter_map(|id| inside.get(id.as_str()).copied());
        let rules = ours.chain(others.iter().map(|rule| &**rule));
        Ok(rules.filter_map(|rule| with_address(rule, &names)).collect())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let rule = Rule::of_identity(id)?;
        let Some(of_group) = cloud.get::<OfGroups>(&rule.group).await? else { return Ok(None) };
        let found = found(&rule, &of_group);
        Ok(found.map(|found| Found { identity: id.clone(), ..found }))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let rule = Rule::of_attributes(desired)?;
        let writer = act.cloud.shared::<Writer>();
        let description = text(desired, "description");
        Ok(match writer.authorize(act.cloud, &act.request.ownership, &rule, description).await? {
            Whose::Ours => rule.identity(),
            Whose::Others => {
                act.progress(format!("{} has this rule already, and it is not the cluster's", rule.group));
                rule.shared_identity()
            }
        })
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        _prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        let rule = Rule::of_identity(id)?;
        if Rule::is_shared(id) {
            return Ok(());
        }
        let described = text(desired, "description");
        let permissions = rule.permissions.iter().map(|permission| permission.to_ec2(described)).collect();
        let client = act.cloud.ec2();
        match rule.direction {
            Direction::Ingress => {
                let request = client
                    .update_security_group_rule_descriptions_ingress()
                    .group_id(&rule.group)
                    .set_ip_permissions(Some(permissions));
                let name = "UpdateSecurityGroupRuleDescriptionsIngress";
                act.cloud.write(Class::Ec2Write, name, || request.clone().send()).await.map(drop)
            }
            Direction::Egress => {
                let request = client
                    .update_security_group_rule_descriptions_egress()
                    .group_id(&rule.group)
                    .set_ip_permissions(Some(permissions));
                let name = "UpdateSecurityGroupRuleDescriptionsEgress";
                act.cloud.write(Class::Ec2Write, name, || request.clone().send()).await.map(drop)
            }
        }
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let mut rule = Rule::of_identity(id)?;
        if Rule::is_shared(id) {
            // Of several sources some may be ours.
            let Some(of_group) = act.cloud.get::<OfGroups>(&rule.group).await? else { return Ok(()) };
            let uid = &act.request.ownership.uid;
            let direction = rule.direction;
            rule.permissions.retain(|permission| {
                find(&of_group, direction, permission).is_some_and(|found| is_of(found, uid))
            });
            if rule.permissions.is_empty() {
                return Ok(());
            }
        }
        act.cloud.shared::<Writer>().revoke(act.cloud, &rule).await
    }

    fn is_shared(&self, id: &Identity) -> bool {
        Rule::is_shared(id)
    }

    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let rule = Rule::of_identity(id)?;
        if Rule::is_shared(id) {
            return Ok(());
        }
        let Some(of_group) = act.cloud.get::<OfGroups>(&rule.group).await? else { return Ok(()) };
        let marks = writer::marks(&act.request.ownership);
        for permission in &rule.permissions {
            if let Some(id) =
                find(&of_group, rule.direction, permission).and_then(Sdk::security_group_rule_id)
            {
                super::create_tags(act.cloud, id, &marks).await?;
            }
        }
        Ok(())
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let rule = Rule::of_attributes(desired)?;
        let Some(of_group) = act.cloud.get::<OfGroups>(&rule.group).await? else { return Ok(None) };
        let parts: Vec<Option<&Sdk>> =
            rule.permissions.iter().map(|permission| find(&of_group, rule.direction, permission)).collect();
        let is_ours = |found: &Option<&Sdk>| match (found, act.takes_over()) {
            (None, _) => false,
            (Some(found), true) => Owner::of(&of_ec2(found.tags())).is_none(),
            (Some(found), false) => is_of(found, &act.request.ownership.uid),
        };
        if !parts.iter().all(is_ours) {
            return Ok(None);
        }
        // Rules that are adopted with a group that another tool did not create for the cluster may have
        // existed before.
        let cluster = act.request.ownership.cluster.as_str();
        let is_of_cluster = |tags: &[aws_sdk_ec2::types::Tag]| {
            of_ec2(tags).get(OTHER_TOOL).is_some_and(|name| name == cluster)
        };
        if act.takes_over() && !parts.iter().flatten().all(|found| is_of_cluster(found.tags())) {
            let group = act.cloud.get::<SecurityGroups>(&rule.group).await?;
            if !group.is_some_and(|group| is_of_cluster(group.tags())) {
                return Ok(Some(rule.shared_identity()));
            }
        }
        Ok(Some(rule.identity()))
    }
}

/// How descriptions of rules begin that controllers of a cluster add for its load balancers.
const OF_CONTROLLERS: [&str; 2] = ["kubernetes.io/rule/", "elbv2.k8s.aws/"];

/// The rules of a group that neither Slipway nor a controller made, by identity. Rules that name another group count as those of
/// controllers: load balancers have groups of their own, which members of the cluster's groups let in.
///
/// # Errors
/// When they cannot be read.
pub(super) async fn foreign(cloud: &Cloud, group: &str) -> Result<Vec<String>, ProviderError> {
    let Some(of_group) = cloud.get::<OfGroups>(group).await? else { return Ok(Vec::new()) };
    let is_foreign = |rule: &&Sdk| {
        let tags = of_ec2(rule.tags());
        let described = rule.description().unwrap_or_default();
        Owner::of(&tags).is_none()
            && !tags.contains_key(OTHER_TOOL)
            && rule.referenced_group_info().is_none()
            && !OF_CONTROLLERS.iter().any(|mark| described.starts_with(mark))
    };
    let identity = |rule: &Sdk| {
        let permissions = vec![Permission::of(rule)?];
        let rule = Rule { group: group.to_owned(), direction: Direction::of(rule), permissions };
        Some(rule.identity().to_string())
    };
    Ok(of_group.iter().filter(is_foreign).filter_map(identity).collect())
}

/// Revokes a rule by its identity.
///
/// # Errors
/// By class.
pub(super) async fn revoke(cloud: &Cloud, id: &Identity) -> Result<(), ProviderError> {
    cloud.shared::<Writer>().revoke(cloud, &Rule::of_identity(id)?).await
}

/// The tag in which kOps and its controllers write the cluster's name.
const OTHER_TOOL: &str = "KubernetesCluster";

/// Whether a rule is a cluster's, by its tags.
fn is_of(found: &Sdk, uid: &ClusterUid) -> bool {
    Owner::of(&of_ec2(found.tags())).is_some_and(|owner| owner.uid == *uid)
}

/// Rules by the group they belong to.
pub(super) struct OfGroups;

/// Rules by id.
struct Rules;

#[async_trait]
impl Family for OfGroups {
    type Item = Vec<Sdk>;
    const LIMIT: usize = 200;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Vec<Sdk>>, ProviderError> {
        let mut found: BTreeMap<String, Vec<Sdk>> = BTreeMap::new();
        for rule in describe(cloud, "group-id", keys).await? {
            if let Some(group) = rule.group_id() {
                found.entry(group.to_owned()).or_default().push(rule);
            }
        }
        Ok(found)
    }
}

#[async_trait]
impl Family for Rules {
    type Item = Sdk;
    const LIMIT: usize = 200;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Sdk>, ProviderError> {
        let found = describe(cloud, "security-group-rule-id", keys).await?;
        Ok(found
            .into_iter()
            .filter_map(|rule| Some((rule.security_group_rule_id()?.to_owned(), rule)))
            .collect())
    }
}

async fn describe(cloud: &Cloud, name: &str, keys: &[String]) -> Result<Vec<Sdk>, ProviderError> {
    let request = cloud.ec2().describe_security_group_rules().filters(filter(name, keys));
    let send = |token| request.clone().set_next_token(token).send();
    let action = "DescribeSecurityGroupRules";
    let pages = cloud.pages(Class::Ec2Read, action, send, |page| page.next_token()).await?;
    Ok(pages.iter().flat_map(|page| page.security_group_rules()).cloned().collect())
}

/// The rule of AWS that lets a permission through.
fn find<'a>(rules: &'a [Sdk], direction: Direction, permission: &Permission) -> Option<&'a Sdk> {
    rules
        .iter()
        .find(|rule| Direction::of(rule) == direction && Permission::of(rule).as_ref() == Some(permission))
}

/// The rule as it was found; `None` unless each of its permissions is there.
fn found(rule: &Rule, rules: &[Sdk]) -> Option<Found> {
    let parts: Option<Vec<&Sdk>> =
        rule.permissions.iter().map(|permission| find(rules, rule.direction, permission)).collect();
    let parts = parts?;
    let first = parts.first()?;
    Some(Found::ready(rule.identity().as_str(), attributes(rule, first), &of_ec2(first.tags())))
}

fn attributes(rule: &Rule, found: &Sdk) -> Value {
    let mut attributes = rule.attributes();
    let described = found.description().filter(|text| !text.is_empty());
    if let Value::Map(entries) = &mut attributes {
        if let Some(id) = found.security_group_rule_id() {
            entries.insert("security_group_rule_id".to_owned(), id.into());
        }
        if let Some(description) = described {
            entries.insert("description".to_owned(), description.into());
        }
    }
    normalised(NAME, &attributes)
}

/// A tagged rule with the address that expansion gives such a rule.
fn with_address(found: &Sdk, names: &BTreeMap<String, String>) -> Option<Found> {
    let owner = Owner::of(&of_ec2(found.tags()))?;
    let permission = Permission::of(found)?;
    let rule = Rule {
        group: found.group_id()?.to_owned(),
        direction: Direction::of(found),
        permissions: vec![permission],
    };
    let named = |id: &str| names.get(id).cloned().unwrap_or_else(|| id.to_owned());
    let permission = rule.permissions.first()?;
    let other = named(permission.source.text());
    let ports = (permission.from, permission.to);
    let address =
        child::rule(&named(&rule.group), rule.direction.name(), &permission.protocol, ports, &other);
    let id = rule.identity();
    Some(Found {
        owner: Some(owner.at(address)),
        ..Found::ready(id.as_str(), attributes(&rule, found), &crate::owner::Tags::new())
    })
}
