//! Objects of another tool are found by their tags and names; our own objects are not.

use aws_credential_types::Credentials;
use aws_sdk_ec2::config::{BehaviorVersion, Region};
use aws_sdk_ec2::types::{IpPermission, IpRange, ResourceType, Tag, TagSpecification};
use serde_json::json;
use slipway_resource::provider::{LocateItem, LocateRequest};
use slipway_resource::{Identity, Value};

use crate::support::{CLUSTER, Cloud, REGION, moto};

/// Tags as kOps gives them.
fn tags(kind: ResourceType, name: &str) -> TagSpecification {
    let tag = |key: &str, value: &str| Tag::builder().key(key).value(value).build();
    TagSpecification::builder()
        .resource_type(kind)
        .tags(tag("KubernetesCluster", CLUSTER))
        .tags(tag("Name", name))
        .build()
}

fn item(address: &str, desired: Value) -> LocateItem {
    LocateItem { address: address.parse().unwrap(), desired, existing: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_tool_made_is_found() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let config = aws_sdk_ec2::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(REGION))
        .endpoint_url(moto.endpoint())
        .credentials_provider(Credentials::new("testing", "testing", None, None, "test"))
        .build();
    let ec2 = aws_sdk_ec2::Client::from_conf(config);
    let vpc = ec2.create_vpc().cidr_block("10.0.0.0/16").tag_specifications(tags(ResourceType::Vpc, CLUSTER));
    let vpc = vpc.send().await.unwrap().vpc().unwrap().vpc_id().unwrap().to_owned();
    let group = ec2
        .create_security_group()
        .group_name("nodes.a.example.com")
        .description("nodes")
        .vpc_id(&vpc)
        .tag_specifications(tags(ResourceType::SecurityGroup, "nodes.a.example.com"));
    let group = group.send().await.unwrap().group_id().unwrap().to_owned();
    let ssh = IpPermission::builder().ip_protocol("tcp").from_port(22).to_port(22);
    let ssh = ssh.ip_ranges(IpRange::builder().cidr_ip("10.0.0.0/8").build()).build();
    ec2.authorize_security_group_ingress().group_id(&group).ip_permissions(ssh).send().await.unwrap();
    // An object of ours, with the same name and the same tags.
    let ours = json!({"cidr_block": "10.1.0.0/16", "tags": {"Name": CLUSTER, "KubernetesCluster": CLUSTER}});
    cloud.create("aws_vpc.ours", Value::from_json(&ours)).await;

    let network = Value::reference("aws_vpc.a".parse().unwrap(), "id");
    let nodes = Value::reference("aws_security_group.nodes".parse().unwrap(), "id");
    let items = vec![
        item(
            "aws_security_group_rule.ssh",
            Value::map([
                ("security_group_id", nodes),
                ("type", "ingress".into()),
                ("protocol", "tcp".into()),
                ("from_port", Value::Integer(22)),
                ("to_port", Value::Integer(22)),
                ("cidr_blocks", Value::list(["10.0.0.0/8"])),
            ]),
        ),
        item(
            "aws_security_group.nodes",
            Value::map([("name", Value::from("nodes.a.example.com")), ("vpc_id", network)]),
        ),
        item("aws_vpc.a", Value::map([("tags", Value::map([("Name", CLUSTER)]))])),
        item("aws_key_pair.none", Value::map([("key_name", "nobody"), ("public_key", "ssh-rsa AAAA")])),
    ];
    let request = LocateRequest { cluster: CLUSTER.to_owned(), items };
    let located = cloud.session.locate(request).await.unwrap();
    let found: Vec<Option<&str>> =
        located.iter().map(|located| located.identity().map(Identity::as_str)).collect();
    assert!(found[0].is_some_and(|rule| rule.contains(&group)), "{found:?}");
    assert_eq!(found[1..], [Some(group.as_str()), Some(vpc.as_str()), None]);
    assert_eq!(located[2].attributes.get("cidr_block").and_then(Value::as_str), Some("10.0.0.0/16"));
    cloud.end().await;
}
