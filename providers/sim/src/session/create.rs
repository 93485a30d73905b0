//! Creating, changing and deleting objects in the cloud, each in one change of it.

use slipway_resource::diff::same;
use slipway_resource::provider::ApplyRequest;
use slipway_resource::validate::misfits;
use slipway_resource::{Address, ErrorClass, Identity, Ownership, ProviderError, Value};

use super::SimSession;
use crate::cloud::{Change, Journaled, Launch, Object, PoolState, Stale, World, pod, view};
use crate::error::{conflict, dependency, invalid, not_found};
use crate::kind::{self, Assigned, Candidate, Kind, MACHINE_POOL, OnDelete, WORKLOAD, fits};

/// What a change depends on beside the request.
#[derive(Clone, Copy)]
pub(super) struct Circumstances<'a> {
    /// For how long reads show what was before.
    pub(super) delay: u64,
    /// How machines are launched.
    pub(super) launch: Launch<'a>,
}

/// An object after a change, and when the change is through.
pub(super) struct Settled {
    pub(super) id: String,
    pub(super) at: u64,
}

impl SimSession {
    pub(super) fn create(
        &self,
        change: &mut Change<'_>,
        kind: &Kind,
        request: &ApplyRequest,
        desired: &Value,
        circumstances: Circumstances<'_>,
    ) -> Result<Settled, ProviderError> {
        let Circumstances { delay, launch } = circumstances;
        if let Some(object) = change.world().made_by(&request.token) {
            return Ok(Settled { id: object.id.clone(), at: object.settled_at });
        }
        let address = &request.ownership.address;
        let desired = &kind.without_computed(desired);
        check_form(kind, desired, address)?;
        let mut attributes = kind.normalised(desired);
        let wanted = Value::Map(attributes.clone());
        self.check_account(kind, &wanted)?;
        check_quota(change.world(), kind, self.quota(kind))?;
        check_place(change.world(), kind, None, &wanted, None)?;
        let serial = change.next_serial();
        let id = format!("{}-{serial:06}", kind.prefix);
        let account = change.account().to_owned();
        attributes.insert("id".into(), id.as_str().into());
        attributes.insert("arn".into(), format!("arn:sim:{account}:{}/{id}", kind.name).into());
        (kind.assign)(&Assigned { serial, account: &account }, &mut attributes);
        if kind.name == MACHINE_POOL {
            assign_pool(&mut attributes);
        }
        let now = change.now();
        let settled_at = now + duration_of_create(kind, &attributes);
        let mut object = Object {
            id: id.clone(),
            kind: kind.name.to_owned(),
            owner: Some(request.ownership.clone()),
            token: Some(request.token.clone()),
            attributes: Value::Map(attributes),
            created_at: now,
            settled_at,
            stale: (delay > 0).then(|| Stale { until: now + delay, attributes: None, gone: false }),
            pool: None,
            frozen_budget: false,
        };
        if kind.name == MACHINE_POOL {
            let mut state = PoolState::default();
            state.take_template(&object.attributes);
            object.pool = Some(state);
        }
        change.put_object(object.clone());
        follow(change, &object, launch);
        Ok(Settled { id, at: settled_at })
    }

    pub(super) fn update(
        &self,
        change: &mut Change<'_>,
        kind: &Kind,
        request: &ApplyRequest,
        identity: &Identity,
        desired: &Value,
        circumstances: Circumstances<'_>,
    ) -> Result<Settled, ProviderError> {
        let Circumstances { delay, launch } = circumstances;
        let address = &request.ownership.address;
        if let Some(entry) = change.world().journaled(&request.token) {
            return Ok(Settled { id: entry.id.clone(), at: entry.done_at.unwrap_or_default() });
        }
        let mut object = existing(change.world(), kind, identity)?;
        let desired = &kind.without_computed(desired);
        check_form(kind, desired, address)?;
        let mut attributes = kind.normalised(desired);
        for (name, value) in object.attributes.as_map().into_iter().flatten() {
            if !attributes.contains_key(name) && kind.is_server_set(name) {
                attributes.insert(name.clone(), value.clone());
            }
        }
        if kind.name == MACHINE_POOL && desired.get("size").is_none() {
            clamp_size(&mut attributes);
        }
        let attributes = Value::Map(attributes);
        if let Some(name) = changed_for_ever(kind, &object.attributes, &attributes) {
            return Err(invalid(format!("{name} of {} {identity} cannot change", kind.name)));
        }
        self.check_account(kind, &attributes)?;
        check_place(change.world(), kind, Some(&object.id), &attributes, Some(&object.attributes))?;
        let now = change.now();
        object.stale = (delay > 0).then(|| Stale {
            until: now + delay,
            attributes: Some(view::current(change.world(), &object, now)),
            gone: false,
        });
        object.attributes = attributes;
        object.settled_at = now + kind.resource.durations.update_ms;
        if let Some(state) = &mut object.pool {
            state.take_template(&object.attributes);
        }
        let settled = Settled { id: object.id.clone(), at: object.settled_at };
        change.put_object(object.clone());
        follow(change, &object, launch);
        change.journal(Journaled {
            token: request.token.clone(),
            id: settled.id.clone(),
            machine: None,
            done_at: Some(settled.at),
        });
        Ok(settled)
    }

    fn quota(&self, kind: &Kind) -> u64 {
        self.config.quotas.get(kind.name).copied().unwrap_or(kind.quota)
    }

    /// Refuses zones and machine types that the account does not have.
    pub(super) fn check_account(&self, kind: &Kind, attributes: &Value) -> Result<(), ProviderError> {
        let texts = |name: &str| -> Vec<&str> {
            match attributes.get(name) {
                Some(Value::String(text)) => vec![text],
                Some(Value::List(items)) => items.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            }
        };
        let checks = [
            ("zone", "zone", &self.config.zones),
            ("zones", "zone", &self.config.zones),
            ("machine_type", "machine type", &self.config.machine_types),
        ];
        for (attribute, what, known) in checks {
            if known.is_empty() || !kind.resource.attributes.contains_key(attribute) {
                continue;
            }
            if let Some(text) =
                texts(attribute).into_iter().find(|text| known.iter().all(|known| known != text))
            {
                return Err(invalid(format!("there is no {what} {text}; there are {}", known.join(", "))));
            }
        }
        Ok(())
    }

    /// What would refuse an object of these attributes, for a check beforehand.
    pub(super) fn refusals(
        &self,
        world: &World,
        kind: &Kind,
        already: u64,
        attributes: &Value,
        id: Option<&str>,
    ) -> Vec<ProviderError> {
        let mut refusals = Vec::new();
        refusals.extend(self.check_account(kind, attributes).err());
        if id.is_none() {
            let quota = self.quota(kind).saturating_sub(already);
            refusals.extend(check_quota(world, kind, quota).err());
            if let Some(error) = check_unique(world, kind, None, attributes).err() {
                refusals.push(error);
            }
        }
        refusals
    }
}

/// What follows from a pool or a workload being as it is.
fn follow(change: &mut Change<'_>, object: &Object, launch: Launch<'_>) {
    match object.kind.as_str() {
        MACHINE_POOL => change.fill_up(&object.id, launch),
        WORKLOAD => pod::follow_replicas(change, object),
        _ => {}
    }
}

/// What the cloud decides of a pool.
fn assign_pool(attributes: &mut std::collections::BTreeMap<String, Value>) {
    let min = attributes.get("min").cloned().unwrap_or(Value::Integer(0));
    attributes.entry("size".into()).or_insert(min);
    attributes.entry("machine_type".into()).or_insert("sim.medium".into());
    attributes.entry("image".into()).or_insert("sim-linux-stable".into());
}

/// Keeps the size that an autoscaler has chosen within its bounds.
fn clamp_size(attributes: &mut std::collections::BTreeMap<String, Value>) {
    let number = |name: &str| attributes.get(name).and_then(Value::as_integer);
    if let (Some(size), Some(min), Some(max)) = (number("size"), number("min"), number("max")) {
        attributes.insert("size".into(), size.min(max).max(min).into());
    }
}

/// How long a create takes, machines aside.
fn duration_of_create(kind: &Kind, attributes: &std::collections::BTreeMap<String, Value>) -> u64 {
    let slept = attributes.get("sleep_ms").and_then(Value::as_integer);
    let own =
        if kind.name == MACHINE_POOL { crate::kind::POOL_MS } else { kind.resource.durations.create_ms };
    own + u64::try_from(slept.unwrap_or_default()).unwrap_or_default()
}

/// Deletes an object and what goes with it. One that is gone already is a success.
pub(super) fn delete(
    change: &mut Change<'_>,
    kind: &Kind,
    request: &ApplyRequest,
    identity: &Identity,
    delay: u64,
) -> Result<Settled, ProviderError> {
    let id = identity.as_str();
    let gone = |at| Settled { id: id.to_owned(), at };
    if let Some(entry) = change.world().journaled(&request.token) {
        return Ok(gone(entry.done_at.unwrap_or_default()));
    }
    let Some(object) = change.world().object(id).cloned() else {
        return Ok(gone(change.now()));
    };
    if object.kind != kind.name {
        return Err(invalid(format!("{id} is a {}, no {}", object.kind, kind.name)));
    }
    let mut doomed = vec![object.id.clone()];
    let mut position = 0;
    while let Some(next) = doomed.get(position).cloned() {
        for (referrer, on_delete) in referrers(change.world(), &next) {
            if on_delete == OnDelete::Follow && !doomed.contains(&referrer) {
                doomed.push(referrer);
            }
        }
        position += 1;
    }
    let blockers: Vec<String> = doomed
        .iter()
        .flat_map(|next| referrers(change.world(), next))
        .filter(|(referrer, on_delete)| *on_delete == OnDelete::Refuse && !doomed.contains(referrer))
        .map(|(referrer, _)| referrer)
        .collect();
    if !blockers.is_empty() {
        return Err(dependency(format!("{} {id} is in use by {}", kind.name, blockers.join(", ")), blockers));
    }
    for id in doomed.iter().rev() {
        remove(change, id, delay);
    }
    let at = change.now() + kind.resource.durations.delete_ms;
    change.journal(Journaled {
        token: request.token.clone(),
        id: id.to_owned(),
        machine: None,
        done_at: Some(at),
    });
    Ok(gone(at))
}

/// Writes the ownership tags of an object.
pub(super) fn tag(
    change: &mut Change<'_>,
    kind: &Kind,
    ownership: &Ownership,
    identity: &Identity,
) -> Result<Settled, ProviderError> {
    let now = change.now();
    let mut object = existing(change.world(), kind, identity)?;
    if object.owner.as_ref() != Some(ownership) {
        object.owner = Some(ownership.clone());
        change.put_object(object);
    }
    Ok(Settled { id: identity.as_str().to_owned(), at: now })
}

fn remove(change: &mut Change<'_>, id: &str, delay: u64) {
    let Some(mut object) = change.world().object(id).cloned() else {
        return;
    };
    let now = change.now();
    let shown = (delay > 0).then(|| view::current(change.world(), &object, now));
    match object.kind.as_str() {
        MACHINE_POOL => {
            let machines: Vec<_> = change.world().machines_of(id).cloned().collect();
            change.remove_object(id);
            for machine in &machines {
                change.terminate(machine);
            }
        }
        WORKLOAD => {
            pod::forget_workload(change, id);
            change.remove_object(id);
        }
        _ => change.remove_object(id),
    }
    if let Some(attributes) = shown {
        object.pool = None;
        object.stale = Some(Stale { until: now + delay, attributes: Some(attributes), gone: true });
        change.put_object(object);
    }
}

/// The objects that refer to one, and what its deletion means to them.
fn referrers(world: &World, id: &str) -> Vec<(String, OnDelete)> {
    let mut found = Vec::new();
    for referrer in world.referrers(id) {
        let Some(object) = world.object(referrer) else { continue };
        let Some(kind) = kind::all().get(object.kind.as_str()) else {
            continue;
        };
        for (link, target) in kind.targets(&object.attributes) {
            if target == id {
                found.push((referrer.clone(), link.on_delete));
            }
        }
    }
    found
}

fn existing(world: &World, kind: &Kind, identity: &Identity) -> Result<Object, ProviderError> {
    match world.object(identity.as_str()) {
        Some(object) if object.kind == kind.name => Ok(object.clone()),
        Some(object) => Err(invalid(format!("{identity} is a {}, no {}", object.kind, kind.name))),
        None => Err(not_found(format!("{} {identity} does not exist", kind.name))),
    }
}

/// Refuses attributes that do not fit the schema, or are not known.
fn check_form(kind: &Kind, desired: &Value, address: &Address) -> Result<(), ProviderError> {
    if !fits(&kind.resource.attributes, desired)
        && let Some(misfit) = misfits(&kind.resource.attributes, desired).into_iter().next()
    {
        return Err(invalid(format!("{address}: {misfit}")));
    }
    if !desired.is_known() {
        return Err(invalid(format!("{address}: an attribute is not known")));
    }
    Ok(())
}

fn check_quota(world: &World, kind: &Kind, limit: u64) -> Result<(), ProviderError> {
    let used = world.count(kind.name);
    if used < limit {
        return Ok(());
    }
    let class = ErrorClass::Quota { name: kind.name.to_owned(), limit, used };
    Err(ProviderError::new(class, format!("the account may have {limit} of {}", kind.name))
        .with_hint(format!("raise quotas.{} in the provider's configuration", kind.name)))
}

fn check_unique(
    world: &World,
    kind: &Kind,
    id: Option<&str>,
    attributes: &Value,
) -> Result<(), ProviderError> {
    let holder = kind
        .unique_key(attributes)
        .and_then(|key| world.holder_of(&key))
        .filter(|holder| Some(holder.as_str()) != id);
    match holder {
        Some(holder) => {
            let name = kind
                .unique
                .iter()
                .filter_map(|name| attributes.get(name))
                .map(Value::to_plain_text)
                .collect::<Vec<_>>()
                .join("/");
            Err(conflict(format!("{} {name} exists already as {holder}", kind.name)))
        }
        None => Ok(()),
    }
}

/// Refuses an object that does not go with what else exists.
fn check_place(
    world: &World,
    kind: &Kind,
    id: Option<&str>,
    attributes: &Value,
    before: Option<&Value>,
) -> Result<(), ProviderError> {
    check_unique(world, kind, id, attributes)?;
    for (link, target) in kind.targets(attributes) {
        match world.object(target) {
            Some(object) if link.target.is_empty() || object.kind == link.target => {}
            Some(object) => {
                return Err(invalid(format!(
                    "{}: {target} is a {}, no {}",
                    link.attribute, object.kind, link.target
                )));
            }
            None if kind::is_foreign(target) => {}
            None => {
                return Err(not_found(format!(
                    "{}: {} {target} does not exist",
                    link.attribute,
                    if link.target.is_empty() { "object" } else { link.target }
                )));
            }
        }
    }
    (kind.check)(world, &Candidate { id, attributes, before })
}

/// An attribute that differs and can only be set when the object is made.
fn changed_for_ever<'a>(kind: &'a Kind, before: &Value, after: &Value) -> Option<&'a str> {
    kind.resource
        .attributes
        .iter()
        .filter(|(_, attribute)| attribute.immutable)
        .find(|(name, attribute)| {
            let null = Value::Null;
            !same(&attribute.kind, before.get(name).unwrap_or(&null), after.get(name).unwrap_or(&null))
        })
        .map(|(name, _)| name.as_str())
}
