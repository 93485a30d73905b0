//! Compaction, and watches of the past.

use slipway_etcd_storage::api::etcdserverpb as pb;
use slipway_etcd_storage::api::etcdserverpb::watch_request::RequestUnion;
use slipway_etcd_storage::proxy::Limits;
use tonic::Code;

use super::client::everything;
use super::etcd::Etcd;
use super::tenant::Tenant;

const COMPACTED: &str = "etcdserver: mvcc: required revision has been compacted";

fn compact(revision: i64) -> pb::CompactionRequest {
    pb::CompactionRequest { revision, physical: false }
}

#[tokio::test]
async fn a_compaction_ends_the_history_of_its_tenant_only() {
    let core = Etcd::start().await;
    let (one, two) = (Tenant::start(&core, "one").await, Tenant::start(&core, "two").await);
    let (mut first, mut second) = (one.connect(), two.connect());
    let (old_first, old_second) =
        (first.put("key", "old").await.unwrap(), second.put("key", "old").await.unwrap());
    let newest = first.put("key", "new").await.unwrap();
    second.put("key", "new").await.unwrap();

    first.kv.compact(compact(newest)).await.unwrap();
    let error = first.get_at("key", old_first).await.unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::OutOfRange, COMPACTED));
    assert_eq!(first.get_at("key", newest).await.unwrap().unwrap(), "new");
    assert_eq!(second.get_at("key", old_second).await.unwrap().unwrap(), "old");

    let again = first.kv.compact(compact(newest)).await.unwrap_err();
    assert_eq!((again.code(), again.message()), (Code::OutOfRange, COMPACTED));
    let future = first.kv.compact(compact(newest + 1_000)).await.unwrap_err();
    assert_eq!(future.message(), "etcdserver: mvcc: required revision is a future revision");

    let old = |start_revision| pb::WatchCreateRequest { start_revision, ..everything() };
    let mut watching = first.watch(old(old_first)).await;
    let created = watching.next().await;
    assert!(created.created && !created.canceled);
    let ended = watching.next().await;
    assert_eq!((ended.watch_id, ended.canceled), (created.watch_id, true));
    assert_eq!((ended.compact_revision, &*ended.cancel_reason), (newest, COMPACTED));
    // The stream continues, and the ended watch sends nothing.
    watching.send(RequestUnion::CreateRequest(old(newest))).await;
    let created = watching.next().await;
    assert!(created.created && created.watch_id != ended.watch_id);
    let shown = watching.next().await;
    assert_eq!((shown.watch_id, shown.events.len()), (created.watch_id, 1));

    // The history that another replica compacted is gone for a new replica too.
    one.end().await;
    let again = Tenant::start(&core, "one").await;
    assert_eq!(again.connect().get_at("key", old_first).await.unwrap_err().message(), COMPACTED);
    again.end().await;
    two.end().await;
}

#[tokio::test]
async fn a_compaction_of_the_core_reaches_the_tenant_as_etcd_reports_it() {
    let core = Etcd::start().await;
    let tenant = Tenant::start(&core, "one").await;
    let mut client = tenant.connect();
    let old = client.put("key", "old").await.unwrap();
    let newest = client.put("key", "new").await.unwrap();
    core.connect().kv.compact(compact(newest)).await.unwrap();
    assert_eq!(client.get_at("key", old).await.unwrap_err().message(), COMPACTED);
    let mut watching = client.watch(pb::WatchCreateRequest { start_revision: old, ..everything() }).await;
    assert!(watching.next().await.created);
    let ended = watching.next().await;
    assert_eq!((ended.canceled, ended.compact_revision), (true, newest));
    tenant.end().await;
}

#[tokio::test]
async fn progress_filters_and_cancellation_work() {
    let core = Etcd::start().await;
    let tenant = Tenant::start(&core, "one").await;
    let mut client = tenant.connect();
    let filters = vec![pb::watch_create_request::FilterType::Noput.into()];
    let mut watching = client.watch(pb::WatchCreateRequest { filters, watch_id: 7, ..everything() }).await;
    assert_eq!(watching.next().await.watch_id, 7);
    let written = client.put("key", "value").await.unwrap();
    // A write of another tenant increases the revision, and is not an event.
    let of_others = core.connect().put("/two/key", "value").await.unwrap();
    assert!(of_others > written);
    watching.send(RequestUnion::ProgressRequest(pb::WatchProgressRequest {})).await;
    let progress = watching.next().await;
    assert_eq!((progress.watch_id, progress.events.len()), (-1, 0));
    assert!(progress.header.unwrap().revision >= of_others);
    let delete = pb::DeleteRangeRequest { key: "key".into(), ..pb::DeleteRangeRequest::default() };
    client.kv.delete_range(delete).await.unwrap();
    let deleted = watching.next().await;
    assert_eq!(deleted.events[0].kv.as_ref().unwrap().key, "key");
    assert_eq!(deleted.events[0].prev_kv.as_ref().unwrap().value, "value");
    watching.send(RequestUnion::CancelRequest(pb::WatchCancelRequest { watch_id: 7 })).await;
    let ended = watching.next().await;
    assert_eq!((ended.watch_id, ended.canceled), (7, true));
    tenant.end().await;
}

#[tokio::test]
async fn streams_and_watches_have_limits() {
    let core = Etcd::start().await;
    let limits = Limits { streams: 1, watches: 1, ..Limits::default() };
    let tenant = Tenant::limited(&core, "one", limits).await;
    let mut client = tenant.connect();
    let mut watching = client.watch(everything()).await;
    assert!(watching.next().await.created);
    watching.send(RequestUnion::CreateRequest(everything())).await;
    let created = watching.next().await;
    let ended = watching.next().await;
    assert_eq!((ended.watch_id, ended.canceled), (created.watch_id, true));
    assert_eq!(ended.cancel_reason, "etcdserver: too many requests");
    // A watch that ends frees its id.
    watching.send(RequestUnion::CancelRequest(pb::WatchCancelRequest { watch_id: 0 })).await;
    assert!(watching.next().await.canceled);
    watching.send(RequestUnion::CreateRequest(everything())).await;
    assert!(watching.next().await.created);
    let requests = tokio_stream::pending::<pb::WatchRequest>();
    let refused = client.watch.watch(requests).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    client.put("key", "value").await.unwrap();
    assert_eq!(watching.next().await.events.len(), 1);
    // A proxy that ends tells its watches.
    tenant.end().await;
    assert_eq!(watching.answers.message().await.unwrap_err().code(), Code::Unavailable);
}
