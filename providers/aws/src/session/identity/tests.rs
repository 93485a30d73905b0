use aws_sdk_ec2::types::{InstanceState, Tag};

use super::*;

const SIGNATURE: &str = "AWS4-HMAC-SHA256 Credential=K/20260101/us-east-1/sts/aws4_request, \
                         SignedHeaders=content-type;host;x-amz-date;x-slipway-challenge, Signature=0";

fn credential(headers: &[(&str, &str)]) -> Credential {
    Credential {
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    }
}

fn refusal(headers: &[(&str, &str)]) -> String {
    let digest = Digest::of_bytes(b"challenge");
    Replaying::new(credential(headers), &digest).map(|_| ()).unwrap_err().message
}

#[test]
fn only_sessions_of_instances_are_instances() {
    let arn = "arn:aws:sts::123456789012:assumed-role/nodes.example.com/i-0123456789abcdef0";
    let found = of_instance(arn, "aws", "123456789012");
    assert_eq!(found, Some(("nodes.example.com", "i-0123456789abcdef0")));
    for arn in [
        "arn:aws:sts::123456789012:assumed-role/nodes.example.com/somebody",
        "arn:aws:sts::123456789012:assumed-role/nodes.example.com/i-0123456789abcdef0/x",
        "arn:aws:sts::210987654321:assumed-role/nodes.example.com/i-0123456789abcdef0",
        "arn:aws-cn:sts::123456789012:assumed-role/nodes.example.com/i-0123456789abcdef0",
        "arn:aws:iam::123456789012:user/i-0123456789abcdef0",
        "arn:aws:sts::123456789012:assumed-role//i-0123456789abcdef0",
    ] {
        assert_eq!(of_instance(arn, "aws", "123456789012"), None, "{arn}");
    }
}

#[test]
fn a_signature_must_cover_the_challenge_and_bring_nothing_else() {
    assert!(Replaying::new(credential(&[("authorization", SIGNATURE)]), &Digest::of_bytes(b"c")).is_ok());
    let host = refusal(&[("authorization", SIGNATURE), ("host", "sts.example.org")]);
    assert!(host.contains("`host`"), "{host}");
    let bare = SIGNATURE.replace(";x-slipway-challenge", "");
    let bare = refusal(&[("authorization", &bare)]);
    assert!(bare.contains(CHALLENGE), "{bare}");
    let none = refusal(&[]);
    assert!(none.contains("does not cover"), "{none}");
}

/// A running instance of a group, with further tags.
fn instance(group: &str, tags: &[(&str, &str)]) -> Instance {
    let state = InstanceState::builder().name(InstanceStateName::Running).build();
    let tag = |(key, value): &(&str, &str)| Tag::builder().key(*key).value(*value).build();
    let all = [(GROUP, group), (NODE, "1")];
    Instance::builder().state(state).set_tags(Some(tags.iter().chain(&all).map(tag).collect())).build()
}

fn belonging(instance: &Instance, role: &str) -> String {
    match belongs(instance, "example.com", role, "i-1") {
        Ok(()) => "belongs".to_owned(),
        Err(error) => error.message,
    }
}

#[test]
fn only_workers_of_the_very_cluster_belong_to_it() {
    let own = [("KubernetesCluster", "example.com")];
    let role = "nodes.example.com";
    assert_eq!(belonging(&instance("nodes.example.com", &own), role), "belongs");
    // The tag of the cluster can be set by people, the group is said by AWS. A cluster may have the name of another at its end.
    for group in [
        "nodes.a.example.com",
        "nodes.masters.example.com",
        ".example.com",
        "example.com",
        "nodes-example.com",
    ] {
        let text = belonging(&instance(group, &own), role);
        assert!(text.contains("is no machine of a pool of example.com"), "{group}: {text}");
    }
    let other = [("KubernetesCluster", "a.example.com")];
    let text = belonging(&instance("nodes.example.com", &other), "nodes.a.example.com");
    assert!(text.contains("is no machine of a pool of example.com"), "{text}");
}

#[test]
fn machines_of_the_cluster_that_are_no_workers_get_nothing() {
    let own = [("KubernetesCluster", "example.com")];
    for role in ["masters.example.com", "apiservers.example.com", "bastions.example.com"] {
        let text = belonging(&instance("nodes.example.com", &own), role);
        assert!(text.contains("is no worker of example.com"), "{role}: {text}");
    }
    let bastion = [("KubernetesCluster", "example.com"), (NODE, "0")];
    let text = belonging(&instance("bastions.example.com", &bastion), "ours");
    assert!(text.contains("is no worker of example.com"), "{text}");
}

#[test]
fn a_machine_of_another_network_is_refused() {
    let of = |network: Option<&str>| {
        let instance = Instance::builder().set_vpc_id(network.map(str::to_owned)).build();
        is_in(&instance, "vpc-1", "i-1").map_err(|error| error.message)
    };
    assert_eq!(of(Some("vpc-1")), Ok(()));
    for (network, its) in [(Some("vpc-2"), "vpc-2"), (None, "no network")] {
        let text = of(network).unwrap_err();
        assert!(text.ends_with(&format!("instance i-1 is in {its}, and the cluster is in vpc-1")), "{text}");
    }
}

#[test]
fn an_instance_that_does_not_run_is_refused() {
    let own = [("KubernetesCluster", "example.com")];
    for name in [InstanceStateName::Terminated, InstanceStateName::ShuttingDown, InstanceStateName::Stopped] {
        let mut builder = InstanceState::builder();
        builder = builder.name(name.clone());
        let ended = instance("nodes.example.com", &own);
        let tags = ended.tags().to_vec();
        let ended = Instance::builder().state(builder.build()).set_tags(Some(tags)).build();
        let text = belonging(&ended, "nodes.example.com");
        assert!(text.ends_with(&format!("instance i-1 is {}", name.as_str())), "{text}");
    }
}
