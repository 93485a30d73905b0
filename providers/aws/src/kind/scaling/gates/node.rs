//! What the cluster says of an instance, and what it is asked to do with its node.

use std::time::Duration;

use slipway_node_gates::{Client, Error, Node, Rules};
use slipway_resource::{ErrorClass, ProviderError, with_causes};
use tokio::time::Instant;

use super::view::{Machine, SLOT, View};
use super::{Gate, Subject};
use crate::act::Wait;
use crate::error::{error, invalid, permanent};

/// For how long a gate waits for a cluster's API that does not answer, where it has no time of its own.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long pods may take that are deleted in spite of their budgets.
const FORCED: Duration = Duration::from_secs(60);
/// After so many rounds the waits between evictions are short again: pods end within seconds, and budgets free up at any
/// time.
const OFTEN: u32 = 5;
/// Longer than any gate takes.
const DAY: Duration = Duration::from_secs(86_400);
/// What is said where nobody can be asked.
const NOBODY: &str = "no cluster API is configured (provider.config.clusterApi)";

/// What a look found.
enum Seen {
    Ready(Machine),
    NotYet {
        who: String,
        why: String,
    },
    /// The instance has gone by itself.
    Gone,
}

impl Gate<'_> {
    /// Waits until an instance is a ready node, and has been one for as long as it shall.
    pub(super) async fn verify(&self, subject: Subject) -> Result<Option<Machine>, ProviderError> {
        let begun = Instant::now();
        let mut wait = Wait::for_at_most(DAY);
        let mut told = String::new();
        let mut ready_since: Option<Instant> = None;
        loop {
            let view = self.look().await?;
            let limit = self.limit(begun, Duration::from_millis(view.manner.ready_timeout_ms));
            let settle = Duration::from_millis(view.manner.settle_ms);
            let (who, why) = match self.is_ready(&view, &subject).await? {
                Seen::Gone => return Ok(None),
                Seen::Ready(machine) => {
                    let since = *ready_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= settle {
                        return Ok(Some(machine));
                    }
                    (machine.id, "it is ready, and has to stay so for a while".to_owned())
                }
                Seen::NotYet { who, why } => {
                    ready_since = None;
                    (who, why)
                }
            };
            let late = || {
                let text = format!(
                    "{who} of auto-scaling group {} did not become a ready node within {} s: {why}",
                    self.group,
                    limit.as_secs()
                );
                permanent(text).with_hint(format!(
                    "look at its console output (aws ec2 get-console-output --instance-id {who} --latest), then apply \
                     again; the instances that it was to stand in for still run"
                ))
            };
            if begun.elapsed() >= limit {
                return Err(late());
            }
            match self.wait(&mut wait, &mut told, &format!("{who}: {why}")).await {
                Err(error) if error.class == ErrorClass::OutcomeUnknown => return Err(late()),
                other => other?,
            }
        }
    }

    /// How long there is: what is asked for, and a little less than the call itself may take.
    fn limit(&self, begun: Instant, wanted: Duration) -> Duration {
        wanted.min(self.act.deadline.saturating_duration_since(begun))
    }

    async fn is_ready(&self, view: &View, subject: &Subject) -> Result<Seen, ProviderError> {
        let machine = match subject {
            Subject::Member(id) => match view.machine(id) {
                Some(machine) => machine,
                None => return Ok(Seen::Gone),
            },
            Subject::Slot(slot) => {
                let mut of_slot: Vec<&Machine> =
                    view.attached.iter().filter(|machine| machine.tag(SLOT) == Some(slot)).collect();
                of_slot.sort_by_key(|machine| machine.launched);
                match of_slot.pop() {
                    Some(machine) => machine,
                    // Each slot was filled when nothing was left to go.
                    None if view
                        .attached
                        .iter()
                        .all(|machine| view.is_current(machine) && machine.is_in_service())
                        && view.units() >= view.desired
                        && view.replaced() == 0 =>
                    {
                        return Ok(Seen::Gone);
                    }
                    None => {
                        let why = "the instance that filled it is gone".to_owned();
                        return Ok(Seen::NotYet { who: format!("slot {slot}"), why });
                    }
                }
            }
        };
        let who = machine.id.clone();
        if !machine.is_in_service() {
            let health = if machine.healthy { "" } else { ", Unhealthy" };
            return Ok(Seen::NotYet { who, why: format!("it is {}{health}", machine.state) });
        }
        if !view.manner.has_nodes() {
            return Ok(Seen::Ready(machine.clone()));
        }
        let Some(client) = self.client()? else {
            self.act.progress(format!("{NOBODY}: {who} counts as ready, since it is in service"));
            return Ok(Seen::Ready(machine.clone()));
        };
        match client.nodes().await {
            Ok(nodes) => Ok(match of_instance(&nodes, &who) {
                None => Seen::NotYet { who, why: "it has not joined the cluster".to_owned() },
                Some(node) if node.ready => Seen::Ready(machine.clone()),
                Some(node) => {
                    Seen::NotYet { why: format!("node {} is not ready: {}", node.name, node.reason), who }
                }
            }),
            Err(failure) if failure.may_pass() => Ok(Seen::NotYet { who, why: failure.to_string() }),
            Err(failure) => Err(of_api(&failure)),
        }
    }

    /// Lets nothing new onto a node.
    pub(super) async fn cordon(&self, member: &str) -> Result<Option<Machine>, ProviderError> {
        let Some((client, node)) = self.node(member).await? else { return Ok(None) };
        let mut wait = Wait::for_at_most(PATIENCE);
        loop {
            match client.cordon(&node).await {
                Ok(()) => return Ok(Some(named(member))),
                Err(failure) if failure.may_pass() => self.unreachable(&mut wait, &failure).await?,
                Err(failure) => return Err(of_api(&failure)),
            }
        }
    }

    /// Evicts what runs on a node, within the budgets.
    pub(super) async fn drain(
        &self,
        member: &str,
        timeout_ms: Option<u64>,
    ) -> Result<Option<Machine>, ProviderError> {
        let begun = Instant::now();
        let manner = self.look().await?.manner;
        if !manner.drain || !manner.has_nodes() {
            return Ok(None);
        }
        let Some((client, node)) = self.node(member).await? else { return Ok(None) };
        let limit = self.limit(begun, Duration::from_millis(timeout_ms.unwrap_or(manner.drain_timeout_ms)));
        let forces = manner.drain_on_blocked == "force";
        // What is forced takes time as well.
        let patience = limit.saturating_sub(if forces { FORCED.min(limit / 4) } else { Duration::ZERO });
        let (mut told, mut wait) = (String::new(), Wait::for_at_most(DAY));
        for round in 0_u32.. {
            let late = begun.elapsed() >= patience;
            let rules = Rules { budgets: manner.drain_budgets != "ignore" && !(late && forces) };
            let why = match self.round(&client, &node, rules).await? {
                None => return Ok(Some(named(member))),
                Some(blocked) => blocked,
            };
            let over = |blocked: Vec<String>| {
                if manner.drain_on_blocked == "skip" {
                    self.act.progress(format!(
                        "node {} is removed with what is left on it: {}",
                        node.name,
                        blocked.join("; ")
                    ));
                    return Ok(Some(named(member)));
                }
                let text = format!(
                    "node {} ({member}) could not be emptied within {} s: {}",
                    node.name,
                    limit.as_secs(),
                    blocked.join("; ")
                );
                Err(error(ErrorClass::Dependency { blockers: blocked }, text).with_hint(
                    "give the workload more replicas or a smaller budget, then apply again; the node still runs",
                ))
            };
            if late && !forces || begun.elapsed() >= limit {
                return over(why);
            }
            if round % OFTEN == 0 {
                wait = Wait::for_at_most(DAY);
            }
            match self.wait(&mut wait, &mut told, &format!("waiting: {}", why.join("; "))).await {
                Err(error) if error.class == ErrorClass::OutcomeUnknown => return over(why),
                other => other?,
            }
        }
        Ok(None)
    }

    /// One round of evictions; `None` when nothing is left, else what is.
    async fn round(
        &self,
        client: &Client,
        node: &Node,
        rules: Rules,
    ) -> Result<Option<Vec<String>>, ProviderError> {
        match client.evict(node, rules).await {
            Ok(round) if round.is_empty() => Ok(None),
            Ok(round) if round.blocked.is_empty() => {
                Ok(Some(vec![format!("{} pods are ending", round.told + round.going)]))
            }
            Ok(round) => Ok(Some(round.blocked)),
            Err(failure) if failure.may_pass() => Ok(Some(vec![failure.to_string()])),
            Err(failure) => Err(of_api(&failure)),
        }
    }

    /// A connection to the cluster's API; `None` where none is configured.
    fn client(&self) -> Result<Option<Client>, ProviderError> {
        let Some(access) = self.act.cloud.cluster_api() else { return Ok(None) };
        Client::connect(access).map(Some).map_err(|failure| of_api(&failure))
    }

    /// The node that an instance is; `None` where it is none, and where nobody can be asked.
    async fn node(&self, member: &str) -> Result<Option<(Client, Node)>, ProviderError> {
        if !self.look().await?.manner.has_nodes() {
            return Ok(None);
        }
        let Some(client) = self.client()? else {
            self.act.progress(format!("{NOBODY}: {member} is neither cordoned nor drained"));
            return Ok(None);
        };
        let mut wait = Wait::for_at_most(PATIENCE);
        loop {
            match client.nodes().await {
                Ok(nodes) => return Ok(of_instance(&nodes, member).cloned().map(|node| (client, node))),
                Err(failure) if failure.may_pass() => self.unreachable(&mut wait, &failure).await?,
                Err(failure) => return Err(of_api(&failure)),
            }
        }
    }

    async fn unreachable(&self, wait: &mut Wait, failure: &Error) -> Result<(), ProviderError> {
        match self.act.pause(wait, "the cluster's API did not answer").await {
            // Nothing was changed: it may be tried again.
            Err(late) if late.class == ErrorClass::OutcomeUnknown => {
                Err(error(ErrorClass::Transient, failure.to_string()))
            }
            other => other,
        }
    }
}

/// The node whose provider id ends with an instance's id, as `aws:///us-east-1a/i-0123`.
pub(in crate::kind::scaling) fn of_instance<'a>(nodes: &'a [Node], instance: &str) -> Option<&'a Node> {
    nodes.iter().find(|node| {
        let id = node.provider_id.strip_prefix("aws://").and_then(|id| id.rsplit('/').next());
        id == Some(instance)
    })
}

fn named(member: &str) -> Machine {
    Machine { id: member.to_owned(), ..Machine::default() }
}

/// A failure of the cluster's API, by class.
fn of_api(failure: &Error) -> ProviderError {
    let text = with_causes(failure);
    match failure {
        Error::Endpoint { .. } | Error::TokenInClear { .. } | Error::File { .. } => {
            invalid(text).with_hint("mend provider.config.clusterApi in the cluster's spec")
        }
        Error::Unreachable { .. } => error(ErrorClass::Transient, text),
        Error::Refused { status: 401, .. } => {
            let hint = "write a token that holds into the file that clusterApi.tokenFile names";
            error(ErrorClass::Unauthenticated, text).with_hint(hint)
        }
        Error::Refused { status: 403, method, path, .. } => {
            error(ErrorClass::Permission { action: format!("{method} {path}") }, text)
        }
        failure if failure.may_pass() => error(ErrorClass::Transient, text),
        _ => permanent(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_found_by_its_provider_id() {
        let node = |id: &str| Node {
            name: id.to_owned(),
            provider_id: id.to_owned(),
            ready: true,
            reason: String::new(),
            cordoned: false,
            kubelet_version: String::new(),
            cordoned_for_a_change: false,
        };
        let nodes =
            ["", "gce://project/zone/i-1", "aws:///us-east-1a/i-12", "aws:///us-east-1b/i-1"].map(node);
        assert_eq!(of_instance(&nodes, "i-1").unwrap().name, "aws:///us-east-1b/i-1");
        assert!(of_instance(&nodes, "i-3").is_none());
    }
}
