//! A provider in memory, small enough to see through.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use slipway_protocol::{Client, Deadlines, Life};
use slipway_provider_sdk::{ServeOptions, serve_until};
use slipway_resource::provider::*;
use slipway_resource::schema::{Durations, OwnershipKind};
use slipway_resource::*;
use tokio::net::UnixListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Objects by identity.
type Objects = Arc<Mutex<BTreeMap<String, Observed>>>;

/// A cloud of things.
#[derive(Default)]
pub struct Things {
    objects: Objects,
    /// Counts creates under way and the most at once.
    pub under_way: Arc<Mutex<(usize, usize)>>,
}

struct Room {
    objects: Objects,
    under_way: Arc<Mutex<(usize, usize)>>,
    scope: Scope,
}

pub const BATCH: u32 = 1000;

#[async_trait]
impl Provider for Things {
    async fn info(&self) -> Result<Info, ProviderError> {
        let class = RateClass { concurrency: 64, per_second: Some(12.5) };
        Ok(Info {
            name: "things".into(),
            version: "1.0.0".into(),
            rate_classes: BTreeMap::from([("default".to_owned(), class)]),
            batch: BATCH,
            capabilities: Capabilities::default(),
        })
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        let thing = ResourceType {
            version: 1,
            description: "A thing.".into(),
            attributes: BTreeMap::from([
                ("size".to_owned(), Attribute::required(Type::Integer).describe("GiB")),
                ("id".to_owned(), Attribute::computed(Type::String)),
            ]),
            ownership: OwnershipKind::Tags,
            rate_class: "default".into(),
            idempotent_create: true,
            stateful: false,
            irreplaceable: None,
            create_before_delete: false,
            import_id: String::new(),
            removed_with: None,
            roles: Vec::new(),
            read_by_identity: false,
            exclusive: vec!["size".into()],
            operations: BTreeMap::new(),
            durations: Durations::default(),
        };
        Ok(Arc::new(Schema {
            config: BTreeMap::from([("key".to_owned(), Attribute::optional(Type::String).sensitive())]),
            types: BTreeMap::from([("thing".to_owned(), thing)]),
        }))
    }

    async fn validate_config(&self, config: &Value) -> Result<Vec<String>, ProviderError> {
        Ok(match config.get("key") {
            Some(Value::Secret(secret)) if secret.text.is_some() => Vec::new(),
            None => Vec::new(),
            _ => vec!["key has no text".into()],
        })
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        Ok(Arc::new(Room {
            objects: Arc::clone(&self.objects),
            under_way: Arc::clone(&self.under_way),
            scope: Scope { account: "1234".into(), region: request.region },
        }))
    }
}

#[async_trait]
impl Session for Room {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        let data = serde_json::json!({"sizes": [1, 2, 3]});
        Ok(Catalog { digest: Digest::of(&data).unwrap(), data })
    }

    async fn catalog_for(&self, request: CatalogRequest) -> Result<Catalog, ProviderError> {
        let data = serde_json::json!({"cluster": request.cluster, "pinned": request.pinned});
        Ok(Catalog { digest: Digest::of(&data).unwrap(), data })
    }

    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError> {
        let count = request.cluster["things"].as_u64().unwrap_or(0);
        let thing = |number: u64| {
            let attributes = Value::map([("size", Value::Integer(3))]);
            Desired::new(Address::new("thing", format!("t{number:06}")), attributes)
        };
        Ok(Expansion {
            resources: (0..count).map(thing).collect(),
            notes: vec![ExpandNote { field: "things".into(), message: request.catalog.data.to_string() }],
        })
    }

    async fn discover(&self, _: DiscoverRequest) -> Result<Discovery, ProviderError> {
        Ok(Discovery {
            observed: self.objects.lock().unwrap().values().cloned().collect(),
            unlisted: Vec::new(),
            uid: Some(ClusterUid::new("u")),
        })
    }

    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        let objects = self.objects.lock().unwrap();
        Ok(requests
            .into_iter()
            .map(|request| Observed {
                owner: None,
                observation: objects
                    .get(request.identity.as_str())
                    .map_or(Observation::Absent, |object| object.observation.clone()),
                address: request.address,
                identity: request.identity,
                token: None,
            })
            .collect())
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        Ok(items
            .into_iter()
            .map(|item| Planned { normalised: item.desired.unwrap_or_default(), ..Planned::default() })
            .collect())
    }

    async fn preflight(&self, _: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        Ok(Vec::new())
    }

    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        let Action::Create { desired } = request.action else {
            return Err(ProviderError::new(ErrorClass::Invalid, "creates only"));
        };
        events.send(ApplyEvent::Started);
        {
            let mut under_way = self.under_way.lock().unwrap();
            under_way.0 += 1;
            under_way.1 = under_way.1.max(under_way.0);
        }
        if let Some(Value::Integer(wait)) = desired.get("wait_ms") {
            tokio::time::sleep(Duration::from_millis(wait.unsigned_abs())).await;
        }
        self.under_way.lock().unwrap().0 -= 1;
        assert!(desired.get("panic").is_none(), "as asked");
        let identity = Identity::new(format!("id-{}", request.ownership.address.name()));
        events.send(ApplyEvent::Identity(identity.clone()));
        let observed = Observed {
            address: request.ownership.address,
            identity: identity.clone(),
            token: Some(request.token),
            owner: None,
            observation: Observation::Present(desired.clone()),
        };
        self.objects.lock().unwrap().insert(identity.as_str().to_owned(), observed);
        Ok(Applied::new(identity, desired))
    }

    async fn resume(&self, request: ResumeRequest, events: EventSink) -> Result<Resolution, ProviderError> {
        events.send(ApplyEvent::Progress("looking".into()));
        let objects = self.objects.lock().unwrap();
        let found = objects.values().find(|object| object.token.as_ref() == Some(&request.request.token));
        Ok(match found {
            Some(Observed { identity, observation: Observation::Present(attributes), .. }) => {
                Resolution::Done(Applied::new(identity.clone(), attributes.clone()))
            }
            _ => Resolution::NotDone,
        })
    }

    async fn cancel(&self, _: Option<Token>) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn upgrade_state(&self, _: &str, version: u32, value: Value) -> Result<Value, ProviderError> {
        if version == 0 {
            return Ok(value);
        }
        Err(ProviderError::new(ErrorClass::Invalid, "not known"))
    }

    async fn import(&self, address: &Address, _: &Identity) -> Result<Observed, ProviderError> {
        Err(ProviderError::new(ErrorClass::NotFound, "nothing there").with_address(address))
    }

    async fn close(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}

/// A provider behind a socket of this process.
pub struct Served {
    pub client: Client,
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
    _directory: tempfile::TempDir,
}

impl Served {
    pub async fn start(provider: Arc<dyn Provider>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("provider.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let (end, ended) = oneshot::channel();
        let mut options = ServeOptions::new(directory.path().into(), "n".into());
        options.grace = Duration::from_millis(200);
        let task = tokio::spawn(async move {
            let ended = async {
                let _ = ended.await;
            };
            serve_until(provider, listener, &options, ended).await.unwrap();
        });
        let client =
            Client::connect(&socket, Life::unattended("things"), Deadlines::default()).await.unwrap();
        Self { client, end, task, _directory: directory }
    }

    pub async fn session(&self) -> Arc<dyn Session> {
        let request = SessionRequest {
            config: Value::map::<&str, Value>([]),
            region: Some("here".into()),
            offline: false,
        };
        self.client.open_session(request).await.unwrap()
    }

    pub async fn stop(self) {
        self.end.send(()).unwrap();
        self.task.await.unwrap();
    }
}

/// A create of a thing.
pub fn create(name: &str, desired: Value) -> ApplyRequest {
    ApplyRequest {
        token: Token::new(format!("token-{name}")),
        ownership: Ownership {
            uid: ClusterUid::new("u"),
            cluster: "c".into(),
            address: Address::new("thing", name),
        },
        action: Action::Create { desired },
        timeout_ms: 10_000,
    }
}
