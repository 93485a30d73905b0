//! A provider for tests, in this process: it answers as its script says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use slipway_plan::{ProviderHandle, ProviderPin, Providers, Record};
use slipway_resource::provider::{
    Applied, ApplyRequest, Capabilities, Catalog, CatalogRequest, DiscoverRequest, Discovery, DryRun,
    EventSink, ExpandRequest, Expansion, Info, LocateRequest, Located, Node, PlanItem, Planned,
    PreflightFinding, PreflightItem, RateClass, ReadRequest, Resolution, ResumeRequest, Scope,
};
use slipway_resource::schema::OwnershipKind;
use slipway_resource::{
    Address, Attribute, Digest, Identity, Observation, Observed, ProviderError, ResourceType, Schema,
    Session, Token, Type, Value,
};

type Outcome<T> = Result<T, ProviderError>;
type Script<Q, T> = Box<dyn Fn(Q) -> Outcome<T> + Send + Sync>;
type Applying = Box<dyn Fn((ApplyRequest, EventSink)) -> BoxFuture<'static, Outcome<Applied>> + Send + Sync>;
type Refusal = Box<dyn Fn() -> ProviderError + Send + Sync>;

/// A session that answers as its script says, and sensibly where there is none.
#[derive(Default)]
pub(crate) struct Scripted {
    scope: Scope,
    slow: Duration,
    first_each: Option<Refusal>,
    called: Mutex<BTreeSet<&'static str>>,
    discover: Option<Script<DiscoverRequest, Discovery>>,
    read: Option<Script<Vec<ReadRequest>, Vec<Observed>>>,
    apply: Option<Applying>,
    resume: Option<Script<ResumeRequest, Resolution>>,
    plan: Option<Script<PlanItem, Planned>>,
    nodes: Option<Script<(), Vec<Node>>>,
    cancel: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Scripted {
    pub fn on_discover(
        mut self,
        answer: impl Fn(DiscoverRequest) -> Result<Discovery, ProviderError> + Send + Sync + 'static,
    ) -> Self {
        self.discover = Some(Box::new(answer));
        self
    }

    pub fn on_read(
        mut self,
        answer: impl Fn(Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> + Send + Sync + 'static,
    ) -> Self {
        self.read = Some(Box::new(answer));
        self
    }

    /// Sets the effect of a cancellation.
    pub fn on_cancel(mut self, act: impl Fn() + Send + Sync + 'static) -> Self {
        self.cancel = Some(Box::new(act));
        self
    }

    /// The first call of each kind fails so.
    pub fn first_each(mut self, error: impl Fn() -> ProviderError + Send + Sync + 'static) -> Self {
        self.first_each = Some(Box::new(error));
        self
    }

    /// Every read takes this long.
    pub fn slow(mut self, time: Duration) -> Self {
        self.slow = time;
        self
    }

    async fn begin(&self, call: &'static str) -> Result<(), ProviderError> {
        tokio::time::sleep(self.slow).await;
        let is_first = self.called.lock().unwrap().insert(call);
        match &self.first_each {
            Some(error) if is_first => Err(error()),
            _ => Ok(()),
        }
    }
}

/// The address of a thing.
pub(crate) fn thing(name: &str) -> Address {
    Address::new("thing", name)
}

/// A schema with things, and others.
pub(crate) fn things() -> Schema {
    let attributes = slipway_resource::schema::attributes([
        ("name", Attribute::required(Type::String)),
        ("size", Attribute::optional(Type::Integer)),
        ("secret", Attribute::optional(Type::String).write_only()),
        ("tags", Attribute::optional(Type::set(Type::String))),
        ("zone", Attribute::optional_computed(Type::String)),
        ("number", Attribute::computed(Type::Integer)),
    ]);
    let kind = ResourceType { attributes, ..ResourceType::new("A thing.", OwnershipKind::Tags, "calls") };
    let other = ResourceType::new("Another thing.", OwnershipKind::Tags, "calls");
    let types = BTreeMap::from([("thing".to_owned(), kind), ("other".to_owned(), other)]);
    Schema { types, ..Schema::default() }
}

#[async_trait]
impl Session for Scripted {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        self.begin("catalog").await?;
        Catalog::empty()
    }

    async fn catalog_for(&self, _: CatalogRequest) -> Result<Catalog, ProviderError> {
        self.begin("catalog_for").await?;
        Catalog::empty()
    }

    async fn expand(&self, _: ExpandRequest) -> Result<Expansion, ProviderError> {
        Ok(Expansion::default())
    }

    async fn discover(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        self.begin("discover").await?;
        self.discover.as_ref().map_or_else(|| Ok(Discovery::default()), |answer| answer(request))
    }

    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        self.begin("read").await?;
        if let Some(answer) = &self.read {
            return answer(requests);
        }
        let absent = |request: ReadRequest| Observed {
            address: request.address,
            identity: request.identity,
            token: None,
            owner: None,
            observation: Observation::Absent,
        };
        Ok(requests.into_iter().map(absent).collect())
    }

    async fn locate(&self, _: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        self.begin("locate").await?;
        Ok(Vec::new())
    }

    async fn nodes(&self) -> Result<Vec<Node>, ProviderError> {
        self.begin("nodes").await?;
        self.nodes.as_ref().map_or_else(|| Ok(Vec::new()), |answer| answer(()))
    }

    async fn dry_run(&self, _: Vec<PlanItem>) -> Result<Vec<DryRun>, ProviderError> {
        self.begin("dry_run").await?;
        Ok(Vec::new())
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        let planned = |item: PlanItem| match &self.plan {
            Some(answer) => answer(item),
            None => Ok(Planned { normalised: item.desired.unwrap_or_default(), ..Planned::default() }),
        };
        items.into_iter().map(planned).collect()
    }

    async fn preflight(&self, _: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        self.begin("preflight").await?;
        Ok(Vec::new())
    }

    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        match &self.apply {
            Some(answer) => answer((request, events)).await,
            None => Ok(Applied::default()),
        }
    }

    async fn resume(&self, request: ResumeRequest, _: EventSink) -> Result<Resolution, ProviderError> {
        self.resume.as_ref().map_or(Ok(Resolution::Unknown), |answer| answer(request))
    }

    async fn cancel(&self, _: Option<Token>) -> Result<(), ProviderError> {
        if let Some(act) = &self.cancel {
            act();
        }
        Ok(())
    }

    async fn upgrade_state(&self, _: &str, _: u32, attributes: Value) -> Result<Value, ProviderError> {
        Ok(attributes)
    }

    async fn import(&self, address: &Address, identity: &Identity) -> Result<Observed, ProviderError> {
        self.begin("import").await?;
        let observation = Observation::Present(Value::Null);
        Ok(Observed {
            address: address.clone(),
            identity: identity.clone(),
            token: None,
            owner: None,
            observation,
        })
    }

    async fn close(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}

impl Scripted {
    pub fn on_apply<F>(
        mut self,
        answer: impl Fn(ApplyRequest, EventSink) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Outcome<Applied>> + Send + 'static,
    {
        self.apply = Some(Box::new(move |(request, events)| Box::pin(answer(request, events))));
        self
    }

    pub fn on_plan(mut self, answer: impl Fn(PlanItem) -> Outcome<Planned> + Send + Sync + 'static) -> Self {
        self.plan = Some(Box::new(answer));
        self
    }

    pub fn on_nodes(mut self, answer: impl Fn() -> Outcome<Vec<Node>> + Send + Sync + 'static) -> Self {
        self.nodes = Some(Box::new(move |()| answer()));
        self
    }

    pub fn on_resume(
        mut self,
        answer: impl Fn(ResumeRequest) -> Outcome<Resolution> + Send + Sync + 'static,
    ) -> Self {
        self.resume = Some(Box::new(answer));
        self
    }
}

/// The provider `cloud` with a schema, answered by a script.
pub(crate) fn providers_of(session: Scripted, schema: Schema) -> Providers {
    let rate_classes = BTreeMap::from([("calls".to_owned(), RateClass { concurrency: 8, per_second: None })]);
    let info = Info {
        name: "cloud".into(),
        version: "1".into(),
        rate_classes,
        batch: 10,
        capabilities: Capabilities::default(),
    };
    let pin = ProviderPin {
        version: info.version.clone(),
        schema_digest: Digest::of(&schema).unwrap(),
        scope: Scope::default(),
        config: Value::Null,
    };
    let handle = ProviderHandle { session: Arc::new(session), schema: Arc::new(schema), info, pin };
    let mut providers = Providers::default();
    providers.insert("cloud", handle);
    providers
}

/// The record of a thing before its object is known.
pub(crate) fn record() -> Record {
    Record {
        provider: "cloud".into(),
        schema_version: 1,
        identity: Identity::new(""),
        applied: Some(Value::map([("name", "a")])),
        depends_on: Vec::new(),
        retain: false,
        protected: false,
        existing: false,
        as_found: BTreeMap::new(),
        untagged: false,
        deposed: Vec::new(),
    }
}
