//! An upgrade changes the version and nothing else: it starts from the spec that is applied, and leaves out what else the
//! written spec asks for.

use std::collections::{BTreeMap, BTreeSet};

use slipway_engine::State;
use slipway_plan::{LeftOut, Plan, ResourceChange, Snapshot, Uncompared};
use slipway_resource::provider::{Catalog, ExpandNote};
use slipway_resource::{Address, Desired, SecretText};
use slipway_spec::model::{Cluster, Manifest};
use slipway_spec::source::Origin;
use slipway_spec::value::KubernetesVersion;

use crate::error::{Error, VersionError};
use crate::opened::Opened;
use crate::request::Request;
use crate::reversible::Release;
use crate::spec::ClusterSpec;
use crate::state::{in_applied_order, spec_of, to_json};

/// A change of version, separated from the other changes of the spec.
#[derive(Clone, Debug)]
pub(crate) struct VersionChange {
    /// The spec of the state at the present version. Its differences from the new one belong to the version
    /// change.
    from: Box<ClusterSpec>,
    /// The spec of the state, as the upgrade found it.
    found: serde_json::Value,
    /// The written spec at the new version. Its other changes are named and left out.
    pub written: Box<ClusterSpec>,
}

/// The comparison for a plan of a version change.
pub(crate) struct Beside {
    /// The resources at the version that is left.
    pub at_from: Vec<Desired>,
    /// The resources that the written spec asks for at the new version.
    pub written: Vec<Desired>,
    /// Their pinned choices of each provider.
    pub catalogs: BTreeMap<String, Catalog>,
    /// Of those: resources whose secrets cannot be compared, with the reason.
    pub uncompared: BTreeMap<Address, Uncompared>,
    /// The texts of secrets in manifests, by the rest of their sources.
    pub secrets: BTreeMap<String, SecretText>,
}

/// The applied spec at another release, and the comparison for its plan.
///
/// Access to the provider and the hosts, and paths of files, come from the written spec: they create nothing,
/// and the recorded ones may belong to another checkout.
pub(crate) fn narrowed(
    written: &ClusterSpec,
    state: Option<&State>,
    from: &Release,
    to: &Release,
) -> Result<(ClusterSpec, VersionChange), Error> {
    let found = state.map(|state| state.snapshot.spec.clone()).unwrap_or_default();
    let written = &in_applied_order(written.clone(), state);
    let applied = applied_here(written, state)?;
    let change = VersionChange {
        from: Box::new(at_release(&applied, written, from)),
        found,
        written: Box::new(at_release(written, written, to)),
    };
    let mut upgraded = at_release(&applied, written, to);
    // The written spec lists the kubelet of the new version; the applied one may not.
    upgraded.cluster.assets.programs.clone_from(&written.cluster.assets.programs);
    Ok((upgraded, change))
}

/// The spec that is applied, with access to the provider and the hosts, and paths of files, from the written spec.
///
/// # Errors
/// When the state does not have the spec.
pub(crate) fn applied_here(written: &ClusterSpec, state: Option<&State>) -> Result<ClusterSpec, Error> {
    let applied = state.map(|state| spec_of(&state.snapshot)).transpose()?.flatten();
    let missing = || VersionError::NoAppliedSpec { cluster: written.cluster.name.clone() };
    let mut applied = applied.ok_or_else(missing)?;
    where_things_are_now(&mut applied, &written.cluster);
    let mut here = written.clone();
    here.cluster = applied;
    Ok(here)
}

/// Takes the access to the provider and the hosts, the paths of files, and the terms and gates of an upgrade, from the written spec.
fn where_things_are_now(applied: &mut Cluster, written: &Cluster) {
    applied.provider = written.provider.clone();
    applied.control_plane.soak = written.control_plane.soak;
    applied.control_plane.on_broken_gate = written.control_plane.on_broken_gate;
    applied.control_plane.gates.clone_from(&written.control_plane.gates);
    for host in &mut applied.hosts {
        if let Some(now) = written.hosts.iter().find(|now| now.name == host.name) {
            host.ssh.clone_from(&now.ssh);
        }
    }
    for addon in &mut applied.addons {
        let now = written.addons.iter().find(|now| now.name == addon.name);
        let now = now.and_then(|now| now.manifest.as_ref());
        if let (Some(Manifest::File(_)), Some(Manifest::File(file))) = (&addon.manifest, now) {
            addon.manifest = Some(Manifest::File(file.clone()));
        }
    }
}

/// A cluster at another release, with all pools that follow the cluster's version.
fn at_release(spec: &ClusterSpec, written: &ClusterSpec, release: &Release) -> ClusterSpec {
    let mut next = at_version(spec, written, &release.version);
    next.cluster.emulated_version.clone_from(&release.emulated);
    // An upgrade that somebody asks for is not held back.
    next.cluster.turned_back_from = None;
    next
}

/// A cluster at another version, with all pools that follow the cluster's version.
pub(crate) fn at_version(
    spec: &ClusterSpec,
    written: &ClusterSpec,
    version: &KubernetesVersion,
) -> ClusterSpec {
    let mut next = spec.clone();
    let has_own = |name: &str| {
        matches!(written.sources.origin(&format!("pools[{name}].kubernetesVersion")), Origin::Written(_))
    };
    let current = &spec.cluster.kubernetes_version;
    for pool in &mut next.cluster.pools {
        if pool.kubernetes_version == *current && !has_own(&pool.name) {
            pool.kubernetes_version = version.clone();
        }
    }
    next.cluster.kubernetes_version = version.clone();
    next
}

impl VersionChange {
    /// Expands the comparison for its plan.
    ///
    /// # Errors
    /// When the state has another spec by now, or a provider refuses.
    pub async fn expand(
        &self,
        opened: &Opened,
        request: &Request,
        prior: Option<&Snapshot>,
    ) -> Result<Beside, Error> {
        let recorded = prior.map(|prior| &prior.spec);
        let own = to_json(&opened.spec.cluster)?;
        if recorded.is_none_or(|recorded| *recorded != self.found && *recorded != own) {
            return Err(VersionError::OtherSpecApplied { cluster: opened.spec.cluster.name.clone() }.into());
        }
        let pinned = || prior.map(|prior| prior.catalogs.clone()).unwrap_or_default();
        let mut at_from = opened.expand_as(&self.from, pinned()).await?;
        let mut written = opened.expand_as(&self.written, pinned()).await?;
        at_from.add_keys(prior);
        written.add_keys(prior);
        opened.add_inside(&self.from, request, prior, &mut at_from).await?;
        opened.add_inside(&self.written, request, prior, &mut written).await?;
        let mut secrets = at_from.secrets;
        secrets.extend(written.secrets);
        Ok(Beside {
            at_from: at_from.desired,
            written: written.desired,
            catalogs: written.catalogs,
            uncompared: BTreeMap::new(),
            secrets,
        })
    }
}

/// The resources that a change of version brings: those that differ between the versions, come with it, or go, and those
/// that refer to one of them: a group of machines changes with the template that it launches machines from.
pub(crate) fn brings(from: &[Desired], to: &[Desired]) -> BTreeSet<Address> {
    let by_address = |all: &[Desired]| -> BTreeMap<Address, Desired> {
        all.iter().map(|desired| (desired.address.clone(), desired.clone())).collect()
    };
    let mut referring: BTreeMap<Address, Vec<&Address>> = BTreeMap::new();
    for desired in to {
        desired.attributes.for_each_reference(&mut |reference| {
            referring.entry(reference.address.clone()).or_default().push(&desired.address);
        });
    }
    let (from, to) = (by_address(from), by_address(to));
    let is_other = |address: &&Address| {
        let attributes =
            |side: &BTreeMap<Address, Desired>| side.get(*address).map(|desired| desired.attributes.clone());
        attributes(&from) != attributes(&to)
    };
    let mut brought = BTreeSet::new();
    let mut next: Vec<Address> = from.keys().chain(to.keys()).filter(is_other).cloned().collect();
    while let Some(address) = next.pop() {
        let others = referring.get(&address).into_iter().flatten().copied().cloned();
        if brought.insert(address) {
            next.extend(others);
        }
    }
    brought
}

/// Names what the whole written spec would change and the plan of the version change does not.
pub(crate) fn name_left_out(plan: &mut Plan, whole: Result<Plan, slipway_plan::Error>) {
    let whole = match whole {
        Ok(whole) => whole,
        Err(error) => {
            let message = format!(
                "what else the spec changes is left out of this upgrade, and cannot be planned: {error}"
            );
            plan.notes.push(ExpandNote { field: "spec".to_owned(), message });
            return;
        }
    };
    let is_done = |change: &&ResourceChange| {
        let same = |own: &ResourceChange| {
            own.address == change.address && own.action == change.action && own.after == change.after
        };
        !plan.changes.iter().any(same)
    };
    let mut pending: BTreeMap<Address, LeftOut> =
        plan.pending.drain(..).map(|left_out| (left_out.address.clone(), left_out)).collect();
    for change in whole.changes.iter().filter(is_done) {
        let left_out = LeftOut {
            address: change.address.clone(),
            action: change.action,
            rolls: !change.machines.is_empty(),
        };
        pending.insert(change.address.clone(), left_out);
    }
    plan.pending = pending.into_values().collect();
    plan.left_out = plan.pending.len() as u64;
}

#[cfg(test)]
mod tests {
    use slipway_resource::{Reference, Value};

    use super::*;

    fn desired(name: &str, attributes: Vec<(&str, Value)>) -> Desired {
        Desired::new(Address::new("thing", name), Value::map(attributes))
    }

    #[test]
    fn what_refers_to_a_change_comes_with_it() {
        let refers = |to: &str| {
            let reference =
                Reference { address: Address::new("thing", to), path: slipway_resource::Path::key("id") };
            vec![("of", Value::from(reference))]
        };
        let all = |version: &str| {
            vec![
                desired("template", vec![("version", version.into())]),
                desired("group", refers("template")),
                desired("alarm", refers("group")),
                desired("other", refers("network")),
                desired("network", Vec::new()),
            ]
        };
        let names = |found: BTreeSet<Address>| -> Vec<String> {
            found.iter().map(|address| address.name().to_owned()).collect()
        };
        assert_eq!(names(brings(&all("1"), &all("2"))), ["alarm", "group", "template"]);
        assert!(brings(&all("1"), &all("1")).is_empty());
    }
}
