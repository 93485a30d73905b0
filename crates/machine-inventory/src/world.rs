//! All objects, as they were seen last.

use std::sync::Arc;

use slipway_controller::Watched;
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::{ElementalCluster, ElementalHost, ElementalMachine, ElementalRegistration};
use crate::core_api::{Cluster, Machine, owner};
use crate::labels;

/// The watches of all kinds.
#[derive(Clone, Debug)]
pub(crate) struct Watches {
    pub(crate) clusters: Watched<Cluster>,
    pub(crate) machines: Watched<Machine>,
    pub(crate) elemental_clusters: Watched<ElementalCluster>,
    pub(crate) elemental_machines: Watched<ElementalMachine>,
    pub(crate) hosts: Watched<ElementalHost>,
    pub(crate) registrations: Watched<ElementalRegistration>,
}

impl Watches {
    /// Waits until an object of any kind has changed.
    pub(crate) async fn changed(&mut self) {
        tokio::select! {
            () = self.clusters.changed() => {}
            () = self.machines.changed() => {}
            () = self.elemental_clusters.changed() => {}
            () = self.elemental_machines.changed() => {}
            () = self.hosts.changed() => {}
            () = self.registrations.changed() => {}
        }
    }

    /// All objects, sorted by namespace and name.
    pub(crate) fn world(&self) -> World {
        World {
            clusters: self.clusters.all(),
            machines: self.machines.all(),
            elemental_clusters: sorted(self.elemental_clusters.all()),
            elemental_machines: sorted(self.elemental_machines.all()),
            hosts: sorted(self.hosts.all()),
            registrations: self.registrations.all(),
        }
    }
}

/// All objects of a moment.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Clusters of Cluster API.
    pub clusters: Vec<Arc<Cluster>>,
    /// Machines of Cluster API.
    pub machines: Vec<Arc<Machine>>,
    /// Infrastructure of clusters.
    pub elemental_clusters: Vec<Arc<ElementalCluster>>,
    /// Infrastructure of machines.
    pub elemental_machines: Vec<Arc<ElementalMachine>>,
    /// Hosts, sorted by namespace and name.
    pub hosts: Vec<Arc<ElementalHost>>,
    /// Registrations.
    pub registrations: Vec<Arc<ElementalRegistration>>,
}

/// An object with metadata.
pub(crate) trait Named {
    /// Its metadata.
    fn metadata(&self) -> &ObjectMeta;
}

macro_rules! named {
    ($($kind:ident),*) => {
        $(impl Named for $kind {
            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }
        })*
    };
}

named!(Cluster, Machine, ElementalCluster, ElementalMachine, ElementalHost, ElementalRegistration);

fn sorted<K: Named>(mut objects: Vec<Arc<K>>) -> Vec<Arc<K>> {
    objects.sort_by(|one, other| place(&**one).cmp(&place(&**other)));
    objects
}

fn place<K: Named>(object: &K) -> (&str, &str) {
    (namespace(object.metadata()), name(object.metadata()))
}

fn found<'a, K: Named>(objects: &'a [Arc<K>], namespace: &str, name: &str) -> Option<&'a Arc<K>> {
    objects.iter().find(|object| place(&***object) == (namespace, name))
}

/// The namespace of an object.
pub(crate) fn namespace(metadata: &ObjectMeta) -> &str {
    metadata.namespace.as_deref().unwrap_or_default()
}

/// The name of an object.
pub(crate) fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

/// The UID of an object.
pub(crate) fn uid(metadata: &ObjectMeta) -> &str {
    metadata.uid.as_deref().unwrap_or_default()
}

impl World {
    /// The Cluster that owns a piece of infrastructure.
    pub(crate) fn owning_cluster(&self, owned: &ObjectMeta) -> Option<&Arc<Cluster>> {
        found(&self.clusters, namespace(owned), owner(owned, "Cluster")?)
    }

    /// The Machine that owns a piece of infrastructure.
    pub(crate) fn owning_machine(&self, owned: &ObjectMeta) -> Option<&Arc<Machine>> {
        found(&self.machines, namespace(owned), owner(owned, "Machine")?)
    }

    /// The Cluster of a Machine.
    pub(crate) fn cluster_of(&self, machine: &Machine) -> Option<&Arc<Cluster>> {
        found(&self.clusters, namespace(&machine.metadata), &machine.spec.cluster_name)
    }

    /// The infrastructure of a Cluster.
    pub(crate) fn infrastructure_of(&self, cluster: &Cluster) -> Option<&Arc<ElementalCluster>> {
        let is_it = |one: &&Arc<ElementalCluster>| {
            namespace(&one.metadata) == namespace(&cluster.metadata)
                && owner(&one.metadata, "Cluster") == cluster.metadata.name.as_deref()
        };
        self.elemental_clusters.iter().find(is_it)
    }

    /// A host.
    pub(crate) fn host(&self, namespace: &str, name: &str) -> Option<&Arc<ElementalHost>> {
        found(&self.hosts, namespace, name)
    }

    /// The hosts of a namespace.
    pub(crate) fn hosts_in<'a>(&'a self, place: &'a str) -> impl Iterator<Item = &'a Arc<ElementalHost>> {
        self.hosts.iter().filter(move |host| namespace(&host.metadata) == place)
    }

    /// The infrastructure of the machines of a cluster's control plane.
    pub(crate) fn control_plane_of<'a>(&'a self, cluster: &'a Cluster) -> Vec<&'a Arc<ElementalMachine>> {
        let is_of_cluster = |machine: &&Arc<ElementalMachine>| {
            let of = labels::label(&machine.metadata, labels::CLUSTER_NAME);
            namespace(&machine.metadata) == namespace(&cluster.metadata)
                && of == cluster.metadata.name.as_deref()
        };
        self.elemental_machines
            .iter()
            .filter(is_of_cluster)
            .filter(|one| self.is_control_plane(one))
            .collect()
    }

    /// Whether a machine belongs to a control plane: Cluster API labels the Machine, and most providers of control planes
    /// its infrastructure too.
    pub(crate) fn is_control_plane(&self, machine: &ElementalMachine) -> bool {
        labels::label(&machine.metadata, labels::CONTROL_PLANE).is_some()
            || self.owning_machine(&machine.metadata).is_some_and(|owner| owner.is_control_plane())
    }
}
