//! The conformance suite over real protocols.

use std::sync::Arc;

use slipway_state_store::{Backend, Prefix, Settings, conformance, open_with, probe};
use slipway_testkit::fake_gcs::Uploads;
use slipway_testkit::{Azurite, FakeGcs, Moto, Proxy};

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
