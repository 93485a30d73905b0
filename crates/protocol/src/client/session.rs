//! A session that lives in another process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use slipway_resource::provider::{
    Applied, ApplyRequest, CREDENTIAL_BYTES, Catalog, CatalogRequest, DiscoverRequest, Discovery, DryRun,
    EventSink, ExpandRequest, Expansion, InstanceAnswer, InstancesRequest, LoadBalancers, LocateRequest,
    Located, Node, NodeChallenge, PlanItem, Planned, PreflightFinding, PreflightItem, PriceReport,
    ReadRequest, Resolution, ResumeRequest, Routes, Scope, UnwrapKeyRequest, VerifiedNode, VerifyNodeRequest,
    WrapKeyRequest,
};
use slipway_resource::{Address, ErrorClass, Identity, Observed, ProviderError, Session, Token, Value};

use zeroize::Zeroizing;

use super::Connection;
use super::apply::{EVENTS, Multiplexer};
use super::batch::{Batches, fitting};
use super::call::{late, malformed};
use crate::convert::{Malformed, Resumed, planned_from_message};
use crate::generated as proto;
use crate::wire::WireValue;

/// How many batches of one call are under way at once.
const PARALLEL: usize = 4;

pub(super) struct RemoteSession {
    connection: Arc<Connection>,
    id: String,
    scope: Scope,
    batch: u32,
    actions: Multiplexer,
}

impl RemoteSession {
    pub(super) fn new(connection: Arc<Connection>, answer: proto::OpenSessionResponse, batch: u32) -> Self {
        Self {
            connection,
            id: answer.session.clone(),
            scope: answer.into(),
            batch,
            actions: Multiplexer::new(),
        }
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The name of the session in requests.
    pub(super) fn id(&self) -> String {
        self.id.clone()
    }

    /// How long a call may take that waits for the cloud.
    pub(super) fn patience(&self) -> Duration {
        self.connection.deadlines.observe
    }

    pub(super) fn all<M, T: TryFrom<M, Error = Malformed>>(
        &self,
        messages: Vec<M>,
    ) -> Result<Vec<T>, ProviderError> {
        messages
            .into_iter()
            .map(|message| message.try_into().map_err(|error| self.malformed(&error)))
            .collect()
    }

    pub(super) fn malformed(&self, error: &Malformed) -> ProviderError {
        malformed(&self.connection.life, error)
    }

    fn miscounted(&self, call: &str, answers: usize, requests: usize) -> ProviderError {
        ProviderError::new(
            ErrorClass::Permanent,
            format!(
                "provider {} broke the contract: {answers} answers to {requests} items of {call}",
                self.connection.life.name()
            ),
        )
    }

    /// Refuses answers for other addresses than those that were asked for.
    fn in_order<'a>(
        &self,
        call: &str,
        found: impl Iterator<Item = &'a Address>,
        asked: &[Address],
    ) -> Result<(), ProviderError> {
        match found.zip(asked).find(|(found, asked)| found != asked) {
            None => Ok(()),
            Some((found, asked)) => {
                let text = format!(
                    "provider {} broke the contract: {call} answered {found} where {asked} was asked",
                    self.connection.life.name()
                );
                Err(ProviderError::new(ErrorClass::Permanent, text))
            }
        }
    }

    /// A key from the key service. Without it, what it protects could never be read again.
    fn not_empty(&self, call: &'static str, key: Vec<u8>) -> Result<Vec<u8>, ProviderError> {
        if key.is_empty() { Err(self.malformed(&Malformed::new(call, "without a key"))) } else { Ok(key) }
    }

    async fn read_batch(
        &self,
        asked: Vec<Address>,
        items: Vec<proto::ReadItem>,
    ) -> Result<Vec<Observed>, ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.read(proto::ReadRequest { session: self.id.clone(), items });
        let mut found: Vec<Observed> = Vec::with_capacity(asked.len());
        let take = |page: proto::ReadResponse| {
            found.extend(self.all(page.observed)?);
            if found.len() > asked.len() {
                return Err(self.miscounted("Read", found.len(), asked.len()));
            }
            Ok(())
        };
        self.connection.pages(self.connection.deadlines.observe, call, take).await?;
        if found.len() != asked.len() {
            return Err(self.miscounted("Read", found.len(), asked.len()));
        }
        self.in_order("Read", found.iter().map(|found| &found.address), &asked)?;
        Ok(found)
    }

    async fn dry_run_batch(&self, items: Vec<proto::PlanItem>) -> Result<Vec<DryRun>, ProviderError> {
        let asked = items.len();
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.rehearse(proto::PlanRequest { session: self.id.clone(), items });
        let mut dry_runs: Vec<DryRun> = Vec::with_capacity(asked);
        let take = |page: proto::RehearseResponse| {
            dry_runs.extend(self.all(page.rehearsals)?);
            Ok(())
        };
        self.connection.pages(self.connection.deadlines.observe, call, take).await?;
        if dry_runs.len() != asked {
            return Err(self.miscounted("Rehearse", dry_runs.len(), asked));
        }
        Ok(dry_runs)
    }

    async fn plan_batch(
        &self,
        items: Vec<PlanItem>,
        messages: Vec<proto::PlanItem>,
    ) -> Result<Vec<Planned>, ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.plan(proto::PlanRequest { session: self.id.clone(), items: messages });
        let asked = items.len();
        let mut items = items.into_iter();
        let mut planned = Vec::with_capacity(asked);
        let mut answers = 0;
        let take = |page: proto::PlanResponse| {
            answers += page.planned.len();
            if answers > asked {
                return Err(self.miscounted("Plan", answers, asked));
            }
            // Too many are counted, and refused below.
            for (message, item) in page.planned.into_iter().zip(items.by_ref()) {
                let answer = planned_from_message(message, item);
                planned.push(answer.map_err(|error| self.malformed(&error))?);
            }
            Ok(())
        };
        self.connection.pages(self.connection.deadlines.pure, call, take).await?;
        if answers != asked {
            return Err(self.miscounted("Plan", answers, asked));
        }
        Ok(planned)
    }

    async fn preflight_batch(
        &self,
        items: Vec<proto::PreflightItem>,
    ) -> Result<Vec<PreflightFinding>, ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.preflight(proto::PreflightRequest { session: self.id.clone(), items });
        let answer = self.connection.unary(self.connection.deadlines.observe, call).await?;
        self.all(answer.findings)
    }

    async fn catalog_of(&self, request: proto::CatalogRequest) -> Result<Catalog, ProviderError> {
        let message = proto::CatalogRequest { session: self.id.clone(), ..request };
        fitting(&message, &self.connection.life)?;
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.catalog(message);
        let mut whole = proto::CatalogResponse::default();
        let take = |page: proto::CatalogResponse| {
            if whole.digest.is_empty() {
                whole.digest = page.digest;
            }
            whole.data.extend_from_slice(&page.data);
            Ok(())
        };
        self.connection.pages(self.connection.deadlines.observe, call, take).await?;
        whole.try_into().map_err(|error| self.malformed(&error))
    }

    fn limit(&self, timeout_ms: u64) -> Duration {
        Duration::from_millis(timeout_ms).saturating_add(self.connection.deadlines.grace)
    }
}

#[async_trait]
impl Session for RemoteSession {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        self.catalog_of(proto::CatalogRequest::default()).await
    }

    async fn catalog_for(&self, request: CatalogRequest) -> Result<Catalog, ProviderError> {
        self.catalog_of(request.into()).await
    }

    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError> {
        let message = proto::ExpandRequest { session: self.id.clone(), ..request.into() };
        fitting(&message, &self.connection.life)?;
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.expand(message);
        let mut expansion = Expansion::default();
        let take = |page: proto::ExpandResponse| {
            expansion.resources.extend(self.all(page.resources)?);
            expansion.notes.extend(page.notes.into_iter().map(Into::into));
            Ok(())
        };
        self.connection.pages(self.connection.deadlines.pure, call, take).await?;
        Ok(expansion)
    }

    async fn discover(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.discover(proto::DiscoverRequest { session: self.id.clone(), ..request.into() });
        let mut discovery = Discovery::default();
        let take = |page: proto::DiscoverResponse| {
            let page = Discovery::try_from(page).map_err(|error| self.malformed(&error))?;
            discovery.observed.extend(page.observed);
            discovery.unlisted.extend(page.unlisted);
            discovery.uid = discovery.uid.take().or(page.uid);
            Ok(())
        };
        self.connection.pages(self.connection.deadlines.observe, call, take).await?;
        Ok(discovery)
    }

    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        let items = requests.into_iter().map(|item| (item.address.clone(), item.into()));
        let batches = Batches::new(items, self.batch, &self.connection.life);
        let calls = batches.map(|batch| async move {
            let (asked, messages) = batch?;
            self.read_batch(asked, messages).await
        });
        stream::iter(calls).buffered(PARALLEL).try_concat().await
    }

    async fn locate(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        let asked: Vec<Address> = request.items.iter().map(|item| item.address.clone()).collect();
        let message = proto::LocateRequest { session: self.id.clone(), ..request.into() };
        fitting(&message, &self.connection.life)?;
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.locate(message);
        let mut located: Vec<Located> = Vec::with_capacity(asked.len());
        let take = |page: proto::LocateResponse| {
            located.extend(self.all(page.located)?);
            Ok(())
        };
        self.connection.pages(self.connection.deadlines.observe, call, take).await?;
        if located.len() != asked.len() {
            return Err(self.miscounted("Locate", located.len(), asked.len()));
        }
        self.in_order("Locate", located.iter().map(|located| &located.address), &asked)?;
        Ok(located)
    }

    async fn nodes(&self) -> Result<Vec<Node>, ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.nodes(proto::NodesRequest { session: self.id.clone() });
        let mut nodes = Vec::new();
        let take = |page: proto::NodesResponse| {
            nodes.extend(self.all(page.nodes)?);
            Ok(())
        };
        self.connection.pages(self.connection.deadlines.observe, call, take).await?;
        Ok(nodes)
    }

    async fn dry_run(&self, items: Vec<PlanItem>) -> Result<Vec<DryRun>, ProviderError> {
        let items = items.into_iter().map(|item| ((), proto::PlanItem::from(&item)));
        let batches = Batches::new(items, self.batch, &self.connection.life);
        let calls = batches.map(|batch| async move { self.dry_run_batch(batch?.1).await });
        stream::iter(calls).buffered(PARALLEL).try_concat().await
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        let items = items.into_iter().map(|item| {
            let message = proto::PlanItem::from(&item);
            (item, message)
        });
        let batches = Batches::new(items, self.batch, &self.connection.life);
        let calls = batches.map(|batch| async move {
            let (items, messages) = batch?;
            self.plan_batch(items, messages).await
        });
        stream::iter(calls).buffered(PARALLEL).try_concat().await
    }

    async fn preflight(&self, items: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        let items = items.into_iter().map(|item| ((), item.into()));
        let batches = Batches::new(items, self.batch, &self.connection.life);
        let calls = batches.map(|batch| async move { self.preflight_batch(batch?.1).await });
        stream::iter(calls).buffered(PARALLEL).try_concat().await
    }

    async fn price(&self, items: Vec<PlanItem>) -> Result<PriceReport, ProviderError> {
        let items = items.iter().map(proto::PlanItem::from).collect();
        let message = proto::PriceRequest { session: self.id.clone(), items };
        fitting(&message, &self.connection.life)?;
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.price(message);
        let answer = self.connection.unary(self.connection.deadlines.pure, call).await?;
        answer.try_into().map_err(|error| self.malformed(&error))
    }

    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        let life = &self.connection.life;
        let limit = self.limit(request.timeout_ms);
        let message = proto::ApplyRequest::from(request);
        fitting(&message, life)?;
        let ticket = self.actions.send(&self.connection, &self.id, message, events).await?;
        let begins = self.connection.deadlines.observe.min(limit);
        let outcome = self.connection.alive(tokio::time::timeout(limit, ticket.outcome(life, begins))).await;
        let unknown = |error| Err(ProviderError { class: ErrorClass::OutcomeUnknown, ..error });
        match outcome {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => unknown(late(life, limit)),
            Err(silent) => unknown(silent),
        }
    }

    async fn resume(&self, request: ResumeRequest, events: EventSink) -> Result<Resolution, ProviderError> {
        let limit = self.limit(request.request.timeout_ms);
        let message = proto::ResumeRequest { session: self.id.clone(), ..request.into() };
        fitting(&message, &self.connection.life)?;
        let follow = async {
            let mut rpc = self.connection.rpc.clone();
            let mut stream = match rpc.resume(message).await {
                Ok(response) => response.into_inner(),
                Err(status) => return Err(self.connection.failure(&status).await),
            };
            for _ in 0..=EVENTS {
                tokio::task::coop::consume_budget().await;
                let message = match stream.message().await {
                    Ok(Some(message)) => self.connection.checked(message)?,
                    Ok(None) => return Err(self.malformed(&Malformed::new("end of Resume", ""))),
                    Err(status) => return Err(self.connection.failure(&status).await),
                };
                match Resumed::try_from(message).map_err(|error| self.malformed(&error))? {
                    Resumed::Event(Some(event)) => events.send(event),
                    Resumed::Event(None) => {}
                    Resumed::End(resolution) => return Ok(resolution),
                }
            }
            let text = format!("more than {EVENTS} events of one step");
            Err(self.malformed(&Malformed::new("answer of Resume", text)))
        };
        match self.connection.alive(tokio::time::timeout(limit, follow)).await? {
            Ok(outcome) => outcome,
            Err(_) => Err(late(&self.connection.life, limit)),
        }
    }

    async fn cancel(&self, token: Option<Token>) -> Result<(), ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.cancel(proto::CancelRequest {
            session: self.id.clone(),
            token: token.map(|token| token.as_str().to_owned()),
        });
        self.connection.unary(self.connection.deadlines.pure, call).await?;
        Ok(())
    }

    async fn upgrade_state(
        &self,
        kind: &str,
        version: u32,
        attributes: Value,
    ) -> Result<Value, ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.upgrade_state(proto::UpgradeStateRequest {
            session: self.id.clone(),
            r#type: kind.to_owned(),
            version,
            attributes: Some(WireValue::new(&attributes)),
        });
        let answer = self.connection.unary(self.connection.deadlines.pure, call).await?;
        // Nothing must not replace what the state has.
        let upgraded = answer
            .attributes
            .ok_or_else(|| self.malformed(&Malformed::new("upgraded state", "without attributes")))?;
        upgraded.value().map_err(|error| self.malformed(&error))
    }

    async fn import(&self, address: &Address, identity: &Identity) -> Result<Observed, ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.import(proto::ImportRequest {
            session: self.id.clone(),
            address: address.to_string(),
            identity: identity.as_str().to_owned(),
        });
        let answer = self.connection.unary(self.connection.deadlines.observe, call).await?;
        let observed =
            answer.observed.ok_or_else(|| self.malformed(&Malformed::new("observed object", "")))?;
        let observed: Observed = observed.try_into().map_err(|error| self.malformed(&error))?;
        self.in_order("Import", std::iter::once(&observed.address), std::slice::from_ref(address))?;
        Ok(observed)
    }

    async fn wrap_key(&self, request: WrapKeyRequest) -> Result<Vec<u8>, ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.wrap_key(proto::WrapKeyRequest {
            session: self.id.clone(),
            key: request.key,
            plain: request.plain.to_vec(),
            scope: request.scope,
        });
        let answer = self.connection.unary(self.connection.deadlines.observe, call).await?;
        self.not_empty("answer of WrapKey", answer.wrapped)
    }

    async fn unwrap_key(&self, request: UnwrapKeyRequest) -> Result<Zeroizing<Vec<u8>>, ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let UnwrapKeyRequest { key, wrapped, scope } = request;
        let call = rpc.unwrap_key(proto::UnwrapKeyRequest { session: self.id.clone(), key, wrapped, scope });
        let answer = self.connection.unary(self.connection.deadlines.observe, call).await?;
        self.not_empty("answer of UnwrapKey", answer.plain).map(Zeroizing::new)
    }

    async fn bootstrap_credential(&self, challenge: NodeChallenge) -> Result<Vec<u8>, ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let challenge = Some(challenge_message(challenge));
        let call = rpc
            .bootstrap_credential(proto::BootstrapCredentialRequest { session: self.id.clone(), challenge });
        let credential = self.connection.unary(self.connection.deadlines.observe, call).await?.credential;
        if credential.is_empty() || credential.len() > CREDENTIAL_BYTES {
            let text = format!("the credential of a machine has {} bytes", credential.len());
            return Err(ProviderError::new(ErrorClass::Permanent, text));
        }
        Ok(credential)
    }

    async fn verify_node(&self, request: VerifyNodeRequest) -> Result<VerifiedNode, ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let VerifyNodeRequest { challenge, credential, cluster } = request;
        let challenge = Some(challenge_message(challenge));
        let session = self.id.clone();
        let call = rpc.verify_node(proto::VerifyNodeRequest { session, challenge, credential, cluster });
        let answer = self.connection.unary(self.connection.deadlines.observe, call).await?;
        let proto::VerifyNodeResponse { machine, nodes, pool, started, role, template, error: _ } = answer;
        if machine.is_empty() || nodes.is_empty() || nodes.iter().any(String::is_empty) {
            let text = "a machine was verified that has no id, or no name for its node";
            return Err(ProviderError::new(ErrorClass::Permanent, text));
        }
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        let (pool, role, template) = (given(pool), given(role), given(template));
        Ok(VerifiedNode { machine, nodes, pool, role, template, started })
    }

    async fn instances(&self, request: InstancesRequest) -> Result<Vec<InstanceAnswer>, ProviderError> {
        let cluster = &request.cluster;
        let queries = request.queries.into_iter().map(|query| ((), query.into()));
        let calls = Batches::new(queries, self.batch, &self.connection.life).map(|batch| async move {
            let (asked, queries) = batch?;
            let mut rpc = self.connection.rpc.clone();
            let message =
                proto::InstancesRequest { session: self.id.clone(), cluster: cluster.clone(), queries };
            let call = rpc.instances(message);
            let answers = self.connection.unary(self.connection.deadlines.observe, call).await?.answers;
            if answers.len() != asked.len() {
                return Err(self.miscounted("Instances", answers.len(), asked.len()));
            }
            self.all::<_, InstanceAnswer>(answers)
        });
        stream::iter(calls).buffered(PARALLEL).try_concat().await
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        self.connection.info.get()?.capabilities.load_balancers.then_some(self as _)
    }

    fn routes(&self) -> Option<&dyn Routes> {
        self.connection.info.get()?.capabilities.routes.then_some(self as _)
    }

    async fn close(&self) -> Result<(), ProviderError> {
        self.connection.alive(self.actions.close(self.connection.deadlines.grace)).await?;
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.close_session(proto::CloseSessionRequest { session: self.id.clone() });
        self.connection.unary(self.connection.deadlines.observe, call).await?;
        Ok(())
    }
}

fn challenge_message(challenge: NodeChallenge) -> proto::NodeChallenge {
    let NodeChallenge { server, nonce, request } = challenge;
    proto::NodeChallenge { server, nonce, request: request.as_str().to_owned() }
}
