//! A provider and its client, with the wire between them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use slipway_resource::provider::*;
use slipway_resource::*;

use crate::common::{Served, Things, create};

fn sized(size: i64) -> Value {
    Value::map([("size", size)])
}

#[tokio::test]
async fn every_call_says_what_the_provider_says() {
    let things = Arc::new(Things::default());
    let served = Served::start(things.clone()).await;
    let client = &served.client;
    assert_eq!(client.info().await.unwrap(), things.info().await.unwrap());
    assert_eq!(client.schema().await.unwrap(), things.schema().await.unwrap());
    let secret = Secret { text: Some(SecretText::new("hunter2")), ..Secret::new("env:KEY") };
    let config = Value::map([("key", Value::from(secret))]);
    assert_eq!(client.validate_config(&config).await.unwrap(), Vec::<String>::new());
    let config = Value::map([("key", "plain")]);
    assert_eq!(client.validate_config(&config).await.unwrap(), ["key has no text"]);

    let session = served.session().await;
    assert_eq!(session.scope().account, "1234");
    assert_eq!(session.scope().region.as_deref(), Some("here"));
    let catalog = session.catalog().await.unwrap();
    assert_eq!(catalog.digest, Digest::of(&catalog.data).unwrap());
    for pinned in [None, Some(catalog)] {
        let request = CatalogRequest { cluster: serde_json::json!({"name": "a"}), pinned: pinned.clone() };
        let told = session.catalog_for(request).await.unwrap();
        assert_eq!(told.data, serde_json::json!({"cluster": {"name": "a"}, "pinned": pinned}));
    }

    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = {
        let seen = Arc::clone(&seen);
        EventSink::new(move |event| seen.lock().unwrap().push(event))
    };
    let applied = session.apply(create("a", sized(3)), sink).await.unwrap();
    assert_eq!(applied.attributes, sized(3));
    let identity = Identity::new("id-a");
    assert_eq!(applied.identity, Some(identity.clone()));
    assert_eq!(*seen.lock().unwrap(), [ApplyEvent::Started, ApplyEvent::Identity(identity.clone())]);

    let address = Address::new("thing", "a");
    let request =
        |identity: &str| ReadRequest { address: address.clone(), identity: Identity::new(identity) };
    let read = session.read(vec![request("id-a"), request("gone")]).await.unwrap();
    assert_eq!(read[0].observation, Observation::Present(sized(3)));
    assert_eq!(read[1].observation, Observation::Absent);

    let resume = |name: &str| ResumeRequest {
        request: create(name, sized(3)),
        identity: None,
        handle: None,
        superseded: false,
    };
    let resolution = session.resume(resume("a"), EventSink::discard()).await.unwrap();
    assert_eq!(resolution, Resolution::Done(applied));
    let resolution = session.resume(resume("b"), EventSink::discard()).await.unwrap();
    assert_eq!(resolution, Resolution::NotDone);

    let error = session.import(&address, &identity).await.unwrap_err();
    assert_eq!(error, ProviderError::new(ErrorClass::NotFound, "nothing there").with_address(&address));
    assert_eq!(session.upgrade_state("thing", 0, sized(1)).await.unwrap(), sized(1));
    session.cancel(None).await.unwrap();
    session.close().await.unwrap();
    let error = session.catalog().await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid, "{error}");
    served.stop().await;
}

#[tokio::test]
async fn ten_thousand_go_through_in_batches_and_pages() {
    let served = Served::start(Arc::new(Things::default())).await;
    let session = served.session().await;
    let request = ExpandRequest {
        cluster: serde_json::json!({"things": 10_000}),
        catalog: session.catalog().await.unwrap(),
    };
    let expansion = session.expand(request).await.unwrap();
    assert_eq!(expansion.resources.len(), 10_000);
    let items = expansion.resources.iter().map(|desired| PlanItem {
        address: desired.address.clone(),
        desired: Some(desired.attributes.clone()),
        observed: None,
        last_applied: None,
    });
    assert_eq!(session.plan(items.collect()).await.unwrap().len(), 10_000);
    let applies = expansion.resources.iter().map(|desired| {
        let request = create(desired.address.name(), desired.attributes.clone());
        session.apply(request, EventSink::discard())
    });
    for applied in join_all(applies).await {
        applied.unwrap();
    }
    let request = DiscoverRequest { uid: None, cluster: "c".into(), types: Vec::new() };
    let discovery = session.discover(request).await.unwrap();
    assert_eq!(discovery.observed.len(), 10_000);
    assert_eq!(discovery.uid, Some(ClusterUid::new("u")));
    let reads = discovery.observed.iter().map(|observed| ReadRequest {
        address: observed.address.clone(),
        identity: observed.identity.clone(),
    });
    let read = session.read(reads.collect()).await.unwrap();
    assert!(read.iter().all(|observed| observed.observation == Observation::Present(sized(3))));
    served.stop().await;
}

#[tokio::test]
async fn a_slow_action_holds_up_no_other() {
    let things = Arc::new(Things::default());
    let served = Served::start(things.clone()).await;
    let session = served.session().await;
    let begun = Instant::now();
    let slow = Value::map([("size", 1i64), ("wait_ms", 300i64)]);
    let applies =
        (0..50).map(|number| session.apply(create(&number.to_string(), slow.clone()), EventSink::discard()));
    for applied in join_all(applies).await {
        applied.unwrap();
    }
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(things.under_way.lock().unwrap().1, 50);
    served.stop().await;
}

#[tokio::test]
async fn failures_inside_an_action_are_told() {
    let served = Served::start(Arc::new(Things::default())).await;
    let session = served.session().await;
    let request = create("a", Value::map([("panic", true)]));
    let error = session.apply(request, EventSink::discard()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::OutcomeUnknown);
    // The stream still serves others.
    session.apply(create("b", sized(1)), EventSink::discard()).await.unwrap();
    served.stop().await;
}

#[tokio::test]
async fn the_same_token_twice_at_once_is_refused() {
    let served = Served::start(Arc::new(Things::default())).await;
    let session = served.session().await;
    let slow = Value::map([("size", 1i64), ("wait_ms", 200i64)]);
    let first = session.apply(create("a", slow.clone()), EventSink::discard());
    let second = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        session.apply(create("a", slow.clone()), EventSink::discard()).await
    };
    let (first, second) = tokio::join!(first, second);
    first.unwrap();
    assert_eq!(second.unwrap_err().class, ErrorClass::Invalid);
    served.stop().await;
}

#[tokio::test]
async fn what_is_larger_than_a_message_is_refused_and_what_fits_goes_through() {
    let served = Served::start(Arc::new(Things::default())).await;
    let session = served.session().await;
    let with = |megabytes: usize| Value::map([("text", "x".repeat(megabytes << 20))]);
    session.apply(create("a", with(20)), EventSink::discard()).await.unwrap();
    let error = session.apply(create("b", with(65)), EventSink::discard()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid);
    assert!(error.hint.is_some());
    let applies =
        (0..5).map(|number| session.apply(create(&number.to_string(), with(30)), EventSink::discard()));
    for applied in join_all(applies).await {
        applied.unwrap();
    }
    served.stop().await;
}
