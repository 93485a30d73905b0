//! Addresses of what has no tags: they follow from the addresses of what it belongs to, as expansion names them.

use slipway_aws_model::names;
use slipway_resource::Address;

use crate::owner::Owner;

/// The hook that every group with a warm pool has.
const WARM_POOL_HOOK: &str = "kops-warmpool";

/// The part of a name before the cluster's; `None` for the cluster's own name.
fn before_cluster<'a>(owner: &Owner, name: &'a str) -> Option<&'a str> {
    let suffix = format!("-{}", names::address(&owner.cluster));
    name.strip_suffix(suffix.as_str())
}

/// The address of a route in an owned table.
pub(super) fn route(table: &Owner, destination: &str) -> Option<Address> {
    let name = table.address.as_ref()?.name();
    let name = match before_cluster(table, name) {
        Some(role) => format!("route-{role}-{destination}"),
        None => format!("route-{destination}"),
    };
    Some(Address::new("aws_route", names::address(&name)))
}

/// The address of the association of an owned table with an owned subnet.
pub(super) fn association(table: &Owner, subnet: &Owner) -> Option<Address> {
    let (table_name, subnet_name) = (table.address.as_ref()?.name(), subnet.address.as_ref()?.name());
    let is_private = before_cluster(table, table_name).is_some_and(|role| role.starts_with("private-"));
    let name = if is_private { format!("private-{subnet_name}") } else { subnet_name.to_owned() };
    Some(Address::new("aws_route_table_association", names::address(&name)))
}

/// The address of a further range of an owned VPC.
pub(super) fn range(range: &str) -> Address {
    Address::new("aws_vpc_ipv4_cidr_block_association", names::address(&format!("cidr-{range}")))
}

/// The address of a rule: `group` and `other` are names of groups, or ranges and lists as they are written.
pub(super) fn rule(group: &str, direction: &str, protocol: &str, ports: (i64, i64), other: &str) -> Address {
    let word = if protocol == "-1" { "all" } else { protocol };
    let (from, to) = if direction == "egress" { (group, other) } else { (other, group) };
    let (first, last) = ports;
    let name = format!("from-{from}-{direction}-{word}-{first}to{last}-{to}");
    Address::new("aws_security_group_rule", names::address(&name))
}

/// The address of a hook of an owned group. Its name has that of the pool, or is the same in every group.
pub(super) fn hook(group: &Owner, name: &str) -> Option<Address> {
    let name = match name {
        WARM_POOL_HOOK => format!("{name}-{}", before_cluster(group, group.address.as_ref()?.name())?),
        own => own.to_owned(),
    };
    Some(Address::new("aws_autoscaling_lifecycle_hook", names::address(&name)))
}

#[cfg(test)]
mod tests {
    use slipway_resource::ClusterUid;

    use super::*;

    fn owner(kind: &str, name: &str) -> Owner {
        Owner {
            uid: ClusterUid::new("u"),
            cluster: "a.example.com".to_owned(),
            address: Some(Address::new(kind, name)),
            token: None,
        }
    }

    #[test]
    fn routes_are_named_after_their_table() {
        let public = owner("aws_route_table", "a-example-com");
        assert_eq!(route(&public, "::/0").unwrap().to_string(), "aws_route.route-__--0");
        let private = owner("aws_route_table", "private-us-test-1a-a-example-com");
        let address = route(&private, "0.0.0.0/0").unwrap();
        assert_eq!(address.to_string(), "aws_route.route-private-us-test-1a-0-0-0-0--0");
    }

    #[test]
    fn associations_are_named_after_their_subnet() {
        let subnet = owner("aws_subnet", "us-test-1a-a-example-com");
        let public = association(&owner("aws_route_table", "a-example-com"), &subnet).unwrap();
        assert_eq!(public.name(), "us-test-1a-a-example-com");
        let table = owner("aws_route_table", "private-us-test-1a-a-example-com");
        assert_eq!(association(&table, &subnet).unwrap().name(), "private-us-test-1a-a-example-com");
    }
}
