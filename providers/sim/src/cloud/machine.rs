//! Machines of pools: their launch, and the replacement of removed machines.

use std::collections::BTreeMap;

use slipway_resource::{Digest, Entries, Value};

use super::change::Change;
use super::entity::{Machine, Object, PoolState, Vacancy};
use super::pod;
use crate::clock::Millis;
use crate::hash;
use crate::kind::TEMPLATE;

/// The parameters of a launch beside the pool.
#[derive(Clone, Copy)]
pub(crate) struct Launch<'a> {
    /// Decides how long machines boot.
    pub(crate) seed: u64,
    /// Asked once for each machine: whether it never becomes a ready node.
    pub(crate) never_ready: &'a (dyn Fn() -> bool + Sync),
}

/// How long the machine of a pool with this number takes from its launch to being a ready node: 40 to 90 seconds
/// by the seed and the pool, and up to 4 % more by the number.
pub(crate) fn boot_ms(seed: u64, cluster: &str, pool: &str, ordinal: u64) -> Millis {
    let base = 40_000 + hash::mix(seed, &["boot", cluster, pool]) % 46_000;
    let percent = hash::mix(seed, &["boot", cluster, pool, &ordinal.to_string()]) % 5;
    base + base * percent / 100
}

/// The digest of the attributes that machines are made from; `None` while one of them is unknown. Secrets do not
/// count, since their fingerprints need not be known on every path.
pub(crate) fn template_digest(attributes: &Entries) -> Option<String> {
    let mut parts = BTreeMap::new();
    for name in TEMPLATE {
        match attributes.get(name) {
            None | Some(Value::Null | Value::Secret(_)) => {}
            Some(Value::List(items)) if items.is_empty() => {}
            Some(Value::Map(entries)) if entries.is_empty() => {}
            Some(value) if !value.is_known() => return None,
            Some(value) => {
                parts.insert(*name, value);
            }
        }
    }
    Digest::of(&parts).ok().map(|digest| digest.short().to_owned())
}

impl Change<'_> {
    /// Launches a machine of a pool, into an empty place when there is one.
    pub(crate) fn launch(
        &mut self,
        pool_id: &str,
        launch: Launch<'_>,
        surplus: bool,
        slot: Option<String>,
    ) -> Option<Machine> {
        let mut pool = self.world().object(pool_id)?.clone();
        let state = pool.pool.get_or_insert_default();
        let vacancy =
            if surplus || state.vacancies.is_empty() { None } else { Some(state.vacancies.remove(0)) };
        let ordinal = state.launched;
        state.launched += 1;
        let (template_version, template_digest) = (state.template_version, state.template_digest.clone());
        let volume = self.free_volume(&pool, vacancy.as_ref());
        let zone = match (&vacancy, &volume) {
            (Some(vacancy), _) => vacancy.zone.clone(),
            (None, Some((_, zone))) => zone.clone(),
            (None, None) => self.emptiest_zone(&pool),
        };
        let serial = self.next_serial();
        let text = |name: &str| text_of(&pool, name).to_owned();
        let machine = Machine {
            id: format!("mach-{serial:06}"),
            pool: pool_id.to_owned(),
            cluster: text("cluster"),
            name: format!("{}-{}", text("name"), ordinal + 1),
            template_version,
            template_digest,
            zone,
            address: format!("10.{}.{}.{}", serial / 62_500 % 250, serial / 250 % 250, serial % 250 + 4),
            image: text("image"),
            machine_type: text("machine_type"),
            kubernetes_version: text("kubernetes_version"),
            launched_at: self.now(),
            ready_at: (!(launch.never_ready)())
                .then(|| self.now() + boot_ms(launch.seed, &text("cluster"), &text("name"), ordinal)),
            cordoned: false,
            cordoned_for_a_change: false,
            stopped: false,
            surplus,
            slot,
            volume: volume.map(|(id, _)| id),
        };
        self.put_object(pool);
        self.put_machine(machine.clone());
        Some(machine)
    }

    /// Terminates a machine. When a surplus one is there it takes the place, otherwise the place is empty as long
    /// as the pool is smaller than its size.
    pub(crate) fn terminate(&mut self, machine: &Machine) {
        self.remove_machine(&machine.id);
        pod::lose_machine(self, &machine.id);
        if machine.surplus {
            return;
        }
        let Some(mut pool) = self.world().object(&machine.pool).cloned() else {
            return;
        };
        let current = pool.pool.as_ref().map(|state| state.template_digest.clone()).unwrap_or_default();
        let heir = self
            .world()
            .machines_of(&pool.id)
            .filter(|other| other.surplus)
            .min_by_key(|other| (other.template_digest != current, other.id.clone()))
            .cloned();
        if let Some(mut heir) = heir {
            heir.surplus = false;
            self.put_machine(heir);
            return;
        }
        let live = self.world().machines_of(&pool.id).count();
        let size = size_of(&pool);
        let state = pool.pool.get_or_insert_default();
        if live + state.vacancies.len() < size {
            state.vacancies.push(Vacancy {
                name: machine.name.clone(),
                identity: machine.id.clone(),
                zone: machine.zone.clone(),
                volume: machine.volume.clone(),
            });
            self.put_object(pool);
        }
    }

    /// Launches the machines that a pool lacks to its size, and drops empty places beyond the size. While the
    /// pool has machines of an old template, none is launched: the roll that replaces them adds the missing
    /// ones, within its limits.
    pub(crate) fn fill_up(&mut self, pool_id: &str, launch: Launch<'_>) {
        let Some(mut pool) = self.world().object(pool_id).cloned() else {
            return;
        };
        let size = size_of(&pool);
        let state = pool.pool.get_or_insert_default();
        let rolling =
            self.world().machines_of(pool_id).any(|machine| machine.template_digest != state.template_digest);
        let live = self.world().machines_of(pool_id).count();
        let missing = size.saturating_sub(live);
        if missing < state.vacancies.len() {
            state.vacancies.truncate(missing);
            self.put_object(pool);
        }
        if !rolling {
            for _ in 0..missing {
                self.launch(pool_id, launch, false, None);
            }
        }
    }

    fn free_volume(&self, pool: &Object, vacancy: Option<&Vacancy>) -> Option<(String, String)> {
        let world = self.world();
        let taken: Vec<&str> =
            world.machines_of(&pool.id).filter_map(|machine| machine.volume.as_deref()).collect();
        let ids = pool.attributes.get("volume_ids").and_then(Value::as_list)?;
        let zone_of = |id: &str| {
            let zone = world.object(id)?.attributes.get("zone")?.as_str()?;
            Some(zone.to_owned())
        };
        ids.iter()
            .filter_map(Value::as_str)
            .filter(|id| !taken.contains(id))
            .filter_map(|id| Some((id.to_owned(), zone_of(id)?)))
            .find(|(_, zone)| vacancy.is_none_or(|vacancy| vacancy.zone == *zone))
    }

    fn emptiest_zone(&self, pool: &Object) -> String {
        let zones: Vec<&str> = pool
            .attributes
            .get("zones")
            .and_then(Value::as_list)
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let count =
            |zone: &str| self.world().machines_of(&pool.id).filter(|machine| machine.zone == zone).count();
        zones
            .iter()
            .enumerate()
            .min_by_key(|(index, zone)| (count(zone), *index))
            .map(|(_, zone)| (*zone).to_owned())
            .unwrap_or_default()
    }
}

impl PoolState {
    /// Takes a template over; a new one gets the next version.
    pub(crate) fn take_template(&mut self, attributes: &Value) {
        let digest = attributes.as_map().and_then(template_digest).unwrap_or_default();
        if self.template_version == 0 || digest != self.template_digest {
            self.template_version += 1;
            self.template_digest = digest;
        }
    }
}

/// The desired number of machines in a pool.
pub(crate) fn size_of(pool: &Object) -> usize {
    let size = pool.attributes.get("size").and_then(Value::as_integer);
    usize::try_from(size.unwrap_or_default()).unwrap_or_default()
}

/// The text of an attribute; empty when there is none.
pub(crate) fn text_of<'a>(object: &'a Object, name: &str) -> &'a str {
    object.attributes.get(name).and_then(Value::as_str).unwrap_or_default()
}
