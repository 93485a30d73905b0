//! The status, as far as clients need it.

use tonic::{Request, Response, Status};

use crate::api::etcdserverpb::maintenance_client::MaintenanceClient;
use crate::api::etcdserverpb::maintenance_server::Maintenance;
use crate::api::etcdserverpb::{StatusRequest, StatusResponse};
use crate::proxy::refusal;

use super::Server;

#[tonic::async_trait]
impl Maintenance for Server {
    /// Clients decide by the version what etcd can do, and show the size. The size is the tenant's own. Progress of
    /// raft, alarms and the quota of the core belong to all tenants and are left out.
    async fn status(&self, request: Request<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        let parts = &self.0;
        parts.pace.take().await?;
        let send = |channel, request| async move { MaintenanceClient::new(channel).status(request).await };
        let answer = parts.core.call(request.into_inner(), send).await;
        let answer = answer.map_err(|status| refusal::shown(&status))?;
        let size = i64::try_from(parts.usage.bytes()).unwrap_or(i64::MAX);
        Ok(Response::new(StatusResponse {
            header: answer.header,
            version: answer.version,
            leader: answer.leader,
            raft_term: answer.raft_term,
            is_learner: answer.is_learner,
            storage_version: answer.storage_version,
            db_size: size,
            db_size_in_use: size,
            db_size_quota: parts.limits.bytes.map_or(0, |limit| i64::try_from(limit).unwrap_or(i64::MAX)),
            ..StatusResponse::default()
        }))
    }
}
