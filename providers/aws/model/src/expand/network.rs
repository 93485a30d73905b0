//! The network, its subnets, gateways and routes.

mod egress;
mod route;
mod subnets;
mod vpc;

use slipway_resource::{Address, ProviderError, Value};
use slipway_spec::model::{Egress, Subnet};

use super::build::{Builder, address, id_of};

/// Adds the network with everything in it.
pub(super) fn network(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    if builder.cluster.network.id.is_none() {
        vpc::vpc(builder)?;
    }
    vpc::gateways(builder);
    subnets::subnets(builder)?;
    egress::egress(builder)
}

/// Whether somebody else keeps the routes of a subnet.
fn is_unmanaged(subnet: &Subnet) -> bool {
    matches!(subnet.egress, Egress::External {})
}

/// The id of the network's internet gateway: that of its own, that of the existing network, or unknown before apply.
fn internet_gateway_id(builder: &Builder<'_>) -> Value {
    match &builder.cluster.network.id {
        None => id_of(&internet_gateway(builder)),
        Some(id) => found(builder.catalog.vpcs.get(id).and_then(|vpc| vpc.internet_gateway.as_deref())),
    }
}

/// The id of the gateway through which IPv6 connections leave.
fn egress_only_gateway_id(builder: &Builder<'_>) -> Value {
    let made = address("aws_egress_only_internet_gateway", &builder.cluster.name);
    match &builder.cluster.network.id {
        None => id_of(&made),
        Some(id) => {
            found(builder.catalog.vpcs.get(id).and_then(|vpc| vpc.egress_only_internet_gateway.as_deref()))
        }
    }
}

fn found(id: Option<&str>) -> Value {
    id.map_or(Value::Unknown, Value::from)
}

/// The address of the internet gateway of the cluster's own network.
pub(super) fn internet_gateway(builder: &Builder<'_>) -> Address {
    address("aws_internet_gateway", &builder.cluster.name)
}

/// The address of the route table of public subnets.
fn public_route_table(builder: &Builder<'_>) -> Address {
    address("aws_route_table", &builder.cluster.name)
}
