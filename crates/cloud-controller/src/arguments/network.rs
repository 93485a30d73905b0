//! The arguments about the addresses of pods.

use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};
use ipnet::IpNet;
use slipway_controller::time_span;

use crate::cidr::{RangeError, ranges};
use crate::ipam::Plan;
use crate::ipam::allocator::Division;

/// The length of the mask of a node's IPv4 range.
const MASK_V4: u8 = 24;
/// The length of the mask of a node's IPv6 range.
const MASK_V6: u8 = 64;

const CLUSTER: &str = "--cluster-cidr";
const SERVICES: &str = "--service-cluster-ip-range";
const MASK: &str = "--node-cidr-mask-size";
const MASKS: [&str; 2] = ["--node-cidr-mask-size-ipv4", "--node-cidr-mask-size-ipv6"];

/// The arguments about the addresses of pods.
#[derive(Args, Clone, Debug)]
pub struct NetworkArguments {
    /// Give each node a range of `--cluster-cidr` for its pods.
    #[arg(long, default_value_t = false, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_name = "BOOL")]
    pub allocate_node_cidrs: bool,
    /// How the ranges of nodes are chosen.
    #[arg(long, value_enum, default_value_t = CidrAllocator::RangeAllocator, value_name = "TYPE")]
    pub cidr_allocator_type: CidrAllocator,
    /// Range of the pods of the cluster, or one IPv4 and one IPv6 range, divided by a comma.
    #[arg(long, default_value = "", value_name = "CIDRS")]
    pub cluster_cidr: String,
    /// Range of the Services of the cluster, or two. No node gets a part of it.
    #[arg(long, default_value = "", value_name = "CIDRS")]
    pub service_cluster_ip_range: String,
    /// Length of the mask of a node's range, if `--cluster-cidr` is one range: 24 for IPv4, 64 for IPv6.
    #[arg(long, value_name = "BITS")]
    pub node_cidr_mask_size: Option<u8>,
    /// Length of the mask of a node's IPv4 range: 24 by default.
    #[arg(long, value_name = "BITS")]
    pub node_cidr_mask_size_ipv4: Option<u8>,
    /// Length of the mask of a node's IPv6 range: 64 by default.
    #[arg(long, value_name = "BITS")]
    pub node_cidr_mask_size_ipv6: Option<u8>,
    /// Create routes to the pods of nodes, if the provider has routes and `--cluster-cidr` is set.
    #[arg(long, default_value_t = true, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_name = "BOOL")]
    pub configure_cloud_routes: bool,
    /// Time between two comparisons of the routes with the nodes.
    #[arg(long, default_value = "10s", value_parser = time_span, value_name = "DURATION")]
    pub route_reconciliation_period: Duration,
}

/// How the ranges of nodes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CidrAllocator {
    /// By this controller, in the order of the ranges.
    #[value(name = "RangeAllocator")]
    RangeAllocator,
}

impl NetworkArguments {
    /// The ranges of the pods of the cluster.
    ///
    /// # Errors
    /// When the flag cannot be read.
    pub fn cluster(&self) -> Result<Vec<IpNet>, RangeError> {
        ranges(CLUSTER, &self.cluster_cidr)
    }

    /// The ranges that nodes get; `None` if the flag is off.
    ///
    /// # Errors
    /// When flags cannot be read, or do not fit to each other.
    pub fn ipam(&self) -> Result<Option<Plan>, RangeError> {
        if !self.allocate_node_cidrs {
            return Ok(None);
        }
        let cluster = self.cluster()?;
        if cluster.is_empty() {
            return Err(RangeError::Missing { needs: "--allocate-node-cidrs" });
        }
        let is_dual = cluster.len() > 1;
        if is_dual && self.node_cidr_mask_size.is_some() {
            let instead = "use --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6";
            return Err(RangeError::Flag { flag: MASK, instead });
        }
        for (is_v6, flag) in [(false, MASKS[0]), (true, MASKS[1])] {
            let is_set = if is_v6 { self.node_cidr_mask_size_ipv6 } else { self.node_cidr_mask_size_ipv4 };
            let is_used = cluster.iter().any(|range| is_ipv6(*range) == is_v6);
            if is_set.is_some() && (!is_used || self.node_cidr_mask_size.is_some()) {
                return Err(RangeError::Flag { flag, instead: "use --node-cidr-mask-size" });
            }
        }
        let divisions = cluster.into_iter().map(|range| self.division(range)).collect::<Result<_, _>>()?;
        Ok(Some(Plan { divisions, reserved: ranges(SERVICES, &self.service_cluster_ip_range)? }))
    }

    fn division(&self, range: IpNet) -> Result<Division, RangeError> {
        let (of_family, flag, default) = match range {
            IpNet::V4(_) => (self.node_cidr_mask_size_ipv4, MASKS[0], MASK_V4),
            IpNet::V6(_) => (self.node_cidr_mask_size_ipv6, MASKS[1], MASK_V6),
        };
        let flag = if of_family.is_some() { flag } else { MASK };
        let mask = of_family.or(self.node_cidr_mask_size).unwrap_or(default);
        let division = Division { range, mask };
        if division.is_possible() { Ok(division) } else { Err(RangeError::Mask { flag, mask, range }) }
    }
}

fn is_ipv6(range: IpNet) -> bool {
    matches!(range, IpNet::V6(_))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        network: NetworkArguments,
    }

    fn ipam(flags: &[&str]) -> Result<String, RangeError> {
        let network = Command::try_parse_from(["x"].iter().chain(flags)).unwrap().network;
        let divisions = network.ipam()?.map(|plan| plan.divisions).unwrap_or_default();
        let texts: Vec<String> =
            divisions.iter().map(|division| format!("{} /{}", division.range, division.mask)).collect();
        Ok(texts.join(", "))
    }

    #[test]
    fn the_masks_have_the_defaults_of_kubernetes() {
        let on = "--allocate-node-cidrs";
        assert_eq!(ipam(&["--cluster-cidr=10.244.0.0/16"]).unwrap(), "");
        assert_eq!(ipam(&[on, "--cluster-cidr=10.244.0.0/16"]).unwrap(), "10.244.0.0/16 /24");
        assert_eq!(ipam(&[on, "--cluster-cidr=fd00::/48"]).unwrap(), "fd00::/48 /64");
        let dual = "--cluster-cidr=10.244.0.0/16,fd00::/48";
        assert_eq!(ipam(&[on, dual]).unwrap(), "10.244.0.0/16 /24, fd00::/48 /64");
        assert_eq!(
            ipam(&[on, dual, "--node-cidr-mask-size-ipv4=26"]).unwrap(),
            "10.244.0.0/16 /26, fd00::/48 /64"
        );
        let single = "--cluster-cidr=10.244.0.0/16";
        assert_eq!(ipam(&[on, single, "--node-cidr-mask-size=25"]).unwrap(), "10.244.0.0/16 /25");
    }

    #[test]
    fn flags_that_do_not_fit_are_refused() {
        let on = "--allocate-node-cidrs";
        let single = "--cluster-cidr=10.244.0.0/16";
        for flags in [
            vec![on],
            vec![on, "--cluster-cidr=10.244.0.0/16,fd00::/48", "--node-cidr-mask-size=24"],
            vec![on, single, "--node-cidr-mask-size-ipv6=64"],
            vec![on, single, "--node-cidr-mask-size-ipv4=24", "--node-cidr-mask-size=24"],
            vec![on, single, "--node-cidr-mask-size=8"],
            vec![on, "--cluster-cidr=fd00::/32"],
            vec![on, single, "--service-cluster-ip-range=10.96.0.0"],
        ] {
            let error = ipam(&flags).unwrap_err().to_string();
            assert!(error.contains("--"), "{flags:?}: {error}");
        }
    }
}
