//! Carrying one action out.

use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{Action, Applied, ApplyEvent, ApplyRequest, EventSink};
use slipway_resource::{Identity, ProviderError};

use super::create::{Circumstances, Settled, tag};
use super::delete::delete;
use super::{SimSession, kind_of};
use crate::cloud::{Launch, view};
use crate::error::{invalid, permanent, stopped, unknown_outcome};
use crate::fault::{Call, Kind as FaultKind, Rule};
use crate::kind::{Kind, MACHINE_POOL, NODE};

impl SimSession {
    pub(super) async fn apply_one(
        &self,
        request: &ApplyRequest,
        events: &EventSink,
    ) -> Result<Applied, ProviderError> {
        let address = &request.ownership.address;
        let call = Call { method: method(&request.action), type_name: address.kind(), name: address.name() };
        let ticket = self.running.begin(&request.token);
        let result = self.act(call, request, events, &ticket).await;
        drop(ticket);
        let outcome = result.as_ref().map_or_else(|error| error.class.name(), |_| "ok");
        let mut record = self.record(call, outcome, 1);
        record.token = Some(request.token.as_str().to_owned());
        record.identity = match &result {
            Ok(applied) => applied.identity.as_ref(),
            Err(error) => error.identity.as_ref(),
        }
        .or(target(&request.action))
        .map(|identity| identity.as_str().to_owned());
        self.calls.append(&[record]);
        result.map_err(|error| error.with_address(address))
    }

    async fn act(
        &self,
        call: Call<'_>,
        request: &ApplyRequest,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        let kind = kind_of(&request.ownership.address)?;
        if kind.name == NODE && !matches!(request.action, Action::Operation { .. }) {
            return Err(invalid(
                "a node is not created or deleted by itself: the machine pool creates and deletes its machine",
            ));
        }
        let rules = self.begin(call, &kind.resource.rate_class).await?;
        events.send(ApplyEvent::Started);
        let applied = match &request.action {
            Action::Operation { identity, name, arguments } => {
                self.gate(kind, request, identity, name, arguments, events, ticket).await?
            }
            _ => self.change(kind, request, &rules, events, ticket).await?,
        };
        match rules.iter().find(|rule| rule.kind == FaultKind::FailAfter) {
            Some(rule) => {
                let mut error = rule.error(call, &kind.resource.rate_class);
                error.identity = applied.identity;
                Err(error)
            }
            None => Ok(applied),
        }
    }

    /// Create, update, delete, tag: the effect at once, then the wait until the call is complete.
    async fn change(
        &self,
        kind: &'static Kind,
        request: &ApplyRequest,
        rules: &[Rule],
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        let begun = self.clock.now();
        let delay = self.read_delay(rules);
        let address = &request.ownership.address;
        let never_ready = || {
            self.faults.never_ready(Call {
                method: "launch",
                type_name: address.kind(),
                name: address.name(),
            })
        };
        let launch = Launch { seed: self.config.seed, never_ready: &never_ready };
        let circumstances = Circumstances { delay, launch };
        let settled = self.cloud.write(&self.clock, |change| match &request.action {
            Action::Create { desired } => self.create(change, kind, request, desired, circumstances),
            Action::Update { identity, desired, .. } => {
                self.update(change, kind, request, identity, desired, circumstances)
            }
            Action::Delete { identity } => delete(change, kind, request, identity, delay),
            Action::Tag { identity } => tag(change, kind, &request.ownership, identity),
            Action::Operation { .. } => Err(permanent("a gate is not a change")),
        })?;
        let identity = Identity::new(settled.id.as_str());
        let is_delete = matches!(request.action, Action::Delete { .. });
        if matches!(request.action, Action::Create { .. }) {
            events.send(ApplyEvent::Identity(identity.clone()));
        }
        let waited = self.settle(kind, request, &settled, begun, ticket, events).await;
        if is_delete {
            // The object is deleted, even when the wait was cancelled.
            return Ok(Applied::default());
        }
        waited.map_err(|mut error| {
            error.identity = Some(identity.clone());
            error
        })?;
        self.shown(&identity)
    }

    /// How long a request may take, simulated.
    pub(super) fn patience(&self, request: &ApplyRequest) -> u64 {
        match request.timeout_ms {
            0 => u64::MAX,
            timeout => self.clock.simulated(timeout),
        }
    }

    /// Waits until a change is through, and for pools until their machines are ready.
    pub(super) async fn settle(
        &self,
        kind: &Kind,
        request: &ApplyRequest,
        settled: &Settled,
        begun: u64,
        ticket: &Ticket<'_>,
        events: &EventSink,
    ) -> Result<(), ProviderError> {
        let stopped = |_| stopped("stopped on request; the change goes on in the cloud");
        if settled.at > self.clock.now() {
            events.send(ApplyEvent::Progress("the cloud is at work".into()));
        }
        ticket.unless_stopped(self.clock.sleep_until(settled.at)).await.map_err(stopped)?;
        let launches = matches!(request.action, Action::Create { .. } | Action::Update { .. });
        if kind.name != MACHINE_POOL || !launches {
            return Ok(());
        }
        let (limit, last) = self.cloud.read(&self.clock, |world, now| {
            let limit = world
                .object(&settled.id)
                .and_then(|pool| pool.attributes.get("ready_timeout_ms")?.as_integer())
                .and_then(|limit| u64::try_from(limit).ok())
                .unwrap_or(900_000);
            let last = world
                .machines_of(&settled.id)
                .filter(|machine| !machine.is_ready(now))
                .map(|machine| machine.ready_at.unwrap_or(u64::MAX))
                .max();
            (limit, last)
        })?;
        let Some(last) = last else { return Ok(()) };
        events.send(ApplyEvent::Progress("waiting for machines to become ready".into()));
        let patience = self.patience(request);
        let end = begun.saturating_add(limit.min(patience));
        ticket.unless_stopped(self.clock.sleep_until(last.min(end))).await.map_err(stopped)?;
        self.admit_nodes()?;
        let missing = self.cloud.read(&self.clock, |world, now| {
            world
                .machines_of(&settled.id)
                .filter(|machine| !machine.is_ready(now))
                .map(|machine| machine.name.clone())
                .collect::<Vec<_>>()
        })?;
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join(", ");
        if patience < limit {
            return Err(unknown_outcome(format!("{missing} did not become a ready node in the given time")));
        }
        Err(permanent(format!("{missing} did not become a ready node within {} s", limit / 1000))
            .with_hint("the machines exist; look at their consoles, then apply again"))
    }

    /// Places pods that have no node, now that there may be more nodes, and writes the time down.
    pub(super) fn admit_nodes(&self) -> Result<(), ProviderError> {
        self.cloud.write(&self.clock, |change| {
            if crate::cloud::pod::has_workloads(change.world()) {
                crate::cloud::pod::place(change);
            }
            Ok(())
        })
    }

    /// The present attributes of an object.
    pub(super) fn shown(&self, identity: &Identity) -> Result<Applied, ProviderError> {
        let attributes = self.cloud.read(&self.clock, |world, now| {
            world.object(identity.as_str()).map(|object| view::current(world, object, now))
        })?;
        Ok(attributes.map(|attributes| Applied::new(identity.clone(), attributes)).unwrap_or_default())
    }
}

/// The name of an action, as faults and the record of calls have it.
pub(super) fn method(action: &Action) -> &str {
    match action {
        Action::Create { .. } => "create",
        Action::Update { .. } => "update",
        Action::Delete { .. } => "delete",
        Action::Tag { .. } => "tag",
        Action::Operation { name, .. } => name,
    }
}

/// The object that an action is about, once it exists.
pub(super) fn target(action: &Action) -> Option<&Identity> {
    match action {
        Action::Create { .. } => None,
        Action::Update { identity, .. }
        | Action::Delete { identity }
        | Action::Tag { identity }
        | Action::Operation { identity, .. } => Some(identity),
    }
}
