//! Machines and users that are refused the credential of a node. Moto accepts every signature, so these tests do not show that STS
//! refuses a wrong one.

use slipway_resource::provider::{NodeChallenge, VerifyNodeRequest};
use slipway_resource::{Digest, ErrorClass};
use slipway_testkit::http;

use crate::support::{Cloud, REGION, moto};

const CLUSTER: &str = "a.example.com";

/// Sends a request of the query protocol, and gives the text of the first element of a name in the answer.
pub(crate) fn ask(port: u16, service: &str, body: &str, element: &str) -> String {
    let text = answer(port, service, body);
    let found = text.split_once(&format!("<{element}>")).and_then(|(_, rest)| rest.split_once("</"));
    found.unwrap_or_else(|| panic!("no {element} in {text}")).0.to_owned()
}

/// Sends a request of the query protocol, and gives the answer.
pub(crate) fn answer(port: u16, service: &str, body: &str) -> String {
    let signed = format!(
        "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0"
    );
    let headers = [("Authorization", signed.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
    let answer = http::request("POST", port, "/", &headers, body.as_bytes()).unwrap();
    String::from_utf8(answer.body).unwrap()
}

/// The access key of a session of a role.
fn session(port: u16, role: &str, name: &str) -> String {
    let body = format!("Action=AssumeRole&Version=2011-06-15&RoleArn={role}&RoleSessionName={name}");
    ask(port, "sts", &body, "AccessKeyId")
}

fn challenge() -> NodeChallenge {
    let request = Digest::of_bytes(b"request");
    NodeChallenge { server: "api.a.example.com".to_owned(), nonce: "nonce".to_owned(), request }
}

/// The credential that the owner of an access key could make.
fn shown(key: &str) -> Vec<u8> {
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={key}/20260101/us-east-1/sts/aws4_request, \
         SignedHeaders=host;x-amz-date;x-slipway-challenge, Signature=0"
    );
    let headers = serde_json::json!({"authorization": authorization, "x-amz-date": "20260101T000000Z"});
    serde_json::json!({ "headers": headers }).to_string().into_bytes()
}

async fn refusal(cloud: &Cloud, credential: Vec<u8>) -> String {
    let request = VerifyNodeRequest { challenge: challenge(), credential, cluster: CLUSTER.to_owned() };
    let error = cloud.session.verify_node(request).await.unwrap_err();
    assert!(matches!(error.class, ErrorClass::Permission { .. }), "{error:?}");
    error.message
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_a_node_but_a_running_machine_of_the_cluster() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let port = moto.port();
    let role = "arn:aws:iam::123456789012:role/nodes.a.example.com";

    // The credential of a user of the account is bound to the challenge, and covers only the headers of a
    // signature.
    let own = cloud.session.bootstrap_credential(challenge()).await.unwrap();
    let json: serde_json::Value = serde_json::from_slice(&own).unwrap();
    let authorization = json["headers"]["authorization"].as_str().unwrap();
    assert!(authorization.contains("x-slipway-challenge"), "{authorization}");
    assert_eq!(json["headers"].get("host"), None);
    let text = refusal(&cloud, own).await;
    assert!(text.contains("is no role of an instance"), "{text}");

    let text = refusal(&cloud, b"{}".to_vec()).await;
    assert!(text.contains("cannot be read"), "{text}");
    let text = refusal(&cloud, shown(&session(port, role, "somebody"))).await;
    assert!(text.contains("is no role of an instance"), "{text}");
    let text = refusal(&cloud, shown(&session(port, role, "i-0123456789abcdef0"))).await;
    assert!(text.contains("i-0123456789abcdef0 does not exist"), "{text}");
    let other = "arn:aws:iam::210987654321:role/nodes.a.example.com";
    let text = refusal(&cloud, shown(&session(port, other, "i-0123456789abcdef0"))).await;
    assert!(text.contains("of account 210987654321"), "{text}");

    // An instance with the tag of the cluster, which people can set, but of no group, which only AWS can say.
    let run = "Action=RunInstances&Version=2016-11-15&ImageId=ami-12c6146b&MinCount=1&MaxCount=1&InstanceType=t3.micro\
               &TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=KubernetesCluster\
               &TagSpecification.1.Tag.1.Value=a.example.com";
    let id = ask(port, "ec2", run, "instanceId");
    let text = refusal(&cloud, shown(&session(port, role, &id))).await;
    assert!(text.contains("is no machine of a pool of a.example.com"), "{text}");
    let end = format!("Action=TerminateInstances&Version=2016-11-15&InstanceId.1={id}");
    ask(port, "ec2", &end, "instanceId");
    let text = refusal(&cloud, shown(&session(port, role, &id))).await;
    assert!(text.contains("is terminated"), "{text}");
    cloud.end().await;
    only_its_own_network_is_the_clusters(&moto.endpoint(), port).await;
}

/// Machines with the tags of the cluster, in groups with its name, are refused if they are in another network than the control plane that
/// verifies them.
async fn only_its_own_network_is_the_clusters(endpoint: &str, port: u16) {
    let role = |name: &str| format!("arn:aws:iam::123456789012:role/{name}.a.example.com");
    let control_plane = member(port, "masters", "10.7.0.0/16");
    let foreign = member(port, "nodes", "10.8.0.0/16");
    let key = session(port, &role("masters"), &control_plane.id);
    let cloud = Cloud::open_as(endpoint, &key, REGION).await;
    let text = refusal(&cloud, shown(&session(port, &role("nodes"), &foreign.id))).await;
    let places = format!("is in {}, and the cluster is in {}", foreign.network, control_plane.network);
    assert!(text.contains(&places), "{text}");
    // In the same network, the next check follows: the group gives its machines no role.
    let own = launched(port, "others", &control_plane.subnet);
    let text = refusal(&cloud, shown(&session(port, &role("nodes"), &own))).await;
    assert!(text.contains("does not have the role"), "{text}");
    with_the_role_it_is_verified(&cloud, port, &own).await;
    cloud.end().await;

    // Somebody who is no instance does not know the network of the cluster, and verifies nobody.
    let cloud = Cloud::open(endpoint).await;
    let credential = shown(&session(port, &role("nodes"), &own));
    let request = VerifyNodeRequest { challenge: challenge(), credential, cluster: CLUSTER.to_owned() };
    let error = cloud.session.verify_node(request).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Permanent, "{error:?}");
    assert!(error.message.contains("is no instance"), "{error:?}");
    cloud.end().await;
}

/// A machine with the role of workers is verified. The answer has its pool, its role and its launch template.
async fn with_the_role_it_is_verified(cloud: &Cloud, port: u16, id: &str) {
    let name = format!("nodes.{CLUSTER}");
    let create = format!("Action=CreateInstanceProfile&Version=2010-05-08&InstanceProfileName={name}");
    answer(port, "iam", &create);
    let associate = format!(
        "Action=AssociateIamInstanceProfile&Version=2016-11-15&IamInstanceProfile.Name={name}&InstanceId={id}"
    );
    answer(port, "ec2", &associate);
    let credential = shown(&session(port, &format!("arn:aws:iam::123456789012:role/{name}"), id));
    let request = VerifyNodeRequest { challenge: challenge(), credential, cluster: CLUSTER.to_owned() };
    let verified = cloud.session.verify_node(request).await.unwrap();
    let described =
        format!("Action=DescribeLaunchTemplates&Version=2016-11-15&LaunchTemplateName.1=others.{CLUSTER}");
    let template = ask(port, "ec2", &described, "launchTemplateId");
    assert_eq!((verified.machine.as_str(), verified.pool.as_deref()), (id, Some("others")));
    assert_eq!((verified.role, verified.template), (Some(name), Some(template)));
}

/// An instance in a network of its own.
struct Member {
    id: String,
    network: String,
    subnet: String,
}

/// Creates a network, and an instance of a group in it.
fn member(port: u16, group: &str, range: &str) -> Member {
    let ec2 = |body: &str, element: &str| ask(port, "ec2", &format!("{body}&Version=2016-11-15"), element);
    let network = ec2(&format!("Action=CreateVpc&CidrBlock={range}"), "vpcId");
    let subnet = ec2(&format!("Action=CreateSubnet&VpcId={network}&CidrBlock={range}"), "subnetId");
    Member { id: launched(port, group, &subnet), network, subnet }
}

/// The instance that a new group of the cluster launches in a subnet.
fn launched(port: u16, group: &str, subnet: &str) -> String {
    let name = format!("{group}.{CLUSTER}");
    let template = format!(
        "Action=CreateLaunchTemplate&Version=2016-11-15&LaunchTemplateName={name}\
         &LaunchTemplateData.ImageId=ami-12c6146b&LaunchTemplateData.InstanceType=t3.micro"
    );
    let template = ask(port, "ec2", &template, "launchTemplateId");
    let tag = |number: usize, key: &str, value: &str| {
        let tag = format!("Tags.member.{number}");
        format!("&{tag}.Key={key}&{tag}.Value={value}&{tag}.PropagateAtLaunch=true")
    };
    let create = format!(
        "Action=CreateAutoScalingGroup&Version=2011-01-01&AutoScalingGroupName={name}&MinSize=1&MaxSize=1&DesiredCapacity=1\
         &LaunchTemplate.LaunchTemplateId={template}&LaunchTemplate.Version=1&VPCZoneIdentifier={subnet}{}{}",
        tag(1, "KubernetesCluster", CLUSTER),
        tag(2, "k8s.io%2Frole%2Fnode", "1"),
    );
    answer(port, "autoscaling", &create);
    let described =
        format!("Action=DescribeAutoScalingGroups&Version=2011-01-01&AutoScalingGroupNames.member.1={name}");
    ask(port, "autoscaling", &described, "InstanceId")
}
