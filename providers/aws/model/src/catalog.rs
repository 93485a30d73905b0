//! Facts that only the account knows, for the expansion.

mod needs;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(crate) use needs::machine_types;
pub use needs::{Needs, ZoneNeed, image_name};

/// A snapshot of the facts that only the account knows; pinned in the state.
///
/// Offline, everything is empty: facts that an expansion needs are then unknown until apply, which is no
/// error.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Catalog {
    /// The region, as in `eu-west-1`.
    pub region: String,
    /// The account's number; absent offline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The partition of ARNs, as in `aws` or `aws-cn`; absent offline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// The region's zones that are open to the account, sorted; empty offline.
    pub zones: Vec<String>,
    /// Images by what specs call them: an id, a name with or without owner, a parameter's path.
    pub images: BTreeMap<String, Image>,
    /// Types of machines by name.
    pub instance_types: BTreeMap<String, InstanceType>,
    /// The account's hosted zones, sorted by id.
    pub hosted_zones: Vec<HostedZone>,
    /// Existing networks by id.
    pub vpcs: BTreeMap<String, Vpc>,
    /// Allocations of the account's elastic addresses, by address.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub addresses: BTreeMap<String, String>,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Image {
    /// Its id, as in `ami-0123`.
    pub id: String,
    /// The name of the device it boots from, as in `/dev/xvda`.
    pub root_device: String,
    /// `x86_64` or `arm64`.
    pub architecture: String,
}

/// A type of machines.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InstanceType {
    /// How many instance store disks it has that an image's mapping must name; NVMe disks need no mapping and
    /// do not count.
    pub instance_store_disks: u32,
    /// Processors.
    pub cpus: u32,
    /// Memory in MiB.
    pub memory_mebibytes: u64,
    /// Its architectures, `x86_64` or `arm64`.
    pub architectures: Vec<String>,
    /// The zones of the region that offer it, sorted.
    pub zones: Vec<String>,
}

/// A hosted zone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HostedZone {
    /// Its id without a path, as in `Z0123`.
    pub id: String,
    /// The domain, without a dot at its end.
    pub name: String,
    /// Whether only networks that it is associated with see it.
    pub private: bool,
    /// The networks that it is associated with.
    pub vpcs: Vec<String>,
}

/// An existing network.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Vpc {
    /// Its IPv4 ranges, the primary one first.
    pub cidr_blocks: Vec<String>,
    /// Its IPv6 range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6_cidr_block: Option<String>,
    /// Its internet gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internet_gateway: Option<String>,
    /// Its egress-only internet gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress_only_internet_gateway: Option<String>,
    /// Its subnets by id.
    pub subnets: BTreeMap<String, VpcSubnet>,
}

/// An existing subnet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VpcSubnet {
    /// Its zone.
    pub zone: String,
    /// Its IPv4 range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cidr_block: Option<String>,
    /// Its IPv6 range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6_cidr_block: Option<String>,
}

/// The account that ARNs name when the account is not known: the one of AWS' own documentation.
pub const UNKNOWN_ACCOUNT: &str = "123456789012";

impl Catalog {
    /// The catalog of offline plans: the region.
    #[must_use]
    pub fn offline(region: &str) -> Self {
        Self { region: region.to_owned(), ..Self::default() }
    }

    /// Whether nothing of the account is known.
    #[must_use]
    pub fn is_offline(&self) -> bool {
        self.account.is_none()
    }

    /// The partition of ARNs: the known one, or that of the region's name.
    #[must_use]
    pub fn partition(&self) -> &str {
        match &self.partition {
            Some(partition) => partition,
            None if self.region.starts_with("cn-") => "aws-cn",
            None if self.region.starts_with("us-gov-") => "aws-us-gov",
            None => "aws",
        }
    }

    /// The domain of the partition's endpoints.
    #[must_use]
    pub fn domain(&self) -> &str {
        if self.partition() == "aws-cn" { "amazonaws.com.cn" } else { "amazonaws.com" }
    }

    /// The account in ARNs.
    #[must_use]
    pub fn account(&self) -> &str {
        self.account.as_deref().unwrap_or(UNKNOWN_ACCOUNT)
    }

    /// An existing subnet.
    #[must_use]
    pub fn subnet(&self, id: &str) -> Option<&VpcSubnet> {
        self.vpcs.values().find_map(|vpc| vpc.subnets.get(id))
    }

    /// The hosted zone with this id or domain; a private or a public one, as requested.
    #[must_use]
    pub fn hosted_zone(&self, named: &str, private: bool) -> Option<&HostedZone> {
        let (id, name) = (named.trim_start_matches("/hostedzone/"), named.trim_end_matches('.'));
        self.hosted_zones
            .iter()
            .find(|zone| zone.id == id)
            .or_else(|| self.hosted_zones.iter().find(|zone| zone.name == name && zone.private == private))
    }
}
