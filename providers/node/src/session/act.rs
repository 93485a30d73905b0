//! Carrying one action out: first the ledger, then the object, then the ledger again.

use std::sync::Arc;
use std::time::Duration;

use slipway_resource::provider::{Action, Applied, ApplyEvent, ApplyRequest, EventSink};
use slipway_resource::validate::misfits;
use slipway_resource::{Identity, Mode, Path, ProviderError, Value};
use tokio::time::Instant;

use super::NodeSession;
use crate::attributes::{Attributes, without_texts};
use crate::error::{conflict, invalid, not_found, permanent};
use crate::kind::{Kind, Place, Work};
use crate::ledger::{Entry, Found, Stage};
use crate::owner;

impl NodeSession {
    pub(super) async fn act(
        &self,
        request: ApplyRequest,
        events: EventSink,
    ) -> Result<Applied, ProviderError> {
        events.send(ApplyEvent::Started);
        let address = request.ownership.address.clone();
        self.carry_out(&request, events).await.map_err(|error| error.with_address(&address))
    }

    async fn carry_out(&self, request: &ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        let kind = self.kinds.of(&request.ownership.address)?;
        self.host.reachable()?;
        let (identity, desired) = match &request.action {
            Action::Create { desired } | Action::Update { desired, .. } => {
                let desired = self.checked(request.ownership.address.kind(), desired)?;
                (kind.identity(Attributes(&desired))?, desired)
            }
            Action::Delete { identity } | Action::Tag { identity } | Action::Operation { identity, .. } => {
                (identity.as_str().to_owned(), Value::Null)
            }
        };
        if let Action::Update { identity: known, .. } = &request.action
            && known.as_str() != identity
        {
            return Err(invalid(format!("{known} cannot become {identity}: that is another object")));
        }
        if self.host.config.exclusive {
            owner::check(&self.host.disk, &request.ownership)?;
        }
        let ticket = self.running.begin(&request.token);
        let turn = self.turns.of(format!("{} {identity}", request.ownership.address.kind()));
        let _turn = turn.lock().await;
        let entry = self.entry(request, &identity).await?;
        let work = Work {
            place: Place { host: Arc::clone(&self.host), identity: Identity::new(identity), entry },
            desired,
            events,
            stop: ticket.signal(),
            deadline: Instant::now() + Duration::from_millis(request.timeout_ms),
        };
        match &request.action {
            Action::Create { .. } | Action::Update { .. } => self.converge(kind, request, work).await,
            Action::Delete { .. } => self.delete(kind, request, work).await,
            Action::Tag { .. } => self.tag(kind, request, work).await,
            Action::Operation { name, arguments, .. } => {
                if !kind.resource_type().operations.contains_key(name) {
                    return Err(invalid(format!(
                        "{} has no operation {name}",
                        request.ownership.address.kind()
                    )));
                }
                kind.operate(&work, name, arguments).await
            }
        }
    }

    /// The ledger's entry of an object, unless another cluster or address has it.
    async fn entry(&self, request: &ApplyRequest, identity: &str) -> Result<Option<Entry>, ProviderError> {
        let (kind, name) = (request.ownership.address.kind().to_owned(), identity.to_owned());
        let entry = self.host.blocking(move |host| host.ledger.get(&kind, &name)).await?;
        let Some(entry) = entry else { return Ok(None) };
        if entry.uid != request.ownership.uid.as_str() {
            return Err(conflict(format!("{identity} belongs to cluster {} ({})", entry.cluster, entry.uid)));
        }
        let creates = matches!(request.action, Action::Create { .. });
        if creates && entry.address != request.ownership.address {
            return Err(conflict(format!("{identity} is {} already", entry.address)));
        }
        Ok(Some(entry))
    }

    /// Brings an object to its desired attributes.
    async fn converge(
        &self,
        kind: &dyn Kind,
        request: &ApplyRequest,
        mut work: Work,
    ) -> Result<Applied, ProviderError> {
        let token = request.token.as_str();
        if let Some(entry) = &work.place.entry
            && entry.token == token
            && entry.stage == Stage::Done
            && let Some(attributes) = kind.read(&work.place).await?
        {
            // The same step again, after its answer was lost.
            work.events.send(ApplyEvent::Identity(work.place.identity.clone()));
            return Ok(Applied::new(work.place.identity.clone(), attributes));
        }
        self.claim(request).await?;
        let mut entry = match work.place.entry.take() {
            Some(entry) if entry.stage == Stage::Creating => Entry { token: token.to_owned(), ..entry },
            Some(entry) => Entry { token: token.to_owned(), stage: Stage::Changing, ..entry },
            None => {
                let found = match &request.action {
                    // The caller's state has a record of the object, so it is ours.
                    Action::Update { .. } => Found::TakenOver,
                    _ => kind.look(&work).await?,
                };
                Entry::new(work.identity(), request, found)
            }
        };
        // The desired attributes of an interrupted change are not the present ones; the type compares with
        // its own record.
        work.place.entry = Some(entry.clone());
        entry.memory = kind.foresee(&work).await?;
        entry.wanted = self.storable(request.ownership.address.kind(), &work.desired);
        self.write_down(entry.clone()).await?;
        // Another action may have given the node back between the claim and the entry.
        self.claim(request).await?;
        work.events.send(ApplyEvent::Identity(work.place.identity.clone()));
        let before = work.place.entry.take();
        work.place.entry =
            Some(Entry { memory: entry.memory.clone(), ..before.unwrap_or_else(|| entry.clone()) });
        let made = kind.make(&work).await.map_err(|mut error| {
            error.identity = Some(work.place.identity.clone());
            error
        });
        entry.memory = made?;
        entry.stage = Stage::Done;
        self.write_down(entry.clone()).await?;
        work.place.entry = Some(entry);
        let attributes = kind.read(&work.place).await?;
        let attributes = attributes
            .ok_or_else(|| permanent(format!("{} is gone right after it was made", work.identity())))?;
        Ok(Applied::new(work.place.identity.clone(), attributes))
    }

    async fn delete(
        &self,
        kind: &dyn Kind,
        request: &ApplyRequest,
        mut work: Work,
    ) -> Result<Applied, ProviderError> {
        match work.place.entry.take() {
            Some(entry) => {
                let entry =
                    Entry { token: request.token.as_str().to_owned(), stage: Stage::Removing, ..entry };
                self.write_down(entry.clone()).await?;
                work.place.entry = Some(entry);
                kind.remove(&work).await.map_err(|mut error| {
                    error.identity = Some(work.place.identity.clone());
                    error
                })?;
            }
            None => {
                // An object that cannot be read is not changed either.
                if !matches!(kind.read(&work.place).await, Ok(None)) {
                    if !self.host.config.leaving {
                        kind.part(&work).await?;
                    }
                    work.tell(format!("{} is not in this node's ledger and stays", work.identity()));
                }
                self.release().await?;
                return Ok(Applied::default());
            }
        }
        let (name, identity) = (request.ownership.address.kind().to_owned(), work.identity().to_owned());
        self.host.blocking(move |host| host.ledger.remove(&name, &identity)).await?;
        self.release().await?;
        Ok(Applied::default())
    }

    /// Gives the node back when nothing is left on it.
    pub(super) async fn release(&self) -> Result<(), ProviderError> {
        self.host.blocking(|host| owner::release(&host.disk, &host.ledger)).await
    }

    /// Has the node belong to the cluster.
    async fn claim(&self, request: &ApplyRequest) -> Result<(), ProviderError> {
        if !self.host.config.exclusive {
            return Ok(());
        }
        let ownership = request.ownership.clone();
        self.host.blocking(move |host| owner::claim(&host.disk, &ownership)).await
    }

    /// Writes an object down as ours under an address.
    async fn tag(
        &self,
        kind: &dyn Kind,
        request: &ApplyRequest,
        mut work: Work,
    ) -> Result<Applied, ProviderError> {
        let attributes = kind.read(&work.place).await?;
        let attributes = attributes.ok_or_else(|| not_found(format!("{} is not there", work.identity())))?;
        self.claim(request).await?;
        let entry = match work.place.entry.take() {
            Some(entry) => Entry { address: request.ownership.address.clone(), ..entry },
            None => Entry {
                stage: Stage::Done,
                wanted: self.settable(request.ownership.address.kind(), &attributes),
                ..Entry::new(work.identity(), request, Found::TakenOver)
            },
        };
        self.write_down(entry).await?;
        Ok(Applied::new(work.place.identity.clone(), attributes))
    }

    pub(super) async fn write_down(&self, entry: Entry) -> Result<(), ProviderError> {
        self.host.blocking(move |host| host.ledger.put(&entry)).await
    }

    /// Attributes that fit the schema, without those that only the node sets.
    fn checked(&self, kind: &str, desired: &Value) -> Result<Value, ProviderError> {
        let desired = self.settable(kind, desired);
        let attributes = self.schema.types.get(kind).map(|kind| &kind.attributes);
        match attributes.and_then(|attributes| misfits(attributes, &desired).into_iter().next()) {
            Some(misfit) => Err(invalid(misfit.to_string())),
            None => Ok(desired),
        }
    }

    /// Attributes in a form that may be stored: without texts of secrets and write-only values.
    fn storable(&self, kind: &str, attributes: &Value) -> Value {
        let mut storable = without_texts(attributes);
        for (name, attribute) in self.schema.types.get(kind).iter().flat_map(|kind| &kind.attributes) {
            let is_text = matches!(storable.get(name), Some(Value::String(_)));
            if attribute.sensitive && is_text {
                storable.set(&Path::key(name.as_str()), Value::Null);
            }
        }
        storable
    }

    fn settable(&self, kind: &str, attributes: &Value) -> Value {
        let mut settable = attributes.clone();
        for (name, attribute) in self.schema.types.get(kind).iter().flat_map(|kind| &kind.attributes) {
            if attribute.mode == Mode::Computed {
                settable.set(&Path::key(name.as_str()), Value::Null);
            }
        }
        settable
    }
}
