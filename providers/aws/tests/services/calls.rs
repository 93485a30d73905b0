//! How many calls a look costs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::json;
use slipway_resource::provider::ReadRequest;
use slipway_resource::{Identity, Observation};
use slipway_testkit::proxy::{Proxy, Request, Verdict};

use crate::life::create;
use crate::support::{Cloud, action, moto};

type Counts = Arc<Mutex<BTreeMap<String, usize>>>;

/// The API's name of a call; the method for calls without a name.
fn name(request: &Request) -> String {
    let target = request.header("x-amz-target").and_then(|target| target.rsplit('.').next());
    match target {
        Some(target) => target.to_owned(),
        None if !action(request).is_empty() => action(request),
        None => format!("{} {}", request.method, request.target.split(['?']).next().unwrap_or_default()),
    }
}

/// A cloud whose calls are counted.
async fn counted(port: u16) -> (Proxy, Counts, Cloud) {
    let counts = Counts::default();
    let sink = Arc::clone(&counts);
    let proxy = Proxy::start(port, move |request| {
        *sink.lock().unwrap().entry(name(request)).or_default() += 1;
        Verdict::Pass
    })
    .unwrap();
    let cloud = Cloud::open(&proxy.endpoint()).await;
    (proxy, counts, cloud)
}

/// Reads all objects at once; returns the number of calls, by name.
async fn look(cloud: &Cloud, counts: &Counts, made: &[(String, Identity)]) -> BTreeMap<String, usize> {
    counts.lock().unwrap().clear();
    let requests = made
        .iter()
        .map(|(name, identity)| ReadRequest { address: name.parse().unwrap(), identity: identity.clone() });
    for observed in cloud.session.read(requests.collect()).await.unwrap() {
        assert!(matches!(observed.observation, Observation::Present(_)), "{observed:?}");
    }
    counts.lock().unwrap().clone()
}

fn expected<const N: usize>(calls: [(&str, usize); N]) -> BTreeMap<String, usize> {
    calls.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn identities_and_interruptions_in_few_calls() {
    let moto = moto();
    let (_proxy, counts, cloud) = counted(moto.port()).await;
    let trust = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
        "Principal": {"Service": "ec2.amazonaws.com"}}]})
    .to_string();
    let mut made = Vec::new();
    let mut add = async |kind: &str, name: &str, attributes: serde_json::Value| {
        let address = format!("{kind}.{}", name.replace('.', "-"));
        let identity = create(&cloud, &address, &attributes).await;
        made.push((address, identity));
    };
    for role in ["masters.a.example.com", "nodes.a.example.com"] {
        add("aws_iam_role", role, json!({"name": role, "assume_role_policy": trust})).await;
        add("aws_iam_instance_profile", role, json!({"name": role, "role": role})).await;
    }
    let grant = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}]});
    let policy = json!({"role": "masters.a.example.com", "name": "masters.a.example.com", "policy": grant.to_string()});
    add("aws_iam_role_policy", "masters.a.example.com", policy).await;
    add("aws_sqs_queue", "a-example-com-nth", json!({"name": "a-example-com-nth"})).await;
    for rule in ["ASGLifecycle", "SpotInterruption", "InstanceStateChange", "InstanceScheduledChange"] {
        let name = format!("a.example.com-{rule}");
        let pattern = json!({"source": ["aws.ec2"]}).to_string();
        add("aws_cloudwatch_event_rule", &name, json!({"name": name, "event_pattern": pattern})).await;
        let target = json!({"rule": name, "arn": "arn:aws:sqs:us-east-1:123456789012:a-example-com-nth"});
        add("aws_cloudwatch_event_target", &format!("{name}-Target"), target).await;
    }
    let calls = expected([
        ("GetRole", 2),
        ("GetInstanceProfile", 2),
        ("GetRolePolicy", 1),
        ("GetQueueAttributes", 1),
        ("ListQueueTags", 1),
        ("ListRules", 1),
        ("ListTargetsByRule", 4),
    ]);
    assert_eq!(look(&cloud, &counts, &made).await, calls);
    // An object that is gone needs no further call.
    cloud.delete("aws_cloudwatch_event_target.a-example-com-ASGLifecycle-Target", &made[7].1).await;
    made.remove(7);
    assert_eq!(look(&cloud, &counts, &made).await.get("ListRules"), Some(&1));
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn load_balancers_records_and_templates_in_few_calls() {
    let moto = moto();
    let (_proxy, counts, cloud) = counted(moto.port()).await;
    let network = create(&cloud, "aws_vpc.a", &json!({"cidr_block": "10.0.0.0/16"})).await;
    let subnet =
        json!({"vpc_id": network.as_str(), "availability_zone": "us-east-1a", "cidr_block": "10.0.0.0/24"});
    let subnet = create(&cloud, "aws_subnet.a", &subnet).await;
    let mut made = Vec::new();
    for name in ["api", "bastion"] {
        let group = json!({"name": name, "port": 443, "protocol": "TCP", "vpc_id": network.as_str()});
        let group_id = create(&cloud, &format!("aws_lb_target_group.{name}"), &group).await;
        let balancer = json!({"name": name, "subnet_mapping": [{"subnet_id": subnet.as_str()}]});
        let balancer_id = create(&cloud, &format!("aws_lb.{name}"), &balancer).await;
        let listener = json!({"load_balancer_arn": balancer_id.as_str(), "port": 443, "protocol": "TCP",
            "default_action": [{"type": "forward", "target_group_arn": group_id.as_str()}]});
        let listener_id = create(&cloud, &format!("aws_lb_listener.{name}"), &listener).await;
        made.push((format!("aws_lb_target_group.{name}"), group_id));
        made.push((format!("aws_lb.{name}"), balancer_id));
        made.push((format!("aws_lb_listener.{name}"), listener_id));
    }
    let calls = expected([
        ("DescribeLoadBalancers", 1),
        ("DescribeLoadBalancerAttributes", 2),
        ("DescribeListeners", 1),
        ("DescribeTargetGroups", 1),
        ("DescribeTargetGroupAttributes", 2),
        ("DescribeTags", 1),
    ]);
    assert_eq!(look(&cloud, &counts, &made).await, calls);

    let zone = create(&cloud, "aws_route53_zone.a", &json!({"name": "example.com"})).await;
    counts.lock().unwrap().clear();
    let record = |kind: &str| {
        json!({"zone_id": zone.as_str(), "name": "api.a.example.com", "type": kind, "alias": [
            {"name": "api-1.elb.us-east-1.amazonaws.com", "zone_id": "Z26RNL4JYFTOTI"}]})
    };
    let (v4, v6) = (record("A"), record("AAAA"));
    let (first, second) = tokio::join!(
        cloud.create("aws_route53_record.a", slipway_resource::Value::from_json(&v4)),
        cloud.create("aws_route53_record.b", slipway_resource::Value::from_json(&v6)),
    );
    let changes = counts
        .lock()
        .unwrap()
        .iter()
        .filter(|(name, _)| name.starts_with("POST"))
        .map(|(_, count)| count)
        .sum::<usize>();
    assert_eq!(changes, 1, "{:?}", counts.lock().unwrap());
    let records = [
        ("aws_route53_record.a".to_owned(), first.identity.unwrap()),
        ("aws_route53_record.b".to_owned(), second.identity.unwrap()),
    ];
    assert_eq!(look(&cloud, &counts, &records).await.values().sum::<usize>(), 1);

    let mut templates = Vec::new();
    for name in ["masters", "nodes", "bastions"] {
        let template = json!({"name": format!("{name}.a.example.com"), "instance_type": "t3.medium",
            "iam_instance_profile": [{"name": format!("{name}.a.example.com")}]});
        let address = format!("aws_launch_template.{name}");
        let identity = create(&cloud, &address, &template).await;
        templates.push((address, identity));
    }
    let calls = expected([("DescribeLaunchTemplates", 1), ("DescribeLaunchTemplateVersions", 1)]);
    assert_eq!(look(&cloud, &counts, &templates).await, calls);
    cloud.end().await;
}
