//! IAM has no list by tag. With a state, its objects are read by the names in the state. Without one, the
//! account's roles are listed once, and those whose names end with the cluster's are read.

mod attachment;
mod openid;
mod policy;
mod profile;
mod role;

pub(super) use attachment::RolePolicyAttachment;
pub(super) use openid::OpenIdConnectProvider;
pub(super) use policy::RolePolicy;
pub(super) use profile::InstanceProfile;
pub(super) use role::Role;

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_iam::types::Tag;
use slipway_resource::ProviderError;

use super::Found;
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::look::{Listing, Look};
use crate::owner::Tags;
use crate::rate::Class;

/// The longest name of a role; longer ones were cut, and end with a hash.
const LONGEST_NAME: usize = 64;

/// Whether a name can be one of a cluster's.
fn may_be_of(cluster: &str, name: &str) -> bool {
    name.ends_with(&format!(".{cluster}")) || name.len() == LONGEST_NAME
}

/// Tags in IAM's form.
fn to_tags(tags: &Tags) -> Result<Vec<Tag>, ProviderError> {
    tags.iter()
        .map(|(key, value)| Tag::builder().key(key).value(value).build())
        .collect::<Result<_, _>>()
        .map_err(|error| crate::error::invalid(format!("a tag is not complete: {error}")))
}

/// Tags out of IAM's form.
fn of_tags(tags: &[Tag]) -> Tags {
    tags.iter().map(|tag| (tag.key().to_owned(), tag.value().to_owned())).collect()
}

/// A policy document as it was sent: IAM returns it with its characters escaped (RFC 3986).
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The roles of a cluster whose state is lost, by name.
struct Roles(BTreeMap<String, Found>);

#[async_trait]
impl Listing for Roles {
    async fn list(look: &Look) -> Result<Self, ProviderError> {
        if look.by_ownership_alone() {
            return Ok(Self(BTreeMap::new()));
        }
        let request = look.cloud.iam().list_roles().max_items(1_000);
        let send = |marker| request.clone().set_marker(marker).send();
        let pages = look
            .cloud
            .pages(Class::Iam, "ListRoles", send, |page| page.marker().filter(|_| page.is_truncated()))
            .await?;
        if pages.last().is_some_and(|page| page.is_truncated()) {
            return Err(incomplete("ListRoles", "marker"));
        }
        let roles = pages.iter().flat_map(|page| page.roles());
        let mut names: Vec<String> = roles.map(|role| role.role_name().to_owned()).collect();
        names.retain(|name| may_be_of(&look.request.cluster, name));
        let reads = names.iter().map(|name| role::read(&look.cloud, name));
        let found = futures_util::future::try_join_all(reads).await?;
        let ours = |found: &Found| found.owner.as_ref().is_some_and(|owner| look.is_ours(owner));
        let named =
            names.into_iter().zip(found).filter_map(|(name, found)| Some((name, found.filter(ours)?)));
        Ok(Self(named.collect()))
    }
}

/// The names of the policies that a role has of its own.
async fn own_policies(cloud: &Cloud, role: &str) -> Result<Vec<String>, ProviderError> {
    let request = cloud.iam().list_role_policies().role_name(role);
    let send = |marker| request.clone().set_marker(marker).send();
    let pages = cloud
        .pages(Class::Iam, "ListRolePolicies", send, |page| page.marker().filter(|_| page.is_truncated()))
        .await?;
    Ok(pages.iter().flat_map(|page| page.policy_names()).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescaped("%7B%22a%22%3A%20%22%C3%A4%22%7D"), "{\"a\": \"ä\"}");
        assert_eq!(unescaped("100% 5%2"), "100% 5%2");
    }

    #[test]
    fn names_of_a_cluster_end_with_its_name() {
        assert!(may_be_of("a.example.com", "masters.a.example.com"));
        assert!(!may_be_of("a.example.com", "masters.ba.example.com"));
        assert!(may_be_of("a.example.com", &"x".repeat(64)));
    }
}
