//! The instances behind nodes.

use slipway_resource::provider::{
    Instance, InstanceAnswer, InstanceQuery, InstancesRequest, NodeAddressKind,
};

use crate::identity::ask;
use crate::support::{Cloud, moto};

const CLUSTER: &str = "a.example.com";

/// Starts an instance of a cluster; returns its id and its private name.
pub fn start(port: u16, cluster: &str) -> (String, String) {
    let run = format!(
        "Action=RunInstances&Version=2016-11-15&ImageId=ami-12c6146b&MinCount=1&MaxCount=1&InstanceType=t3.micro\
         &TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=kubernetes.io/cluster/{cluster}\
         &TagSpecification.1.Tag.1.Value=owned"
    );
    let id = ask(port, "ec2", &run, "instanceId");
    let describe = format!("Action=DescribeInstances&Version=2016-11-15&InstanceId.1={id}");
    (id, ask(port, "ec2", &describe, "privateDnsName"))
}

fn act(port: u16, action: &str, id: &str) {
    ask(port, "ec2", &format!("Action={action}&Version=2016-11-15&InstanceId.1={id}"), "instanceId");
}

fn query(node: &str, provider_id: Option<&str>) -> InstanceQuery {
    InstanceQuery { node: node.to_owned(), provider_id: provider_id.map(str::to_owned) }
}

async fn answers(cloud: &Cloud, queries: Vec<InstanceQuery>) -> Vec<InstanceAnswer> {
    cloud.session.instances(InstancesRequest { cluster: CLUSTER.to_owned(), queries }).await.unwrap()
}

fn present(answer: &InstanceAnswer) -> &Instance {
    match answer {
        InstanceAnswer::Present(instance) => instance,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_found_by_its_id_and_by_the_name_of_its_node() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let port = moto.port();
    let ((one, name), (two, _)) = (start(port, CLUSTER), start(port, CLUSTER));
    let (_, foreign) = start(port, "b.example.com");

    let found = answers(
        &cloud,
        vec![
            query(&name, None),
            query(&one, None),
            query("any", Some(&format!("aws:///us-east-1a/{two}"))),
            query(&foreign, None),
            query("any", Some("aws:///us-east-1a/i-0123456789abcdef0")),
            query("any", Some("gce://project/zone/name")),
        ],
    )
    .await;
    let instance = present(&found[0]);
    assert!(instance.provider_id.starts_with("aws:///us-east-1"), "{instance:?}");
    assert!(instance.provider_id.ends_with(&one), "{instance:?}");
    assert_eq!(present(&found[1]), instance);
    assert!(present(&found[2]).provider_id.ends_with(&two));
    assert_eq!(found[3..5], [InstanceAnswer::Absent, InstanceAnswer::Absent]);
    assert!(matches!(found[5], InstanceAnswer::Unreadable(_)), "{:?}", found[5]);
    assert_eq!(instance.instance_type.as_deref(), Some("t3.micro"));
    assert_eq!(instance.region.as_deref(), Some("us-east-1"));
    let kinds: Vec<_> = instance.addresses.iter().map(|address| address.kind).collect();
    assert!(
        kinds.starts_with(&[NodeAddressKind::InternalIp]) && kinds.contains(&NodeAddressKind::InternalDns)
    );

    act(port, "StopInstances", &one);
    act(port, "TerminateInstances", &two);
    let found = answers(&cloud, vec![query(&one, None), query(&two, None)]).await;
    assert!(present(&found[0]).shutdown);
    assert_eq!(found[1], InstanceAnswer::Absent);
    cloud.end().await;
}
