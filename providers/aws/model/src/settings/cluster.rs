use std::collections::BTreeMap;

use serde::Deserialize;

/// Settings of a cluster.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSettings {
    /// Whether subnets get no tags for load balancers, because another tool manages these tags.
    #[serde(alias = "DisableSubnetTags")]
    pub disable_subnet_tags: bool,
    /// Further statements by role (`master`, `node`, `bastion`), each a JSON list as text.
    pub additional_policies: BTreeMap<String, String>,
    /// Existing policies to attach, by role, each by its ARN.
    pub external_policies: BTreeMap<String, Vec<String>>,
    /// The URL of every service of AWS, for emulators.
    pub endpoint: Option<String>,
    /// The endpoint of the API servers.
    pub api: Api,
    /// kOps' `cloudConfig` for the cloud controller, with its field names.
    pub cloud_config: serde_json::Value,
    /// kOps' `containerd` settings for the account's registries, with their field names.
    pub containerd: serde_json::Value,
    /// The folder of a bucket with the cluster's secrets and etcd's backups, which control planes use, as in
    /// `s3://bucket/folder`.
    pub config_base: Option<String>,
    /// The URL of the state store, if machines can reach it.
    pub state: Option<String>,
    /// Roles and their permissions.
    pub iam: Iam,
    /// Whether the keys of the cluster are encrypted for a key of KMS, which control planes use.
    pub key_service: Option<KeyService>,
    /// The name of the endpoint of the API servers; `api.` and the cluster's name by default.
    pub master_public_name: Option<String>,
    /// The sources that may reach the ports of NodePort services: address ranges and prefix lists.
    pub node_port_access: Vec<String>,
    /// The published documents about the issuer of service-account tokens.
    pub service_account_issuer_discovery: IssuerDiscovery,
    /// Settings of individual subnets.
    pub subnets: Vec<SubnetSettings>,
    /// Bastions.
    pub topology: Topology,
}

impl ClusterSettings {
    /// The settings of a subnet.
    #[must_use]
    pub fn subnet(&self, name: &str) -> Option<&SubnetSettings> {
        self.subnets.iter().find(|subnet| subnet.name == name)
    }
}

/// The key service by which control planes open the keys of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeyService {
    /// A key of KMS for this cluster.
    Kms,
    /// None: control planes have an identity of their own, in their image.
    None,
}

/// The endpoint of the API servers.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Api {
    /// Its load balancer.
    pub load_balancer: ApiLoadBalancer,
}

/// The load balancer of the API servers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiLoadBalancer {
    /// An existing security group in place of its own, by id.
    pub security_group_override: Option<String>,
    /// The subnets of the load balancer, with addresses.
    pub subnets: Vec<LoadBalancerSubnet>,
    /// Whether nodes reach the API servers through it, too.
    pub use_for_internal_api: bool,
}

/// A subnet of a load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LoadBalancerSubnet {
    /// The subnet's name.
    pub name: String,
    /// An existing elastic address, by its allocation's id.
    pub allocation_id: Option<String>,
    /// The private address.
    #[serde(rename = "privateIPv4Address")]
    pub private_ipv4_address: Option<String>,
}

/// Roles and their permissions.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Iam {
    /// Whether nodes may pull from the account's registry.
    pub allow_container_registry: bool,
    /// The boundary of every role, by ARN.
    pub permissions_boundary: Option<String>,
    /// Whether service accounts have roles of their own, so that nodes have fewer permissions.
    pub use_service_account_external_permissions: bool,
    /// Roles of further service accounts.
    pub service_account_external_permissions: Vec<ServiceAccountPermissions>,
}

/// The permissions of a service account.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceAccountPermissions {
    /// The service account's name.
    pub name: String,
    /// Its namespace; `*` for all.
    pub namespace: String,
    /// Its permissions on AWS.
    pub aws: Profiles,
}

/// Policies of one role.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Profiles {
    /// Existing policies, by ARN.
    #[serde(rename = "policyARNs")]
    pub policy_arns: Vec<String>,
    /// Statements, a JSON list as text.
    pub inline_policy: Option<String>,
}

/// The published documents about the issuer of service-account tokens.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IssuerDiscovery {
    /// Whether the account trusts the issuer.
    #[serde(rename = "enableAWSOIDCProvider")]
    pub enable_aws_oidc_provider: bool,
    /// Further audiences of tokens.
    pub additional_audiences: Vec<String>,
    /// The issuer's public keys, a JSON Web Key Set as text, to publish beside the discovery document.
    pub keys: Option<String>,
}

/// Settings of one subnet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SubnetSettings {
    /// The subnet's name.
    pub name: String,
    /// Its IPv6 range; `/64#3` is the fourth part of this size of the network's range.
    #[serde(rename = "ipv6CIDR")]
    pub ipv6_cidr: Option<String>,
    /// An existing public address of the NAT gateway of the subnet's zone.
    #[serde(rename = "publicIP")]
    pub public_ip: Option<String>,
    /// `Public`, `Private`, `DualStack` or `Utility`, where the kind does not say which.
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

/// Bastions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Topology {
    /// Bastions.
    pub bastion: Bastion,
}

/// Bastions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bastion {
    /// The name under which bastions are reached; needs a hosted zone.
    pub bastion_public_name: Option<String>,
    /// Their load balancer.
    pub load_balancer: BastionLoadBalancer,
}

/// The load balancer of bastions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BastionLoadBalancer {
    /// Existing security groups to add, by id.
    pub additional_security_groups: Vec<String>,
    /// `Public` or `Internal`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
}
