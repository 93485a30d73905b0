//! The errors that a tenant sees. etcd's clients recognise errors by their text, so known texts are passed on. All
//! others are replaced: they could name what belongs to others, or where the core is.

use tonic::{Code, Status};

/// Texts of etcd that contain nothing but themselves (`api/v3rpc/rpctypes/error.go`), without `etcdserver: `.
const KNOWN: &[&str] = &[
    "key is not provided",
    "key not found",
    "value is provided",
    "lease is provided",
    "too many operations in txn request",
    "duplicate key given in txn request",
    "invalid clientv3 option",
    "invalid sort option",
    "mvcc: required revision has been compacted",
    "mvcc: required revision is a future revision",
    "mvcc: database space exceeded",
    "requested lease not found",
    "lease already exists",
    "too large lease TTL",
    "request is too large",
    "too many requests",
    "no leader",
    "not leader",
    "leader changed",
    "not capable",
    "server stopped",
    "request timed out",
    "request timed out, possibly due to previous leader failure",
    "request timed out, possibly due to connection lost",
    "unhealthy cluster",
    "corrupt cluster",
    "rpc not supported for learner",
];

const START: &str = "etcdserver: ";

/// A tenant's view of an error of the core: etcd's own message, or the code alone.
pub fn shown(status: &Status) -> Status {
    let text = status.message();
    if text.strip_prefix(START).is_some_and(|rest| KNOWN.contains(&rest)) {
        return Status::new(status.code(), text);
    }
    tracing::warn!(code = ?status.code(), text, "the core refused a request");
    // A client repeats what was unavailable. It must not take a defect of the proxy's credentials for one of its own.
    let code = match status.code() {
        Code::Unauthenticated | Code::PermissionDenied | Code::Unimplemented => Code::Unavailable,
        code => code,
    };
    Status::new(code, "etcdserver: the storage does not answer this request")
}

/// The reason why a watch was cancelled, as far as a tenant may see it.
pub fn shown_reason(reason: &str) -> String {
    let known = reason.strip_prefix(START).is_some_and(|rest| KNOWN.contains(&rest));
    if known || reason.is_empty() {
        reason.to_owned()
    } else {
        "etcdserver: the watch was cancelled".to_owned()
    }
}

/// The method does not exist for tenants.
pub fn not_allowed() -> Status {
    Status::permission_denied("etcdserver: permission denied")
}

/// The quota of keys or bytes is used up.
pub fn no_space() -> Status {
    Status::resource_exhausted("etcdserver: mvcc: database space exceeded")
}

/// The rate of requests, or the number of streams and watches, is used up.
pub fn too_many_requests() -> Status {
    Status::resource_exhausted("etcdserver: too many requests")
}

/// The request is larger than allowed.
pub fn too_large() -> Status {
    Status::invalid_argument("etcdserver: request is too large")
}

/// The tenant has compacted this revision.
pub fn compacted() -> Status {
    Status::out_of_range("etcdserver: mvcc: required revision has been compacted")
}

/// There is no such revision yet.
pub fn future_revision() -> Status {
    Status::out_of_range("etcdserver: mvcc: required revision is a future revision")
}

/// The proxy ends. Clients connect to another replica and go on where they were.
pub fn stopping() -> Status {
    Status::unavailable("etcdserver: server stopped")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_texts_are_replaced_and_known_ones_are_kept() {
        let known = shown(&Status::not_found("etcdserver: requested lease not found"));
        assert_eq!(
            (known.code(), known.message()),
            (Code::NotFound, "etcdserver: requested lease not found")
        );
        for (code, seen) in [(Code::Internal, Code::Internal), (Code::PermissionDenied, Code::Unavailable)] {
            let replaced = shown(&Status::new(code, "etcdserver: /two/secret: 10.0.0.7:2379"));
            assert_eq!(replaced.code(), seen);
            assert!(!replaced.message().contains("two"));
        }
        assert!(!shown_reason("/two/secret").contains("two"));
    }
}
