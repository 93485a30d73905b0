//! A cloud in memory, for any provider that plans without its cloud. An object has its requested attributes,
//! and texts for those that the cloud sets. An object that another one holds is not deleted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use slipway_engine::{SecretError, SecretSource};
use slipway_resource::provider::{
    Action, Applied, ApplyEvent, ApplyRequest, Catalog, CatalogRequest, DiscoverRequest, Discovery,
    EventSink, ExpandRequest, Expansion, Info, PlanItem, Planned, PreflightFinding, PreflightItem,
    ReadRequest, Resolution, ResumeRequest, Scope, SessionRequest,
};
use slipway_resource::{
    Address, ClusterUid, ErrorClass, Identity, Mode, Observation, Observed, Provider, ProviderError, Schema,
    SecretText, Session, Token, Type, Value,
};

/// The objects by identity.
type Objects = BTreeMap<Identity, Object>;

#[derive(Clone, Debug)]
struct Object {
    address: Address,
    attributes: Value,
}

/// The objects in the cloud; sessions share them.
#[derive(Clone, Debug, Default)]
pub struct Pretended {
    objects: Arc<Mutex<Objects>>,
    made: Arc<Mutex<u64>>,
    uid: Arc<Mutex<Option<ClusterUid>>>,
}

impl Pretended {
    /// A session that takes its pure calls from another one.
    #[must_use]
    pub fn session(&self, pure: Arc<dyn Session>, schema: Arc<Schema>) -> Arc<dyn Session> {
        Arc::new(PretendedSession { cloud: self.clone(), pure, schema })
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self) -> u64 {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        *made += 1;
        *made
    }
}

struct PretendedSession {
    cloud: Pretended,
    pure: Arc<dyn Session>,
    schema: Arc<Schema>,
}

impl PretendedSession {
    /// The attributes of an object: the requested ones, and placeholders for those that the cloud sets.
    fn shown(&self, address: &Address, identity: &Identity, asked: &Value, before: &Value) -> Value {
        let Some(kind) = self.schema.types.get(address.kind()) else { return asked.clone() };
        let mut shown = asked.clone();
        if let Value::Map(entries) = &mut shown {
            for (name, attribute) in &kind.attributes {
                let set = entries.get(name).is_some_and(|value| !value.is_null());
                if set || !matches!(attribute.mode, Mode::Computed | Mode::OptionalComputed) {
                    continue;
                }
                let known = before.get(name).filter(|value| !value.is_null()).cloned();
                let value = known.or_else(|| match (&attribute.kind, name.as_str()) {
                    _ if !attribute.default.is_null() => Some(attribute.default.clone()),
                    (Type::String, "id") => Some(Value::from(identity.as_str())),
                    (Type::String, _) => Some(format!("{name}-of-{identity}").into()),
                    (Type::Integer, _) => Some(1_i64.into()),
                    _ => None,
                });
                if let Some(value) = value {
                    entries.insert(name.clone(), value);
                }
            }
            entries
                .retain(|name, _| !kind.attributes.get(name).is_some_and(|attribute| attribute.write_only));
        }
        shown
    }

    /// The holders of an object: others that refer to it by an attribute that holds it or is immutable.
    fn holders(&self, objects: &Objects, identity: &Identity) -> Vec<String> {
        let holds = |object: &Object| {
            let kind = self.schema.types.get(object.address.kind());
            kind.is_some_and(|kind| {
                let goes_with = kind.removed_with.as_ref().map(|with| with.attribute.as_str());
                kind.attributes.iter().any(|(name, attribute)| {
                    (attribute.holds || attribute.immutable)
                        && goes_with != Some(name.as_str())
                        && object.attributes.get(name).is_some_and(|value| mentions(value, identity.as_str()))
                })
            })
        };
        let others = objects.iter().filter(|(other, _)| *other != identity);
        others.filter(|(_, object)| holds(object)).map(|(_, object)| object.address.to_string()).collect()
    }

    fn delete(&self, identity: &Identity) -> Result<(), ProviderError> {
        let mut objects = self.cloud.lock();
        let holders = self.holders(&objects, identity);
        if !holders.is_empty() {
            let text = format!("{identity} is held by {}", holders.join(", "));
            return Err(ProviderError::new(ErrorClass::Dependency { blockers: holders }, text));
        }
        objects.remove(identity);
        // Objects that are removed with their parent are removed, too.
        let goes = |object: &Object| {
            let with = self.schema.types.get(object.address.kind())?.removed_with.as_ref()?;
            let parent = object.attributes.get(&with.attribute)?.as_str()?;
            (parent == identity.as_str()).then_some(())
        };
        objects.retain(|_, object| goes(object).is_none());
        Ok(())
    }
}

fn mentions(value: &Value, identity: &str) -> bool {
    match value {
        Value::String(text) => text == identity,
        Value::List(items) => items.iter().any(|item| mentions(item, identity)),
        Value::Map(entries) => entries.values().any(|value| mentions(value, identity)),
        _ => false,
    }
}

#[async_trait]
impl Session for PretendedSession {
    fn scope(&self) -> &Scope {
        self.pure.scope()
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        self.pure.catalog().await
    }

    async fn catalog_for(&self, request: CatalogRequest) -> Result<Catalog, ProviderError> {
        self.pure.catalog_for(request).await
    }

    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError> {
        let mut expansion = self.pure.expand(request).await?;
        // Objects behind the API of a cluster, and keys in its state, may be those of other providers.
        let is_own = |kind: &str| self.schema.types.contains_key(kind);
        expansion.resources.retain(|resource| is_own(resource.address.kind()));
        for resource in &mut expansion.resources {
            resource.depends_on.retain(|before| is_own(before.kind()));
        }
        Ok(expansion)
    }

    async fn discover(&self, _: DiscoverRequest) -> Result<Discovery, ProviderError> {
        let observed = |(identity, object): (&Identity, &Object)| Observed {
            address: object.address.clone(),
            identity: identity.clone(),
            token: None,
            owner: None,
            observation: Observation::Present(object.attributes.clone()),
        };
        let mut observed: Vec<Observed> = self.cloud.lock().iter().map(observed).collect();
        observed.sort_by(|one, other| (&one.address, &one.identity).cmp(&(&other.address, &other.identity)));
        let uid = self.cloud.uid.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Discovery { observed, unlisted: Vec::new(), uid })
    }

    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        let objects = self.cloud.lock();
        let answer = |request: ReadRequest| {
            let found = objects.get(&request.identity);
            Observed {
                owner: None,
                observation: found
                    .map_or(Observation::Absent, |object| Observation::Present(object.attributes.clone())),
                address: request.address,
                identity: request.identity,
                token: None,
            }
        };
        Ok(requests.into_iter().map(answer).collect())
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        self.pure.plan(items).await
    }

    async fn preflight(&self, _: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        Ok(Vec::new())
    }

    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        let address = request.ownership.address;
        *self.cloud.uid.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.ownership.uid);
        match request.action {
            Action::Create { desired } => {
                let identity = Identity::new(format!("{}-{:04}", address.kind(), self.cloud.number()));
                events.send(ApplyEvent::Identity(identity.clone()));
                let attributes = self.shown(&address, &identity, &desired, &Value::Null);
                let object = Object { address, attributes: attributes.clone() };
                self.cloud.lock().insert(identity.clone(), object);
                Ok(Applied::new(identity, attributes))
            }
            Action::Update { identity, prior, desired } => {
                let attributes = self.shown(&address, &identity, &desired, &prior);
                let object = Object { address, attributes: attributes.clone() };
                self.cloud.lock().insert(identity.clone(), object);
                Ok(Applied::new(identity, attributes))
            }
            Action::Delete { identity } => self.delete(&identity).map(|()| Applied::default()),
            Action::Tag { identity } => {
                let mut objects = self.cloud.lock();
                let Some(object) = objects.get_mut(&identity) else { return Ok(Applied::default()) };
                object.address = address;
                Ok(Applied::new(identity, object.attributes.clone()))
            }
            Action::Operation { .. } => Ok(Applied::default()),
        }
    }

    async fn resume(&self, _: ResumeRequest, _: EventSink) -> Result<Resolution, ProviderError> {
        Ok(Resolution::NotDone)
    }

    async fn cancel(&self, _: Option<Token>) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn upgrade_state(&self, _: &str, _: u32, attributes: Value) -> Result<Value, ProviderError> {
        Ok(attributes)
    }

    async fn close(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}

/// A provider whose sessions plan without their cloud, and act on the pretended one.
pub struct PretendedProvider {
    pure: Arc<dyn Provider>,
    cloud: Pretended,
}

impl PretendedProvider {
    /// Pretends the cloud of a provider.
    #[must_use]
    pub fn new(pure: Arc<dyn Provider>, cloud: Pretended) -> Self {
        Self { pure, cloud }
    }
}

#[async_trait]
impl Provider for PretendedProvider {
    /// The calls of this cloud have no pace: a run would wait for most of its time.
    async fn info(&self) -> Result<Info, ProviderError> {
        let mut info = self.pure.info().await?;
        info.rate_classes.values_mut().for_each(|class| class.per_second = None);
        Ok(info)
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        self.pure.schema().await
    }

    async fn validate_config(&self, config: &Value) -> Result<Vec<String>, ProviderError> {
        self.pure.validate_config(config).await
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        let request = SessionRequest { offline: true, config: Value::Null, ..request };
        let pure = self.pure.open_session(request).await?;
        Ok(self.cloud.session(pure, self.pure.schema().await?))
    }
}

/// Says of every secret the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnySecret;

#[async_trait]
impl SecretSource for AnySecret {
    fn text(&self, _: &str) -> Result<SecretText, SecretError> {
        Ok(SecretText::new("any"))
    }

    async fn kept(&self, _: &ClusterUid, _: &Identity, _: &str) -> Result<SecretText, SecretError> {
        Ok(SecretText::new("any"))
    }
}
