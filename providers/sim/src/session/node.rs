//! Nodes of the simulated clusters: their list, and their gates verify, cordon and drain.

use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{
    Applied, ApplyEvent, ApplyRequest, EventSink, Node, NodeReference, OnBlocked, operation,
};
use slipway_resource::{Identity, ProviderError, Value};

use super::SimSession;
use super::gate::note;
use super::rollout::BASTION;
use crate::cloud::{Machine, pod, text_of};
use crate::error::{dependency, invalid, not_found, permanent, stopped, unknown_outcome};
use crate::fault::Call;
use crate::kind::{EVICTION_MS, NODE};

impl SimSession {
    /// All nodes, with the budgets that block their drains.
    pub(super) async fn list_nodes(&self) -> Result<Vec<Node>, ProviderError> {
        let call = Call { method: "nodes", type_name: NODE, name: "" };
        self.begin(call, "compute").await?;
        let mut nodes = self.cloud.read(&self.clock, |world, now| {
            let pods = pod::by_machine(world);
            let is_node = |machine: &&Machine| {
                world.object(&machine.pool).is_some_and(|pool| text_of(pool, "role") != BASTION)
            };
            let of = |machine: &Machine| {
                let own = pods.get(machine.id.as_str()).map(Vec::as_slice).unwrap_or_default();
                Node {
                    name: machine.name.clone(),
                    identity: Identity::new(machine.id.as_str()),
                    provider_id: Some(machine.provider_id()),
                    ready: machine.is_ready(now),
                    blockers: pod::outlook(world, own, now).0,
                }
            };
            world.machines().filter(is_node).map(of).collect::<Vec<_>>()
        })?;
        nodes.sort_by(|one, other| (&one.name, &one.identity).cmp(&(&other.name, &other.identity)));
        self.calls.append(&[self.record(call, "ok", nodes.len())]);
        Ok(nodes)
    }

    pub(super) async fn node_gate(
        &self,
        request: &ApplyRequest,
        identity: &Identity,
        name: &str,
        arguments: &Value,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        let id = match arguments.get(operation::NODE) {
            Some(named) => self.id_of(named)?,
            None => identity.as_str().to_owned(),
        };
        let done = match name {
            operation::VERIFY => self.verify(request, &id, arguments, ticket).await.map(Some),
            operation::CORDON => self.cordon(request, &id, is_temporary(arguments), ticket).await,
            operation::UNCORDON => self.uncordon(request, &id, is_temporary(arguments), ticket).await,
            operation::DRAIN => self.drain(request, &id, arguments, events, ticket).await,
            other => return Err(invalid(format!("operation {other} is not known"))),
        };
        let identity = Identity::new(id);
        let machine = done.map_err(|mut error| {
            error.identity = Some(identity.clone());
            error
        })?;
        Ok(Applied::new(identity, self.found(machine.as_ref(), false)?))
    }

    /// The machine that is a node.
    fn id_of(&self, named: &Value) -> Result<String, ProviderError> {
        let reference = NodeReference::of_value(named)
            .ok_or_else(|| invalid("the argument node is neither a name nor a provider id"))?;
        let found = self.cloud.read(&self.clock, |world, _| {
            let is = |machine: &&Machine| reference.is(&machine.name, Some(&machine.provider_id()));
            world.machines().find(is).map(|machine| machine.id.clone())
        })?;
        found.ok_or_else(|| not_found(format!("{reference} does not exist")))
    }

    async fn verify(
        &self,
        request: &ApplyRequest,
        id: &str,
        arguments: &Value,
        ticket: &Ticket<'_>,
    ) -> Result<Machine, ProviderError> {
        let machine = self.cloud.read(&self.clock, |world, _| world.machine(id).cloned())?;
        let machine = machine.ok_or_else(|| not_found(format!("node {id} does not exist")))?;
        let limit = milliseconds(arguments, "timeout_ms").unwrap_or_else(|| self.patience(request));
        let settle = milliseconds(arguments, "settle_ms").unwrap_or_default();
        self.await_ready(request, &machine, (limit, settle), ticket).await?;
        self.cloud.write(&self.clock, |change| {
            note(change, request, id, Some(&machine), operation::VERIFY);
            Ok(())
        })?;
        Ok(machine)
    }

    /// Waits until a machine has booted, and has been ready for a time.
    pub(super) async fn await_ready(
        &self,
        request: &ApplyRequest,
        machine: &Machine,
        (limit, settle): (u64, u64),
        ticket: &Ticket<'_>,
    ) -> Result<(), ProviderError> {
        let begun = self.clock.now();
        let patience = self.patience(request);
        let end = begun.saturating_add(limit.saturating_add(settle).min(patience));
        let settled = machine.ready_at.map_or(u64::MAX, |ready| ready.saturating_add(settle));
        ticket
            .unless_stopped(self.clock.sleep_until(settled.min(end)))
            .await
            .map_err(|_| stopped("stopped on request"))?;
        self.admit_nodes()?;
        if machine.is_ready(self.clock.now()) {
            return Ok(());
        }
        if patience < limit {
            return Err(unknown_outcome(format!("{} was not ready in the given time", machine.name)));
        }
        let text = format!("machine {} did not become a ready node within {} s", machine.name, limit / 1000);
        Err(permanent(text).with_hint("look at the machine's console, then apply again"))
    }

    async fn cordon(
        &self,
        request: &ApplyRequest,
        id: &str,
        is_temporary: bool,
        ticket: &Ticket<'_>,
    ) -> Result<Option<Machine>, ProviderError> {
        let machine = self.cloud.write(&self.clock, |change| {
            let Some(mut machine) = change.world().machine(id).cloned() else { return Ok(None) };
            machine.cordoned_for_a_change |= is_temporary && !machine.cordoned;
            machine.cordoned = true;
            change.put_machine(machine.clone());
            note(change, request, id, Some(&machine), operation::CORDON);
            Ok(Some(machine))
        })?;
        if machine.is_some() {
            self.rest(request, operation::CORDON, ticket).await?;
        }
        Ok(machine)
    }

    /// Makes a node schedulable again. With the argument `temporary`, only a cordon that Slipway made is undone.
    async fn uncordon(
        &self,
        request: &ApplyRequest,
        id: &str,
        is_temporary: bool,
        ticket: &Ticket<'_>,
    ) -> Result<Option<Machine>, ProviderError> {
        let machine = self.cloud.write(&self.clock, |change| {
            let Some(mut machine) = change.world().machine(id).cloned() else { return Ok(None) };
            if machine.cordoned_for_a_change || !is_temporary {
                machine.cordoned = false;
                machine.cordoned_for_a_change = false;
                change.put_machine(machine.clone());
                pod::place(change);
            }
            note(change, request, id, Some(&machine), operation::UNCORDON);
            Ok(Some(machine))
        })?;
        if machine.is_some() {
            self.rest(request, operation::UNCORDON, ticket).await?;
        }
        Ok(machine)
    }

    /// Empties a node within the budgets of what runs on it.
    async fn drain(
        &self,
        request: &ApplyRequest,
        id: &str,
        arguments: &Value,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Option<Machine>, ProviderError> {
        let begun = self.clock.now();
        let timeout = milliseconds(arguments, "timeout_ms").unwrap_or_else(|| self.patience(request));
        let ignore_budgets = arguments.get("ignore_budgets").and_then(Value::as_bool) == Some(true);
        let on_blocked = arguments.get("on_blocked").and_then(Value::as_str).unwrap_or_default();
        let forces = OnBlocked::of(on_blocked) == OnBlocked::Force;
        let deadline = begun.saturating_add(timeout);
        self.rest(request, operation::DRAIN, ticket).await?;
        let mut reported = Vec::new();
        loop {
            let late = self.clock.now() >= deadline;
            let round = self.cloud.write(&self.clock, |change| {
                let Some(mut machine) = change.world().machine(id).cloned() else { return Ok(Round::Gone) };
                if !machine.cordoned {
                    machine.cordoned = true;
                    change.put_machine(machine.clone());
                }
                let eviction = pod::evict(change, id, !(ignore_budgets || late && forces));
                let left = eviction.evicted > 0 || !eviction.blocked.is_empty();
                Ok(if left {
                    Round::Left { machine, evicted: eviction.evicted, blocked: eviction.blocked }
                } else {
                    note(change, request, id, Some(&machine), operation::DRAIN);
                    Round::Empty(machine)
                })
            })?;
            match round {
                Round::Gone => return Ok(None),
                Round::Empty(machine) => return Ok(Some(machine)),
                Round::Left { machine, evicted, blocked } => {
                    if late && evicted == 0 {
                        return Err(blocked_for_ever(&machine, timeout, blocked));
                    }
                    if !blocked.is_empty() && blocked != reported {
                        events.send(ApplyEvent::Progress(format!("waiting: {}", blocked.join("; "))));
                        reported = blocked;
                    }
                }
            }
            let next = (self.clock.now() + EVICTION_MS).min(deadline.max(self.clock.now() + 1));
            ticket
                .unless_stopped(self.clock.sleep_until(next))
                .await
                .map_err(|_| stopped("stopped on request; the pods that are left stay"))?;
        }
    }
}

/// The attributes of a node.
pub(super) fn attributes(machine: &Machine, now: u64) -> Value {
    Value::map([
        ("id", Value::from(machine.id.as_str())),
        ("name", machine.name.as_str().into()),
        ("provider_id", machine.provider_id().into()),
        ("ready", machine.is_ready(now).into()),
        ("cordoned", machine.cordoned.into()),
    ])
}

/// Whether a node is cordoned for a change only.
fn is_temporary(arguments: &Value) -> bool {
    arguments.get(operation::TEMPORARY).and_then(Value::as_bool).unwrap_or_default()
}

enum Round {
    Gone,
    Empty(Machine),
    Left { machine: Machine, evicted: usize, blocked: Vec<String> },
}

fn blocked_for_ever(machine: &Machine, timeout: u64, blocked: Vec<String>) -> ProviderError {
    dependency(
        format!(
            "node {} could not be emptied within {} s: {}",
            machine.name,
            timeout / 1000,
            blocked.join("; ")
        ),
        blocked,
    )
    .with_hint("give the workload more replicas or a smaller budget, then apply again; the node still runs")
}

fn milliseconds(arguments: &Value, name: &str) -> Option<u64> {
    arguments.get(name).and_then(Value::as_integer).and_then(|number| u64::try_from(number).ok())
}
