//! Reads the existing objects in few calls: by ownership, and by identity those that ownership does not find.

use std::collections::{BTreeMap, BTreeSet};

use slipway_plan::{Observations, ProviderHandle, Providers, Snapshot, by_identity};
use slipway_resource::provider::{DiscoverRequest, ReadRequest};
use slipway_resource::schema::OwnershipKind;
use slipway_resource::{Address, ClusterUid, Desired, ErrorClass, Identity, Observation};
use tokio::time::Instant;

use crate::error::Error;

/// The objects that were found, and when.
#[derive(Debug)]
pub struct Observed {
    /// The objects by address.
    pub observations: Observations,
    /// The cluster's unique id in the ownership of what was found, when the state does not have it.
    pub uid: Option<ClusterUid>,
    /// When reading began.
    pub at: Instant,
    /// Objects that the state names, and whose ownership contradicts the state.
    pub foreign: Vec<Foreign>,
    /// Older objects that the state names at an address, and that the cluster does not own. They are not among the
    /// observations, so no plan deletes them.
    pub unowned: Vec<(Address, Identity)>,
}

/// An object that the state names, and whose ownership contradicts the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The address in the state.
    pub address: Address,
    /// The object.
    pub identity: Identity,
    /// The owner that the ownership tags of the object name.
    pub owner: Owner,
}

/// The owner that the ownership tags of an object name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Another cluster, by its unique id.
    Cluster(ClusterUid),
    /// An address of this cluster, for which the state has another object.
    Address(Address),
}

/// The objects that were found without knowledge of the spec.
#[derive(Debug)]
pub struct Looked {
    cluster: String,
    observations: Observations,
    uid: Option<ClusterUid>,
    at: Instant,
    foreign: Vec<Foreign>,
    unowned: Vec<(Address, Identity)>,
}

/// Reads everything that a plan for the cluster needs to know. Changes nothing.
///
/// The number of calls depends on the number of resource types and on how many objects ownership does not
/// find, in batches; not on the number of resources.
///
/// # Errors
/// When a provider cannot be reached at all. Objects that cannot be read are in the observations.
pub async fn observe(
    cluster: &str,
    providers: &Providers,
    prior: Option<&Snapshot>,
    desired: &[Desired],
) -> Result<Observed, Error> {
    look(cluster, providers, prior).await?.complete(providers, prior, desired).await
}

/// Reads the objects with the cluster's ownership, and the recorded objects of types that cannot be found by
/// ownership. [`Looked::complete`] reads the rest. Changes nothing.
///
/// # Errors
/// When a provider cannot be asked at all.
pub async fn look(cluster: &str, providers: &Providers, prior: Option<&Snapshot>) -> Result<Looked, Error> {
    let uid = prior.map(|prior| prior.uid.clone());
    let nothing = Looked {
        cluster: cluster.to_owned(),
        observations: Observations::default(),
        uid,
        at: Instant::now(),
        foreign: Vec::new(),
        unowned: Vec::new(),
    };
    nothing.and_look(cluster, providers, prior).await
}

impl Looked {
    /// The same with more providers, which are read after the first ones.
    ///
    /// # Errors
    /// When a provider cannot be asked at all.
    pub async fn and_look(
        mut self,
        cluster: &str,
        providers: &Providers,
        prior: Option<&Snapshot>,
    ) -> Result<Self, Error> {
        for (name, handle) in providers.iter() {
            // Without a state, the first provider that finds the cluster's unique id tells it to the next
            // ones.
            let request =
                DiscoverRequest { uid: self.uid.clone(), cluster: cluster.to_owned(), types: Vec::new() };
            let left = read_by_identity(name, providers, prior);
            let (discovery, read) =
                tokio::join!(handle.session.discover(request), read_batched(name, handle, left));
            let discovery = discovery.map_err(|error| Error::provider(name, "list what it owns", error))?;
            self.uid = self.uid.or_else(|| discovery.uid.clone());
            self.observations.add_discovery(discovery);
            read?.into_iter().for_each(|answer| self.take(answer, providers, prior));
        }
        Ok(self)
    }

    /// Reads the objects that the state or the spec names and that were not found yet. Resources in doubt
    /// count as unreadable.
    ///
    /// # Errors
    /// When a provider cannot be asked at all.
    pub async fn complete(
        mut self,
        providers: &Providers,
        prior: Option<&Snapshot>,
        desired: &[Desired],
    ) -> Result<Observed, Error> {
        for (name, types) in unlisted(providers, prior, desired) {
            let Some(handle) = providers.get(&name) else { continue };
            let request = DiscoverRequest { uid: self.uid.clone(), cluster: self.cluster.clone(), types };
            let discovery = handle.session.discover(request).await;
            let mut discovery =
                discovery.map_err(|error| Error::provider(&name, "list what it owns", error))?;
            let is_new = |found: &slipway_resource::Observed| {
                !self.observations.contains(&found.address, &found.identity)
            };
            discovery.observed.retain(is_new);
            self.observations.add_discovery(discovery);
        }
        for (name, requests) in unseen(providers, prior, desired, &self.observations) {
            let Some(handle) = providers.get(&name) else { continue };
            for answer in read_batched(&name, handle, requests).await? {
                self.take(answer, providers, prior);
            }
        }
        for (address, error) in prior.into_iter().flat_map(|prior| &prior.in_doubt) {
            self.observations.doubt(address.clone(), error.clone());
        }
        self.foreign.extend(exchanged(prior, &self.observations));
        let Self { observations, uid, at, foreign, unowned, .. } = self;
        Ok(Observed { observations, uid, at, foreign, unowned })
    }

    /// Reads the objects that the spec gives to resources by their ids, and sets the identities that their providers have for
    /// them. An object that does not exist is not among the observations, and one of another cluster is named as foreign.
    pub async fn import(mut self, providers: &Providers, imports: &mut BTreeMap<Address, Identity>) -> Self {
        for (address, identity) in imports {
            let Some((_, handle, _)) = providers.of_type(address.kind()) else { continue };
            let mut found = match handle.session.import(address, identity).await {
                Ok(found) => found,
                Err(error) if error.class == ErrorClass::NotFound => continue,
                Err(error) => {
                    self.observations.doubt(address.clone(), error);
                    continue;
                }
            };
            found.address = address.clone();
            identity.clone_from(&found.identity);
            match &found.owner {
                Some(owner) if self.uid.as_ref() != Some(owner) => self.foreign.push(Foreign {
                    address: found.address,
                    identity: found.identity,
                    owner: Owner::Cluster(owner.clone()),
                }),
                _ => self.observations.add_read(found),
            }
        }
        self
    }

    /// Takes one answer to a read. An existing object that the cluster only uses may have any owner. An older object is deleted
    /// by the next plan, so it counts only if the cluster owns it: the state alone, as from an archive, does not tell.
    fn take(&mut self, answer: slipway_resource::Observed, providers: &Providers, prior: Option<&Snapshot>) {
        let record = prior.and_then(|prior| prior.resources.get(&answer.address));
        let is_present = matches!(answer.observation, Observation::Present(_));
        if let Some(record) = record.filter(|record| is_present && record.deposed.contains(&answer.identity))
            && record.identity != answer.identity
        {
            let is_listed = providers
                .of_type(answer.address.kind())
                .is_some_and(|(_, _, kind)| kind.ownership == OwnershipKind::Listed);
            let is_owned = match &answer.owner {
                Some(owner) => self.uid.as_ref() == Some(owner),
                // Objects of this kind have nothing that could say it.
                None => is_listed,
            };
            if !is_owned || is_object_of_another(prior, &answer) {
                self.unowned.push((answer.address, answer.identity));
                return;
            }
        }
        if let (Some(owner), Some(record)) = (&answer.owner, record)
            && self.uid.as_ref().is_some_and(|uid| uid != owner)
            && !record.existing
            && record.identity == answer.identity
        {
            self.foreign.push(Foreign {
                address: answer.address.clone(),
                identity: answer.identity.clone(),
                owner: Owner::Cluster(owner.clone()),
            });
        }
        self.observations.add_read(answer);
    }
}

/// Whether the state has an object as that of another address.
fn is_object_of_another(prior: Option<&Snapshot>, answer: &slipway_resource::Observed) -> bool {
    prior.into_iter().flat_map(|prior| &prior.resources).any(|(address, record)| {
        *address != answer.address
            && address.kind() == answer.address.kind()
            && record.identity == answer.identity
    })
}

/// Objects that the state has at another address than their ownership, while it has another object at that address: an archive
/// was edited. An object whose record was only moved leaves no record at its old address.
fn exchanged(prior: Option<&Snapshot>, observations: &Observations) -> Vec<Foreign> {
    let Some(prior) = prior else { return Vec::new() };
    let mut others = Vec::new();
    for tagged in observations.addresses() {
        let Some(record) = prior.resources.get(tagged) else { continue };
        let objects = observations.objects(tagged).iter();
        others.extend(
            objects
                .filter(|object| object.owned && object.identity != record.identity)
                .map(|object| (tagged, &object.identity)),
        );
    }
    if others.is_empty() {
        return Vec::new();
    }
    let by_identity = by_identity(prior.resources.iter().filter(|(_, record)| !record.existing));
    let foreign = |(tagged, identity): (&Address, &Identity)| {
        let address = *by_identity.get(&(tagged.kind(), identity))?;
        (address != tagged).then(|| Foreign {
            address: address.clone(),
            identity: identity.clone(),
            owner: Owner::Address(tagged.clone()),
        })
    };
    others.into_iter().filter_map(foreign).collect()
}

/// The recorded objects of the types that a provider's discovery leaves out, without the older ones.
fn read_by_identity(name: &str, providers: &Providers, prior: Option<&Snapshot>) -> Vec<ReadRequest> {
    let is_left = |address: &Address| {
        let owner = providers.of_type(address.kind());
        owner.is_some_and(|(owner, _, kind)| owner == name && kind.read_by_identity)
    };
    prior
        .into_iter()
        .flat_map(|prior| &prior.resources)
        .filter(|(address, _)| is_left(address))
        .map(|(address, record)| ReadRequest { address: address.clone(), identity: record.identity.clone() })
        .collect()
}

/// The types that a provider's discovery leaves out, and of which the state may not know all objects: those of which the
/// spec wants an object that the state does not have, and all of them where the state is being rebuilt. Also those of which the
/// state names older objects: only a list tells whether the cluster owns them.
fn unlisted(
    providers: &Providers,
    prior: Option<&Snapshot>,
    desired: &[Desired],
) -> BTreeMap<String, Vec<String>> {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Without a unique id everything was listed.
    let Some(prior) = prior else { return types };
    let unknown = desired.iter().filter(|desired| !prior.resources.contains_key(&desired.address));
    let mut wanted: BTreeSet<&str> = unknown.map(|desired| desired.address.kind()).collect();
    let replaced = prior.resources.iter().filter(|(_, record)| !record.deposed.is_empty());
    wanted.extend(replaced.map(|(address, _)| address.kind()));
    for (name, handle) in providers.iter() {
        for (kind, declared) in &handle.schema.types {
            if declared.read_by_identity && (prior.resources.is_empty() || wanted.contains(kind.as_str())) {
                types.entry(name.to_owned()).or_default().push(kind.clone());
            }
        }
    }
    types
}

/// The recorded objects, including those that are only to be deleted.
fn remembered(prior: Option<&Snapshot>) -> impl Iterator<Item = (&Address, &Identity)> {
    prior.into_iter().flat_map(|prior| &prior.resources).flat_map(|(address, record)| {
        std::iter::once(&record.identity).chain(&record.deposed).map(move |identity| (address, identity))
    })
}

/// The objects that the state or the spec names and that ownership did not find.
fn unseen(
    providers: &Providers,
    prior: Option<&Snapshot>,
    desired: &[Desired],
    observations: &Observations,
) -> BTreeMap<String, Vec<ReadRequest>> {
    let named = desired.iter().filter_map(|desired| {
        desired.lifecycle.existing.as_ref().map(|identity| (&desired.address, identity))
    });
    let mut requests: BTreeMap<String, Vec<ReadRequest>> = BTreeMap::new();
    for (address, identity) in remembered(prior).chain(named) {
        let Some((name, _, _)) = providers.of_type(address.kind()) else { continue };
        if !observations.contains(address, identity) {
            let request = ReadRequest { address: address.clone(), identity: identity.clone() };
            requests.entry(name.to_owned()).or_default().push(request);
        }
    }
    requests
}

/// Reads objects in batches of the provider's maximum size. Returns one answer for each request, under the
/// requested address.
///
/// # Errors
/// When nothing can be read at all.
pub(crate) async fn read_batched(
    name: &str,
    handle: &ProviderHandle,
    requests: Vec<ReadRequest>,
) -> Result<Vec<slipway_resource::Observed>, Error> {
    let mut found = Vec::with_capacity(requests.len());
    for batch in requests.chunks(handle.info.batch.max(1) as usize) {
        let answers = handle.session.read(batch.to_vec()).await;
        let answers = answers.map_err(|error| Error::provider(name, "read what it owns", error))?;
        for (request, mut answer) in batch.iter().zip(answers) {
            // The answer gets the requested address, whatever tags the object has.
            answer.address = request.address.clone();
            answer.identity = request.identity.clone();
            found.push(answer);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
