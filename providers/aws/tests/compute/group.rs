use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value as Json, json};
use slipway_resource::provider::Action;
use slipway_resource::{ErrorClass, Identity, Value};
use slipway_testkit::proxy::Verdict;

use crate::life::{change_each, create, observed};
use crate::support::{Cloud, moto, proxy};

/// A network with subnets in two zones, and a launch template.
pub struct Ground {
    /// The subnets.
    pub subnets: Vec<Identity>,
    /// The launch template's name and identity.
    pub template: Identity,
}

/// The attributes of a template, with an image.
pub fn template(image: &str) -> Json {
    json!({"name": "nodes.a.example.com", "image_id": image, "instance_type": "t3.medium",
        "tags": {"Name": "nodes.a.example.com"}})
}

/// The template's resource.
pub const TEMPLATE: &str = "aws_launch_template.nodes-a-example-com";
/// The group's resource.
pub const GROUP: &str = "aws_autoscaling_group.nodes-a-example-com";

impl Ground {
    /// Makes it.
    pub async fn lay(cloud: &Cloud) -> Self {
        let network = create(cloud, "aws_vpc.a", &json!({"cidr_block": "10.0.0.0/16"})).await;
        let mut subnets = Vec::new();
        for (number, zone) in ["us-east-1a", "us-east-1b"].iter().enumerate() {
            let subnet = json!({"vpc_id": network.as_str(), "availability_zone": zone,
                "cidr_block": format!("10.0.{number}.0/24")});
            subnets.push(create(cloud, &format!("aws_subnet.{zone}"), &subnet).await);
        }
        let template = create(cloud, TEMPLATE, &template("ami-12345678")).await;
        Self { subnets, template }
    }

    /// A group of one template.
    pub fn group(&self, version: u32, size: u32) -> Json {
        json!({
            "name": "nodes.a.example.com", "min_size": size, "max_size": size,
            "launch_template": [{"id": self.template.as_str(), "version": version.to_string()}],
            "vpc_zone_identifier": self.subnets.iter().map(Identity::as_str).collect::<Vec<_>>(),
            "metrics_granularity": "1Minute",
            "enabled_metrics": ["GroupDesiredCapacity", "GroupMinSize"],
            "rollout": rollout("1"),
            "tag": [
                {"key": "Name", "value": "nodes.a.example.com", "propagate_at_launch": true},
                {"key": "k8s.io/role/node", "value": "1", "propagate_at_launch": true}],
        })
    }
}

/// How machines are replaced.
pub fn rollout(surge: &str) -> Json {
    json!({"group": "worker", "max_surge": surge, "max_unavailable": if surge == "0" { "1" } else { "0" },
        "drain": true, "drain_budgets": "respect", "drain_on_blocked": "fail", "drain_timeout_ms": 20_000,
        "ready_timeout_ms": 20_000, "settle_ms": 0})
}

/// Auto Scaling knows a new instance profile later than IAM does, and has the code of every mistake for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_group_waits_for_its_new_instance_profile() {
    let moto = moto();
    let left = Arc::new(AtomicUsize::new(2));
    let refusals = Arc::clone(&left);
    let proxy = proxy(&moto, move |action| {
        let take = |left: usize| left.checked_sub(1);
        let is_refused = action == "CreateAutoScalingGroup"
            && refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok();
        if !is_refused {
            return Verdict::Pass;
        }
        let body = "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>\
            <Message>told so</Message></Error><RequestId>r</RequestId></ErrorResponse>";
        let headers = vec![("Content-Type".to_owned(), "text/xml".to_owned())];
        Verdict::Answer { status: 400, headers, body: body.as_bytes().to_vec() }
    });
    // A profile of another session is not new to this one.
    let earlier = Cloud::open(&moto.endpoint()).await;
    let ground = Ground::lay(&earlier).await;
    earlier.end().await;
    let cloud = Cloud::open(&proxy.endpoint()).await;
    // Without a profile it is a mistake, and told at once.
    let action = Action::Create { desired: Value::from_json(&ground.group(1, 1)) };
    let error = cloud.apply(&GROUP.parse().unwrap(), action.clone()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid, "{error}");
    assert_eq!(left.swap(2, Ordering::SeqCst), 1);

    let name = "nodes.a.example.com";
    create(&cloud, "aws_iam_instance_profile.nodes-a-example-com", &json!({"name": name})).await;
    let mut with_profile = template("ami-12345678");
    with_profile["iam_instance_profile"] = json!([{"name": name}]);
    let prior = observed(&cloud, TEMPLATE, &ground.template).await;
    cloud.update(TEMPLATE, &ground.template, &prior, Value::from_json(&with_profile)).await;
    cloud.apply(&GROUP.parse().unwrap(), action).await.unwrap();
    assert_eq!(left.load(Ordering::SeqCst), 0, "it was not refused");
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_one_template_with_its_hook() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let ground = Ground::lay(&cloud).await;
    let mut group = ground.group(1, 1);
    // Attributes that AWS sets if they are missing do not change back when they are removed.
    group["default_cooldown"] = 300.into();
    group["health_check_type"] = "EC2".into();
    group["health_check_grace_period"] = 60.into();
    let id = create(&cloud, GROUP, &group).await;
    let network = create(&cloud, "aws_vpc.b", &json!({"cidr_block": "10.1.0.0/16"})).await;
    let targets = json!({"name": "tcp", "port": 443, "protocol": "TCP", "vpc_id": network.as_str()});
    let targets = create(&cloud, "aws_lb_target_group.tcp", &targets).await;
    let changes = json!({
        "max_size": 3,
        "vpc_zone_identifier": [ground.subnets[0].as_str()],
        "target_group_arns": [targets.as_str()],
        "max_instance_lifetime": 604_800,
        "protect_from_scale_in": true,
        "capacity_rebalance": true,
        "default_cooldown": 60,
        "health_check_type": "ELB",
        "health_check_grace_period": 120,
        "termination_policies": ["OldestInstance", "Default"],
        "suspended_processes": ["AZRebalance", "ReplaceUnhealthy"],
        "enabled_metrics": ["GroupDesiredCapacity", "GroupMaxSize"],
        "warm_pool": [{"min_size": 1, "max_group_prepared_capacity": 2}],
        "tag": [{"key": "Name", "value": "other", "propagate_at_launch": true}],
    });
    change_each(&cloud, GROUP, &id, &group, &changes).await;
    assert_eq!(observed(&cloud, GROUP, &id).await.get("instances").unwrap().as_list().unwrap().len(), 1);

    let hook = json!({"autoscaling_group_name": id.as_str(), "name": "kops-warmpool",
        "lifecycle_transition": "autoscaling:EC2_INSTANCE_LAUNCHING", "default_result": "ABANDON",
        "heartbeat_timeout": 600});
    let hook_name = "aws_autoscaling_lifecycle_hook.kops-warmpool-nodes";
    let hook_id = create(&cloud, hook_name, &hook).await;
    let changes = json!({"heartbeat_timeout": 300, "default_result": "CONTINUE",
        "lifecycle_transition": "autoscaling:EC2_INSTANCE_TERMINATING"});
    change_each(&cloud, hook_name, &hook_id, &hook, &changes).await;

    let found = cloud.discover().await;
    let of = |kind: &str| found.iter().filter(|observed| observed.address.kind() == kind).count();
    assert_eq!((of("aws_autoscaling_group"), of("aws_autoscaling_lifecycle_hook")), (1, 1), "{found:#?}");
    cloud.delete(hook_name, &hook_id).await;
    cloud.delete(GROUP, &id).await;
    cloud.delete(TEMPLATE, &ground.template).await;
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_several_types_on_the_spot_market() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let ground = Ground::lay(&cloud).await;
    let policy = |price: &str, types: &[&str], above: u32| {
        json!([{
            "instances_distribution": [{"on_demand_base_capacity": 1, "spot_max_price": price,
                "on_demand_percentage_above_base_capacity": above,
                "on_demand_allocation_strategy": "prioritized",
                "spot_allocation_strategy": "price-capacity-optimized"}],
            "launch_template": [{
                "launch_template_specification": [{"launch_template_id": ground.template.as_str(), "version": "1"}],
                "override": types.iter().map(|name| json!({"instance_type": name})).collect::<Vec<_>>(),
            }],
        }])
    };
    let mut group = ground.group(1, 2);
    group.as_object_mut().unwrap().remove("launch_template");
    group["mixed_instances_policy"] = policy("0.05", &["m5.large", "m5a.large"], 0);
    group["warm_pool"] = json!([{"min_size": 0, "max_group_prepared_capacity": 3}]);
    let id = create(&cloud, GROUP, &group).await;
    let changes = json!({
        "mixed_instances_policy": policy("0.10", &["m5.large", "m6i.large", "m7i.large"], 50),
        "warm_pool": [{"min_size": 2, "pool_state": "Running", "instance_reuse_policy": [{"reuse_on_scale_in": true}]}],
        "max_size": 5,
    });
    change_each(&cloud, GROUP, &id, &group, &changes).await;
    let mut without = group.clone();
    without.as_object_mut().unwrap().remove("warm_pool");
    let prior = observed(&cloud, GROUP, &id).await;
    cloud.update(GROUP, &id, &prior, slipway_resource::Value::from_json(&without)).await;
    cloud.delete(GROUP, &id).await;
    cloud.end().await;
}
