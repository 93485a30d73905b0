//! A session that lives in another process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use slipway_resource::provider::{
    Applied, ApplyRequest, Catalog, DiscoverRequest, Discovery, EventSink, ExpandRequest, Expansion,
    PlanItem, Planned, PreflightFinding, PreflightItem, ReadRequest, Resolution, ResumeRequest, Scope,
};
use slipway_resource::{
    Address, ClusterUid, ErrorClass, Identity, Observed, ProviderError, Session, Token, Value,
};

use super::Connection;
use super::apply::{Multiplexer, passing};
use super::batch::{batches, fitting};
use super::call::{late, malformed};
use crate::convert::Malformed;
use crate::generated as proto;
use crate::generated::resume_response::Answer;
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

    fn all<M, T: TryFrom<M, Error = Malformed>>(&self, messages: Vec<M>) -> Result<Vec<T>, ProviderError> {
        messages
            .into_iter()
            .map(|message| message.try_into().map_err(|error| self.malformed(&error)))
            .collect()
    }

    fn malformed(&self, error: &Malformed) -> ProviderError {
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

    async fn read_batch(&self, items: Vec<proto::ReadItem>) -> Result<Vec<Observed>, ProviderError> {
        let asked: Vec<String> = items.iter().map(|item| item.address.clone()).collect();
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.read(proto::ReadRequest { session: self.id.clone(), items });
        let pages = self.connection.pages(self.connection.deadlines.observe, call).await?;
        let messages: Vec<proto::Observed> = pages.into_iter().flat_map(|page| page.observed).collect();
        if messages.len() != asked.len() {
            return Err(self.miscounted("Read", messages.len(), asked.len()));
        }
        if let Some((message, asked)) =
            messages.iter().zip(&asked).find(|(message, asked)| message.address != **asked)
        {
            let text = format!(
                "provider {} broke the contract: Read answered {} where {asked} was asked",
                self.connection.life.name(),
                message.address
            );
            return Err(ProviderError::new(ErrorClass::Permanent, text));
        }
        self.all(messages)
    }

    async fn plan_batch(&self, items: Vec<proto::PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        let asked = items.len();
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.plan(proto::PlanRequest { session: self.id.clone(), items });
        let pages = self.connection.pages(self.connection.deadlines.pure, call).await?;
        let messages: Vec<proto::Planned> = pages.into_iter().flat_map(|page| page.planned).collect();
        if messages.len() != asked {
            return Err(self.miscounted("Plan", messages.len(), asked));
        }
        self.all(messages)
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
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.catalog(proto::CatalogRequest { session: self.id.clone() });
        let pages = self.connection.pages(self.connection.deadlines.observe, call).await?;
        let mut whole = proto::CatalogResponse::default();
        for page in pages {
            if whole.digest.is_empty() {
                whole.digest = page.digest;
            }
            whole.data.extend_from_slice(&page.data);
        }
        whole.try_into().map_err(|error| self.malformed(&error))
    }

    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError> {
        let message = proto::ExpandRequest { session: self.id.clone(), ..request.into() };
        fitting(&message, &self.connection.life)?;
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.expand(message);
        let pages = self.connection.pages(self.connection.deadlines.pure, call).await?;
        let mut expansion = Expansion::default();
        for page in pages {
            expansion.resources.extend(self.all(page.resources)?);
            expansion.notes.extend(page.notes.into_iter().map(Into::into));
        }
        Ok(expansion)
    }

    async fn discover(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.discover(proto::DiscoverRequest { session: self.id.clone(), ..request.into() });
        let pages = self.connection.pages(self.connection.deadlines.observe, call).await?;
        let mut discovery = Discovery::default();
        for page in pages {
            discovery.observed.extend(self.all(page.observed)?);
            discovery.unlisted.extend(self.all(page.unlisted)?);
            discovery.uid = discovery.uid.or_else(|| page.uid.map(ClusterUid::new));
        }
        Ok(discovery)
    }

    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        let items: Vec<proto::ReadItem> = requests.into_iter().map(Into::into).collect();
        let batches = batches(items, self.batch, &self.connection.life)?;
        stream::iter(batches.into_iter().map(|batch| self.read_batch(batch)))
            .buffered(PARALLEL)
            .try_concat()
            .await
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        let items: Vec<proto::PlanItem> = items.into_iter().map(Into::into).collect();
        let batches = batches(items, self.batch, &self.connection.life)?;
        stream::iter(batches.into_iter().map(|batch| self.plan_batch(batch)))
            .buffered(PARALLEL)
            .try_concat()
            .await
    }

    async fn preflight(&self, items: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        let items: Vec<proto::PreflightItem> = items.into_iter().map(Into::into).collect();
        let batches = batches(items, self.batch, &self.connection.life)?;
        stream::iter(batches.into_iter().map(|batch| self.preflight_batch(batch)))
            .buffered(PARALLEL)
            .try_concat()
            .await
    }

    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        let life = &self.connection.life;
        let limit = self.limit(request.timeout_ms);
        let message = proto::ApplyRequest::from(request);
        fitting(&message, life)?;
        let ticket = self.actions.send(&self.connection, &self.id, message, events).await?;
        match tokio::time::timeout(limit, ticket.outcome(life)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ProviderError { class: ErrorClass::OutcomeUnknown, ..late(life, limit) }),
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
            loop {
                let answer = match stream.message().await {
                    Ok(Some(message)) => self.connection.checked(message)?.answer,
                    Ok(None) => return Err(self.malformed(&Malformed::new("end of Resume", ""))),
                    Err(status) => return Err(self.connection.failure(&status).await),
                };
                match answer {
                    Some(Answer::Event(event)) => {
                        if let Some(event) = passing(event.event) {
                            events.send(event);
                        }
                    }
                    Some(Answer::Done(applied)) => {
                        let applied = applied.try_into().map_err(|error| self.malformed(&error))?;
                        return Ok(Resolution::Done(applied));
                    }
                    Some(Answer::NotDone(_)) => return Ok(Resolution::NotDone),
                    Some(Answer::Unknown(_)) => return Ok(Resolution::Unknown),
                    // An event of a later contract.
                    None => {}
                }
            }
        };
        match tokio::time::timeout(limit, follow).await {
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
            attributes: Some(WireValue::new(attributes)),
        });
        let answer = self.connection.unary(self.connection.deadlines.pure, call).await?;
        let upgraded = answer.attributes.unwrap_or_default();
        upgraded.into_value().map_err(|error| self.malformed(&error))
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
        observed.try_into().map_err(|error| self.malformed(&error))
    }

    async fn close(&self) -> Result<(), ProviderError> {
        self.actions.close(self.connection.deadlines.grace).await;
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.close_session(proto::CloseSessionRequest { session: self.id.clone() });
        self.connection.unary(self.connection.deadlines.observe, call).await?;
        Ok(())
    }
}
