//! A session, and a driver that is as simple as can be: one resource after the other.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use slipway_provider_sim::Sim;
use slipway_resource::provider::{
    Action, Applied, ApplyRequest, DiscoverRequest, EventSink, PlanItem, SessionRequest,
};
use slipway_resource::{
    Address, ClusterUid, Desired, Identity, Observation, Ownership, Provider, ProviderError, Session, Token,
    Value,
};

/// A cloud in a directory, and a cluster in it.
pub struct Harness {
    pub session: Arc<dyn Session>,
    pub uid: ClusterUid,
    tokens: std::sync::atomic::AtomicU64,
}

/// Opens a session with the directory and the settings in `config`.
pub async fn open(directory: &Path, config: serde_json::Value) -> Harness {
    let mut config = config;
    config["directory"] = directory.to_str().unwrap().into();
    let request =
        SessionRequest { config: Value::from_json(&config), region: Some("sim-1".into()), offline: false };
    let session = Sim.open_session(request).await.unwrap();
    let started = u64::from(std::process::id()) << 32;
    Harness { session, uid: ClusterUid::new("uid-1"), tokens: started.into() }
}

impl Harness {
    pub fn token(&self) -> Token {
        let number = self.tokens.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Token::new(format!("{:p}-{number}", self.session))
    }

    pub fn request(&self, address: &str, action: Action) -> ApplyRequest {
        ApplyRequest {
            token: self.token(),
            ownership: Ownership {
                uid: self.uid.clone(),
                cluster: "demo".into(),
                address: address.parse().unwrap(),
            },
            action,
            timeout_ms: 3_600_000,
        }
    }

    pub async fn apply(&self, request: ApplyRequest) -> Result<Applied, ProviderError> {
        self.session.apply(request, EventSink::discard()).await
    }

    pub async fn create(&self, address: &str, desired: Value) -> Result<Applied, ProviderError> {
        self.apply(self.request(address, Action::Create { desired })).await
    }

    pub async fn delete(&self, address: &str, id: &str) -> Result<Applied, ProviderError> {
        self.apply(self.request(address, Action::Delete { identity: Identity::new(id) })).await
    }

    pub async fn gate(
        &self,
        address: &str,
        id: &str,
        name: &str,
        arguments: Value,
    ) -> Result<Applied, ProviderError> {
        let action = Action::Operation { identity: Identity::new(id), name: name.into(), arguments };
        self.apply(self.request(address, action)).await
    }

    /// The objects of the cluster: identity and attributes by address.
    pub async fn observe(&self) -> BTreeMap<Address, (Identity, Value)> {
        let request =
            DiscoverRequest { uid: Some(self.uid.clone()), cluster: "demo".into(), types: Vec::new() };
        let discovery = self.session.discover(request).await.unwrap();
        assert_eq!(discovery.unlisted, []);
        let present = |observation| match observation {
            Observation::Present(attributes) => attributes,
            other => panic!("{other:?}"),
        };
        discovery
            .observed
            .into_iter()
            .map(|found| (found.address, (found.identity, present(found.observation))))
            .collect()
    }

    /// The present attributes of one object.
    pub async fn attributes(&self, address: &str) -> Value {
        let mut observed = self.observe().await;
        observed.remove(&address.parse().unwrap()).unwrap().1
    }

    pub async fn plan_one(
        &self,
        address: &str,
        desired: Option<Value>,
        observed: Option<Value>,
    ) -> slipway_resource::provider::Planned {
        let item = PlanItem { address: address.parse().unwrap(), desired, observed, last_applied: None };
        self.session.plan(vec![item]).await.unwrap().remove(0)
    }

    /// Creates everything, each after what it refers to.
    pub async fn create_all(&self, resources: &[Desired]) -> BTreeMap<Address, (Identity, Value)> {
        let mut done: BTreeMap<Address, (Identity, Value)> = BTreeMap::new();
        let mut left: Vec<&Desired> = resources.iter().collect();
        while !left.is_empty() {
            let before = left.len();
            let mut later = Vec::new();
            for resource in left {
                if !resource.dependencies().iter().all(|address| done.contains_key(address)) {
                    later.push(resource);
                    continue;
                }
                let attributes = resolve(&resource.attributes, &done);
                let made = match &resource.lifecycle.existing {
                    Some(identity) => {
                        (identity.clone(), Value::map([("id", Value::from(identity.as_str()))]))
                    }
                    None => {
                        let address = resource.address.to_string();
                        let applied = self.create(&address, attributes).await;
                        let applied = applied.unwrap_or_else(|error| panic!("{address}: {error}"));
                        (applied.identity.unwrap(), applied.attributes)
                    }
                };
                done.insert(resource.address.clone(), made);
            }
            assert!(later.len() < before, "a cycle or a missing resource: {later:#?}");
            left = later;
        }
        done
    }
}

/// Attributes with every reference resolved.
pub fn resolve(attributes: &Value, known: &BTreeMap<Address, (Identity, Value)>) -> Value {
    attributes.resolve(&mut |reference| match known.get(&reference.address) {
        Some((_, attributes)) => attributes.at(&reference.path).cloned().unwrap_or_else(|| {
            panic!("{} has no {}", reference.address, reference.path);
        }),
        None => Value::Unknown,
    })
}

/// The schema's differences between what is and what a plan wants.
pub async fn changes(harness: &Harness, resources: &[Desired]) -> Vec<String> {
    let observed = harness.observe().await;
    let schema = Sim.schema().await.unwrap();
    let mut found = Vec::new();
    for resource in resources.iter().filter(|resource| resource.lifecycle.existing.is_none()) {
        let mut known = observed.clone();
        for other in resources {
            if let Some(identity) = &other.lifecycle.existing {
                let attributes = Value::map([("id", Value::from(identity.as_str()))]);
                known.insert(other.address.clone(), (identity.clone(), attributes));
            }
        }
        let desired = resolve(&resource.attributes, &known);
        let is = observed.get(&resource.address).map(|(_, attributes)| attributes.clone());
        let planned =
            harness.plan_one(&resource.address.to_string(), Some(desired.clone()), is.clone()).await;
        let Some(is) = is else {
            found.push(format!("{} is missing", resource.address));
            continue;
        };
        let kind = &schema.types[resource.address.kind()];
        let differences = slipway_resource::diff::diff(kind, &is, &planned.normalised, Some(&desired));
        found.extend(differences.iter().map(|change| format!("{}.{}", resource.address, change.path)));
        if planned.rollout.is_some_and(|rollout| rollout.has_leaving()) {
            found.push(format!("{} rolls", resource.address));
        }
    }
    found
}
