//! Launch templates, auto-scaling groups, volumes and keys.

use slipway_aws_model::normalise::normalised;
use slipway_resource::Value;

use crate::harness::{Resources, offline, shown};
use crate::kops;

const TEMPLATE: &str = "aws_launch_template.nodes-m-example-com";
const GROUP: &str = "aws_autoscaling_group.nodes-m-example-com";

fn attribute(resources: &Resources, address: &str, name: &str) -> String {
    resources.get(address).get(name).map(shown).unwrap_or_default()
}

fn tag(resources: &Resources, key: &str) -> Option<String> {
    resources.get(TEMPLATE).get("tags")?.get(key).map(shown)
}

#[test]
fn a_highest_price_asks_for_the_spot_market() {
    let workers = "maxPrice: '0.10'\ninstanceInterruptionBehavior: stop\nspotDurationInMinutes: 60\n";
    let resources = offline(&kops("", workers));
    let options = attribute(&resources, TEMPLATE, "instance_market_options");
    assert!(
        options.contains("max_price: 0.10") && options.contains("block_duration_minutes: 60"),
        "{options}"
    );
    let mixed =
        format!("{workers}mixedInstancesPolicy: {{ instances: [m5.large, m5a.large], onDemandBase: 1 }}\n");
    let resources = offline(&kops("", &mixed));
    assert_eq!(attribute(&resources, TEMPLATE, "instance_market_options"), "");
    let policy = attribute(&resources, GROUP, "mixed_instances_policy");
    assert!(
        policy.contains("spot_max_price: 0.10") && policy.contains("on_demand_base_capacity: 1"),
        "{policy}"
    );
    assert!(policy.contains("[{instance_type: m5.large}, {instance_type: m5a.large}]"), "{policy}");
    // Defaults are written, too: otherwise earlier values would stay.
    let plain = "mixedInstancesPolicy: { instances: [m5.large] }\n";
    let policy = attribute(&offline(&kops("", plain)), GROUP, "mixed_instances_policy");
    assert!(policy.contains("on_demand_base_capacity: 0"), "{policy}");
    assert!(policy.contains("on_demand_percentage_above_base_capacity: 100"), "{policy}");
}

#[test]
fn the_autoscaler_learns_of_labels_and_taints_from_tags() {
    let workers = "nodeLabels: { tier: gold }\ntaints: ['dedicated=db:NoSchedule', 'bare:NoExecute']\n";
    let resources = offline(&kops("", workers));
    let template = |rest: &str| tag(&resources, &format!("k8s.io/cluster-autoscaler/node-template/{rest}"));
    assert_eq!(template("label/tier").as_deref(), Some("gold"));
    assert_eq!(template("taint/dedicated").as_deref(), Some("db:NoSchedule"));
    assert_eq!(template("taint/bare"), None);
}

#[test]
fn machines_with_graphics_processors_are_labelled() {
    let label = "k8s.io/cluster-autoscaler/node-template/label/kops.k8s.io/gpu";
    let enabled = "containerd: { nvidiaGPU: { enabled: true } }";
    assert_eq!(tag(&offline(&kops(enabled, "machineType: g4dn.xlarge\n")), label).as_deref(), Some("1"));
    assert_eq!(tag(&offline(&kops(enabled, "")), label), None);
    assert_eq!(tag(&offline(&kops("", "machineType: g4dn.xlarge\n")), label), None);
    let own = "machineType: g4dn.xlarge\ncontainerd: { nvidiaGPU: { enabled: true } }\n";
    assert_eq!(tag(&offline(&kops("", own)), label).as_deref(), Some("1"));
}

#[test]
fn disks_are_what_the_type_of_volume_allows() {
    let workers = "machineType: m3.xlarge\nrootVolumeType: io2\nrootVolumeIops: 500\nrootVolumeOptimization: true\n\
                   volumes: [{ device: /dev/xvdx, size: 30, type: st1, encrypted: false }]\n";
    let resources = offline(&kops("", workers));
    let disks = attribute(&resources, TEMPLATE, "block_device_mappings");
    assert!(disks.contains("iops: 500") && !disks.contains("throughput"), "{disks}");
    assert!(disks.contains("{device_name: /dev/sdd, virtual_name: ephemeral1}"), "{disks}");
    assert!(disks.contains("encrypted: false") && disks.contains("volume_type: st1"), "{disks}");
    assert_eq!(attribute(&resources, TEMPLATE, "ebs_optimized"), "true");
}

#[test]
fn warm_pools_come_with_their_hook() {
    let workers =
        "warmPool: { minSize: 1, maxSize: 3, enableLifecycleHook: true, lifecycleHookTimeout: 900 }\n";
    let resources = offline(&kops("", workers));
    assert_eq!(attribute(&resources, GROUP, "warm_pool"), "[{max_group_prepared_capacity: 3, min_size: 1}]");
    let hook = "aws_autoscaling_lifecycle_hook.kops-warmpool-nodes";
    assert_eq!(attribute(&resources, hook, "heartbeat_timeout"), "900");
    let policy = attribute(&resources, "aws_iam_role_policy.nodes-m-example-com", "policy");
    assert!(policy.contains("autoscaling:CompleteLifecycleAction"));
}

#[test]
fn placement_metadata_and_load_balancers_are_the_pools_own() {
    let workers = "tenancy: dedicated\ncpuCredits: unlimited\ndetailedInstanceMonitoring: true\n\
                   instanceMetadata: { httpTokens: optional, httpPutResponseHopLimit: 3 }\n\
                   instanceProtection: true\ncapacityRebalance: true\nmaxInstanceLifetime: 72h0m0s\n\
                   suspendProcesses: [AZRebalance]\nsecurityGroupOverride: sg-own\nassociatePublicIp: false\n\
                   externalLoadBalancers: [{ loadBalancerName: classic }, { targetGroupArn: 'arn:tg' }]\n";
    let resources = offline(&kops("", workers));
    for (name, expected) in [
        ("placement", "[{tenancy: dedicated}]"),
        ("credit_specification", "[{cpu_credits: unlimited}]"),
        ("monitoring", "[{enabled: true}]"),
    ] {
        assert_eq!(attribute(&resources, TEMPLATE, name), expected);
    }
    let metadata = attribute(&resources, TEMPLATE, "metadata_options");
    assert!(metadata.contains("http_tokens: optional") && metadata.contains("hop_limit: 3"), "{metadata}");
    let interfaces = attribute(&resources, TEMPLATE, "network_interfaces");
    assert!(interfaces.contains("security_groups: [sg-own]"), "{interfaces}");
    assert!(interfaces.contains("associate_public_ip_address: false"), "{interfaces}");
    for (name, expected) in [
        ("protect_from_scale_in", "true"),
        ("capacity_rebalance", "true"),
        ("max_instance_lifetime", "259200"),
        ("suspended_processes", "[AZRebalance]"),
        ("load_balancers", "[classic]"),
        ("target_group_arns", "[arn:tg]"),
    ] {
        assert_eq!(attribute(&resources, GROUP, name), expected);
    }
}

#[test]
fn a_key_that_exists_is_used_and_an_empty_name_asks_for_none() {
    let existing = offline(&kops("sshKeyName: ours", ""));
    assert_eq!(attribute(&existing, TEMPLATE, "key_name"), "ours");
    assert!(existing.names("aws_key_pair").is_empty());
    assert_eq!(attribute(&offline(&kops("sshKeyName: ''", "")), TEMPLATE, "key_name"), "");
}

#[test]
fn the_termination_handler_can_do_without_a_queue() {
    let resources = offline(&kops("nodeTerminationHandler: { enableSQSTerminationDraining: false }", ""));
    assert!(resources.names("aws_sqs_queue").is_empty());
    assert!(resources.names("aws_autoscaling_lifecycle_hook").is_empty());
    assert_eq!(tag(&resources, "aws-node-termination-handler/managed"), None);
    let resources = offline(&kops("nodeTerminationHandler: { enableRebalanceDraining: true }", ""));
    assert_eq!(resources.names("aws_cloudwatch_event_rule").len(), 5);
    let own = offline(&kops("nodeTerminationHandler: { managedASGTag: ours/drained }", ""));
    assert!(attribute(&own, GROUP, "tag").contains("ours/drained"), "{}", attribute(&own, GROUP, "tag"));
    assert!(!attribute(&own, GROUP, "tag").contains("aws-node-termination-handler/managed"));
}

#[test]
fn karpenter_makes_the_machines_of_its_pools_itself() {
    let resources = offline(&kops("karpenter: { enabled: true }", "manager: Karpenter\n"));
    assert_eq!(resources.names("aws_autoscaling_group"), ["masters-masters-m-example-com"]);
    // Karpenter hears of machines that go itself.
    assert_eq!(resources.names("aws_sqs_queue"), ["m-example-com-karpenter"]);
    assert!(resources.names("aws_autoscaling_lifecycle_hook").is_empty());
    let subnet = attribute(&resources, "aws_subnet.a-m-example-com", "tags");
    assert!(subnet.contains("kops.k8s.io/instance-group/nodes: true"), "{subnet}");
    assert!(!subnet.contains("kops.k8s.io/instance-group/masters"), "{subnet}");
    let mut both = kops("karpenter: { enabled: true }", "");
    both.addons.iter_mut().for_each(|addon| addon.enabled = true);
    assert_eq!(offline(&both).names("aws_sqs_queue"), ["m-example-com-karpenter", "m-example-com-nth"]);
}

#[test]
fn only_groups_of_control_planes_say_where_etcd_keeps_its_data() {
    let resources = offline(&kops("", ""));
    let rollout = |group: &str| attribute(&resources, group, "rollout");
    let (group, template) = (
        "aws_autoscaling_group.masters-masters-m-example-com",
        "aws_launch_template.masters-masters-m-example-com",
    );
    assert!(rollout(group).contains(&format!("etcd_data: {template}.etcd_data")), "{}", rollout(group));
    assert!(!rollout(GROUP).contains("etcd_data"), "{}", rollout(GROUP));
    let data = |template: &str| {
        let normalised = normalised("aws_launch_template", resources.get(template));
        normalised.get("etcd_data").and_then(Value::as_str).map(str::to_owned)
    };
    assert_eq!(data(template).as_deref(), Some("elsewhere"));
    assert_eq!(data(TEMPLATE), None);
}
