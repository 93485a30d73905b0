//! A provider that misbehaves in one call: it hands everything else on to one that does not.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::{Stream, StreamExt, stream};
use slipway_protocol::Answer;
use slipway_protocol::generated as proto;
use slipway_protocol::generated::apply_event::Event;
use slipway_protocol::generated::apply_request::Action;
use slipway_protocol::generated::observed::Observation;
use slipway_protocol::generated::provider_client::ProviderClient;
use slipway_protocol::generated::provider_server::Provider;
use slipway_protocol::wire::WireValue;
use slipway_resource::{Path, Value};
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status, Streaming};

/// An address that is not asked for.
const OTHER: &str = "sim_network.other";

/// A call of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    GetInfo,
    GetSchema,
    OpenSession,
    Catalog,
    Expand,
    Discover,
    Read,
    Plan,
    Preflight,
    Apply,
    Resume,
    ValidateConfig,
    Locate,
    Nodes,
    Rehearse,
    Price,
    UpgradeState,
    Import,
    WrapKey,
    UnwrapKey,
    CloseSession,
    None,
}

/// The provider's misbehaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misdeed {
    /// A status of gRPC.
    Status(Code),
    /// This call never ends; others are answered.
    Hang,
    /// From this call on nothing is answered any more.
    Deaf,
    /// An answer with nothing in it.
    Empty,
    /// A failure of this class, for ever.
    Fail(i32),
    /// The stream ends before it has begun.
    End,
    /// The answer never stops.
    Endless,
    /// It reports wrong facts about networks.
    Lie(Lie),
}

/// A lie about a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    NoIdentity,
    EmptyIdentity,
    OtherIdentity,
    UnknownValue,
    OtherValue,
    NoValue,
    UnknownToken,
    UnknownEnd,
    Flood,
    PlannedOtherValue,
    PlannedOtherText,
    TooMany,
    TooFew,
    ForeignType,
    OtherAddress,
    NotDeleted,
}

/// The provider.
pub struct Proxy {
    pub good: ProviderClient<Channel>,
    pub call: Call,
    pub misdeed: Misdeed,
    pub deaf: Arc<AtomicBool>,
}

type Pages<A> = Pin<Box<dyn Stream<Item = Result<A, Status>> + Send>>;

fn failed<A: Answer>(class: i32) -> A {
    A::failed(proto::Error { class, message: "hostile".to_owned(), ..proto::Error::default() })
}

impl Proxy {
    async fn begin(&self, call: Call) -> bool {
        let misbehaves = self.call == call;
        if misbehaves && self.misdeed == Misdeed::Deaf {
            self.deaf.store(true, Ordering::Relaxed);
        }
        if self.deaf.load(Ordering::Relaxed) || (misbehaves && self.misdeed == Misdeed::Hang) {
            std::future::pending::<()>().await;
        }
        misbehaves
    }

    async fn one<A: Answer>(
        &self,
        call: Call,
        answer: impl Future<Output = Result<Response<A>, Status>>,
    ) -> Result<Response<A>, Status> {
        if !self.begin(call).await {
            return answer.await;
        }
        match self.misdeed {
            Misdeed::Status(code) => Err(Status::new(code, "hostile")),
            Misdeed::Fail(class) => Ok(Response::new(failed(class))),
            Misdeed::Empty => Ok(Response::new(A::default())),
            Misdeed::End | Misdeed::Endless => Err(Status::cancelled("hostile")),
            _ => answer.await,
        }
    }

    async fn many<A: Answer + Send + 'static>(
        &self,
        call: Call,
        answer: impl Future<Output = Result<Response<Streaming<A>>, Status>>,
        lie: impl Fn(Lie, A) -> A + Send + 'static,
    ) -> Result<Response<Pages<A>>, Status> {
        let misbehaves = self.begin(call).await;
        let pages: Pages<A> = match self.misdeed {
            Misdeed::Status(code) if misbehaves => return Err(Status::new(code, "hostile")),
            Misdeed::Fail(class) if misbehaves => stream::iter([Ok(failed(class))]).boxed(),
            Misdeed::Empty if misbehaves => stream::iter([Ok(A::default())]).boxed(),
            Misdeed::End if misbehaves => stream::empty().boxed(),
            Misdeed::Endless if misbehaves => stream::repeat_with(|| Ok(A::default())).boxed(),
            Misdeed::Lie(which) if misbehaves => {
                answer.await?.into_inner().map(move |page| page.map(|page| lie(which, page))).boxed()
            }
            _ => answer.await?.into_inner().boxed(),
        };
        Ok(Response::new(pages))
    }
}

fn truth<A>(_: Lie, page: A) -> A {
    page
}

fn set(value: &mut Option<WireValue>, name: &str, to: Value) {
    let mut attributes = value.take().and_then(|value| value.value().ok()).unwrap_or_default();
    attributes.set(&Path::key(name), to);
    *value = Some(WireValue::new(&attributes));
}

fn is_network(value: Option<&WireValue>) -> bool {
    let attributes = value.cloned().and_then(|value| value.value().ok()).unwrap_or_default();
    attributes.get("default_security_group_id").is_some()
}

fn told(lie: Lie, mut message: proto::ApplyEvents) -> proto::ApplyEvents {
    let mut more = Vec::new();
    for event in &mut message.events {
        match (&mut event.event, lie) {
            (Some(Event::Done(applied)), _) if is_network(applied.attributes.as_ref()) => match lie {
                Lie::NoIdentity => applied.identity = None,
                Lie::EmptyIdentity => applied.identity = Some(String::new()),
                Lie::OtherIdentity => applied.identity = Some("net-666".to_owned()),
                Lie::UnknownValue => set(&mut applied.attributes, "cidr", Value::Unknown),
                Lie::OtherValue => set(&mut applied.attributes, "cidr", "6.6.6.0/24".into()),
                Lie::NoValue => set(&mut applied.attributes, "cidr", Value::Null),
                _ => {}
            },
            (Some(Event::Started(_)), Lie::UnknownToken) => more.push(proto::ApplyEvent {
                token: "666".to_owned(),
                event: Some(Event::Progress("hostile".to_owned())),
            }),
            (Some(Event::Done(applied)), Lie::UnknownEnd) => more.push(proto::ApplyEvent {
                token: "666".to_owned(),
                event: Some(Event::Done(applied.clone())),
            }),
            (Some(Event::Identity(_)), Lie::Flood) => {
                let flood = proto::ApplyEvent {
                    token: event.token.clone(),
                    event: Some(Event::Progress("hostile".to_owned())),
                };
                more.extend(std::iter::repeat_n(flood, 200_000));
            }
            _ => {}
        }
    }
    // Before what is true, so that it is not too late.
    more.append(&mut message.events);
    message.events = more;
    message
}

fn planned(lie: Lie, mut message: proto::PlanResponse) -> proto::PlanResponse {
    match lie {
        Lie::TooMany => message.planned.push(proto::Planned::default()),
        Lie::TooFew => drop(message.planned.pop()),
        Lie::PlannedOtherValue => {
            for planned in &mut message.planned {
                planned.normalised_same_as = 0;
                set(&mut planned.normalised, "min_size", 666_i64.into());
                set(&mut planned.normalised, "size", 666_i64.into());
            }
        }
        Lie::PlannedOtherText => {
            for planned in &mut message.planned {
                planned.normalised_same_as = 0;
                set(&mut planned.normalised, "name", "hostile".into());
            }
        }
        _ => {}
    }
    message
}

fn discovered(lie: Lie, mut message: proto::DiscoverResponse) -> proto::DiscoverResponse {
    for observed in &mut message.observed {
        match lie {
            Lie::ForeignType => observed.address = "alien_network.main".to_owned(),
            Lie::EmptyIdentity => observed.identity = String::new(),
            _ => {}
        }
    }
    message
}

/// Deletes no network: it is tagged instead, and that is reported as the end of the deletion.
fn spared(mut message: proto::ApplyRequests) -> proto::ApplyRequests {
    for request in &mut message.requests {
        let identity = match &request.action {
            Some(Action::Delete(delete)) if request.address.starts_with("sim_network.") => {
                delete.identity.clone()
            }
            _ => continue,
        };
        request.action = Some(Action::Tag(proto::Tag { identity }));
    }
    message
}

fn located(lie: Lie, mut message: proto::LocateResponse) -> proto::LocateResponse {
    if lie == Lie::OtherAddress {
        for located in &mut message.located {
            located.address = OTHER.to_owned();
        }
    }
    message
}

/// An object that was not asked for.
fn elsewhere() -> proto::ImportResponse {
    let observed = proto::Observed {
        address: OTHER.to_owned(),
        identity: "net-666".to_owned(),
        observation: Some(Observation::Present(WireValue::new(&Value::map([("name", "other")])))),
        ..proto::Observed::default()
    };
    proto::ImportResponse { observed: Some(observed), error: None }
}

macro_rules! unary {
    ($self:ident, $call:expr, $method:ident, $request:ident) => {{
        let mut good = $self.good.clone();
        $self.one($call, async move { good.$method($request).await }).await
    }};
}

macro_rules! paged {
    ($self:ident, $call:expr, $method:ident, $request:ident, $lie:expr) => {{
        let mut good = $self.good.clone();
        $self.many($call, async move { good.$method($request).await }, $lie).await
    }};
}

type Answered<A> = Result<Response<A>, Status>;

#[tonic::async_trait]
impl Provider for Proxy {
    type GetSchemaStream = Pages<proto::GetSchemaResponse>;
    type CatalogStream = Pages<proto::CatalogResponse>;
    type ExpandStream = Pages<proto::ExpandResponse>;
    type DiscoverStream = Pages<proto::DiscoverResponse>;
    type ReadStream = Pages<proto::ReadResponse>;
    type LocateStream = Pages<proto::LocateResponse>;
    type NodesStream = Pages<proto::NodesResponse>;
    type RehearseStream = Pages<proto::RehearseResponse>;
    type PlanStream = Pages<proto::PlanResponse>;
    type ApplyStream = Pages<proto::ApplyEvents>;
    type ResumeStream = Pages<proto::ResumeResponse>;

    async fn get_info(&self, request: Request<proto::GetInfoRequest>) -> Answered<proto::GetInfoResponse> {
        unary!(self, Call::GetInfo, get_info, request)
    }

    async fn get_schema(&self, request: Request<proto::GetSchemaRequest>) -> Answered<Self::GetSchemaStream> {
        paged!(self, Call::GetSchema, get_schema, request, truth)
    }

    async fn validate_config(
        &self,
        request: Request<proto::ValidateConfigRequest>,
    ) -> Answered<proto::ValidateConfigResponse> {
        unary!(self, Call::ValidateConfig, validate_config, request)
    }

    async fn open_session(
        &self,
        request: Request<proto::OpenSessionRequest>,
    ) -> Answered<proto::OpenSessionResponse> {
        unary!(self, Call::OpenSession, open_session, request)
    }

    async fn close_session(
        &self,
        request: Request<proto::CloseSessionRequest>,
    ) -> Answered<proto::CloseSessionResponse> {
        unary!(self, Call::CloseSession, close_session, request)
    }

    async fn cancel(&self, request: Request<proto::CancelRequest>) -> Answered<proto::CancelResponse> {
        unary!(self, Call::None, cancel, request)
    }

    async fn catalog(&self, request: Request<proto::CatalogRequest>) -> Answered<Self::CatalogStream> {
        paged!(self, Call::Catalog, catalog, request, truth)
    }

    async fn expand(&self, request: Request<proto::ExpandRequest>) -> Answered<Self::ExpandStream> {
        paged!(self, Call::Expand, expand, request, truth)
    }

    async fn discover(&self, request: Request<proto::DiscoverRequest>) -> Answered<Self::DiscoverStream> {
        paged!(self, Call::Discover, discover, request, discovered)
    }

    async fn read(&self, request: Request<proto::ReadRequest>) -> Answered<Self::ReadStream> {
        paged!(self, Call::Read, read, request, truth)
    }

    async fn locate(&self, request: Request<proto::LocateRequest>) -> Answered<Self::LocateStream> {
        paged!(self, Call::Locate, locate, request, located)
    }

    async fn nodes(&self, request: Request<proto::NodesRequest>) -> Answered<Self::NodesStream> {
        paged!(self, Call::Nodes, nodes, request, truth)
    }

    async fn rehearse(&self, request: Request<proto::PlanRequest>) -> Answered<Self::RehearseStream> {
        paged!(self, Call::Rehearse, rehearse, request, truth)
    }

    async fn plan(&self, request: Request<proto::PlanRequest>) -> Answered<Self::PlanStream> {
        paged!(self, Call::Plan, plan, request, planned)
    }

    async fn preflight(
        &self,
        request: Request<proto::PreflightRequest>,
    ) -> Answered<proto::PreflightResponse> {
        unary!(self, Call::Preflight, preflight, request)
    }

    async fn price(&self, request: Request<proto::PriceRequest>) -> Answered<proto::PriceResponse> {
        unary!(self, Call::Price, price, request)
    }

    async fn apply(&self, request: Request<Streaming<proto::ApplyRequests>>) -> Answered<Self::ApplyStream> {
        let spares = self.call == Call::Apply && self.misdeed == Misdeed::Lie(Lie::NotDeleted);
        let requests = request.into_inner().filter_map(move |message| {
            let message = message.ok().map(|message| if spares { spared(message) } else { message });
            std::future::ready(message)
        });
        let mut good = self.good.clone();
        self.many(Call::Apply, async move { good.apply(requests).await }, told).await
    }

    async fn resume(&self, request: Request<proto::ResumeRequest>) -> Answered<Self::ResumeStream> {
        paged!(self, Call::Resume, resume, request, truth)
    }

    async fn upgrade_state(
        &self,
        request: Request<proto::UpgradeStateRequest>,
    ) -> Answered<proto::UpgradeStateResponse> {
        unary!(self, Call::UpgradeState, upgrade_state, request)
    }

    async fn import(&self, request: Request<proto::ImportRequest>) -> Answered<proto::ImportResponse> {
        if self.call == Call::Import && self.misdeed == Misdeed::Lie(Lie::OtherAddress) {
            return Ok(Response::new(elsewhere()));
        }
        unary!(self, Call::Import, import, request)
    }

    async fn wrap_key(&self, request: Request<proto::WrapKeyRequest>) -> Answered<proto::WrapKeyResponse> {
        unary!(self, Call::WrapKey, wrap_key, request)
    }

    async fn unwrap_key(
        &self,
        request: Request<proto::UnwrapKeyRequest>,
    ) -> Answered<proto::UnwrapKeyResponse> {
        unary!(self, Call::UnwrapKey, unwrap_key, request)
    }

    async fn bootstrap_credential(
        &self,
        request: Request<proto::BootstrapCredentialRequest>,
    ) -> Answered<proto::BootstrapCredentialResponse> {
        unary!(self, Call::None, bootstrap_credential, request)
    }

    async fn verify_node(
        &self,
        request: Request<proto::VerifyNodeRequest>,
    ) -> Answered<proto::VerifyNodeResponse> {
        unary!(self, Call::None, verify_node, request)
    }

    async fn instances(
        &self,
        request: Request<proto::InstancesRequest>,
    ) -> Answered<proto::InstancesResponse> {
        unary!(self, Call::None, instances, request)
    }
}
