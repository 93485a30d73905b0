//! One change of the cloud in progress.

use super::World;
use super::entity::{Entity, EntityRef, Journaled, Machine, Object, Pod};
use super::traffic::{Balancer, PodRoute};
use crate::clock::Millis;

/// A change in progress: its reads see its own writes, and all its writes are one line of the log.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    world: &'a mut World,
    now: Millis,
    account: &'a str,
    events: Vec<u8>,
}

impl<'a> Change<'a> {
    pub(super) fn new(world: &'a mut World, now: Millis, account: &'a str) -> Self {
        Self { world, now, account, events: Vec::new() }
    }

    /// The cloud with what this change has put.
    pub(crate) fn world(&self) -> &World {
        self.world
    }

    /// The simulated time.
    pub(crate) fn now(&self) -> Millis {
        self.now
    }

    /// The account's name.
    pub(crate) fn account(&self) -> &str {
        self.account
    }

    /// The next number for an identity.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.world.serial += 1;
        self.world.serial
    }

    /// Something is as it says.
    pub(crate) fn put_object(&mut self, object: Object) {
        self.record(&EntityRef::Object(&object));
        self.world.take(Entity::Object(Box::new(object)));
    }

    /// An object is gone.
    pub(crate) fn remove_object(&mut self, id: &str) {
        self.record(&EntityRef::ObjectGone(id));
        self.world.take(Entity::ObjectGone(id.to_owned()));
    }

    /// A machine is as it says.
    pub(crate) fn put_machine(&mut self, machine: Machine) {
        self.record(&EntityRef::Machine(&machine));
        self.world.take(Entity::Machine(Box::new(machine)));
    }

    /// A machine is gone.
    pub(crate) fn remove_machine(&mut self, id: &str) {
        self.record(&EntityRef::MachineGone(id));
        self.world.take(Entity::MachineGone(id.to_owned()));
    }

    /// A pod is as it says.
    pub(crate) fn put_pod(&mut self, pod: Pod) {
        self.record(&EntityRef::Pod(&pod));
        self.world.take(Entity::Pod(Box::new(pod)));
    }

    /// A pod is gone.
    pub(crate) fn remove_pod(&mut self, name: &str) {
        self.record(&EntityRef::PodGone(name));
        self.world.take(Entity::PodGone(name.to_owned()));
    }

    /// A load balancer of a Service is as it says.
    pub(crate) fn put_balancer(&mut self, balancer: Balancer) {
        self.record(&EntityRef::Balancer(&balancer));
        self.world.take(Entity::Balancer(Box::new(balancer)));
    }

    /// A load balancer of a Service is gone.
    pub(crate) fn remove_balancer(&mut self, key: &str) {
        self.record(&EntityRef::BalancerGone(key));
        self.world.take(Entity::BalancerGone(key.to_owned()));
    }

    /// A route to pods is as it says.
    pub(crate) fn put_pod_route(&mut self, route: PodRoute) {
        self.record(&EntityRef::PodRoute(&route));
        self.world.take(Entity::PodRoute(Box::new(route)));
    }

    /// A route to pods is gone.
    pub(crate) fn remove_pod_route(&mut self, key: &str) {
        self.record(&EntityRef::PodRouteGone(key));
        self.world.take(Entity::PodRouteGone(key.to_owned()));
    }

    /// An action was done.
    pub(crate) fn journal(&mut self, entry: Journaled) {
        self.record(&EntityRef::Journal(&entry));
        self.world.take(Entity::Journal(Box::new(entry)));
    }

    fn record(&mut self, event: &EntityRef<'_>) {
        if !self.events.is_empty() {
            self.events.push(b',');
        }
        // Writing into memory cannot fail, and every entity has text for keys.
        let _written = serde_json::to_writer(&mut self.events, event);
    }

    /// The line of the log; `None` when nothing was changed.
    pub(super) fn into_line(self) -> Option<Vec<u8>> {
        if self.events.is_empty() {
            return None;
        }
        self.world.moment = self.world.moment.max(self.now);
        Some(super::log::line(self.now, self.world.serial, &self.events))
    }
}
