//! A session on a node below a temporary root.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use slipway_provider_node::{Config, InitSystem, Node};
use slipway_resource::diff::diff;
use slipway_resource::provider::{
    Action, Applied, ApplyEvent, ApplyRequest, DiscoverRequest, EventSink, PlanItem, ReadRequest, Resolution,
    ResumeRequest, SessionRequest,
};
use slipway_resource::{
    Address, ClusterUid, Identity, Observation, Observed, Ownership, Provider, ProviderError, Secret,
    SecretText, Session, Token, Value,
};
use tempfile::TempDir;

pub(crate) struct Bench {
    pub(crate) root: PathBuf,
    pub(crate) node: Node,
    pub(crate) session: Arc<dyn Session>,
    pub(crate) told: Arc<Mutex<Vec<String>>>,
    pub(crate) uid: &'static str,
    _folder: Option<TempDir>,
}

/// Attributes from JSON; `{"$secret": …}` is not among them, see [`secret`].
pub(crate) fn value(json: serde_json::Value) -> Value {
    Value::from_json(&json)
}

/// A secret with its text.
pub(crate) fn secret(text: &str) -> Value {
    Value::from(Secret {
        text: Some(SecretText::new(text)),
        fingerprint: Some(format!("hmac-sha256:of-{}", text.len())),
        ..Secret::new("state:token.a#text")
    })
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = Config {
            root: folder.path().display().to_string(),
            init_system: InitSystem::None,
            ..Config::default()
        };
        let bench = Self::open(Node::new(), config).await;
        Self { _folder: Some(folder), ..bench }
    }

    pub(crate) async fn open(node: Node, config: Config) -> Self {
        let root = PathBuf::from(&config.root);
        let request = SessionRequest { config: config.to_value(), region: None, offline: false };
        let session = node.open_session(request).await.unwrap();
        Self { root, node, session, told: Arc::default(), uid: "uid-a", _folder: None }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let place = self.path(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, text).unwrap();
    }

    pub(crate) fn request(&self, address: &str, action: Action) -> ApplyRequest {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        ApplyRequest {
            token: Token::new(format!("token-{}-{number}", std::process::id())),
            ownership: Ownership {
                uid: ClusterUid::new(self.uid),
                cluster: "a".to_owned(),
                address: address.parse().unwrap(),
            },
            action,
            timeout_ms: 60_000,
        }
    }

    pub(crate) async fn apply(&self, request: ApplyRequest) -> Result<Applied, ProviderError> {
        let told = Arc::clone(&self.told);
        let sink = EventSink::new(move |event| {
            if let ApplyEvent::Progress(text) = event {
                told.lock().unwrap().push(text);
            }
        });
        self.session.apply(request, sink).await
    }

    pub(crate) async fn create(&self, address: &str, desired: Value) -> Result<Applied, ProviderError> {
        self.apply(self.request(address, Action::Create { desired })).await
    }

    pub(crate) async fn update(
        &self,
        address: &str,
        identity: &str,
        desired: Value,
    ) -> Result<Applied, ProviderError> {
        let identity = Identity::new(identity);
        let action = Action::Update { identity, prior: Value::Null, desired };
        self.apply(self.request(address, action)).await
    }

    pub(crate) async fn delete(&self, address: &str, identity: &str) -> Result<(), ProviderError> {
        let action = Action::Delete { identity: Identity::new(identity) };
        self.apply(self.request(address, action)).await.map(drop)
    }

    pub(crate) async fn read(&self, address: &str, identity: &str) -> Observation {
        let request = ReadRequest { address: address.parse().unwrap(), identity: Identity::new(identity) };
        self.session.read(vec![request]).await.unwrap().remove(0).observation
    }

    pub(crate) async fn attributes(&self, address: &str, identity: &str) -> Value {
        match self.read(address, identity).await {
            Observation::Present(value) => value,
            other => panic!("{identity} is read as {other:?}"),
        }
    }

    pub(crate) async fn discover(&self) -> Vec<Observed> {
        let request = DiscoverRequest {
            uid: Some(ClusterUid::new(self.uid)),
            cluster: "a".to_owned(),
            types: Vec::new(),
        };
        self.session.discover(request).await.unwrap().observed
    }

    pub(crate) async fn resume(&self, request: ApplyRequest) -> Resolution {
        let resume = ResumeRequest { request, identity: None, handle: None, superseded: false };
        self.session.resume(resume, EventSink::discard()).await.unwrap()
    }

    /// The changes of a plan, as `path: before -> after`; the applied attributes are the desired ones.
    pub(crate) async fn changes(&self, address: &str, identity: &str, wanted: &Value) -> Vec<String> {
        self.changes_since(address, identity, wanted, wanted).await
    }

    pub(crate) async fn changes_since(
        &self,
        address: &str,
        identity: &str,
        wanted: &Value,
        applied: &Value,
    ) -> Vec<String> {
        let observed = self.attributes(address, identity).await;
        self.differences(&address.parse().unwrap(), &observed, wanted, Some(applied)).await
    }

    /// The same of attributes that were read before.
    pub(crate) async fn differences(
        &self,
        address: &Address,
        observed: &Value,
        wanted: &Value,
        applied: Option<&Value>,
    ) -> Vec<String> {
        let item = PlanItem {
            address: address.clone(),
            desired: Some(wanted.clone()),
            observed: Some(observed.clone()),
            last_applied: applied.cloned(),
        };
        let planned = self.session.plan(vec![item]).await.unwrap().remove(0);
        let types = self.node.types();
        let changes = diff(&types.types[address.kind()], observed, &planned.normalised, applied);
        let shown = |value: &Value| match value {
            Value::Secret(_) => "(secret)".to_owned(),
            other => other.to_plain_text(),
        };
        changes
            .iter()
            .map(|change| format!("{}: {} -> {}", change.path, shown(&change.before), shown(&change.after)))
            .collect()
    }

    /// The reasons in the plan of a change of the existing object.
    pub(crate) async fn reasons(&self, address: &str, identity: &str, wanted: &Value) -> Vec<String> {
        let item = PlanItem {
            address: address.parse().unwrap(),
            desired: Some(wanted.clone()),
            observed: Some(self.attributes(address, identity).await),
            last_applied: Some(wanted.clone()),
        };
        self.session.plan(vec![item]).await.unwrap().remove(0).reasons
    }

    pub(crate) async fn planned(&self, address: &str, wanted: Value) -> Result<Value, ProviderError> {
        let item = PlanItem {
            address: address.parse().unwrap(),
            desired: Some(wanted),
            observed: None,
            last_applied: None,
        };
        Ok(self.session.plan(vec![item]).await?.remove(0).normalised)
    }
}
