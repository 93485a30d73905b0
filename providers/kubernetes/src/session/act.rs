//! Carrying one action out: create, update and tag by server-side apply.

use serde_json::Value as Json;
use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{
    Action, Applied, ApplyEvent, ApplyRequest, EventSink, Resolution, ResumeRequest,
};
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::KubernetesSession;
use super::allocation::refused_allocations;
use super::read::{attribute, is_life};
use super::settings::{Settings, Way};
use super::unknown_type;
use crate::api::{Answer, Connection, Refusal, Request, Resource, Taken};
use crate::fields;
use crate::manifest::{self, invalid};
use crate::marks::{MANAGER, Marks};
use crate::object::{ObjectIdentity, ObjectKey, map_at, split_api_version, text};
use crate::schema::{API, NODE, OBJECT, OUTDATED_NODES, schema};
use crate::view;

/// The desired object, ready to be sent.
struct Wish<'a> {
    key: ObjectKey,
    resource: Resource,
    body: Json,
    attributes: &'a Value,
}

impl KubernetesSession {
    pub(super) async fn act(
        &self,
        request: &ApplyRequest,
        events: &EventSink,
        ticket: Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        let address = &request.ownership.address;
        check_schema(request)?;
        events.send(ApplyEvent::Started);
        if address.kind() == API {
            return self.act_on_api(request, events, &ticket).await;
        }
        let connector = match (address.kind(), &request.action) {
            (NODE, Action::Operation { .. }) => self.of_nodes(),
            _ => &self.connector,
        };
        let connection = connector.required().await?;
        let done = match (address.kind(), &request.action) {
            (NODE, _) => self.act_on_node(&connection, request, events, &ticket).await,
            (OBJECT, Action::Create { desired }) => {
                self.create(&connection, request, desired, events, &ticket).await
            }
            (OBJECT, Action::Update { identity, prior, desired }) => {
                self.update(&connection, request, (identity, prior, desired), events, &ticket).await
            }
            (OBJECT, Action::Delete { identity }) => {
                self.delete(&connection, request, identity, events, &ticket).await
            }
            (OBJECT, Action::Tag { identity }) => self.tag(&connection, request, identity).await,
            (OBJECT, Action::Operation { name, .. }) => {
                Err(invalid(format!("{name} is not an operation of {OBJECT}")))
            }
            _ => Err(unknown_type(address)),
        };
        done.map_err(|error| connector.advised(error))
    }

    async fn create(
        &self,
        connection: &Connection,
        request: &ApplyRequest,
        desired: &Value,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        let wish = self.wish(connection, desired).await?;
        let Wish { key, .. } = &wish;
        self.expect_member(connection, &request.ownership, &key.kind, &key.namespace).await?;
        let found = attribute(desired, "found").as_bool().unwrap_or_default();
        let marks = Marks { found, propagation: propagation(desired), ..Marks::default() };
        let (created, mut live) =
            self.send(connection, (&wish, &marks, None), request, events, ticket).await?;
        self.parents.joined(&request.ownership.uid, key);
        if !created && !found && was_there(&live) {
            // The object existed already, and the plan had not seen it.
            let marks = Marks { found: true, ..marks };
            (_, live) = self.send(connection, (&wish, &marks, None), request, events, ticket).await?;
        }
        roll_settings(self, connection, &wish, request, events, ticket).await?;
        self.settle(connection, &wish, live, request, events, ticket).await
    }

    async fn update(
        &self,
        connection: &Connection,
        request: &ApplyRequest,
        (identity, prior, desired): (&Identity, &Value, &Value),
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        let identity = ObjectIdentity::parse(identity)?;
        let wish = self.wish(connection, desired).await?;
        if wish.key != identity.key {
            let text = format!("{} cannot become {}: that is another object", identity.key, wish.key);
            return Err(invalid(text));
        }
        self.expect_member(connection, &request.ownership, &wish.key.kind, &wish.key.namespace).await?;
        let found = [prior, desired].iter().any(|all| attribute(all, "found").as_bool().unwrap_or_default());
        let marks = Marks { found, propagation: propagation(desired), ..Marks::default() };
        let about = (&wish, &marks, Some(identity.uid.as_str()));
        // Machines that run get new settings first, and again those that came with the old ones meanwhile.
        roll_settings(self, connection, &wish, request, events, ticket).await?;
        let (_, live) = self.send(connection, about, request, events, ticket).await?;
        roll_settings(self, connection, &wish, request, events, ticket).await?;
        self.settle(connection, &wish, live, request, events, ticket).await
    }

    async fn wish<'a>(&self, connection: &Connection, desired: &'a Value) -> Result<Wish<'a>, ProviderError> {
        let manifest = attribute(desired, "manifest");
        let wanted = manifest::wanted(manifest)?;
        let Some(resource) = self.resource(connection, &wanted.kind, Some(&wanted.version)).await? else {
            let text = format!("the API does not serve {} in version {}", wanted.kind, wanted.version);
            return Err(ProviderError::new(ErrorClass::Transient, text)
                .with_hint("its CustomResourceDefinition has to be established first"));
        };
        let key = self.key(connection, &wanted).await?;
        let mut body = manifest::outgoing(manifest, &manifest::brought)?;
        if resource.namespaced
            && let Some(metadata) = map_at(&mut body, &["metadata"])
        {
            metadata.insert("namespace".to_owned(), key.namespace.as_str().into());
        }
        Ok(Wish { key, resource, body, attributes: desired })
    }

    /// Sends the desired object with its marks, and again while the API keeps one of its addresses or ports
    /// reserved.
    async fn send(
        &self,
        connection: &Connection,
        (wish, marks, uid): (&Wish<'_>, &Marks, Option<&str>),
        request: &ApplyRequest,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<(bool, Json), ProviderError> {
        let mut patience = None;
        loop {
            let refusal = match self.send_once(connection, wish, marks, request, uid).await? {
                Answer::Done { created, body } => return Ok((created, body)),
                Answer::Refused(refusal) => refusal,
            };
            let allocations = refused_allocations(&refusal, &wish.body);
            if allocations.is_empty() {
                return Err(refused(&wish.key, refusal));
            }
            let about = (&wish.key, allocations.as_slice());
            let time = (request.timeout_ms, &mut patience);
            self.released(connection, about, time, events, ticket).await?;
        }
    }

    /// Fields of others are taken where the plan says so, and no more than it says.
    async fn send_once(
        &self,
        connection: &Connection,
        wish: &Wish<'_>,
        marks: &Marks,
        request: &ApplyRequest,
        uid: Option<&str>,
    ) -> Result<Answer, ProviderError> {
        let mut body = wish.body.clone();
        marks.write(&mut body, &request.ownership);
        if let (Some(uid), Some(metadata)) = (uid, map_at(&mut body, &["metadata"]))
            && !uid.is_empty()
        {
            // Not another object of the same name.
            metadata.insert("uid".to_owned(), uid.into());
        }
        let Wish { key, resource, attributes, .. } = wish;
        let path = resource.object(&key.kind, &key.namespace, &key.name);
        let apply = |force: bool| {
            let path = format!("{path}?fieldManager={MANAGER}&fieldValidation=Strict&force={force}");
            Request::apply(path, &body)
        };
        let forced = attribute(attributes, "force_conflicts").as_bool().unwrap_or_default();
        let refusal = match connection.send(&apply(forced)).await? {
            Answer::Refused(refusal) if !refusal.taken().is_empty() => refusal,
            answer => return Ok(answer),
        };
        let planned = attribute(attributes, "take_over");
        let may_take = |taken: &Taken| {
            let planned = planned.as_list().unwrap_or_default();
            taken.manager == MANAGER || planned.contains(&Value::from(taken.to_string()))
        };
        let unplanned: Vec<String> = refusal
            .taken()
            .iter()
            .filter(|taken| !may_take(taken))
            .map(|taken| format!("{} is held by {}", taken.field, taken.manager))
            .collect();
        if !unplanned.is_empty() {
            let text = format!("{key}: {}", unplanned.join("; "));
            return Err(ProviderError::new(ErrorClass::Conflict, text)
                .with_hint("leave the fields out of the manifest, or take them over with force_conflicts"));
        }
        connection.send(&apply(true)).await
    }

    /// Sends the identity, and waits until the object is ready, if that is desired.
    async fn settle(
        &self,
        connection: &Connection,
        wish: &Wish<'_>,
        live: Json,
        request: &ApplyRequest,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        let identity = ObjectIdentity::of(&live).map(|identity| identity.to_identity());
        let identity = identity.ok_or_else(|| {
            ProviderError::new(ErrorClass::OutcomeUnknown, "the answer of the API has no object with a uid")
        })?;
        events.send(ApplyEvent::Identity(identity.clone()));
        let mut attributes = view::attributes(&request.ownership.address, &live);
        // Attributes of the action alone are returned as they were requested.
        for name in ["wait", "force_conflicts", "take_over", OUTDATED_NODES] {
            let asked = attribute(wish.attributes, name);
            if let (Value::Map(entries), false) = (&mut attributes, asked.is_null()) {
                entries.insert(name.to_owned(), asked.clone());
            }
        }
        if attribute(wish.attributes, "wait").as_str() != Some("none") {
            let waited = self.ready(connection, &wish.key, live, request, events, ticket).await;
            waited.map_err(|mut error| {
                error.identity = Some(identity.clone());
                error
            })?;
        }
        Ok(Applied::new(identity, attributes))
    }

    /// Writes the marks and leaves all other fields unchanged: the fields that Slipway has applied are
    /// applied again.
    async fn tag(
        &self,
        connection: &Connection,
        request: &ApplyRequest,
        identity: &Identity,
    ) -> Result<Applied, ProviderError> {
        let identity = ObjectIdentity::parse(identity)?;
        let live = self.live(connection, &identity.key).await?.filter(|live| is_life(live, &identity));
        let Some(live) = live else {
            let text = format!("{} does not exist", identity.key);
            return Err(ProviderError::new(ErrorClass::NotFound, text));
        };
        let key = &identity.key;
        self.expect_member(connection, &request.ownership, &key.kind, &key.namespace).await?;
        let before = Marks::read(&live);
        let ours = fields::applied_by(&live, MANAGER);
        let mut body = ours
            .as_ref()
            .map_or_else(|| Json::Object(serde_json::Map::new()), |ours| ours.fields.project(&live));
        let version = text(&live, "/apiVersion").unwrap_or_default().to_owned();
        for (path, name, value) in [
            (&[][..], "apiVersion", version.as_str()),
            (&[][..], "kind", key.kind.kind.as_str()),
            (&["metadata"][..], "name", key.name.as_str()),
            (&["metadata"][..], "namespace", key.namespace.as_str()),
            (&["metadata"][..], "uid", text(&live, "/metadata/uid").unwrap_or_default()),
        ] {
            if let (Some(place), false) = (map_at(&mut body, path), value.is_empty()) {
                place.insert(name.to_owned(), value.into());
            }
        }
        // An object that another tool created is given up in the end, not deleted.
        let found = before.found || before.address.is_none();
        Marks { found, ..before }.write(&mut body, &request.ownership);
        let (_, version) = split_api_version(&version);
        let resource = self.resource(connection, &key.kind, Some(version)).await?;
        let path = resource
            .map(|resource| resource.object(&key.kind, &key.namespace, &key.name))
            .unwrap_or_default();
        // The marks belong to Slipway, even when another field manager wrote them.
        let path = format!("{path}?fieldManager={MANAGER}&force=true");
        let live = match connection.send(&Request::apply(path, &body)).await? {
            Answer::Done { body, .. } => body,
            Answer::Refused(refusal) => return Err(refused(key, refusal)),
        };
        self.parents.joined(&request.ownership.uid, key);
        let attributes = view::attributes(&request.ownership.address, &live);
        Ok(Applied::new(identity.to_identity(), attributes))
    }

    /// Finds out the result of an action by reading. Server-side apply may be sent again, so the present
    /// object is enough.
    pub(super) async fn resume_one(
        &self,
        resume: &ResumeRequest,
        events: &EventSink,
    ) -> Result<Resolution, ProviderError> {
        let request = &resume.request;
        let address = &request.ownership.address;
        let ticket = self.running.begin(&request.token);
        let Some(connection) = self.connector.connection().await? else { return Ok(Resolution::NotDone) };
        if address.kind() == API {
            // A wait may start again, and a delete without an object has nothing to do.
            return Ok(Resolution::NotDone);
        }
        if address.kind() == NODE {
            return self.resume_node(&connection, request, events, &ticket).await;
        }
        let is_marked = |live: &Json| {
            let marks = Marks::read(live);
            marks.uid == request.ownership.uid.as_str() && marks.address.as_ref() == Some(address)
        };
        match &request.action {
            Action::Create { desired } | Action::Update { desired, .. } => {
                let wish = self.wish(&connection, desired).await?;
                let live = self.live(&connection, &wish.key).await?.filter(|live| is_marked(live));
                match live {
                    Some(live)
                        if self.is_applied(&connection, &wish, &live, request).await?
                            && is_rolled(&connection, &wish, request).await? =>
                    {
                        let applied = self.settle(&connection, &wish, live, request, events, &ticket).await;
                        applied.map(Resolution::Done)
                    }
                    _ => Ok(Resolution::NotDone),
                }
            }
            Action::Delete { identity } => {
                let parsed = ObjectIdentity::parse(identity)?;
                match self.live(&connection, &parsed.key).await?.filter(|live| is_life(live, &parsed)) {
                    Some(live) if live.pointer("/metadata/deletionTimestamp").is_none() => {
                        Ok(Resolution::NotDone)
                    }
                    _ => self
                        .delete(&connection, request, identity, events, &ticket)
                        .await
                        .map(Resolution::Done),
                }
            }
            Action::Tag { identity } => {
                let parsed = ObjectIdentity::parse(identity)?;
                match self.live(&connection, &parsed.key).await?.filter(|live| is_marked(live)) {
                    Some(live) => {
                        let attributes = view::attributes(address, &live);
                        Ok(Resolution::Done(Applied::new(identity.clone(), attributes)))
                    }
                    None => Ok(Resolution::NotDone),
                }
            }
            Action::Operation { .. } => Ok(Resolution::NotDone),
        }
    }

    /// Whether applying the desired object would change no field of Slipway.
    async fn is_applied(
        &self,
        connection: &Connection,
        wish: &Wish<'_>,
        live: &Json,
        request: &ApplyRequest,
    ) -> Result<bool, ProviderError> {
        let mut body = wish.body.clone();
        let marks = Marks { propagation: propagation(wish.attributes), ..Marks::read(live) };
        marks.write(&mut body, &request.ownership);
        let path = wish.resource.object(&wish.key.kind, &wish.key.namespace, &wish.key.name);
        let path = format!("{path}?dryRun=All&fieldManager={MANAGER}&force=true");
        match connection.ask(&Request::apply(path, &body)).await? {
            Answer::Done { body: tried, .. } => {
                let part = |object: &Json| {
                    fields::applied_by(object, MANAGER).map(|ours| ours.fields.project(object))
                };
                Ok(part(&tried) == part(live))
            }
            Answer::Refused(_) => Ok(false),
        }
    }
}

/// Brings the settings of nodes in an object to the machines that run with others. Other objects have none.
async fn roll_settings(
    session: &KubernetesSession,
    connection: &Connection,
    wish: &Wish<'_>,
    request: &ApplyRequest,
    events: &EventSink,
    ticket: &Ticket<'_>,
) -> Result<(), ProviderError> {
    let Some(settings) = Settings::of(&wish.body) else { return Ok(()) };
    let Wish { key, resource, .. } = wish;
    let path = resource.object(&key.kind, &key.namespace, &key.name);
    settings.roll(&Way { session, connection, path, events, ticket }, request).await
}

/// Whether the machines have the settings of nodes in an object that was updated. Their change belongs to the step, and the
/// object may have the settings before and after it.
async fn is_rolled(
    connection: &Connection,
    wish: &Wish<'_>,
    request: &ApplyRequest,
) -> Result<bool, ProviderError> {
    match (&request.action, Settings::of(&wish.body)) {
        (Action::Update { .. }, Some(settings)) => settings.is_everywhere(connection).await,
        _ => Ok(true),
    }
}

/// A refusal of an action.
pub(super) fn refused(key: &ObjectKey, refusal: Refusal) -> ProviderError {
    let mut error = refusal.into_error();
    // An object that this one depends on may appear a moment later, such as its namespace.
    if error.class == ErrorClass::NotFound {
        error.class = ErrorClass::Transient;
    }
    if error.class == ErrorClass::Conflict {
        error.class = ErrorClass::PreconditionFailed;
    }
    error.message = format!("{key}: {}", error.message);
    error
}

fn propagation(attributes: &Value) -> Option<String> {
    attribute(attributes, "propagation").as_str().map(str::to_owned)
}

/// Whether an object existed before Slipway applied it for the first time. When a create was sent twice, the
/// first apply is close to the creation.
fn was_there(live: &Json) -> bool {
    let time = |text: Option<&str>| text.and_then(|text| text.parse::<jiff::Timestamp>().ok());
    let created = time(text(live, "/metadata/creationTimestamp"));
    let applied = time(fields::applied_at(live, MANAGER));
    match (created, applied) {
        (Some(created), Some(applied)) => applied.as_second() - created.as_second() >= 2,
        _ => false,
    }
}

/// A newer plan must not half work with an older provider.
fn check_schema(request: &ApplyRequest) -> Result<(), ProviderError> {
    let address = &request.ownership.address;
    let schema = schema();
    let Some(kind) = schema.types.get(address.kind()) else { return Err(unknown_type(address)) };
    let (Action::Create { desired } | Action::Update { desired, .. }) = &request.action else {
        return Ok(());
    };
    match slipway_resource::validate::misfits(&kind.attributes, desired).first() {
        Some(misfit) => Err(invalid(misfit.to_string())),
        None => Ok(()),
    }
}
