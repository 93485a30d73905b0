//! The members: for a tenant there is one, the proxy.

use tonic::{Request, Response, Status};

use crate::api::etcdserverpb::cluster_server::Cluster;
use crate::api::etcdserverpb::{Member, MemberListRequest, MemberListResponse, RangeRequest};
use crate::proxy::records::range;
use crate::proxy::refusal;

use super::Server;

const NAME: &str = "slipway-etcd-storage";

#[tonic::async_trait]
impl Cluster for Server {
    /// Clients that look for all members of a cluster find the proxy's own URL. Without one, the method is refused:
    /// a list without URLs would leave the client without any.
    async fn member_list(
        &self,
        _: Request<MemberListRequest>,
    ) -> Result<Response<MemberListResponse>, Status> {
        let parts = &self.0;
        parts.pace.take().await?;
        let url = parts.advertise.clone().ok_or_else(refusal::not_allowed)?;
        // The header is that of a read of nothing.
        let nothing = RangeRequest { key: parts.records.key(b"none"), ..RangeRequest::default() };
        let answer = range(&parts.core, nothing).await.map_err(|status| refusal::shown(&status))?;
        let member = Member {
            id: answer.header.as_ref().map_or(0, |header| header.member_id),
            name: NAME.to_owned(),
            peer_ur_ls: Vec::new(),
            client_ur_ls: vec![url],
            is_learner: false,
        };
        Ok(Response::new(MemberListResponse { header: answer.header, members: vec![member] }))
    }
}
