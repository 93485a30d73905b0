//! The network, its subnets, gateways and routes.

mod egress;
mod route;
mod subnets;
mod vpc;

use slipway_cluster_input::{Egress, Subnet};
use slipway_resource::{Address, ProviderError, Value};

use super::build::{Builder, address, id_of};
use super::refuse;
use crate::catalog::Vpc;

/// Adds the network with its contents.
pub(super) fn network(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    if builder.cluster.network.id.is_none() {
        vpc::vpc(builder)?;
    }
    vpc::gateways(builder)?;
    subnets::subnets(builder)?;
    egress::egress(builder)
}

/// Whether Slipway does not manage the routes of a subnet.
fn is_unmanaged(subnet: &Subnet) -> bool {
    matches!(subnet.egress, Egress::External {})
}

/// The id of the network's internet gateway: that of its own, that of the existing network, or unknown before apply.
fn internet_gateway_id(builder: &Builder<'_>) -> Result<Value, ProviderError> {
    let own = internet_gateway(builder);
    gateway_id(builder, &own, "internet gateway", |vpc| vpc.internet_gateway.as_deref())
}

/// The id of the gateway through which IPv6 connections leave.
fn egress_only_gateway_id(builder: &Builder<'_>) -> Result<Value, ProviderError> {
    let own = address("aws_egress_only_internet_gateway", &builder.cluster.name);
    gateway_id(builder, &own, "egress-only internet gateway", |vpc| {
        vpc.egress_only_internet_gateway.as_deref()
    })
}

fn gateway_id(
    builder: &Builder<'_>,
    own: &Address,
    what: &str,
    of: impl Fn(&Vpc) -> Option<&str>,
) -> Result<Value, ProviderError> {
    let Some(id) = &builder.cluster.network.id else { return Ok(id_of(own)) };
    match builder.catalog.vpcs.get(id) {
        None => Ok(Value::Unknown),
        Some(vpc) => of(vpc).map(Value::from).ok_or_else(|| {
            refuse(
                "network.id",
                &format!("{id} has no {what}, and what exists already is not changed"),
                "add one to it, or leave the network to the cluster",
            )
        }),
    }
}

/// The address of the internet gateway of the cluster's own network.
pub(super) fn internet_gateway(builder: &Builder<'_>) -> Address {
    address("aws_internet_gateway", &builder.cluster.name)
}

/// The address of the route table of public subnets.
fn public_route_table(builder: &Builder<'_>) -> Address {
    address("aws_route_table", &builder.cluster.name)
}
