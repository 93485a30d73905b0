//! The proxy's records in the core for its tenant: the mask of its lease ids, and its compacted revision.
//! [`super::leases`] adds a record for each lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::api::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use crate::api::etcdserverpb::kv_client::KvClient;
use crate::api::etcdserverpb::request_op::Request;
use crate::api::etcdserverpb::{
    Compare, PutRequest, RangeRequest, RangeResponse, RequestOp, ResponseHeader, TxnRequest, TxnResponse,
};
use crate::api::mvccpb::KeyValue;

use super::core::Core;
use super::error::Error;
use super::keys::Keys;
use super::mask::Mask;
use super::refusal;
use super::tenant::Tenant;

/// The mask, which the first proxy of a tenant writes.
pub const MASK: &[u8] = b"lease-mask";
const COMPACTED: &[u8] = b"compacted";

/// How often a proxy checks whether another replica has compacted.
const LOOK: Duration = Duration::from_secs(10);

/// The records of a tenant.
#[derive(Debug)]
pub struct Records {
    core: Arc<Core>,
    keys: Keys,
    compacted: AtomicI64,
}

impl Records {
    /// Opens the records of a tenant and its mask, which the first proxy of the tenant creates. Refuses a
    /// prefix that has keys of another program, unless they are to be adopted: a tenant called `registry`
    /// would get the objects of a cluster.
    pub async fn open(core: Arc<Core>, tenant: &Tenant, adopt: bool) -> Result<(Self, Mask), Error> {
        let keys = Keys::below(tenant.records_prefix());
        let records = Self { core, keys, compacted: AtomicI64::new(0) };
        let mask = match records.read(MASK).await?.kvs.first() {
            Some(kept) => records.number(MASK, kept)?,
            None => records.begin(tenant, adopt).await?,
        };
        records.look().await?;
        Ok((records, Mask::new(mask)))
    }

    async fn begin(&self, tenant: &Tenant, adopt: bool) -> Result<i64, Error> {
        let (key, range_end) = Keys::of(tenant).all();
        let count = RangeRequest { key, range_end, count_only: true, ..RangeRequest::default() };
        if !adopt && range(&self.core, count).await?.count > 0 {
            return Err(Error::Occupied { tenant: tenant.clone() });
        }
        let mask = random_id().map_err(|_| Error::Random)?;
        // Another replica may write the mask first.
        self.write(MASK, mask, 0).await?;
        let kept = self.read(MASK).await?;
        kept.kvs.first().map_or_else(|| Err(self.damaged(MASK)), |kept| self.number(MASK, kept))
    }

    /// The key of the core of a record.
    pub fn key(&self, name: &[u8]) -> Bytes {
        self.keys.outer(name)
    }

    /// The records that begin with `name`.
    pub fn range(&self, name: &[u8]) -> (Bytes, Bytes) {
        let below = Keys::below(format!("{}/", String::from_utf8_lossy(&self.key(name))));
        below.all()
    }

    /// The revision that the tenant has compacted: it cannot read older ones.
    pub fn compacted(&self) -> i64 {
        self.compacted.load(Ordering::Relaxed)
    }

    /// Refuses a read at a revision that the tenant has compacted. 0 is the newest revision.
    pub fn check(&self, revision: i64) -> Result<(), Status> {
        if revision > 0 && revision < self.compacted() { Err(refusal::compacted()) } else { Ok(()) }
    }

    /// Compacts for this tenant, and for no other: the core keeps its history.
    pub async fn compact(&self, revision: i64) -> Result<Option<ResponseHeader>, Status> {
        loop {
            let kept = self.read(COMPACTED).await?;
            let (before, changed) = match kept.kvs.first() {
                Some(kept) => (
                    self.number(COMPACTED, kept).map_err(|_| refusal::shown(&Status::data_loss("record")))?,
                    kept.mod_revision,
                ),
                None => (0, 0),
            };
            self.compacted.fetch_max(before, Ordering::Relaxed);
            if revision <= before {
                return Err(refusal::compacted());
            }
            if revision > kept.header.as_ref().map_or(0, |header| header.revision) {
                return Err(refusal::future_revision());
            }
            let written = self.write(COMPACTED, revision, changed).await?;
            if written.succeeded {
                self.compacted.fetch_max(revision, Ordering::Relaxed);
                return Ok(written.header);
            }
        }
    }

    /// Follows compactions of other replicas, until it is stopped.
    pub async fn follow(&self, stop: &CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "the compacted revision cannot be read");
            }
        }
    }

    async fn look(&self) -> Result<(), Error> {
        if let Some(kept) = self.read(COMPACTED).await?.kvs.first() {
            self.compacted.fetch_max(self.number(COMPACTED, kept)?, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn read(&self, name: &[u8]) -> Result<RangeResponse, Status> {
        range(&self.core, RangeRequest { key: self.key(name), ..RangeRequest::default() }).await
    }

    /// Writes a record if it was changed last at this revision; 0 if it does not exist.
    async fn write(&self, name: &[u8], number: i64, changed: i64) -> Result<TxnResponse, Status> {
        let key = self.key(name);
        let unchanged = Compare {
            result: CompareResult::Equal.into(),
            target: CompareTarget::Mod.into(),
            key: key.clone(),
            range_end: Bytes::new(),
            target_union: Some(TargetUnion::ModRevision(changed)),
        };
        let put = PutRequest { key, value: number.to_string().into(), ..PutRequest::default() };
        let transaction = TxnRequest {
            compare: vec![unchanged],
            success: vec![RequestOp { request: Some(Request::RequestPut(put)) }],
            failure: Vec::new(),
        };
        let send = |channel, transaction| async move { KvClient::new(channel).txn(transaction).await };
        self.core.call(transaction, send).await
    }

    fn number(&self, name: &[u8], kept: &KeyValue) -> Result<i64, Error> {
        let text = std::str::from_utf8(&kept.value).ok();
        text.and_then(|text| text.parse().ok()).ok_or_else(|| self.damaged(name))
    }

    fn damaged(&self, name: &[u8]) -> Error {
        Error::Record(String::from_utf8_lossy(&self.key(name)).into_owned())
    }
}

/// Reads from the core. A page may be larger than what tonic accepts by default.
pub async fn range(core: &Core, request: RangeRequest) -> Result<RangeResponse, Status> {
    let send = |channel, request| async move {
        KvClient::new(channel).max_decoding_message_size(usize::MAX).range(request).await
    };
    core.call(request, send).await
}

/// A positive number that cannot be guessed.
pub fn random_id() -> Result<i64, Status> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Status::internal("etcdserver: no random numbers"))?;
    Ok((i64::from_be_bytes(bytes) & i64::MAX).max(1))
}
