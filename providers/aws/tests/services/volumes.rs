//! The volumes of members of etcd: an instance gets the one of its zone and pool, and keeps it.

use serde_json::json;
use slipway_resource::provider::{Action, Applied};
use slipway_resource::{Address, ErrorClass, Identity, ProviderError, Value};

use crate::identity::{answer, ask};
use crate::life::create;
use crate::support::{CLUSTER, Cloud, moto};

fn run(port: u16, zone: &str) -> String {
    let body = format!(
        "Action=RunInstances&Version=2016-11-15&ImageId=ami-12c6146b&MinCount=1&MaxCount=1&InstanceType=t3.micro\
         &Placement.AvailabilityZone={zone}"
    );
    ask(port, "ec2", &body, "instanceId")
}

async fn volume(cloud: &Cloud, member: &str, zone: &str) -> Identity {
    let tags = json!({"KubernetesCluster": CLUSTER, "k8s.io/etcd/main": format!("{member}/a,b,c")});
    let volume = json!({"availability_zone": zone, "size": 20, "type": "gp3", "iops": 3000, "throughput": 125,
        "encrypted": true, "tags": tags});
    create(cloud, &format!("aws_ebs_volume.{member}-etcd-main"), &volume).await
}

async fn attach(cloud: &Cloud, members: &[&str], machine: &str) -> Result<Applied, ProviderError> {
    let arguments = json!({"cluster": CLUSTER, "etcd": "main", "members": members, "machine": machine});
    let action = Action::Operation {
        identity: Identity::new(""),
        name: "attach".to_owned(),
        arguments: Value::from_json(&arguments),
    };
    cloud.apply(&Address::new("aws_ebs_volume", "main"), action).await
}

fn member(applied: &Applied) -> (&str, &str) {
    let text = |name: &str| applied.attributes.get(name).and_then(Value::as_str).unwrap();
    (text("member"), text("volume"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_gets_the_volume_of_its_zone_and_pool_and_keeps_it() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let port = moto.port();
    let a = volume(&cloud, "a", "us-east-1a").await;
    let b = volume(&cloud, "b", "us-east-1b").await;
    let (first, second) = (run(port, "us-east-1a"), run(port, "us-east-1a"));
    let machine = |zone: &str, id: &str| format!("aws:///{zone}/{id}");
    let given = attach(&cloud, &["a", "b"], &machine("us-east-1a", &first)).await.unwrap();
    assert_eq!(member(&given), ("a", a.as_str()));
    let serial = a.as_str().replace('-', "");
    assert_eq!(given.attributes.get("serial").and_then(Value::as_str), Some(serial.as_str()));
    // The same machine gets the same one again, and another machine none.
    let again = attach(&cloud, &["a", "b"], &machine("us-east-1a", &first)).await.unwrap();
    assert_eq!(member(&again), ("a", a.as_str()));
    let refused = attach(&cloud, &["a", "b"], &machine("us-east-1a", &second)).await.unwrap_err();
    assert!(refused.class.is_retryable() && refused.message.contains(&first), "{refused}");
    // A pool does not get the volume of the member of another one.
    let other = run(port, "us-east-1b");
    let refused = attach(&cloud, &["c"], &machine("us-east-1b", &other)).await.unwrap_err();
    assert!(refused.message.ends_with("there is none"), "{refused}");
    let given = attach(&cloud, &["b"], &machine("us-east-1b", &other)).await.unwrap();
    assert_eq!(member(&given), ("b", b.as_str()));

    // The machine that replaces a terminated one gets its volume.
    let detach = format!("Action=DetachVolume&Version=2016-11-15&VolumeId={}&InstanceId={first}", a.as_str());
    answer(port, "ec2", &detach);
    let given = attach(&cloud, &["a", "b"], &machine("us-east-1a", &second)).await.unwrap();
    assert_eq!(member(&given), ("a", a.as_str()));
    let refused = attach(&cloud, &["a"], "elsewhere").await.unwrap_err();
    assert_eq!(refused.class, ErrorClass::Invalid, "{refused}");
    cloud.end().await;
}
