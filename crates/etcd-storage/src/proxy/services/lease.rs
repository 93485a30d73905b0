//! Leases.

use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, Streaming};

use crate::api::etcdserverpb::lease_client::LeaseClient;
use crate::api::etcdserverpb::lease_server::Lease;
use crate::api::etcdserverpb::{
    LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseLeasesRequest,
    LeaseLeasesResponse, LeaseRevokeRequest, LeaseRevokeResponse, LeaseTimeToLiveRequest,
    LeaseTimeToLiveResponse,
};
use crate::proxy::refusal;

use super::{Server, keep_alive};

#[tonic::async_trait]
impl Lease for Server {
    async fn lease_grant(
        &self,
        request: Request<LeaseGrantRequest>,
    ) -> Result<Response<LeaseGrantResponse>, Status> {
        self.0.pace.take().await?;
        let granted = self.0.leases.grant(request.into_inner()).await;
        granted.map(Response::new).map_err(|status| refusal::shown(&status))
    }

    async fn lease_revoke(
        &self,
        request: Request<LeaseRevokeRequest>,
    ) -> Result<Response<LeaseRevokeResponse>, Status> {
        let parts = &self.0;
        parts.pace.take().await?;
        let shown = |status| refusal::shown(&status);
        let id = parts.leases.outer(request.into_inner().id).await.map_err(shown)?;
        let send = |channel, request| async move { LeaseClient::new(channel).lease_revoke(request).await };
        parts.core.call(LeaseRevokeRequest { id }, send).await.map(Response::new).map_err(shown)
    }

    async fn lease_keep_alive(
        &self,
        request: Request<Streaming<LeaseKeepAliveRequest>>,
    ) -> Result<Response<BoxStream<LeaseKeepAliveResponse>>, Status> {
        keep_alive::open(&self.0, request)
    }

    async fn lease_time_to_live(
        &self,
        request: Request<LeaseTimeToLiveRequest>,
    ) -> Result<Response<LeaseTimeToLiveResponse>, Status> {
        let (parts, request) = (&self.0, request.into_inner());
        parts.pace.take().await?;
        let shown = |status| refusal::shown(&status);
        let outer =
            LeaseTimeToLiveRequest { id: parts.leases.outer(request.id).await.map_err(shown)?, ..request };
        let send = |channel, request| async move {
            LeaseClient::new(channel).max_decoding_message_size(usize::MAX).lease_time_to_live(request).await
        };
        let answer = parts.core.call(outer, send).await.map_err(shown)?;
        // The record of the lease is attached to it too, and is not the tenant's.
        let keys = answer.keys.iter().filter_map(|key| parts.translator.keys.inner(key)).collect();
        Ok(Response::new(LeaseTimeToLiveResponse { id: request.id, keys, ..answer }))
    }

    async fn lease_leases(
        &self,
        _: Request<LeaseLeasesRequest>,
    ) -> Result<Response<LeaseLeasesResponse>, Status> {
        self.0.pace.take().await?;
        let (header, leases) = self.0.leases.list().await.map_err(|status| refusal::shown(&status))?;
        Ok(Response::new(LeaseLeasesResponse { header, leases }))
    }
}
