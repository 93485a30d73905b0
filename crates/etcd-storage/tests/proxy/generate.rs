//! Random requests.

use slipway_etcd_storage::api::etcdserverpb as pb;
use slipway_etcd_storage::api::etcdserverpb::compare::{CompareTarget, TargetUnion};
use slipway_etcd_storage::api::etcdserverpb::request_op::Request;

/// Random numbers from a seed (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (number ^ (number >> 31)) % end
    }

    pub fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

/// A request of any kind.
#[derive(Clone, Debug)]
pub enum Any {
    Range(pb::RangeRequest),
    Put(pb::PutRequest),
    Delete(pb::DeleteRangeRequest),
    Txn(pb::TxnRequest),
    Grant(pb::LeaseGrantRequest),
    Revoke(pb::LeaseRevokeRequest),
    TimeToLive(pb::LeaseTimeToLiveRequest),
    Leases,
    KeepAlive(pb::LeaseKeepAliveRequest),
}

/// Requests of a tenant. Its values begin with its mark.
pub struct Generator {
    pub random: Random,
    pub mark: &'static str,
}

const KEYS: &[&[u8]] = &[b"a", b"b", b"a/b", b"\0", b"\xff\xff", b"0", b"/", b"zz", b"one/a", b"/two/a", b""];
const ENDS: &[&[u8]] = &[b"", b"", b"\0", b"b", b"\xff", b"a0", b"/", b"0"];

impl Generator {
    pub fn any(&mut self) -> Any {
        match self.random.below(16) {
            0..4 => Any::Put(self.put()),
            4..7 => Any::Range(self.range()),
            7..9 => Any::Delete(self.delete()),
            9..12 => Any::Txn(self.transaction(2)),
            12 => Any::Grant(pb::LeaseGrantRequest { ttl: 600, id: self.lease().max(1) }),
            13 => Any::Revoke(pb::LeaseRevokeRequest { id: self.lease() }),
            14 => Any::TimeToLive(pb::LeaseTimeToLiveRequest { id: self.lease(), keys: true }),
            _ if self.random.chance(2) => Any::Leases,
            _ => Any::KeepAlive(pb::LeaseKeepAliveRequest { id: self.lease() }),
        }
    }

    /// A new watch of a random range, from this revision on.
    pub fn watch(&mut self, watch_id: i64, start_revision: i64) -> pb::WatchCreateRequest {
        let filters = if self.random.chance(4) {
            vec![i32::try_from(self.random.below(2)).unwrap()]
        } else {
            Vec::new()
        };
        pb::WatchCreateRequest {
            key: self.key(),
            range_end: self.end(),
            start_revision,
            progress_notify: self.random.chance(4),
            filters,
            prev_kv: self.random.chance(2),
            watch_id,
            fragment: self.random.chance(2),
        }
    }

    /// All tenants choose the same ids.
    fn lease(&mut self) -> i64 {
        i64::try_from(self.random.below(5)).unwrap()
    }

    fn key(&mut self) -> bytes::Bytes {
        bytes::Bytes::from_static(self.random.of::<&[u8]>(KEYS))
    }

    fn end(&mut self) -> bytes::Bytes {
        bytes::Bytes::from_static(self.random.of::<&[u8]>(ENDS))
    }

    fn put(&mut self) -> pb::PutRequest {
        let (ignore_value, ignore_lease) = (self.random.chance(10), self.random.chance(10));
        pb::PutRequest {
            key: self.key(),
            value: if ignore_value {
                bytes::Bytes::new()
            } else {
                format!("{}{}", self.mark, self.random.below(9)).into()
            },
            lease: if ignore_lease || self.random.chance(2) { 0 } else { self.lease() },
            prev_kv: self.random.chance(2),
            ignore_value,
            ignore_lease,
        }
    }

    fn range(&mut self) -> pb::RangeRequest {
        let sorted = self.random.chance(3);
        pb::RangeRequest {
            key: self.key(),
            range_end: self.end(),
            limit: i64::try_from(self.random.below(3)).unwrap(),
            sort_order: if sorted { i32::try_from(self.random.below(3)).unwrap() } else { 0 },
            sort_target: if sorted { i32::try_from(self.random.below(5)).unwrap() } else { 0 },
            serializable: self.random.chance(4),
            keys_only: self.random.chance(4),
            count_only: self.random.chance(6),
            ..pb::RangeRequest::default()
        }
    }

    fn delete(&mut self) -> pb::DeleteRangeRequest {
        let range_end = if self.random.chance(3) { self.end() } else { bytes::Bytes::new() };
        pb::DeleteRangeRequest { key: self.key(), range_end, prev_kv: self.random.chance(2) }
    }

    fn transaction(&mut self, depth: u32) -> pb::TxnRequest {
        let compare = (0..self.random.below(3)).map(|_| self.compare()).collect();
        pb::TxnRequest { compare, success: self.operations(depth), failure: self.operations(depth) }
    }

    fn operations(&mut self, depth: u32) -> Vec<pb::RequestOp> {
        let operation = |own: &mut Self| match own.random.below(7) {
            0..3 => Request::RequestPut(own.put()),
            3..5 => Request::RequestRange(own.range()),
            5 => {
                let mut delete = own.delete();
                // etcd does not see that a deletion without an end meets a write of the same transaction. The proxy
                // sends an end, so that etcd does see it.
                if delete.range_end == b"\0"[..] {
                    delete.range_end.clear();
                }
                Request::RequestDeleteRange(delete)
            }
            _ if depth > 0 => Request::RequestTxn(own.transaction(depth - 1)),
            _ => Request::RequestRange(own.range()),
        };
        (0..self.random.below(3)).map(|_| pb::RequestOp { request: Some(operation(self)) }).collect()
    }

    fn compare(&mut self) -> pb::Compare {
        let small = i64::try_from(self.random.below(3)).unwrap();
        let (target, target_union) = match self.random.below(4) {
            0 => (CompareTarget::Version, TargetUnion::Version(small)),
            // Other revisions differ: they are shared by all tenants.
            1 => (CompareTarget::Create, TargetUnion::CreateRevision(0)),
            2 => (CompareTarget::Value, TargetUnion::Value(format!("{}{small}", self.mark).into())),
            _ => (CompareTarget::Lease, TargetUnion::Lease(self.lease())),
        };
        pb::Compare {
            // An order of lease ids has no meaning, and only equality survives the proxy.
            result: if target == CompareTarget::Lease {
                *self.random.of(&[0, 3])
            } else {
                i32::try_from(self.random.below(4)).unwrap()
            },
            target: target.into(),
            key: self.key(),
            range_end: if self.random.chance(3) { self.end() } else { bytes::Bytes::new() },
            target_union: Some(target_union),
        }
    }
}
