use serde_json::json;

use crate::life::{change_each, create};
use crate::support::{Cloud, moto};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPzsMw7JRoqSQzrYqJ7rhGyQfVZKlNYzXqCUqPxzUBqo";

#[tokio::test(flavor = "multi_thread")]
async fn a_key_pair() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let pair = json!({"key_name": "kubernetes.a.example.com-0", "public_key": KEY, "tags": {"Name": "a"}});
    let name = "aws_key_pair.a";
    let id = create(&cloud, name, &pair).await;
    change_each(&cloud, name, &id, &pair, &json!({"tags": {"Name": "b", "more": "1"}})).await;
    assert_eq!(cloud.discover().await.len(), 1);
    cloud.delete(name, &id).await;
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volume_grows_in_place() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let volume = json!({"availability_zone": "us-east-1a", "size": 20, "type": "gp3", "iops": 3000,
        "throughput": 125, "encrypted": true, "tags": {"Name": "a.etcd-main.a.example.com"}});
    let name = "aws_ebs_volume.a-etcd-main";
    let id = create(&cloud, name, &volume).await;
    let changes = json!({"iops": 4000, "throughput": 250, "tags": {"Name": "b"}});
    change_each(&cloud, name, &id, &volume, &changes).await;
    let prior = crate::life::observed(&cloud, name, &id).await;
    let mut grown = volume.clone();
    grown["size"] = 40.into();
    cloud.update(name, &id, &prior, slipway_resource::Value::from_json(&grown)).await;
    assert_eq!(cloud.discover().await.len(), 1);
    cloud.delete(name, &id).await;
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launch_template_with_everything_that_a_cluster_says() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let template = json!({
        "name": "nodes.a.example.com", "image_id": "ami-12345678", "instance_type": "t3.medium", "key_name": "a",
        "user_data": "I2Nsb3VkLWNvbmZpZwo=", "ebs_optimized": true,
        "iam_instance_profile": [{"name": "nodes.a.example.com"}],
        "block_device_mappings": [{"device_name": "/dev/xvda", "ebs": [{"volume_size": 128, "volume_type": "gp3",
            "iops": 3000, "throughput": 125, "encrypted": true, "delete_on_termination": true}]}],
        "network_interfaces": [{"associate_public_ip_address": true, "delete_on_termination": true,
            "ipv6_address_count": 0, "security_groups": ["sg-1"]}],
        "metadata_options": [{"http_endpoint": "enabled", "http_tokens": "required",
            "http_put_response_hop_limit": 1, "http_protocol_ipv6": "disabled"}],
        "monitoring": [{"enabled": false}],
        "tag_specifications": [
            {"resource_type": "instance", "tags": {"Name": "nodes.a.example.com"}},
            {"resource_type": "volume", "tags": {"Name": "nodes.a.example.com"}}],
        "tags": {"Name": "nodes.a.example.com"},
    });
    let name = "aws_launch_template.nodes-a-example-com";
    let id = create(&cloud, name, &template).await;
    let changes = json!({
        "image_id": "ami-87654321",
        "instance_type": "m5.large",
        "key_name": "b",
        "user_data": "I2Nsb3VkLWNvbmZpZwojIG1vcmUK",
        "ebs_optimized": false,
        "iam_instance_profile": [{"name": "others.a.example.com"}],
        "block_device_mappings": [{"device_name": "/dev/xvda", "ebs": [{"volume_size": 64, "volume_type": "io2",
            "iops": 5000, "encrypted": true, "delete_on_termination": true}]}],
        "network_interfaces": [{"associate_public_ip_address": false, "delete_on_termination": true,
            "ipv6_address_count": 1, "security_groups": ["sg-1", "sg-2"]}],
        "metadata_options": [{"http_endpoint": "enabled", "http_tokens": "optional",
            "http_put_response_hop_limit": 3, "http_protocol_ipv6": "enabled"}],
        "monitoring": [{"enabled": true}],
        "instance_market_options": [{"market_type": "spot", "spot_options": [{"max_price": "0.1"}]}],
        "placement": [{"tenancy": "dedicated"}],
        "credit_specification": [{"cpu_credits": "unlimited"}],
        "tag_specifications": [{"resource_type": "instance", "tags": {"Name": "other"}}],
        "tags": {"Name": "other"},
    });
    change_each(&cloud, name, &id, &template, &changes).await;
    assert_eq!(cloud.discover().await.len(), 1);
    cloud.delete(name, &id).await;
    cloud.end().await;
}
