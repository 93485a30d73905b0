//! The findings before the first change.

use std::sync::atomic::{AtomicUsize, Ordering};

use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{ErrorClass, Reference, Value};
use slipway_testkit::proxy::{Proxy, Request, Verdict};
use slipway_testkit::{Moto, http};

use crate::support::{Cloud, REGION, action, moto, proxy};

fn create(address: &str, desired: Value) -> PreflightItem {
    PreflightItem { address: address.parse().unwrap(), action: "create".to_owned(), desired }
}

fn reference(address: &str) -> Value {
    let path = slipway_resource::Path::key("id");
    Reference { address: address.parse().unwrap(), path }.into()
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

/// An answer of the simulator of policies: actions with decisions, and the keys that a condition lacked.
fn simulated(results: &[(&str, &str, &str)]) -> Verdict {
    let member = |(action, decision, missing): &(&str, &str, &str)| {
        let missing = match *missing {
            "" => String::new(),
            key => format!("<member>{key}</member>"),
        };
        format!(
            "<member><EvalActionName>{action}</EvalActionName><EvalDecision>{decision}</EvalDecision>\
            <MissingContextValues>{missing}</MissingContextValues></member>"
        )
    };
    let results: String = results.iter().map(member).collect();
    let body = format!(
        "<SimulatePrincipalPolicyResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\">\
        <SimulatePrincipalPolicyResult><IsTruncated>false</IsTruncated><EvaluationResults>{results}\
        </EvaluationResults></SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>"
    );
    let headers = vec![("Content-Type".to_owned(), "text/xml".to_owned())];
    Verdict::Answer { status: 200, headers, body: body.into_bytes() }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_policy_grants_is_asked_for_once_more_by_what_is_made() {
    let moto = moto();
    let asked = AtomicUsize::new(0);
    let proxy = proxy(&moto, move |action| match action {
        "SimulatePrincipalPolicy" => match asked.fetch_add(1, Ordering::SeqCst) {
            0 => simulated(&[
                ("ec2:CreateVpc", "implicitDeny", ""),
                ("ec2:ModifyVpcAttribute", "implicitDeny", ""),
                ("iam:CreateRole", "allowed", ""),
            ]),
            // Among the creations, one is denied for certain, the other by a condition that cannot be
            // evaluated yet.
            1 => simulated(&[
                ("ec2:CreateVpc", "implicitDeny", ""),
                ("ec2:ModifyVpcAttribute", "implicitDeny", "aws:ResourceTag/team"),
            ]),
            _ => panic!("no third question is needed"),
        },
        _ => Verdict::Pass,
    });
    let cloud = Cloud::open(&proxy.endpoint()).await;
    let role = Value::map([("name", "nodes.a.example.com")]);
    let items = vec![
        create("aws_vpc.a", Value::map([("cidr_block", "10.0.0.0/16")])),
        create("aws_iam_role.nodes", role),
    ];
    let findings = cloud.session.preflight(items).await.unwrap();
    assert_eq!(classes(&findings), ["permission"], "{findings:#?}");
    assert_eq!(findings[0].message, "the caller may not ec2:CreateVpc: no policy grants it");
    cloud.end().await;
}

/// moto's own API takes no form.
const PLAIN: &[(&str, &str)] = &[("Content-Type", "text/plain")];

/// A user of moto with the permissions of a policy; from then on, moto checks permissions.
fn restricted(port: u16, policy: &str) -> String {
    let iam = |body: &str| {
        let scope = "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/iam/aws4_request, \
            SignedHeaders=host, Signature=0";
        let headers = [("Authorization", scope), ("Content-Type", "application/x-www-form-urlencoded")];
        let body = format!("Version=2010-05-08&{body}");
        let answer = http::request("POST", port, "/", &headers, body.as_bytes()).unwrap();
        let text = String::from_utf8(answer.body).unwrap();
        assert_eq!(answer.status, 200, "{text}");
        text
    };
    let encoded: String = policy.bytes().map(|byte| format!("%{byte:02X}")).collect();
    iam("Action=CreateUser&UserName=builder");
    iam(&format!("Action=PutUserPolicy&UserName=builder&PolicyName=own&PolicyDocument={encoded}"));
    let key = iam("Action=CreateAccessKey&UserName=builder");
    let field = |name: &str| {
        let rest = key.split_once(&format!("<{name}>")).unwrap().1;
        rest.split_once('<').unwrap().0.to_owned()
    };
    let answer = http::request("POST", port, "/moto-api/reset-auth", PLAIN, b"0").unwrap();
    assert_eq!(answer.status, 200);
    format!("{}:{}", field("AccessKeyId"), field("SecretAccessKey"))
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_ask_learns_by_calls_that_only_try() {
    // The test is about permissions, not about the form of signatures.
    let moto = Moto::start_mended(
        "from moto.iam import access_control\naccess_control.IAMRequestBase.check_signature = lambda self: None\n",
    );
    let moto = moto.unwrap();
    let policy = "{\"Version\": \"2012-10-17\", \"Statement\": [{\"Effect\": \"Allow\", \"Resource\": \"*\", \
        \"Action\": [\"sts:*\", \"ec2:Describe*\", \"ec2:CreateInternetGateway\"]}]}";
    let key = restricted(moto.port(), policy);
    let cloud = Cloud::open_as(&moto.endpoint(), &key, REGION).await;
    let tags = || Value::map([("KubernetesCluster", "a.example.com")]);
    let items = || {
        vec![
            create("aws_vpc.a", Value::map([("cidr_block", "10.0.0.0/16".into()), ("tags", tags())])),
            create("aws_internet_gateway.a", Value::map([("tags", tags())])),
            create("aws_eip.a", Value::map([("domain", "vpc".into()), ("tags", tags())])),
            create("aws_subnet.a", Value::map([("vpc_id", reference("aws_vpc.a"))])),
        ]
    };
    let findings = cloud.session.preflight(items()).await.unwrap();
    let messages: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    let lacking = ["AllocateAddress", "CreateVpc"]
        .map(|action| format!("the caller may not ec2:{action}: no policy grants it"));
    assert_eq!(messages, lacking, "{findings:#?}");
    cloud.end().await;
    // The call was a dry run.
    let answer = http::request("POST", moto.port(), "/moto-api/reset-auth", PLAIN, b"inf").unwrap();
    assert_eq!(answer.status, 200);
    for action in ["DescribeVpcs", "DescribeInternetGateways", "DescribeAddresses"] {
        let scope = "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/ec2/aws4_request, \
            SignedHeaders=host, Signature=0";
        let headers = [("Authorization", scope), ("Content-Type", "application/x-www-form-urlencoded")];
        let body = format!("Version=2016-11-15&Action={action}");
        let answer = http::request("POST", moto.port(), "/", &headers, body.as_bytes()).unwrap();
        let text = String::from_utf8(answer.body).unwrap();
        assert!(answer.status == 200 && !text.contains("a.example.com"), "{text}");
    }
}

fn xml(body: String) -> Verdict {
    let headers = vec![("Content-Type".to_owned(), "text/xml".to_owned())];
    Verdict::Answer { status: 200, headers, body: body.into_bytes() }
}

/// The role of a single sign-on, whose sessions do not show its path.
const ROLE: &str = "AWSReservedSSO_Admin_0123456789abcdef";

/// The answers of AWS to a caller with that role.
fn of_single_sign_on(request: &Request) -> Verdict {
    let path = format!("arn:aws:iam::123456789012:role/aws-reserved/sso.amazonaws.com/{ROLE}");
    match action(request).as_str() {
        "GetCallerIdentity" => xml(format!(
            "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult>\
             <Arn>arn:aws:sts::123456789012:assumed-role/{ROLE}/me</Arn><UserId>A:me</UserId>\
             <Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"
        )),
        "GetRole" => xml(format!(
            "<GetRoleResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\"><GetRoleResult><Role>\
             <Path>/aws-reserved/sso.amazonaws.com/</Path><RoleName>{ROLE}</RoleName><RoleId>A</RoleId>\
             <Arn>{path}</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate></Role></GetRoleResult></GetRoleResponse>"
        )),
        "SimulatePrincipalPolicy" => {
            let body = String::from_utf8_lossy(&request.body).replace("%2F", "/").replace("%3A", ":");
            if body.contains(&path) {
                return simulated(&[("ec2:CreateVpc", "explicitDeny", "")]);
            }
            let refusal = "<ErrorResponse><Error><Type>Sender</Type><Code>NoSuchEntity</Code><Message>no such role\
                           </Message></Error><RequestId>r</RequestId></ErrorResponse>";
            let headers = vec![("Content-Type".to_owned(), "text/xml".to_owned())];
            Verdict::Answer { status: 404, headers, body: refusal.as_bytes().to_vec() }
        }
        _ => Verdict::Pass,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policies_of_a_role_with_a_path_are_asked_about() {
    let moto = moto();
    let proxy = Proxy::start(moto.port(), |request| of_single_sign_on(request)).unwrap();
    let cloud = Cloud::open(&proxy.endpoint()).await;
    let vpc = create("aws_vpc.a", Value::map([("cidr_block", "10.0.0.0/16")]));
    let findings = cloud.session.preflight(vec![vpc]).await.unwrap();
    assert_eq!(classes(&findings), ["permission"], "{findings:#?}");
    assert!(findings[0].message.contains("ec2:CreateVpc"), "{}", findings[0].message);
    cloud.end().await;
}

/// An account with one machine on demand and one on spot, each with two processors, and a quota of four for
/// each.
fn with_few_processors(request: &Request) -> Verdict {
    let machine = |id: &str, lifecycle: &str| {
        format!(
            "<item><instancesSet><item><instanceId>{id}</instanceId><instanceType>m5.large</instanceType>{lifecycle}\
             <cpuOptions><coreCount>1</coreCount><threadsPerCore>2</threadsPerCore></cpuOptions></item></instancesSet></item>"
        )
    };
    let target = request.header("x-amz-target").unwrap_or_default();
    if target.ends_with("GetServiceQuota") {
        let headers = vec![("Content-Type".to_owned(), "application/x-amz-json-1.1".to_owned())];
        let body = br#"{"Quota": {"Value": 4.0}}"#.to_vec();
        return Verdict::Answer { status: 200, headers, body };
    }
    match action(request).as_str() {
        "DescribeInstances" => xml(format!(
            "<DescribeInstancesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>r</requestId>\
             <reservationSet>{}{}</reservationSet></DescribeInstancesResponse>",
            machine("i-1", ""),
            machine("i-2", "<instanceLifecycle>spot</instanceLifecycle>")
        )),
        _ => Verdict::Pass,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processors_that_run_count_against_quotas_on_demand_and_on_spot() {
    let moto = moto();
    let proxy = Proxy::start(moto.port(), |request| with_few_processors(request)).unwrap();
    let cloud = Cloud::open(&proxy.endpoint()).await;
    let template = |spot: bool| {
        let market = Value::list([Value::map([("market_type", "spot")])]);
        Value::map([
            ("name", Value::from("a")),
            ("instance_type", "m5.large".into()),
            ("image_id", Value::Null),
            ("instance_market_options", if spot { market } else { Value::Null }),
        ])
    };
    let group = |count: i64, template: &str| {
        Value::map([
            ("launch_template", Value::list([Value::map([("id", reference(template))])])),
            ("min_size", count.into()),
        ])
    };
    let items = |count: i64| {
        vec![
            create("aws_launch_template.a", template(false)),
            create("aws_launch_template.b", template(true)),
            create("aws_autoscaling_group.a", group(count, "aws_launch_template.a")),
            create("aws_autoscaling_group.b", group(count, "aws_launch_template.b")),
        ]
    };
    assert!(cloud.session.preflight(items(1)).await.unwrap().is_empty());
    let findings = cloud.session.preflight(items(2)).await.unwrap();
    assert_eq!(classes(&findings), ["quota", "quota"], "{findings:#?}");
    for (finding, what) in findings.iter().zip(["on-demand", "spot"]) {
        assert!(finding.message.contains(what), "{}", finding.message);
        assert!(matches!(finding.class, ErrorClass::Quota { limit: 4, used: 2, .. }), "{finding:?}");
    }
    cloud.end().await;
}
