//! One security group of a role or a load balancer.

use slipway_cluster_input::Role;
use slipway_resource::{Address, Value};

use super::rule::{Ports, Rule, Source};
use crate::expand::build::{Builder, id_of};
use crate::expand::links::{balancer_security_group, role_security_group, vpc_id};
use crate::names;

/// A group that rules name: one of the cluster's own, or an existing one in its place.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// The part of rules' names for this group.
    pub(super) name: String,
    /// Its id.
    pub(super) id: Value,
    /// The field of the spec that decides about it.
    pub(super) origin: String,
    /// Its address and what it is for, when it is the cluster's own.
    own: Option<(Address, String)>,
}

/// The groups of a role: those that replace the role's own group, and its own group if a pool uses it.
pub(super) fn groups_of(builder: &Builder<'_>, role: Role) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut own = None;
    for pool in builder.cluster.pools_with(role) {
        let origin = format!("pools[{}]", pool.name);
        match builder.pool_settings(pool).security_group_override {
            None => own = own.or(Some(origin)),
            Some(id) if groups.iter().any(|group| group.name == id) => {}
            Some(id) => groups.push(Group {
                id: id.as_str().into(),
                name: id,
                origin: format!("{origin}.providerConfig"),
                own: None,
            }),
        }
    }
    if let Some(origin) = own {
        let what = names::security_group_role(role);
        let address = role_security_group(builder, role);
        groups.push(Group {
            name: builder.named(what),
            id: id_of(&address),
            origin,
            own: Some((address, format!("Security group for {what}"))),
        });
    }
    groups
}

/// The group of a load balancer, `api` or `bastion`.
pub(super) fn group_of_balancer(
    builder: &Builder<'_>,
    prefix: &str,
    in_its_place: Option<&str>,
    origin: &str,
) -> Group {
    let address = balancer_security_group(builder, prefix);
    match in_its_place {
        Some(id) => Group { name: id.to_owned(), id: id.into(), origin: origin.to_owned(), own: None },
        None => Group {
            name: builder.named(&format!("{prefix}-elb")),
            id: id_of(&address),
            origin: origin.to_owned(),
            own: Some((address, format!("Security group for {prefix} ELB"))),
        },
    }
}

impl Group {
    /// Adds the group, when it is the cluster's own, and lets everything out of it.
    pub(super) fn add(&self, builder: &mut Builder<'_>) {
        if let Some((address, description)) = &self.own {
            let draft = builder
                .draft(address.kind(), &self.name, &self.origin)
                .fix("name", self.name.as_str())
                .fix("description", description.as_str())
                .fix("vpc_id", vpc_id(builder))
                .tags(builder.tags(&self.name));
            builder.add(draft);
        }
        for everywhere in ["0.0.0.0/0", "::/0"] {
            let to = Source::range(everywhere);
            Rule { group: self, from: &to, ports: Ports::ALL, origin: &self.origin }.egress(builder);
        }
    }
}
