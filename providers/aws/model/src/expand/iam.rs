//! The identities and permissions of machines: a role, an instance profile and a policy for each role of
//! pools.

mod grants;

use slipway_cluster_input::{NodePool, Role};
use slipway_resource::{Address, ProviderError, Value};

use super::build::{Builder, address, id_of};
use super::topology::roles;
use super::{POLICY, refuse};
use crate::names;
use crate::policy::{Document, assumed_by_instances, given};

pub(super) use grants::{Part, has_termination_queue, part};

/// Roles, instance profiles and policies of the pools that bring no profile of their own.
pub(super) fn identities(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    for role in roles(builder.cluster) {
        let pool = builder.cluster.pools_with(role).find(|pool| existing_profile(builder, pool).is_none());
        if let Some(pool) = pool {
            let origin = format!("pools[{}].role", pool.name);
            instance_role(builder, role, &origin)?;
        }
    }
    Ok(())
}

fn instance_role(builder: &mut Builder<'_>, role: Role, origin: &str) -> Result<(), ProviderError> {
    let name = role_name(&builder.named(names::instance_role(role)));
    let trust = assumed_by_instances(builder.catalog.domain());
    let resource = add_role(builder, &name, origin, &trust, builder.tags(&name));
    let profile = builder
        .draft("aws_iam_instance_profile", &name, origin)
        .fix("name", name.as_str())
        .fix("role", Value::reference(resource.clone(), "name"))
        .tags(builder.tags(&name));
    builder.add(profile);
    let document = grants::of_role(builder, role);
    if !document.is_empty() {
        add_policy(builder, &resource, &name, document.to_value(), origin);
    }
    additional(builder, role, &resource, &name)
}

/// The additions of the spec to a role: its own statements, and existing policies.
fn additional(
    builder: &mut Builder<'_>,
    role: Role,
    resource: &Address,
    name: &str,
) -> Result<(), ProviderError> {
    for key in keys(role) {
        if let Some(text) = builder.settings.additional_policies.get(*key).filter(|text| !text.is_empty()) {
            let field = format!("provider.config.additionalPolicies.{key}");
            let document = given(text).map_err(|error| refuse(&field, &error.to_string(), POLICY))?;
            add_policy(builder, resource, &format!("additional.{name}"), document.into(), &field);
        }
        if let Some(arns) = builder.settings.external_policies.get(*key) {
            let field = format!("provider.config.externalPolicies.{key}");
            for arn in arns {
                add_attachment(builder, resource, name, arn, &field);
            }
        }
    }
    Ok(())
}

/// The names of a role in maps of the spec: those of kOps and of Slipway.
const fn keys(role: Role) -> &'static [&'static str] {
    match role {
        Role::ControlPlane => &["master", "control-plane", "controlPlane"],
        Role::Worker => &["node", "worker"],
        Role::ApiServer => &["apiserver", "apiServer"],
        Role::Bastion => &["bastion"],
    }
}

/// A role with its trust policy.
pub(super) fn add_role(
    builder: &mut Builder<'_>,
    name: &str,
    origin: &str,
    trust: &Document,
    tags: crate::tags::Tags,
) -> Address {
    let boundary = builder.settings.iam.permissions_boundary.clone();
    let role = builder
        .draft("aws_iam_role", name, origin)
        .fix("name", name)
        .fix("assume_role_policy", trust.to_value())
        .set("permissions_boundary", boundary, "provider.config.iam.permissionsBoundary")
        .tags(tags);
    builder.add(role)
}

/// A policy of a role's own.
pub(super) fn add_policy(
    builder: &mut Builder<'_>,
    role: &Address,
    name: &str,
    document: Value,
    origin: &str,
) {
    let policy = builder
        .draft("aws_iam_role_policy", name, origin)
        .fix("name", name)
        .fix("role", Value::reference(role.clone(), "name"))
        .set("policy", document, origin);
    builder.add(policy);
}

/// An existing policy on a role.
pub(super) fn add_attachment(builder: &mut Builder<'_>, role: &Address, name: &str, arn: &str, origin: &str) {
    let tail = arn.rsplit(':').next().unwrap_or(arn);
    let attachment = builder
        .draft("aws_iam_role_policy_attachment", &format!("{name}-{tail}"), origin)
        .fix("role", Value::reference(role.clone(), "name"))
        .set("policy_arn", arn, origin);
    builder.add(attachment);
}

/// The name of a role, cut to the length that IAM allows.
pub(super) fn role_name(name: &str) -> String {
    names::shortened(name, names::LONGEST_ROLE, false)
}

/// The name of the profile that a pool brings: the last part of its ARN, or the name itself.
fn existing_profile(builder: &Builder<'_>, pool: &NodePool) -> Option<String> {
    let profile = builder.pool_settings(pool).iam.profile?;
    profile.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The role of a pool's machines; `None` if the pool brings a profile, whose role is not known.
pub(super) fn pool_role(builder: &Builder<'_>, pool: &NodePool) -> Option<String> {
    let own = || role_name(&builder.named(names::instance_role(pool.role)));
    existing_profile(builder, pool).is_none().then(own)
}

/// The instance profile of a pool's machines, by name.
pub(super) fn pool_profile(builder: &Builder<'_>, pool: &NodePool) -> Value {
    match existing_profile(builder, pool) {
        Some(name) => name.into(),
        None => {
            let name = role_name(&builder.named(names::instance_role(pool.role)));
            id_of(&address("aws_iam_instance_profile", &name))
        }
    }
}
