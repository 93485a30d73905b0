//! //! The first state of a cluster that another tool made. Slipway finds what exists and changes nothing.

mod kept;

use std::collections::{BTreeMap, BTreeSet};

use slipway_plan::{Providers, Record, Snapshot, resolve_known};
use slipway_resource::provider::{
    Action, Applied, ApplyRequest, Catalog, EventSink, LocateItem, LocateRequest, Located,
};
use slipway_resource::schema::{OwnershipKind, Part};
use slipway_resource::{
    Address, ClusterUid, Desired, Digest, Identity, Ownership, Path, ResourceType, Token, Value,
};

use self::kept::Match;
use crate::error::Error;
use crate::rebuild::without_data;

/// A cluster to take over.
#[derive(Debug)]
pub struct Adoption<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// Its unique id from now on.
    pub uid: ClusterUid,
    /// The spec, as JSON of the internal type.
    pub spec: serde_json::Value,
    /// The pinned choices of each provider from now on.
    pub catalogs: BTreeMap<String, Catalog>,
    /// The resources that the spec asks for.
    pub desired: &'a [Desired],
    /// The resources among them that only Slipway makes, and that [`establish`] has made already.
    pub established: BTreeMap<Address, Applied>,
}

/// A cluster that was taken over.
#[derive(Clone, Debug)]
pub struct Adopted {
    /// The state. It records the found attributes as the ones applied last.
    pub snapshot: Snapshot,
    /// Resources that the spec asks for and that were not found. The next plan creates them.
    pub missing: Vec<Address>,
    /// Addresses that several objects match, with these objects.
    pub ambiguous: Vec<(Address, Vec<Identity>)>,
    /// Attributes that differ from the desired ones although no field of the spec asks for them. They keep
    /// the found value until the desired value changes.
    pub as_found: Vec<(Address, Vec<Path>)>,
}

impl Adoption<'_> {
    /// Looks for every resource of the spec among the objects that another tool made. Changes nothing.
    /// `is_written` says whether the spec sets a field. Where an object differs, only such fields are
    /// planned.
    ///
    /// # Errors
    /// When a provider cannot look, or finds nothing at all.
    pub async fn run(
        self,
        providers: &Providers,
        is_written: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Adopted, Error> {
        let mut snapshot = Snapshot::empty(self.cluster, self.uid.clone());
        let mut located = self.locate(providers).await?;
        for (address, applied) in &self.established {
            if let Some(identity) = &applied.identity {
                let found = Located::one(address.clone(), identity.clone(), applied.attributes.clone());
                located.insert(address.clone(), found);
            }
        }
        let mut adopted = Adopted {
            snapshot: snapshot.clone(),
            missing: Vec::new(),
            ambiguous: Vec::new(),
            as_found: Vec::new(),
        };
        let mut wanted_of: BTreeMap<&Address, Value> = BTreeMap::new();
        for desired in self.desired {
            let Some((provider, _, kind)) = providers.of_type(desired.address.kind()) else { continue };
            let identity = match (&desired.lifecycle.existing, located.get(&desired.address)) {
                (Some(existing), _) => existing.clone(),
                (None, Some(found)) if found.identities.len() > 1 => {
                    adopted.ambiguous.push((desired.address.clone(), found.identities.clone()));
                    continue;
                }
                (None, found) => match found.and_then(Located::identity) {
                    Some(identity) => identity.clone(),
                    None => {
                        adopted.missing.push(desired.address.clone());
                        continue;
                    }
                },
            };
            let wanted = resolve_known(&desired.attributes, &mut |reference| {
                located.get(&reference.address)?.value_of(reference)
            });
            let applied = match located.get(&desired.address) {
                Some(found) => as_far_as_asked(&found.attributes, &wanted, kind),
                None => wanted.clone(),
            };
            let record = Record {
                provider: provider.to_owned(),
                schema_version: kind.version,
                identity,
                applied: Some(applied),
                depends_on: desired.dependencies(),
                retain: desired.lifecycle.retain,
                protected: desired.lifecycle.protected,
                existing: desired.lifecycle.existing.is_some(),
                as_found: kept(&wanted, kind),
                untagged: kind.ownership == OwnershipKind::Tags
                    && desired.lifecycle.existing.is_none()
                    && !self.established.contains_key(&desired.address),
                deposed: Vec::new(),
            };
            snapshot.resources.insert(desired.address.clone(), record);
            wanted_of.insert(&desired.address, wanted);
        }
        let kept = self.as_found(&snapshot, &located, wanted_of, providers, is_written).await;
        for (address, kept, applied) in kept.kept {
            if let Some(record) = snapshot.resources.get_mut(&address) {
                record.as_found = kept;
                record.applied = Some(applied);
            }
        }
        adopted.as_found = kept.shown;
        let is_found = |(address, record): (&Address, &Record)| {
            !record.existing && !self.established.contains_key(address)
        };
        if !snapshot.resources.iter().any(is_found) {
            return Err(Error::NothingFound { cluster: self.cluster.to_owned() });
        }
        snapshot.spec = self.spec;
        snapshot.catalogs = self.catalogs;
        snapshot.scopes = providers
            .iter()
            .map(|(name, handle)| (name.to_owned(), handle.session.scope().clone()))
            .collect();
        snapshot.forgotten = without_data(&snapshot, &adopted.missing, providers);
        adopted.snapshot = snapshot;
        Ok(adopted)
    }

    /// The attributes of the found objects that keep their value, by resource.
    async fn as_found(
        &self,
        snapshot: &Snapshot,
        located: &BTreeMap<Address, Located>,
        mut wanted: BTreeMap<&Address, Value>,
        providers: &Providers,
        is_written: &(dyn Fn(&str) -> bool + Sync),
    ) -> AsFound {
        let mut matches: Vec<Match<'_>> = Vec::new();
        for desired in self.desired.iter().filter(|desired| desired.lifecycle.existing.is_none()) {
            let address = &desired.address;
            let (Some((provider, _, kind)), Some(record), Some(located), Some(wanted)) = (
                providers.of_type(address.kind()),
                snapshot.resources.get(address),
                located.get(address),
                wanted.remove(address),
            ) else {
                continue;
            };
            matches.push(Match {
                desired,
                kind,
                provider,
                wanted,
                found: &located.attributes,
                applied: record.applied.as_ref().unwrap_or(&Value::Null),
                kept: record.as_found.clone(),
                taken: BTreeSet::new(),
            });
        }
        kept::leave_unasked(&mut matches, providers, is_written).await;
        let shown = kept::summary(&matches);
        let kept = matches.into_iter().map(|one| (one.desired.address.clone(), one.agreed(), one.kept));
        let kept = kept.map(|(address, applied, kept)| (address, kept, applied)).collect();
        AsFound { kept, shown }
    }

    /// The objects that the providers found, by address.
    async fn locate(&self, providers: &Providers) -> Result<BTreeMap<Address, Located>, Error> {
        let mut located = BTreeMap::new();
        for (name, handle) in providers.iter() {
            let items: Vec<LocateItem> = self
                .desired
                .iter()
                .filter(|desired| {
                    providers.of_type(desired.address.kind()).is_some_and(|(of, ..)| of == name)
                })
                .map(|desired| LocateItem {
                    address: desired.address.clone(),
                    desired: desired.attributes.clone(),
                    existing: desired.lifecycle.existing.clone(),
                })
                .collect();
            if items.is_empty() {
                continue;
            }
            let request = LocateRequest { cluster: self.cluster.to_owned(), items };
            let found = handle.session.locate(request).await;
            let found = found.map_err(|error| Error::provider(name, "look for what others made", error))?;
            located.extend(found.into_iter().map(|found| (found.address.clone(), found)));
        }
        Ok(located)
    }
}

/// Attributes that keep their found value, by resource.
struct AsFound {
    kept: Vec<(Address, BTreeMap<Path, Digest>, Value)>,
    /// Those of them that their types do not keep in any case.
    shown: Vec<(Address, Vec<Path>)>,
}

/// Time limit for creating one resource in [`establish`], in milliseconds.
const ESTABLISHING_MS: u64 = 600_000;

/// Creates the resources that must exist before adoption and that only Slipway makes, such as a claim or an
/// agent. These are the desired resources of `parts`, created one part after the other. A resource that
/// exists is created again with the same result.
///
/// # Errors
/// When a provider cannot make it.
pub async fn establish(
    cluster: &str,
    uid: &ClusterUid,
    desired: &[Desired],
    parts: &[Part],
    providers: &Providers,
) -> Result<BTreeMap<Address, Applied>, Error> {
    let mut established = BTreeMap::new();
    for part in parts {
        for desired in desired.iter().filter(|desired| providers.part(&desired.address) == Some(*part)) {
            let Some((provider, handle, _)) = providers.of_type(desired.address.kind()) else { continue };
            let address = desired.address.clone();
            let request = ApplyRequest {
                // The token is the same when the same cluster is adopted again.
                token: Token::new(format!("adopt-{uid}-{address}")),
                ownership: Ownership {
                    uid: uid.clone(),
                    cluster: cluster.to_owned(),
                    address: address.clone(),
                },
                action: Action::Create { desired: desired.attributes.clone() },
                timeout_ms: ESTABLISHING_MS,
            };
            let applied = handle.session.apply(request, EventSink::discard()).await;
            let applied =
                applied.map_err(|error| Error::provider(provider, "make what is Slipway's own", error))?;
            established.insert(address, applied);
        }
    }
    Ok(established)
}

/// The found attributes, without those that the spec does not ask for: they are not managed. An attribute
/// that the provider never returns has its desired value.
fn as_far_as_asked(found: &Value, wanted: &Value, kind: &ResourceType) -> Value {
    let Value::Map(entries) = wanted else { return found.clone() };
    let asked = entries.iter().filter(|(_, wanted)| !wanted.is_null()).filter_map(|(name, wanted)| {
        if kind.attributes.get(name).is_some_and(|attribute| attribute.write_only) {
            return Some((name.clone(), wanted.clone()));
        }
        Some((name.clone(), common(found.get(name)?, wanted)))
    });
    Value::Map(asked.collect())
}

/// The found entries that are desired too, also those of the objects in a list.
fn common(found: &Value, wanted: &Value) -> Value {
    match (found, wanted) {
        (Value::Map(found), Value::Map(wanted)) => Value::Map(
            found
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), common(value, wanted.get(key)?))))
                .collect(),
        ),
        (Value::List(found), Value::List(wanted)) if found.len() == wanted.len() => {
            Value::List(found.iter().zip(wanted).map(|(found, wanted)| common(found, wanted)).collect())
        }
        _ => found.clone(),
    }
}

/// The attributes that keep their found value, with the digests of their desired values.
fn kept(wanted: &Value, kind: &ResourceType) -> BTreeMap<Path, Digest> {
    let kept = kind.attributes.iter().filter(|(_, attribute)| attribute.kept_on_adoption);
    kept.filter_map(|(name, _)| {
        let digest = Digest::of(wanted.get(name).unwrap_or(&Value::Null)).ok()?;
        Some((Path::key(name.as_str()), digest))
    })
    .collect()
}
