//! The metadata of an instance, and which clients cannot read it.

use slipway_testkit::lab::{LabInstance, values};

use crate::support::{IMAGE, lab, metadata, run, subnets};

/// A pod as a network plug-in makes it: behind a bridge of the machine, which translates its address.
const POD: &str = "ip netns add pod
ip link add pods type bridge
ip address add 10.99.0.1/24 dev pods
ip link set pods up
ip link add veth0 type veth peer name eth0 netns pod
ip link set veth0 master pods up
ip -n pod address add 10.99.0.2/24 dev eth0
ip -n pod link set eth0 up
ip -n pod route add default via 10.99.0.1
iptables -t nat -A POSTROUTING -s 10.99.0.0/24 ! -o pods -j MASQUERADE";

fn token_in_pod(machine: &LabInstance) -> bool {
    let put = "ip netns exec pod curl -sSf -m 3 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' \
        http://169.254.169.254/latest/api/token";
    machine.run(["sh", "-c", put]).unwrap().code == Some(0)
}

#[test]
#[ignore = "needs root and namespaces"]
fn an_instance_knows_itself_and_a_pod_on_it_does_not() {
    let lab = lab();
    lab.call("iam", "CreateRole", &[("RoleName", "nodes"), ("AssumeRolePolicyDocument", "{}")]).unwrap();
    lab.call("iam", "CreateInstanceProfile", &[("InstanceProfileName", "nodes")]).unwrap();
    let both = [("InstanceProfileName", "nodes"), ("RoleName", "nodes")];
    lab.call("iam", "AddRoleToInstanceProfile", &both).unwrap();
    let options = [
        ("IamInstanceProfile.Name", "nodes"),
        ("MetadataOptions.HttpTokens", "required"),
        ("MetadataOptions.InstanceMetadataTags", "enabled"),
        ("TagSpecification.1.ResourceType", "instance"),
        ("TagSpecification.1.Tag.1.Key", "instancegroup"),
        ("TagSpecification.1.Tag.1.Value", "nodes"),
    ];
    let id = run(&lab, "#!/bin/sh\necho a\n", &options);
    let machine = lab.instance(&id).unwrap();

    let subnet = subnets(&lab).swap_remove(0);
    assert_eq!(metadata(&machine, "meta-data/instance-id"), id);
    assert_eq!(metadata(&machine, "meta-data/local-ipv4"), machine.address());
    assert_eq!(metadata(&machine, "meta-data/placement/region"), "us-east-1");
    assert_eq!(metadata(&machine, "meta-data/tags/instance/instancegroup"), "nodes");
    assert_eq!(metadata(&machine, "user-data"), "#!/bin/sh\necho a\n");
    let mac = metadata(&machine, "meta-data/mac");
    assert_eq!(machine.shell("cat /sys/class/net/eth0/address").unwrap().trim(), mac);
    let of = |name: &str| metadata(&machine, &format!("meta-data/network/interfaces/macs/{mac}/{name}"));
    assert_eq!(of("subnet-id"), subnet);
    assert!(of("vpc-id").starts_with("vpc-"));
    let document = metadata(&machine, "dynamic/instance-identity/document");
    assert!(document.contains(&format!("\"instanceId\": \"{id}\"")), "{document}");

    // Tags with a slash have no path there, and AWS refuses them.
    let mut slash = options;
    slash[4].1 = "kops.k8s.io/instancegroup";
    let more = [[("ImageId", IMAGE), ("MinCount", "1"), ("MaxCount", "1")].as_slice(), &slash].concat();
    let refused = lab.call("ec2", "RunInstances", &more).unwrap_err().to_string();
    assert!(refused.contains("is not a valid tag key"), "{refused}");

    // The emulator's STS knows the role's credentials.
    assert_eq!(metadata(&machine, "meta-data/iam/security-credentials/"), "nodes");
    let credentials = metadata(&machine, "meta-data/iam/security-credentials/nodes");
    let (_, rest) = credentials.split_once("\"AccessKeyId\": \"").unwrap();
    let (key, _) = rest.split_once('"').unwrap();
    let who = machine
        .shell(&format!(
            "curl -sSf -m 5 -d 'Action=GetCallerIdentity&Version=2011-06-15' -H 'Authorization: AWS4-HMAC-SHA256 \
             Credential={key}/20260101/us-east-1/sts/aws4_request, SignedHeaders=host, Signature=0' $AWS_ENDPOINT_URL",
        ).replace("$AWS_ENDPOINT_URL", &lab.endpoint()))
        .unwrap();
    assert_eq!(values(&who, "Arn"), [format!("arn:aws:sts::123456789012:assumed-role/nodes/{id}")]);

    // Without a token the request fails; over IPv6 the data is the same.
    let status =
        "curl -s -m 5 -o /dev/null -w '%{http_code}' http://169.254.169.254/latest/meta-data/instance-id";
    assert_eq!(machine.shell(status).unwrap(), "401");
    let over_ipv6 = "curl -s -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' 'http://[fd00:ec2::254]/latest/api/token'";
    assert_eq!(machine.shell(over_ipv6).unwrap().len(), 60);

    // A pod reaches the address, but the answer with a token does not come that far until the limit allows it.
    machine.shell(POD).unwrap();
    machine.shell(&format!("ip netns exec pod {status}")).unwrap();
    assert!(!token_in_pod(&machine));
    let more = [("InstanceId", id.as_str()), ("HttpPutResponseHopLimit", "2"), ("HttpTokens", "required")];
    lab.call("ec2", "ModifyInstanceMetadataOptions", &more).unwrap();
    slipway_testkit::wait::until("the limit counts", || Ok(token_in_pod(&machine).then_some(()))).unwrap();
}
