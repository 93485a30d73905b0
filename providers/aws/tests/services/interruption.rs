use serde_json::json;

use crate::life::{change_each, create};
use crate::support::{Cloud, moto};

fn policy(action: &str) -> String {
    json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": action, "Resource":
        "arn:aws:sqs:us-east-1:123456789012:a-example-com-nth",
        "Principal": {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]}}]})
    .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_and_the_rules_that_feed_it() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let queue = json!({"name": "a-example-com-nth", "message_retention_seconds": 300,
        "policy": policy("sqs:SendMessage"), "tags": {"Name": "a-example-com-nth"}});
    let queue_name = "aws_sqs_queue.a-example-com-nth";
    let queue_id = create(&cloud, queue_name, &queue).await;
    let changes = json!({
        "message_retention_seconds": 600,
        "visibility_timeout_seconds": 60,
        "delay_seconds": 5,
        "receive_wait_time_seconds": 3,
        "policy": policy("sqs:SendMessageBatch"),
        "tags": {"Name": "b"},
    });
    change_each(&cloud, queue_name, &queue_id, &queue, &changes).await;

    let pattern = |source: &str| json!({"source": [source], "detail-type": ["AWS Health Event"]}).to_string();
    let rule = json!({"name": "a.example.com-SpotInterruption", "event_pattern": pattern("aws.ec2"),
        "tags": {"Name": "a.example.com-SpotInterruption"}});
    let rule_name = "aws_cloudwatch_event_rule.a-example-com-SpotInterruption";
    let rule_id = create(&cloud, rule_name, &rule).await;
    let changes = json!({
        "event_pattern": pattern("aws.health"),
        "description": "for tests",
        "state": "DISABLED",
        "tags": {"Name": "b"},
    });
    change_each(&cloud, rule_name, &rule_id, &rule, &changes).await;

    let target = json!({"rule": "a.example.com-SpotInterruption", "target_id": "1",
        "arn": "arn:aws:sqs:us-east-1:123456789012:a-example-com-nth"});
    let target_name = "aws_cloudwatch_event_target.a-example-com-SpotInterruption-Target";
    let target_id = create(&cloud, target_name, &target).await;
    let changes = json!({"arn": "arn:aws:sqs:us-east-1:123456789012:another", "input": "{\"a\":1}"});
    change_each(&cloud, target_name, &target_id, &target, &changes).await;

    let found = cloud.discover_lost().await;
    let mut names: Vec<String> = found.iter().map(|observed| observed.address.to_string()).collect();
    names.sort();
    assert_eq!(names, [rule_name, target_name, queue_name]);

    cloud.delete(target_name, &target_id).await;
    cloud.delete(rule_name, &rule_id).await;
    cloud.delete(queue_name, &queue_id).await;
    cloud.end().await;
}
