//! The session through which the engine calls every provider. It retries reads that failed for a transient
//! reason, within the rates of their classes, and reports every longer wait.
//!
//! Providers do not retry calls. Actions are not retried here either: the step retries and journals them.

mod patience;
mod retried;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use slipway_limits::{size, text::shorten_in_place};
use slipway_resource::provider::{
    Applied, ApplyRequest, Catalog, CatalogRequest, DiscoverRequest, Discovery, DryRun, EventSink,
    ExpandRequest, Expansion, InstanceAnswer, InstancesRequest, LocateRequest, Located, Node, NodeChallenge,
    PlanItem, Planned, PreflightFinding, PreflightItem, PriceReport, ReadRequest, Resolution, ResumeRequest,
    Scope, SessionRequest, Terms, UnwrapKeyRequest, VerifiedNode, VerifyNodeRequest, WrapKeyRequest,
};
use slipway_resource::{
    Address, ErrorClass, Identity, Observed, Provider, ProviderError, Schema, Session, Token, Value,
};
use tokio::time::Instant;
use tracing::Instrument as _;
use zeroize::Zeroizing;

use crate::trace;
use crate::wait::{Wait, WaitHandler};

pub use patience::Patience;

/// Interval after which a wait without an answer is reported, and reported again.
const REPORT: Duration = Duration::from_secs(5);

/// How the reads of a session are retried, and the receiver of its waits.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Number and duration of the retries.
    pub patience: Patience,
    /// Receives the waits and the ends of calls of the session.
    pub waits: WaitHandler,
}

impl Default for Watch {
    fn default() -> Self {
        Self { patience: Patience::default(), waits: WaitHandler::discard() }
    }
}

/// Opens a session with a provider. Opening is retried like a read, and so is every read of the session.
///
/// # Errors
/// The error of the provider, when retries did not help.
pub async fn open_session(
    name: &str,
    provider: &dyn Provider,
    request: SessionRequest,
    watch: Watch,
) -> Result<Arc<dyn Session>, ProviderError> {
    open_session_on(name, provider, (request, Terms::default()), watch).await
}

/// Opens a session with limits on its settings.
///
/// # Errors
/// As [`open_session`], and when a setting that the caller does not vouch for is out of bounds.
pub async fn open_session_on(
    name: &str,
    provider: &dyn Provider,
    (request, terms): (SessionRequest, Terms),
    watch: Watch,
) -> Result<Arc<dyn Session>, ProviderError> {
    let desk = Desk::new(name, watch);
    let info = desk.answer("describe itself", provider.info()).await?;
    let stuck = info.rate_classes.iter().find(|(_, class)| {
        class.concurrency == 0 || class.per_second.is_some_and(|rate| !rate.is_finite() || rate <= 0.0)
    });
    if let Some((class, _)) = stuck {
        let text = format!("provider {name} broke the contract: its rate class {class} lets no call through");
        return Err(ProviderError::new(ErrorClass::Permanent, text));
    }
    let schema = desk.answer("describe its types", provider.schema()).await?;
    let open = || provider.open_session_on(request.clone(), terms.clone());
    let inner = desk.ask("open a session", &Classes::All, open).await?;
    Ok(Arc::new(WatchedSession { desk, inner, schema }))
}

/// The rate classes that a call counts against.
#[derive(Clone, Debug)]
enum Classes {
    /// The classes of all types.
    All,
    /// These classes.
    Of(BTreeSet<String>),
}

impl Classes {
    fn contain(&self, class: &str) -> bool {
        match self {
            Self::All => true,
            Self::Of(classes) => class.is_empty() || classes.contains(class),
        }
    }
}

/// Makes the calls of one session.
struct Desk {
    provider: String,
    watch: Watch,
    /// Rate classes that have to wait, as the provider said, with the end of the wait.
    holds: Mutex<BTreeMap<String, Instant>>,
    /// Reported failures, with the end of the wait of their calls: several calls may fail for the same reason
    /// at once.
    reported: Mutex<BTreeMap<String, Instant>>,
}

impl Desk {
    fn new(provider: &str, watch: Watch) -> Self {
        Self { provider: provider.to_owned(), watch, holds: Mutex::default(), reported: Mutex::default() }
    }

    fn holds(&self) -> MutexGuard<'_, BTreeMap<String, Instant>> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds a rate class back after the provider asked for fewer calls.
    fn hold(&self, class: &str, until: Instant) {
        let mut holds = self.holds();
        let held = holds.entry(class.to_owned()).or_insert(until);
        *held = until.max(*held);
    }

    /// Waits until no rate class of a call is held back any more.
    async fn until_open(&self, classes: &Classes) {
        loop {
            let now = Instant::now();
            let until = {
                let mut holds = self.holds();
                holds.retain(|_, until| *until > now);
                let held = holds.iter().filter(|(class, _)| class.is_empty() || classes.contain(class));
                held.map(|(_, until)| *until).max()
            };
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => return,
            }
        }
    }

    /// Waits for an answer, and reports the wait.
    async fn answer<T>(
        &self,
        what: &'static str,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let begun = Instant::now();
        let call = self.traced(what, call);
        tokio::pin!(call);
        loop {
            match tokio::time::timeout(REPORT, &mut call).await {
                Ok(answer) => return answer,
                Err(_) => self.watch.waits.send(Wait::Answer {
                    provider: self.provider.clone(),
                    what,
                    since: begun.elapsed(),
                }),
            }
        }
    }

    /// Makes a call in a span of its own, and reports its end.
    async fn traced<T>(
        &self,
        what: &'static str,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let span = trace::call(&self.provider, what);
        let answer = call.instrument(span.clone()).await;
        trace::answered(&span, &answer);
        self.watch.waits.called(&self.provider, answer.is_ok());
        answer
    }

    /// Makes a call that changes nothing, and retries it until it has a final answer.
    async fn ask<T, F>(
        &self,
        what: &'static str,
        classes: &Classes,
        mut call: impl FnMut() -> F,
    ) -> Result<T, ProviderError>
    where
        F: Future<Output = Result<T, ProviderError>>,
    {
        let begun = Instant::now();
        let mut attempt = 0;
        loop {
            attempt += 1;
            self.until_open(classes).await;
            let error = match self.answer(what, call()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => bounded(error),
            };
            match self.watch.patience.delay(attempt, &error, begun.elapsed()) {
                Some(delay) => self.pause(what, error, delay).await,
                None => return Err(patience::tried(error, attempt)),
            }
        }
    }

    /// Waits before a call is retried; the other calls of its rate class wait too.
    async fn pause(&self, what: &'static str, error: ProviderError, delay: Duration) {
        if let ErrorClass::Throttled { rate_class, .. } = &error.class {
            self.hold(rate_class, Instant::now() + delay);
        }
        tracing::info!(provider = %self.provider, what, error = %error, delay = ?delay, "again");
        if self.is_news(&error, delay) {
            self.watch.waits.send(Wait::Again { provider: self.provider.clone(), what, error, delay });
        }
        tokio::time::sleep(delay).await;
    }

    /// Whether a failure is new: no other call that still waits has reported it.
    fn is_news(&self, error: &ProviderError, delay: Duration) -> bool {
        let now = Instant::now();
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        reported.retain(|_, until| *until > now);
        let text = error.to_string();
        let is_news = !reported.contains_key(&text);
        reported.entry(text).or_insert(now + delay);
        is_news
    }
}

/// An error with texts of bounded length, as for errors of another process. They are shown, and kept in the
/// journal.
fn bounded(mut error: ProviderError) -> ProviderError {
    shorten_in_place(&mut error.message, size::MESSAGE);
    if let Some(hint) = &mut error.hint {
        shorten_in_place(hint, size::MESSAGE);
    }
    error
}

/// A session that retries reads and reports waits.
struct WatchedSession {
    desk: Desk,
    inner: Arc<dyn Session>,
    schema: Arc<Schema>,
}

impl WatchedSession {
    /// The rate classes of some types.
    fn classes<'a>(&self, addresses: impl Iterator<Item = &'a Address>) -> Classes {
        let class = |address: &Address| Some(self.schema.types.get(address.kind())?.rate_class.clone());
        Classes::Of(addresses.filter_map(class).collect())
    }
}

#[async_trait]
impl Session for WatchedSession {
    fn scope(&self) -> &Scope {
        self.inner.scope()
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        self.desk.ask("read its catalog", &Classes::All, || self.inner.catalog()).await
    }

    async fn catalog_for(&self, request: CatalogRequest) -> Result<Catalog, ProviderError> {
        let call = || self.inner.catalog_for(request.clone());
        self.desk.ask("read its catalog", &Classes::All, call).await
    }

    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError> {
        self.desk.answer("expand the cluster", self.inner.expand(request)).await.map_err(bounded)
    }

    async fn discover(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        self.listed(request).await
    }

    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        self.found(requests).await
    }

    async fn locate(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        let classes = self.classes(request.items.iter().map(|item| &item.address));
        let call = || self.inner.locate(request.clone());
        self.desk.ask("look for what others made", &classes, call).await
    }

    async fn nodes(&self) -> Result<Vec<Node>, ProviderError> {
        self.desk.ask("read the nodes", &Classes::All, || self.inner.nodes()).await
    }

    async fn dry_run(&self, items: Vec<PlanItem>) -> Result<Vec<DryRun>, ProviderError> {
        let classes = self.classes(items.iter().map(|item| &item.address));
        let call = || self.inner.dry_run(items.clone());
        self.desk.ask("do a dry run of the changes", &classes, call).await
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        self.desk.answer("plan the changes", self.inner.plan(items)).await.map_err(bounded)
    }

    async fn preflight(&self, items: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        let classes = self.classes(items.iter().map(|item| &item.address));
        let call = || self.inner.preflight(items.clone());
        self.desk.ask("check what would stop the plan", &classes, call).await
    }

    async fn price(&self, items: Vec<PlanItem>) -> Result<PriceReport, ProviderError> {
        self.desk.answer("price the plan", self.inner.price(items)).await.map_err(bounded)
    }

    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        // A read may have been told to slow down.
        let classes = self.classes(std::iter::once(&request.ownership.address));
        self.desk.until_open(&classes).await;
        self.desk.traced("apply a step", self.inner.apply(request, events)).await.map_err(bounded)
    }

    async fn resume(&self, request: ResumeRequest, events: EventSink) -> Result<Resolution, ProviderError> {
        let call = self.inner.resume(request, events);
        self.desk.answer("find out how an interrupted step ended", call).await.map_err(bounded)
    }

    async fn cancel(&self, token: Option<Token>) -> Result<(), ProviderError> {
        self.inner.cancel(token).await
    }

    async fn upgrade_state(
        &self,
        kind: &str,
        version: u32,
        attributes: Value,
    ) -> Result<Value, ProviderError> {
        self.inner.upgrade_state(kind, version, attributes).await
    }

    async fn import(&self, address: &Address, identity: &Identity) -> Result<Observed, ProviderError> {
        let classes = self.classes(std::iter::once(address));
        self.desk.ask("import an object", &classes, || self.inner.import(address, identity)).await
    }

    async fn wrap_key(&self, request: WrapKeyRequest) -> Result<Vec<u8>, ProviderError> {
        self.desk.ask("wrap a key", &Classes::All, || self.inner.wrap_key(request.clone())).await
    }

    async fn unwrap_key(&self, request: UnwrapKeyRequest) -> Result<Zeroizing<Vec<u8>>, ProviderError> {
        self.desk.ask("unwrap a key", &Classes::All, || self.inner.unwrap_key(request.clone())).await
    }

    async fn bootstrap_credential(&self, challenge: NodeChallenge) -> Result<Vec<u8>, ProviderError> {
        let ask = || self.inner.bootstrap_credential(challenge.clone());
        self.desk.ask("prove the identity of a machine", &Classes::All, ask).await
    }

    async fn verify_node(&self, request: VerifyNodeRequest) -> Result<VerifiedNode, ProviderError> {
        let ask = || self.inner.verify_node(request.clone());
        self.desk.ask("verify the identity of a machine", &Classes::All, ask).await
    }

    async fn instances(&self, request: InstancesRequest) -> Result<Vec<InstanceAnswer>, ProviderError> {
        let ask = || self.inner.instances(request.clone());
        self.desk.ask("find the instances of nodes", &Classes::All, ask).await
    }

    async fn close(&self) -> Result<(), ProviderError> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests;
