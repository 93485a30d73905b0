//! Control planes whose machines have lost the data of etcd, as after a reinstallation under the old name.
//!
//! As long as a majority of the members answers, such a machine joins them as a new one does, and its old member is removed.
//! Otherwise the plan is refused: founding members would begin an empty etcd in place of the lost one.

use std::collections::{BTreeMap, BTreeSet};

use slipway_bootstrap::from_cluster::Placement;
use slipway_bootstrap::material::FINGERPRINT;
use slipway_engine::Observed;
use slipway_plan::{ChangeAction, Mode, Observations, Plan, ResourceChange, Snapshot};
use slipway_resource::provider::Catalog;
use slipway_resource::schema::Part;
use slipway_resource::{Address, Value};

use super::expansion::Expansion;
use crate::composition;
use crate::error::Error;
use crate::opened::Opened;
use crate::request::Request;

/// The attribute of a member that joins existing ones, and does not found the cluster.
const JOINS: &str = "learner_first";

/// The attribute of a member that has no vote yet.
const IS_LEARNER: &str = "is_learner";

/// The attribute that only a member has which etcd lists. A host that is lost has a member without it.
const ID: &str = "member_id";

/// What was found of a member of etcd that the state names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    /// A majority of the members lists it.
    Listed,
    /// Its machine has neither the member nor data of it.
    Emptied,
    /// Its machine has data of it, and a majority does not list it: etcd was recovered without it, or it was removed.
    Unlisted,
    /// Nothing that allows a decision, with the reason.
    Unknown(String),
}

/// The members of etcd in a state, and what was found of them.
#[derive(Debug, Default)]
struct Members {
    found: BTreeMap<Address, Found>,
    /// The machines whose members have joined others, also where an interrupted run has not recorded that.
    joined: BTreeSet<String>,
    /// The machines that have a server of the API in the state, and none on them.
    without_api: BTreeSet<String>,
}

impl Members {
    fn of(prior: &Snapshot, observations: &Observations, part: impl Fn(&Address) -> Option<Part>) -> Self {
        let mut members = Self::default();
        for (address, record) in &prior.resources {
            let machine = machine_of(address);
            match part(address) {
                Some(Part::EtcdMember) => {
                    let objects = observations.objects(address);
                    let is = |value: Option<&Value>, name: &str| {
                        value.and_then(|value| value.get(name)).and_then(Value::as_bool) == Some(true)
                    };
                    let listed = objects.iter().map(|found| &found.attributes);
                    if is(record.applied.as_ref(), JOINS) || listed.clone().any(|it| is(Some(it), IS_LEARNER))
                    {
                        members.joined.insert(machine.to_owned());
                    }
                    members.found.insert(address.clone(), found(address, observations));
                }
                Some(Part::ApiServer) if is_absent(address, observations) => {
                    members.without_api.insert(machine.to_owned());
                }
                _ => {}
            }
        }
        members
    }

    fn those(&self, wanted: &Found) -> impl Iterator<Item = &Address> {
        self.found.iter().filter(move |(_, found)| *found == wanted).map(|(address, _)| address)
    }

    /// The members that are gone with their data, among these resources.
    fn emptied(&self, desired: &BTreeSet<&Address>) -> Vec<Address> {
        self.those(&Found::Emptied).filter(|address| desired.contains(address)).cloned().collect()
    }

    /// Refuses to set up machines without data while no majority of the members answers.
    fn check_majority(&self, cluster: &str, emptied: &[Address]) -> Result<(), Error> {
        if emptied.is_empty() || self.those(&Found::Listed).next().is_some() {
            return Ok(());
        }
        let survives = self.found.values().any(|found| matches!(found, Found::Unlisted | Found::Unknown(_)));
        Err(Error::EtcdEmptied { cluster: cluster.to_owned(), members: self.described(), survives })
    }

    /// Each member with what was found, in sentences.
    fn described(&self) -> Vec<String> {
        let describe = |(address, found): (&Address, &Found)| {
            let machine = machine_of(address);
            match found {
                Found::Listed => format!("{machine}: its member answers"),
                Found::Emptied => format!("{machine}: the machine has no data of etcd"),
                Found::Unlisted => {
                    format!("{machine}: the machine has data of etcd, and etcd does not list its member")
                }
                Found::Unknown(why) if why.contains(machine) => why.clone(),
                Found::Unknown(why) => format!("{machine}: {why}"),
            }
        };
        self.found.iter().map(describe).collect()
    }

    /// The placement in which machines without data join the others, and a machine with data is the endpoint.
    fn place(&self, emptied: &[Address], placement: &mut Placement) {
        let emptied: BTreeSet<&str> = emptied.iter().map(machine_of).collect();
        for machine in &mut placement.machines {
            machine.rejoins = emptied.contains(machine.name.as_str());
            machine.founding &= !machine.rejoins && !self.joined.contains(&machine.name);
            if machine.rejoins {
                machine.found = None;
            }
        }
        // Without etcd, an API server does not answer.
        let is_unlisted =
            |name: &str| self.those(&Found::Unlisted).any(|address| machine_of(address) == name);
        let is_down = |name: &str| self.without_api.contains(name) || is_unlisted(name);
        let falls = placement.elected.as_deref().is_some_and(is_down);
        let stands = self.those(&Found::Listed).map(machine_of).find(|name| !is_down(name));
        if let Some(stands) = stands.filter(|_| falls) {
            placement.elected = Some(stands.to_owned());
        }
    }
}

/// What was found of the member of an address.
fn found(address: &Address, observations: &Observations) -> Found {
    let data = Address::new("directory", format!("{}/etcd-data", machine_of(address)));
    if let Some(error) = [address, &data].into_iter().find_map(|one| observations.why_unreadable(one)) {
        return Found::Unknown(error.message.clone());
    }
    let holds = |address: &Address, name: &str| {
        let mut values = observations.objects(address).iter().filter_map(|found| found.attributes.get(name));
        values.any(|value| !value.is_null())
    };
    if holds(address, ID) {
        return Found::Listed;
    }
    if !observations.objects(address).is_empty() {
        return Found::Unknown("its host is given up".to_owned());
    }
    if holds(&data, FINGERPRINT) {
        return Found::Unlisted;
    }
    Found::Emptied
}

fn is_absent(address: &Address, observations: &Observations) -> bool {
    observations.why_unreadable(address).is_none() && observations.objects(address).is_empty()
}

/// The machine that an object is on, which is the first segment of its name.
fn machine_of(address: &Address) -> &str {
    address.name().split('/').next().unwrap_or_default()
}

/// The same catalogs with other placements.
fn placed(
    catalogs: &BTreeMap<String, Catalog>,
    change: impl Fn(&mut Placement),
) -> Result<BTreeMap<String, Catalog>, Error> {
    let mut changed = catalogs.clone();
    for catalog in changed.values_mut() {
        let Some(before) = composition::placement(catalog)? else { continue };
        let mut placement = before.clone();
        change(&mut placement);
        if placement != before {
            *catalog = composition::with_placement(catalog, &placement)?;
        }
    }
    Ok(changed)
}

/// The catalogs without the marks of an earlier plan for machines that had to join again.
pub(super) fn settled(catalogs: &BTreeMap<String, Catalog>) -> Result<BTreeMap<String, Catalog>, Error> {
    placed(catalogs, |placement| {
        placement.machines.iter_mut().for_each(|machine| machine.rejoins = false);
    })
}

impl Opened {
    /// Expands the cluster again where machines have lost the data of etcd. Returns the addresses of their members.
    ///
    /// # Errors
    /// [`Error::EtcdEmptied`] when no majority of the members answers.
    pub(super) async fn rejoin(
        &self,
        request: &Request,
        prior: Option<&Snapshot>,
        observed: &Observed,
        expansion: &mut Expansion,
    ) -> Result<Vec<Address>, Error> {
        let Some(prior) = prior.filter(|_| request.mode == Mode::Apply && !self.is_offline()) else {
            return Ok(Vec::new());
        };
        let members = Members::of(prior, &observed.observations, |address| self.providers().part(address));
        let desired: BTreeSet<&Address> = expansion.desired.iter().map(|desired| &desired.address).collect();
        let emptied = members.emptied(&desired);
        members.check_majority(&self.spec.cluster.name, &emptied)?;
        let pinned = settled(&prior.catalogs)?;
        let catalogs = placed(&pinned, |placement| members.place(&emptied, placement))?;
        if catalogs != pinned {
            *expansion = self.expanded(request, prior, catalogs).await?;
        }
        Ok(emptied)
    }

    async fn expanded(
        &self,
        request: &Request,
        prior: &Snapshot,
        catalogs: BTreeMap<String, Catalog>,
    ) -> Result<Expansion, Error> {
        let mut expansion = self.expand(catalogs).await?;
        self.check_api(&expansion.catalogs)?;
        expansion.add_keys(Some(prior));
        self.add_inside(&self.spec, request, Some(prior), &mut expansion).await?;
        Ok(expansion)
    }
}

/// Requires one confirmation by name for each member that is replaced by a new one. What else was on its machine comes from the
/// state and from the other members, and is not lost. A plan of a part that leaves the member out names each object instead.
pub(super) fn name(plan: &mut Plan, emptied: &[Address]) {
    let is_made = |address: &&Address| {
        let made =
            |change: &ResourceChange| change.action == ChangeAction::Create && change.address == **address;
        plan.changes.iter().any(made)
    };
    let machines: BTreeSet<&str> = emptied.iter().filter(is_made).map(machine_of).collect();
    for change in &mut plan.changes {
        if change.action != ChangeAction::Create || !machines.contains(machine_of(&change.address)) {
            continue;
        }
        change.confirmation = None;
        if emptied.contains(&change.address) {
            change.confirm(
                "its machine has no data of etcd any more: the old member is removed from etcd, and a new one joins the others",
            );
        }
    }
}

#[cfg(test)]
mod tests;
