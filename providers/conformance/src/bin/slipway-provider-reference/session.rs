//! A session of the reference provider.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use slipway_provider_sdk::{Candidate, locate};
use slipway_resource::provider::{
    Applied, ApplyRequest, Catalog, DiscoverRequest, Discovery, EventSink, ExpandRequest, Expansion,
    InstanceAnswer, InstancesRequest, LoadBalancers, LocateRequest, Located, PlanItem, Planned,
    PreflightFinding, PreflightItem, ReadRequest, Resolution, ResumeRequest, Routes, Scope, Unlisted,
    UnwrapKeyRequest, WrapKeyRequest,
};
use slipway_resource::{
    Address, ClusterUid, Digest, ErrorClass, Identity, Observation, Observed, Path, ProviderError, Schema,
    Session, Token, Value,
};
use tokio::sync::watch;
use zeroize::Zeroizing;

use crate::cloud::{Cloud, Object, Tags};
use crate::defect::Defect;
use crate::instances;
use crate::keys;
use crate::plan::{self, invalid};

/// One session: one directory.
pub struct ReferenceSession {
    pub cloud: Cloud,
    pub schema: Arc<Schema>,
    scope: Scope,
    pub blind: bool,
    read_only: bool,
    pub defect: Defect,
    calls: AtomicU64,
    /// The stop signals of running actions, by token.
    pub running: Mutex<HashMap<String, watch::Sender<bool>>>,
    /// For the defect of doing one action after the other.
    pub serial: tokio::sync::Mutex<()>,
}

impl ReferenceSession {
    pub fn new(
        cloud: Cloud,
        schema: Arc<Schema>,
        scope: Scope,
        (blind, read_only): (bool, bool),
        defect: Defect,
    ) -> Self {
        Self {
            cloud,
            schema,
            scope,
            blind,
            read_only,
            defect,
            calls: AtomicU64::new(0),
            running: Mutex::default(),
            serial: tokio::sync::Mutex::default(),
        }
    }

    fn number(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    pub fn unreadable() -> ProviderError {
        let class = ErrorClass::Permission { action: "read".to_owned() };
        ProviderError::new(class, "the session may not read")
    }

    fn observed(identity: &str, object: &Object, address: Address) -> Observed {
        Observed {
            address,
            identity: Identity::new(identity),
            token: Some(Token::new(object.token.as_str())),
            owner: None,
            observation: Observation::Present(object.attributes.clone()),
        }
    }
}

#[async_trait]
impl Session for ReferenceSession {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        let data = serde_json::json!({"zones": ["a", "b"], "sizes": {"max": 64}});
        let digest = if self.defect.breaks("catalog-digest") {
            Digest::of_bytes(b"")
        } else {
            Digest::of(&data).map_err(|error| invalid(error.to_string()))?
        };
        Ok(Catalog { digest, data })
    }

    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError> {
        plan::expand(&request, self.number(), &self.defect)
    }

    async fn discover(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        if self.blind {
            let unlisted = |kind: &String| Unlisted { kind: kind.clone(), error: Self::unreadable() };
            return Ok(Discovery {
                unlisted: self.schema.types.keys().map(unlisted).collect(),
                ..Discovery::default()
            });
        }
        if self.read_only && self.defect.breaks("read-only") {
            self.cloud.note("discovered")?;
        }
        let is_asked = |tags: &Tags| {
            self.defect.breaks("discover-one-cluster")
                || match &request.uid {
                    Some(uid) => tags.uid == uid.as_str(),
                    None => tags.cluster == request.cluster,
                }
        };
        let mut uid = None;
        let mut observed = self.cloud.look(|objects| {
            let mut found = Vec::new();
            for (identity, object) in &objects.by_identity {
                if let Some(tags) = object.tags.as_ref().filter(|tags| is_asked(tags)) {
                    uid = Some(ClusterUid::new(tags.uid.as_str()));
                    found.push(Self::observed(identity, object, tags.address.clone()));
                }
            }
            found
        })?;
        observed
            .sort_by(|left, right| (&left.address, &left.identity).cmp(&(&right.address, &right.identity)));
        if self.defect.breaks("discover-complete") {
            observed.truncate(20);
        }
        Ok(Discovery {
            observed,
            unlisted: Vec::new(),
            uid: uid.filter(|_| request.uid.is_none() && !self.defect.breaks("discover-by-name")),
        })
    }

    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        let answer = |request: ReadRequest, object: Option<&Object>| Observed {
            owner: None,
            observation: match object {
                _ if self.blind && !self.defect.breaks("unreadable-is-not-absent") => {
                    Observation::Unreadable(Self::unreadable())
                }
                Some(object) if !self.blind => Observation::Present(object.attributes.clone()),
                _ => Observation::Absent,
            },
            address: request.address,
            identity: request.identity,
            token: None,
        };
        let mut answers: Vec<Observed> = self.cloud.look(|objects| {
            let find = |request: &ReadRequest| objects.by_identity.get(request.identity.as_str());
            requests
                .into_iter()
                .map(|request| {
                    let object = find(&request);
                    answer(request, object)
                })
                .collect()
        })?;
        let is_absent = |observed: &Observed| observed.observation == Observation::Absent;
        if self.defect.breaks("read-absent") && answers.iter().any(is_absent) {
            return Err(ProviderError::new(ErrorClass::NotFound, "one is not there"));
        }
        if self.defect.breaks("read-order") {
            answers.reverse();
        }
        Ok(answers)
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        if self.defect.breaks("batch") && items.len() > 500 {
            return Err(invalid(format!("{} items are too many", items.len())));
        }
        let number = self.number();
        let planned: Result<Vec<Planned>, ProviderError> =
            items.into_iter().map(|item| plan::plan(&self.schema, item, number, &self.defect)).collect();
        let mut planned = planned?;
        if self.defect.breaks("plan-order") {
            planned.reverse();
        }
        Ok(planned)
    }

    async fn preflight(&self, items: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        if self.defect.breaks("preflight-changes-nothing") {
            for item in items {
                let is_it =
                    |object: &Object| object.tags.as_ref().is_some_and(|tags| tags.address == item.address);
                if !self.cloud.look(|objects| objects.by_identity.values().any(is_it))? {
                    continue;
                }
                self.cloud.change(|objects| {
                    objects.by_identity.retain(|_, object| !is_it(object));
                    Ok(())
                })?;
            }
        }
        Ok(Vec::new())
    }

    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        self.act(request, events).await
    }

    async fn resume(&self, request: ResumeRequest, events: EventSink) -> Result<Resolution, ProviderError> {
        self.find_again(request, events).await
    }

    async fn cancel(&self, token: Option<Token>) -> Result<(), ProviderError> {
        if !self.defect.breaks("cancel") {
            self.stop(token.as_ref());
        }
        Ok(())
    }

    async fn upgrade_state(
        &self,
        kind: &str,
        version: u32,
        attributes: Value,
    ) -> Result<Value, ProviderError> {
        let known = self.schema.types.get(kind).map(|kind| kind.version);
        if known == Some(version) || self.defect.breaks("upgrade-state") {
            return Ok(attributes);
        }
        Err(invalid(format!("{kind} has no version {version}")))
    }

    async fn import(&self, address: &Address, identity: &Identity) -> Result<Observed, ProviderError> {
        let found = self.cloud.look(|objects| {
            let object = objects.by_identity.get(identity.as_str())?;
            Some(Self::observed(identity.as_str(), object, address.clone()))
        })?;
        match found {
            Some(observed) => Ok(observed),
            None if self.defect.breaks("import") => Ok(Observed {
                address: address.clone(),
                identity: identity.clone(),
                token: None,
                owner: None,
                observation: Observation::Absent,
            }),
            None => Err(ProviderError::new(ErrorClass::NotFound, format!("{identity} does not exist"))
                .with_address(address)),
        }
    }

    async fn locate(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        let existing: Vec<&Identity> =
            request.items.iter().filter_map(|item| item.existing.as_ref()).collect();
        let candidates = self.cloud.look(|objects| {
            let mut candidates: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
            for (identity, object) in &objects.by_identity {
                let identity = Identity::new(identity.as_str());
                if object.tags.is_none() || existing.contains(&&identity) {
                    let candidate = Candidate { identity, attributes: object.attributes.clone() };
                    candidates.entry(object.kind.clone()).or_default().push(candidate);
                }
            }
            candidates
        })?;
        Ok(locate(&request.items, &candidates, |_| vec![vec![Path::key("name")]]))
    }

    async fn wrap_key(&self, request: WrapKeyRequest) -> Result<Vec<u8>, ProviderError> {
        keys::wrap(&request, &self.defect)
    }

    async fn unwrap_key(&self, request: UnwrapKeyRequest) -> Result<Zeroizing<Vec<u8>>, ProviderError> {
        keys::unwrap(&request, &self.defect)
    }

    async fn instances(&self, request: InstancesRequest) -> Result<Vec<InstanceAnswer>, ProviderError> {
        if self.blind {
            return Err(Self::unreadable());
        }
        self.cloud.look(|objects| instances::answers(objects, &request, &self.defect))
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        Some(self)
    }

    fn routes(&self) -> Option<&dyn Routes> {
        Some(self)
    }

    async fn close(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}
