//! Refusals, lost answers, and blockers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use slipway_resource::provider::{Action, Resolution};
use slipway_resource::{Address, ErrorClass, Value};
use slipway_testkit::proxy::Verdict;

use crate::support::{Cloud, moto, proxy, refusal};

fn vpc() -> Value {
    Value::map([("cidr_block", Value::from("10.0.0.0/16")), ("enable_dns_hostnames", true.into())])
}

fn address() -> Address {
    "aws_vpc.a-example-com".parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_pace_slows_down_and_goes_on() {
    let moto = moto();
    let refused = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&refused);
    let proxy = proxy(&moto, move |action| {
        if action.starts_with("Describe") && counter.fetch_add(1, Ordering::SeqCst) < 6 {
            return refusal(503, "RequestLimitExceeded");
        }
        Verdict::Pass
    });
    let cloud = Cloud::open(&proxy.endpoint()).await;
    cloud.create("aws_vpc.a-example-com", vpc()).await;
    assert!(refused.load(Ordering::SeqCst) > 6);
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_found_again() {
    let moto = moto();
    let lost = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&lost);
    let proxy = proxy(&moto, move |action| {
        if action == "CreateVpc" && counter.fetch_add(1, Ordering::SeqCst) == 0 {
            return Verdict::DropAfter;
        }
        Verdict::Pass
    });
    let cloud = Cloud::open(&proxy.endpoint()).await;
    let request = cloud.request(&address(), Action::Create { desired: vpc() });
    let sink = slipway_resource::provider::EventSink::discard();
    let error = cloud.session.apply(request.clone(), sink).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::OutcomeUnknown, "{error}");
    let Resolution::Done(applied) = cloud.resume(&request).await else { panic!("it was made") };
    assert_eq!(applied.attributes.get("enable_dns_hostnames"), Some(&true.into()), "it was completed");
    assert_eq!(cloud.discover().await.len(), 1);
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_never_arrived_was_not_done() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let request = cloud.request(&address(), Action::Create { desired: vpc() });
    assert!(matches!(cloud.resume(&request).await, Resolution::NotDone));
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_the_way_is_named() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let vpc_id = cloud.create("aws_vpc.a-example-com", vpc()).await.identity.unwrap();
    let mut other = Cloud::open(&moto.endpoint()).await;
    other.uid = slipway_resource::ClusterUid::new("another");
    let subnet = Value::map([
        ("vpc_id", vpc_id.as_str()),
        ("cidr_block", "10.0.0.0/24"),
        ("availability_zone", "us-east-1a"),
    ]);
    let theirs = other.create("aws_subnet.theirs", subnet).await.identity.unwrap();
    let error = cloud.apply(&address(), Action::Delete { identity: vpc_id }).await.unwrap_err();
    let ErrorClass::Dependency { blockers } = &error.class else { panic!("{error}") };
    assert_eq!(blockers, &[theirs.to_string()]);
    assert!(error.message.contains(theirs.as_str()), "{error}");
    cloud.end().await;
    other.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_permission_is_named() {
    let moto = moto();
    let proxy = proxy(&moto, |action| match action {
        "CreateVpc" => refusal(403, "UnauthorizedOperation"),
        _ => Verdict::Pass,
    });
    let cloud = Cloud::open(&proxy.endpoint()).await;
    let error = cloud.apply(&address(), Action::Create { desired: vpc() }).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Permission { action: "ec2:CreateVpc".to_owned() });
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_asked_for_together_go_in_one_call() {
    let moto = moto();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let proxy = proxy(&moto, move |action| {
        if action == "AuthorizeSecurityGroupIngress" {
            counter.fetch_add(1, Ordering::SeqCst);
        }
        Verdict::Pass
    });
    let cloud = Cloud::open(&proxy.endpoint()).await;
    let vpc_id = cloud.create("aws_vpc.a-example-com", vpc()).await.identity.unwrap();
    let group = Value::map([("name", "nodes.a"), ("vpc_id", vpc_id.as_str())]);
    let group_id = cloud.create("aws_security_group.nodes-a-example-com", group).await.identity.unwrap();
    let rule = |port: i64| {
        let attributes = Value::map([
            ("security_group_id", Value::from(group_id.as_str())),
            ("type", "ingress".into()),
            ("protocol", "tcp".into()),
            ("from_port", port.into()),
            ("to_port", port.into()),
            ("cidr_blocks", Value::list(["10.0.0.0/8"])),
        ]);
        let address: Address = format!("aws_security_group_rule.port-{port}").parse().unwrap();
        (address, attributes)
    };
    // One rule exists already, created by this cluster: the other rules must be created all the same.
    let (first, attributes) = rule(80);
    cloud.apply(&first, Action::Create { desired: attributes }).await.unwrap();
    calls.store(0, Ordering::SeqCst);
    let rules: Vec<(Address, Value)> = [80, 81, 82, 83, 84].into_iter().map(rule).collect();
    let making = rules
        .iter()
        .map(|(address, attributes)| cloud.apply(address, Action::Create { desired: attributes.clone() }));
    for made in futures_util::future::join_all(making).await {
        made.unwrap();
    }
    // One call for all, which fails because of the existing rule, and one for the rest; moto has done a part
    // of the first.
    assert!(calls.load(Ordering::SeqCst) <= 2, "{}", calls.load(Ordering::SeqCst));
    assert_eq!(cloud.discover().await.len(), 7);
    calls.store(0, Ordering::SeqCst);
    let rules: Vec<(Address, Value)> = [90, 91, 92, 93].into_iter().map(rule).collect();
    let making = rules
        .iter()
        .map(|(address, attributes)| cloud.apply(address, Action::Create { desired: attributes.clone() }));
    for made in futures_util::future::join_all(making).await {
        made.unwrap();
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    cloud.end().await;
}

fn subnet(vpc: &str) -> Value {
    let zone = "us-east-1a";
    Value::map([("vpc_id", vpc), ("cidr_block", "10.0.0.0/24"), ("availability_zone", zone)])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_was_just_made_is_waited_for() {
    let moto = moto();
    let denied = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&denied);
    let proxy = proxy(&moto, move |action| {
        if action == "CreateSubnet" && counter.fetch_add(1, Ordering::SeqCst) < 2 {
            return refusal(400, "InvalidVpcID.NotFound");
        }
        Verdict::Pass
    });
    let cloud = Cloud::open(&proxy.endpoint()).await;
    let vpc = cloud.create("aws_vpc.a-example-com", vpc()).await.identity.unwrap();
    cloud.create("aws_subnet.a", subnet(vpc.as_str())).await;
    assert_eq!(denied.load(Ordering::SeqCst), 3);
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_is_not_there_ends_the_step() {
    let moto = moto();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let proxy = proxy(&moto, move |action| {
        counter.fetch_add(usize::from(action == "CreateSubnet"), Ordering::SeqCst);
        Verdict::Pass
    });
    let cloud = Cloud::open(&proxy.endpoint()).await;
    let create = |vpc: &str| Action::Create { desired: subnet(vpc) };
    let address: Address = "aws_subnet.a".parse().unwrap();
    // The network was never created.
    let error = cloud.apply(&address, create("vpc-0123456789abcdef0")).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::NotFound, "{error}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // The session has read the network, and it was deleted since.
    let mut other = Cloud::open(&moto.endpoint()).await;
    other.uid = slipway_resource::ClusterUid::new("another");
    let gone = other.create("aws_vpc.other", vpc()).await.identity.unwrap();
    cloud.read("aws_vpc.other", &gone).await;
    other.delete("aws_vpc.other", &gone).await;
    let error = cloud.apply(&address, create(gone.as_str())).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::NotFound, "{error}");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    cloud.end().await;
    other.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_shown_late_goes_when_another_was_made() {
    let moto = moto();
    let early = Cloud::open(&moto.endpoint()).await;
    let request = early.request(&address(), Action::Create { desired: vpc() });
    assert!(matches!(early.resume(&request).await, Resolution::NotDone));
    // The object of the lost call appears now; here, another session of the same cluster creates it.
    let late = Cloud::open(&moto.endpoint()).await;
    late.create("aws_vpc.a-example-com", vpc()).await;
    let sink = slipway_resource::provider::EventSink::discard();
    early.session.apply(request, sink).await.unwrap();
    assert_eq!(early.discover().await.len(), 1);
    early.end().await;
    late.end().await;
}
