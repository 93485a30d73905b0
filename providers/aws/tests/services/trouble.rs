//! Taken names, lost answers, and blockers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use slipway_resource::provider::{Action, EventSink, Resolution};
use slipway_resource::{Address, ClusterUid, ErrorClass, Value};
use slipway_testkit::proxy::Verdict;

use crate::life::create;
use crate::support::{Cloud, moto, proxy};

fn role() -> Value {
    let trust = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
        "Principal": {"Service": "ec2.amazonaws.com"}}]});
    Value::map([("name", "masters.a.example.com".to_owned()), ("assume_role_policy", trust.to_string())])
}

/// Resources whose names are taken by another cluster.
pub fn named() -> Vec<(&'static str, Value)> {
    let from = |json: serde_json::Value| Value::from_json(&json);
    vec![
        ("aws_iam_role.masters", role()),
        ("aws_iam_instance_profile.masters", from(json!({"name": "masters.a.example.com"}))),
        (
            "aws_iam_openid_connect_provider.a",
            from(json!({"url": "https://discovery.example.com", "client_id_list": ["a"],
                "thumbprint_list": ["9e99a48a9960b14926bb7f3b02e22da2b0ab7280"]})),
        ),
        ("aws_sqs_queue.a", from(json!({"name": "a-example-com-nth"}))),
        (
            "aws_cloudwatch_event_rule.a",
            from(json!({"name": "a.example.com-Rule", "event_pattern": "{\"source\":[\"aws.ec2\"]}"})),
        ),
        ("aws_s3_object.a", from(json!({"bucket": "documents", "key": "a", "content": "a"}))),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_others_is_not_taken() {
    let moto = moto();
    moto.create_bucket("documents").unwrap();
    let mut other = Cloud::open(&moto.endpoint()).await;
    other.uid = ClusterUid::new("another");
    let cloud = Cloud::open(&moto.endpoint()).await;
    for (name, desired) in named() {
        other.create(name, desired.clone()).await;
        let address: Address = name.parse().unwrap();
        let desired = crate::support::known(&cloud.plan(&address, Some(desired), None).await.normalised);
        let request = cloud.request(&address, Action::Create { desired });
        let refused = cloud.session.apply(request.clone(), EventSink::discard()).await.unwrap_err();
        assert_eq!(refused.class, ErrorClass::Conflict, "{name}: {refused}");
        assert!(matches!(cloud.resume(&request).await, Resolution::NotDone), "{name}");
    }
    cloud.end().await;
    other.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_found_by_the_name() {
    let moto = moto();
    moto.create_bucket("documents").unwrap();
    for (name, desired) in named() {
        let lost = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&lost);
        let proxy = slipway_testkit::proxy::Proxy::start(moto.port(), move |request| {
            if is_creating(request) && counter.fetch_add(1, Ordering::SeqCst) == 0 {
                return Verdict::DropAfter;
            }
            Verdict::Pass
        })
        .unwrap();
        let cloud = Cloud::open(&proxy.endpoint()).await;
        let address: Address = name.parse().unwrap();
        let desired = crate::support::known(&cloud.plan(&address, Some(desired), None).await.normalised);
        let request = cloud.request(&address, Action::Create { desired });
        let failed = cloud.session.apply(request.clone(), EventSink::discard()).await.unwrap_err();
        assert_eq!(failed.class, ErrorClass::OutcomeUnknown, "{name}: {failed}");
        let Resolution::Done(applied) = cloud.resume(&request).await else { panic!("{name} was made") };
        // The same request again finds the created object.
        let again = cloud.session.apply(request, EventSink::discard()).await.unwrap();
        assert_eq!(again.identity, applied.identity, "{name}");
        cloud.delete(name, &applied.identity.unwrap()).await;
        cloud.end().await;
    }
}

/// An answer without tags, as of a service that does not show a new object yet.
fn no_tags() -> Verdict {
    let body = "<DescribeTagsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\
        <requestId>r</requestId><tagSet/></DescribeTagsResponse>";
    let headers = vec![("Content-Type".to_owned(), "text/xml".to_owned())];
    Verdict::Answer { status: 200, headers, body: body.as_bytes().to_vec() }
}

/// This test waits for as long as an object is searched for: half a minute.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_appears_after_its_create_was_sent_again_is_removed() {
    let moto = moto();
    let lost = Arc::new(AtomicUsize::new(0));
    let hidden = Arc::new(AtomicBool::new(true));
    let (counter, hides) = (Arc::clone(&lost), Arc::clone(&hidden));
    let proxy = proxy(&moto, move |action| match action {
        "CreateInternetGateway" if counter.fetch_add(1, Ordering::SeqCst) == 0 => Verdict::DropAfter,
        "DescribeTags" if hides.load(Ordering::SeqCst) => no_tags(),
        _ => Verdict::Pass,
    });
    let cloud = Cloud::open(&proxy.endpoint()).await;
    let address: Address = "aws_internet_gateway.a".parse().unwrap();
    let wanted = Value::from_json(&json!({"tags": {"Name": "a"}}));
    let desired = crate::support::known(&cloud.plan(&address, Some(wanted), None).await.normalised);
    let request = cloud.request(&address, Action::Create { desired });
    let failed = cloud.session.apply(request.clone(), EventSink::discard()).await.unwrap_err();
    assert_eq!(failed.class, ErrorClass::OutcomeUnknown, "{failed}");
    assert!(matches!(cloud.resume(&request).await, Resolution::NotDone), "nothing shows it");
    hidden.store(false, Ordering::SeqCst);
    let twins: Vec<_> = cloud.discover().await.into_iter().filter(|found| found.address == address).collect();
    assert_eq!(twins.len(), 1, "the first call made it: {twins:?}");
    let applied = cloud.session.apply(request, EventSink::discard()).await.unwrap();
    assert_eq!(lost.load(Ordering::SeqCst), 2, "the call is sent again");
    let identity = applied.identity.unwrap();
    assert_ne!(identity, twins[0].identity);
    let left: Vec<_> = cloud.discover().await.into_iter().filter(|found| found.address == address).collect();
    assert_eq!(left.iter().map(|found| &found.identity).collect::<Vec<_>>(), [&identity], "{left:?}");
    cloud.delete("aws_internet_gateway.a", &identity).await;
    cloud.end().await;
}

fn is_creating(request: &slipway_testkit::proxy::Request) -> bool {
    let action = crate::support::action(request);
    let target = request.header("x-amz-target").unwrap_or_default();
    let creating = ["CreateRole", "CreateInstanceProfile", "CreateOpenIDConnectProvider"];
    creating.contains(&action.as_str())
        || target.ends_with("CreateQueue")
        || target.ends_with("PutRule")
        || (request.method == "PUT" && request.target.starts_with("/documents/"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_keeps_a_role_is_named() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let name = "aws_iam_role.masters";
    let id = cloud.create(name, role()).await.identity.unwrap();
    let grant = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}]});
    let policy = json!({"role": id.as_str(), "name": "by-hand", "policy": grant.to_string()});
    create(&cloud, "aws_iam_role_policy.by-hand", &policy).await;
    let address: Address = name.parse().unwrap();
    let refused = cloud.apply(&address, Action::Delete { identity: id.clone() }).await.unwrap_err();
    let ErrorClass::Dependency { blockers } = &refused.class else { panic!("{refused}") };
    assert_eq!(blockers, &["policy by-hand of the role"]);
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_is_gone_does_not_keep_its_profile() {
    let moto = moto();
    let lost = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&lost);
    let proxy = proxy(&moto, move |action| {
        if action == "RemoveRoleFromInstanceProfile" && counter.fetch_add(1, Ordering::SeqCst) == 0 {
            return Verdict::DropAfter;
        }
        Verdict::Pass
    });
    let cloud = Cloud::open(&proxy.endpoint()).await;
    cloud.create("aws_iam_role.masters", role()).await;
    let profile = json!({"name": "masters.a.example.com", "role": "masters.a.example.com"});
    let name = "aws_iam_instance_profile.masters";
    let id = create(&cloud, name, &profile).await;
    let address: Address = name.parse().unwrap();
    let action = Action::Delete { identity: id.clone() };
    let failed = cloud.apply(&address, action).await.unwrap_err();
    assert_eq!(failed.class, ErrorClass::OutcomeUnknown);
    cloud.delete(name, &id).await;
    cloud.end().await;
}
