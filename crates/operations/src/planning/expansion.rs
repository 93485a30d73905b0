//! The resources of a cluster, by what the state has pinned and what the providers add to it now.

use std::collections::BTreeMap;

use slipway_plan::{ProviderHandle, Snapshot};
use slipway_resource::provider::{Catalog, CatalogRequest, ExpandNote, ExpandRequest};
use slipway_resource::{Address, AddressError, Attribute, Desired, Identity, Moved, Names, SecretText};

use crate::composition::{self, Manifests};
use crate::error::Error;
use crate::opened::Opened;
use crate::spec::ClusterSpec;
use crate::state::to_provider;

/// The resources of a cluster.
#[derive(Default)]
pub struct Expansion {
    /// The desired resources.
    pub desired: Vec<Desired>,
    /// The keys of a cluster whose control planes read them from its state. A plan decides whether it has them
    /// ([`keys`](super::keys)).
    pub(crate) keys: Vec<Desired>,
    /// The key of the cloud's key service for which these keys are encrypted too, and the permissions to use it. A plan has them
    /// with the keys, or not.
    pub(crate) reader: Vec<Desired>,
    /// The API that the provider's machines serve, and the objects of add-ons behind it. A plan decides whether it has them
    /// ([`inside`](super::inside)).
    pub(crate) inside: Vec<Desired>,
    /// Remarks on the spec.
    pub notes: Vec<ExpandNote>,
    /// The choices of the providers that were made for it.
    pub catalogs: BTreeMap<String, Catalog>,
    /// The texts of secrets in manifests, by the rest of their sources.
    pub(crate) secrets: BTreeMap<String, SecretText>,
}

impl Expansion {
    /// The resources that only Slipway creates, by type, with their number and what they are: the keys of the cluster, its API,
    /// and the objects inside it. [`Expansion::desired`] does not have them.
    #[must_use]
    pub fn only_here(&self) -> BTreeMap<&str, (usize, &'static str)> {
        let mut counts: BTreeMap<&str, (usize, &'static str)> = BTreeMap::new();
        for desired in self.keys.iter().chain(&self.inside) {
            let what = if composition::is_key(desired) {
                "keys of the cluster, which Slipway keeps encrypted in its state"
            } else if composition::is_api(desired) {
                "the API of the cluster, which Slipway waits for"
            } else {
                "objects inside the cluster, which Slipway applies when its API answers"
            };
            counts.entry(desired.address.kind()).or_insert((0, what)).0 += 1;
        }
        for desired in &self.reader {
            let what = "access of the control planes to the keys of the cluster";
            counts.entry(desired.address.kind()).or_insert((0, what)).0 += 1;
        }
        counts
    }
}

impl Opened {
    /// Expands the cluster. Choices that are pinned are kept.
    ///
    /// # Errors
    /// When a provider refuses the spec.
    pub async fn expand(&self, pinned: BTreeMap<String, Catalog>) -> Result<Expansion, Error> {
        self.expand_as(&self.spec, pinned).await
    }

    /// The same for another spec of the cluster.
    pub(crate) async fn expand_as(
        &self,
        spec: &ClusterSpec,
        pinned: BTreeMap<String, Catalog>,
    ) -> Result<Expansion, Error> {
        let mut expansion = Expansion { catalogs: pinned, ..Expansion::default() };
        for (name, handle) in self.providers().iter() {
            let pinned = expansion.catalogs.get(name).cloned();
            let cluster = self.for_provider(spec, handle)?;
            let request = CatalogRequest { cluster: cluster.clone(), pinned };
            let catalog = handle.session.catalog_for(request).await;
            let catalog = catalog.map_err(|error| spec.refused(error))?;
            expansion.catalogs.insert(name.to_owned(), catalog.clone());
            let request = ExpandRequest { cluster, catalog: catalog.clone() };
            let expanded = handle.session.expand(request).await;
            let expanded = expanded.map_err(|error| spec.refused(error))?;
            if handle.info.capabilities.hosts {
                let manifests = Manifests {
                    spec,
                    grounds: &self.grounds,
                    downloads: &*self.environment.downloads,
                    offline: self.is_offline(),
                    lenient: false,
                };
                let inside = composition::expand(&catalog, &expanded.resources, manifests).await?;
                expansion.desired.extend(inside.resources);
                expansion.notes.extend(inside.notes);
                expansion.secrets.extend(inside.secrets);
            }
            let is_inside = |desired: &Desired| {
                composition::is_inside(desired) && !handle.schema.types.contains_key(desired.address.kind())
            };
            let is_key = |desired: &Desired| {
                composition::is_key(desired) && !handle.schema.types.contains_key(desired.address.kind())
            };
            let (keys, others): (Vec<_>, Vec<_>) = expanded.resources.into_iter().partition(is_key);
            let (inside, own): (Vec<_>, Vec<_>) = others.into_iter().partition(is_inside);
            expansion.keys.extend(keys);
            expansion.inside.extend(inside);
            expansion.desired.extend(own);
            expansion.notes.extend(expanded.notes);
        }
        expansion.separate_reader();
        let desired = &mut expansion.desired;
        let remarks = slipway_plan::lifecycle::ignore_changes(desired, ignored(spec), self.providers());
        let remark = |message| ExpandNote { field: "ignoreChanges".to_owned(), message };
        expansion.notes.extend(remarks.into_iter().map(remark));
        slipway_plan::lifecycle::renames(desired, renames(spec)?);
        Ok(expansion)
    }

    /// The choices of one provider for the cluster. Choices that are pinned are kept.
    ///
    /// # Errors
    /// When the provider refuses the spec, or cannot read what it chooses from.
    pub(crate) async fn catalog(
        &self,
        handle: &ProviderHandle,
        pinned: Option<Catalog>,
    ) -> Result<Catalog, Error> {
        let cluster = self.for_provider(&self.spec, handle)?;
        let catalog = handle.session.catalog_for(CatalogRequest { cluster, pinned }).await;
        catalog.map_err(|error| self.spec.refused(error))
    }
}

/// The setting of a provider whose control planes read keys from the state of the cluster: the URL of the state store.
const STATE: &str = "state";

impl Opened {
    /// The cluster as a provider receives it. A provider whose machines read the state learns where it is, if they can
    /// reach it: a folder of this machine is of no use to them.
    fn for_provider(&self, spec: &ClusterSpec, handle: &ProviderHandle) -> Result<serde_json::Value, Error> {
        let is_asked = |attribute: &Attribute| attribute.names == Some(Names::Caller);
        let place = self.environment.store.as_ref().map(|store| store.place.as_str());
        let place = place.filter(|place| place.contains("://") && !place.starts_with("file:"));
        let asks = !handle.info.capabilities.hosts && handle.schema.config.get(STATE).is_some_and(is_asked);
        let mut cluster = spec.planned();
        let Some(place) = place.filter(|_| asks) else { return to_provider(&cluster) };
        let config = &mut cluster.provider.config;
        if config.is_null() {
            *config = serde_json::Value::Object(serde_json::Map::new());
        }
        if let Some(settings) = config.as_object_mut() {
            settings.entry(STATE).or_insert_with(|| place.into());
        }
        to_provider(&cluster)
    }
}

fn ignored(spec: &ClusterSpec) -> impl Iterator<Item = (&str, &str)> {
    let ignored = &spec.cluster.ignore_changes;
    ignored.iter().map(|ignored| (ignored.resource.as_str(), ignored.attribute.as_str()))
}

fn renames(spec: &ClusterSpec) -> Result<Vec<Moved>, Error> {
    let parse = |text: &str| text.parse().map_err(|error: AddressError| Error::BadRename(error));
    let moved = spec.cluster.moved.iter();
    moved.map(|moved| Ok(Moved { from: parse(&moved.from)?, to: parse(&moved.to)? })).collect()
}

/// The existing objects that a spec gives to resources, without those that the state has already.
///
/// # Errors
/// When an address is not valid.
pub(super) fn imports(
    spec: &ClusterSpec,
    prior: Option<&Snapshot>,
) -> Result<BTreeMap<Address, Identity>, Error> {
    let mut imports = BTreeMap::new();
    let applied = prior.and_then(|prior| prior.spec.get("import")?.as_array());
    for import in &spec.cluster.import {
        let address: Address = import.to.parse().map_err(|error: AddressError| Error::BadRename(error))?;
        let identity = Identity::new(import.id.as_str());
        let record = prior.and_then(|prior| prior.resources.get(&address));
        // An entry of the applied spec was carried out: since then, the object may have been replaced.
        let is_known = applied.into_iter().flatten().any(|entry| {
            let is =
                |name: &str, value: &str| entry.get(name).and_then(serde_json::Value::as_str) == Some(value);
            is("to", &import.to) && is("id", &import.id)
        });
        if record.is_none_or(|record| record.identity != identity && !is_known) {
            imports.insert(address, identity);
        }
    }
    Ok(imports)
}
