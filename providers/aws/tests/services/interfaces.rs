//! Interfaces that network plugins left behind, and that block the deletion of the network.

use serde_json::json;
use slipway_resource::provider::Action;
use slipway_resource::{Address, ErrorClass, Value};
use slipway_testkit::lab::values;

use crate::identity::{answer, ask};
use crate::life::create;
use crate::support::{CLUSTER, Cloud, moto};

/// Sends a request to EC2, and gives the text of an element of the answer.
fn ec2(port: u16, body: &str, element: &str) -> String {
    ask(port, "ec2", &format!("{body}&Version=2016-11-15"), element)
}

/// Runs an instance in another network.
fn run(port: u16) -> String {
    let body = "Action=RunInstances&ImageId=ami-12c6146b&MinCount=1&MaxCount=1&InstanceType=t3.micro";
    ec2(port, body, "instanceId")
}

/// Creates an interface with a description, and with the name of a cluster if a plugin sets it.
fn interface(port: u16, subnet: &str, description: &str, cluster: Option<&str>) -> String {
    let tag = cluster.map(|cluster| {
        format!(
            "&TagSpecification.1.ResourceType=network-interface\
             &TagSpecification.1.Tag.1.Key=cluster.k8s.amazonaws.com/name&TagSpecification.1.Tag.1.Value={cluster}"
        )
    });
    let body = format!(
        "Action=CreateNetworkInterface&SubnetId={subnet}&Description={description}{}",
        tag.unwrap_or_default()
    );
    ec2(port, &body, "networkInterfaceId")
}

/// The ids of the interfaces in a subnet, sorted.
fn left(port: u16, subnet: &str) -> Vec<String> {
    let body = format!(
        "Action=DescribeNetworkInterfaces&Version=2016-11-15&Filter.1.Name=subnet-id&Filter.1.Value.1={subnet}"
    );
    let answer = answer(port, "ec2", &body);
    let mut found: Vec<String> =
        values(&answer, "networkInterfaceId").into_iter().map(str::to_owned).collect();
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deletion_of_a_cluster_deletes_interfaces_that_network_plugins_left_behind() {
    let moto = moto();
    let (endpoint, port) = (moto.endpoint(), moto.port());
    let staying = Cloud::open(&endpoint).await;
    let vpc = create(&staying, "aws_vpc.a", &json!({"cidr_block": "10.0.0.0/16"})).await;
    let subnet =
        json!({"vpc_id": vpc.as_str(), "availability_zone": "us-east-1a", "cidr_block": "10.0.0.0/24"});
    let subnet = create(&staying, "aws_subnet.a", &subnet).await;
    let (gone, living) = (run(port), run(port));
    ec2(port, &format!("Action=TerminateInstances&InstanceId.1={gone}"), "instanceId");
    let new = |description: String, cluster| interface(port, subnet.as_str(), &description, cluster);
    let of_plugins = [
        new(format!("aws-K8S-{gone}"), Some(CLUSTER)),
        new(format!("aws-K8S-{gone}"), None),
        new(format!("Cilium-CNI%20({gone})"), None),
    ];
    let of_others = [
        new(format!("aws-K8S-{gone}"), Some("b.example.com")),
        new(format!("aws-K8S-{living}"), Some(CLUSTER)),
        new("of%20somebody".to_owned(), None),
    ];
    let address: Address = "aws_subnet.a".parse().unwrap();
    let refused = async |cloud: &Cloud| {
        let error = cloud.apply(&address, Action::Delete { identity: subnet.clone() }).await.unwrap_err();
        let ErrorClass::Dependency { blockers } = &error.class else { panic!("{error}") };
        blockers.len()
    };

    // A plan that deletes only a part of a cluster changes no interface.
    assert_eq!(refused(&staying).await, 6);
    assert_eq!(left(port, subnet.as_str()).len(), 6);
    staying.end().await;

    let settings = Value::map([("endpoint", Value::from(endpoint.as_str())), ("leaving", true.into())]);
    let leaving = Cloud::open_with(&settings).await;
    assert_eq!(refused(&leaving).await, 3);
    let mut expected = of_others.to_vec();
    expected.sort();
    assert_eq!(left(port, subnet.as_str()), expected, "of plugins: {of_plugins:?}");

    // When only interfaces of plugins block the deletion, it succeeds.
    for id in &of_others {
        answer(
            port,
            "ec2",
            &format!("Action=DeleteNetworkInterface&Version=2016-11-15&NetworkInterfaceId={id}"),
        );
    }
    new(format!("aws-K8S-{gone}"), Some(CLUSTER));
    leaving.delete("aws_subnet.a", &subnet).await;
    leaving.end().await;
}
