//! The conformance suite over real protocols.

use std::sync::Arc;

use slipway_limits::Size;
use slipway_state_store::backend::Error;
use slipway_state_store::backend::remote::Bucket;
use slipway_state_store::{
    Backend, FileBackend, Holder, MemoryBackend, Outcome, Prefix, Settings, conformance, open_with, probe,
    runs,
};
use slipway_testkit::fake_gcs::Uploads;
use slipway_testkit::{Azurite, FakeGcs, Moto, Proxy};

use crate::support::{acquire, cluster, holder, meta, record};

#[tokio::test(flavor = "multi_thread")]
async fn s3() {
    let moto = Moto::start().unwrap();
    moto.create_bucket("state").unwrap();
    for prefix in ["", "/some/where"] {
        let settings = Settings::new(moto.environment());
        let backend: Arc<dyn Backend> = open_with(&format!("s3://state{prefix}"), &settings).unwrap();
        conformance::check(&backend, &Prefix::new("conformance/here").unwrap()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn azure() {
    let azurite = Azurite::start().unwrap();
    azurite.create_container("state").unwrap();
    let settings = Settings::new(azurite.environment());
    let backend: Arc<dyn Backend> = open_with("az://state/some/where", &settings).unwrap();
    conformance::check(&backend, &Prefix::new("conformance/here").unwrap()).await.unwrap();
}

fn google_at(proxy: &Proxy) -> Arc<dyn Backend> {
    let settings = Settings::new([("STORAGE_EMULATOR_HOST".to_owned(), proxy.endpoint())]);
    open_with("gs://state/some/where", &settings).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn google() {
    let server = FakeGcs::start().unwrap();
    server.create_bucket("state").unwrap();
    let front = server.front(Uploads::Conditional).unwrap();
    conformance::check(&google_at(&front), &Prefix::new("conformance/here").unwrap()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn google_without_conditions_is_refused() {
    let server = FakeGcs::start().unwrap();
    server.create_bucket("state").unwrap();
    let plain = open_with("gs://state", &Settings::new(server.environment())).unwrap();
    let front = server.front(Uploads::Unconditional).unwrap();
    for backend in [plain, google_at(&front)] {
        let error = probe(&backend).await.unwrap_err();
        println!("{error}");
        assert_eq!(error.code(), "STATE0024");
    }
}

/// A replaced run, a failed one and a complete one: the runs without a generation are recorded.
async fn tells_of_runs(backend: Arc<dyn Backend>) {
    let (killed, clock) = holder(&backend, acquire("ada")).await;
    killed.append(vec![record(1)]).await.unwrap();
    let replaced = killed.head().holder.unwrap().id;
    let describe = |view: &slipway_state_store::View| Some(format!("{} records", view.records.len()));
    let failing = acquire("bob").replace(replaced).describe(describe);
    let failing = Holder::acquire(backend.clone(), &cluster(), failing, clock).await.unwrap();
    let failed =
        slipway_state_store::CommitMeta { who: "bob".into(), outcome: Outcome::Failed, ..meta("apply") };
    failing.unfinished(failed.clone()).await.unwrap();
    failing.release(None).await.unwrap();
    let (completing, _) = holder(&backend, acquire("eve")).await;
    completing.release(Some((b"1".to_vec(), meta("apply")))).await.unwrap();

    let told = runs::list(&*backend, &cluster()).await.unwrap().records;
    let [second, first] = &told[..] else { panic!("{told:?}") };
    assert_eq!((second.epoch.0, second.run.clone()), (2, failed));
    assert_eq!((first.epoch.0, first.run.outcome), (1, Outcome::Interrupted));
    assert!(first.run.who.starts_with("ada"), "{}", first.run.who);
    assert_eq!(first.run.detail.as_deref(), Some("1 records"));
    drop(killed);
}

/// An object that others wrote is received with its whole content, and no more of it than is allowed.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_others_is_received() {
    let moto = Moto::start().unwrap();
    moto.create_bucket("programs").unwrap();
    let content = b"0123456789".repeat(100_000);
    moto.put_object("programs", "v1/kubelet", &content).unwrap();
    let bucket = Bucket::open("s3://programs", &Settings::new(moto.environment())).unwrap();
    let limit = |bytes| Size { what: "a program", bytes };
    let mut received = Vec::new();
    let take = |part: &[u8]| -> Result<(), Error> {
        received.extend_from_slice(part);
        Ok(())
    };
    bucket.receive("v1/kubelet", limit(1_000_000), take).await.unwrap();
    assert!(received == content, "{} bytes", received.len());
    let nothing = |_: &[u8]| -> Result<(), Error> { Ok(()) };
    let large = bucket.receive("v1/kubelet", limit(999_999), nothing).await.unwrap_err();
    assert!(matches!(large, Error::Corrupt { .. }), "{large}");
    let gone = bucket.receive("v1/runc", limit(1_000_000), nothing).await.unwrap_err();
    assert!(matches!(gone, Error::NotFound { .. }), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_place_tells_of_runs_that_made_no_generation() {
    let folder = tempfile::tempdir().unwrap();
    tells_of_runs(Arc::new(MemoryBackend::new())).await;
    tells_of_runs(Arc::new(FileBackend::open(folder.path()))).await;

    let moto = Moto::start().unwrap();
    moto.create_bucket("state").unwrap();
    tells_of_runs(open_with("s3://state/here", &Settings::new(moto.environment())).unwrap()).await;
    let azurite = Azurite::start().unwrap();
    azurite.create_container("state").unwrap();
    tells_of_runs(open_with("az://state/here", &Settings::new(azurite.environment())).unwrap()).await;
    let server = FakeGcs::start().unwrap();
    server.create_bucket("state").unwrap();
    let front = server.front(Uploads::Conditional).unwrap();
    tells_of_runs(google_at(&front)).await;
}
