//! The calls of the contract, each handed to the provider or to a session of it.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use slipway_protocol::convert::{Malformed, planned_to_message, schema_to_message};
use slipway_protocol::generated as proto;
use slipway_protocol::generated::provider_server;
use slipway_protocol::wire::WireValue;
use slipway_protocol::{Answer, PAGE_BYTES};
use slipway_resource::provider::CatalogRequest;
use slipway_resource::{Address, ErrorClass, Identity, Provider, ProviderError, Token, Value};
use tokio::sync::mpsc;
use tonic::{Request, Response, Status, Streaming};

use crate::actions;
use crate::pages::{Answers, Messages, answers, pages};
use crate::sessions::Sessions;

mod balancing;
mod cluster;
mod routing;

/// The provider as the contract shows it.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) sessions: Arc<Sessions>,
    /// How many items one call may name.
    pub(crate) batch: u32,
}

type Unary<M> = Result<Response<M>, Status>;
type Paged<M> = Result<Response<Answers<M>>, Status>;

/// A failure of the provider is an answer, not a status.
fn unary<M: Answer>(outcome: Result<M, ProviderError>) -> Unary<M> {
    Ok(Response::new(outcome.unwrap_or_else(|error| M::failed(error.into()))))
}

fn paged<M: Answer + Send + 'static>(outcome: Result<Messages<M>, ProviderError>) -> Paged<M> {
    Ok(answers(outcome.unwrap_or_else(|error| Box::new(std::iter::once(M::failed(error.into()))))))
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function in map_err")]
fn invalid(error: Malformed) -> ProviderError {
    ProviderError::new(ErrorClass::Invalid, error.to_string())
}

fn value(message: Option<WireValue>) -> Result<Value, ProviderError> {
    message.unwrap_or_default().value().map_err(invalid)
}

impl Service {
    /// The items of a call, if it does not have too many.
    fn items<M, T: TryFrom<M, Error = Malformed>>(
        &self,
        items: impl ExactSizeIterator<Item = M>,
    ) -> Result<Vec<T>, ProviderError> {
        if items.len() > usize::try_from(self.batch.max(1)).unwrap_or(usize::MAX) {
            return Err(ProviderError::new(
                ErrorClass::Invalid,
                format!("{} items in one call; {} are allowed", items.len(), self.batch),
            ));
        }
        items.map(|item| item.try_into().map_err(invalid)).collect()
    }

    async fn open(
        &self,
        request: proto::OpenSessionRequest,
    ) -> Result<proto::OpenSessionResponse, ProviderError> {
        let terms = slipway_protocol::convert::terms(&request);
        let request = request.try_into().map_err(invalid)?;
        let session = self.provider.open_session_on(request, terms).await?;
        let scope = session.scope().clone();
        Ok(proto::OpenSessionResponse {
            session: self.sessions.insert(session),
            account: scope.account,
            region: scope.region,
            error: None,
        })
    }

    async fn expansion(
        &self,
        request: proto::ExpandRequest,
    ) -> Result<Messages<proto::ExpandResponse>, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let expansion = open.session.expand(request.try_into().map_err(invalid)?).await?;
        let notes = proto::ExpandResponse {
            notes: expansion.notes.into_iter().map(Into::into).collect(),
            ..proto::ExpandResponse::default()
        };
        let resources = pages(expansion.resources.into_iter().map(proto::Desired::from))
            .map(|resources| proto::ExpandResponse { resources, ..proto::ExpandResponse::default() });
        Ok(Box::new(std::iter::once(notes).chain(resources)))
    }

    async fn discovery(
        &self,
        request: proto::DiscoverRequest,
    ) -> Result<Messages<proto::DiscoverResponse>, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let discovery = open.session.discover(request.into()).await?;
        let first = proto::DiscoverResponse {
            unlisted: discovery.unlisted.into_iter().map(Into::into).collect(),
            uid: discovery.uid.map(|uid| uid.as_str().to_owned()),
            ..proto::DiscoverResponse::default()
        };
        let observed = pages(discovery.observed.into_iter().map(proto::Observed::from))
            .map(|observed| proto::DiscoverResponse { observed, ..proto::DiscoverResponse::default() });
        Ok(Box::new(std::iter::once(first).chain(observed)))
    }

    async fn reading(
        &self,
        request: proto::ReadRequest,
    ) -> Result<Messages<proto::ReadResponse>, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let observed = open.session.read(self.items(request.items.into_iter())?).await?;
        let pages = pages(observed.into_iter().map(proto::Observed::from));
        Ok(Box::new(pages.map(|observed| proto::ReadResponse { observed, error: None })))
    }

    async fn locating(
        &self,
        request: proto::LocateRequest,
    ) -> Result<Messages<proto::LocateResponse>, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let located = open.session.locate(request.try_into().map_err(invalid)?).await?;
        let pages = pages(located.into_iter().map(proto::Located::from));
        Ok(Box::new(pages.map(|located| proto::LocateResponse { located, error: None })))
    }

    async fn listing_nodes(
        &self,
        request: proto::NodesRequest,
    ) -> Result<Messages<proto::NodesResponse>, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let pages = pages(open.session.nodes().await?.into_iter().map(proto::Node::from));
        Ok(Box::new(pages.map(|nodes| proto::NodesResponse { nodes, error: None })))
    }

    async fn dry_running(
        &self,
        request: proto::PlanRequest,
    ) -> Result<Messages<proto::RehearseResponse>, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let dry_runs = open.session.dry_run(self.items(request.items.iter())?).await?;
        if dry_runs.len() != request.items.len() {
            let text = format!(
                "the provider answered the dry runs of {} of {} items",
                dry_runs.len(),
                request.items.len()
            );
            return Err(ProviderError::new(ErrorClass::Permanent, text));
        }
        let pages = pages(dry_runs.into_iter().map(proto::Rehearsal::from));
        Ok(Box::new(pages.map(|rehearsals| proto::RehearseResponse { rehearsals, error: None })))
    }

    async fn planning(
        &self,
        request: proto::PlanRequest,
    ) -> Result<Messages<proto::PlanResponse>, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let planned = open.session.plan(self.items(request.items.iter())?).await?;
        if planned.len() != request.items.len() {
            let text = format!("the provider planned {} of {} items", planned.len(), request.items.len());
            return Err(ProviderError::new(ErrorClass::Permanent, text));
        }
        let planned = planned.into_iter().zip(request.items);
        let pages = pages(planned.map(|(planned, item)| planned_to_message(planned, &item)));
        Ok(Box::new(pages.map(|planned| proto::PlanResponse { planned, error: None })))
    }

    async fn catalogue(
        &self,
        request: proto::CatalogRequest,
    ) -> Result<Messages<proto::CatalogResponse>, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let catalog = if request.cluster.is_empty() {
            open.session.catalog().await?
        } else {
            let request = CatalogRequest::try_from(request).map_err(invalid)?;
            open.session.catalog_for(request).await?
        };
        let data = catalog.data.to_string().into_bytes();
        let mut messages: Vec<proto::CatalogResponse> = data
            .chunks(PAGE_BYTES)
            .map(|piece| proto::CatalogResponse { data: piece.to_vec(), ..proto::CatalogResponse::default() })
            .collect();
        if let Some(first) = messages.first_mut() {
            first.digest = catalog.digest.as_str().to_owned();
        }
        Ok(Box::new(messages.into_iter()))
    }

    async fn preflighting(
        &self,
        request: proto::PreflightRequest,
    ) -> Result<proto::PreflightResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let findings = open.session.preflight(self.items(request.items.into_iter())?).await?;
        Ok(proto::PreflightResponse { findings: findings.into_iter().map(Into::into).collect(), error: None })
    }

    async fn pricing(&self, request: proto::PriceRequest) -> Result<proto::PriceResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        // All resources come at once: the size of a batch is no limit.
        let items =
            request.items.iter().map(|item| item.try_into().map_err(invalid)).collect::<Result<_, _>>()?;
        Ok(open.session.price(items).await?.into())
    }

    async fn upgrade(
        &self,
        request: proto::UpgradeStateRequest,
    ) -> Result<proto::UpgradeStateResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let attributes = value(request.attributes)?;
        let upgraded = open.session.upgrade_state(&request.r#type, request.version, attributes).await?;
        Ok(proto::UpgradeStateResponse { attributes: Some(WireValue::new(&upgraded)), error: None })
    }

    async fn importing(&self, request: proto::ImportRequest) -> Result<proto::ImportResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let address: Address = request
            .address
            .parse()
            .map_err(|error| ProviderError::new(ErrorClass::Invalid, format!("{error}")))?;
        let observed = open.session.import(&address, &Identity::new(request.identity)).await?;
        Ok(proto::ImportResponse { observed: Some(observed.into()), error: None })
    }

    async fn cancelling(
        &self,
        request: proto::CancelRequest,
    ) -> Result<proto::CancelResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        open.session.cancel(request.token.map(Token::new)).await?;
        Ok(proto::CancelResponse::default())
    }
}

#[tonic::async_trait]
impl provider_server::Provider for Service {
    type GetSchemaStream = Answers<proto::GetSchemaResponse>;
    type CatalogStream = Answers<proto::CatalogResponse>;
    type ExpandStream = Answers<proto::ExpandResponse>;
    type DiscoverStream = Answers<proto::DiscoverResponse>;
    type ReadStream = Answers<proto::ReadResponse>;
    type LocateStream = Answers<proto::LocateResponse>;
    type NodesStream = Answers<proto::NodesResponse>;
    type RehearseStream = Answers<proto::RehearseResponse>;
    type PlanStream = Answers<proto::PlanResponse>;
    type ApplyStream = Answers<proto::ApplyEvents>;
    type ResumeStream = Answers<proto::ResumeResponse>;

    async fn get_info(&self, _: Request<proto::GetInfoRequest>) -> Unary<proto::GetInfoResponse> {
        unary(self.provider.info().await.map(Into::into))
    }

    async fn get_schema(&self, _: Request<proto::GetSchemaRequest>) -> Paged<proto::GetSchemaResponse> {
        let schema = self.provider.schema().await;
        paged(schema.map(|schema| {
            let whole = schema_to_message(&schema);
            let first =
                proto::GetSchemaResponse { config: whole.config, ..proto::GetSchemaResponse::default() };
            let types = pages(whole.types)
                .map(|types| proto::GetSchemaResponse { types, ..proto::GetSchemaResponse::default() });
            let messages: Messages<proto::GetSchemaResponse> = Box::new(std::iter::once(first).chain(types));
            messages
        }))
    }

    async fn validate_config(
        &self,
        request: Request<proto::ValidateConfigRequest>,
    ) -> Unary<proto::ValidateConfigResponse> {
        let config = match value(request.into_inner().config) {
            Ok(config) => config,
            Err(error) => return unary(Err(error)),
        };
        let problems = self.provider.validate_config(&config).await;
        unary(problems.map(|problems| proto::ValidateConfigResponse { problems, error: None }))
    }

    async fn open_session(
        &self,
        request: Request<proto::OpenSessionRequest>,
    ) -> Unary<proto::OpenSessionResponse> {
        unary(self.open(request.into_inner()).await)
    }

    async fn close_session(
        &self,
        request: Request<proto::CloseSessionRequest>,
    ) -> Unary<proto::CloseSessionResponse> {
        let closed = self.sessions.close(&request.into_inner().session).await;
        unary(closed.map(|()| proto::CloseSessionResponse::default()))
    }

    async fn cancel(&self, request: Request<proto::CancelRequest>) -> Unary<proto::CancelResponse> {
        unary(self.cancelling(request.into_inner()).await)
    }

    async fn catalog(&self, request: Request<proto::CatalogRequest>) -> Paged<proto::CatalogResponse> {
        paged(self.catalogue(request.into_inner()).await)
    }

    async fn expand(&self, request: Request<proto::ExpandRequest>) -> Paged<proto::ExpandResponse> {
        paged(self.expansion(request.into_inner()).await)
    }

    async fn discover(&self, request: Request<proto::DiscoverRequest>) -> Paged<proto::DiscoverResponse> {
        paged(self.discovery(request.into_inner()).await)
    }

    async fn read(&self, request: Request<proto::ReadRequest>) -> Paged<proto::ReadResponse> {
        paged(self.reading(request.into_inner()).await)
    }

    async fn locate(&self, request: Request<proto::LocateRequest>) -> Paged<proto::LocateResponse> {
        paged(self.locating(request.into_inner()).await)
    }

    async fn nodes(&self, request: Request<proto::NodesRequest>) -> Paged<proto::NodesResponse> {
        paged(self.listing_nodes(request.into_inner()).await)
    }

    async fn rehearse(&self, request: Request<proto::PlanRequest>) -> Paged<proto::RehearseResponse> {
        paged(self.dry_running(request.into_inner()).await)
    }

    async fn plan(&self, request: Request<proto::PlanRequest>) -> Paged<proto::PlanResponse> {
        paged(self.planning(request.into_inner()).await)
    }

    async fn preflight(&self, request: Request<proto::PreflightRequest>) -> Unary<proto::PreflightResponse> {
        unary(self.preflighting(request.into_inner()).await)
    }

    async fn price(&self, request: Request<proto::PriceRequest>) -> Unary<proto::PriceResponse> {
        unary(self.pricing(request.into_inner()).await)
    }

    async fn apply(&self, request: Request<Streaming<proto::ApplyRequests>>) -> Paged<proto::ApplyEvents> {
        let mut requests = request.into_inner();
        let Some(first) = requests.message().await? else {
            return Ok(answers(Box::new(std::iter::empty())));
        };
        match self.sessions.get(&first.session) {
            Ok(open) => Ok(Response::new(actions::run(open, first.requests, requests))),
            Err(error) => paged(Err(error)),
        }
    }

    async fn resume(&self, request: Request<proto::ResumeRequest>) -> Paged<proto::ResumeResponse> {
        let message = request.into_inner();
        let open = match self.sessions.get(&message.session) {
            Ok(open) => open,
            Err(error) => return paged(Err(error)),
        };
        let request: slipway_resource::provider::ResumeRequest = match message.try_into() {
            Ok(request) => request,
            Err(error) => return paged(Err(invalid(error))),
        };
        let (events, queue) = mpsc::unbounded_channel();
        let token = request.request.token.as_str().to_owned();
        let tasks = open.tasks.clone();
        let following = tasks.spawn(async move {
            let sink = actions::sink(token, events);
            open.session.resume(request, sink).await
        });
        let passing = stream::unfold(queue, |mut queue| async move {
            let event = queue.recv().await?;
            let answer = proto::resume_response::Answer::Event(event);
            Some((proto::ResumeResponse { answer: Some(answer), error: None }, queue))
        });
        let last = stream::once(async move {
            match following.await {
                Ok(Ok(resolution)) => proto::ResumeResponse { answer: Some(resolution.into()), error: None },
                Ok(Err(error)) => proto::ResumeResponse::failed(error.into()),
                Err(_) => {
                    let text = "the provider failed while it looked for an action";
                    proto::ResumeResponse::failed(ProviderError::new(ErrorClass::Permanent, text).into())
                }
            }
        });
        Ok(Response::new(passing.chain(last).map(Ok).boxed()))
    }

    async fn upgrade_state(
        &self,
        request: Request<proto::UpgradeStateRequest>,
    ) -> Unary<proto::UpgradeStateResponse> {
        unary(self.upgrade(request.into_inner()).await)
    }

    async fn wrap_key(&self, request: Request<proto::WrapKeyRequest>) -> Unary<proto::WrapKeyResponse> {
        unary(self.wrapping(request.into_inner()).await)
    }

    async fn unwrap_key(&self, request: Request<proto::UnwrapKeyRequest>) -> Unary<proto::UnwrapKeyResponse> {
        unary(self.unwrapping(request.into_inner()).await)
    }

    async fn bootstrap_credential(
        &self,
        request: Request<proto::BootstrapCredentialRequest>,
    ) -> Unary<proto::BootstrapCredentialResponse> {
        unary(self.proving(request.into_inner()).await)
    }

    async fn verify_node(
        &self,
        request: Request<proto::VerifyNodeRequest>,
    ) -> Unary<proto::VerifyNodeResponse> {
        unary(self.verifying(request.into_inner()).await)
    }

    async fn instances(&self, request: Request<proto::InstancesRequest>) -> Unary<proto::InstancesResponse> {
        unary(self.finding_instances(request.into_inner()).await)
    }

    async fn import(&self, request: Request<proto::ImportRequest>) -> Unary<proto::ImportResponse> {
        unary(self.importing(request.into_inner()).await)
    }
}
