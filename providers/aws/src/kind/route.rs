//! Routes: known by their table and their destination.

use async_trait::async_trait;
use aws_sdk_ec2::types::{Route as Sdk, RouteOrigin, RouteState};
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::attribute::{need, some, text};
use super::family::RouteTables;
use super::{Found, Kind, child, taken};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::invalid;
use crate::look::Look;
use crate::owner::{Owner, Tags, identity, of_ec2};
use crate::rate::Class;

/// `aws_route`.
pub(super) struct Route;

/// Attributes that name where a route leads.
const TARGETS: [&str; 11] = [
    "gateway_id",
    "nat_gateway_id",
    "egress_only_gateway_id",
    "transit_gateway_id",
    "vpc_peering_connection_id",
    "vpc_endpoint_id",
    "carrier_gateway_id",
    "local_gateway_id",
    "core_network_arn",
    "instance_id",
    "network_interface_id",
];

/// Attributes that name where a route comes from.
const DESTINATIONS: [&str; 3] =
    ["destination_cidr_block", "destination_ipv6_cidr_block", "destination_prefix_list_id"];

/// A request with a route's destination and target: the calls that make one and that change one take the same, each as a
/// type of its own.
macro_rules! leading {
    ($request:expr, $desired:expr) => {{
        let own = |name: &str| text($desired, name).map(str::to_owned);
        $request
            .route_table_id(need($desired, "route_table_id")?)
            .set_destination_cidr_block(own(DESTINATIONS[0]))
            .set_destination_ipv6_cidr_block(own(DESTINATIONS[1]))
            .set_destination_prefix_list_id(own(DESTINATIONS[2]))
            .set_gateway_id(own("gateway_id"))
            .set_nat_gateway_id(own("nat_gateway_id"))
            .set_egress_only_internet_gateway_id(own("egress_only_gateway_id"))
            .set_transit_gateway_id(own("transit_gateway_id"))
            .set_vpc_peering_connection_id(own("vpc_peering_connection_id"))
            .set_vpc_endpoint_id(own("vpc_endpoint_id"))
            .set_carrier_gateway_id(own("carrier_gateway_id"))
            .set_local_gateway_id(own("local_gateway_id"))
            .set_core_network_arn(own("core_network_arn"))
            .set_instance_id(own("instance_id"))
            .set_network_interface_id(own("network_interface_id").filter(|_| own("instance_id").is_none()))
    }};
}

#[async_trait]
impl Kind for Route {
    fn name(&self) -> &'static str {
        "aws_route"
    }

    fn is_idempotent(&self) -> bool {
        true
    }

    /// Ours is one in our own table to our own gateway: others may have put theirs beside it.
    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        let tables = look.tagged("route-table").await?;
        let tables = look.cloud.get_all::<RouteTables>(tables.iter().map(String::as_str)).await?;
        let mut own = Vec::new();
        for kind in ["internet-gateway", "egress-only-internet-gateway", "natgateway"] {
            own.extend(look.tagged(kind).await?);
        }
        let mut found = Vec::new();
        for table in tables {
            let (Some(id), Some(owner)) = (table.route_table_id(), Owner::of(&of_ec2(table.tags()))) else {
                continue;
            };
            for route in table.routes() {
                let target = route.gateway_id().or(route.nat_gateway_id());
                let target = target.or(route.egress_only_internet_gateway_id());
                if target.is_some_and(|target| own.iter().any(|own| own == target)) {
                    let address = destination(route).and_then(|place| child::route(&owner, place));
                    let owner = address.map(|address| owner.at(address));
                    found.extend(shown(id, route).map(|found| Found { owner, ..found }));
                }
            }
        }
        Ok(found)
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let (table, place) = parts(id)?;
        let Some(found) = cloud.get::<RouteTables>(table).await? else { return Ok(None) };
        let route = found.routes().iter().find(|route| destination(route) == Some(place));
        Ok(route.and_then(|route| shown(table, route)))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let id = id_of(desired)?;
        let request = leading!(act.cloud.ec2().create_route(), desired);
        let sent = act.cloud.write(Class::Ec2Write, "CreateRoute", || request.clone().send()).await.map(drop);
        match sent {
            Err(error) if error.class == ErrorClass::Conflict => {
                // A route with that destination exists: it is ours if it has the desired target.
                let found = self.read(act.cloud, &id).await?;
                if found.is_some_and(|found| leads_alike(&found.attributes, desired)) {
                    Ok(id)
                } else {
                    Err(taken(&format!("a route {id}")))
                }
            }
            Err(error) => Err(error),
            Ok(()) => Ok(id),
        }
    }

    async fn update(
        &self,
        act: &Act<'_>,
        _id: &Identity,
        _prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        let request = leading!(act.cloud.ec2().replace_route(), desired);
        act.cloud.write(Class::Ec2Write, "ReplaceRoute", || request.clone().send()).await.map(drop)
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let (table, place) = parts(id)?;
        let request = act.cloud.ec2().delete_route().route_table_id(table);
        let request = match place {
            list if list.starts_with("pl-") => request.destination_prefix_list_id(list),
            range if range.contains(':') => request.destination_ipv6_cidr_block(range),
            range => request.destination_cidr_block(range),
        };
        act.cloud.write(Class::Ec2Write, "DeleteRoute", || request.clone().send()).await.map(drop)
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let id = id_of(desired)?;
        let found = self.read(act.cloud, &id).await?;
        Ok(found.filter(|found| leads_alike(&found.attributes, desired)).map(|found| found.identity))
    }
}

fn leads_alike(found: &Value, desired: &Value) -> bool {
    TARGETS.iter().all(|name| match text(desired, name) {
        Some(wanted) => text(found, name) == Some(wanted),
        None => true,
    })
}

/// The table's id and the destination.
fn id_of(desired: &Value) -> Result<Identity, ProviderError> {
    let place = DESTINATIONS.iter().find_map(|name| text(desired, name));
    let place = place.ok_or_else(|| invalid("a route needs a destination"))?;
    Ok(identity(&format!("{}_{place}", need(desired, "route_table_id")?)))
}

fn parts(id: &Identity) -> Result<(&str, &str), ProviderError> {
    id.as_str().split_once('_').ok_or_else(|| invalid(format!("{id} is not an id of a route")))
}

fn destination(route: &Sdk) -> Option<&str> {
    let range = route.destination_cidr_block().or(route.destination_ipv6_cidr_block());
    range.or(route.destination_prefix_list_id()).filter(|place| !place.is_empty())
}

fn shown(table: &str, route: &Sdk) -> Option<Found> {
    let id = format!("{table}_{}", destination(route)?);
    let attributes = Value::map([
        ("id", Value::from(id.as_str())),
        ("route_table_id", table.into()),
        (DESTINATIONS[0], some(route.destination_cidr_block())),
        (DESTINATIONS[1], some(route.destination_ipv6_cidr_block())),
        (DESTINATIONS[2], some(route.destination_prefix_list_id())),
        ("gateway_id", some(route.gateway_id())),
        ("nat_gateway_id", some(route.nat_gateway_id())),
        ("egress_only_gateway_id", some(route.egress_only_internet_gateway_id())),
        ("transit_gateway_id", some(route.transit_gateway_id())),
        ("vpc_peering_connection_id", some(route.vpc_peering_connection_id())),
        ("carrier_gateway_id", some(route.carrier_gateway_id())),
        ("local_gateway_id", some(route.local_gateway_id())),
        ("core_network_arn", some(route.core_network_arn())),
        ("instance_id", some(route.instance_id())),
        ("network_interface_id", some(route.network_interface_id())),
        ("origin", route.origin().map(RouteOrigin::as_str).into()),
        ("state", route.state().map(RouteState::as_str).into()),
    ]);
    // An endpoint is shown as a gateway.
    Some(Found::ready(&id, as_endpoint(attributes), &Tags::new()))
}

fn as_endpoint(attributes: Value) -> Value {
    match attributes {
        Value::Map(mut entries) => {
            let is_endpoint = |value: &Value| value.as_str().is_some_and(|id| id.starts_with("vpce-"));
            if entries.get("gateway_id").is_some_and(is_endpoint)
                && let Some(id) = entries.remove("gateway_id")
            {
                entries.insert("vpc_endpoint_id".to_owned(), id);
            }
            Value::Map(entries)
        }
        other => other,
    }
}
