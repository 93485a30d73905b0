//! Gates of pools and stores: surge, remove, snapshot.

use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{Applied, ApplyRequest, EventSink, NodeReference, operation};
use slipway_resource::{Entries, Identity, ProviderError, Value};

use super::SimSession;
use super::rollout::BASTION;
use super::surge::surge;
use crate::cloud::{Change, Journaled, Launch, Machine, Object, text_of};
use crate::error::{invalid, not_found, stopped};
use crate::fault::Call;
use crate::kind::{Kind, NODE, SNAPSHOT, operation_ms};

impl SimSession {
    #[expect(clippy::too_many_arguments, reason = "the parts of one request, taken apart once")]
    pub(super) async fn gate(
        &self,
        kind: &'static Kind,
        request: &ApplyRequest,
        identity: &Identity,
        name: &str,
        arguments: &Value,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        if !kind.resource.operations.contains_key(name) {
            return Err(invalid(format!("{} has no operation {name}", kind.name)));
        }
        if kind.name == NODE {
            return self.node_gate(request, identity, name, arguments, events, ticket).await;
        }
        let done = match name {
            operation::SURGE => self.surge(request, identity, arguments, ticket).await,
            operation::REMOVE => self.remove(request, identity, arguments, ticket).await,
            SNAPSHOT => self.snapshot(request, identity, ticket).await,
            other => return Err(invalid(format!("operation {other} is not known"))),
        };
        let machine = done.map_err(|mut error| {
            error.identity = Some(identity.clone());
            error
        })?;
        let launched = (name == operation::SURGE).then_some(());
        Ok(Applied::new(identity.clone(), self.found(machine.as_ref(), launched.is_some())?))
    }

    async fn surge(
        &self,
        request: &ApplyRequest,
        pool: &Identity,
        arguments: &Value,
        ticket: &Ticket<'_>,
    ) -> Result<Option<Machine>, ProviderError> {
        let slot = slot_of(arguments).ok_or_else(|| invalid("surge needs the argument slot"))?;
        let anew = arguments.get("anew").and_then(Value::as_bool).unwrap_or(false);
        let address = &request.ownership.address;
        let never_ready = || {
            self.faults.never_ready(Call {
                method: "launch",
                type_name: address.kind(),
                name: address.name(),
            })
        };
        let launch = Launch { seed: self.config.seed, never_ready: &never_ready };
        let machine = self.cloud.write(&self.clock, |change| {
            if let Some(done) = change.world().journaled(&request.token) {
                let machine = done.machine.as_deref().and_then(|id| change.world().machine(id));
                return Ok(machine.cloned());
            }
            let pool = pool_of(change, pool)?;
            let machine = surge(change, &pool, &slot, anew, launch)?;
            note(change, request, &pool.id, Some(&machine), operation::SURGE);
            Ok(Some(machine))
        })?;
        self.rest(request, operation::SURGE, ticket).await?;
        if let Some(machine) = &machine
            && let Some(limit) = self.bastion_limit(machine)?
        {
            self.await_ready(request, machine, (limit, 0), ticket).await?;
        }
        Ok(machine)
    }

    /// How long a bastion may take to boot; `None` for any other machine. No other gate waits for a bastion.
    fn bastion_limit(&self, machine: &Machine) -> Result<Option<u64>, ProviderError> {
        self.cloud.read(&self.clock, |world, _| {
            let pool = world.object(&machine.pool)?;
            let limit = pool.attributes.get("ready_timeout_ms").and_then(Value::as_integer);
            let limit = u64::try_from(limit.unwrap_or_default()).unwrap_or_default();
            (text_of(pool, "role") == BASTION).then_some(limit)
        })
    }

    async fn remove(
        &self,
        request: &ApplyRequest,
        pool: &Identity,
        arguments: &Value,
        ticket: &Ticket<'_>,
    ) -> Result<Option<Machine>, ProviderError> {
        let machine = self.cloud.write(&self.clock, |change| {
            let machine = member(change, pool, arguments)?;
            if let Some(machine) = &machine {
                change.terminate(machine);
                note(change, request, pool.as_str(), Some(machine), operation::REMOVE);
            }
            Ok(machine)
        })?;
        if machine.is_none() {
            return Ok(None);
        }
        self.rest(request, operation::REMOVE, ticket).await?;
        Ok(machine)
    }

    async fn snapshot(
        &self,
        request: &ApplyRequest,
        store: &Identity,
        ticket: &Ticket<'_>,
    ) -> Result<Option<Machine>, ProviderError> {
        self.cloud.write(&self.clock, |change| {
            if change.world().journaled(&request.token).is_some() {
                return Ok(());
            }
            let mut object = change
                .world()
                .object(store.as_str())
                .cloned()
                .ok_or_else(|| not_found(format!("backup store {store} does not exist")))?;
            let count = object.attributes.get("snapshots").and_then(Value::as_integer);
            let path = slipway_resource::Path::key("snapshots");
            object.attributes.set(&path, Value::Integer(count.unwrap_or_default() + 1));
            change.put_object(object);
            note(change, request, store.as_str(), None, SNAPSHOT);
            Ok(())
        })?;
        self.rest(request, SNAPSHOT, ticket).await?;
        Ok(None)
    }

    /// Waits what the gate itself takes.
    pub(super) async fn rest(
        &self,
        _request: &ApplyRequest,
        name: &str,
        ticket: &Ticket<'_>,
    ) -> Result<(), ProviderError> {
        let until = self.clock.now() + operation_ms(name);
        ticket
            .unless_stopped(self.clock.sleep_until(until))
            .await
            .map_err(|_| stopped("stopped on request; the change goes on in the cloud"))
    }

    /// The answer of a gate: its machine, and the node of a launched one.
    pub(super) fn found(&self, machine: Option<&Machine>, launched: bool) -> Result<Value, ProviderError> {
        let mut found = match machine {
            Some(machine) => Value::map([
                ("machine", Value::from(machine.id.as_str())),
                ("name", machine.name.as_str().into()),
                ("zone", machine.zone.as_str().into()),
            ]),
            None => Value::Map(Entries::new()),
        };
        if launched {
            let is_node = match machine {
                Some(machine) => self.bastion_limit(machine)?.is_none(),
                None => false,
            };
            if let Some(machine) = machine.filter(|_| is_node) {
                let node = NodeReference::ProviderId(machine.provider_id());
                found.set(&slipway_resource::Path::key(operation::NODE), node.to_value());
            }
        }
        Ok(found)
    }
}

pub(super) fn note(
    change: &mut Change<'_>,
    request: &ApplyRequest,
    id: &str,
    machine: Option<&Machine>,
    name: &str,
) {
    let done_at = Some(change.now() + if name == operation::VERIFY { 0 } else { operation_ms(name) });
    change.journal(Journaled {
        token: request.token.clone(),
        id: id.to_owned(),
        machine: machine.map(|machine| machine.id.clone()),
        done_at,
    });
}

fn pool_of(change: &Change<'_>, pool: &Identity) -> Result<Object, ProviderError> {
    change
        .world()
        .object(pool.as_str())
        .cloned()
        .ok_or_else(|| not_found(format!("pool {pool} does not exist")))
}

/// The machine that a gate names; `None` when it is gone, which satisfies every gate.
fn member(change: &Change<'_>, pool: &Identity, arguments: &Value) -> Result<Option<Machine>, ProviderError> {
    let member = member_of(arguments).ok_or_else(|| invalid("the gate needs the argument member"))?;
    let machine = change.world().machine(member).cloned();
    match machine {
        Some(machine) if machine.pool != pool.as_str() => {
            Err(invalid(format!("machine {member} is not of pool {pool} but of {}", machine.pool)))
        }
        machine => Ok(machine),
    }
}

/// The slot, which may be a number or a text.
fn slot_of(arguments: &Value) -> Option<String> {
    arguments.get("slot").filter(|slot| !slot.is_null()).map(Value::to_plain_text)
}

fn member_of(arguments: &Value) -> Option<&str> {
    arguments.get("member").and_then(Value::as_str)
}
