use std::net::IpAddr;

use ipnet::IpNet;

use super::{code, context::Context, v1beta4};
use crate::configuration::{Argument, Networking, argument_value, is_dns_name};

/// The DNS service has the tenth address of the range of services.
const FEWEST_SERVICES: u128 = 10;
const FEWEST_PODS: u128 = 14;
/// The API server keeps a bit for each address of the range of services.
const MOST_SERVICE_BITS: u8 = 20;
/// The controller manager keeps a bit for each range that a node may get.
const MOST_NODE_BITS: u8 = 16;

/// The ranges of services and pods, checked as kubeadm does. `flags` are the controller manager's.
pub(super) fn read(context: &mut Context<'_>, given: v1beta4::Networking, flags: &[Argument]) -> Networking {
    let default = Networking::default();
    let or = |text: String, default: String| if text.is_empty() { default } else { text };
    let networking = Networking {
        service_subnet: or(given.service_subnet, default.service_subnet),
        pod_subnet: given.pod_subnet,
        dns_domain: or(given.dns_domain, default.dns_domain),
    };
    if !is_dns_name(&networking.dns_domain) {
        let message = format!("`{}` is not a DNS domain", networking.dns_domain);
        context.refuse(
            "networking/dnsDomain",
            message,
            "write small letters and digits, as in cluster.local",
        );
    }
    let path = "networking/serviceSubnet";
    for range in ranges(context, path, &networking.service_subnet, FEWEST_SERVICES) {
        let bits = range.max_prefix_len() - range.prefix_len();
        if bits > MOST_SERVICE_BITS {
            let longest = range.max_prefix_len() - MOST_SERVICE_BITS;
            let message = format!("the range of services {range} is too large");
            context.refuse(path, message, format!("write a prefix of at least /{longest}"));
        }
    }
    if !networking.pod_subnet.is_empty() {
        let path = "networking/podSubnet";
        let ranges = ranges(context, path, &networking.pod_subnet, FEWEST_PODS);
        if argument_value(flags, "allocate-node-cidrs") != Some("false") {
            ranges.iter().for_each(|range| node_ranges(context, path, *range, flags));
        }
    }
    networking
}

/// One range, or one of each family.
fn ranges(context: &mut Context<'_>, path: &str, text: &str, fewest: u128) -> Vec<IpNet> {
    let parsed: Option<Vec<IpNet>> = text.split(',').map(|range| range.parse().ok()).collect();
    let Some(ranges) = parsed else {
        let hint =
            "write an address and a prefix length, as in 10.96.0.0/12; two with a comma and no space between";
        context.refuse(path, format!("`{text}` is not a range of addresses"), hint);
        return Vec::new();
    };
    let families = |v4: bool| ranges.iter().filter(|range| range.addr().is_ipv4() == v4).count();
    if families(true) > 1 || families(false) > 1 {
        let message = format!("`{text}` has several ranges of one address family");
        context.refuse(path, message, "write one range, or one of IPv4 and one of IPv6");
    }
    for range in &ranges {
        let bits = u32::from(range.max_prefix_len() - range.prefix_len());
        let count = 1_u128.checked_shl(bits).unwrap_or(u128::MAX);
        if count < fewest {
            let message = format!("the range {range} has {count} addresses, and {fewest} are needed");
            context.refuse(path, message, "write a shorter prefix length");
        }
        let site_local: IpNet =
            IpNet::V6(ipnet::Ipv6Net::new_assert([0xfec0, 0, 0, 0, 0, 0, 0, 0].into(), 10));
        if site_local.contains(range) || range.contains(&site_local) {
            let message = format!("the range {range} lies in fec0::/10, which RFC 3879 took out of use");
            context.warn(path, code::UNUSUAL, message, "use a range of fd00::/8");
        }
    }
    ranges
}

/// Whether the ranges that nodes get fit into a range of pods.
fn node_ranges(context: &mut Context<'_>, path: &str, range: IpNet, flags: &[Argument]) {
    let (flag, default) = match range.addr() {
        IpAddr::V4(_) => ("node-cidr-mask-size-ipv4", 24),
        IpAddr::V6(_) => ("node-cidr-mask-size-ipv6", 64),
    };
    let size = match argument_value(flags, flag).filter(|text| !text.is_empty()) {
        None => default,
        Some(text) => match text.parse::<u8>() {
            Ok(size) => size,
            Err(_) => {
                let message =
                    format!("the controller manager's {flag} is `{text}`, which is not a prefix length");
                context.refuse(
                    "controllerManager/extraArgs",
                    message,
                    format!("write a number, as in {default}"),
                );
                return;
            }
        },
    };
    let prefix = range.prefix_len();
    if prefix > size {
        let message = format!("no node's range of /{size} fits into the range of pods {range}");
        context.refuse(
            path,
            message,
            format!("write a prefix of /{size} or shorter, or set the controller manager's {flag}"),
        );
    } else if size - prefix > MOST_NODE_BITS {
        let message = format!("the range of pods {range} has too many ranges of /{size} for nodes");
        let hint = format!(
            "at most {MOST_NODE_BITS} bits may lie between: write a longer prefix, or set the controller manager's {flag}"
        );
        context.refuse(path, message, hint);
    }
}
