//! The conformance suite over real protocols.

use std::sync::Arc;

use slipway_state_store::{Backend, Prefix, Settings, conformance, open_with};
use slipway_testkit::Moto;

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
