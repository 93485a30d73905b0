use serde_json::json;
use slipway_resource::provider::{Action, EventSink, Resolution, UnwrapKeyRequest, WrapKeyRequest};
use slipway_resource::{Address, ErrorClass, Observation, Value};
use slipway_testkit::http;

use crate::life::{change_each, create};
use crate::support::{Cloud, known, moto};

/// Moto finds the service in the scope of the signature, and does not check the signature itself.
const SIGNED: (&str, &str) = (
    "Authorization",
    "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/kms/aws4_request, SignedHeaders=host, Signature=0",
);

/// The answer of KMS to a call.
fn call(port: u16, action: &str, body: &serde_json::Value) -> serde_json::Value {
    let target = format!("TrentService.{action}");
    let headers = [SIGNED, ("X-Amz-Target", &target), ("Content-Type", "application/x-amz-json-1.1")];
    let answer = http::request("POST", port, "/", &headers, body.to_string().as_bytes()).unwrap();
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

/// Makes a key, and returns its id.
fn key(port: u16) -> String {
    call(port, "CreateKey", &json!({}))["KeyMetadata"]["KeyId"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_key_is_unwrapped_for_its_own_scope_alone() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let key = key(moto.port());
    let plain = zeroize::Zeroizing::new(b"a data key of thirty-two bytes!!".to_vec());
    let request = WrapKeyRequest { key: key.clone(), plain: plain.clone(), scope: "a".to_owned() };
    let wrapped = cloud.session.wrap_key(request).await.unwrap();
    assert_ne!(wrapped, *plain);
    let request = UnwrapKeyRequest { key: key.clone(), wrapped, scope: "a".to_owned() };
    assert_eq!(cloud.session.unwrap_key(request.clone()).await.unwrap(), plain);

    let other = UnwrapKeyRequest { scope: "b".to_owned(), ..request.clone() };
    assert_eq!(cloud.session.unwrap_key(other).await.unwrap_err().class, ErrorClass::Invalid);
    let missing =
        WrapKeyRequest { key: "00000000-0000-0000-0000-000000000000".to_owned(), plain, scope: "a".into() };
    assert_eq!(cloud.session.wrap_key(missing).await.unwrap_err().class, ErrorClass::NotFound);
    cloud.end().await;
}

fn policy(action: &str) -> String {
    let statement = json!({"Effect": "Allow", "Action": action, "Resource": "*",
        "Principal": {"AWS": "arn:aws:iam::123456789012:root"}});
    json!({"Version": "2012-10-17", "Statement": [statement]}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_a_cluster_is_made_changed_and_scheduled_for_deletion() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let name = "aws_kms_key.state-key-a-example-com";
    let wanted = json!({"alias": "alias/slipway/a-example-com", "description": "opens keys",
        "policy": policy("kms:PutKeyPolicy"), "tags": {"Name": "state-key.a.example.com"}});
    let id = create(&cloud, name, &wanted).await;
    let changes = json!({"policy": policy("kms:DescribeKey"), "description": "others", "is_enabled": false,
        "alias": "alias/slipway/another", "tags": {"Name": "b"}});
    change_each(&cloud, name, &id, &wanted, &changes).await;

    // People may add an alias of their own.
    call(moto.port(), "CreateAlias", &json!({"AliasName": "alias/ours", "TargetKeyId": id.as_str()}));
    let found = cloud.discover_lost().await;
    assert_eq!(found.iter().map(|found| found.address.to_string()).collect::<Vec<_>>(), [name]);
    let Observation::Present(attributes) = &found[0].observation else { panic!("{found:?}") };
    assert_eq!(attributes.get("alias").unwrap().as_str(), Some("alias/slipway/a-example-com"));

    cloud.delete(name, &id).await;
    let described = call(moto.port(), "DescribeKey", &json!({"KeyId": id.as_str()}));
    assert_eq!(described["KeyMetadata"]["KeyState"], "PendingDeletion");
    assert_eq!(cloud.read(name, &id).await.observation, Observation::Absent);
    // The name is free at once: the next cluster of this name gets another key. It was created, and the run was killed
    // before the key had its alias.
    let address: Address = name.parse().unwrap();
    let planned = cloud.plan(&address, Some(Value::from_json(&wanted)), None).await;
    let request = cloud.request(&address, Action::Create { desired: known(&planned.normalised) });
    let made = cloud.session.apply(request.clone(), EventSink::discard()).await.unwrap().identity.unwrap();
    assert_ne!(made, id);
    call(moto.port(), "DeleteAlias", &json!({"AliasName": "alias/slipway/a-example-com"}));
    let Resolution::Done(applied) = cloud.resume(&request).await else { panic!("the key is not found") };
    assert_eq!(applied.identity.as_ref(), Some(&made));
    assert_eq!(applied.attributes.get("alias").unwrap().as_str(), Some("alias/slipway/a-example-com"));
    cloud.delete(name, &made).await;
    cloud.end().await;
}
