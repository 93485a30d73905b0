//! The observed objects, by address.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::provider::Discovery;
use slipway_resource::{Address, ErrorClass, Identity, Observation, Observed, ProviderError, Value};

use crate::state::Record;

/// How many objects an address can have. A replacement leaves one or two behind; where there are many more, another program
/// copies the tags of ownership, or the objects are invented.
const OBJECTS: usize = 1_000;

/// One object that exists.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The identity that the provider gave to it.
    pub identity: Identity,
    /// Its attributes.
    pub attributes: Value,
    /// Whether it was found by the ownership of the cluster, and not only read by its identity.
    pub owned: bool,
}

/// The observed objects, by address.
#[derive(Clone, Debug, Default)]
pub struct Observations {
    found: BTreeMap<Address, Vec<Found>>,
    unreadable: BTreeMap<Address, ProviderError>,
    unlisted: BTreeMap<String, ProviderError>,
    read: BTreeSet<Address>,
    /// Objects that a read by identity found without ownership tags, as far as the provider reads them.
    ownerless: BTreeSet<(Address, Identity)>,
}

/// The object of one address in the cloud.
#[derive(Debug, PartialEq)]
pub(crate) enum Standing<'a> {
    /// There is no object.
    Absent,
    /// An object, and surplus objects of the same address.
    Present { object: &'a Found, surplus: Vec<&'a Found> },
    /// The object could not be read.
    Unreadable(&'a ProviderError),
}

impl Observations {
    /// Takes what a discovery found.
    pub fn add_discovery(&mut self, discovery: Discovery) {
        for observed in discovery.observed {
            self.add(observed, true);
        }
        for unlisted in discovery.unlisted {
            self.unlisted.insert(unlisted.kind, unlisted.error);
        }
    }

    /// Takes one answer to a read.
    pub fn add_read(&mut self, observed: Observed) {
        self.read.insert(observed.address.clone());
        if observed.owner.is_none() {
            self.ownerless.insert((observed.address.clone(), observed.identity.clone()));
        }
        self.add(observed, false);
    }

    fn add(&mut self, observed: Observed, owned: bool) {
        match observed.observation {
            Observation::Absent => {}
            Observation::Unreadable(error) => {
                self.unreadable.insert(observed.address, error);
            }
            Observation::Present(attributes) => {
                let is_full = self.found.get(&observed.address).is_some_and(|objects| {
                    let is_new = || objects.iter().all(|known| known.identity != observed.identity);
                    objects.len() >= OBJECTS && (self.unreadable.contains_key(&observed.address) || is_new())
                });
                if is_full {
                    self.unreadable.entry(observed.address).or_insert_with(too_many);
                    return;
                }
                // Nearly every address has one object.
                let objects = self.found.entry(observed.address).or_insert_with(|| Vec::with_capacity(1));
                match objects.iter_mut().find(|known| known.identity == observed.identity) {
                    Some(known) => known.owned |= owned,
                    None => objects.push(Found { identity: observed.identity, attributes, owned }),
                }
            }
        }
    }

    /// Marks an address as unreadable, whatever was found there.
    pub fn doubt(&mut self, address: Address, error: ProviderError) {
        self.unreadable.insert(address, error);
    }

    /// Every address that has an object, sorted.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.found.keys()
    }

    /// Whether an object of this identity was found under the address.
    #[must_use]
    pub fn contains(&self, address: &Address, identity: &Identity) -> bool {
        self.found.get(address).is_some_and(|objects| objects.iter().any(|found| found.identity == *identity))
    }

    /// Whether the object of an address was found by the ownership of the cluster.
    #[must_use]
    pub fn is_owned(&self, address: &Address, identity: &Identity) -> bool {
        self.objects(address).iter().any(|found| found.owned && found.identity == *identity)
    }

    /// Whether an object exists, and neither a list of the cluster's objects nor a read of its tags says that the cluster owns it.
    pub(crate) fn has_no_owner(&self, address: &Address, identity: &Identity) -> bool {
        !self.unlisted.contains_key(address.kind())
            && self.contains(address, identity)
            && !self.is_owned(address, identity)
            && self.ownerless.contains(&(address.clone(), identity.clone()))
    }

    /// The types of the objects that were found by the ownership of the cluster.
    pub(crate) fn owned_types(&self) -> BTreeSet<&str> {
        let owned = self.found.iter().filter(|(_, objects)| objects.iter().any(|found| found.owned));
        owned.map(|(address, _)| address.kind()).collect()
    }

    /// The address whose ownership an object of a type has.
    pub(crate) fn owner_of(&self, kind: &str, identity: &Identity) -> Option<&Address> {
        let alike = self.found.iter().filter(|(address, _)| address.kind() == kind);
        let mut owned = alike.filter(|(address, _)| self.is_owned(address, identity));
        owned.next().map(|(address, _)| address)
    }

    /// For each of these objects, by type and identity, the address whose ownership it has. Objects without ownership are left
    /// out.
    pub(crate) fn owners(
        &self,
        objects: &BTreeSet<(&str, &Identity)>,
    ) -> BTreeMap<(String, Identity), Address> {
        let mut owners = BTreeMap::new();
        for (address, found) in &self.found {
            let owned = found.iter().filter(|found| found.owned);
            for found in owned.filter(|found| objects.contains(&(address.kind(), &found.identity))) {
                let object = (address.kind().to_owned(), found.identity.clone());
                owners.entry(object).or_insert_with(|| address.clone());
            }
        }
        owners
    }

    /// The objects of an address, in the order in which they were found.
    #[must_use]
    pub fn objects(&self, address: &Address) -> &[Found] {
        self.found.get(address).map_or(&[], Vec::as_slice)
    }

    /// Why the object of an address could not be read; `None` if it was read, or if nothing asked for it.
    #[must_use]
    pub fn why_unreadable(&self, address: &Address) -> Option<&ProviderError> {
        self.unreadable.get(address)
    }

    /// Unreadable objects by address, and types that could not be listed by their name.
    pub fn unreadable(&self) -> impl Iterator<Item = (String, &ProviderError)> {
        let objects = self.unreadable.iter().map(|(address, error)| (address.to_string(), error));
        objects.chain(self.unlisted.iter().map(|(kind, error)| (kind.clone(), error)))
    }

    /// Leaves out the objects of some addresses, as if they had not been read: this plan makes no decision
    /// about them.
    pub fn leave_out(&mut self, left_out: impl Fn(&Address) -> bool) {
        self.found.retain(|address, _| !left_out(address));
        self.unreadable.retain(|address, _| !left_out(address));
    }

    /// Visits the attributes of every object that was found, and may change them. For callers that know more
    /// of an object than the provider returns.
    pub fn revise(&mut self, mut revise: impl FnMut(&Address, &mut Value)) {
        for (address, objects) in &mut self.found {
            objects.iter_mut().for_each(|object| revise(address, &mut object.attributes));
        }
    }

    /// Moves one object from one address to another.
    pub(crate) fn hand_over(&mut self, from: &Address, identity: &Identity, to: &Address) {
        if let Some(found) = self.take(from, identity) {
            let objects = self.found.entry(to.clone()).or_default();
            if objects.iter().all(|known| known.identity != found.identity) {
                objects.push(found);
            }
        }
    }

    /// Removes an object, as if it had not been found.
    pub(crate) fn take(&mut self, address: &Address, identity: &Identity) -> Option<Found> {
        let objects = self.found.get_mut(address)?;
        let position = objects.iter().position(|found| found.identity == *identity)?;
        let found = objects.remove(position);
        if objects.is_empty() {
            self.found.remove(address);
        }
        Some(found)
    }

    /// Moves the objects of one address to another.
    pub(crate) fn rename(&mut self, from: &Address, to: &Address) {
        if let Some(objects) = self.found.remove(from) {
            self.found.entry(to.clone()).or_default().extend(objects);
        }
        if let Some(error) = self.unreadable.remove(from) {
            self.unreadable.insert(to.clone(), error);
        }
    }

    /// The object of an address: the recorded object if it exists, else the first of those that no
    /// replacement has left behind.
    pub(crate) fn standing(&self, address: &Address, record: Option<&Record>) -> Standing<'_> {
        if let Some(error) = self.unreadable.get(address) {
            return Standing::Unreadable(error);
        }
        let objects = self.objects(address);
        let recorded =
            record.and_then(|record| objects.iter().find(|found| found.identity == record.identity));
        let deposed = |found: &Found| record.is_some_and(|record| record.deposed.contains(&found.identity));
        let primary = recorded.or_else(|| objects.iter().find(|found| !deposed(found)));
        match primary.or_else(|| objects.first()) {
            Some(object) => Standing::Present {
                object,
                surplus: objects.iter().filter(|found| found.identity != object.identity).collect(),
            },
            None => match self.unlisted.get(address.kind()) {
                Some(error) if !self.read.contains(address) => Standing::Unreadable(error),
                _ => Standing::Absent,
            },
        }
    }
}

/// The error of an address with more objects than it can have.
fn too_many() -> ProviderError {
    let message = format!("more than {OBJECTS} objects have the ownership of this address");
    ProviderError::new(ErrorClass::Permanent, message)
        .with_hint("remove the tags of ownership from objects that Slipway did not create")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_more_objects_than_it_can_have_is_unreadable() {
        let address: Address = "any_object.a".parse().unwrap();
        let mut observations = Observations::default();
        let mut add = |number: usize| {
            let observed = Observed {
                address: address.clone(),
                identity: Identity::new(format!("id-{number}")),
                token: None,
                owner: None,
                observation: Observation::Present(Value::Null),
            };
            observations.add(observed, true);
            (observations.objects(&address).len(), observations.why_unreadable(&address).is_some())
        };
        for number in 0..OBJECTS {
            add(number);
        }
        assert_eq!(add(0), (OBJECTS, false), "it is known");
        assert_eq!(add(OBJECTS), (OBJECTS, true));
        assert_eq!(add(OBJECTS + 1), (OBJECTS, true));
    }
}
