use serde_json::json;

use slipway_aws_model::names::hashed;

use crate::life::{change_each, create};
use crate::support::{CLUSTER, Cloud, moto};

#[tokio::test(flavor = "multi_thread")]
async fn a_load_balancer_with_its_listener_and_target_groups() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let network = create(&cloud, "aws_vpc.a", &json!({"cidr_block": "10.0.0.0/16"})).await;
    let mut subnets = Vec::new();
    for (number, zone) in ["us-east-1a", "us-east-1b"].iter().enumerate() {
        let subnet = json!({"vpc_id": network.as_str(), "availability_zone": zone,
            "cidr_block": format!("10.0.{number}.0/24")});
        subnets.push(create(&cloud, &format!("aws_subnet.{zone}"), &subnet).await);
    }
    let mut groups = Vec::new();
    for name in ["one", "two"] {
        let group = json!({"name": name, "description": name, "vpc_id": network.as_str()});
        groups.push(create(&cloud, &format!("aws_security_group.{name}"), &group).await);
    }

    let group = |prefix: &str, protocol: &str| {
        json!({"name": hashed(prefix, CLUSTER), "port": 443, "protocol": protocol, "vpc_id": network.as_str(),
            "deregistration_delay": "30", "connection_termination": true,
            "health_check": [{"protocol": "TCP", "interval": 10, "healthy_threshold": 2, "unhealthy_threshold": 2}],
            "tags": {"Name": "a"}})
    };
    let (tcp, tls) = ("aws_lb_target_group.tcp", "aws_lb_target_group.tls");
    let base = group("tcp", "TCP");
    let tcp_id = create(&cloud, tcp, &base).await;
    let tls_id = create(&cloud, tls, &group("tls", "TLS")).await;
    let changes = json!({
        "deregistration_delay": "60",
        "connection_termination": false,
        "proxy_protocol_v2": true,
        "stickiness": [{"type": "source_ip", "enabled": true}],
        "health_check": [{"protocol": "TCP", "interval": 30, "healthy_threshold": 3, "unhealthy_threshold": 3}],
        "tags": {"Name": "b"},
    });
    change_each(&cloud, tcp, &tcp_id, &base, &changes).await;
    let preserving = json!({"preserve_client_ip": "true"});
    let mut kept = base.clone();
    kept["preserve_client_ip"] = "false".into();
    let prior = crate::life::observed(&cloud, tcp, &tcp_id).await;
    cloud.update(tcp, &tcp_id, &prior, slipway_resource::Value::from_json(&kept)).await;
    change_each(&cloud, tcp, &tcp_id, &kept, &preserving).await;

    let bucket = "access-logs";
    moto.create_bucket(bucket).unwrap();
    let mapping = |subnet: usize| json!({"subnet_id": subnets[subnet].as_str()});
    let balancer = json!({"name": hashed("api", CLUSTER), "load_balancer_type": "network", "internal": false,
        "security_groups": [groups[0].as_str()], "subnet_mapping": [mapping(0)], "tags": {"Name": "api"}});
    let balancer_name = "aws_lb.api-a-example-com";
    let balancer_id = create(&cloud, balancer_name, &balancer).await;
    let changes = json!({
        "enable_cross_zone_load_balancing": true,
        "enable_deletion_protection": true,
        "security_groups": [groups[1].as_str()],
        "dns_record_client_routing_policy": "availability_zone_affinity",
        "access_logs": [{"bucket": bucket, "enabled": true}],
        "ip_address_type": "dualstack",
        "tags": {"Name": "b"},
    });
    change_each(&cloud, balancer_name, &balancer_id, &balancer, &changes).await;
    let mut wider = balancer.clone();
    wider["subnet_mapping"] = json!([mapping(0), mapping(1)]);
    let prior = crate::life::observed(&cloud, balancer_name, &balancer_id).await;
    cloud.update(balancer_name, &balancer_id, &prior, slipway_resource::Value::from_json(&wider)).await;

    let forward =
        |group: &slipway_resource::Identity| json!([{"type": "forward", "target_group_arn": group.as_str()}]);
    let listener = json!({"load_balancer_arn": balancer_id.as_str(), "port": 443, "protocol": "TCP",
        "default_action": forward(&tcp_id)});
    let listener_name = "aws_lb_listener.api-a-example-com-443";
    let listener_id = create(&cloud, listener_name, &listener).await;
    change_each(&cloud, listener_name, &listener_id, &listener, &json!({"port": 8443})).await;
    let changes = json!({"default_action": forward(&tls_id)});
    change_each(&cloud, listener_name, &listener_id, &listener, &changes).await;

    let lost: Vec<String> =
        cloud.discover_lost().await.iter().map(|observed| observed.address.to_string()).collect();
    for name in [balancer_name, listener_name, tcp, tls] {
        assert!(lost.iter().any(|found| found == name), "{name} is not among {lost:?}");
    }
    for (name, id) in
        [(listener_name, &listener_id), (balancer_name, &balancer_id), (tcp, &tcp_id), (tls, &tls_id)]
    {
        cloud.delete(name, id).await;
    }
    cloud.end().await;
}
