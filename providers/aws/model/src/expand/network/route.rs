//! One route, and the type of its target by the target's id.

use slipway_resource::{Address, ProviderError, Value};

use crate::expand::build::{Builder, id_of};
use crate::expand::refuse;

/// One route of a table.
pub(super) struct Route<'a> {
    /// The name in its address.
    pub(super) name: &'a str,
    /// The table.
    pub(super) table: &'a Address,
    /// The range that it serves.
    pub(super) destination: &'a str,
    /// The attribute that names where it leads, and its value.
    pub(super) target: (&'static str, Value),
    /// The field of the spec that it comes from.
    pub(super) origin: &'a str,
}

impl Route<'_> {
    /// Adds it.
    pub(super) fn add(self, builder: &mut Builder<'_>) {
        let ipv6 = self.destination.contains(':');
        let destination = if ipv6 { "destination_ipv6_cidr_block" } else { "destination_cidr_block" };
        let (attribute, target) = self.target;
        let draft = builder
            .draft("aws_route", &format!("route-{}", self.name), self.origin)
            .fix(destination, self.destination)
            .fix(attribute, target)
            .fix("route_table_id", id_of(self.table));
        builder.add(draft);
    }
}

/// The attribute for a target that is named by its id.
pub(super) fn target(id: &str, field: &str) -> Result<(&'static str, Value), ProviderError> {
    let attribute = match id.split('-').next().unwrap_or_default() {
        "tgw" => "transit_gateway_id",
        "nat" => "nat_gateway_id",
        "pcx" => "vpc_peering_connection_id",
        "igw" | "vgw" => "gateway_id",
        "eigw" => "egress_only_gateway_id",
        "i" => "instance_id",
        "eni" => "network_interface_id",
        "vpce" => "vpc_endpoint_id",
        "cagw" => "carrier_gateway_id",
        "lgw" => "local_gateway_id",
        _ => {
            let hint = "write the id of a gateway (tgw-, nat-, igw-, eigw-, vgw-), a peering connection (pcx-), an endpoint \
                        (vpce-), an interface (eni-) or an instance (i-)";
            return Err(refuse(field, &format!("{id} is not a target of a route"), hint));
        }
    };
    Ok((attribute, id.into()))
}
