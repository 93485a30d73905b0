//! Creating, changing and deleting objects in the cloud, each in one change of it.

use slipway_resource::provider::ApplyRequest;
use slipway_resource::{Entries, Identity, Ownership, ProviderError, Value};

use super::SimSession;
use super::check::{changed_for_ever, check_form, check_place, check_quota};
use crate::cloud::{Change, Journaled, Launch, Object, PoolState, Stale, World, pod, view};
use crate::error::{invalid, not_found};
use crate::kind::{Assigned, Kind, MACHINE_POOL, WORKLOAD};

/// The parameters of a change beside the request.
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
        check_quota(change.world(), kind, self.quota(kind), 0)?;
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
}

/// The effects of the present state of a pool or workload.
fn follow(change: &mut Change<'_>, object: &Object, launch: Launch<'_>) {
    match object.kind.as_str() {
        MACHINE_POOL => change.fill_up(&object.id, launch),
        WORKLOAD => pod::follow_replicas(change, object),
        _ => {}
    }
}

/// The attributes that the cloud sets for a pool.
fn assign_pool(attributes: &mut Entries) {
    let min = attributes.get("min").cloned().unwrap_or(Value::Integer(0));
    attributes.entry("size".into()).or_insert(min);
    attributes.entry("machine_type".into()).or_insert("sim.medium".into());
    attributes.entry("image".into()).or_insert("sim-linux-stable".into());
}

/// Keeps the size that an autoscaler has chosen within its bounds.
fn clamp_size(attributes: &mut Entries) {
    let number = |name: &str| attributes.get(name).and_then(Value::as_integer);
    if let (Some(size), Some(min), Some(max)) = (number("size"), number("min"), number("max")) {
        attributes.insert("size".into(), size.min(max).max(min).into());
    }
}

/// How long a create takes, machines aside.
fn duration_of_create(kind: &Kind, attributes: &Entries) -> u64 {
    let slept = attributes.get("sleep_ms").and_then(Value::as_integer);
    let own =
        if kind.name == MACHINE_POOL { crate::kind::POOL_MS } else { kind.resource.durations.create_ms };
    own + u64::try_from(slept.unwrap_or_default()).unwrap_or_default()
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

fn existing(world: &World, kind: &Kind, identity: &Identity) -> Result<Object, ProviderError> {
    match world.object(identity.as_str()) {
        Some(object) if object.kind == kind.name => Ok(object.clone()),
        Some(object) => Err(invalid(format!("{identity} is a {}, no {}", object.kind, kind.name))),
        None => Err(not_found(format!("{} {identity} does not exist", kind.name))),
    }
}
