//! A session with the simulated cloud.

mod act;
mod actual;
mod balancing;
mod check;
mod create;
mod delete;
mod gate;
mod instances;
pub(crate) mod keys;
mod locate;
mod node;
mod plan;
mod preflight;
mod resume;
mod rollout;
mod routing;
mod surge;

use async_trait::async_trait;
use slipway_provider_sdk::Running;
use slipway_resource::provider::{
    Applied, ApplyRequest, Catalog, DiscoverRequest, Discovery, EventSink, ExpandRequest, Expansion,
    InstanceAnswer, InstancesRequest, LoadBalancers, LocateRequest, Located, Node, PlanItem, Planned,
    PreflightFinding, PreflightItem, ReadRequest, Resolution, ResumeRequest, Routes, Scope, UnwrapKeyRequest,
    WrapKeyRequest,
};
use slipway_resource::{Address, Identity, Observed, ProviderError, Session, Token, Value};

use zeroize::Zeroizing;

use crate::calls::{CallRecord, Calls};
use crate::clock::Clock;
use crate::cloud::Cloud;
use crate::config::Config;
use crate::error::{invalid, permanent};
use crate::expand;
use crate::fault::{Call, Faults, Kind as FaultKind, Rule};
use crate::hash;
use crate::kind::{self, Kind};

/// The latency of a call at latency 1, in milliseconds.
const LATENCY_MS: f64 = 50.0;

/// A session with one account of the simulated cloud.
#[derive(Debug)]
pub struct SimSession {
    config: Config,
    scope: Scope,
    clock: Clock,
    cloud: Cloud,
    faults: Faults,
    calls: Calls,
    running: Running,
}

impl SimSession {
    /// A session. Nothing is read or written yet.
    pub(crate) fn new(config: Config, region: Option<String>, offline: bool, recorded: bool) -> Self {
        let account = if offline { String::new() } else { config.account.clone() };
        Self {
            scope: Scope { account, region },
            clock: Clock::new(config.time_scale),
            cloud: Cloud::open(&config.directory, &config.account),
            faults: Faults::new(config.seed, &config.directory, config.faults.clone()),
            calls: if recorded { Calls::new(&config.directory) } else { Calls::unrecorded() },
            running: Running::default(),
            config,
        }
    }

    /// The simulated time in milliseconds, as far as this session knows it.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Begins a call: waits its latency, and fails when a fault says so. Returns the faults that come later.
    async fn begin(&self, call: Call<'_>, rate_class: &str) -> Result<Vec<Rule>, ProviderError> {
        let rules = self.faults.of(call);
        let mut wait = LATENCY_MS * self.config.latency;
        if wait > 0.0 {
            wait *=
                0.5 + hash::fraction(self.config.seed, &["latency", call.method, call.type_name, call.name]);
        }
        let slow: u64 =
            rules.iter().filter(|rule| rule.kind == FaultKind::Latency).filter_map(|rule| rule.ms).sum();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a latency is positive and small"
        )]
        let wait = wait as u64 + slow;
        if wait > 0 {
            self.clock.sleep_until(self.clock.now() + wait).await;
        }
        let failure = rules.iter().find(|rule| {
            matches!(
                rule.kind,
                FaultKind::FailBefore | FaultKind::Throttle | FaultKind::Permission | FaultKind::Quota
            )
        });
        match failure {
            Some(rule) => Err(rule.error(call, rate_class)),
            None => Ok(rules),
        }
    }

    /// For how long reads show what was before a write that these faults hit.
    fn read_delay(&self, rules: &[Rule]) -> u64 {
        rules
            .iter()
            .filter(|rule| rule.kind == FaultKind::Stale)
            .filter_map(|rule| rule.ms)
            .max()
            .unwrap_or(self.config.read_delay_ms)
    }

    /// Ends a call that has had its effect: records it, and fails if a fault says so.
    fn end(&self, call: Call<'_>, rules: &[Rule], rate_class: &str) -> Result<(), ProviderError> {
        self.calls.append(&[self.record(call, "ok", 1)]);
        match rules.iter().find(|rule| rule.kind == FaultKind::FailAfter) {
            Some(rule) => Err(rule.error(call, rate_class)),
            None => Ok(()),
        }
    }

    fn record(&self, call: Call<'_>, outcome: &str, objects: usize) -> CallRecord {
        CallRecord {
            at: self.clock.now(),
            process: std::process::id(),
            method: call.method.to_owned(),
            type_name: call.type_name.to_owned(),
            name: call.name.to_owned(),
            identity: None,
            token: None,
            outcome: outcome.to_owned(),
            objects: objects as u64,
        }
    }
}

/// The type of an address.
fn kind_of(address: &Address) -> Result<&'static Kind, ProviderError> {
    kind::all().get(address.kind()).ok_or_else(|| {
        invalid(format!("{} is not a type of provider sim", address.kind())).with_address(address)
    })
}

#[async_trait]
impl Session for SimSession {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        Catalog::new(&expand::catalog(&self.config))
    }

    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError> {
        expand::expand(&self.config, &request)
    }

    async fn discover(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        self.discover_owned(&request).await
    }

    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        self.read_all(&requests, "read").await
    }

    async fn locate(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        self.locate_all(request).await
    }

    async fn nodes(&self) -> Result<Vec<Node>, ProviderError> {
        self.list_nodes().await
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        items.iter().map(|item| plan::plan(self.config.seed, item)).collect()
    }

    async fn preflight(&self, items: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        self.preflight_all(&items).await
    }

    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        self.apply_one(&request, &events).await
    }

    async fn resume(&self, request: ResumeRequest, events: EventSink) -> Result<Resolution, ProviderError> {
        self.resume_one(&request, &events).await
    }

    async fn cancel(&self, token: Option<Token>) -> Result<(), ProviderError> {
        self.running.stop(token.as_ref());
        Ok(())
    }

    async fn upgrade_state(
        &self,
        kind: &str,
        version: u32,
        attributes: Value,
    ) -> Result<Value, ProviderError> {
        crate::provider::schema().of_version(kind, version, attributes)
    }

    async fn import(&self, address: &Address, identity: &Identity) -> Result<Observed, ProviderError> {
        kind_of(address)?;
        let request = ReadRequest { address: address.clone(), identity: identity.clone() };
        let read = self.read_all(&[request], "import").await?.into_iter().next();
        let missing = || permanent(format!("{address} was not read"));
        read.ok_or_else(missing)?.existing()
    }

    async fn wrap_key(&self, request: WrapKeyRequest) -> Result<Vec<u8>, ProviderError> {
        self.wrap(request).await
    }

    async fn unwrap_key(&self, request: UnwrapKeyRequest) -> Result<Zeroizing<Vec<u8>>, ProviderError> {
        self.unwrap(request).await
    }

    async fn instances(&self, request: InstancesRequest) -> Result<Vec<InstanceAnswer>, ProviderError> {
        self.find_instances(&request).await
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        Some(self)
    }

    fn routes(&self) -> Option<&dyn Routes> {
        Some(self)
    }

    async fn close(&self) -> Result<(), ProviderError> {
        self.running.stop(None);
        Ok(())
    }
}
