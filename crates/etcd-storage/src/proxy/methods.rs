//! The methods that exist for a tenant. All others are refused before a message of them is read.

use std::convert::Infallible;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tonic::body::Body;
use tower::Service;

use crate::api::etcdserverpb::cluster_server::ClusterServer;
use crate::api::etcdserverpb::kv_server::KvServer;
use crate::api::etcdserverpb::lease_server::LeaseServer;
use crate::api::etcdserverpb::maintenance_server::MaintenanceServer;
use crate::api::etcdserverpb::watch_server::WatchServer;

use super::refusal;
use super::services::Server;

/// The size of a message beyond the limit of a request, as in etcd: room for its frame.
const OVERHEAD: usize = 512 << 10;

/// Sends requests to the services, by the method that is in their path.
///
/// The methods that are missing in [`Methods::call`] act on the whole etcd (`Snapshot`, `Defragment`, `Alarm`, `Hash`,
/// `HashKV`, `MoveLeader`, `Downgrade`, changes of members) or on its users (all of `Auth`).
#[derive(Clone, Debug)]
pub struct Methods {
    keys: KvServer<Server>,
    watches: WatchServer<Server>,
    leases: LeaseServer<Server>,
    members: ClusterServer<Server>,
    status: MaintenanceServer<Server>,
}

impl Methods {
    /// The methods of a server.
    pub fn new(server: Server) -> Self {
        let message = server.0.limits.request_bytes + OVERHEAD;
        Self {
            keys: KvServer::new(server.clone()).max_decoding_message_size(message),
            watches: WatchServer::new(server.clone()).max_decoding_message_size(message),
            leases: LeaseServer::new(server.clone()).max_decoding_message_size(message),
            members: ClusterServer::new(server.clone()),
            status: MaintenanceServer::new(server),
        }
    }
}

impl Service<http::Request<Body>> for Methods {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<http::Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let Some((service, method)) =
            request.uri().path().strip_prefix("/etcdserverpb.").and_then(|path| path.split_once('/'))
        else {
            return Box::pin(std::future::ready(Ok(refusal::not_allowed().into_http())));
        };
        match (service, method) {
            ("KV", "Range" | "Put" | "DeleteRange" | "Txn" | "Compact") => self.keys.call(request),
            ("Watch", "Watch") => self.watches.call(request),
            (
                "Lease",
                "LeaseGrant" | "LeaseRevoke" | "LeaseKeepAlive" | "LeaseTimeToLive" | "LeaseLeases",
            ) => self.leases.call(request),
            ("Cluster", "MemberList") => self.members.call(request),
            ("Maintenance", "Status") => self.status.call(request),
            _ => Box::pin(std::future::ready(Ok(refusal::not_allowed().into_http()))),
        }
    }
}
