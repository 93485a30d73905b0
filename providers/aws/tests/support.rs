//! A provider process in front of a mended moto, and the life of one resource in it.

#![allow(clippy::unwrap_used, clippy::panic, dead_code, missing_docs, reason = "a test")]

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use slipway_protocol::{Launch, Running};
use slipway_resource::provider::{
    Action, Applied, ApplyRequest, DiscoverRequest, EventSink, PlanItem, Planned, ReadRequest, Resolution,
    ResumeRequest, SessionRequest,
};
use slipway_resource::{
    Address, ClusterUid, Identity, Observation, Observed, Ownership, Provider, ProviderError, Session, Token,
    Value,
};
use slipway_testkit::Moto;
use slipway_testkit::proxy::{Proxy, Request, Verdict};

#[path = "support/mended.rs"]
mod mended;

/// The cluster of every test.
pub const CLUSTER: &str = "a.example.com";
/// The provider's executable.
const PROVIDER: &str = env!("CARGO_BIN_EXE_slipway-provider-aws");
/// The region of the provider.
pub const REGION: &str = "us-east-1";

/// A mended moto.
pub fn moto() -> Moto {
    Moto::start_mended(mended::MENDED).unwrap()
}

/// A provider's process, and a session with an emulator behind an endpoint.
pub struct Cloud {
    running: Running,
    /// The session.
    pub session: Arc<dyn Session>,
    tokens: AtomicU64,
    /// The unique id of the cluster.
    pub uid: ClusterUid,
}

impl Cloud {
    /// Starts a provider and opens a session.
    pub async fn open(endpoint: &str) -> Self {
        Self::open_as(endpoint, "testing", REGION).await
    }

    /// The same with other credentials and another region.
    pub async fn open_as(endpoint: &str, key: &str, region: &str) -> Self {
        Self::open_config(&Value::map([("endpoint", endpoint)]), key, region).await
    }

    /// The same with further settings of the provider.
    pub async fn open_with(config: &Value) -> Self {
        Self::open_config(config, "testing", REGION).await
    }

    /// The same, and the provider's standard error goes to a file.
    pub async fn open_noting(endpoint: &str, errors: &Path) -> Self {
        let script = ["/bin/sh", "-c", "exec \"$0\" 2> \"$1\"", PROVIDER].map(OsString::from);
        let command = script.into_iter().chain([OsString::from(errors)]).collect();
        let running = launch_command("testing", command).await;
        Self::of(running, &Value::map([("endpoint", endpoint)]), REGION).await
    }

    async fn open_config(config: &Value, key: &str, region: &str) -> Self {
        Self::of(launch(key).await, config, region).await
    }

    async fn of(running: Running, config: &Value, region: &str) -> Self {
        let request =
            SessionRequest { config: config.clone(), region: Some(region.to_owned()), offline: false };
        let session = running.provider().open_session(request).await.unwrap();
        let uid = ClusterUid::new("0b5cf4de-1f5e-4a1c-9c5e-6b1f8f0f3d11");
        Self { running, session, tokens: AtomicU64::new(0), uid }
    }

    /// The provider.
    pub fn provider(&self) -> Arc<dyn Provider> {
        self.running.provider()
    }

    /// The ownership of a resource.
    pub fn ownership(&self, address: &Address) -> Ownership {
        Ownership { uid: self.uid.clone(), cluster: CLUSTER.to_owned(), address: address.clone() }
    }

    /// A request with a new token.
    pub fn request(&self, address: &Address, action: Action) -> ApplyRequest {
        let number = self.tokens.fetch_add(1, Ordering::Relaxed);
        ApplyRequest {
            token: Token::new(format!("token-{number}")),
            ownership: self.ownership(address),
            action,
            timeout_ms: 120_000,
        }
    }

    /// Carries one action out.
    pub async fn apply(&self, address: &Address, action: Action) -> Result<Applied, ProviderError> {
        self.session.apply(self.request(address, action), EventSink::discard()).await
    }

    /// Plans and creates a resource; the plan after it must be empty.
    pub async fn create(&self, name: &str, attributes: Value) -> Applied {
        let address: Address = name.parse().unwrap();
        let planned = self.plan(&address, Some(attributes.clone()), None).await;
        let desired = known(&planned.normalised);
        let applied = self.apply(&address, Action::Create { desired }).await.unwrap_or_else(|error| {
            panic!("{address}: {error} ({:?})", error.class);
        });
        self.assert_no_change(&address, &attributes, &applied.attributes).await;
        applied
    }

    /// Plans a change.
    pub async fn plan(&self, address: &Address, desired: Option<Value>, observed: Option<Value>) -> Planned {
        let item = PlanItem { address: address.clone(), desired, observed, last_applied: None };
        self.session.plan(vec![item]).await.unwrap().remove(0)
    }

    /// Plans against the observed object: nothing may differ.
    pub async fn assert_no_change(&self, address: &Address, desired: &Value, observed: &Value) {
        let planned = self.plan(address, Some(desired.clone()), Some(observed.clone())).await;
        let schema = self.provider().schema().await.unwrap();
        let kind = &schema.types[address.kind()];
        let changes = slipway_resource::diff::diff(kind, observed, &planned.normalised, None);
        assert!(changes.is_empty(), "{address} shows changes: {changes:#?}");
    }

    /// Changes a resource in place, and sees the change.
    pub async fn update(&self, name: &str, identity: &Identity, prior: &Value, attributes: Value) -> Applied {
        let address: Address = name.parse().unwrap();
        let planned = self.plan(&address, Some(attributes.clone()), Some(prior.clone())).await;
        let desired = known(&planned.normalised);
        let action = Action::Update { identity: identity.clone(), prior: prior.clone(), desired };
        let applied = self.apply(&address, action).await.unwrap_or_else(|error| {
            panic!("{address}: {error} ({:?})", error.class);
        });
        assert_eq!(applied.identity.as_ref(), Some(identity), "an update keeps the identity");
        self.assert_no_change(&address, &attributes, &applied.attributes).await;
        applied
    }

    /// Deletes a resource, twice: the second time it is gone already.
    pub async fn delete(&self, name: &str, identity: &Identity) {
        let address: Address = name.parse().unwrap();
        for _ in 0..2 {
            let action = Action::Delete { identity: identity.clone() };
            self.apply(&address, action).await.unwrap_or_else(|error| panic!("{address}: {error}"));
            assert!(matches!(self.read(name, identity).await.observation, Observation::Absent));
        }
    }

    /// Reads one object.
    pub async fn read(&self, name: &str, identity: &Identity) -> Observed {
        let request = ReadRequest { address: name.parse().unwrap(), identity: identity.clone() };
        self.session.read(vec![request]).await.unwrap().remove(0)
    }

    /// The objects of the cluster.
    pub async fn discover(&self) -> Vec<Observed> {
        let request =
            DiscoverRequest { uid: Some(self.uid.clone()), cluster: CLUSTER.to_owned(), types: Vec::new() };
        let discovery = self.session.discover(request).await.unwrap();
        assert!(discovery.unlisted.is_empty(), "{:?}", discovery.unlisted);
        discovery.observed
    }

    /// The objects of the cluster, found by its name alone, as after the loss of its state.
    pub async fn discover_lost(&self) -> Vec<Observed> {
        let request = DiscoverRequest { uid: None, cluster: CLUSTER.to_owned(), types: Vec::new() };
        let discovery = self.session.discover(request).await.unwrap();
        assert!(discovery.unlisted.is_empty(), "{:?}", discovery.unlisted);
        discovery.observed
    }

    /// Resumes a request.
    pub async fn resume(&self, request: &ApplyRequest) -> Resolution {
        let request =
            ResumeRequest { request: request.clone(), identity: None, handle: None, superseded: false };
        self.session.resume(request, EventSink::discard()).await.unwrap()
    }

    /// Ends the process.
    pub async fn end(self) {
        drop(self.session);
        assert!(self.running.end().await, "the provider ends by itself");
    }
}

pub async fn launch(key: &str) -> Running {
    launch_command(key, vec![PROVIDER.into()]).await
}

/// Starts a provider by a command.
async fn launch_command(key: &str, command: Vec<OsString>) -> Running {
    let mut launch = Launch::new("aws", Path::new("/usr/bin/env"));
    // Moto only checks the secret when it checks permissions.
    let (key, secret) = key.split_once(':').unwrap_or((key, "testing"));
    let variables = [
        format!("AWS_ACCESS_KEY_ID={key}"),
        format!("AWS_SECRET_ACCESS_KEY={secret}"),
        "AWS_EC2_METADATA_DISABLED=true".to_owned(),
        "AWS_CONFIG_FILE=/dev/null".to_owned(),
        "AWS_SHARED_CREDENTIALS_FILE=/dev/null".to_owned(),
    ];
    launch.arguments = variables.into_iter().map(Into::into).collect();
    launch.arguments.extend(command);
    launch.timeout = Duration::from_secs(30);
    Running::launch(&launch).await.unwrap()
}

/// Attributes without unknown values, as a run sends them.
pub fn known(value: &Value) -> Value {
    match value {
        Value::Map(entries) => Value::Map(
            entries
                .iter()
                .filter(|(_, value)| value.is_known() && !value.is_null())
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        ),
        other => other.clone(),
    }
}

/// A proxy that does something to the calls of an action of EC2.
pub fn proxy(moto: &Moto, judge: impl Fn(&str) -> Verdict + Send + Sync + 'static) -> Proxy {
    Proxy::start(moto.port(), move |request| judge(&action(request))).unwrap()
}

/// The action that a request names.
pub fn action(request: &Request) -> String {
    let body = String::from_utf8_lossy(&request.body);
    let action = body.split('&').find_map(|field| field.strip_prefix("Action="));
    action.unwrap_or_default().to_owned()
}

/// An answer of EC2 that refuses.
pub fn refusal(status: u16, code: &str) -> Verdict {
    let body = format!(
        "<Response><Errors><Error><Code>{code}</Code><Message>told so</Message></Error></Errors><RequestID>r</RequestID></Response>"
    );
    let headers = vec![("Content-Type".to_owned(), "text/xml".to_owned())];
    Verdict::Answer { status, headers, body: body.into_bytes() }
}
