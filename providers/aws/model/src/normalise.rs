//! The cloud's normal form of attributes. Desired and observed attributes are converted before they are
//! compared, so that spelling is no difference.

mod form;
mod schema;

mod balance;
mod dns;
mod gateway;
mod identity;
mod instances;
mod interruption;
mod network;
mod scaling;
mod security;
mod storage;

use slipway_resource::{Entries, Value};

pub use slipway_resource::form::document;

pub use instances::user_data;

use crate::types::{self, Kind};

/// Attributes of one resource.
pub type Attributes = Entries;

/// Attributes in the form in which AWS returns them: texts normalised, numbers as numbers, sets sorted,
/// defaults filled in, empty values removed. Unknown values and references stay. A second conversion changes
/// nothing.
#[must_use]
pub fn normalised(kind: &str, attributes: &Value) -> Value {
    let Value::Map(entries) = attributes else { return attributes.clone() };
    let mut entries = entries.clone();
    let resource = types::get(kind);
    if let Some(resource) = resource {
        schema::conform(&resource.attributes, &mut entries);
    }
    own_form(kind, &mut entries);
    if let Some(resource) = resource {
        schema::settle(&resource.attributes, &mut entries);
    }
    Value::Map(entries)
}

fn own_form(kind: &str, attributes: &mut Attributes) {
    let Some(kind) = Kind::of(kind) else { return };
    let form: fn(&mut Attributes) = match kind {
        Kind::Vpc => network::vpc,
        Kind::VpcIpv4CidrBlockAssociation => network::cidr_association,
        Kind::Subnet => network::subnet,
        Kind::VpcDhcpOptions => network::dhcp_options,
        Kind::Route => gateway::route,
        Kind::SecurityGroupRule => security::rule,
        Kind::IamRole => identity::role,
        Kind::IamRolePolicy | Kind::KmsKey => identity::role_policy,
        Kind::IamOpenidConnectProvider => identity::openid_connect_provider,
        Kind::EbsVolume => storage::volume,
        Kind::KeyPair => storage::key_pair,
        Kind::S3Object => storage::object,
        Kind::LaunchTemplate => instances::launch_template,
        Kind::AutoscalingGroup => scaling::group,
        Kind::Lb => balance::load_balancer,
        Kind::LbListener => balance::listener,
        Kind::LbTargetGroup => balance::target_group,
        Kind::Route53Zone => dns::zone,
        Kind::Route53Record => dns::record,
        Kind::Route53ZoneAssociation => dns::zone_association,
        Kind::SqsQueue => interruption::queue,
        Kind::CloudwatchEventRule => interruption::event_rule,
        Kind::AutoscalingLifecycleHook
        | Kind::CloudwatchEventTarget
        | Kind::EgressOnlyInternetGateway
        | Kind::Eip
        | Kind::IamInstanceProfile
        | Kind::IamRolePolicyAttachment
        | Kind::Instance
        | Kind::InternetGateway
        | Kind::NatGateway
        | Kind::RouteTable
        | Kind::RouteTableAssociation
        | Kind::SecurityGroup
        | Kind::VpcDhcpOptionsAssociation => |_| {},
    };
    form(attributes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(kind: &str, one: serde_json::Value, other: serde_json::Value) {
        let form = |json: &serde_json::Value| normalised(kind, &Value::from_json(json));
        assert_eq!(form(&one), form(&other), "{kind}");
        assert_eq!(normalised(kind, &form(&one)), form(&one), "{kind}: twice");
    }

    #[test]
    fn spelling_is_no_difference() {
        use serde_json::json;
        same(
            "aws_security_group_rule",
            json!({"security_group_id": "sg-1", "protocol": "all", "from_port": -1, "to_port": -1, "self": true,
                "type": "egress"}),
            json!({"security_group_id": "sg-1", "protocol": "-1", "from_port": 0, "to_port": 0, "type": "egress",
                "source_security_group_id": "sg-1", "cidr_blocks": []}),
        );
        same(
            "aws_route53_record",
            json!({"zone_id": "/hostedzone/Z1", "name": "API.example.com.", "type": "a",
                "alias": [{"name": "dualstack.LB-1.elb.amazonaws.com.", "zone_id": "/hostedzone/Z2"}]}),
            json!({"zone_id": "Z1", "name": "api.example.com", "type": "A",
                "alias": [{"name": "lb-1.elb.amazonaws.com", "zone_id": "Z2", "evaluate_target_health": false}]}),
        );
        same(
            "aws_lb_target_group",
            json!({"name": "a", "port": "443", "protocol": "tcp", "vpc_id": "vpc-1", "deregistration_delay": 30,
                "connection_termination": "true", "stickiness": [{"enabled": false, "type": "source_ip"}]}),
            json!({"name": "a", "port": 443, "protocol": "TCP", "vpc_id": "vpc-1", "deregistration_delay": "30",
                "connection_termination": true, "target_type": "instance"}),
        );
        same(
            "aws_autoscaling_group",
            json!({"name": "a", "min_size": 1, "max_size": 1, "launch_template": [{"id": "lt-1", "version": 3}],
                "vpc_zone_identifier": ["subnet-2", "subnet-1"]}),
            json!({"name": "a", "min_size": 1, "max_size": 1, "launch_template": [{"id": "lt-1", "version": "3"}],
                "vpc_zone_identifier": ["subnet-1", "subnet-2"], "max_instance_lifetime": 0}),
        );
        same(
            "aws_subnet",
            json!({"vpc_id": "vpc-1", "availability_zone": "a", "ipv6_cidr_block": "2001:DB8:0:113:0::/64"}),
            json!({"vpc_id": "vpc-1", "availability_zone": "a", "ipv6_cidr_block": "2001:db8:0:113::/64"}),
        );
        same(
            "aws_key_pair",
            json!({"key_name": "a", "public_key": "ssh-rsa AAAA someone@example.com"}),
            json!({"key_name": "a", "public_key": "ssh-rsa AAAA"}),
        );
        same(
            "aws_iam_openid_connect_provider",
            json!({"url": "discovery.example.com/a", "client_id_list": ["b", "a"]}),
            json!({"url": "https://discovery.example.com/a", "client_id_list": ["a", "b"]}),
        );
    }

    #[test]
    fn what_is_unknown_stays() {
        let wanted = Value::map([
            ("name", Value::from("a")),
            ("policy", Value::Unknown),
            ("message_retention_seconds", Value::from(300i64)),
        ]);
        let form = normalised("aws_sqs_queue", &wanted);
        assert_eq!(form.get("policy"), Some(&Value::Unknown));
        assert_eq!(form.get("visibility_timeout_seconds"), Some(&Value::from(30i64)));
    }

    #[test]
    fn an_object_is_known_by_its_checksum() {
        let wanted = Value::map([("bucket", "b"), ("key", "k"), ("content", "abc")]);
        let sum = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=";
        assert_eq!(normalised("aws_s3_object", &wanted).get("checksum_sha256"), Some(&sum.into()));
    }
}
