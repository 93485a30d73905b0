//! Roles, profiles and policies.

use slipway_aws_model::catalog::Catalog;

use crate::harness::{Resources, expanded, offline, shown};
use crate::kops;

const NODES: &str = "aws_iam_role_policy.nodes-m-example-com";
const MASTERS: &str = "aws_iam_role_policy.masters-m-example-com";

fn policy(resources: &Resources, address: &str) -> String {
    shown(resources.get(address).get("policy").unwrap())
}

#[test]
fn workers_may_do_nothing_by_themselves() {
    let resources = offline(&kops("", ""));
    assert_eq!(resources.names("aws_iam_role_policy"), ["masters-m-example-com"]);
    assert_eq!(resources.names("aws_iam_instance_profile"), ["masters-m-example-com", "nodes-m-example-com"]);
}

#[test]
fn each_network_has_its_own_permissions() {
    for (network, on_nodes, on_masters) in [
        ("networking: { amazonvpc: {} }", "ec2:AssignPrivateIpAddresses", "ec2:AssignPrivateIpAddresses"),
        (
            "networking: { calico: {} }",
            "ec2:ModifyNetworkInterfaceAttribute",
            "ec2:ModifyNetworkInterfaceAttribute",
        ),
        ("networking: { cilium: { ipam: eni } }", "ec2:DescribeInstanceTypes", "ec2:CreateNetworkInterface"),
        ("networking: { kuberouter: {} }", "ec2:ModifyInstanceAttribute", "ec2:DescribeVolumes"),
    ] {
        let resources = offline(&kops(network, ""));
        assert!(policy(&resources, NODES).contains(on_nodes), "{network}");
        assert!(policy(&resources, MASTERS).contains(on_masters), "{network}");
    }
    for network in ["networking: { flannel: {} }", "networking: { calico: { awsSrcDstCheck: DoNothing } }"] {
        let resources = offline(&kops(network, ""));
        assert_eq!(resources.names("aws_iam_role_policy").len(), 1, "{network}");
    }
}

#[test]
fn a_profile_of_ones_own_needs_no_role() {
    let profile = "iam: { profile: 'arn:aws:iam::111111111111:instance-profile/teams/ours' }";
    let resources = offline(&kops("", profile));
    assert_eq!(resources.names("aws_iam_role"), ["masters-m-example-com"]);
    let template = resources.get("aws_launch_template.nodes-m-example-com");
    assert_eq!(shown(template.get("iam_instance_profile").unwrap()), "[{name: ours}]");
}

#[test]
fn policies_of_the_spec_are_added() {
    let resources = offline(&kops(
        "additionalPolicies:\n  node: '[{\"Effect\": \"Allow\", \"Action\": [\"sns:Publish\"], \"Resource\": \"*\"}]'\n\
         externalPolicies:\n  node: ['arn:aws:iam::aws:policy/ReadOnlyAccess']\n\
         iam: { permissionsBoundary: 'arn:aws:iam::111111111111:policy/limit', allowContainerRegistry: true }\n",
        "",
    ));
    assert!(policy(&resources, "aws_iam_role_policy.additional-nodes-m-example-com").contains("sns:Publish"));
    assert!(policy(&resources, NODES).contains("ecr:GetAuthorizationToken"));
    let attachments = resources.names("aws_iam_role_policy_attachment");
    assert_eq!(attachments, ["nodes-m-example-com-policy--ReadOnlyAccess"]);
    let role = resources.get("aws_iam_role.nodes-m-example-com");
    assert!(shown(role).contains("permissions_boundary: arn:aws:iam::111111111111:policy/limit"));
}

#[test]
fn a_policy_that_is_none_is_refused_with_its_field() {
    let cluster = kops("additionalPolicies: { node: '[{\"Effect\": \"Allow\"}]' }", "");
    let error = expanded(&cluster, &Catalog::offline("eu-west-1")).unwrap_err();
    assert_eq!(
        error.message,
        "provider.config.additionalPolicies.node: statement 1 of the policy has no Action"
    );
}

#[test]
fn an_autoscaler_that_knows_the_types_of_machines_does_not_ask() {
    let autoscaler = |section: &str| {
        let resources = offline(&kops(
            &format!(
                "clusterAutoscaler: {{ enabled: true{section} }}\niam: {{ useServiceAccountExternalPermissions: true }}\n\
                 serviceAccountIssuerDiscovery: {{ discoveryStore: 's3://keys/m', enableAWSOIDCProvider: true }}\n"
            ),
            "",
        ));
        policy(&resources, "aws_iam_role_policy.cluster-autoscaler-kube-system-sa-m-example-com")
    };
    assert!(autoscaler("").contains("ec2:DescribeInstanceTypes"));
    assert!(!autoscaler(", awsUseStaticInstanceList: true").contains("\"ec2:DescribeInstanceTypes\""));
}

/// Service accounts with roles of their own, and further sections of the cluster.
fn accounts(more: &str) -> Resources {
    offline(&kops(
        &format!(
            "iam: {{ useServiceAccountExternalPermissions: true }}\n\
             serviceAccountIssuerDiscovery: {{ discoveryStore: 's3://keys/m', enableAWSOIDCProvider: true }}\n{more}"
        ),
        "",
    ))
}

#[test]
fn what_somebody_else_installs_has_no_role() {
    let roles = |more: &str| accounts(more).names("aws_iam_role").join(" ");
    assert!(roles("").contains("ebs-csi-controller-sa"));
    let unmanaged = roles("cloudConfig: { awsEBSCSIDriver: { managed: false } }\n");
    assert!(!unmanaged.contains("ebs-csi-controller-sa"), "{unmanaged}");
    let zones = "enabled: true, hostedZoneIDs: [Z1]";
    assert!(roles(&format!("certManager: {{ {zones} }}\n")).contains("cert-manager"));
    let unmanaged = roles(&format!("certManager: {{ {zones}, managed: false }}\n"));
    assert!(!unmanaged.contains("cert-manager"), "{unmanaged}");
    assert!(roles("").contains("dns-controller"));
    assert!(!roles("externalDns: { provider: none }\n").contains("dns-controller"));
}

#[test]
fn a_termination_handler_without_a_queue_has_a_role_too() {
    let resources = accounts("nodeTerminationHandler: { enableSQSTerminationDraining: false }\n");
    let roles = resources.names("aws_iam_role").join(" ");
    assert!(roles.contains("aws-node-termination-handler"), "{roles}");
}

#[test]
fn cert_manager_writes_nothing_but_challenges() {
    let resources = accounts("certManager: { enabled: true, hostedZoneIDs: [Z1] }\n");
    let all = policy(&resources, "aws_iam_role_policy.cert-manager-kube-system-sa-m-example-com");
    assert!(all.contains("_acme-challenge.*") && all.contains("\"TXT\""), "{all}");
}

#[test]
fn service_accounts_take_what_the_control_plane_gives_up() {
    let resources = offline(&kops(
        "iam:\n  useServiceAccountExternalPermissions: true\n  serviceAccountExternalPermissions:\n  - name: robot\n    \
         namespace: 'team-*'\n    aws: { policyARNs: ['arn:aws:iam::aws:policy/ReadOnlyAccess'] }\n\
         serviceAccountIssuerDiscovery: { discoveryStore: 's3://keys/m', enableAWSOIDCProvider: true, \
         additionalAudiences: [ours] }\n\
         certManager: { enabled: true, hostedZoneIDs: [Z1] }\nkarpenter: { enabled: true }\n",
        "",
    ));
    assert!(!policy(&resources, MASTERS).contains("elasticloadbalancing:"));
    let role = |account: &str| format!("aws_iam_role_policy.{account}-kube-system-sa-m-example-com");
    for (account, action) in [
        ("aws-cloud-controller-manager", "elasticloadbalancing:CreateLoadBalancer"),
        ("ebs-csi-controller-sa", "ec2:CreateVolume"),
        ("dns-controller", "route53:ChangeResourceRecordSets"),
        ("cert-manager", "arn:aws:route53:::hostedzone/Z1"),
        ("karpenter", "arn:aws:iam::*:role/nodes.m.example.com"),
    ] {
        assert!(policy(&resources, &role(account)).contains(action), "{account}");
    }
    let karpenter = policy(&resources, &role("karpenter"));
    for part in [
        "aws:RequestTag/karpenter.sh/nodepool",
        "aws:ResourceTag/karpenter.sh/nodepool",
        "sqs:GetQueueAttributes",
    ] {
        assert!(karpenter.contains(part), "{part} is not in {karpenter}");
    }
    assert!(!karpenter.contains("kms:"), "{karpenter}");
    let own = "manager: Karpenter\niam: { profile: 'arn:aws:iam::123456789012:instance-profile/ours' }\n\
               rootVolumeEncryption: true\nrootVolumeEncryptionKey: 'arn:aws:kms:us-east-1:123456789012:key/k'\n";
    let masters = policy(&offline(&kops("karpenter: { enabled: true }", own)), MASTERS);
    assert!(masters.contains("arn:aws:iam::*:role/*") && masters.contains("kms:CreateGrant"), "{masters}");
    let robot = resources.get("aws_iam_role.robot-team-wildcard-sa-m-example-com");
    let trust = shown(robot.get("assume_role_policy").unwrap());
    assert!(trust.contains("StringLike") && trust.contains("system:serviceaccount:team-*:robot"), "{trust}");
    assert!(trust.contains("aws_iam_openid_connect_provider.m-example-com.arn"), "{trust}");
    let provider = resources.get("aws_iam_openid_connect_provider.m-example-com");
    assert_eq!(shown(provider.get("client_id_list").unwrap()), "[amazonaws.com, ours]");
    let object = resources.get("aws_s3_object.discovery-m-example-com");
    assert!(
        shown(object).contains("bucket: keys") && shown(object).contains("jwks_uri"),
        "{}",
        shown(object)
    );
}

#[test]
fn china_has_names_of_its_own() {
    let cluster = kops("", "");
    let catalog = Catalog { region: "cn-north-1".to_owned(), ..Catalog::default() };
    let resources = Resources(expanded(&cluster, &catalog).unwrap().resources);
    let trust = resources.get("aws_iam_role.nodes-m-example-com").get("assume_role_policy").unwrap();
    assert!(shown(trust).contains("ec2.amazonaws.com.cn"));
    assert!(policy(&resources, MASTERS).contains("arn:aws-cn:ec2:*:*:volume/*"));
}
