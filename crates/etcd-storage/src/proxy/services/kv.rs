//! Keys: reads, writes, transactions, compaction.

use prost::Message;
use tonic::{Request, Response, Status};

use crate::api::etcdserverpb::kv_client::KvClient;
use crate::api::etcdserverpb::kv_server::Kv;
use crate::api::etcdserverpb::{
    CompactionRequest, CompactionResponse, DeleteRangeRequest, DeleteRangeResponse, PutRequest, PutResponse,
    RangeRequest, RangeResponse, ResponseHeader, TxnRequest, TxnResponse,
};
use crate::proxy::records::range;
use crate::proxy::refusal;
use crate::proxy::translate::{has_written, leases_of, oldest_revision};
use crate::proxy::usage::{of_put, of_transaction};

use super::{Parts, Server};

impl Parts {
    /// Checks a write before anything of it is done.
    fn check_size(&self, request: &impl Message) -> Result<(), Status> {
        if request.encoded_len() > self.limits.request_bytes { Err(refusal::too_large()) } else { Ok(()) }
    }
}

fn revision(header: Option<&ResponseHeader>) -> i64 {
    header.map_or(0, |header| header.revision)
}

#[tonic::async_trait]
impl Kv for Server {
    async fn range(&self, request: Request<RangeRequest>) -> Result<Response<RangeResponse>, Status> {
        let (parts, request) = (&self.0, request.into_inner());
        parts.pace.take().await?;
        parts.records.check(request.revision)?;
        let answer = range(&parts.core, parts.translator.range(request)).await;
        let answer = answer.map_err(|status| refusal::shown(&status))?;
        Ok(Response::new(parts.translator.range_answer(answer)))
    }

    async fn put(&self, request: Request<PutRequest>) -> Result<Response<PutResponse>, Status> {
        let (parts, request) = (&self.0, request.into_inner());
        parts.pace.take().await?;
        parts.check_size(&request)?;
        let shown = |status| refusal::shown(&status);
        let attached = parts.leases.attached([request.lease]).await.map_err(shown)?;
        let reserved = parts.usage.reserve(|now| of_put(&request, now))?;
        let send = |channel, request| async move {
            KvClient::new(channel).max_decoding_message_size(usize::MAX).put(request).await
        };
        let answer = parts.core.call(parts.translator.put(request, &attached), send).await.map_err(shown)?;
        reserved.written(revision(answer.header.as_ref()));
        Ok(Response::new(parts.translator.put_answer(answer)))
    }

    async fn delete_range(
        &self,
        request: Request<DeleteRangeRequest>,
    ) -> Result<Response<DeleteRangeResponse>, Status> {
        let (parts, request) = (&self.0, request.into_inner());
        parts.pace.take().await?;
        parts.check_size(&request)?;
        let send = |channel, request| async move {
            KvClient::new(channel).max_decoding_message_size(usize::MAX).delete_range(request).await
        };
        let answer = parts.core.call(parts.translator.delete(request), send).await;
        let answer = answer.map_err(|status| refusal::shown(&status))?;
        Ok(Response::new(parts.translator.delete_answer(answer)))
    }

    async fn txn(&self, request: Request<TxnRequest>) -> Result<Response<TxnResponse>, Status> {
        let (parts, request) = (&self.0, request.into_inner());
        parts.pace.take().await?;
        parts.check_size(&request)?;
        parts.records.check(oldest_revision(&request))?;
        let shown = |status| refusal::shown(&status);
        let attached = parts.leases.attached(leases_of(&request)).await.map_err(shown)?;
        let reserved = parts.usage.reserve(|now| of_transaction(&request, now))?;
        let request = parts.translator.transaction(request, &attached);
        let send = |channel, request| async move {
            KvClient::new(channel).max_decoding_message_size(usize::MAX).txn(request).await
        };
        let answer = parts.core.call(request, send).await.map_err(shown)?;
        if has_written(&answer) {
            reserved.written(revision(answer.header.as_ref()));
        }
        Ok(Response::new(parts.translator.transaction_answer(answer)))
    }

    async fn compact(
        &self,
        request: Request<CompactionRequest>,
    ) -> Result<Response<CompactionResponse>, Status> {
        let parts = &self.0;
        parts.pace.take().await?;
        let header = parts.records.compact(request.into_inner().revision).await;
        Ok(Response::new(CompactionResponse { header: header.map_err(|status| refusal::shown(&status))? }))
    }
}
