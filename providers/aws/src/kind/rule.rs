//! Rules of security groups: known by group, direction, protocol, ports and the other side.

mod permission;
mod writer;

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_ec2::types::SecurityGroupRule as Sdk;
use slipway_aws_model::normalise::normalised;
use slipway_resource::{Identity, ProviderError, Value};

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
use writer::Writer;

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
        let (rules, groups) =
            (look.tagged("security-group-rule").await?, look.tagged("security-group").await?);
        let (rules, groups) = tokio::try_join!(
            look.cloud.get_all::<Rules>(rules.iter().map(String::as_str)),
            look.cloud.get_all::<SecurityGroups>(groups.iter().map(String::as_str)),
        )?;
        let names: BTreeMap<String, String> = groups
            .iter()
            .filter_map(|group| {
                let owner = Owner::of(&of_ec2(group.tags()))?;
                Some((group.group_id()?.to_owned(), owner.address?.name().to_owned()))
            })
            .collect();
        Ok(rules.iter().filter_map(|rule| with_address(rule, &names)).collect())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let rule = Rule::of_identity(id)?;
        let Some(of_group) = cloud.get::<OfGroups>(&rule.group).await? else { return Ok(None) };
        Ok(found(&rule, &of_group))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let rule = Rule::of_attributes(desired)?;
        let writer = act.cloud.shared::<Writer>();
        let description = text(desired, "description");
        writer.authorize(act.cloud, &act.request.ownership, &rule, description).await?;
        Ok(rule.identity())
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        _prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        let rule = Rule::of_identity(id)?;
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
        let rule = Rule::of_identity(id)?;
        act.cloud.shared::<Writer>().revoke(act.cloud, &rule).await
    }

    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let rule = Rule::of_identity(id)?;
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
        let is_ours = |permission: &Permission| {
            find(&of_group, rule.direction, permission).is_some_and(|found| {
                let owner = Owner::of(&of_ec2(found.tags()));
                match owner {
                    None => act.takes_over(),
                    Some(owner) => owner.uid == act.request.ownership.uid,
                }
            })
        };
        Ok(rule.permissions.iter().all(is_ours).then(|| rule.identity()))
    }
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
    let mut found = Vec::new();
    let mut next: Option<String> = None;
    loop {
        let page = cloud
            .read(Class::Ec2Read, "DescribeSecurityGroupRules", || {
                request.clone().set_next_token(next.clone()).send()
            })
            .await?;
        found.extend(page.security_group_rules().iter().cloned());
        next = page.next_token().filter(|token| !token.is_empty()).map(str::to_owned);
        if next.is_none() {
            return Ok(found);
        }
    }
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
