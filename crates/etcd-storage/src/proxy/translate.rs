//! Requests of a tenant as the core gets them, and answers of the core as the tenant gets them.

use std::collections::HashMap;

use crate::api::etcdserverpb::compare::TargetUnion;
use crate::api::etcdserverpb::request_op::Request;
use crate::api::etcdserverpb::response_op::Response;
use crate::api::etcdserverpb::{
    Compare, DeleteRangeRequest, DeleteRangeResponse, PutRequest, PutResponse, RangeRequest, RangeResponse,
    RequestOp, ResponseOp, TxnRequest, TxnResponse, WatchCreateRequest,
};
use crate::api::mvccpb::{Event, KeyValue};

use super::keys::Keys;
use super::mask::Mask;

/// The leases that a request attaches keys to: the tenant's id, and the id in the core.
pub type Attached = HashMap<i64, i64>;

/// Translates between a tenant and the core.
#[derive(Clone, Debug)]
pub struct Translator {
    /// The tenant's keys.
    pub keys: Keys,
    /// The tenant's lease ids.
    pub mask: Mask,
}

impl Translator {
    /// A read.
    pub fn range(&self, mut request: RangeRequest) -> RangeRequest {
        (request.key, request.range_end) = self.keys.outer_range(&request.key, &request.range_end);
        request
    }

    /// A write. `attached` has its lease.
    pub fn put(&self, mut request: PutRequest, attached: &Attached) -> PutRequest {
        request.key = self.keys.outer(&request.key);
        request.lease = attached.get(&request.lease).copied().unwrap_or_default();
        request
    }

    /// A deletion.
    pub fn delete(&self, mut request: DeleteRangeRequest) -> DeleteRangeRequest {
        (request.key, request.range_end) = self.keys.outer_range(&request.key, &request.range_end);
        request
    }

    /// A transaction with everything inside. `attached` has every lease of [`leases_of`].
    pub fn transaction(&self, request: TxnRequest, attached: &Attached) -> TxnRequest {
        let operations = |list: Vec<RequestOp>| {
            list.into_iter().map(|operation| self.operation(operation, attached)).collect()
        };
        TxnRequest {
            compare: request.compare.into_iter().map(|compare| self.compare(compare)).collect(),
            success: operations(request.success),
            failure: operations(request.failure),
        }
    }

    fn operation(&self, operation: RequestOp, attached: &Attached) -> RequestOp {
        let request = operation.request.map(|request| match request {
            Request::RequestRange(range) => Request::RequestRange(self.range(range)),
            Request::RequestPut(put) => Request::RequestPut(self.put(put, attached)),
            Request::RequestDeleteRange(delete) => Request::RequestDeleteRange(self.delete(delete)),
            Request::RequestTxn(inner) => Request::RequestTxn(self.transaction(inner, attached)),
        });
        RequestOp { request }
    }

    fn compare(&self, mut compare: Compare) -> Compare {
        (compare.key, compare.range_end) = self.keys.outer_range(&compare.key, &compare.range_end);
        if let Some(TargetUnion::Lease(id)) = compare.target_union {
            compare.target_union = Some(TargetUnion::Lease(self.mask.swap(id)));
        }
        compare
    }

    /// The start of a watch.
    pub fn watch(&self, mut request: WatchCreateRequest) -> WatchCreateRequest {
        (request.key, request.range_end) = self.keys.outer_watch(&request.key, &request.range_end);
        request
    }

    /// The answer to a read.
    pub fn range_answer(&self, mut answer: RangeResponse) -> RangeResponse {
        answer.kvs = self.key_values(answer.kvs);
        answer
    }

    /// The answer to a write.
    pub fn put_answer(&self, mut answer: PutResponse) -> PutResponse {
        answer.prev_kv = answer.prev_kv.and_then(|kv| self.key_value(kv));
        answer
    }

    /// The answer to a deletion.
    pub fn delete_answer(&self, mut answer: DeleteRangeResponse) -> DeleteRangeResponse {
        answer.prev_kvs = self.key_values(answer.prev_kvs);
        answer
    }

    /// The answer to a transaction.
    pub fn transaction_answer(&self, mut answer: TxnResponse) -> TxnResponse {
        answer.responses =
            answer.responses.into_iter().map(|operation| self.operation_answer(operation)).collect();
        answer
    }

    fn operation_answer(&self, operation: ResponseOp) -> ResponseOp {
        let response = operation.response.map(|response| match response {
            Response::ResponseRange(range) => Response::ResponseRange(self.range_answer(range)),
            Response::ResponsePut(put) => Response::ResponsePut(self.put_answer(put)),
            Response::ResponseDeleteRange(delete) => {
                Response::ResponseDeleteRange(self.delete_answer(delete))
            }
            Response::ResponseTxn(inner) => Response::ResponseTxn(self.transaction_answer(inner)),
        });
        ResponseOp { response }
    }

    /// The events of a watch.
    pub fn events(&self, events: Vec<Event>) -> Vec<Event> {
        let event = |event: Event| {
            let kv = self.key_value(event.kv?)?;
            Some(Event { kv: Some(kv), prev_kv: event.prev_kv.and_then(|kv| self.key_value(kv)), ..event })
        };
        events.into_iter().filter_map(event).collect()
    }

    fn key_values(&self, list: Vec<KeyValue>) -> Vec<KeyValue> {
        list.into_iter().filter_map(|kv| self.key_value(kv)).collect()
    }

    /// Nothing for a key of another tenant, which a translated request never asks for.
    fn key_value(&self, mut kv: KeyValue) -> Option<KeyValue> {
        kv.key = self.keys.inner(&kv.key)?;
        kv.lease = self.mask.swap(kv.lease);
        Some(kv)
    }
}

/// Calls `visit` for every operation of a transaction, those of inner transactions too.
pub fn visit(transaction: &TxnRequest, visit_one: &mut dyn FnMut(&Request)) {
    let operations = transaction.success.iter().chain(&transaction.failure);
    for request in operations.filter_map(|operation| operation.request.as_ref()) {
        visit_one(request);
        if let Request::RequestTxn(inner) = request {
            visit(inner, visit_one);
        }
    }
}

/// The leases that a transaction attaches keys to.
pub fn leases_of(transaction: &TxnRequest) -> Vec<i64> {
    let mut leases = Vec::new();
    visit(transaction, &mut |request| {
        if let Request::RequestPut(put) = request {
            leases.push(put.lease);
        }
    });
    leases
}

/// The oldest revision that a transaction reads at; 0 if it reads the newest only.
pub fn oldest_revision(transaction: &TxnRequest) -> i64 {
    let mut oldest = 0;
    visit(transaction, &mut |request| {
        if let Request::RequestRange(range) = request
            && range.revision > 0
        {
            oldest = if oldest == 0 { range.revision } else { oldest.min(range.revision) };
        }
    });
    oldest
}

/// Whether a transaction wrote something.
pub fn has_written(answer: &TxnResponse) -> bool {
    answer.responses.iter().filter_map(|operation| operation.response.as_ref()).any(|response| match response
    {
        Response::ResponsePut(_) => true,
        Response::ResponseDeleteRange(delete) => delete.deleted > 0,
        Response::ResponseTxn(inner) => has_written(inner),
        Response::ResponseRange(_) => false,
    })
}
