use super::context::{Context, error, warning};
use crate::{
    diagnostic::code::{ADDRESS_FAMILY, NOT_CONTAINED, OVERLAP, RANGE_SIZE},
    model::{Cluster, IpFamily},
    reader::item_path,
    value::Cidr,
};

/// Checks that ranges are inside one another only where they must be, and have the right family and size.
pub(super) fn check(context: &mut Context<'_>) {
    let cluster = context.cluster;
    families(context);
    contained(context);
    overlaps(context, &ranges(cluster));
    sizes(context);
    let network = &cluster.network;
    let dns = network.dns_address;
    let inside = network.service_cidrs.iter().any(|range| range.contains(&dns));
    if !inside && context.trusts("network.serviceCidrs") && !network.service_cidrs.is_empty() {
        let ranges = list(&network.service_cidrs);
        let complaint = error(
            NOT_CONTAINED,
            format!("the DNS service's address {dns} does not lie in the service range {ranges}"),
            "leave the field out to take the tenth address of the service range, or choose one inside it",
        )
        .related("the service range", "network.serviceCidrs");
        context.at("network.dnsAddress", complaint);
    }
}

/// A range with its name for messages, its path, and whether it is a part of the nodes' network.
struct Range {
    what: String,
    path: String,
    cidr: Cidr,
    part: Part,
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Part {
    Network,
    Subnet,
    Pods,
    Services,
}

fn ranges(cluster: &Cluster) -> Vec<Range> {
    let network = &cluster.network;
    let range =
        |what: &str, path: String, cidr: Cidr, part| Range { what: what.to_owned(), path, cidr, part };
    let mut ranges = Vec::new();
    ranges.extend(
        network.cidr.map(|cidr| range("the network", "network.cidr".to_owned(), cidr, Part::Network)),
    );
    let ipv6 = network.ipv6_cidr;
    ranges.extend(ipv6.map(|cidr| range("the network", "network.ipv6Cidr".to_owned(), cidr, Part::Network)));
    for (index, cidr) in network.additional_cidrs.iter().enumerate() {
        ranges.push(range("the network", format!("network.additionalCidrs[{index}]"), *cidr, Part::Network));
    }
    for (path, subnet) in subnet_paths(cluster) {
        let what = format!("the subnet `{}`", subnet.name);
        ranges.extend(subnet.cidr.map(|cidr| range(&what, format!("{path}.cidr"), cidr, Part::Subnet)));
        ranges.extend(
            subnet.ipv6_cidr.map(|cidr| range(&what, format!("{path}.ipv6Cidr"), cidr, Part::Subnet)),
        );
    }
    for (index, cidr) in network.pod_cidrs.iter().enumerate() {
        ranges.push(range("the pod range", format!("network.podCidrs[{index}]"), *cidr, Part::Pods));
    }
    for (index, cidr) in network.service_cidrs.iter().enumerate() {
        ranges.push(range(
            "the service range",
            format!("network.serviceCidrs[{index}]"),
            *cidr,
            Part::Services,
        ));
    }
    ranges
}

fn subnet_paths(cluster: &Cluster) -> Vec<(String, &crate::model::Subnet)> {
    let subnets = &cluster.network.subnets;
    let names: Vec<&str> = subnets.iter().map(|subnet| &*subnet.name).collect();
    subnets
        .iter()
        .enumerate()
        .map(|(index, subnet)| (item_path("network.subnets", &names, index), subnet))
        .collect()
}

fn contained(context: &mut Context<'_>) {
    let cluster = context.cluster;
    let network = &cluster.network;
    let ipv4: Vec<Cidr> = network.cidr.into_iter().chain(network.additional_cidrs.iter().copied()).collect();
    let ipv6: Vec<Cidr> = network.ipv6_cidr.into_iter().collect();
    if !context.trusts("network.cidr") || !context.trusts("network.additionalCidrs") {
        return;
    }
    for (path, subnet) in subnet_paths(cluster) {
        for (field, range, holders, holder) in [
            ("cidr", subnet.cidr, &ipv4, "network.cidr"),
            ("ipv6Cidr", subnet.ipv6_cidr, &ipv6, "network.ipv6Cidr"),
        ] {
            let Some(range) = range else { continue };
            if holders.is_empty() || holders.iter().any(|holder| holder.covers(&range)) {
                continue;
            }
            let complaint = error(
                NOT_CONTAINED,
                format!("the subnet `{}`: {} does not contain {range}", subnet.name, list(holders)),
                format!("choose a range inside {}, or add it to `network.additionalCidrs`", list(holders)),
            )
            .related("the network's range", holder);
            context.at(&format!("{path}.{field}"), complaint);
        }
    }
}

fn overlaps(context: &mut Context<'_>, ranges: &[Range]) {
    for (index, one) in ranges.iter().enumerate() {
        for other in &ranges[index + 1..] {
            // Subnets belong inside the network. A range that overlaps a subnet is reported for the network
            // already.
            let nested = one.part == Part::Network && other.part == Part::Subnet;
            let twice = one.part == Part::Subnet && other.part != Part::Subnet && has_network(ranges, one);
            if nested || twice || !one.cidr.overlaps(&other.cidr) || !context.trusts(&one.path) {
                continue;
            }
            // The complaint is about the later of the fields that the documents set.
            let (first, second) = if context.is_written(&other.path) { (one, other) } else { (other, one) };
            let message = format!("{} {} overlaps {} {}", second.what, second.cidr, first.what, first.cidr);
            let way_out = format!("choose a range that shares no address with {}", first.cidr);
            // Where no subnet has addresses of services, no node has one either; kOps makes such clusters.
            let complaint = if one.part == Part::Network
                && other.part == Part::Services
                && is_beside_subnets(ranges, other)
            {
                warning(OVERLAP, message, format!("{way_out}, or never make a subnet there"))
            } else {
                error(OVERLAP, message, way_out)
            }
            .related("the other range", first.path.clone());
            if context.trusts(&first.path) {
                context.at(&second.path, complaint);
            }
        }
    }
}

/// Whether subnets are given with their ranges, and none has addresses of this range.
fn is_beside_subnets(ranges: &[Range], services: &Range) -> bool {
    let mut subnets = ranges.iter().filter(|range| range.part == Part::Subnet).peekable();
    subnets.peek().is_some() && subnets.all(|subnet| !subnet.cidr.overlaps(&services.cidr))
}

fn has_network(ranges: &[Range], subnet: &Range) -> bool {
    ranges.iter().any(|range| range.part == Part::Network && range.cidr.covers(&subnet.cidr))
}

fn families(context: &mut Context<'_>) {
    let network = &context.cluster.network;
    let family = network.ip_family;
    for (path, what, ranges) in [
        ("network.podCidrs", "pod", &network.pod_cidrs),
        ("network.serviceCidrs", "service", &network.service_cidrs),
    ] {
        let written: Vec<bool> = ranges.iter().map(Cidr::is_ipv6).collect();
        let (fits, wanted) = match family {
            IpFamily::Ipv4 => (written == [false], "one IPv4 range"),
            IpFamily::Ipv6 => (written == [true], "one IPv6 range"),
            IpFamily::DualStack => {
                (written == [false, true], "an IPv4 range and an IPv6 range, in this order")
            }
        };
        if fits || (ranges.is_empty() && what == "pod") || !context.trusts("network.ipFamily") {
            continue;
        }
        let name = match family {
            IpFamily::Ipv4 => "ipv4",
            IpFamily::Ipv6 => "ipv6",
            IpFamily::DualStack => "dualStack",
        };
        let complaint = error(
            ADDRESS_FAMILY,
            format!("the {what} ranges {} do not fit the family `{name}`", list(ranges)),
            format!("write {wanted}, leave the field out, or change `ipFamily`"),
        )
        .related("the family", "network.ipFamily");
        context.at(path, complaint);
    }
    let single = [("network.cidr", network.cidr, false), ("network.ipv6Cidr", network.ipv6_cidr, true)];
    let additional = network.additional_cidrs.iter().enumerate();
    let additional =
        additional.map(|(index, cidr)| (format!("network.additionalCidrs[{index}]"), *cidr, false));
    let single = single.into_iter().filter_map(|(path, cidr, ipv6)| Some((path.to_owned(), cidr?, ipv6)));
    let subnets = subnet_paths(context.cluster).into_iter().flat_map(|(path, subnet)| {
        let ipv4 = subnet.cidr.map(|cidr| (format!("{path}.cidr"), cidr, false));
        ipv4.into_iter().chain(subnet.ipv6_cidr.map(|cidr| (format!("{path}.ipv6Cidr"), cidr, true)))
    });
    let all: Vec<(String, Cidr, bool)> = single.chain(additional).chain(subnets).collect();
    for (path, cidr, ipv6) in all {
        if cidr.is_ipv6() != ipv6 {
            let (is, wants, field) =
                if ipv6 { ("IPv4", "IPv6", "cidr") } else { ("IPv6", "IPv4", "ipv6Cidr") };
            let complaint = error(
                ADDRESS_FAMILY,
                format!("{cidr} is an {is} range, and this field holds {wants} ranges"),
                format!("move it to `{field}`, or write an {wants} range"),
            );
            context.at(&path, complaint);
        }
    }
}

fn sizes(context: &mut Context<'_>) {
    let network = &context.cluster.network;
    for (index, range) in network.service_cidrs.iter().enumerate() {
        let bits = range.max_prefix_len() - range.prefix_len();
        let path = format!("network.serviceCidrs[{index}]");
        // kube-apiserver refuses ranges of more than 20 bits for services.
        if bits > 20 {
            let longest = range.max_prefix_len() - 20;
            let complaint = error(
                RANGE_SIZE,
                format!("the service range {range} is larger than the API server allows"),
                format!("write a prefix length of at least {longest}, as in {}/{longest}", range.network()),
            );
            context.at(&path, complaint);
        } else if bits < 4 {
            let complaint = error(
                RANGE_SIZE,
                format!(
                    "the service range {range} has room for {} services only",
                    (1_u32 << bits).saturating_sub(1)
                ),
                "write a shorter prefix, as in 100.64.0.0/13; the range cannot grow later",
            );
            context.at(&path, complaint);
        }
    }
    for (index, range) in network.pod_cidrs.iter().enumerate() {
        // Every node takes a /24 (IPv4) or a /64 (IPv6) of the pod range.
        let node = if range.is_ipv6() { 64 } else { 24 };
        if range.prefix_len() > node {
            let complaint = error(
                RANGE_SIZE,
                format!("the pod range {range} is smaller than the /{node} that one node takes"),
                format!("write a prefix shorter than {node}, one /{node} for every node"),
            );
            context.at(&format!("network.podCidrs[{index}]"), complaint);
        }
    }
}

fn list(ranges: &[Cidr]) -> String {
    let texts: Vec<String> = ranges.iter().map(ToString::to_string).collect();
    texts.join(", ")
}
