//! Actions on nodes: waiting for registration, writing labels and taints, and removal.

use serde_json::{Value as Json, json};
use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{Action, Applied, ApplyEvent, ApplyRequest, EventSink, Resolution};
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};
use tokio::time::Instant;

use super::KubernetesSession;
use super::act::refused;
use super::node_gates::Drain;
use super::read::{attribute, is_life};
use super::serving::known;
use super::wait::Patience;
use crate::api::{Answer, Connection, Request};
use crate::manifest::invalid;
use crate::marks::{MANAGER, Marks};
use crate::node::{self, SERVING_AUTHORITY};
use crate::object::{ObjectIdentity, ObjectKey, text};
use crate::readiness::{Readiness, assess};
use crate::schema::KUBELET_VERSION;
use crate::view;

/// How often taints are written again after another client changed the node in between.
const ATTEMPTS: usize = 10;

impl KubernetesSession {
    pub(super) async fn act_on_node(
        &self,
        connection: &Connection,
        request: &ApplyRequest,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        match &request.action {
            Action::Create { desired } => self.take_in(connection, request, desired, events, ticket).await,
            Action::Update { identity, desired, .. } => {
                let identity = ObjectIdentity::parse(identity)?;
                let live = self.node_of(connection, &identity).await?;
                self.is_served_by(connection, request, (desired, &live), events, ticket).await?;
                let live = self.describe(connection, request, desired, live).await?;
                release(connection, &identity.key.name, desired).await?;
                self.node_left(request, &live)
            }
            Action::Delete { identity } => self.let_go(connection, request, identity, events, ticket).await,
            Action::Tag { identity } => {
                let identity = ObjectIdentity::parse(identity)?;
                let live = self.node_of(connection, &identity).await?;
                let as_it_is = node::attributes(&live);
                let live = self.describe(connection, request, &as_it_is, live).await?;
                self.node_left(request, &live)
            }
            Action::Operation { identity, name, arguments } => {
                self.gate(connection, request, (identity, name, arguments), events, ticket).await
            }
        }
    }

    async fn node_of(
        &self,
        connection: &Connection,
        identity: &ObjectIdentity,
    ) -> Result<Json, ProviderError> {
        let live = self.live(connection, &identity.key).await?.filter(|live| is_life(live, identity));
        live.ok_or_else(|| {
            ProviderError::new(ErrorClass::NotFound, format!("node {} does not exist", identity.key.name))
        })
    }

    fn node_left(&self, request: &ApplyRequest, live: &Json) -> Result<Applied, ProviderError> {
        let identity = view::identity(&request.ownership.address, live);
        Ok(Applied {
            identity,
            attributes: view::attributes(&request.ownership.address, live),
            ..Applied::default()
        })
    }

    /// Waits until the node has registered, writes its labels, annotations and taints, and waits until it is
    /// ready.
    async fn take_in(
        &self,
        connection: &Connection,
        request: &ApplyRequest,
        desired: &Value,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        let key = node::key_of(desired).ok_or_else(|| invalid("a node has a name"))?;
        let mut patience = Patience::new(request.timeout_ms);
        let identity = node::identity_of(&key);
        events.send(ApplyEvent::Identity(identity.clone()));
        let live = self.registered(connection, &key, &mut patience, events, ticket).await?;
        let live = self.describe(connection, request, desired, live).await?;
        let with_identity =
            |error: ProviderError| ProviderError { identity: Some(identity.clone()), ..error };
        let known = known(desired);
        let ready = attribute(desired, "ready").as_bool() != Some(false);
        if ready || known.is_some() {
            let wanted = (ready, known.as_deref());
            let served = self.serves(connection, &key, wanted, &mut patience, events, ticket).await;
            served.map_err(with_identity)?;
        }
        self.node_left(request, &live)
    }

    pub(super) async fn registered(
        &self,
        connection: &Connection,
        key: &ObjectKey,
        patience: &mut Patience,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Json, ProviderError> {
        let mut reported = false;
        loop {
            match self.live(connection, key).await {
                Ok(Some(live)) => return Ok(live),
                Ok(None) => {}
                Err(error) if error.class.is_retryable() => {}
                Err(error) => return Err(error),
            }
            if !std::mem::replace(&mut reported, true) {
                events.send(ApplyEvent::Progress("waiting until it has registered".to_owned()));
            }
            if !patience.pause(ticket).await? {
                let text = format!("node {} has not registered in time", key.name);
                return Err(ProviderError::new(ErrorClass::Permanent, text)
                    .with_hint("look at its kubelet: whether it runs, and what it says about the API"));
            }
        }
    }

    /// Waits until a node is ready, if desired, and has a serving certificate, if its names are known.
    pub(super) async fn serves(
        &self,
        connection: &Connection,
        key: &ObjectKey,
        (ready, known): (bool, Option<&[String]>),
        patience: &mut Patience,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<(), ProviderError> {
        let mut reported = String::new();
        loop {
            let (mut missing, mut denied) = (None, Vec::new());
            match self.live(connection, key).await {
                Ok(Some(live)) => match assess(&live) {
                    Readiness::Ready => {}
                    // Its network may come later, from elsewhere.
                    _ if !ready => {}
                    Readiness::InProgress(why) | Readiness::Failed(why) | Readiness::Terminating(why) => {
                        missing = Some(why);
                    }
                },
                Ok(None) => missing = Some("it is not registered any more".to_owned()),
                // The API may be away for a moment.
                Err(error) if error.class.is_retryable() => missing = Some(error.message),
                Err(error) => return Err(error),
            }
            if let Some(known) = known {
                match self.approve_serving(connection, &key.name, known).await {
                    Ok(approvals) => {
                        denied = approvals.denied;
                        if approvals.approved == 0 && missing.is_none() {
                            missing =
                                Some("its kubelet has not asked for a serving certificate yet".to_owned());
                        }
                    }
                    Err(error) if error.class.is_retryable() => missing = Some(error.message),
                    Err(error) => return Err(error),
                }
            }
            for why in denied {
                events.send(ApplyEvent::Progress(format!(
                    "a request for a serving certificate was denied: {why}"
                )));
            }
            let Some(missing) = missing else { return Ok(()) };
            if missing != reported {
                events.send(ApplyEvent::Progress(missing.clone()));
                reported = missing;
            }
            if !patience.pause(ticket).await? {
                let text = format!("node {} is not ready in time: {reported}", key.name);
                return Err(ProviderError::new(ErrorClass::Permanent, text)
                    .with_hint("look at its kubelet, and at the network of its pods"));
            }
        }
    }

    /// Approves the requests of a node's kubelet until it has a serving certificate of the authority that the annotation of the
    /// node is to name. A node without the annotation has one of the authority that is in use.
    async fn is_served_by(
        &self,
        connection: &Connection,
        request: &ApplyRequest,
        (desired, live): (&Value, &Json),
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<(), ProviderError> {
        let annotations = |of: &Value| attribute(of, "annotations").get(SERVING_AUTHORITY).cloned();
        let (Some(wanted), Some(before), Some(known)) =
            (annotations(desired), annotations(&node::attributes(live)), known(desired))
        else {
            return Ok(());
        };
        let Some(wanted) = wanted.as_str().filter(|_| wanted != before) else { return Ok(()) };
        let name = text(live, "/metadata/name").unwrap_or_default();
        let mut patience = Patience::new(request.timeout_ms);
        let (begun, mut reported) = (Instant::now(), false);
        loop {
            match self.approve_serving(connection, name, &known).await {
                Ok(approvals) if approvals.are_done(wanted, begun.elapsed()) => return Ok(()),
                Ok(_) => {}
                // The API may be away for a moment.
                Err(error) if error.class.is_retryable() => {}
                Err(error) => return Err(error),
            }
            if !std::mem::replace(&mut reported, true) {
                let text =
                    format!("waits until its kubelet has a serving certificate of the authority {wanted}");
                events.send(ApplyEvent::Progress(text));
            }
            if !patience.pause(ticket).await? {
                let text = format!(
                    "the kubelet of node {name} has no serving certificate of the authority {wanted} in time"
                );
                return Err(ProviderError::new(ErrorClass::Permanent, text)
                    .with_hint("look at the log of its kubelet, then run the command again"));
            }
        }
    }

    /// Writes taints, labels, annotations and marks.
    async fn describe(
        &self,
        connection: &Connection,
        request: &ApplyRequest,
        desired: &Value,
        mut live: Json,
    ) -> Result<Json, ProviderError> {
        let kind = node::kind();
        self.expect_member(connection, &request.ownership, &kind, "").await?;
        let key = ObjectKey {
            kind,
            namespace: String::new(),
            name: text(&live, "/metadata/name").unwrap_or_default().to_owned(),
        };
        let path = format!("/api/v1/nodes/{}", key.name);
        for _ in 0..ATTEMPTS {
            let Some(taints) = node::merged_taints(&live, desired) else { break };
            let version = text(&live, "/metadata/resourceVersion");
            let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"taints": taints}});
            match connection.send(&Request::merge(format!("{path}?fieldManager={MANAGER}"), &patch)).await? {
                Answer::Done { body, .. } => live = body,
                // The list has other writers.
                Answer::Refused(refusal) if refusal.status == 409 => {
                    live = connection.ask(&Request::get(&path)).await?.body()?;
                }
                Answer::Refused(refusal) => return Err(refused(&key, refusal)),
            }
        }
        let mut body = node::body(&live, desired);
        Marks::default().write(&mut body, &request.ownership);
        // A label that the spec names belongs to Slipway, even when the kubelet set it at registration.
        let path = format!("{path}?fieldManager={MANAGER}&force=true");
        let live = match connection.send(&Request::apply(path, &body)).await? {
            Answer::Done { body, .. } => body,
            Answer::Refused(refusal) => return Err(refused(&key, refusal)),
        };
        self.parents.joined(&request.ownership.uid, &key);
        Ok(live)
    }

    /// Cordons the node, drains it within the budgets, and deletes it.
    async fn let_go(
        &self,
        connection: &Connection,
        request: &ApplyRequest,
        identity: &Identity,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        let parsed = ObjectIdentity::parse(identity)?;
        let live = self.live(connection, &parsed.key).await?.filter(|live| is_life(live, &parsed));
        if live.is_some()
            && let Some(node) = connection.node(&parsed.key.name).await?
        {
            connection.cordon(&node).await?;
            let drain = Drain::within(request.timeout_ms);
            let drained = self.drain(connection, &node, drain, events, ticket).await;
            drained.map_err(|error| ProviderError { identity: Some(identity.clone()), ..error })?;
            connection.forget(&node).await?;
        }
        self.left(connection, &request.ownership.uid, &parsed.key).await?;
        Ok(Applied::default())
    }

    pub(super) async fn resume_node(
        &self,
        connection: &Connection,
        request: &ApplyRequest,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Resolution, ProviderError> {
        match &request.action {
            Action::Delete { identity } => {
                let parsed = ObjectIdentity::parse(identity)?;
                match self.live(connection, &parsed.key).await?.filter(|live| is_life(live, &parsed)) {
                    Some(_) => Ok(Resolution::NotDone),
                    None => {
                        self.let_go(connection, request, identity, events, ticket).await.map(Resolution::Done)
                    }
                }
            }
            Action::Create { desired } | Action::Update { desired, .. } => {
                let Some(key) = node::key_of(desired) else { return Ok(Resolution::NotDone) };
                let Some(live) = self.live(connection, &key).await? else { return Ok(Resolution::NotDone) };
                let seen = node::attributes(&live);
                let same = |name: &str| attribute(&seen, name) == attribute(desired, name);
                let marks = Marks::read(&live);
                let is_ours = marks.uid == request.ownership.uid.as_str();
                let ready =
                    attribute(desired, "ready").as_bool() == Some(false) || assess(&live) == Readiness::Ready;
                if is_ours && ready && same("labels") && same("annotations") && same("taints") {
                    release(connection, &key.name, desired).await?;
                    self.node_left(request, &live).map(Resolution::Done)
                } else {
                    Ok(Resolution::NotDone)
                }
            }
            Action::Tag { .. } | Action::Operation { .. } => Ok(Resolution::NotDone),
        }
    }
}

/// Lets pods onto a node again that was cordoned for a kubelet which it reports by now.
async fn release(connection: &Connection, name: &str, desired: &Value) -> Result<(), ProviderError> {
    let Some(wanted) = desired.get(KUBELET_VERSION).and_then(Value::as_str) else { return Ok(()) };
    match connection.node(name).await? {
        Some(node) if node.kubelet_version.trim_start_matches('v') == wanted => {
            connection.uncordon_after_a_change(&node).await
        }
        _ => Ok(()),
    }
}
