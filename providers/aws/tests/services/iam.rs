use serde_json::json;

use crate::life::{change_each, create};
use crate::support::{Cloud, moto};

fn trust(service: &str) -> serde_json::Value {
    json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": ["sts:AssumeRole"], "Principal": {"Service": service}}]})
    .to_string()
    .into()
}

fn grant(action: &str) -> serde_json::Value {
    json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": action, "Resource": "*"}]})
        .to_string()
        .into()
}

fn boundary(name: &str) -> String {
    format!("arn:aws:iam::aws:policy/{name}")
}

/// Moto finds the service in the scope of the signature, and does not check the signature itself.
const SIGNED: (&str, &str) = (
    "Authorization",
    "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=0",
);

/// Makes a managed policy, and returns its ARN.
fn managed_policy(port: u16) -> String {
    let document = "%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22%2C%22Action%22%3A%22s3%3AGet%2A%22%2C%22Resource%22%3A%22%2A%22%7D%5D%7D";
    let body = format!("Action=CreatePolicy&Version=2010-05-08&PolicyName=managed&PolicyDocument={document}");
    let headers = [SIGNED, ("Content-Type", "application/x-www-form-urlencoded")];
    let answer = slipway_testkit::http::request("POST", port, "/", &headers, body.as_bytes()).unwrap();
    let text = String::from_utf8(answer.body).unwrap();
    let arn = text.split("<Arn>").nth(1).and_then(|rest| rest.split("</Arn>").next());
    arn.unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_with_their_policies_and_profiles() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let role = json!({"name": "masters.a.example.com", "assume_role_policy": trust("ec2.amazonaws.com"),
        "tags": {"Name": "masters.a.example.com"}});
    let role_name = "aws_iam_role.masters-a-example-com";
    let role_id = create(&cloud, role_name, &role).await;
    let changes = json!({
        "assume_role_policy": trust("eks.amazonaws.com"),
        "description": "for tests",
        "max_session_duration": 7_200,
        "permissions_boundary": boundary("ReadOnlyAccess"),
        "tags": {"Name": "another", "more": "1"},
    });
    change_each(&cloud, role_name, &role_id, &role, &changes).await;

    let policy = json!({"role": "masters.a.example.com", "name": "masters.a.example.com", "policy": grant("ec2:Describe*")});
    let policy_name = "aws_iam_role_policy.masters-a-example-com";
    let policy_id = create(&cloud, policy_name, &policy).await;
    change_each(&cloud, policy_name, &policy_id, &policy, &json!({"policy": grant("s3:Get*")})).await;

    let arn = managed_policy(moto.port());
    let attachment = json!({"role": "masters.a.example.com", "policy_arn": arn});
    let attachment_name = "aws_iam_role_policy_attachment.masters-a-example-com-policy--managed";
    let attachment_id = create(&cloud, attachment_name, &attachment).await;

    let other = json!({"name": "nodes.a.example.com", "assume_role_policy": trust("ec2.amazonaws.com")});
    let other_id = create(&cloud, "aws_iam_role.nodes-a-example-com", &other).await;
    let profile =
        json!({"name": "masters.a.example.com", "role": "masters.a.example.com", "tags": {"Name": "a"}});
    let profile_name = "aws_iam_instance_profile.masters-a-example-com";
    let profile_id = create(&cloud, profile_name, &profile).await;
    let changes = json!({"role": "nodes.a.example.com", "tags": {"Name": "b"}});
    change_each(&cloud, profile_name, &profile_id, &profile, &changes).await;

    let found = cloud.discover_lost().await;
    let mut names: Vec<String> = found.iter().map(|observed| observed.address.to_string()).collect();
    names.sort();
    let mut wanted =
        vec![role_name, policy_name, attachment_name, profile_name, "aws_iam_role.nodes-a-example-com"];
    wanted.sort_unstable();
    assert_eq!(names, wanted);

    cloud.delete(profile_name, &profile_id).await;
    cloud.delete(attachment_name, &attachment_id).await;
    cloud.delete(policy_name, &policy_id).await;
    cloud.delete(role_name, &role_id).await;
    cloud.delete("aws_iam_role.nodes-a-example-com", &other_id).await;
    assert!(cloud.discover_lost().await.is_empty());
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_openid_connect_provider() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let provider = json!({
        "url": "https://discovery.example.com/a.example.com",
        "client_id_list": ["amazonaws.com"],
        "thumbprint_list": ["9e99a48a9960b14926bb7f3b02e22da2b0ab7280", "a9d53002e97e00e043244f3d170d6f4c414104fd"],
        "tags": {"Name": "a"},
    });
    let name = "aws_iam_openid_connect_provider.a-example-com";
    let id = create(&cloud, name, &provider).await;
    assert!(id.as_str().ends_with(":oidc-provider/discovery.example.com/a.example.com"), "{id}");
    let changes = json!({
        "client_id_list": ["amazonaws.com", "sts.amazonaws.com"],
        "thumbprint_list": ["990f4193972f2becf12ddeda5237f9c952f20d9e"],
        "tags": {"Name": "b"},
    });
    change_each(&cloud, name, &id, &provider, &changes).await;
    assert_eq!(cloud.discover_lost().await.len(), 1);
    cloud.delete(name, &id).await;
    cloud.end().await;
}
