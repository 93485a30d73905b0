//! All the types that the provider works with.

use slipway_resource::{Address, ProviderError};

use super::{
    Kind, balance, dhcp, dns, events, gateway, iam, key_pair, key_service, launch_template, nat, object,
    queue, range, route, route_table, rule, scaling, security_group, subnet, volume, vpc,
};
use crate::error::invalid;

/// Every kind.
static KINDS: &[&dyn Kind] = &[
    // Networks.
    &vpc::Vpc,
    &range::Range,
    &dhcp::Options,
    &dhcp::Association,
    &subnet::Subnet,
    &gateway::Internet,
    &gateway::EgressOnly,
    &nat::ElasticAddress,
    &nat::NatGateway,
    &route_table::RouteTable,
    &route_table::Association,
    &route::Route,
    &security_group::SecurityGroup,
    &rule::SecurityGroupRule,
    // Identities.
    &iam::Role,
    &iam::RolePolicy,
    &iam::RolePolicyAttachment,
    &iam::InstanceProfile,
    &iam::OpenIdConnectProvider,
    &key_service::Key,
    // Machines.
    &key_pair::KeyPair,
    &volume::Volume,
    &launch_template::LaunchTemplate,
    &scaling::Group,
    &scaling::LifecycleHook,
    &scaling::Instance,
    // Load balancers.
    &balance::LoadBalancer,
    &balance::TargetGroup,
    &balance::Listener,
    // Names.
    &dns::Zone,
    &dns::Record,
    &dns::ZoneAssociation,
    // Documents.
    &object::Object,
    // Interruptions.
    &queue::Queue,
    &events::EventRule,
    &events::EventTarget,
];

/// Every kind that the provider works with.
pub(crate) fn all() -> &'static [&'static dyn Kind] {
    KINDS
}

/// The kind of an address.
///
/// # Errors
/// `invalid` when there is none.
pub(crate) fn of(address: &Address) -> Result<&'static dyn Kind, ProviderError> {
    KINDS.iter().find(|kind| kind.name() == address.kind()).copied().ok_or_else(|| {
        invalid(format!("{} is not a type of provider aws", address.kind())).with_address(address)
    })
}
