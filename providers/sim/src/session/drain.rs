//! Emptying a node within the budgets of what runs on it.

use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{ApplyEvent, ApplyRequest, EventSink, operation};
use slipway_resource::{Identity, ProviderError, Value};

use super::SimSession;
use super::gate::{member, note, pool_of};
use crate::cloud::{Machine, pod, text_of};
use crate::error::{dependency, stopped};
use crate::kind::EVICTION_MS;

impl SimSession {
    pub(super) async fn drain(
        &self,
        request: &ApplyRequest,
        pool: &Identity,
        arguments: &Value,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Option<Machine>, ProviderError> {
        let begun = self.clock.now();
        let timeout = arguments
            .get("timeout_ms")
            .and_then(Value::as_integer)
            .and_then(|timeout| u64::try_from(timeout).ok())
            .unwrap_or_else(|| self.patience(request));
        let deadline = begun.saturating_add(timeout);
        self.rest(request, operation::DRAIN, ticket).await?;
        let mut told = Vec::new();
        loop {
            let late = self.clock.now() >= deadline;
            let round = self.cloud.write(&self.clock, |change| {
                let Some(mut machine) = member(change, pool, arguments)? else {
                    return Ok(Round::Gone);
                };
                let pool = pool_of(change, pool)?;
                if pool.attributes.get("drain").and_then(Value::as_bool) == Some(false) {
                    return Ok(Round::Empty(machine));
                }
                if !machine.cordoned {
                    machine.cordoned = true;
                    change.put_machine(machine.clone());
                }
                let forced = late && text_of(&pool, "drain_on_blocked") == "force";
                let respect = text_of(&pool, "drain_budgets") != "ignore" && !forced;
                let eviction = pod::evict(change, &machine.id, respect);
                Ok(if eviction.evicted > 0 || !eviction.blocked.is_empty() {
                    Round::Left { machine, evicted: eviction.evicted, blocked: eviction.blocked }
                } else {
                    note(change, request, &pool.id, Some(&machine), operation::DRAIN);
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
                    if !blocked.is_empty() && blocked != told {
                        events.send(ApplyEvent::Progress(format!("waiting: {}", blocked.join("; "))));
                        told = blocked;
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
