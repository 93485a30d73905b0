//! A provider process with a session, and the objects created in it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use slipway_protocol::Running;
use slipway_resource::provider::{
    Action, Applied, ApplyEvent, ApplyRequest, DiscoverRequest, Discovery, EventSink, Info, PlanItem,
    Planned, ReadRequest, SessionRequest,
};
use slipway_resource::{
    Address, ClusterUid, Identity, Observation, Observed, Ownership, Provider, ProviderError, ResourceType,
    Schema, Session, Token, Value,
};
use tempfile::TempDir;

use crate::scenario::{Place, Places, Ready, Scenario, Slow};
use crate::stop::{Stop, fail, skip};
use crate::suite::Suite;

/// The name of the cluster that all checks make.
pub(crate) const CLUSTER: &str = "conformance";

/// How long one action may take, in milliseconds.
const ACTION_MS: u64 = 60_000;

/// A provider process with a session, and the objects created in it.
pub(crate) struct Bench<'a> {
    pub(crate) suite: &'a Suite,
    pub(crate) running: Running,
    pub(crate) session: Arc<dyn Session>,
    pub(crate) info: Info,
    pub(crate) schema: Arc<Schema>,
    pub(crate) places: Places,
    pub(crate) uid: ClusterUid,
    made: BTreeMap<Address, Made>,
    _scratch: [TempDir; 2],
}

/// An object that the suite has made.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) identity: Identity,
    /// As Apply returned them.
    pub(crate) attributes: Value,
    /// The requested attributes, with references resolved.
    pub(crate) asked: Value,
    /// The answer of `Plan`.
    pub(crate) planned: Planned,
    pub(crate) events: Vec<ApplyEvent>,
    /// As it was sent.
    pub(crate) request: ApplyRequest,
}

fn broken(reason: String) -> Stop {
    Stop::Skip(reason)
}

impl<'a> Bench<'a> {
    /// Starts a process and opens a session in a new place.
    pub(crate) async fn open(suite: &'a Suite) -> Result<Self, Stop> {
        let scratch = || tempfile::tempdir().map_err(|error| broken(error.to_string()));
        let scratch = [scratch()?, scratch()?];
        let text = |directory: &TempDir| directory.path().display().to_string();
        let places = Places { scratch: text(&scratch[0]), other: text(&scratch[1]) };
        let running = suite.start().await?;
        let request = session_request(&suite.scenario, &places)?;
        let session = running.client().open_session(request).await?;
        let info = running.client().info().await?;
        let schema = running.client().schema().await?;
        Ok(Self {
            uid: ClusterUid::new(suite.unique()),
            suite,
            running,
            session,
            info,
            schema,
            places,
            made: BTreeMap::new(),
            _scratch: scratch,
        })
    }

    /// Kills the process and continues with a new one at the same place.
    pub(crate) async fn restart(&mut self) -> Result<(), Stop> {
        let fresh = self.suite.start().await?;
        self.go_on_with(fresh).await
    }

    /// Kills the process and continues with one that was started before, so that no time passes in between.
    pub(crate) async fn go_on_with(&mut self, fresh: Running) -> Result<(), Stop> {
        let old = std::mem::replace(&mut self.running, fresh);
        old.kill().await;
        let request = session_request(&self.suite.scenario, &self.places)?;
        self.session = self.running.client().open_session(request).await?;
        Ok(())
    }

    /// A session at another place in the same process.
    pub(crate) async fn open_at(&self, place: &Place) -> Result<Arc<dyn Session>, Stop> {
        let request = SessionRequest {
            config: self.places.value(&place.config, 0).map_err(broken)?,
            region: place.region.clone(),
            offline: false,
        };
        Ok(self.running.client().open_session(request).await?)
    }

    /// Deletes the created objects, the last one first, and kills the process.
    pub(crate) async fn end(mut self) {
        let mut left: Vec<Made> = std::mem::take(&mut self.made).into_values().collect();
        // A deletion is refused while another object depends on this one.
        for _ in 0..4 {
            let mut refused = Vec::new();
            for made in left {
                let request = ApplyRequest {
                    token: Token::new(self.suite.unique()),
                    action: Action::Delete { identity: made.identity.clone() },
                    ..made.request.clone()
                };
                let deleted = self.session.apply(request, EventSink::discard());
                match tokio::time::timeout(Duration::from_secs(10), deleted).await {
                    Ok(Ok(_)) => {}
                    _ => refused.push(made),
                }
            }
            left = refused;
            if left.is_empty() || self.running.client().life().ended().is_some() {
                break;
            }
        }
        self.delete_found().await;
        self.running.kill().await;
    }

    /// Deletes the objects of a failed action, because other tests work at the same place.
    async fn delete_found(&self) {
        let request =
            DiscoverRequest { uid: Some(self.uid.clone()), cluster: CLUSTER.to_owned(), types: Vec::new() };
        let Ok(discovery) = self.session.discover(request).await else { return };
        for observed in discovery.observed {
            let delete = self.request(&observed.address, Action::Delete { identity: observed.identity });
            let deleted = self.session.apply(delete, EventSink::discard());
            // Best effort: the test's other checks find an object that is left.
            let _ = tokio::time::timeout(Duration::from_secs(10), deleted).await;
        }
    }

    pub(crate) fn kind(&self, address: &Address) -> Result<&ResourceType, Stop> {
        match self.schema.types.get(address.kind()) {
            Some(kind) => Ok(kind),
            None => skip(format!("the scenario names a type {} that the schema lacks", address.kind())),
        }
    }

    /// All samples.
    pub(crate) fn samples(&self) -> Result<Vec<Ready>, Stop> {
        let samples = &self.suite.scenario.samples;
        if samples.is_empty() {
            return skip("the scenario has no samples");
        }
        samples.iter().map(|sample| self.places.sample(sample, 0).map_err(broken)).collect()
    }

    /// The first sample.
    pub(crate) fn first(&self) -> Result<Ready, Stop> {
        self.samples()?.into_iter().next().map_or_else(|| skip("the scenario has no samples"), Ok)
    }

    /// A sample of the bulk type, by its number.
    pub(crate) fn bulk(&self, number: u32) -> Result<Ready, Stop> {
        match &self.suite.scenario.bulk {
            Some(sample) => self.places.sample(sample, number).map_err(broken),
            None => skip("the scenario has no bulk sample"),
        }
    }

    /// Any sample: a bulk sample if there are some, otherwise the first.
    pub(crate) fn spare(&self) -> Result<Ready, Stop> {
        match self.suite.scenario.bulk {
            Some(_) => self.bulk(1),
            None => self.first(),
        }
    }

    /// The slow sample.
    pub(crate) fn slow(&self) -> Result<(Ready, Duration), Stop> {
        let Some(Slow { address, attributes, takes_ms }) = &self.suite.scenario.slow else {
            return skip("the scenario has no slow sample");
        };
        let ready = Ready {
            address: self.places.address(address, 0).map_err(broken)?,
            attributes: self.places.value(attributes, 0).map_err(broken)?,
            mutation: None,
            operation: None,
        };
        Ok((ready, Duration::from_millis(*takes_ms)))
    }

    /// Attributes with references to created objects resolved; other references stay.
    pub(crate) fn resolve(&self, attributes: &Value) -> Value {
        attributes.resolve(&mut |reference| {
            let Some(made) = self.made.get(&reference.address) else {
                return reference.clone().into();
            };
            match made.attributes.at(&reference.path) {
                Some(value) if !value.is_null() => value.clone(),
                _ => made.identity.as_str().into(),
            }
        })
    }

    /// Creates the samples that these attributes refer to, directly and indirectly.
    pub(crate) async fn make_needed(&mut self, attributes: &Value) -> Result<(), Stop> {
        let samples = self.samples()?;
        let mut needed = Vec::new();
        let mut open = vec![attributes.clone()];
        while let Some(value) = open.pop() {
            value.for_each_reference(&mut |reference| {
                let sample = samples.iter().find(|sample| sample.address == reference.address);
                if let Some(sample) = sample.filter(|sample| !needed.contains(&sample.address)) {
                    needed.push(sample.address.clone());
                    open.push(sample.attributes.clone());
                }
            });
        }
        for sample in samples.iter().filter(|sample| needed.contains(&sample.address)) {
            if !self.made.contains_key(&sample.address) {
                self.make_one(sample).await?;
            }
        }
        Ok(())
    }

    /// Creates a sample and the samples that it refers to.
    pub(crate) async fn make(&mut self, sample: &Ready) -> Result<Made, Stop> {
        self.make_needed(&sample.attributes).await?;
        self.make_one(sample).await
    }

    async fn make_one(&mut self, sample: &Ready) -> Result<Made, Stop> {
        let (request, planned, asked) = self.creation(sample).await?;
        let (outcome, events) = self.apply(request.clone()).await;
        let applied = outcome?;
        let Some(identity) = applied.identity else {
            return fail(format!("{}: a create ended without an identity", sample.address));
        };
        let made = Made { identity, attributes: applied.attributes, asked, planned, events, request };
        self.keep(made.clone());
        Ok(made)
    }

    /// Records an object, so that it is deleted in the end.
    pub(crate) fn keep(&mut self, made: Made) {
        self.made.insert(made.request.ownership.address.clone(), made);
    }

    /// Whether an address was made.
    pub(crate) fn is_made(&self, address: &Address) -> bool {
        self.made.contains_key(address)
    }

    /// The request that creates a sample, planned as the engine does it, the plan, and the requested
    /// attributes.
    pub(crate) async fn creation(&self, sample: &Ready) -> Result<(ApplyRequest, Planned, Value), Stop> {
        let asked = self.resolve(&sample.attributes);
        let planned = self.plan_one(&sample.address, Some(asked.clone()), None, None).await?;
        let desired = without_unknown(&planned.normalised);
        let request = self.request(&sample.address, Action::Create { desired });
        Ok((request, planned, asked))
    }

    /// A request with a new token.
    pub(crate) fn request(&self, address: &Address, action: Action) -> ApplyRequest {
        ApplyRequest {
            token: Token::new(self.suite.unique()),
            ownership: Ownership {
                uid: self.uid.clone(),
                cluster: CLUSTER.to_owned(),
                address: address.clone(),
            },
            action,
            timeout_ms: ACTION_MS,
        }
    }

    /// Carries an action out and collects its events.
    pub(crate) async fn apply(
        &self,
        request: ApplyRequest,
    ) -> (Result<Applied, ProviderError>, Vec<ApplyEvent>) {
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink = {
            let events = Arc::clone(&events);
            EventSink::new(move |event| events.lock().unwrap_or_else(PoisonError::into_inner).push(event))
        };
        let outcome = self.session.apply(request, sink).await;
        let seen = events.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (outcome, seen)
    }

    /// Plans one resource.
    pub(crate) async fn plan_one(
        &self,
        address: &Address,
        desired: Option<Value>,
        observed: Option<Value>,
        last_applied: Option<Value>,
    ) -> Result<Planned, Stop> {
        let item = PlanItem { address: address.clone(), desired, observed, last_applied };
        let planned = self.session.plan(vec![item]).await?;
        planned.into_iter().next().map_or_else(|| fail(format!("{address}: no answer to Plan")), Ok)
    }

    /// Discovers the cluster's objects until `enough` accepts them, or until the consistency window is over.
    pub(crate) async fn discover(&self, enough: impl Fn(&Discovery) -> bool) -> Result<Discovery, Stop> {
        let request =
            DiscoverRequest { uid: Some(self.uid.clone()), cluster: CLUSTER.to_owned(), types: Vec::new() };
        self.discover_as(request, enough).await
    }

    /// The same for another question.
    pub(crate) async fn discover_as(
        &self,
        request: DiscoverRequest,
        enough: impl Fn(&Discovery) -> bool,
    ) -> Result<Discovery, Stop> {
        let begun = Instant::now();
        let window = Duration::from_millis(self.suite.scenario.consistency_ms);
        loop {
            let discovery = self.session.discover(request.clone()).await?;
            if enough(&discovery) || begun.elapsed() >= window {
                return Ok(discovery);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Reads one object, as soon as `enough` says so, or when the consistency window is over.
    pub(crate) async fn read(
        &self,
        address: &Address,
        identity: &Identity,
        enough: impl Fn(&Observation) -> bool,
    ) -> Result<Observation, Stop> {
        let begun = Instant::now();
        let window = Duration::from_millis(self.suite.scenario.consistency_ms);
        loop {
            let request = ReadRequest { address: address.clone(), identity: identity.clone() };
            let answers = self.session.read(vec![request]).await?;
            let Some(Observed { observation, .. }) = answers.into_iter().next() else {
                return fail(format!("{address}: no answer to Read"));
            };
            if enough(&observation) || begun.elapsed() >= window {
                return Ok(observation);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// The session that a scenario wants.
pub(crate) fn session_request(scenario: &Scenario, places: &Places) -> Result<SessionRequest, Stop> {
    Ok(SessionRequest {
        config: places.value(&scenario.config, 0).map_err(broken)?,
        region: scenario.region.clone(),
        offline: false,
    })
}

/// A value without its unknown parts, as an action gets it.
pub(crate) fn without_unknown(value: &Value) -> Value {
    match value {
        Value::Unknown => Value::Null,
        Value::Map(entries) => {
            Value::map(entries.iter().map(|(key, value)| (key.clone(), without_unknown(value))))
        }
        Value::List(items) => Value::List(items.iter().map(without_unknown).collect()),
        other => other.clone(),
    }
}

/// How many objects of an address were found.
pub(crate) fn count(discovery: &Discovery, address: &Address) -> usize {
    discovery.observed.iter().filter(|observed| observed.address == *address).count()
}
