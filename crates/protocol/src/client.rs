//! A provider in another process.

mod apply;
mod batch;
mod call;
mod cluster;
mod pulse;
mod session;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hyper_util::rt::TokioIo;
use slipway_resource::provider::{Info, SessionRequest, Terms};
use slipway_resource::{Provider, ProviderError, Schema, Session, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OnceCell;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

use crate::convert::schema_from_pages;
use crate::generated as proto;
use crate::generated::load_balancers_client::LoadBalancersClient;
use crate::generated::provider_client::ProviderClient;
use crate::generated::routes_client::RoutesClient;
use crate::wire::WireValue;
use crate::{FRAME_BYTES, Life, MESSAGE_LIMIT};
use call::malformed;
use pulse::Pulse;

pub use apply::{Recorded, recorded};

/// A provider behind a unix socket.
///
/// Messages are checked against the contract: an answer that does not match its request is an error. The end
/// of the other process is an error with its last output, and `outcome-unknown` for actions in progress.
#[derive(Clone, Debug)]
pub struct Client {
    connection: Arc<Connection>,
}

/// Timeouts of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Calls without network access: schema, plan, expand.
    pub pure: Duration,
    /// Calls that read from the cloud: discover, read, catalog, preflight.
    pub observe: Duration,
    /// Time that an action gets beyond its own timeout, for the transport.
    pub grace: Duration,
    /// How long a provider may leave keep-alive requests unanswered during a call, in whole seconds.
    pub silence: Duration,
}

/// [`Deadlines::silence`] of a provider on another machine, which is reached over a stream.
///
/// It is longer than for a process of this machine: TCP repeats lost packets after up to some seconds, and a small host
/// that unpacks images or starts etcd may leave its agent without a processor for longer than a local provider.
const FAR: Duration = Duration::from_secs(30);

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            pure: Duration::from_secs(120),
            observe: Duration::from_secs(300),
            grace: Duration::from_secs(30),
            silence: Duration::from_secs(8),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    rpc: ProviderClient<Channel>,
    balancers: LoadBalancersClient<Channel>,
    routes: RoutesClient<Channel>,
    life: Life,
    deadlines: Deadlines,
    pulse: Pulse,
    info: OnceCell<Info>,
    schema: OnceCell<Arc<Schema>>,
}

impl Client {
    /// Connects to a provider that listens on a socket.
    ///
    /// # Errors
    /// `transient` when no process listens there.
    pub async fn connect(socket: &Path, life: Life, deadlines: Deadlines) -> Result<Self, ProviderError> {
        let refused = |error: &dyn std::error::Error| {
            ProviderError::new(
                slipway_resource::ErrorClass::Transient,
                format!("provider {}: cannot connect to {}: {error}", life.name(), socket.display()),
            )
        };
        let endpoint = Endpoint::from_shared(format!("unix://{}", socket.display()))
            .map_err(|error| refused(&error))?
            .initial_stream_window_size(4 << 20)
            .initial_connection_window_size(16 << 20)
            .max_frame_size(FRAME_BYTES);
        let channel = endpoint.connect().await.map_err(|error| refused(&error))?;
        Ok(Self::on(channel, life, deadlines))
    }

    /// Calls a provider over a stream of bytes.
    ///
    /// # Errors
    /// `transient` when the other end does not answer.
    pub async fn over<S>(stream: S, life: Life, deadlines: Deadlines) -> Result<Self, ProviderError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let refused = |error: &dyn std::error::Error| {
            let text = format!("provider {}: no answer: {error}", life.name());
            ProviderError::new(slipway_resource::ErrorClass::Transient, text)
        };
        // There is only one stream: when it ends, so does the connection.
        let mut stream = Some(stream);
        let connector = service_fn(move |_: Uri| {
            let stream = stream.take().map(TokioIo::new);
            async move { stream.ok_or_else(|| std::io::Error::other("the connection has ended")) }
        });
        let endpoint = Endpoint::from_static("http://provider")
            .initial_stream_window_size(4 << 20)
            .initial_connection_window_size(16 << 20)
            .max_frame_size(FRAME_BYTES);
        let channel = endpoint.connect_with_connector(connector).await.map_err(|error| refused(&error))?;
        // The connection to another machine may be slow to start.
        let deadlines = Deadlines { silence: deadlines.silence.max(FAR), ..deadlines };
        let client = Self::on(channel, life, deadlines);
        // A stream counts as connected before its other end has read from it, so a first call checks it.
        client.connection.info().await?;
        Ok(client)
    }

    fn on(channel: Channel, life: Life, deadlines: Deadlines) -> Self {
        let balancers = LoadBalancersClient::new(channel.clone())
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        let routes = RoutesClient::new(channel.clone())
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        let rpc = ProviderClient::new(channel)
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        let connection = Connection {
            rpc,
            balancers,
            routes,
            life,
            deadlines,
            pulse: Pulse::default(),
            info: OnceCell::new(),
            schema: OnceCell::new(),
        };
        Self { connection: Arc::new(connection) }
    }

    /// Whether the provider left the last keep-alive request unanswered.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.connection.is_silent()
    }

    /// Whether the provider's process still runs, and its last output.
    #[must_use]
    pub fn life(&self) -> &Life {
        &self.connection.life
    }
}

impl Connection {
    async fn info(&self) -> Result<&Info, ProviderError> {
        let ask = async {
            let mut rpc = self.rpc.clone();
            let call = rpc.get_info(proto::GetInfoRequest {});
            let answer = self.unary(self.deadlines.pure, call).await?;
            Info::try_from(answer).map_err(|error| malformed(&self.life, &error))
        };
        self.info.get_or_try_init(|| ask).await
    }
}

#[async_trait]
impl Provider for Client {
    async fn info(&self) -> Result<Info, ProviderError> {
        self.connection.info().await.cloned()
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        let connection = &self.connection;
        let ask = async {
            let mut rpc = connection.rpc.clone();
            let call = rpc.get_schema(proto::GetSchemaRequest {});
            let mut pages = Vec::new();
            let take = |page| {
                pages.push(page);
                Ok(())
            };
            connection.pages(connection.deadlines.pure, call, take).await?;
            let schema = schema_from_pages(pages).map_err(|error| malformed(&connection.life, &error))?;
            Ok(Arc::new(schema))
        };
        connection.schema.get_or_try_init(|| ask).await.cloned()
    }

    async fn validate_config(&self, config: &Value) -> Result<Vec<String>, ProviderError> {
        let mut rpc = self.connection.rpc.clone();
        let call =
            rpc.validate_config(proto::ValidateConfigRequest { config: Some(WireValue::with_texts(config)) });
        let answer = self.connection.unary(self.connection.deadlines.pure, call).await?;
        Ok(answer.problems)
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        self.open_session_on(request, Terms::default()).await
    }

    async fn open_session_on(
        &self,
        request: SessionRequest,
        terms: Terms,
    ) -> Result<Arc<dyn Session>, ProviderError> {
        let batch = self.connection.info().await?.batch;
        let mut rpc = self.connection.rpc.clone();
        let call = rpc.open_session(crate::convert::on_terms(request, terms));
        let answer = self.connection.unary(self.connection.deadlines.observe, call).await?;
        let session = session::RemoteSession::new(Arc::clone(&self.connection), answer, batch);
        Ok(Arc::new(session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_provider_is_noticed_within_ten_seconds() {
        // The first question is sent after one second, and one second more may pass until the last one is counted.
        let silence = Deadlines::default().silence;
        assert!(silence <= Duration::from_secs(8), "{silence:?}");
        assert!(silence >= Duration::from_secs(5), "{silence:?} is too short for a machine with much to do");
        assert!(FAR <= Duration::from_secs(30), "{FAR:?}");
    }
}
