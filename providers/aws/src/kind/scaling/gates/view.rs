//! A group and its instances, as they are now.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_autoscaling::types as sdk;
use aws_sdk_ec2::types::{Filter, Instance, InstanceStateName};
use slipway_aws_model::plan::Manner;
use slipway_resource::ProviderError;

use crate::batch::Family;
use crate::cloud::Cloud;
use crate::kind::scaling::group::Groups;
use crate::look::{Listing, Look, filter};
use crate::owner::{Tags, of_ec2};
use crate::rate::Class;

/// How a group's instances are replaced, as a tag of the group.
pub(in crate::kind::scaling) const ROLLOUT: &str = "slipway.dev/rollout";
/// The group that an instance has left for its replacement.
pub(super) const DETACHED: &str = "slipway.dev/detached";
/// Says of an instance that has left its group that nothing comes for it.
pub(in crate::kind::scaling) const RETIRED: &str = "slipway.dev/retired";
/// The token of the gate for which an instance left, or came.
pub(super) const SURGE: &str = "slipway.dev/surge";
/// The sizes that a group had before it got larger for the replacement of an instance: the desired capacity and the maximum.
pub(super) const GROWN: &str = "slipway.dev/grown";
/// The slot that an instance fills.
pub(super) const SLOT: &str = "slipway.dev/slot";

/// How many values one filter takes.
const VALUES: usize = 200;

/// One instance.
#[derive(Clone, Debug, Default)]
pub(super) struct Machine {
    /// Its id.
    pub id: String,
    /// Its zone.
    pub zone: String,
    /// When it was launched, in seconds since 1970; the end of time for one that is too new to be described.
    pub launched: i64,
    /// Its tags.
    pub tags: Tags,
    /// The launch template that it was made from, and the version.
    pub made_from: Option<(String, String)>,
    /// Where it is in its group, as `InService`.
    pub state: String,
    /// Whether AWS takes it for healthy.
    pub healthy: bool,
    /// How many units of capacity it counts.
    pub weight: i64,
}

impl Machine {
    /// The value of a tag.
    pub fn tag(&self, key: &str) -> Option<&str> {
        self.tags.get(key).map(String::as_str)
    }

    /// Whether it is in service and healthy.
    pub fn is_in_service(&self) -> bool {
        self.state == "InService" && self.healthy
    }

    fn described(mut self, instance: &Instance) -> Self {
        self.tags = of_ec2(instance.tags());
        self.launched = instance.launch_time().map_or(i64::MAX, |launched| launched.secs());
        if let Some(zone) = instance.placement().and_then(|placement| placement.availability_zone()) {
            zone.clone_into(&mut self.zone);
        }
        self
    }
}

/// A group and its instances.
#[derive(Debug)]
pub(super) struct View {
    /// The desired capacity.
    pub desired: i64,
    /// The maximum size.
    pub max: i64,
    /// Whether all of its instances are in one subnet.
    pub in_one_subnet: bool,
    /// How its instances are replaced.
    pub manner: Manner,
    /// The launch template that new instances are made from, and the version; `None` for a version that moves.
    pub wanted: Option<(String, String)>,
    /// Its target groups, in which Auto Scaling registers its instances.
    pub target_groups: Vec<String>,
    /// Instances that are in it and stay for now.
    pub attached: Vec<Machine>,
    /// Instances that have left it for their replacements, and still run.
    pub detached: Vec<Machine>,
}

impl View {
    /// Looks; `None` when the group does not exist.
    ///
    /// # Errors
    /// As the calls say.
    pub async fn look(cloud: &Cloud, name: &str) -> Result<Option<Self>, ProviderError> {
        let (group, detached) = tokio::join!(cloud.get::<Groups>(name), alive_detached(cloud, name));
        let Some(group) = group? else { return Ok(None) };
        let staying: Vec<Machine> = group.instances().iter().filter_map(member).collect();
        let ids: Vec<String> = staying.iter().map(|machine| machine.id.clone()).collect();
        let wanted_ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let described = by_ids(cloud, &wanted_ids).await?;
        let attached = staying
            .into_iter()
            .map(|machine| {
                let of_it = described.iter().find(|found| found.instance_id() == Some(machine.id.as_str()));
                match of_it {
                    Some(instance) => machine.described(instance),
                    None => machine,
                }
            })
            .collect();
        let detached = detached?
            .iter()
            .filter_map(|instance| {
                let id = instance.instance_id().filter(|id| !wanted_ids.contains(id))?;
                Some(Machine { id: id.to_owned(), ..Machine::default() }.described(instance))
            })
            .collect();
        Ok(Some(Self {
            desired: group.desired_capacity().map(i64::from).unwrap_or_default(),
            max: group.max_size().map(i64::from).unwrap_or_default(),
            in_one_subnet: group.vpc_zone_identifier().is_none_or(|subnets| !subnets.contains(',')),
            manner: manner(&group),
            wanted: wanted(&group),
            target_groups: target_groups(&group),
            attached,
            detached,
        }))
    }

    /// The instance of an id, in the group or out of it.
    pub fn machine(&self, id: &str) -> Option<&Machine> {
        self.attached.iter().chain(&self.detached).find(|machine| machine.id == id)
    }

    /// How many instances have left it for their replacements.
    pub fn replaced(&self) -> usize {
        self.detached.iter().filter(|machine| machine.tag(RETIRED).is_none()).count()
    }

    /// How many units of capacity are in the group.
    pub fn units(&self) -> i64 {
        self.attached.iter().map(|machine| machine.weight).sum()
    }

    /// Whether an instance is as new ones are.
    pub fn is_current(&self, machine: &Machine) -> bool {
        self.wanted.is_none() || machine.made_from == self.wanted
    }
}

/// An instance that is in its group and not on its way out.
fn member(instance: &sdk::Instance) -> Option<Machine> {
    let state = instance.lifecycle_state().map(sdk::LifecycleState::as_str).unwrap_or_default();
    let is_going =
        state.starts_with("Terminat") || state.starts_with("Detach") || state.starts_with("Warmed");
    let template = instance.launch_template();
    let made_from = template.and_then(|template| {
        Some((template.launch_template_id()?.to_owned(), template.version()?.to_owned()))
    });
    Some(Machine {
        id: instance.instance_id().filter(|_| !is_going)?.to_owned(),
        zone: instance.availability_zone().unwrap_or_default().to_owned(),
        launched: i64::MAX,
        made_from,
        state: state.to_owned(),
        healthy: instance.health_status() != Some("Unhealthy"),
        weight: instance.weighted_capacity().and_then(|weight| weight.parse().ok()).unwrap_or(1),
        ..Machine::default()
    })
}

/// How a group's instances are replaced, by its tag.
fn manner(group: &sdk::AutoScalingGroup) -> Manner {
    let line = group.tags().iter().find(|tag| tag.key() == Some(ROLLOUT)).and_then(|tag| tag.value());
    line.map(Manner::from_line).unwrap_or_default()
}

/// The target groups in which Auto Scaling registers the instances of a group; none while it does not register any.
fn target_groups(group: &sdk::AutoScalingGroup) -> Vec<String> {
    let mut suspended = group.suspended_processes().iter().filter_map(|process| process.process_name());
    if suspended.any(|process| process == "AddToLoadBalancer") {
        return Vec::new();
    }
    group.target_group_arns().to_vec()
}

/// The template from which a group launches its instances.
pub(super) fn wanted(group: &sdk::AutoScalingGroup) -> Option<(String, String)> {
    let mixed = group.mixed_instances_policy().and_then(|policy| policy.launch_template());
    let template = match mixed {
        Some(template) => template.launch_template_specification(),
        None => group.launch_template(),
    }?;
    let version = template.version().filter(|version| !version.starts_with('$'))?;
    Some((template.launch_template_id()?.to_owned(), version.to_owned()))
}

/// Instances that have left a group for their replacements, and still run.
///
/// # Errors
/// As the call says.
pub(in crate::kind::scaling) async fn alive_detached(
    cloud: &Cloud,
    group: &str,
) -> Result<Vec<Instance>, ProviderError> {
    Ok(cloud.get::<OfGroups>(group).await?.map(|instances| (*instances).clone()).unwrap_or_default())
}

/// Instances that have left their groups and still run, by group.
struct OfGroups;

#[async_trait]
impl Family for OfGroups {
    type Item = Vec<Instance>;
    const LIMIT: usize = VALUES;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Vec<Instance>>, ProviderError> {
        let alive = ["pending", "running", "stopping", "stopped"];
        let tag = filter(&format!("tag:{DETACHED}"), keys.iter().map(String::as_str));
        let mut found: BTreeMap<String, Vec<Instance>> = BTreeMap::new();
        for instance in describe(cloud, vec![tag, filter("instance-state-name", alive)]).await? {
            if let Some(group) = of_ec2(instance.tags()).get(DETACHED) {
                found.entry(group.clone()).or_default().push(instance);
            }
        }
        Ok(found)
    }
}

/// The instances of a cluster that have left their groups and still run, each with its group.
pub(in crate::kind::scaling) struct Detached(pub Vec<(String, Instance)>);

#[async_trait]
impl Listing for Detached {
    async fn list(look: &Look) -> Result<Self, ProviderError> {
        let ids = look.tagged("instance").await?;
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let found = by_ids(&look.cloud, &ids).await?.into_iter().filter(is_alive);
        let with_group = found.filter_map(|instance| {
            let group = of_ec2(instance.tags()).get(DETACHED)?.clone();
            Some((group, instance))
        });
        Ok(Self(with_group.collect()))
    }
}

/// Whether an instance runs, or may run again.
pub(super) fn is_alive(instance: &Instance) -> bool {
    let state = instance.state().and_then(|state| state.name());
    !matches!(state, Some(InstanceStateName::ShuttingDown | InstanceStateName::Terminated))
}

/// Instances by id; one that is not known is left out.
///
/// # Errors
/// As the calls say.
pub(in crate::kind::scaling) async fn by_ids(
    cloud: &Cloud,
    ids: &[&str],
) -> Result<Vec<Instance>, ProviderError> {
    let mut found = Vec::new();
    for part in ids.chunks(VALUES) {
        found.extend(describe(cloud, vec![filter("instance-id", part.iter().copied())]).await?);
    }
    Ok(found)
}

async fn describe(cloud: &Cloud, filters: Vec<Filter>) -> Result<Vec<Instance>, ProviderError> {
    let request = cloud.ec2().describe_instances().set_filters(Some(filters));
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud.pages(Class::Ec2Read, "DescribeInstances", send, |page| page.next_token()).await?;
    let reservations = pages.iter().flat_map(|page| page.reservations());
    Ok(reservations.flat_map(|reservation| reservation.instances()).cloned().collect())
}
