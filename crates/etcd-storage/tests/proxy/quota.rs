//! Quotas of keys, bytes, sizes and requests.

use slipway_etcd_storage::api::etcdserverpb as pb;
use slipway_etcd_storage::proxy::Limits;
use tonic::Code;

use super::etcd::Etcd;
use super::tenant::Tenant;

const NO_SPACE: &str = "etcdserver: mvcc: database space exceeded";

#[tokio::test]
async fn keys_beyond_the_quota_are_refused_until_there_is_room() {
    let core = Etcd::start().await;
    let limits = Limits { keys: Some(10), ..Limits::default() };
    let tenant = Tenant::limited(&core, "one", limits).await;
    let client = tenant.connect();
    let writes = (0..50).map(|number| {
        let mut client = client.clone();
        async move { client.put(&format!("key-{number}"), "value").await }
    });
    let results = futures_util::future::join_all(writes).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 10);
    for refused in results.into_iter().filter_map(Result::err) {
        assert_eq!((refused.code(), refused.message()), (Code::ResourceExhausted, NO_SPACE));
    }
    let mut client = client;
    assert_eq!(client.keys().await.len(), 10);
    let kept = client.keys().await.remove(0);
    client.put(&kept, "another value").await.unwrap();
    // The keys of a proxy that starts later count too.
    tenant.end().await;
    let again = Tenant::limited(&core, "one", limits).await;
    let mut client = again.connect();
    assert_eq!(client.put("more", "value").await.unwrap_err().message(), NO_SPACE);
    let delete = pb::DeleteRangeRequest { key: kept.into(), ..pb::DeleteRangeRequest::default() };
    client.kv.delete_range(delete).await.unwrap();
    while client.put("more", "value").await.is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    again.end().await;
}

#[tokio::test]
async fn bytes_sizes_and_requests_have_limits() {
    let core = Etcd::start().await;
    let limits = Limits {
        bytes: Some(1_000),
        request_bytes: 2_000,
        requests_per_second: Some(20),
        ..Limits::default()
    };
    let tenant = Tenant::limited(&core, "one", limits).await;
    let mut client = tenant.connect();
    let large = client.put("key", &"x".repeat(2_000)).await.unwrap_err();
    assert_eq!((large.code(), large.message()), (Code::InvalidArgument, "etcdserver: request is too large"));
    assert_eq!(client.put("key", &"x".repeat(1_000)).await.unwrap_err().message(), NO_SPACE);
    client.put("key", &"x".repeat(990)).await.unwrap();
    assert_eq!(client.put("other", "value").await.unwrap_err().message(), NO_SPACE);
    client.put("key", "").await.unwrap();
    let reads = (0..100).map(|_| {
        let mut client = client.clone();
        async move { client.get("key").await }
    });
    let refused: Vec<_> =
        futures_util::future::join_all(reads).await.into_iter().filter_map(Result::err).collect();
    assert!((20..=80).contains(&refused.len()), "{}", refused.len());
    assert!(refused.iter().all(|status| status.message() == "etcdserver: too many requests"));
    tenant.end().await;
}
