//! Route tables, and which subnets use them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_ec2::types::{RouteTable as Sdk, RouteTableAssociation, RouteTableAssociationStateCode};
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::attribute::{differs, need, text};
use super::family::RouteTables;
use super::{Blockers, Found, Kind, child};
use crate::act::Act;
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::error::{error, incomplete, invalid};
use crate::look::{Look, filter};
use crate::owner::{Owner, Tags, identity, of_ec2, specification, visible};
use crate::rate::Class;

/// `aws_route_table`.
pub(super) struct RouteTable;

/// `aws_route_table_association`.
pub(super) struct Association;

#[async_trait]
impl Kind for RouteTable {
    fn name(&self) -> &'static str {
        "aws_route_table"
    }

    fn tagged_as(&self) -> Option<&'static str> {
        Some("route-table")
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let Some(table) = cloud.get::<RouteTables>(id.as_str()).await? else { return Ok(None) };
        let attributes = Value::map([
            ("id", Value::from(id.as_str())),
            ("arn", cloud.ec2_arn(table.owner_id(), "route-table", id.as_str()).into()),
            ("vpc_id", table.vpc_id().into()),
            ("owner_id", table.owner_id().into()),
            ("tags", visible(&of_ec2(table.tags()))),
        ]);
        Ok(Some(Found::ready(id.as_str(), attributes, &of_ec2(table.tags()))))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let request = act
            .cloud
            .ec2()
            .create_route_table()
            .vpc_id(need(desired, "vpc_id")?)
            .client_token(act.client_token())
            .tag_specifications(specification("route-table", &act.tags(desired)));
        let answer = act.cloud.write(Class::Ec2Write, "CreateRouteTable", || request.clone().send()).await?;
        let id = answer.route_table().and_then(Sdk::route_table_id);
        Ok(identity(id.ok_or_else(|| incomplete("CreateRouteTable", "id"))?))
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.ec2().delete_route_table().route_table_id(id.as_str());
        act.cloud.write(Class::Ec2Write, "DeleteRouteTable", || request.clone().send()).await.map(drop)
    }

    async fn blockers(&self, cloud: &Cloud, id: &Identity) -> Result<Blockers, ProviderError> {
        let table = cloud.get::<RouteTables>(id.as_str()).await?;
        let associations = table.iter().flat_map(|table| table.associations());
        let users =
            associations.filter_map(|association| association.subnet_id().or(association.gateway_id()));
        Ok(Blockers { lasting: users.map(str::to_owned).collect(), passing: Vec::new() })
    }
}

#[async_trait]
impl Kind for Association {
    fn name(&self) -> &'static str {
        "aws_route_table_association"
    }

    fn is_idempotent(&self) -> bool {
        true
    }

    /// Ours is one of our own table with our own subnet.
    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        let (tables, subnets) = (look.tagged("route-table").await?, look.tagged("subnet").await?);
        let tables = tables.iter().map(String::as_str);
        let subnets = subnets.iter().map(String::as_str);
        let (tables, subnets) = tokio::try_join!(
            look.cloud.get_all::<RouteTables>(tables),
            look.cloud.get_all::<super::family::Subnets>(subnets)
        )?;
        let mut found = Vec::new();
        for subnet in subnets {
            let Some(id) = subnet.subnet_id() else { continue };
            let Some((table, used)) = tables.iter().find_map(|table| Some((table, of_subnet(table, id)?)))
            else {
                continue;
            };
            let owners = (Owner::of(&of_ec2(table.tags())), Owner::of(&of_ec2(subnet.tags())));
            if let (Some(table), Some(subnet)) = owners {
                let owner = child::association(&table, &subnet).map(|address| subnet.at(address));
                found.extend(association(used).map(|found| Found { owner, ..found }));
            }
        }
        Ok(found)
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        Ok(current(cloud, id.as_str()).await?.and_then(|used| association(&used)))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let request = act
            .cloud
            .ec2()
            .associate_route_table()
            .route_table_id(need(desired, "route_table_id")?)
            .set_subnet_id(text(desired, "subnet_id").map(str::to_owned))
            .set_gateway_id(text(desired, "gateway_id").map(str::to_owned));
        act.cloud.write(Class::Ec2Write, "AssociateRouteTable", || request.clone().send()).await?;
        user(desired).map(identity)
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        if !differs(prior, desired, "route_table_id") {
            return Ok(());
        }
        let table = need(desired, "route_table_id")?;
        let Some(used) = current(act.cloud, id.as_str()).await? else {
            return Err(error(ErrorClass::NotFound, format!("{id} uses no route table any more")));
        };
        let request = act
            .cloud
            .ec2()
            .replace_route_table_association()
            .set_association_id(used.route_table_association_id().map(str::to_owned))
            .route_table_id(table);
        act.cloud
            .write(Class::Ec2Write, "ReplaceRouteTableAssociation", || request.clone().send())
            .await
            .map(drop)
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let Some(used) = current(act.cloud, id.as_str()).await? else { return Ok(()) };
        let request = act
            .cloud
            .ec2()
            .disassociate_route_table()
            .set_association_id(used.route_table_association_id().map(str::to_owned));
        act.cloud.write(Class::Ec2Write, "DisassociateRouteTable", || request.clone().send()).await.map(drop)
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let (user, table) = (user(desired)?, need(desired, "route_table_id")?);
        let used = current(act.cloud, user).await?;
        Ok(used.filter(|used| used.route_table_id() == Some(table)).map(|_| identity(user)))
    }
}

/// The user of the table. Its id is that of the association, since it uses at most one table.
fn user(desired: &Value) -> Result<&str, ProviderError> {
    text(desired, "subnet_id").or(text(desired, "gateway_id")).ok_or_else(|| invalid("subnet_id is missing"))
}

async fn current(
    cloud: &Cloud,
    user: &str,
) -> Result<Option<std::sync::Arc<RouteTableAssociation>>, ProviderError> {
    if user.starts_with("subnet-") {
        cloud.get::<OfSubnets>(user).await
    } else {
        cloud.get::<OfGateways>(user).await
    }
}

/// Associations by subnet.
struct OfSubnets;

/// Associations by gateway.
struct OfGateways;

#[async_trait]
impl Family for OfSubnets {
    type Item = RouteTableAssociation;
    const LIMIT: usize = 200;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<Associations, ProviderError> {
        associations(cloud, "association.subnet-id", keys, RouteTableAssociation::subnet_id).await
    }
}

#[async_trait]
impl Family for OfGateways {
    type Item = RouteTableAssociation;
    const LIMIT: usize = 200;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<Associations, ProviderError> {
        associations(cloud, "association.gateway-id", keys, RouteTableAssociation::gateway_id).await
    }
}

type Associations = BTreeMap<String, RouteTableAssociation>;

async fn associations(
    cloud: &Cloud,
    name: &str,
    keys: &[String],
    user: impl Fn(&RouteTableAssociation) -> Option<&str>,
) -> Result<Associations, ProviderError> {
    let request = cloud.ec2().describe_route_tables().filters(filter(name, keys));
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud.pages(Class::Ec2Read, "DescribeRouteTables", send, |page| page.next_token()).await?;
    let used = pages.iter().flat_map(|page| page.route_tables()).flat_map(Sdk::associations);
    let used = used.filter(|used| is_current(used));
    Ok(used.filter_map(|used| Some((user(used)?.to_owned(), used.clone()))).collect())
}

fn is_current(association: &RouteTableAssociation) -> bool {
    let state = association.association_state().and_then(|state| state.state());
    !matches!(
        state,
        Some(RouteTableAssociationStateCode::Disassociated | RouteTableAssociationStateCode::Disassociating)
    )
}

fn of_subnet<'a>(table: &'a Sdk, subnet: &str) -> Option<&'a RouteTableAssociation> {
    table.associations().iter().find(|used| used.subnet_id() == Some(subnet) && is_current(used))
}

fn association(used: &RouteTableAssociation) -> Option<Found> {
    let id = used.subnet_id().or(used.gateway_id())?;
    let attributes = Value::map([
        ("id", Value::from(id)),
        ("route_table_id", used.route_table_id().into()),
        ("subnet_id", used.subnet_id().into()),
        ("gateway_id", used.gateway_id().into()),
    ]);
    Some(Found::ready(id, attributes, &Tags::new()))
}
