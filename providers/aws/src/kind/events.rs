//! EventBridge. Rules are listed by the prefix of their names. Their tags name the owner, and can be read for
//! one rule at a time only, so they are compared with the last applied ones.

mod rule;
mod target;

pub(super) use rule::EventRule;
pub(super) use target::EventTarget;

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_eventbridge::types::{Rule, Tag};
use slipway_aws_model::names::shortened;
use slipway_resource::ProviderError;

use super::Found;
use super::by_name::if_any;
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::look::{Listing, Look};
use crate::owner::{Owner, Tags};
use crate::rate::Class;

/// The bus that every account has.
const DEFAULT_BUS: &str = "default";
/// The longest part of a rule's name that the cluster's name may be.
const LONGEST_CLUSTER: usize = 40;
/// A shorter common prefix is not listed, because the list might contain all rules of the account: rules are
/// read one by one.
const SHORTEST_PREFIX: usize = 6;

/// The bus and the name of a rule.
fn bus_and_name(id: &str) -> (&str, &str) {
    id.rsplit_once('/').unwrap_or((DEFAULT_BUS, id))
}

/// The id of a rule.
fn rule_id(bus: &str, name: &str) -> String {
    if bus == DEFAULT_BUS { name.to_owned() } else { format!("{bus}/{name}") }
}

/// Rules by id.
struct Rules;

#[async_trait]
impl Family for Rules {
    type Item = Rule;
    const LIMIT: usize = 200;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Rule>, ProviderError> {
        let mut by_bus: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for key in keys {
            let (bus, name) = bus_and_name(key);
            by_bus.entry(bus).or_default().push(name);
        }
        let mut found = BTreeMap::new();
        for (bus, names) in by_bus {
            let shared = common_prefix(&names);
            let prefixes = if shared.len() < SHORTEST_PREFIX { names } else { vec![shared] };
            for prefix in prefixes {
                let rules = if_any(rules(cloud, bus, prefix).await)?.unwrap_or_default();
                found.extend(
                    rules.into_iter().map(|rule| (rule_id(bus, rule.name().unwrap_or_default()), rule)),
                );
            }
        }
        Ok(found)
    }
}

async fn rules(cloud: &Cloud, bus: &str, prefix: &str) -> Result<Vec<Rule>, ProviderError> {
    let request = cloud.events().list_rules().event_bus_name(bus).name_prefix(prefix);
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud.pages(Class::Events, "ListRules", send, |page| page.next_token()).await?;
    Ok(pages.iter().flat_map(|page| page.rules()).cloned().collect())
}

/// The longest text that all names begin with.
fn common_prefix<'a>(names: &[&'a str]) -> &'a str {
    let Some((first, others)) = names.split_first() else { return "" };
    let same =
        |other: &&str| first.bytes().zip(other.bytes()).take_while(|(left, right)| left == right).count();
    let length = others.iter().map(same).min().unwrap_or(first.len());
    first.get(..length).unwrap_or_default()
}

async fn tags(cloud: &Cloud, arn: &str) -> Result<Option<Tags>, ProviderError> {
    let request = cloud.events().list_tags_for_resource().resource_arn(arn);
    let answer = if_any(cloud.read(Class::Events, "ListTagsForResource", || request.clone().send()).await)?;
    Ok(answer.map(|answer| of_tags(answer.tags())))
}

fn of_tags(tags: &[Tag]) -> Tags {
    tags.iter().map(|tag| (tag.key().to_owned(), tag.value().to_owned())).collect()
}

fn to_tags(tags: &Tags) -> Result<Vec<Tag>, ProviderError> {
    tags.iter()
        .map(|(key, value)| Tag::builder().key(key).value(value).build())
        .collect::<Result<_, _>>()
        .map_err(|error| crate::error::invalid(format!("a tag is not complete: {error}")))
}

/// The rules of a cluster whose state is lost.
struct Owned(Vec<Found>);

#[async_trait]
impl Listing for Owned {
    async fn list(look: &Look) -> Result<Self, ProviderError> {
        if look.by_ownership_alone() {
            return Ok(Self(Vec::new()));
        }
        let prefix = format!("{}-", shortened(&look.request.cluster, LONGEST_CLUSTER, false));
        let rules = rules(&look.cloud, DEFAULT_BUS, &prefix).await?;
        let owned = rules.iter().map(|rule| async {
            let tags = tags(&look.cloud, rule.arn().unwrap_or_default()).await?;
            let owner = tags.as_ref().and_then(Owner::of).filter(|owner| look.is_ours(owner));
            Ok::<_, ProviderError>(owner.map(|owner| Found { owner: Some(owner), ..rule::found(rule) }))
        });
        Ok(Self(futures_util::future::try_join_all(owned).await?.into_iter().flatten().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_by_what_they_share() {
        assert_eq!(common_prefix(&["a.example.com-A", "a.example.com-B"]), "a.example.com-");
        assert_eq!(common_prefix(&["one"]), "one");
        assert_eq!(common_prefix(&["a", "b"]), "");
    }

    #[test]
    fn ids_name_another_bus_than_the_default_one() {
        assert_eq!(rule_id("default", "a"), "a");
        assert_eq!(bus_and_name(&rule_id("b", "a")), ("b", "a"));
        assert_eq!(bus_and_name("a"), ("default", "a"));
    }
}
