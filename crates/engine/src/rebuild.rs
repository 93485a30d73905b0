//! Rebuilds the state of a cluster from the objects in the cloud, by their ownership alone.

use std::collections::BTreeMap;

use slipway_plan::observations::Found;
use slipway_plan::{Providers, Record, Snapshot};
use slipway_resource::provider::Catalog;
use slipway_resource::schema::{Held, Irreplaceable};
use slipway_resource::{Address, ClusterUid, Desired, Identity, ResourceType};

use crate::error::Error;
use crate::observe::observe;

/// The parts of a rebuilt state that do not come from the cloud.
#[derive(Debug)]
pub struct Rebuild<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// Its unique id, when something in the store still says so.
    pub uid: Option<ClusterUid>,
    /// The spec, as JSON of the internal type.
    pub spec: serde_json::Value,
    /// The pinned choices of each provider from now on.
    pub catalogs: BTreeMap<String, Catalog>,
    /// The resources that the spec asks for.
    pub desired: &'a [Desired],
    /// The fingerprints of keys that the cluster runs with, where its machines tell: of several keys under one address, the
    /// one with this fingerprint is the right one.
    pub running: BTreeMap<Address, String>,
}

/// A state that was rebuilt.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    /// The state. Of no resource it has what was applied last.
    pub snapshot: Snapshot,
    /// Objects of an address that has another one: the next plan deletes them.
    pub doubled: Vec<(Address, Identity)>,
    /// Resources that the spec asks for and the cloud does not have. The next plan creates them.
    pub missing: Vec<Address>,
}

impl Rebuild<'_> {
    /// Finds everything that carries the cluster's ownership. Changes nothing.
    ///
    /// # Errors
    /// When a provider cannot be asked, something cannot be read, or nothing carries the cluster's ownership.
    pub async fn run(self, providers: &Providers) -> Result<Rebuilt, Error> {
        let known = self.uid.clone().map(|uid| Snapshot::empty(self.cluster, uid));
        if let Some(known) = &known {
            crate::run::check_account(known, providers)?;
        }
        let observed = observe(self.cluster, providers, known.as_ref(), self.desired).await?;
        let unreadable: Vec<String> =
            observed.observations.unreadable().map(|(what, error)| format!("{what}: {error}")).collect();
        if !unreadable.is_empty() {
            return Err(Error::Unreadable { cluster: self.cluster.to_owned(), unreadable });
        }
        let nothing = || Error::NothingOwned { cluster: self.cluster.to_owned() };
        let mut snapshot = Snapshot::empty(self.cluster, observed.uid.ok_or_else(nothing)?);
        let wanted: BTreeMap<&Address, &Desired> =
            self.desired.iter().map(|desired| (&desired.address, desired)).collect();
        let (mut doubled, mut ambiguous) = (Vec::new(), Vec::new());
        for address in observed.observations.addresses() {
            let Some((provider, _, kind)) = providers.of_type(address.kind()) else { continue };
            let objects = observed.observations.objects(address);
            let Some(first) = right_one(objects, kind, self.running.get(address)) else {
                if !objects.is_empty() {
                    let identities = objects.iter().map(|found| found.identity.clone()).collect();
                    ambiguous.push((address.clone(), identities));
                }
                continue;
            };
            let others = objects.iter().filter(|found| found.identity != first.identity);
            doubled.extend(others.map(|found| (address.clone(), found.identity.clone())));
            let desired = wanted.get(address);
            let lifecycle = desired.map(|desired| &desired.lifecycle);
            let record = Record {
                provider: provider.to_owned(),
                schema_version: kind.version,
                identity: first.identity.clone(),
                applied: None,
                depends_on: desired.map(|desired| desired.dependencies()).unwrap_or_default(),
                retain: lifecycle.is_some_and(|lifecycle| lifecycle.retain),
                protected: lifecycle.is_some_and(|lifecycle| lifecycle.protected),
                existing: lifecycle.is_some_and(|lifecycle| lifecycle.existing.is_some()),
                as_found: BTreeMap::new(),
                untagged: false,
                deposed: Vec::new(),
            };
            snapshot.resources.insert(address.clone(), record);
        }
        if !ambiguous.is_empty() {
            return Err(Error::Ambiguous { cluster: self.cluster.to_owned(), ambiguous });
        }
        if snapshot.resources.values().all(|record| record.existing) {
            return Err(nothing());
        }
        snapshot.spec = self.spec;
        snapshot.catalogs = self.catalogs;
        snapshot.scopes = providers
            .iter()
            .map(|(name, handle)| (name.to_owned(), handle.session.scope().clone()))
            .collect();
        let missing: Vec<Address> = wanted
            .into_keys()
            .filter(|address| !snapshot.resources.contains_key(*address))
            .cloned()
            .collect();
        snapshot.forgotten = without_data(&snapshot, &missing, providers);
        Ok(Rebuilt { snapshot, doubled, missing })
    }
}

/// Those of the addresses at which nothing was found that hold data, as a snapshot has them. After the deletion of a cluster
/// there are only kept objects, and its disks are not missing.
pub(crate) fn without_data(
    snapshot: &Snapshot,
    missing: &[Address],
    providers: &Providers,
) -> BTreeMap<Address, Vec<Identity>> {
    if snapshot.resources.values().all(|record| record.retain || record.existing) {
        return BTreeMap::new();
    }
    let holds_data = |address: &&Address| {
        let rule = providers.of_type(address.kind()).and_then(|(_, _, kind)| kind.irreplaceable.as_ref());
        rule.is_some_and(Irreplaceable::is_data)
    };
    missing.iter().filter(holds_data).map(|address| (address.clone(), Vec::new())).collect()
}

/// The object to keep of several under one address. Of irreplaceable ones it is the one that the cluster runs
/// with; `None` if that is not known, since the others would be deleted.
fn right_one<'a>(objects: &'a [Found], kind: &ResourceType, running: Option<&String>) -> Option<&'a Found> {
    let Some(rule) = &kind.irreplaceable else { return objects.first() };
    let held = |found: &Found| rule.held(Some(&found.identity), &found.attributes);
    if let Some(running) = running
        && let Some(found) = objects.iter().find(|found| held(found) == Held::Known(running.clone()))
    {
        return Some(found);
    }
    match objects {
        [only] => Some(only),
        _ => None,
    }
}
