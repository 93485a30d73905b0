use serde_json::{Value as Json, json};

use crate::life::{change_each, create};
use crate::support::{Cloud, moto};

fn alias(name: &str) -> Json {
    json!([{"name": name, "zone_id": "Z26RNL4JYFTOTI", "evaluate_target_health": false}])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_and_its_records() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let zone = json!({"name": "example.com", "comment": "one", "tags": {"Name": "a"}});
    let zone_name = "aws_route53_zone.example-com";
    let zone_id = create(&cloud, zone_name, &zone).await;
    change_each(&cloud, zone_name, &zone_id, &zone, &json!({"comment": "two", "tags": {"Name": "b"}})).await;

    let record = |kind: &str| {
        json!({"zone_id": zone_id.as_str(), "name": "api.a.example.com", "type": kind,
            "alias": alias("api-a-1234.elb.us-east-1.amazonaws.com")})
    };
    let (first, second) =
        ("aws_route53_record.api-a-example-com", "aws_route53_record.api-a-example-com-AAAA");
    // Both of one name, at once.
    let (v4, v6) = (record("A"), record("AAAA"));
    let (first_id, second_id) = tokio::join!(create(&cloud, first, &v4), create(&cloud, second, &v6));
    let changes = json!({"alias": alias("dualstack.api-b-5678.elb.us-east-1.amazonaws.com.")});
    change_each(&cloud, first, &first_id, &v4, &changes).await;

    let text = json!({"zone_id": zone_id.as_str(), "name": "text.example.com", "type": "TXT", "ttl": 60,
        "records": ["one"]});
    let text_name = "aws_route53_record.text-example-com";
    let text_id = create(&cloud, text_name, &text).await;
    change_each(&cloud, text_name, &text_id, &text, &json!({"ttl": 300, "records": ["one", "two"]})).await;

    for (name, id) in [(first, &first_id), (second, &second_id), (text_name, &text_id), (zone_name, &zone_id)]
    {
        cloud.delete(name, id).await;
    }
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_zone_that_two_networks_see() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let network = json!({"cidr_block": "10.0.0.0/16", "enable_dns_hostnames": true});
    let one = create(&cloud, "aws_vpc.one", &network).await;
    let two = create(&cloud, "aws_vpc.a-example-com", &network).await;
    let zone =
        json!({"name": "private.example.com", "vpc": [{"vpc_id": one.as_str(), "vpc_region": "us-east-1"}]});
    let zone_id = cloud
        .create("aws_route53_zone.private-example-com", slipway_resource::Value::from_json(&zone))
        .await
        .identity
        .unwrap();
    let association = json!({"zone_id": zone_id.as_str(), "vpc_id": two.as_str()});
    let name = "aws_route53_zone_association.private-example-com";
    let id = create(&cloud, name, &association).await;
    let lost = cloud.discover_lost().await;
    assert!(lost.iter().any(|observed| observed.identity == id), "{lost:#?}");
    cloud.delete(name, &id).await;
    cloud.delete("aws_route53_zone.private-example-com", &zone_id).await;
    cloud.end().await;
}
