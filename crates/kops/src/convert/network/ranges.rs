use slipway_spec::{model::Subnet, value::Cidr};

use crate::{code, convert::Context, defaults, outcome::Outcome};

/// The ranges of pods and services.
pub(super) struct Ranges {
    pub(super) pods: Vec<Cidr>,
    pub(super) services: Vec<Cidr>,
}

/// The ranges as kOps derives them from `nonMasqueradeCIDR`: the upper half is the pods', the lowest eighth is the
/// services' (at most 20 bits). Pods of a plugin that takes addresses of the nodes' network have no range.
pub(super) fn read(
    context: &Context<'_>,
    network: Option<Cidr>,
    plugin: &str,
    subnets: &[Subnet],
    outcome: &mut Outcome,
) -> Ranges {
    let spec = &context.spec;
    let whole = spec.at("nonMasqueradeCIDR");
    let base = match whole.filled() {
        Some(_) => whole.parse::<Cidr>(outcome),
        // Where the network's range is not given either, the VPC plugin takes it over.
        None if plugin == "amazon-vpc" && !spec.at("networkCIDR").is_given() => network,
        None => defaults::NON_MASQUERADE_CIDR.parse().ok(),
    };
    if base.is_none() {
        outcome.refused.extend(["network.podCidrs", "network.serviceCidrs"].map(str::to_owned));
    }
    let services = given(
        context,
        &["serviceClusterIPRange", "kubeAPIServer.serviceClusterIPRange"],
        "network.serviceCidrs",
        outcome,
    )
    .or_else(|| {
        outcome.wrote("network.serviceCidrs", &whole);
        base.and_then(service_range)
    });
    let pods = given(context, &["podCIDR", "kubeControllerManager.clusterCIDR"], "network.podCidrs", outcome)
        .or_else(|| {
            outcome.wrote("network.podCidrs", &whole);
            base.filter(|base| !base.is_ipv6()).and_then(upper_half)
        });
    // Pods of such a plugin have addresses of the nodes' network, so that a range inside it says nothing more.
    let inside = |range: &Cidr| network.is_some_and(|network| network.overlaps(range));
    let native =
        plugin == "amazon-vpc" || spec.at("networking.cilium.ipam").filled().as_deref() == Some("eni");
    let pods: Vec<Cidr> = pods.into_iter().filter(|range| !(native && inside(range))).collect();
    let written = spec.at("podCIDR");
    if pods.is_empty() && written.filled().is_some() && base.is_some() {
        let note = written
            .note(code::HARMLESS, "spec.podCIDR has no effect: pods take addresses of the nodes' network")
            .hint(crate::code::HARMLESS_HINT);
        outcome.say(note);
    }
    let services: Vec<Cidr> = services.into_iter().collect();
    // kOps lets services lie in the nodes' network as long as no subnet has their addresses.
    let beside = |range: &Cidr| {
        inside(range) && !subnets.iter().filter_map(|subnet| subnet.cidr).any(|subnet| subnet.overlaps(range))
    };
    if services.iter().any(beside) {
        outcome.refused.push("network.serviceCidrs".to_owned());
        outcome.refused.push("network.serviceCidrs[0]".to_owned());
    }
    Ranges { pods, services }
}

/// The first of some fields that is written.
fn given(context: &Context<'_>, fields: &[&str], path: &str, outcome: &mut Outcome) -> Option<Cidr> {
    let field = fields.iter().map(|name| context.spec.at(name)).find(|field| field.filled().is_some())?;
    outcome.wrote(path, &field);
    outcome.wrote(&format!("{path}[0]"), &field);
    let range = field.parse(outcome);
    if range.is_none() {
        outcome.refused.push(path.to_owned());
    }
    range
}

fn service_range(base: Cidr) -> Option<Cidr> {
    if base.is_ipv6() {
        return defaults::SERVICE_CIDR_IPV6.parse().ok();
    }
    let prefix = (base.prefix_len() + 3).clamp(12, 32);
    format!("{}/{prefix}", base.network()).parse().ok()
}

fn upper_half(base: Cidr) -> Option<Cidr> {
    base.subnets(base.prefix_len() + 1).ok()?.last().map(Cidr::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_as_kops_does() {
        let base: Cidr = "100.64.0.0/10".parse().unwrap();
        assert_eq!(service_range(base).unwrap().to_string(), "100.64.0.0/13");
        assert_eq!(upper_half(base).unwrap().to_string(), "100.96.0.0/11");
        let small: Cidr = "172.20.0.0/16".parse().unwrap();
        assert_eq!(service_range(small).unwrap().to_string(), "172.20.0.0/19");
        assert_eq!(upper_half(small).unwrap().to_string(), "172.20.128.0/17");
        let all: Cidr = "0.0.0.0/0".parse().unwrap();
        assert_eq!(service_range(all).unwrap().to_string(), "0.0.0.0/12");
        assert_eq!(service_range("::/0".parse().unwrap()).unwrap().to_string(), "fd00:5e4f:ce::/108");
    }
}
