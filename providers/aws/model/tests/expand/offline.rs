//! The provider that plans without AWS, and does nothing else.

use slipway_aws_model::offline::OfflineProvider;
use slipway_resource::provider::{DiscoverRequest, SessionRequest};
use slipway_resource::{Provider, Value};

fn request(offline: bool) -> SessionRequest {
    SessionRequest { config: Value::Null, region: Some("eu-west-1".to_owned()), offline }
}

#[tokio::test]
async fn a_session_that_needs_aws_is_refused_with_the_way_out() {
    let refused = OfflineProvider.open_session(request(false)).await.err().unwrap();
    assert_eq!(refused.message, "this executable of provider aws plans without AWS and does not reach it");
    let hint = refused.hint.unwrap();
    assert!(hint.contains("cargo build --release -p slipway-provider-aws"), "{hint}");
    assert!(hint.contains("slipway provider lock aws"), "{hint}");
}

#[tokio::test]
async fn a_session_without_aws_looks_for_nothing() {
    let session = OfflineProvider.open_session(request(true)).await.unwrap();
    assert_eq!(session.scope().region.as_deref(), Some("eu-west-1"));
    let asked =
        session.discover(DiscoverRequest { uid: None, cluster: "a".to_owned(), types: Vec::new() }).await;
    assert_eq!(asked.unwrap_err().message, "a session without AWS cannot look for what exists");
}

#[tokio::test]
async fn settings_are_held_against_their_form() {
    let told = OfflineProvider.validate_config(&Value::map([("acount", "1")])).await.unwrap();
    assert_eq!(told, ["acount: is not known"]);
}
