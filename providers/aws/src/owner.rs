//! The tags by which an object is found again, and how they are hidden from users.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{ResourceType, Tag, TagSpecification};
use slipway_resource::{Address, ClusterUid, Entries, Identity, Ownership, Token, Value};

/// The cluster's unique id.
pub(crate) const UID: &str = "slipway.dev/cluster-uid";
/// The cluster's name.
pub(crate) const CLUSTER: &str = "slipway.dev/cluster";
/// The resource's address.
pub(crate) const ADDRESS: &str = "slipway.dev/address";
/// The token of the step that made it.
pub(crate) const TOKEN: &str = "slipway.dev/token";
/// How the names of objects begin in plans that controllers inside the cluster created.
pub(crate) const OF_CONTROLLERS: &str = "of-controllers/";
/// The prefix of Slipway's keys.
const PREFIX: &str = "slipway.dev/";
/// The prefix of keys that AWS itself sets.
const RESERVED: &str = "aws:";

/// Tags by key.
pub(crate) type Tags = BTreeMap<String, String>;

/// The owner of an object, by its tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The cluster's unique id.
    pub uid: ClusterUid,
    /// The cluster's name.
    pub cluster: String,
    /// The address; objects that share a tagged parent have none of their own.
    pub address: Option<Address>,
    /// The token of the step that created it.
    pub token: Option<Token>,
}

impl Owner {
    /// Reads the tags of an object; `None` when it has no owner.
    pub fn of(tags: &Tags) -> Option<Self> {
        Some(Self {
            uid: ClusterUid::new(tags.get(UID)?.as_str()),
            cluster: tags.get(CLUSTER).cloned().unwrap_or_default(),
            address: tags.get(ADDRESS).and_then(|address| address.parse().ok()),
            token: tags.get(TOKEN).map(|token| Token::new(token.as_str())),
        })
    }

    /// The same owner for an object at another address, without a token.
    pub fn at(&self, address: Address) -> Self {
        Self { address: Some(address), token: None, ..self.clone() }
    }
}

/// The ownership tags of an object.
pub(crate) fn marks(ownership: &Ownership, token: Option<&Token>) -> Tags {
    let mut tags = Tags::from([
        (UID.to_owned(), ownership.uid.as_str().to_owned()),
        (CLUSTER.to_owned(), ownership.cluster.clone()),
        (ADDRESS.to_owned(), ownership.address.to_string()),
    ]);
    if let Some(token) = token {
        tags.insert(TOKEN.to_owned(), token.as_str().to_owned());
    }
    tags
}

/// The tags that the attributes ask for.
pub(crate) fn wanted(attributes: &Value) -> Tags {
    let entries = attributes.get("tags").and_then(Value::as_map).into_iter().flatten();
    entries.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
}

/// Tags in which kOps stores the gateways of a subnet, and how often it has replaced a load balancer. No spec
/// names them.
const REMEMBERED: [&str; 4] = [
    "AssociatedElasticIp",
    "AssociatedElasticIpAllocationId",
    "AssociatedNatgateway",
    "kops.k8s.io/revision",
];

/// Whether a tag is ours, that of AWS, or the memory of another tool, and not for people.
pub(crate) fn is_hidden(key: &str) -> bool {
    key.starts_with(PREFIX) || key.starts_with(RESERVED) || REMEMBERED.contains(&key)
}

/// The tags that users see: without those of Slipway and of AWS.
pub(crate) fn visible(tags: &Tags) -> Value {
    let entries: Entries = tags
        .iter()
        .filter(|(key, _)| !is_hidden(key))
        .map(|(key, value)| (key.clone(), Value::from(value.as_str())))
        .collect();
    if entries.is_empty() { Value::Null } else { Value::Map(entries) }
}

/// The tags to set and to remove, from those in `prior` to those in `desired`.
pub(crate) fn difference(prior: &Value, desired: &Value) -> (Tags, Vec<String>) {
    let (before, after) = (wanted(prior), wanted(desired));
    let gone = before.keys().filter(|key| !after.contains_key(*key)).cloned().collect();
    let set = after.into_iter().filter(|(key, value)| before.get(key) != Some(value)).collect();
    (set, gone)
}

/// Tags in EC2's form.
pub(crate) fn ec2_tags(tags: &Tags) -> Vec<Tag> {
    tags.iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect()
}

/// Tags out of EC2's form.
pub(crate) fn of_ec2(tags: &[Tag]) -> Tags {
    tags.iter()
        .filter_map(|tag| Some((tag.key()?.to_owned(), tag.value().unwrap_or_default().to_owned())))
        .collect()
}

/// Tags for a creating call of EC2.
pub(crate) fn specification(kind: &str, tags: &Tags) -> TagSpecification {
    TagSpecification::builder().resource_type(ResourceType::from(kind)).set_tags(Some(ec2_tags(tags))).build()
}

/// An object's identity out of an id.
pub(crate) fn identity(id: &str) -> Identity {
    Identity::new(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ownership() -> Ownership {
        Ownership {
            uid: ClusterUid::new("u-1"),
            cluster: "a.example.com".to_owned(),
            address: Address::new("aws_vpc", "a"),
        }
    }

    #[test]
    fn marks_are_read_back_and_not_shown() {
        let mut tags = marks(&ownership(), Some(&Token::new("t-1")));
        tags.insert("Name".to_owned(), "a".to_owned());
        tags.insert("aws:autoscaling:groupName".to_owned(), "g".to_owned());
        tags.insert("AssociatedNatgateway".to_owned(), "nat-1".to_owned());
        let owner = Owner::of(&tags).unwrap();
        assert_eq!(owner.address.unwrap(), ownership().address);
        assert_eq!(owner.token.unwrap().as_str(), "t-1");
        assert_eq!(visible(&tags), Value::map([("Name", "a")]));
    }

    #[test]
    fn tags_are_set_and_removed_as_they_differ() {
        let with = |entries: &[(&str, &str)]| Value::map([("tags", Value::map(entries.iter().copied()))]);
        let (set, gone) = difference(&with(&[("a", "1"), ("b", "2")]), &with(&[("a", "3"), ("c", "4")]));
        assert_eq!(set, Tags::from([("a".into(), "3".into()), ("c".into(), "4".into())]));
        assert_eq!(gone, ["b"]);
    }
}
