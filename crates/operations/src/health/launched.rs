//! Machines that a provider launched and that did not become nodes, with what they said last.

use slipway_engine::State;
use slipway_plan::{ProviderHandle, Record};
use slipway_resource::provider::{Action, ApplyRequest, EventSink, Member, PlanItem, operation};
use slipway_resource::{Address, Identity, Observation, Ownership, Token, Value};

use super::{NodeHealth, Nodes, Phase, read};
use crate::opened::Opened;

/// How many lines of a console are reported.
const LINES: usize = 10;
/// How long a provider may take to read a console, in milliseconds.
const PATIENCE_MS: u64 = 30_000;

/// The machines of all pools that are no nodes of the cluster, as far as their provider can be asked.
pub(super) async fn without_node(opened: &Opened, state: &State, nodes: &Nodes) -> Vec<NodeHealth> {
    let mut found = Vec::new();
    for (address, record) in &state.snapshot.resources {
        let Some((_, handle, kind)) = opened.providers().of_type(address.kind()) else { continue };
        if !kind.operations.contains_key(operation::SURGE) {
            continue;
        }
        let reads_console = kind.operations.contains_key(operation::CONSOLE);
        for member in members(opened, handle, (address, record)).await {
            let Some(reference) = &member.node else { continue };
            if nodes.iter().any(|(name, node)| reference.is(name, node.provider_id.as_deref())) {
                continue;
            }
            let (mut error, mut console) = (Some("it has not registered".to_owned()), Vec::new());
            if reads_console {
                let pool = Pool { handle, state, address, identity: &record.identity };
                match pool.console(&member.identity).await {
                    Ok(lines) => console = lines,
                    Err(reason) => error = Some(format!("its console cannot be read: {reason}")),
                }
            }
            found.push(NodeHealth {
                name: member.identity.to_string(),
                pool: address.name().to_owned(),
                phase: Phase::Launched,
                error,
                console,
            });
        }
    }
    found
}

/// The machines of a pool: those that would leave if it were deleted.
async fn members(
    opened: &Opened,
    handle: &ProviderHandle,
    (address, record): (&Address, &Record),
) -> Vec<Member> {
    let Some(Observation::Present(observed)) = read(opened, address, &record.identity).await else {
        return Vec::new();
    };
    let item = PlanItem {
        address: address.clone(),
        desired: None,
        observed: Some(observed),
        last_applied: record.applied.clone(),
    };
    let planned = handle.session.plan(vec![item]).await.ok().and_then(|mut planned| planned.pop());
    planned.and_then(|planned| planned.rollout).map(|rollout| rollout.members).unwrap_or_default()
}

/// A pool with the session of its provider.
struct Pool<'a> {
    handle: &'a ProviderHandle,
    state: &'a State,
    address: &'a Address,
    identity: &'a Identity,
}

impl Pool<'_> {
    /// The last lines that a machine wrote to its console.
    async fn console(&self, machine: &Identity) -> Result<Vec<String>, String> {
        let snapshot = &self.state.snapshot;
        let ownership = Ownership {
            uid: snapshot.uid.clone(),
            cluster: snapshot.cluster.clone(),
            address: self.address.clone(),
        };
        let action = Action::Operation {
            identity: self.identity.clone(),
            name: operation::CONSOLE.to_owned(),
            arguments: Value::map([("member", machine.as_str())]),
        };
        let token = Token::new(format!("console-{machine}"));
        let request = ApplyRequest { token, ownership, action, timeout_ms: PATIENCE_MS };
        let applied = self.handle.session.apply(request, EventSink::discard()).await;
        let applied = applied.map_err(|error| error.message)?;
        let text = applied.attributes.get(operation::TEXT).and_then(Value::as_str).unwrap_or_default();
        let mut lines: Vec<String> =
            text.lines().map(|line| slipway_limits::text::visible(line.trim_end()).into_owned()).collect();
        lines.drain(..lines.len().saturating_sub(LINES));
        Ok(lines)
    }
}
