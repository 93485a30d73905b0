//! Actions of the reference provider.

use std::sync::PoisonError;
use std::time::Duration;

use slipway_resource::provider::{
    Action, Applied, ApplyEvent, ApplyRequest, EventSink, Resolution, ResumeRequest,
};
use slipway_resource::validate::misfits;
use slipway_resource::{
    ErrorClass, Identity, Mode, Ownership, Path, ProviderError, ResourceType, Token, Value,
};
use tokio::sync::watch;

use crate::cloud::{Object, Tags, now_ms};
use crate::kinds::{MACHINE, NETWORK, VERIFY};
use crate::plan::{invalid, kind};
use crate::session::ReferenceSession;

impl ReferenceSession {
    pub async fn act(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        let serial =
            if self.defect.breaks("actions-side-by-side") { Some(self.serial.lock().await) } else { None };
        events.send(ApplyEvent::Started);
        let address = &request.ownership.address;
        let kind = kind(&self.schema, address)?;
        let outcome = match &request.action {
            Action::Create { desired } => self.create(&request, kind, desired, &events).await,
            Action::Update { identity, desired, .. } => self.update(identity, kind, desired),
            Action::Delete { identity } => self.delete(identity),
            Action::Tag { identity } => self.tag(identity, &request.ownership),
            Action::Operation { identity, name, .. } => self.operation(identity, kind, name),
        };
        drop(serial);
        outcome.map_err(|error| error.with_address(address))
    }

    async fn create(
        &self,
        request: &ApplyRequest,
        kind: &ResourceType,
        desired: &Value,
        events: &EventSink,
    ) -> Result<Applied, ProviderError> {
        let attributes = self.checked(kind, desired)?;
        let stop = self.register(&request.token);
        let ownership = &request.ownership;
        let has_password = desired.get("password").is_some();
        let object = Object {
            kind: ownership.address.kind().to_owned(),
            tags: (!(has_password && self.defect.breaks("ownership"))).then(|| tags(ownership)),
            token: request.token.as_str().to_owned(),
            up_at_ms: now_ms() + boot_ms(&attributes),
            attributes,
        };
        let identity = self.cloud.change(|objects| {
            let known = objects.of_token(request.token.as_str()).map(|(identity, _)| identity.clone());
            if let Some(identity) = known.filter(|_| !self.defect.breaks("token-once")) {
                return Ok(identity);
            }
            let identity = objects.add(object);
            if let Some(object) = objects.by_identity.get_mut(&identity) {
                complete(object, &identity, self.defect.breaks("apply-as-planned"));
            }
            Ok(identity)
        })?;
        let identity = Identity::new(identity);
        if !self.defect.breaks("identity-early") {
            events.send(ApplyEvent::Identity(identity.clone()));
        }
        events.send(ApplyEvent::Handle(format!("boot of {identity}")));
        let outcome = self.wait(&identity, stop, events).await;
        self.forget(&request.token);
        outcome
    }

    /// Waits until an object is ready, or removes it when the action is stopped.
    async fn wait(
        &self,
        identity: &Identity,
        mut stop: watch::Receiver<bool>,
        events: &EventSink,
    ) -> Result<Applied, ProviderError> {
        let object = self.object(identity)?;
        let left = object.up_at_ms.saturating_sub(now_ms());
        if left > 0 {
            events.send(ApplyEvent::Progress(format!("up in {left} ms")));
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(left)) => Ok(Applied::new(identity.clone(), object.attributes)),
            Ok(_) = stop.wait_for(|stop| *stop) => {
                self.cloud.change(|objects| Ok(objects.by_identity.remove(identity.as_str())))?;
                Err(ProviderError::new(ErrorClass::Cancelled, "stopped while it booted"))
            }
        }
    }

    fn update(
        &self,
        identity: &Identity,
        kind: &ResourceType,
        desired: &Value,
    ) -> Result<Applied, ProviderError> {
        let mut attributes = self.checked(kind, desired)?;
        let loses = self.defect.breaks("update");
        self.cloud.change(|objects| {
            let object = objects.by_identity.get_mut(identity.as_str()).ok_or_else(|| gone(identity))?;
            for name in ["id", "address"] {
                if let Some(value) = object.attributes.get(name) {
                    attributes.set(&Path::key(name), value.clone());
                }
            }
            if !loses {
                object.attributes = attributes.clone();
            }
            Ok(Applied::new(identity.clone(), attributes))
        })
    }

    fn delete(&self, identity: &Identity) -> Result<Applied, ProviderError> {
        self.cloud.change(|objects| {
            let found = objects.by_identity.get(identity.as_str()).cloned();
            let is_named = found.as_ref().is_some_and(|object| object.attributes.get("name").is_some());
            if !(is_named && self.defect.breaks("delete")) {
                objects.by_identity.remove(identity.as_str());
            }
            if found.is_none() && self.defect.breaks("delete-vanished") {
                return Err(gone(identity));
            }
            Ok(Applied::default())
        })
    }

    fn tag(&self, identity: &Identity, ownership: &Ownership) -> Result<Applied, ProviderError> {
        self.cloud.change(|objects| {
            let object = objects.by_identity.get_mut(identity.as_str()).ok_or_else(|| gone(identity))?;
            if !self.defect.breaks("tag") {
                object.tags = Some(tags(ownership));
            }
            Ok(Applied::new(identity.clone(), object.attributes.clone()))
        })
    }

    fn operation(
        &self,
        identity: &Identity,
        kind: &ResourceType,
        name: &str,
    ) -> Result<Applied, ProviderError> {
        if !kind.operations.contains_key(name) && !self.defect.breaks("refuses-unknown") {
            return Err(invalid(format!("there is not an operation {name}")));
        }
        if name == VERIFY && self.defect.breaks("operations") {
            return Err(ProviderError::new(ErrorClass::Permanent, "not today"));
        }
        let object = self.object(identity)?;
        Ok(Applied::new(identity.clone(), Value::map([("up", object.up_at_ms <= now_ms())])))
    }

    pub async fn find_again(
        &self,
        request: ResumeRequest,
        events: EventSink,
    ) -> Result<Resolution, ProviderError> {
        let token = &request.request.token;
        let made = self.cloud.look(|objects| {
            let (identity, _) = objects.of_token(token.as_str())?;
            Some(Identity::new(identity.as_str()))
        })?;
        Ok(match (&request.request.action, made) {
            (Action::Create { .. }, _) if self.defect.breaks("resume") => Resolution::NotDone,
            (Action::Create { .. }, Some(identity)) => {
                let stop = self.register(token);
                let outcome = self.wait(&identity, stop, &events).await;
                self.forget(token);
                Resolution::Done(outcome?)
            }
            (Action::Create { .. }, None) if self.defect.breaks("resume-unsent") => {
                Resolution::Done(Applied::default())
            }
            (Action::Delete { identity }, _) if self.object(identity).is_err() => {
                Resolution::Done(Applied::default())
            }
            // The others can be done again without harm.
            _ => Resolution::NotDone,
        })
    }

    fn object(&self, identity: &Identity) -> Result<Object, ProviderError> {
        let found = self.cloud.look(|objects| objects.by_identity.get(identity.as_str()).cloned())?;
        found.ok_or_else(|| gone(identity))
    }

    /// The attributes as they are kept: fitting, without what is never returned.
    fn checked(&self, kind: &ResourceType, desired: &Value) -> Result<Value, ProviderError> {
        let mut attributes = desired.clone();
        for (name, attribute) in &kind.attributes {
            if attribute.mode == Mode::Computed {
                attributes.set(&Path::key(name.as_str()), Value::Null);
            }
        }
        if let Some(misfit) = misfits(&kind.attributes, &attributes).first() {
            let class = if self.defect.breaks("invalid-attributes") {
                ErrorClass::Permanent
            } else {
                ErrorClass::Invalid
            };
            let mut message = misfit.to_string();
            if self.defect.breaks("no-secret-shown")
                && let Some(Value::Secret(secret)) = desired.get("password")
                && let Some(text) = &secret.text
            {
                message.push_str(text.expose());
            }
            return Err(ProviderError::new(class, message));
        }
        attributes.set(&Path::key("password"), Value::Null);
        for (name, attribute) in &kind.attributes {
            if attributes.get(name).is_none() {
                attributes.set(&Path::key(name.as_str()), attribute.default.clone());
            }
        }
        Ok(attributes)
    }

    fn register(&self, token: &Token) -> watch::Receiver<bool> {
        let (sender, receiver) = watch::channel(false);
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(token.as_str().to_owned(), sender);
        receiver
    }

    fn forget(&self, token: &Token) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(token.as_str());
    }

    pub fn stop(&self, token: Option<&Token>) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, stop) in running.iter() {
            if token.is_none_or(|token| token.as_str() == name) {
                stop.send_replace(true);
            }
        }
    }
}

/// The attributes that the cloud sets; with the defect, another size.
fn complete(object: &mut Object, identity: &str, oversized: bool) {
    let set = |attributes: &mut Value, name: &str, value: Value| attributes.set(&Path::key(name), value);
    match object.kind.as_str() {
        NETWORK => {
            set(&mut object.attributes, "id", identity.into());
        }
        MACHINE => {
            let address: Value = format!("{identity}.internal").into();
            set(&mut object.attributes, "address", address);
            if oversized {
                set(&mut object.attributes, "size", Value::Integer(99));
            }
        }
        _ => {}
    }
}

fn tags(ownership: &Ownership) -> Tags {
    Tags {
        uid: ownership.uid.as_str().to_owned(),
        cluster: ownership.cluster.clone(),
        address: ownership.address.clone(),
    }
}

fn boot_ms(attributes: &Value) -> u64 {
    let wanted = attributes.get("boot_ms").and_then(Value::as_integer);
    wanted.map_or(0, |wanted| u64::try_from(wanted).unwrap_or(0))
}

fn gone(identity: &Identity) -> ProviderError {
    ProviderError::new(ErrorClass::NotFound, format!("{identity} does not exist"))
}
