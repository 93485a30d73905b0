//! The subnets of a load balancer: one in each zone.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{Filter, Subnet};
use slipway_aws_model::tags;
use slipway_resource::{ErrorClass, ProviderError};

use super::desired::NetworkBalancer;
use crate::cloud::Cloud;
use crate::error::{error, invalid};
use crate::look::filter;
use crate::rate::Class;

/// The tag of subnets for load balancers that the internet reaches.
const PUBLIC: &str = "kubernetes.io/role/elb";
/// The tag of subnets for internal load balancers.
const INTERNAL: &str = "kubernetes.io/role/internal-elb";

/// A network, and subnets in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The id of the VPC.
    pub vpc: String,
    /// The ids of subnets.
    pub subnets: Vec<String>,
}

/// Where a load balancer is created.
///
/// # Errors
/// `not-found` without a subnet, `invalid` with subnets in several networks; when they cannot be read.
pub(super) async fn choose(
    cloud: &Cloud,
    cluster: &str,
    desired: &NetworkBalancer,
) -> Result<Place, ProviderError> {
    let Some(named) = &desired.subnets else {
        let members = filter("tag-key", [tags::membership(cluster)]);
        let all = describe(cloud, members).await?;
        return place(pick(&all, desired.internal).into_values(), || none(cluster, desired.internal));
    };
    let (ids, names): (Vec<&String>, Vec<&String>) =
        named.iter().partition(|name| name.starts_with("subnet-"));
    let mut found = Vec::new();
    for (attribute, values) in [("subnet-id", ids), ("tag:Name", names)] {
        if !values.is_empty() {
            found.extend(describe(cloud, filter(attribute, values)).await?);
        }
    }
    let is_named = |name: &&String| {
        let name = name.as_str();
        found.iter().any(|subnet| subnet.subnet_id() == Some(name) || tag(subnet, "Name") == Some(name))
    };
    if let Some(missing) = named.iter().find(|name| !is_named(name)) {
        return Err(error(ErrorClass::NotFound, format!("there is no subnet {missing}")));
    }
    place(found.iter(), || none(cluster, desired.internal))
}

fn none(cluster: &str, internal: bool) -> ProviderError {
    let (member, role) = (tags::membership(cluster), if internal { INTERNAL } else { PUBLIC });
    let text = format!("no subnet for the load balancer: none has the tags {member} and {role}");
    error(ErrorClass::NotFound, text).with_hint(
        "add the tags to one subnet in each zone, or compare --cluster-name with the tags of the subnets",
    )
}

async fn describe(cloud: &Cloud, of: Filter) -> Result<Vec<Subnet>, ProviderError> {
    let request = cloud.ec2().describe_subnets().filters(of);
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud.pages(Class::Ec2Read, "DescribeSubnets", send, |page| page.next_token()).await?;
    Ok(pages.iter().flat_map(|page| page.subnets()).cloned().collect())
}

/// One subnet of each zone. Only subnets with a tag are public for certain; every subnet can have internal load balancers, and those
/// with the tag come first.
fn pick(all: &[Subnet], internal: bool) -> BTreeMap<&str, &Subnet> {
    let role = if internal { INTERNAL } else { PUBLIC };
    let has_role = |subnet: &Subnet| tag(subnet, role).is_some_and(|value| value != "0");
    let has_ipv4 = |subnet: &Subnet| subnet.cidr_block().is_some_and(|range| !range.is_empty());
    let mut chosen: BTreeMap<&str, &Subnet> = BTreeMap::new();
    for subnet in all.iter().filter(|subnet| has_ipv4(subnet) && (internal || has_role(subnet))) {
        let zone = subnet.availability_zone().unwrap_or_default();
        let rank = |subnet: &Subnet| (!has_role(subnet), subnet.subnet_id().unwrap_or_default().to_owned());
        let is_first = chosen.get(zone).is_none_or(|other| rank(subnet) < rank(other));
        if is_first {
            chosen.insert(zone, subnet);
        }
    }
    chosen
}

fn place<'s>(
    subnets: impl Iterator<Item = &'s Subnet>,
    none: impl Fn() -> ProviderError,
) -> Result<Place, ProviderError> {
    let mut found: Option<Place> = None;
    for subnet in subnets {
        let (vpc, id) = (subnet.vpc_id().unwrap_or_default(), subnet.subnet_id().unwrap_or_default());
        let place = found.get_or_insert_with(|| Place { vpc: vpc.to_owned(), subnets: Vec::new() });
        if place.vpc != vpc {
            let text =
                format!("the subnets for the load balancer are in several networks: {} and {vpc}", place.vpc);
            return Err(invalid(text));
        }
        place.subnets.push(id.to_owned());
    }
    found.ok_or_else(none)
}

fn tag<'s>(subnet: &'s Subnet, key: &str) -> Option<&'s str> {
    subnet.tags().iter().find(|tag| tag.key() == Some(key))?.value()
}

#[cfg(test)]
mod tests {
    use aws_sdk_ec2::types::Tag;

    use super::*;

    fn subnet(id: &str, zone: &str, role: Option<&str>) -> Subnet {
        let tags = role.map(|role| vec![Tag::builder().key(role).value("1").build()]);
        Subnet::builder()
            .subnet_id(id)
            .availability_zone(zone)
            .vpc_id("vpc-1")
            .cidr_block("10.0.0.0/24")
            .set_tags(tags)
            .build()
    }

    #[test]
    fn a_load_balancer_has_one_subnet_in_each_zone() {
        let all = [
            subnet("subnet-4", "a", Some(PUBLIC)),
            subnet("subnet-3", "a", Some(PUBLIC)),
            subnet("subnet-1", "a", None),
            subnet("subnet-2", "b", Some(INTERNAL)),
        ];
        let ids =
            |internal| place(pick(&all, internal).into_values(), || none("c", internal)).unwrap().subnets;
        assert_eq!(ids(false), ["subnet-3"]);
        assert_eq!(ids(true), ["subnet-1", "subnet-2"]);
        let error = place(pick(&all[2..], false).into_values(), || none("c", false)).unwrap_err();
        assert!(error.message.contains("kubernetes.io/cluster/c and kubernetes.io/role/elb"), "{error}");
    }
}
