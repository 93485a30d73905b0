//! Plans the change of one resource. Pure.

pub mod boot;
mod disruption;
pub(crate) mod etcd;
mod replacement;
mod rollout;

pub use rollout::{Manner, node_of, retired};

use slipway_resource::provider::{Disruption, PlanItem, Planned};
use slipway_resource::validate::misfits;
use slipway_resource::{ErrorClass, Mode, Path, ProviderError, ResourceType, Value};

use crate::normalise::{Attributes, normalised};
use crate::types::{self, DELETION_WINDOW_DAYS, Kind};

/// The type with instances.
const GROUP: &str = "aws_autoscaling_group";
/// The type to which controllers may add rules.
const SECURITY_GROUP: &str = "aws_security_group";
/// The type of keys of the key service.
const KEY: &str = "aws_kms_key";
/// The type from which instances are launched.
const TEMPLATE: &str = "aws_launch_template";
/// What replaces members of etcd whose data is lost with their instances.
const MOVES_ETCD: &str = "etcd moves to volumes: each new instance joins as a new member, in place of one on the disk of an instance that left";

/// Plans one change.
///
/// # Errors
/// `invalid` for an unknown type, and for attributes that do not fit it. Also for changes that AWS does not
/// support, and for those that cannot reach machines that boot with another tool's user data.
pub fn plan(item: &PlanItem) -> Result<Planned, ProviderError> {
    let kind = item.address.kind();
    let Some(resource) = types::get(kind) else {
        return Err(invalid(format!("{kind} is not a type of provider aws")).with_address(&item.address));
    };
    let Some(desired) = &item.desired else {
        return Ok(removal(item));
    };
    let wanted = normalised(kind, desired);
    check(resource, &wanted).map_err(|error| error.with_address(&item.address))?;
    let infrastructure_only = (kind == TEMPLATE).then(|| boot::limits(&wanted)).flatten();
    let Some(observed) = &item.observed else {
        let rollout = (kind == GROUP).then(|| rollout::rollout(&wanted, None));
        return Ok(Planned { normalised: wanted, rollout, infrastructure_only, ..Planned::default() });
    };
    let wanted = with_name_as_found(kind, wanted, observed);
    let wanted = with_addresses_as_found(kind, wanted, observed);
    let wanted = if kind == GROUP { with_version_as_found(wanted, observed) } else { wanted };
    let (wanted, reasons) = match kind {
        TEMPLATE => boot::kept(wanted, observed, item.last_applied.as_ref())
            .map_err(|error| error.with_address(&item.address))?,
        _ => (wanted, Vec::new()),
    };
    let infrastructure_only = infrastructure_only.filter(|_| boot::limits(&wanted).is_some());
    replacement::refuse(kind, observed, &wanted).map_err(|error| error.with_address(&item.address))?;
    let reasons: Vec<String> = reasons.into_iter().chain(revoked(kind, observed)).collect();
    let replace_paths = replacement::paths(kind, observed, &wanted);
    let changed = changed(resource, observed, &wanted);
    let replaced = !replace_paths.is_empty()
        || changed
            .iter()
            .any(|name| resource.attributes.get(name).is_some_and(|attribute| attribute.immutable));
    let disruption =
        if replaced { disruption::of_removal(item) } else { disruption::of_update(kind, &changed) };
    let unknown_after = if replaced { Vec::new() } else { unknown_after(kind, &changed, &wanted) };
    let planned = Planned {
        normalised: wanted,
        replace_paths,
        unknown_after,
        reasons,
        disruption,
        infrastructure_only,
        ..Planned::default()
    };
    if kind != GROUP {
        return Ok(planned);
    }
    if replaced {
        // Its instances go with it: a plan names them, and is refused if they have to stay.
        return Ok(Planned { rollout: rollout::of_removal(item), ..planned });
    }
    with_rollout(planned, observed, item.last_applied.as_ref())
        .map_err(|error| error.with_address(&item.address))
}

/// A sentence on rules that others added to a security group: a plan revokes them.
fn revoked(kind: &str, observed: &Value) -> Option<String> {
    let rules = observed.get("foreign_rules").and_then(Value::as_list).filter(|_| kind == SECURITY_GROUP)?;
    let names: Vec<&str> = rules.iter().filter_map(Value::as_str).collect();
    let rule = match names.as_slice() {
        [] => return None,
        [one] => format!("the rule {one} is"),
        several => format!("the rules {} are", several.join(", ")),
    };
    Some(format!(
        "{rule} not of Slipway and will be revoked; to keep it, allow it in the spec, or add foreign_rules of this group to \
         ignoreChanges"
    ))
}

/// Plans a deletion: the nodes of a group are drained first.
fn removal(item: &PlanItem) -> Planned {
    let rollout = (item.address.kind() == GROUP).then(|| rollout::of_removal(item)).flatten();
    let mut reasons = rollout.as_ref().map(rollout::reasons).unwrap_or_default();
    if item.address.kind() == KEY && item.observed.is_some() {
        reasons.push(format!(
            "AWS deletes the key after {DELETION_WINDOW_DAYS} days; until then, `aws kms cancel-key-deletion` restores it"
        ));
    }
    Planned { disruption: disruption::of_removal(item), rollout, reasons, ..Planned::default() }
}

/// Adds the rollout of a group's instances, and its disruption.
fn with_rollout(
    mut planned: Planned,
    observed: &Value,
    last_applied: Option<&Value>,
) -> Result<Planned, ProviderError> {
    let mut rollout = rollout::rollout(&planned.normalised, Some(observed));
    // The machines that exist boot by what was applied.
    if let Some(applied) = last_applied.map(Manner::of) {
        let wanted = Manner::of(&planned.normalised);
        let stays = applied.irremovable();
        if stays.is_some() && wanted.moves_etcd_to_volumes(&rollout) {
            planned.reasons.push(MOVES_ETCD.to_owned());
        } else {
            rollout.irremovable = rollout.irremovable.or(stays);
        }
        if wanted.etcd_loss().is_none()
            && let Some(loss) = applied.etcd_loss()
        {
            let disks = rollout.loses.take().into_iter();
            rollout.loses = Some(disks.chain([loss]).collect::<Vec<_>>().join(", and "));
        }
    }
    if let Some(applied) = last_applied {
        let why = rollout::gives_up_majority(applied, &planned.normalised, observed);
        rollout.irremovable = rollout.irremovable.or(why);
    }
    planned.reasons.extend(rollout::in_place::keep(&mut rollout, &planned.normalised, observed));
    rollout::in_place::refuse(&rollout, &planned.normalised)?;
    if rollout.has_leaving() {
        planned.disruption = planned.disruption.max(Disruption::Rolling);
        planned.reasons.extend(rollout::reasons(&rollout));
    }
    planned.reasons.extend(rollout::missing::sentence(observed));
    planned.rollout = Some(rollout);
    Ok(planned)
}

/// Refuses attributes that do not fit the schema. Attributes that AWS sets are ignored: the normalised form
/// of a plan has them.
fn check(resource: &ResourceType, wanted: &Value) -> Result<(), ProviderError> {
    let Value::Map(entries) = wanted else { return Err(invalid("the attributes are not an object")) };
    let set_by_aws =
        |name: &str| resource.attributes.get(name).is_some_and(|attribute| attribute.mode == Mode::Computed);
    let asked: Attributes = entries
        .iter()
        .filter(|(name, _)| !set_by_aws(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    match misfits(&resource.attributes, &Value::Map(asked)).into_iter().next() {
        None => Ok(()),
        Some(misfit) => {
            let error = invalid(misfit.to_string());
            Err(match misfit.suggestion {
                Some(name) => error.with_hint(format!("did you mean {name}?")),
                None => error,
            })
        }
    }
}

/// The names of the attributes that differ, as far as they are known or known to become so.
fn changed(resource: &ResourceType, observed: &Value, wanted: &Value) -> Vec<String> {
    let differs = slipway_resource::diff::diff(resource, observed, wanted, None);
    let mut names: Vec<String> = differs
        .iter()
        .filter_map(|change| match change.path.segments().first() {
            Some(slipway_resource::Segment::Key(name)) => Some(name.clone()),
            _ => None,
        })
        .collect();
    names.dedup();
    names
}

/// The attributes that AWS sets again in an update.
fn unknown_after(kind: &str, changed: &[String], wanted: &Value) -> Vec<Path> {
    let changes = |name: &str| changed.iter().any(|changed| changed == name);
    let left_open = |name: &str| wanted.get(name).is_none();
    let names: Vec<&str> = match Kind::of(kind) {
        Some(Kind::LaunchTemplate) if changed.iter().any(|name| name != "tags") => vec!["latest_version"],
        Some(Kind::S3Object) if !changed.is_empty() => vec!["etag", "version_id"],
        Some(Kind::Vpc) if changes("assign_generated_ipv6_cidr_block") => {
            vec!["ipv6_cidr_block", "ipv6_association_id"]
        }
        Some(Kind::Subnet) if changes("ipv6_cidr_block") => vec!["ipv6_cidr_block_association_id"],
        Some(Kind::VpcDhcpOptionsAssociation) if changes("dhcp_options_id") => vec!["id"],
        Some(Kind::RouteTableAssociation) if changes("route_table_id") => vec!["id"],
        Some(Kind::EbsVolume) if changes("type") => {
            ["iops", "throughput"].into_iter().filter(|name| left_open(name)).collect()
        }
        Some(Kind::LbListener) if changes("protocol") && left_open("ssl_policy") => vec!["ssl_policy"],
        Some(Kind::Route) if !changed.is_empty() => {
            let targets = ["instance_id", "network_interface_id"].into_iter().filter(|name| left_open(name));
            targets.chain(["state"]).collect()
        }
        None
        | Some(
            Kind::AutoscalingGroup
            | Kind::AutoscalingLifecycleHook
            | Kind::CloudwatchEventRule
            | Kind::CloudwatchEventTarget
            | Kind::EbsVolume
            | Kind::EgressOnlyInternetGateway
            | Kind::Eip
            | Kind::IamInstanceProfile
            | Kind::IamOpenidConnectProvider
            | Kind::IamRole
            | Kind::IamRolePolicy
            | Kind::IamRolePolicyAttachment
            | Kind::Instance
            | Kind::InternetGateway
            | Kind::KeyPair
            | Kind::KmsKey
            | Kind::LaunchTemplate
            | Kind::Lb
            | Kind::LbListener
            | Kind::LbTargetGroup
            | Kind::NatGateway
            | Kind::Route
            | Kind::Route53Record
            | Kind::Route53Zone
            | Kind::Route53ZoneAssociation
            | Kind::RouteTable
            | Kind::RouteTableAssociation
            | Kind::S3Object
            | Kind::SecurityGroup
            | Kind::SecurityGroupRule
            | Kind::SqsQueue
            | Kind::Subnet
            | Kind::Vpc
            | Kind::VpcDhcpOptions
            | Kind::VpcDhcpOptionsAssociation
            | Kind::VpcIpv4CidrBlockAssociation,
        ) => Vec::new(),
    };
    names.into_iter().map(Path::key).collect()
}

/// Load balancers and target groups of another tool are found by their tags, and may have any name. The name
/// is kept, because another name would be another object.
fn with_name_as_found(kind: &str, mut wanted: Value, observed: &Value) -> Value {
    let name = Path::key("name");
    let is_known_by = |key: &str| {
        let key = Path::key("tags").child(key);
        observed.at(&key).is_some_and(|tag| wanted.at(&key) == Some(tag))
    };
    if matches!(kind, "aws_lb" | "aws_lb_target_group")
        && ["KubernetesCluster", "Name"].into_iter().all(is_known_by)
        && let Some(found) = observed.at(&name)
    {
        wanted.set(&name, found.clone());
    }
    wanted
}

/// If the spec leaves a load balancer's addresses to AWS, the present ones are kept.
fn with_addresses_as_found(kind: &str, mut wanted: Value, observed: &Value) -> Value {
    if kind != "aws_lb" {
        return wanted;
    }
    let found = observed.get("subnet_mapping").and_then(Value::as_list).unwrap_or_default();
    if let Value::Map(entries) = &mut wanted
        && let Some(Value::List(mappings)) = entries.get_mut("subnet_mapping")
    {
        for mapping in mappings {
            let same = |found: &&Value| found.get("subnet_id") == mapping.get("subnet_id");
            if let (Some(Value::Map(found)), Value::Map(mapping)) =
                (found.iter().find(same).cloned(), mapping)
            {
                for name in ["private_ipv4_address", "ipv6_address"] {
                    if let Some(address) = found.get(name) {
                        mapping.entry(name.to_owned()).or_insert_with(|| address.clone());
                    }
                }
            }
        }
    }
    wanted
}

/// A group of another tool uses the newest version of its launch template. The version is kept while the
/// template does not change; a new version is set by its number.
fn with_version_as_found(mut wanted: Value, observed: &Value) -> Value {
    let own = Path::key("launch_template").index(0).child("version");
    let of_mix = Path::key("mixed_instances_policy").index(0).child("launch_template").index(0);
    let of_mix = of_mix.child("launch_template_specification").index(0).child("version");
    for path in [own, of_mix] {
        let moves = observed
            .at(&path)
            .filter(|version| version.as_str().is_some_and(|version| version.starts_with('$')));
        if let Some(version) = moves
            && wanted.at(&path).is_some_and(|wanted| wanted.as_str().is_some())
        {
            wanted.set(&path, version.clone());
        }
    }
    wanted
}

fn invalid(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Invalid, text.into())
}

#[cfg(test)]
mod tests;
