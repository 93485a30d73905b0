//! One rule of a security group: one source, one range of ports.

use slipway_cluster_input::value::AccessSource;
use slipway_resource::Value;

use super::group::Group;
use crate::expand::build::Builder;

/// The protocol and the ports that a rule is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    protocol: &'static str,
    first: i64,
    last: i64,
}

impl Ports {
    /// Everything.
    pub(super) const ALL: Self = Self { protocol: "-1", first: 0, last: 0 };
    /// IP in IP (RFC 2003), as networks between nodes use it.
    pub(super) const IP_IN_IP: Self = Self { protocol: "4", first: 0, last: 65535 };
    /// "Fragmentation needed", without which path MTU discovery fails (RFC 1191): type 3, code 4.
    pub(super) const FRAGMENTATION_NEEDED: Self = Self { protocol: "icmp", first: 3, last: 4 };
    /// All of ICMPv6, where the same is a type of its own (RFC 8201).
    pub(super) const ICMPV6: Self = Self { protocol: "icmpv6", first: -1, last: -1 };
    /// SSH.
    pub(super) const SSH: Self = Self::tcp(22, 22);
    /// The API servers, and a load balancer in front of them.
    pub(super) const API: Self = Self::tcp(443, 443);
    /// The load balancer's port on which the API servers' own certificate is seen, beside one with another certificate.
    pub(super) const API_BESIDE_CERTIFICATE: Self = Self::tcp(8443, 8443);
    /// Where nodes ask for their configuration or their credential.
    pub(super) const NODE_BOOTSTRAP: Self = Self::tcp(3988, 3988);
    /// Where nodes reach the etcd cluster that Cilium has for itself.
    pub(super) const CILIUM_ETCD: Self = Self::tcp(4003, 4003);

    /// A range of TCP ports.
    pub(super) const fn tcp(first: i64, last: i64) -> Self {
        Self { protocol: "tcp", first, last }
    }

    /// A range of UDP ports.
    pub(super) const fn udp(first: i64, last: i64) -> Self {
        Self { protocol: "udp", first, last }
    }

    fn word(self) -> &'static str {
        if self.protocol == "-1" { "all" } else { self.protocol }
    }
}

/// The other side of a rule.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// A range of addresses.
    Range(String),
    /// A list of ranges that the cloud keeps.
    PrefixList(String),
    /// The members of a group: its name, and its id.
    Group(String, Value),
}

impl Source {
    /// A range of addresses.
    pub(super) fn range(range: &str) -> Self {
        Self::Range(range.to_owned())
    }

    /// The source that a spec allows for a port.
    pub(super) fn of(access: &AccessSource) -> Self {
        match access {
            AccessSource::Cidr(range) => Self::Range(range.to_string()),
            AccessSource::PrefixList(id) => Self::PrefixList(id.clone()),
        }
    }

    /// Whether IPv4 packets can come from this source.
    fn has_ipv4(&self) -> bool {
        !matches!(self, Self::Range(range) if range.contains(':'))
    }

    fn has_ipv6(&self) -> bool {
        matches!(self, Self::Range(range) if range.contains(':')) || matches!(self, Self::PrefixList(_))
    }

    /// The rules for path MTU discovery: ICMP, ICMPv6, or both if the family is not known.
    pub(super) fn path_mtu(&self) -> Vec<Ports> {
        let icmp = self.has_ipv4().then_some(Ports::FRAGMENTATION_NEEDED);
        icmp.into_iter().chain(self.has_ipv6().then_some(Ports::ICMPV6)).collect()
    }

    fn name(&self) -> &str {
        match self {
            Self::Range(name) | Self::PrefixList(name) | Self::Group(name, _) => name,
        }
    }
}

impl From<&Group> for Source {
    fn from(group: &Group) -> Self {
        Self::Group(group.name.clone(), group.id.clone())
    }
}

/// One rule.
pub(super) struct Rule<'a> {
    /// The security group of the rule.
    pub(super) group: &'a Group,
    /// The source.
    pub(super) from: &'a Source,
    /// The allowed ports.
    pub(super) ports: Ports,
    /// The field of the spec from which the rule comes.
    pub(super) origin: &'a str,
}

impl Rule<'_> {
    /// Lets it in.
    pub(super) fn ingress(self, builder: &mut Builder<'_>) {
        let (from, to) = (self.from.name().to_owned(), self.group.name.clone());
        self.add("ingress", &from, &to, builder);
    }

    /// Lets it out.
    pub(super) fn egress(self, builder: &mut Builder<'_>) {
        let (from, to) = (self.group.name.clone(), self.from.name().to_owned());
        self.add("egress", &from, &to, builder);
    }

    fn add(self, direction: &str, from: &str, to: &str, builder: &mut Builder<'_>) {
        let Ports { protocol, first, last } = self.ports;
        let name = format!("from-{from}-{direction}-{}-{first}to{last}-{to}", self.ports.word());
        let (attribute, source): (&str, Value) = match self.from {
            Source::Range(range) if range.contains(':') => {
                ("ipv6_cidr_blocks", Value::list([range.as_str()]))
            }
            Source::Range(range) => ("cidr_blocks", Value::list([range.as_str()])),
            Source::PrefixList(id) => ("prefix_list_ids", Value::list([id.as_str()])),
            Source::Group(_, id) => ("source_security_group_id", id.clone()),
        };
        let draft = builder
            .draft("aws_security_group_rule", &name, self.origin)
            .fix("type", direction)
            .fix("protocol", protocol)
            .fix("from_port", first)
            .fix("to_port", last)
            .fix("security_group_id", self.group.id.clone())
            .set(attribute, source, self.origin);
        builder.add(draft);
    }
}

/// Allows these ports of every group for one source.
pub(super) fn let_in(
    builder: &mut Builder<'_>,
    groups: &[Group],
    from: &Source,
    ports: &[Ports],
    origin: &str,
) {
    for group in groups {
        for ports in ports {
            Rule { group, from, ports: *ports, origin }.ingress(builder);
        }
    }
}
