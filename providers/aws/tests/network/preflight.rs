//! What is found before the first change.

use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{ErrorClass, Reference, Value};
use slipway_testkit::proxy::Verdict;

use crate::support::{Cloud, moto, proxy};

fn create(address: &str, desired: Value) -> PreflightItem {
    PreflightItem { address: address.parse().unwrap(), action: "create".to_owned(), desired }
}

fn reference(address: &str) -> Value {
    let path = slipway_resource::Path::key("id");
    Value::Reference(Reference { address: address.parse().unwrap(), path })
}

fn classes(findings: &[PreflightFinding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.class.name()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_and_images_that_are_not_there() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let template = |machine: &str, image: Value| {
        Value::map([("name", Value::from("a")), ("instance_type", machine.into()), ("image_id", image)])
    };
    let group = Value::map([
        ("launch_template", Value::list([Value::map([("id", reference("aws_launch_template.good"))])])),
        ("vpc_zone_identifier", Value::list([reference("aws_subnet.far")])),
    ]);
    let subnet = Value::map([("availability_zone", "us-east-1z")]);
    let items = vec![
        create("aws_launch_template.bad", template("z9.tiny", Value::Unknown)),
        create("aws_launch_template.good", template("t3.medium", "ami-00000000000000000".into())),
        create("aws_autoscaling_group.good", group),
        create("aws_subnet.far", subnet),
    ];
    let findings = cloud.session.preflight(items).await.unwrap();
    assert_eq!(classes(&findings), ["invalid", "invalid", "not-found", "not-found"], "{findings:#?}");
    assert!(findings[0].message.contains("z9.tiny"), "{}", findings[0].message);
    assert!(findings[1].message.contains("us-east-1z"), "{}", findings[1].message);
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_quota_and_a_denied_action() {
    let moto = moto();
    let denied = "<SimulatePrincipalPolicyResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\">\
        <SimulatePrincipalPolicyResult><IsTruncated>false</IsTruncated><EvaluationResults><member>\
        <EvalActionName>ec2:CreateVpc</EvalActionName><EvalDecision>explicitDeny</EvalDecision>\
        </member></EvaluationResults></SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>";
    let proxy = proxy(&moto, move |action| match action {
        "SimulatePrincipalPolicy" => Verdict::Answer {
            status: 200,
            headers: vec![("Content-Type".to_owned(), "text/xml".to_owned())],
            body: denied.as_bytes().to_vec(),
        },
        _ => Verdict::Pass,
    });
    let cloud = Cloud::open(&proxy.endpoint()).await;
    let vpc = || Value::map([("cidr_block", "10.0.0.0/16")]);
    // moto counts one VPC of its own, and allows five.
    let items = (1..=5).map(|number| create(&format!("aws_vpc.n{number}"), vpc())).collect();
    let findings = cloud.session.preflight(items).await.unwrap();
    assert_eq!(classes(&findings), ["permission", "quota"], "{findings:#?}");
    let ErrorClass::Quota { limit, used, .. } = findings[1].class else { panic!("{findings:?}") };
    assert_eq!((limit, used), (5, 1));
    let findings = cloud.session.preflight(vec![create("aws_vpc.n1", vpc())]).await.unwrap();
    assert_eq!(classes(&findings), ["permission"]);
    assert!(cloud.session.preflight(Vec::new()).await.unwrap().is_empty());
    cloud.end().await;
}
