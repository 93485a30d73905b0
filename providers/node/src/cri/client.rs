//! Calls of the CRI over the socket of a runtime: <https://github.com/kubernetes/cri-api>, `runtime.v1`.

use std::path::Path;
use std::time::Duration;

use tonic::Code;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

/// Where container runtimes listen, in kubeadm's order.
pub const SOCKETS: [&str; 3] =
    ["/var/run/containerd/containerd.sock", "/var/run/crio/crio.sock", "/var/run/cri-dockerd.sock"];

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);

/// A connection to a container runtime. Its messages are whatever its user reads of them.
pub struct Client {
    rpc: Grpc<Channel>,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The code; none when there was no answer.
    pub code: Option<Code>,
    /// The error as text.
    pub text: String,
}

impl Client {
    /// Connects to the runtime at a socket; `None` when no runtime listens there.
    pub async fn connect(socket: &Path) -> Option<Self> {
        let endpoint = Endpoint::from_shared(format!("unix://{}", socket.display())).ok()?;
        let channel = endpoint.connect_timeout(CONNECT).connect().await.ok()?;
        Some(Self { rpc: Grpc::new(channel) })
    }

    /// Calls a method, as `RuntimeService/Version`, with a time limit.
    ///
    /// # Errors
    /// When the runtime refuses, or does not answer in time.
    pub async fn ask<Q, A>(&mut self, method: &str, request: Q, patience: Duration) -> Result<A, Failure>
    where
        Q: prost::Message + Default + 'static,
        A: prost::Message + Default + 'static,
    {
        let failed = |code: Option<Code>, text: &str| Failure { code, text: format!("{method}: {text}") };
        let path: PathAndQuery =
            format!("/runtime.v1.{method}").parse().map_err(|_| failed(None, "no such call"))?;
        self.rpc.ready().await.map_err(|error| failed(None, &error.to_string()))?;
        let call = self.rpc.unary(tonic::Request::new(request), path, ProstCodec::default());
        match tokio::time::timeout(patience, call).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(failed(Some(status.code()), status.message())),
            Err(_) => Err(failed(None, &format!("no answer within {} s", patience.as_secs()))),
        }
    }
}
