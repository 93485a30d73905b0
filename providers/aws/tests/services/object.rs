use serde_json::json;

use slipway_resource::Value;

use crate::life::{change_each, create, observed};
use crate::support::{Cloud, moto};

#[tokio::test(flavor = "multi_thread")]
async fn a_document_in_a_bucket() {
    let moto = moto();
    moto.create_bucket("documents").unwrap();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let document = json!({"bucket": "documents", "key": "a/keys.json", "content": "{}",
        "content_type": "application/json"});
    let name = "aws_s3_object.keys";
    let id = create(&cloud, name, &document).await;
    let changes = json!({
        "content_type": "text/plain",
        "cache_control": "max-age=60",
        "metadata": {"a": "b"},
    });
    change_each(&cloud, name, &id, &document, &changes).await;

    // A change of the object by another client is noticed by its checksum.
    let mut other = document.clone();
    other["content"] = "{\"a\":1}".into();
    let prior = observed(&cloud, name, &id).await;
    let sum = prior.get("checksum_sha256").cloned();
    cloud.update(name, &id, &prior, Value::from_json(&other)).await;
    assert_ne!(observed(&cloud, name, &id).await.get("checksum_sha256").cloned(), sum);
    cloud.delete(name, &id).await;
    cloud.end().await;
}
