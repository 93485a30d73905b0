//! Looks into a simulated cloud past the provider, and changes it behind its users' backs; for tests.

mod tamper;

use std::collections::BTreeMap;
use std::path::Path;

use slipway_resource::{Address, ClusterUid, ProviderError};

pub use tamper::Tamper;

pub use crate::calls::{CallRecord, FILE as CALLS_FILE};
use crate::clock::Clock;
pub use crate::cloud::{Balancer, BalancerPort, Machine, Object, Pod, PodRoute, StorageError, Vacancy};
use crate::cloud::{Cloud, tail};

/// Everything that exists in a simulated cloud at one moment.
#[derive(Debug, Clone)]
pub struct Inventory {
    /// The simulated time of the last change.
    pub moment: u64,
    /// All objects, by identity.
    pub objects: Vec<Object>,
    /// All machines, by identity.
    pub machines: Vec<Machine>,
    /// All pods, by name.
    pub pods: Vec<Pod>,
    /// All load balancers of Services, by cluster and name.
    pub balancers: Vec<Balancer>,
    /// All routes to pods, by cluster and destination.
    pub pod_routes: Vec<PodRoute>,
}

impl Inventory {
    /// Reads the cloud in a directory; one that is not there is empty.
    ///
    /// # Errors
    /// When its files cannot be read.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, ProviderError> {
        let cloud = Cloud::open(directory.as_ref(), "");
        cloud.read(&Clock::new(0.0), |world, _| Self {
            moment: world.moment,
            objects: world.objects().cloned().collect(),
            machines: world.machines().cloned().collect(),
            pods: world.pods().cloned().collect(),
            balancers: world.balancers().cloned().collect(),
            pod_routes: world.pod_routes().cloned().collect(),
        })
    }

    /// The objects of a type.
    pub fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Object> {
        self.objects.iter().filter(move |object| object.kind == kind)
    }

    /// The objects that carry this cluster's id.
    pub fn owned_by<'a>(&'a self, uid: &'a ClusterUid) -> impl Iterator<Item = &'a Object> {
        self.objects.iter().filter(move |object| object.owner.as_ref().is_some_and(|owner| owner.uid == *uid))
    }

    /// The objects at an address, of whatever cluster.
    #[must_use]
    pub fn at(&self, address: &Address) -> Vec<&Object> {
        self.objects
            .iter()
            .filter(|object| object.owner.as_ref().is_some_and(|owner| owner.address == *address))
            .collect()
    }

    /// Addresses at which one cluster has more than one object, with the identities.
    #[must_use]
    pub fn doubled(&self) -> BTreeMap<(String, Address), Vec<String>> {
        let mut found: BTreeMap<(String, Address), Vec<String>> = BTreeMap::new();
        for object in &self.objects {
            if let Some(owner) = &object.owner {
                found
                    .entry((owner.uid.as_str().to_owned(), owner.address.clone()))
                    .or_default()
                    .push(object.id.clone());
            }
        }
        found.retain(|_, ids| ids.len() > 1);
        found
    }

    /// Objects that carry some cluster's id, and that these identities do not name.
    #[must_use]
    pub fn leaked<'a>(&self, known: impl IntoIterator<Item = &'a str>) -> Vec<&Object> {
        let known: std::collections::BTreeSet<&str> = known.into_iter().collect();
        self.objects
            .iter()
            .filter(|object| object.owner.is_some() && !known.contains(object.id.as_str()))
            .collect()
    }

    /// The machines of a pool, the oldest first.
    pub fn machines_of<'a>(&'a self, pool: &'a str) -> impl Iterator<Item = &'a Machine> {
        self.machines.iter().filter(move |machine| machine.pool == pool)
    }
}

/// Every call that the cloud in a directory has answered, in the order of their ends.
///
/// # Errors
/// When the record cannot be read.
pub fn calls(directory: impl AsRef<Path>) -> Result<Vec<CallRecord>, StorageError> {
    let path = directory.as_ref().join(CALLS_FILE);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => {
            return Err(StorageError::File { action: "read", path, source });
        }
    };
    let mut records = Vec::new();
    tail::for_each_line(&bytes, |offset, text| {
        let record = serde_json::from_slice(text).map_err(|source| StorageError::Damaged {
            path: path.clone(),
            offset,
            source,
        })?;
        records.push(record);
        Ok(())
    })?;
    Ok(records)
}
