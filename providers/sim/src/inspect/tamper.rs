//! Changes to a simulated cloud by other users, tools and failures.

use std::path::Path as FilePath;

use slipway_resource::{Ownership, Path, ProviderError, Value};

use crate::clock::Clock;
use crate::cloud::{Change, Cloud, Machine, Object, pod};
use crate::error::not_found;
use crate::kind::{self, Assigned};

/// Changes the cloud of one directory directly. The changes ignore the cloud's rules.
#[derive(Debug)]
pub struct Tamper {
    cloud: Cloud,
    clock: Clock,
}

impl Tamper {
    /// Opens the cloud in a directory.
    #[must_use]
    pub fn open(directory: impl AsRef<FilePath>) -> Self {
        Self { cloud: Cloud::open(directory.as_ref(), "sim-account"), clock: Clock::new(0.0) }
    }

    /// Lets simulated time go by, in milliseconds, and writes that down at an object.
    ///
    /// # Errors
    /// When the object does not exist, or the cloud cannot be written.
    pub fn pass_time(&self, id: &str, milliseconds: u64) -> Result<(), ProviderError> {
        let now = self.with_object(id, |change, _| change.now())?;
        self.clock.advance_to(now + milliseconds);
        self.with_object(id, |change, object| change.put_object(object))
    }

    /// Sets one attribute of an object; null removes it.
    ///
    /// # Errors
    /// When the object does not exist, or the cloud cannot be written.
    pub fn set(&self, id: &str, path: &Path, value: Value) -> Result<(), ProviderError> {
        self.with_object(id, |change, mut object| {
            object.attributes.set(path, value);
            change.put_object(object);
        })
    }

    /// Deletes an object, even when others refer to it.
    ///
    /// # Errors
    /// When the object does not exist, or the cloud cannot be written.
    pub fn delete(&self, id: &str) -> Result<(), ProviderError> {
        self.with_object(id, |change, object| {
            let machines: Vec<Machine> = change.world().machines_of(id).cloned().collect();
            change.remove_object(id);
            machines.iter().for_each(|machine| change.terminate(machine));
            pod::forget_workload(change, &object.id);
        })
    }

    /// Makes a second object with the same type, attributes and ownership, as a late answer to a retried create
    /// does; returns its identity.
    ///
    /// # Errors
    /// When the object does not exist, or the cloud cannot be written.
    pub fn duplicate(&self, id: &str) -> Result<String, ProviderError> {
        self.with_object(id, |change, mut object| {
            let prefix = object.id.rsplit_once('-').map_or("dup", |(prefix, _)| prefix).to_owned();
            object.id = format!("{prefix}-{:06}", change.next_serial());
            object.token = None;
            object.created_at = change.now();
            object.attributes.set(&Path::key("id"), object.id.as_str().into());
            let id = object.id.clone();
            change.put_object(object);
            id
        })
    }

    /// Adds an object without tags, or with the tags of another owner; returns its identity.
    ///
    /// # Errors
    /// When the type is not known, or the cloud cannot be written.
    pub fn add_foreign(
        &self,
        kind: &str,
        attributes: &Value,
        owner: Option<Ownership>,
    ) -> Result<String, ProviderError> {
        let known = kind::all()
            .get(kind)
            .ok_or_else(|| not_found(format!("{kind} is not a type of provider sim")))?;
        self.cloud.write(&self.clock, |change| {
            let serial = change.next_serial();
            let id = format!("{}-{serial:06}", known.prefix);
            let mut attributes = known.normalised(attributes);
            let account = change.account().to_owned();
            (known.assign)(&Assigned { serial, account: &account }, &mut attributes);
            attributes.insert("id".into(), id.as_str().into());
            let now = change.now();
            change.put_object(Object {
                id: id.clone(),
                kind: kind.to_owned(),
                owner,
                token: None,
                attributes: Value::Map(attributes),
                created_at: now,
                settled_at: now,
                stale: None,
                pool: None,
                frozen_budget: false,
            });
            Ok(id)
        })
    }

    /// Takes the ownership tags of an object away, or changes them.
    ///
    /// # Errors
    /// When the object does not exist, or the cloud cannot be written.
    pub fn set_owner(&self, id: &str, owner: Option<Ownership>) -> Result<(), ProviderError> {
        self.with_object(id, |change, mut object| {
            object.owner = owner;
            change.put_object(object);
        })
    }

    /// Makes the disruption budget of a workload allow no disruption (`true`), or its normal number again.
    ///
    /// # Errors
    /// When the workload does not exist, or the cloud cannot be written.
    pub fn freeze_budget(&self, id: &str, frozen: bool) -> Result<(), ProviderError> {
        self.with_object(id, |change, mut object| {
            object.frozen_budget = frozen;
            change.put_object(object);
        })
    }

    /// Makes a machine no ready node for ever (`false`), or a ready one from now on.
    ///
    /// # Errors
    /// When the machine does not exist, or the cloud cannot be written.
    pub fn set_ready(&self, machine: &str, ready: bool) -> Result<(), ProviderError> {
        self.with_machine(machine, |change, mut machine| {
            machine.ready_at = ready.then(|| change.now());
            change.put_machine(machine);
        })
    }

    /// Stops a machine (`true`), or starts it again.
    ///
    /// # Errors
    /// When the machine does not exist, or the cloud cannot be written.
    pub fn set_stopped(&self, machine: &str, stopped: bool) -> Result<(), ProviderError> {
        self.with_machine(machine, |change, mut machine| {
            machine.stopped = stopped;
            change.put_machine(machine);
        })
    }

    /// Cordons the node of a machine, or lets pods onto it again, as a person does.
    ///
    /// # Errors
    /// When the machine does not exist, or the cloud cannot be written.
    pub fn set_cordoned(&self, machine: &str, cordoned: bool) -> Result<(), ProviderError> {
        self.with_machine(machine, |change, mut machine| {
            machine.cordoned = cordoned;
            machine.cordoned_for_a_change = false;
            change.put_machine(machine);
        })
    }

    /// Gives a machine another address.
    ///
    /// # Errors
    /// When the machine does not exist, or the cloud cannot be written.
    pub fn set_address(&self, machine: &str, address: &str) -> Result<(), ProviderError> {
        self.with_machine(machine, |change, mut machine| {
            address.clone_into(&mut machine.address);
            change.put_machine(machine);
        })
    }

    /// Ends a machine, as a cloud does when hardware fails. The place stays empty when `heal` is false; otherwise a
    /// machine of the pool's current template, ready at once, takes it.
    ///
    /// # Errors
    /// When the machine does not exist, or the cloud cannot be written.
    pub fn lose_machine(&self, machine: &str, heal: bool) -> Result<(), ProviderError> {
        self.with_machine(machine, |change, machine| {
            change.terminate(&machine);
            if heal {
                let launch = crate::cloud::Launch { seed: 0, never_ready: &|| false };
                if let Some(mut launched) = change.launch(&machine.pool, launch, false, None) {
                    launched.ready_at = Some(change.now());
                    change.put_machine(launched);
                }
            }
            pod::place(change);
        })
    }

    /// Sets how many machines a pool wants, as an autoscaler does, and launches or ends the newest to match.
    ///
    /// # Errors
    /// When the pool does not exist, or the cloud cannot be written.
    pub fn autoscale(&self, pool: &str, size: u32) -> Result<(), ProviderError> {
        self.with_object(pool, |change, mut object| {
            object.attributes.set(&Path::key("size"), size.into());
            change.put_object(object);
            let launch = crate::cloud::Launch { seed: 0, never_ready: &|| false };
            change.fill_up(pool, launch);
            let machines: Vec<Machine> = change.world().machines_of(pool).cloned().collect();
            for machine in machines.iter().skip(size as usize) {
                change.terminate(machine);
            }
            let booting: Vec<Machine> = change.world().machines_of(pool).cloned().collect();
            for mut machine in booting {
                machine.ready_at = machine.ready_at.map(|ready| ready.min(change.now()));
                change.put_machine(machine);
            }
            pod::place(change);
        })
    }

    fn with_object<T>(
        &self,
        id: &str,
        act: impl FnOnce(&mut Change<'_>, Object) -> T,
    ) -> Result<T, ProviderError> {
        self.cloud.write(&self.clock, |change| match change.world().object(id).cloned() {
            Some(object) => Ok(act(change, object)),
            None => Err(not_found(format!("there is no object {id}"))),
        })
    }

    fn with_machine<T>(
        &self,
        id: &str,
        act: impl FnOnce(&mut Change<'_>, Machine) -> T,
    ) -> Result<T, ProviderError> {
        self.cloud.write(&self.clock, |change| match change.world().machine(id).cloned() {
            Some(machine) => Ok(act(change, machine)),
            None => Err(not_found(format!("there is no machine {id}"))),
        })
    }
}
