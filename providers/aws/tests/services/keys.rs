use slipway_resource::ErrorClass;
use slipway_resource::provider::{UnwrapKeyRequest, WrapKeyRequest};
use slipway_testkit::http;

use crate::support::{Cloud, moto};

/// Moto finds the service in the scope of the signature, and does not check the signature itself.
const SIGNED: (&str, &str) = (
    "Authorization",
    "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/kms/aws4_request, SignedHeaders=host, Signature=0",
);

/// Makes a key, and returns its id.
fn key(port: u16) -> String {
    let headers =
        [SIGNED, ("X-Amz-Target", "TrentService.CreateKey"), ("Content-Type", "application/x-amz-json-1.1")];
    let answer = http::request("POST", port, "/", &headers, b"{}").unwrap();
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    json["KeyMetadata"]["KeyId"].as_str().unwrap().to_owned()
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
