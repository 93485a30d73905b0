//! The permission of a rule, in three forms: attributes, AWS' own, and identity.

use aws_sdk_ec2::types::{
    IpPermission, IpRange, Ipv6Range, PrefixListId, SecurityGroupRule as Sdk, UserIdGroupPair,
};
use slipway_aws_model::normalise::normalised;
use slipway_resource::{Identity, ProviderError, Value};

use super::NAME;
use crate::error::invalid;
use crate::kind::attribute::{flag, need, number, text, texts};
use crate::owner::identity;

/// The suffix of the identity of a rule that Slipway did not create.
const SHARED: &str = "_shared";

/// One rule: the traffic that its group allows in or out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// The group.
    pub group: String,
    /// In or out.
    pub direction: Direction,
    /// One permission for each source or target, sorted.
    pub permissions: Vec<Permission>,
}

/// In or out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Direction {
    /// In.
    Ingress,
    /// Out.
    Egress,
}

/// One source or target, and the allowed traffic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Permission {
    /// `tcp`, `udp`, `icmp`, `icmpv6`, `-1`, or a number.
    pub protocol: String,
    /// The first port.
    pub from: i64,
    /// The last port.
    pub to: i64,
    /// The other side.
    pub source: Source,
}

/// The other side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// An IPv4 range.
    Ipv4(String),
    /// An IPv6 range.
    Ipv6(String),
    /// A prefix list.
    List(String),
    /// A group.
    Group(String),
}

impl Direction {
    /// Its name in attributes and identities.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        }
    }

    /// That of a rule of AWS.
    pub fn of(rule: &Sdk) -> Self {
        if rule.is_egress().unwrap_or_default() { Self::Egress } else { Self::Ingress }
    }

    fn parse(text: &str) -> Result<Self, ProviderError> {
        match text {
            "ingress" => Ok(Self::Ingress),
            "egress" => Ok(Self::Egress),
            other => Err(invalid(format!("type: {other} is neither ingress nor egress"))),
        }
    }
}

impl Source {
    /// Its text.
    pub fn text(&self) -> &str {
        match self {
            Self::Ipv4(text) | Self::Ipv6(text) | Self::List(text) | Self::Group(text) => text,
        }
    }

    fn parse(text: &str) -> Self {
        let own = text.to_owned();
        match text {
            list if list.starts_with("pl-") => Self::List(own),
            group if group.starts_with("sg-") => Self::Group(own),
            range if range.contains(':') => Self::Ipv6(own),
            _ => Self::Ipv4(own),
        }
    }

    /// The attribute that names it.
    fn attribute(&self) -> &'static str {
        match self {
            Self::Ipv4(_) => "cidr_blocks",
            Self::Ipv6(_) => "ipv6_cidr_blocks",
            Self::List(_) => "prefix_list_ids",
            Self::Group(_) => "source_security_group_id",
        }
    }
}

impl Permission {
    /// That of a rule of AWS, in the form of the attributes.
    pub fn of(rule: &Sdk) -> Option<Self> {
        let group = rule.referenced_group_info().and_then(|group| group.group_id());
        let source = rule
            .cidr_ipv4()
            .map(|range| Source::Ipv4(range.to_owned()))
            .or_else(|| rule.cidr_ipv6().map(|range| Source::Ipv6(range.to_owned())))
            .or_else(|| rule.prefix_list_id().map(|list| Source::List(list.to_owned())))
            .or_else(|| group.map(|group| Source::Group(group.to_owned())))?;
        let attributes = Value::map([
            ("protocol", Value::from(rule.ip_protocol())),
            ("from_port", i64::from(rule.from_port().unwrap_or_default()).into()),
            ("to_port", i64::from(rule.to_port().unwrap_or_default()).into()),
            (source.attribute(), as_attribute(&source)),
        ]);
        let formed = Rule::permissions_of(&normalised(NAME, &attributes), rule.group_id()?).ok()?;
        formed.into_iter().next()
    }

    /// In AWS' form.
    pub fn to_ec2(&self, description: Option<&str>) -> IpPermission {
        let own = description.map(str::to_owned);
        let permission = IpPermission::builder().ip_protocol(&self.protocol);
        let permission = if self.protocol == "-1" {
            permission
        } else {
            permission.set_from_port(i32::try_from(self.from).ok()).set_to_port(i32::try_from(self.to).ok())
        };
        match &self.source {
            Source::Ipv4(range) => {
                permission.ip_ranges(IpRange::builder().cidr_ip(range).set_description(own).build())
            }
            Source::Ipv6(range) => {
                permission.ipv6_ranges(Ipv6Range::builder().cidr_ipv6(range).set_description(own).build())
            }
            Source::List(list) => permission
                .prefix_list_ids(PrefixListId::builder().prefix_list_id(list).set_description(own).build()),
            Source::Group(group) => permission
                .user_id_group_pairs(UserIdGroupPair::builder().group_id(group).set_description(own).build()),
        }
        .build()
    }
}

fn as_attribute(source: &Source) -> Value {
    match source {
        Source::Group(group) => group.as_str().into(),
        other => Value::list([other.text()]),
    }
}

impl Rule {
    /// Out of attributes in their normal form.
    pub fn of_attributes(attributes: &Value) -> Result<Self, ProviderError> {
        let group = need(attributes, "security_group_id")?;
        let permissions = Self::permissions_of(attributes, group)?;
        let direction = Direction::parse(need(attributes, "type")?)?;
        Ok(Self { group: group.to_owned(), direction, permissions })
    }

    fn permissions_of(attributes: &Value, group: &str) -> Result<Vec<Permission>, ProviderError> {
        let lists = ["cidr_blocks", "ipv6_cidr_blocks", "prefix_list_ids"];
        let mut sources: Vec<Source> =
            lists.iter().flat_map(|name| texts(attributes, name)).map(|text| Source::parse(&text)).collect();
        if flag(attributes, "self") {
            sources.push(Source::Group(group.to_owned()));
        }
        sources.extend(text(attributes, "source_security_group_id").map(|id| Source::Group(id.to_owned())));
        if sources.is_empty() {
            return Err(invalid("a rule needs another side: a range, a prefix list or a group"));
        }
        let protocol = need(attributes, "protocol")?.to_owned();
        let (from, to) = (number(attributes, "from_port"), number(attributes, "to_port"));
        let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
        let mut permissions: Vec<Permission> = sources
            .into_iter()
            .map(|source| Permission { protocol: protocol.clone(), from, to, source })
            .collect();
        permissions.sort();
        permissions.dedup();
        Ok(permissions)
    }

    /// Its attributes.
    pub fn attributes(&self) -> Value {
        let Some(first) = self.permissions.first() else { return Value::Null };
        let of = |name: &str| -> Option<Vec<String>> {
            let own = self.permissions.iter().map(|permission| &permission.source);
            let own: Vec<String> = own
                .filter(|source| source.attribute() == name && !matches!(source, Source::Group(_)))
                .map(|source| source.text().to_owned())
                .collect();
            (!own.is_empty()).then_some(own)
        };
        let group = self.permissions.iter().find_map(|permission| match &permission.source {
            Source::Group(group) => Some(group.as_str()),
            _ => None,
        });
        Value::map([
            ("id", Value::from(self.identity().as_str())),
            ("security_group_id", self.group.as_str().into()),
            ("type", self.direction.name().into()),
            ("protocol", first.protocol.as_str().into()),
            ("from_port", first.from.into()),
            ("to_port", first.to.into()),
            ("cidr_blocks", of("cidr_blocks").into()),
            ("ipv6_cidr_blocks", of("ipv6_cidr_blocks").into()),
            ("prefix_list_ids", of("prefix_list_ids").into()),
            ("source_security_group_id", group.into()),
        ])
    }

    /// Group, direction, protocol, ports and other sides, with underscores between them, as Terraform imports rules.
    pub fn identity(&self) -> Identity {
        let Some(first) = self.permissions.first() else { return identity(&self.group) };
        let sources: Vec<&str> = self.permissions.iter().map(|permission| permission.source.text()).collect();
        identity(&format!(
            "{}_{}_{}_{}_{}_{}",
            self.group,
            self.direction.name(),
            first.protocol,
            first.from,
            first.to,
            sources.join("_")
        ))
    }

    /// Its identity for an existing rule in a group that is not ours: the rule is used, and never changed.
    pub fn shared_identity(&self) -> Identity {
        identity(&format!("{}{SHARED}", self.identity()))
    }

    /// Whether an identity is that of a rule that Slipway did not create.
    pub fn is_shared(id: &Identity) -> bool {
        id.as_str().ends_with(SHARED)
    }

    /// Reads a rule from an identity.
    pub fn of_identity(id: &Identity) -> Result<Self, ProviderError> {
        let wrong = || invalid(format!("{id} is not an id of a rule"));
        let text = id.as_str();
        let parts: Vec<&str> = text.strip_suffix(SHARED).unwrap_or(text).split('_').collect();
        let [group, direction, protocol, from, to, sources @ ..] = parts.as_slice() else {
            return Err(wrong());
        };
        let (from, to) = (from.parse().map_err(|_| wrong())?, to.parse().map_err(|_| wrong())?);
        let mut permissions: Vec<Permission> = sources
            .iter()
            .map(|source| Permission {
                protocol: (*protocol).to_owned(),
                from,
                to,
                source: Source::parse(source),
            })
            .collect();
        permissions.sort();
        if permissions.is_empty() {
            return Err(wrong());
        }
        Ok(Self { group: (*group).to_owned(), direction: Direction::parse(direction)?, permissions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(entries: &[(&str, Value)]) -> Rule {
        let mut attributes = vec![
            ("security_group_id", Value::from("sg-1")),
            ("type", "ingress".into()),
            ("protocol", "tcp".into()),
            ("from_port", 443i64.into()),
            ("to_port", 443i64.into()),
        ];
        attributes.extend(entries.iter().cloned());
        Rule::of_attributes(&normalised(NAME, &Value::map(attributes))).unwrap()
    }

    #[test]
    fn an_identity_is_read_back() {
        let rule = rule(&[("cidr_blocks", Value::list(["10.0.0.0/8", "0.0.0.0/0"]))]);
        assert_eq!(rule.identity().as_str(), "sg-1_ingress_tcp_443_443_0.0.0.0/0_10.0.0.0/8");
        assert_eq!(Rule::of_identity(&rule.identity()).unwrap(), rule);
        assert_eq!(Rule::of_identity(&rule.shared_identity()).unwrap(), rule);
        assert!(Rule::is_shared(&rule.shared_identity()) && !Rule::is_shared(&rule.identity()));
    }

    #[test]
    fn all_protocols_have_no_ports() {
        let rule = rule(&[("protocol", "-1".into()), ("source_security_group_id", "sg-2".into())]);
        assert_eq!(rule.identity().as_str(), "sg-1_ingress_-1_0_0_sg-2");
        let sent = rule.permissions[0].to_ec2(None);
        assert_eq!((sent.from_port(), sent.to_port()), (None, None));
    }

    #[test]
    fn the_group_itself_is_a_group() {
        let rule = rule(&[("self", true.into())]);
        assert_eq!(rule.permissions[0].source, Source::Group("sg-1".into()));
    }
}
