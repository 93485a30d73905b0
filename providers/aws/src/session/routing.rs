//! Routes to the pods of nodes: in every route table of the cluster, to the instances of the nodes.
//!
//! A cluster has a route table for each zone with private subnets, and one for public subnets. A route for pods is one in all of
//! them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_ec2::types::{AttributeBooleanValue, Route as Ec2Route, RouteState, RouteTable};
use ipnet::IpNet;
use slipway_aws_model::tags;
use slipway_resource::provider::{
    InstanceAnswer, InstanceQuery, InstancesRequest, NewRoute, NodeReference, Route, Routes,
};
use slipway_resource::{ErrorClass, ProviderError};

use super::{AwsSession, instances};
use crate::error::{error, invalid};
use crate::look::filter;
use crate::rate::Class;

#[async_trait]
impl Routes for AwsSession {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, ProviderError> {
        let tables = self.route_tables(cluster).await?;
        let mut by_destination: BTreeMap<IpNet, Vec<&Ec2Route>> = BTreeMap::new();
        for route in tables.iter().flat_map(|table| table.routes()) {
            if let Some(destination) = of_instance(route) {
                by_destination.entry(destination).or_default().push(route);
            }
        }
        let ids: Vec<&str> =
            by_destination.values().flatten().filter_map(|route| route.instance_id()).collect();
        let provider_ids = self.provider_ids(cluster, &ids).await?;
        let shown = by_destination
            .into_iter()
            .map(|(destination, routes)| shown(destination, &routes, tables.len(), &provider_ids));
        Ok(shown.collect())
    }

    async fn create(&self, cluster: &str, route: &NewRoute) -> Result<(), ProviderError> {
        let target = &route.target;
        let query = InstanceQuery { node: target.node.clone(), provider_id: target.provider_id.clone() };
        let request = InstancesRequest { cluster: cluster.to_owned(), queries: vec![query] };
        let instance = match instances::find(&self.cloud, &request).await?.pop() {
            Some(InstanceAnswer::Present(instance)) => instance.provider_id,
            Some(InstanceAnswer::Unreadable(error)) => return Err(error),
            Some(InstanceAnswer::Absent) | None => {
                return Err(error(ErrorClass::NotFound, format!("node {} has no instance", target.node)));
            }
        };
        let instance = instance.rsplit('/').next().unwrap_or_default();
        self.forward_packets(instance).await?;
        for table in self.route_tables(cluster).await? {
            let existing = table.routes().iter().find(|one| of_instance(one) == Some(route.destination));
            match existing.map(|existing| existing.instance_id()) {
                Some(Some(id)) if id == instance => {}
                Some(other) => {
                    let other = other.unwrap_or("a target that does not exist");
                    let text = format!("{} has a route to {other}", route.destination);
                    return Err(error(ErrorClass::Conflict, text));
                }
                None => self.create_in(&table, route.destination, instance).await?,
            }
        }
        Ok(())
    }

    async fn delete(&self, cluster: &str, route: &Route) -> Result<(), ProviderError> {
        let listed = match &route.target {
            Some(NodeReference::ProviderId(id)) => id.rsplit('/').next(),
            Some(NodeReference::Name(_)) | None => None,
        };
        // Without a target, the tables had different routes, or black holes.
        let is_it = |one: &Ec2Route| {
            of_instance(one) == Some(route.destination) && (listed.is_none() || one.instance_id() == listed)
        };
        for table in self.route_tables(cluster).await? {
            if table.routes().iter().any(is_it) {
                self.delete_in(&table, route.destination).await?;
            }
        }
        Ok(())
    }
}

impl AwsSession {
    /// The route tables of a cluster.
    async fn route_tables(&self, cluster: &str) -> Result<Vec<RouteTable>, ProviderError> {
        let members = filter("tag-key", [tags::membership(cluster)]);
        let request = self.cloud.ec2().describe_route_tables().filters(members);
        let send = |token| request.clone().set_next_token(token).send();
        let pages =
            self.cloud.pages(Class::Ec2Read, "DescribeRouteTables", send, |page| page.next_token()).await?;
        let tables: Vec<RouteTable> = pages.iter().flat_map(|page| page.route_tables()).cloned().collect();
        if tables.is_empty() {
            let text = format!("no route table has the tag {}", tags::membership(cluster));
            return Err(error(ErrorClass::NotFound, text)
                .with_hint("compare --cluster-name with the tags of the route tables"));
        }
        Ok(tables)
    }

    /// The provider ids of instances that exist, by instance id.
    async fn provider_ids(
        &self,
        cluster: &str,
        ids: &[&str],
    ) -> Result<BTreeMap<String, String>, ProviderError> {
        let query = |id: &&str| InstanceQuery {
            node: (*id).to_owned(),
            provider_id: Some(format!("aws:///{}/{id}", self.cloud.region())),
        };
        let request =
            InstancesRequest { cluster: cluster.to_owned(), queries: ids.iter().map(query).collect() };
        let mut found = BTreeMap::new();
        for (id, answer) in ids.iter().zip(instances::find(&self.cloud, &request).await?) {
            match answer {
                InstanceAnswer::Present(instance) => {
                    found.insert((*id).to_owned(), instance.provider_id);
                }
                InstanceAnswer::Absent => {}
                // Its routes would count as black holes.
                InstanceAnswer::Unreadable(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Lets an instance take packets that are not addressed to it.
    async fn forward_packets(&self, instance: &str) -> Result<(), ProviderError> {
        let off = AttributeBooleanValue::builder().value(false).build();
        let request =
            self.cloud.ec2().modify_instance_attribute().instance_id(instance).source_dest_check(off);
        let send = || request.clone().send();
        self.cloud.write(Class::Ec2Write, "ModifyInstanceAttribute", send).await.map(drop)
    }

    async fn create_in(
        &self,
        table: &RouteTable,
        destination: IpNet,
        instance: &str,
    ) -> Result<(), ProviderError> {
        let request = self.cloud.ec2().create_route().route_table_id(id_of(table)?).instance_id(instance);
        let request = match destination {
            IpNet::V4(range) => request.destination_cidr_block(range.to_string()),
            IpNet::V6(range) => request.destination_ipv6_cidr_block(range.to_string()),
        };
        self.cloud.write(Class::Ec2Write, "CreateRoute", || request.clone().send()).await.map(drop)
    }

    async fn delete_in(&self, table: &RouteTable, destination: IpNet) -> Result<(), ProviderError> {
        let request = self.cloud.ec2().delete_route().route_table_id(id_of(table)?);
        let request = match destination {
            IpNet::V4(range) => request.destination_cidr_block(range.to_string()),
            IpNet::V6(range) => request.destination_ipv6_cidr_block(range.to_string()),
        };
        match self.cloud.write(Class::Ec2Write, "DeleteRoute", || request.clone().send()).await {
            Err(error) if error.class != ErrorClass::NotFound => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

fn id_of(table: &RouteTable) -> Result<&str, ProviderError> {
    table.route_table_id().ok_or_else(|| invalid("a route table without an id was listed"))
}

/// The destination of a route to an instance, or to one that does not exist any more. Routes to gateways and the like are those of
/// others.
fn of_instance(route: &Ec2Route) -> Option<IpNet> {
    let is_gone = route.state() == Some(&RouteState::Blackhole)
        && route.gateway_id().is_none()
        && route.nat_gateway_id().is_none()
        && route.transit_gateway_id().is_none()
        && route.vpc_peering_connection_id().is_none()
        && route.egress_only_internet_gateway_id().is_none()
        && route.local_gateway_id().is_none()
        && route.carrier_gateway_id().is_none()
        && route.core_network_arn().is_none();
    if route.instance_id().is_none() && !is_gone {
        return None;
    }
    route.destination_cidr_block().or(route.destination_ipv6_cidr_block())?.parse().ok()
}

/// The routes of a destination as one. Only routes in all tables, to one instance, have a target: others are deleted, and created
/// again.
fn shown(
    destination: IpNet,
    routes: &[&Ec2Route],
    tables: usize,
    provider_ids: &BTreeMap<String, String>,
) -> Route {
    let first = routes.first().and_then(|route| route.instance_id());
    let is_whole = routes.len() == tables && routes.iter().all(|route| route.instance_id() == first);
    let is_dark = routes.iter().any(|route| route.state() == Some(&RouteState::Blackhole));
    let provider_id = first.and_then(|id| provider_ids.get(id));
    Route {
        name: destination.to_string(),
        destination,
        target: provider_id.filter(|_| is_whole).cloned().map(NodeReference::ProviderId),
        blackhole: is_dark || provider_id.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(instance: Option<&str>, state: RouteState) -> Ec2Route {
        Ec2Route::builder()
            .destination_cidr_block("10.244.1.0/24")
            .set_instance_id(instance.map(str::to_owned))
            .state(state)
            .build()
    }

    #[test]
    fn only_a_route_in_all_tables_has_a_target() {
        let ids = BTreeMap::from([("i-1".to_owned(), "aws:///us-east-1a/i-1".to_owned())]);
        let destination = "10.244.1.0/24".parse().unwrap();
        let (one, other) = (route(Some("i-1"), RouteState::Active), route(Some("i-2"), RouteState::Active));
        let target = |routes: &[&Ec2Route]| shown(destination, routes, 2, &ids).target;
        let node = NodeReference::ProviderId("aws:///us-east-1a/i-1".to_owned());
        assert_eq!(target(&[&one, &one]), Some(node));
        assert_eq!(target(&[&one]), None);
        assert_eq!(target(&[&one, &other]), None);
        let gone = route(None, RouteState::Blackhole);
        assert!(shown(destination, &[&gone, &gone], 2, &ids).blackhole);
        assert!(shown(destination, &[&other, &other], 2, &ids).blackhole);
    }

    #[test]
    fn routes_of_others_are_left_out() {
        let gateway = Ec2Route::builder().destination_cidr_block("0.0.0.0/0").gateway_id("igw-1").build();
        assert_eq!(of_instance(&gateway), None);
        let dark = Ec2Route::builder()
            .destination_cidr_block("0.0.0.0/0")
            .nat_gateway_id("nat-1")
            .state(RouteState::Blackhole)
            .build();
        assert_eq!(of_instance(&dark), None);
        assert!(of_instance(&route(Some("i-1"), RouteState::Active)).is_some());
        assert!(of_instance(&route(None, RouteState::Blackhole)).is_some());
    }
}
