//! How many keys and bytes a tenant has, and its quota of them.
//!
//! The proxy lists the tenant's keys when it starts and follows them with a watch. A write is checked against what the
//! watch has seen and what this proxy has sent since. Replicas learn of each other's writes from the watch, so that
//! together they may exceed a quota by what they write at the same moment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

use crate::api::etcdserverpb::request_op::Request;
use crate::api::etcdserverpb::watch_client::WatchClient;
use crate::api::etcdserverpb::watch_request::RequestUnion;
use crate::api::etcdserverpb::{
    PutRequest, RangeRequest, RequestOp, TxnRequest, WatchCreateRequest, WatchRequest, WatchResponse,
};
use crate::api::mvccpb::event::EventType;
use crate::api::mvccpb::{Event, KeyValue};

use super::core::Core;
use super::keys::Keys;
use super::records::range;
use super::refusal;
use super::settings::Limits;

/// How many keys are listed at a time.
const PAGE: i64 = 500;
/// The pause before the watch is started again.
const PAUSE: Duration = Duration::from_secs(1);

/// The growth by a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// New keys.
    pub keys: u64,
    /// Bytes of keys and values, without what they replace.
    pub bytes: u64,
}

/// The usage of a tenant.
#[derive(Debug)]
pub struct Usage {
    core: Arc<Core>,
    keys: Keys,
    limits: Limits,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The bytes of each key with its newest value.
    sizes: HashMap<Box<[u8]>, u64>,
    bytes: u64,
    /// Writes that the watch has not shown yet, by a number of their own.
    sent: HashMap<u64, Sent>,
    next: u64,
    /// The newest revision that the watch has shown.
    seen: i64,
}

#[derive(Debug)]
struct Sent {
    growth: Growth,
    /// The revision of the write, once the core has answered.
    revision: Option<i64>,
}

/// A write that counts. It counts no longer when it is dropped, unless it was [`Reserved::written`].
#[derive(Debug)]
pub struct Reserved<'a> {
    usage: &'a Usage,
    number: u64,
}

impl Usage {
    /// Nothing is known yet: call [`Usage::count`] first.
    pub fn new(core: Arc<Core>, keys: Keys, limits: Limits) -> Self {
        Self { core, keys, limits, known: Mutex::default() }
    }

    /// Bytes of the tenant's keys and newest values.
    pub fn bytes(&self) -> u64 {
        self.known().bytes
    }

    /// Lets a write begin, or refuses it because it does not fit into the quota.
    pub fn reserve(
        &self,
        growth: impl FnOnce(&dyn Fn(&[u8]) -> Option<u64>) -> Growth,
    ) -> Result<Reserved<'_>, Status> {
        let mut known = self.known();
        let growth = growth(&|key| known.sizes.get(key).copied());
        let (mut keys, mut bytes) = (known.sizes.len() as u64, known.bytes);
        for sent in known.sent.values() {
            keys += sent.growth.keys;
            bytes += sent.growth.bytes;
        }
        let exceeds = |added: u64, used: u64, limit: Option<u64>| {
            added > 0 && limit.is_some_and(|limit| used.saturating_add(added) > limit)
        };
        if exceeds(growth.keys, keys, self.limits.keys) || exceeds(growth.bytes, bytes, self.limits.bytes) {
            return Err(refusal::no_space());
        }
        let number = known.next;
        known.next += 1;
        known.sent.insert(number, Sent { growth, revision: None });
        Ok(Reserved { usage: self, number })
    }

    /// Counts what the tenant has now.
    ///
    /// # Errors
    /// The core's.
    pub async fn count(&self) -> Result<(), Status> {
        'again: loop {
            let (mut from, end) = self.keys.all();
            let (mut sizes, mut bytes, mut revision) = (HashMap::new(), 0, 0);
            loop {
                let request = RangeRequest {
                    key: from.clone(),
                    range_end: end.clone(),
                    limit: PAGE,
                    revision,
                    ..RangeRequest::default()
                };
                let page = match range(&self.core, request).await {
                    // Compacted while it was listed.
                    Err(status) if status.code() == Code::OutOfRange => continue 'again,
                    page => page?,
                };
                if revision == 0 {
                    revision = page.header.as_ref().map_or(0, |header| header.revision);
                }
                for kv in &page.kvs {
                    if let Some(key) = self.keys.inner(&kv.key) {
                        bytes += size(&key, kv);
                        sizes.insert(Box::from(&*key), size(&key, kv));
                    }
                }
                match page.kvs.last() {
                    Some(last) if page.more => from = following(&last.key),
                    _ => break,
                }
            }
            let mut known = self.known();
            (known.sizes, known.bytes, known.seen) = (sizes, bytes, revision);
            known.forget_shown();
            return Ok(());
        }
    }

    /// Follows the tenant's keys until it is stopped.
    pub async fn follow(&self, stop: &CancellationToken) {
        loop {
            let followed = stop.run_until_cancelled(self.watch()).await;
            match followed {
                None => return,
                Some(Ok(())) => {}
                Some(Err(error)) => tracing::warn!(%error, "the keys of the tenant cannot be followed"),
            }
            if stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
                return;
            }
        }
    }

    /// Follows the core until it ends the watch. Revisions that were compacted in between are counted again.
    async fn watch(&self) -> Result<(), Status> {
        let (key, range_end) = self.keys.all();
        let create = WatchCreateRequest {
            key,
            range_end,
            start_revision: self.known().seen + 1,
            ..WatchCreateRequest::default()
        };
        let request = WatchRequest { request_union: Some(RequestUnion::CreateRequest(create)) };
        let send = |channel, request| async move {
            let requests = stream::once(async { request }).chain(stream::pending());
            WatchClient::new(channel).max_decoding_message_size(usize::MAX).watch(requests).await
        };
        let mut answers = self.core.call(request, send).await?;
        while let Some(answer) = answers.message().await? {
            if answer.canceled {
                return self.count().await;
            }
            self.apply(&answer);
        }
        Ok(())
    }

    fn apply(&self, answer: &WatchResponse) {
        let mut known = self.known();
        for event in &answer.events {
            known.apply(&self.keys, event);
        }
        if !answer.created {
            known.forget_shown();
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn apply(&mut self, keys: &Keys, event: &Event) {
        let Some(kv) = &event.kv else { return };
        let Some(key) = keys.inner(&kv.key) else { return };
        self.seen = self.seen.max(kv.mod_revision);
        let before = if event.r#type() == EventType::Delete {
            self.sizes.remove(&*key)
        } else {
            self.bytes += size(&key, kv);
            self.sizes.insert(Box::from(&*key), size(&key, kv))
        };
        self.bytes = self.bytes.saturating_sub(before.unwrap_or(0));
    }

    fn forget_shown(&mut self) {
        let seen = self.seen;
        self.sent.retain(|_, sent| sent.revision.is_none_or(|revision| revision > seen));
    }
}

impl Reserved<'_> {
    /// The write was done at this revision. It counts until the watch shows the revision.
    pub fn written(self, revision: i64) {
        let mut known = self.usage.known();
        if let Some(sent) = known.sent.get_mut(&self.number) {
            sent.revision = Some(revision);
        }
        known.forget_shown();
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let mut known = self.usage.known();
        if known.sent.get(&self.number).is_some_and(|sent| sent.revision.is_none()) {
            known.sent.remove(&self.number);
        }
    }
}

/// The growth by a write, given the present size of a key.
pub fn of_put(put: &PutRequest, now: &dyn Fn(&[u8]) -> Option<u64>) -> Growth {
    let after = (put.key.len() + put.value.len()) as u64;
    match now(&put.key) {
        Some(_) if put.ignore_value => Growth::default(),
        Some(before) => Growth { keys: 0, bytes: after.saturating_sub(before) },
        None => Growth { keys: 1, bytes: after },
    }
}

/// The maximum growth by a transaction: the larger of its two branches. Its deletions are not subtracted.
pub fn of_transaction(transaction: &TxnRequest, now: &dyn Fn(&[u8]) -> Option<u64>) -> Growth {
    let branch = |operations: &[RequestOp]| {
        operations.iter().filter_map(|operation| operation.request.as_ref()).fold(
            Growth::default(),
            |sum, request| {
                let added = match request {
                    Request::RequestPut(put) => of_put(put, now),
                    Request::RequestTxn(inner) => of_transaction(inner, now),
                    Request::RequestRange(_) | Request::RequestDeleteRange(_) => Growth::default(),
                };
                Growth { keys: sum.keys + added.keys, bytes: sum.bytes + added.bytes }
            },
        )
    };
    let (success, failure) = (branch(&transaction.success), branch(&transaction.failure));
    Growth { keys: success.keys.max(failure.keys), bytes: success.bytes.max(failure.bytes) }
}

fn size(key: &[u8], kv: &KeyValue) -> u64 {
    (key.len() + kv.value.len()) as u64
}

/// The lowest key above another.
fn following(key: &[u8]) -> Bytes {
    let mut next = BytesMut::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.extend_from_slice(b"\0");
    next.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &'static str, value: &'static str) -> PutRequest {
        PutRequest { key: key.into(), value: value.into(), ..PutRequest::default() }
    }

    fn operation(put: PutRequest) -> RequestOp {
        RequestOp { request: Some(Request::RequestPut(put)) }
    }

    #[test]
    fn a_replaced_value_counts_only_as_far_as_it_grows() {
        let now = |key: &[u8]| (key == b"a").then_some(5);
        assert_eq!(of_put(&put("a", "123456"), &now), Growth { keys: 0, bytes: 2 });
        assert_eq!(of_put(&put("a", ""), &now), Growth::default());
        assert_eq!(of_put(&put("b", "12"), &now), Growth { keys: 1, bytes: 3 });
        assert_eq!(of_put(&PutRequest { ignore_value: true, ..put("a", "") }, &now), Growth::default());
    }

    #[test]
    fn a_transaction_counts_its_larger_branch() {
        let inner = TxnRequest { failure: vec![operation(put("b", "1"))], ..TxnRequest::default() };
        let transaction = TxnRequest {
            compare: Vec::new(),
            success: vec![operation(put("a", "1")), RequestOp { request: Some(Request::RequestTxn(inner)) }],
            failure: vec![operation(put("c", "12345"))],
        };
        assert_eq!(of_transaction(&transaction, &|_| None), Growth { keys: 2, bytes: 6 });
    }
}
