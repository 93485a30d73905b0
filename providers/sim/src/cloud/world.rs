//! Everything that exists, in memory, with the indexes that rules need.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use slipway_resource::Token;

use super::entity::{Entity, EntityRef, Journaled, Line, Machine, Object, Pod};
use super::traffic::{Balancer, PodRoute};
use crate::clock::Millis;
use crate::kind;

/// How many finished actions are remembered.
const JOURNAL: usize = 50_000;

/// Everything that exists.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// The latest simulated time in the log.
    pub(crate) moment: Millis,
    /// The last number that an identity got.
    pub(crate) serial: u64,
    /// Behind pointers: the nodes of the tree are half empty, and an object is large.
    objects: BTreeMap<String, Box<Object>>,
    machines: BTreeMap<String, Machine>,
    pods: BTreeMap<String, Pod>,
    balancers: BTreeMap<String, Balancer>,
    pod_routes: BTreeMap<String, PodRoute>,
    journal: HashMap<Token, Journaled>,
    journal_order: VecDeque<Token>,
    by_kind: HashMap<String, BTreeSet<String>>,
    by_token: HashMap<Token, String>,
    by_key: HashMap<String, BTreeSet<String>>,
    /// The identity of an object, and that of one that refers to it.
    referrers: BTreeSet<(String, String)>,
    machines_of: HashMap<String, BTreeSet<String>>,
}

impl World {
    /// The object with this identity.
    pub(crate) fn object(&self, id: &str) -> Option<&Object> {
        self.remembered(id).filter(|object| !is_gone(object))
    }

    /// The object with this identity, also one that only delayed reads still show.
    pub(crate) fn remembered(&self, id: &str) -> Option<&Object> {
        self.objects.get(id).map(|object| &**object)
    }

    /// All objects, by identity.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.all_remembered().filter(|object| !is_gone(object))
    }

    /// All objects, with those that only delayed reads still show.
    pub(crate) fn all_remembered(&self) -> impl Iterator<Item = &Object> {
        self.objects.values().map(|object| &**object)
    }

    /// How many objects of a type there are.
    pub(crate) fn count(&self, kind: &str) -> u64 {
        self.by_kind.get(kind).map_or(0, BTreeSet::len) as u64
    }

    /// The object that a call with this token has made.
    pub(crate) fn made_by(&self, token: &Token) -> Option<&Object> {
        self.object(self.by_token.get(token)?)
    }

    /// The record of an action.
    pub(crate) fn journaled(&self, token: &Token) -> Option<&Journaled> {
        self.journal.get(token)
    }

    /// The identities of objects that refer to this one.
    pub(crate) fn referrers(&self, id: &str) -> impl Iterator<Item = &String> {
        let first = (id.to_owned(), String::new());
        let target = first.0.clone();
        let of_it = self.referrers.range(first..).take_while(move |(of, _)| *of == target);
        of_it.map(|(_, referrer)| referrer)
    }

    /// The identity of an object that has the same unique attributes.
    pub(crate) fn holder_of(&self, key: &str) -> Option<&String> {
        self.by_key.get(key)?.first()
    }

    /// The machines of a pool, the oldest first.
    pub(crate) fn machines_of<'a>(&'a self, pool: &str) -> impl Iterator<Item = &'a Machine> + use<'a> {
        self.machines_of.get(pool).into_iter().flatten().filter_map(|id| self.machines.get(id))
    }

    /// A machine.
    pub(crate) fn machine(&self, id: &str) -> Option<&Machine> {
        self.machines.get(id)
    }

    /// All machines.
    pub(crate) fn machines(&self) -> impl Iterator<Item = &Machine> {
        self.machines.values()
    }

    /// All pods.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.values()
    }

    /// The load balancer of a Service with this key.
    pub(crate) fn balancer(&self, key: &str) -> Option<&Balancer> {
        self.balancers.get(key)
    }

    /// All load balancers of Services.
    pub(crate) fn balancers(&self) -> impl Iterator<Item = &Balancer> {
        self.balancers.values()
    }

    /// The route to pods with this key.
    pub(crate) fn pod_route(&self, key: &str) -> Option<&PodRoute> {
        self.pod_routes.get(key)
    }

    /// All routes to pods.
    pub(crate) fn pod_routes(&self) -> impl Iterator<Item = &PodRoute> {
        self.pod_routes.values()
    }

    /// Takes a line of the log over.
    pub(crate) fn take_line(&mut self, line: Line) {
        self.moment = self.moment.max(line.at);
        self.serial = self.serial.max(line.serial);
        for event in line.events {
            self.take(event);
        }
    }

    /// Takes one event over.
    pub(crate) fn take(&mut self, event: Entity) {
        match event {
            Entity::Object(object) => self.put_object(object),
            Entity::ObjectGone(id) => self.remove_object(&id),
            Entity::Machine(machine) => {
                self.machines_of.entry(machine.pool.clone()).or_default().insert(machine.id.clone());
                self.machines.insert(machine.id.clone(), *machine);
            }
            Entity::MachineGone(id) => {
                if let Some(machine) = self.machines.remove(&id)
                    && let Some(ids) = self.machines_of.get_mut(&machine.pool)
                {
                    ids.remove(&id);
                }
            }
            Entity::Pod(pod) => {
                self.pods.insert(pod.name.clone(), *pod);
            }
            Entity::PodGone(name) => {
                self.pods.remove(&name);
            }
            Entity::Balancer(balancer) => {
                self.balancers.insert(balancer.key(), *balancer);
            }
            Entity::BalancerGone(key) => {
                self.balancers.remove(&key);
            }
            Entity::PodRoute(route) => {
                self.pod_routes.insert(route.key(), *route);
            }
            Entity::PodRouteGone(key) => {
                self.pod_routes.remove(&key);
            }
            Entity::Journal(entry) => self.put_journal(*entry),
        }
    }

    /// Every event that makes this world out of nothing.
    pub(crate) fn events(&self) -> impl Iterator<Item = EntityRef<'_>> {
        let journal = self.journal_order.iter().filter_map(|token| self.journal.get(token));
        self.all_remembered()
            .map(EntityRef::Object)
            .chain(self.machines.values().map(EntityRef::Machine))
            .chain(self.pods.values().map(EntityRef::Pod))
            .chain(self.balancers.values().map(EntityRef::Balancer))
            .chain(self.pod_routes.values().map(EntityRef::PodRoute))
            .chain(journal.map(EntityRef::Journal))
    }

    fn put_object(&mut self, object: Box<Object>) {
        if self.objects.contains_key(&object.id) {
            self.unlink(&object.id);
        }
        if !is_gone(&object) {
            self.by_kind.entry(object.kind.clone()).or_default().insert(object.id.clone());
            if let Some(token) = &object.token {
                self.by_token.insert(token.clone(), object.id.clone());
            }
            if let Some(kind) = kind::all().get(object.kind.as_str()) {
                for (_, target) in kind.targets(&object.attributes) {
                    self.referrers.insert((target.to_owned(), object.id.clone()));
                }
                if let Some(key) = kind.unique_key(&object.attributes) {
                    self.by_key.entry(key).or_default().insert(object.id.clone());
                }
            }
        }
        self.objects.insert(object.id.clone(), object);
    }

    fn remove_object(&mut self, id: &str) {
        self.unlink(id);
        self.objects.remove(id);
    }

    fn unlink(&mut self, id: &str) {
        let Some(object) = self.objects.get(id) else { return };
        if let Some(ids) = self.by_kind.get_mut(&object.kind) {
            ids.remove(id);
        }
        if let Some(token) = &object.token {
            self.by_token.remove(token);
        }
        if let Some(kind) = kind::all().get(object.kind.as_str()) {
            for (_, target) in kind.targets(&object.attributes) {
                self.referrers.remove(&(target.to_owned(), id.to_owned()));
            }
            if let Some(key) = kind.unique_key(&object.attributes)
                && let Some(ids) = self.by_key.get_mut(&key)
            {
                ids.remove(id);
                if ids.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
    }

    fn put_journal(&mut self, entry: Journaled) {
        let token = entry.token.clone();
        if self.journal.insert(token.clone(), entry).is_none() {
            self.journal_order.push_back(token);
            if self.journal_order.len() > JOURNAL
                && let Some(oldest) = self.journal_order.pop_front()
            {
                self.journal.remove(&oldest);
            }
        }
    }
}

fn is_gone(object: &Object) -> bool {
    object.stale.as_ref().is_some_and(|stale| stale.gone)
}
