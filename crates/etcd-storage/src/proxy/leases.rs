//! The leases of a tenant.
//!
//! Each has a record in the core, attached to the lease itself: it is deleted at the moment the lease ends. All replicas
//! of a proxy, also those started later, know from it which leases are the tenant's.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tonic::Status;

use crate::api::etcdserverpb::kv_client::KvClient;
use crate::api::etcdserverpb::lease_client::LeaseClient;
use crate::api::etcdserverpb::{
    LeaseGrantRequest, LeaseGrantResponse, LeaseRevokeRequest, LeaseStatus, PutRequest, RangeRequest,
    ResponseHeader,
};

use super::core::Core;
use super::mask::Mask;
use super::records::{Records, random_id, range};
use super::translate::Attached;

const FOLDER: &str = "leases";

/// How many leases are remembered. Beyond that, all are forgotten and looked up again.
const REMEMBERED: usize = 100_000;

/// The leases of a tenant.
#[derive(Debug)]
pub struct Leases {
    core: Arc<Core>,
    records: Arc<Records>,
    mask: Mask,
    /// Leases that were the tenant's once. No id becomes that of another tenant, so this never gets wrong.
    owned: Mutex<HashSet<i64>>,
}

impl Leases {
    /// The leases that have records.
    pub fn new(core: Arc<Core>, records: Arc<Records>, mask: Mask) -> Self {
        Self { core, records, mask, owned: Mutex::default() }
    }

    /// Makes a lease and its record. A lease whose record cannot be written is revoked, and otherwise ends by itself.
    pub async fn grant(&self, mut request: LeaseGrantRequest) -> Result<LeaseGrantResponse, Status> {
        let inner = if request.id == 0 { random_id()? } else { request.id };
        let outer = self.mask.swap(inner);
        request.id = outer;
        let send = |channel, request| async move { LeaseClient::new(channel).lease_grant(request).await };
        let mut answer = self.core.call(request, send).await?;
        let record = PutRequest {
            key: self.records.key(name(inner).as_bytes()),
            lease: outer,
            ..PutRequest::default()
        };
        let send = |channel, record| async move { KvClient::new(channel).put(record).await };
        if let Err(status) = self.core.call(record, send).await {
            let send =
                |channel, request| async move { LeaseClient::new(channel).lease_revoke(request).await };
            if let Err(error) = self.core.call(LeaseRevokeRequest { id: outer }, send).await {
                tracing::warn!(%error, "a lease without a record stays until its time is over");
            }
            return Err(status);
        }
        self.remember(inner);
        answer.id = inner;
        Ok(answer)
    }

    /// The id in the core. For a lease that is not the tenant's it is an id that no lease has: the core then gives the
    /// answers that etcd gives for a lease that does not exist.
    pub async fn outer(&self, inner: i64) -> Result<i64, Status> {
        if inner == 0 || self.is_owned(inner).await? { Ok(self.mask.swap(inner)) } else { random_id() }
    }

    /// The ids in the core of the leases that a request attaches keys to.
    pub async fn attached(&self, leases: impl IntoIterator<Item = i64>) -> Result<Attached, Status> {
        let mut attached = Attached::new();
        for inner in leases {
            if inner != 0 && !attached.contains_key(&inner) {
                attached.insert(inner, self.outer(inner).await?);
            }
        }
        Ok(attached)
    }

    /// All leases of the tenant.
    pub async fn list(&self) -> Result<(Option<ResponseHeader>, Vec<LeaseStatus>), Status> {
        let (key, range_end) = self.records.range(FOLDER.as_bytes());
        let start = key.len();
        let request = RangeRequest { key, range_end, keys_only: true, ..RangeRequest::default() };
        let answer = range(&self.core, request).await?;
        let id = |key: &[u8]| u64::from_str_radix(std::str::from_utf8(key.get(start..)?).ok()?, 16).ok();
        let leases = answer.kvs.iter().filter_map(|kv| id(&kv.key));
        Ok((answer.header, leases.map(|id| LeaseStatus { id: id.cast_signed() }).collect()))
    }

    async fn is_owned(&self, inner: i64) -> Result<bool, Status> {
        if self.owned.lock().unwrap_or_else(PoisonError::into_inner).contains(&inner) {
            return Ok(true);
        }
        let key = self.records.key(name(inner).as_bytes());
        let found =
            range(&self.core, RangeRequest { key, count_only: true, ..RangeRequest::default() }).await?;
        if found.count > 0 {
            self.remember(inner);
        }
        Ok(found.count > 0)
    }

    fn remember(&self, inner: i64) {
        let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        if owned.len() >= REMEMBERED {
            owned.clear();
        }
        owned.insert(inner);
    }
}

/// The name of a lease's record.
fn name(inner: i64) -> String {
    format!("{FOLDER}/{:016x}", inner.cast_unsigned())
}
