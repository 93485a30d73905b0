use serde_json::json;
use slipway_resource::Address;
use slipway_resource::provider::Disruption;

use super::*;

fn item(kind: &str, observed: Option<serde_json::Value>, desired: Option<serde_json::Value>) -> PlanItem {
    PlanItem {
        address: Address::new(kind, "a"),
        desired: desired.as_ref().map(Value::from_json),
        observed: observed.as_ref().map(|json| normalised(kind, &Value::from_json(json))),
        last_applied: None,
    }
}

fn planned(kind: &str, observed: serde_json::Value, desired: serde_json::Value) -> Planned {
    plan(&item(kind, Some(observed), Some(desired))).unwrap()
}

fn balancer(mappings: serde_json::Value, groups: serde_json::Value) -> serde_json::Value {
    json!({"name": "a", "subnet_mapping": mappings, "security_groups": groups})
}

#[test]
fn the_deletion_of_a_key_says_how_long_it_can_be_restored() {
    let key = json!({"alias": "alias/slipway/a", "policy": "{}"});
    let planned = plan(&item("aws_kms_key", Some(key.clone()), None)).unwrap();
    assert!(planned.reasons[0].contains("after 30 days"), "{:?}", planned.reasons);
    assert!(plan(&item("aws_kms_key", Some(key.clone()), Some(key))).unwrap().reasons.is_empty());
}

#[test]
fn a_load_balancer_enters_subnets_and_leaves_none() {
    let one = json!([{"subnet_id": "s-1", "private_ipv4_address": "10.0.0.9"}]);
    let wanted_one = json!([{"subnet_id": "s-1"}]);
    let two = json!([{"subnet_id": "s-2"}, {"subnet_id": "s-1"}]);
    let groups = json!(["sg-1"]);
    let same = planned("aws_lb", balancer(one.clone(), groups.clone()), balancer(wanted_one, groups.clone()));
    assert!(same.replace_paths.is_empty());
    let more =
        planned("aws_lb", balancer(one.clone(), groups.clone()), balancer(two.clone(), groups.clone()));
    assert!(more.replace_paths.is_empty());
    let fewer = planned("aws_lb", balancer(two, groups.clone()), balancer(one.clone(), groups.clone()));
    assert_eq!(fewer.replace_paths, [Path::key("subnet_mapping")]);
    assert_eq!(fewer.disruption, Disruption::Outage);
    let bare = planned("aws_lb", balancer(one.clone(), json!([])), balancer(one.clone(), groups.clone()));
    assert_eq!(bare.replace_paths, [Path::key("security_groups")]);
    let other = planned("aws_lb", balancer(one.clone(), groups), balancer(one, json!(["sg-2", "sg-3"])));
    assert!(other.replace_paths.is_empty());
}

#[test]
fn a_load_balancer_that_its_tags_tell_keeps_its_name() {
    let tags = json!({"KubernetesCluster": "a.example.com", "Name": "api.a.example.com"});
    let group = json!({"port": 443, "protocol": "TCP", "vpc_id": "vpc-1"});
    for (kind, more) in [("aws_lb", json!({})), ("aws_lb_target_group", group)] {
        let tagged = |name: &str, tags: serde_json::Value| {
            let mut all = more.clone();
            all["name"] = name.into();
            all["tags"] = tags;
            all
        };
        let name = |found, wanted| planned(kind, found, wanted).normalised.get("name").cloned();
        assert_eq!(
            name(tagged("api-again", tags.clone()), tagged("api", tags.clone())),
            Some("api-again".into())
        );
        let other = json!({"KubernetesCluster": "b.example.com", "Name": "api.a.example.com"});
        assert_eq!(name(tagged("api-again", other), tagged("api", tags.clone())), Some("api".into()));
        assert_eq!(name(tagged("b", json!({})), tagged("a", json!({}))), Some("a".into()));
    }
}

#[test]
fn a_volume_never_shrinks() {
    let volume = |size: i64| json!({"availability_zone": "a", "size": size, "type": "gp3"});
    let refused = plan(&item("aws_ebs_volume", Some(volume(20)), Some(volume(10)))).unwrap_err();
    assert_eq!(refused.class, ErrorClass::Invalid);
    assert!(planned("aws_ebs_volume", volume(10), volume(20)).replace_paths.is_empty());
}

#[test]
fn a_new_version_of_a_template_is_known_after_apply() {
    let template = |image: &str, tag: &str| json!({"name": "a", "image_id": image, "tags": {"a": tag}});
    let changed = planned("aws_launch_template", template("ami-1", "1"), template("ami-2", "1"));
    assert_eq!(changed.unknown_after, [Path::key("latest_version")]);
    let tagged = planned("aws_launch_template", template("ami-1", "1"), template("ami-1", "2"));
    assert!(tagged.unknown_after.is_empty());
}

#[test]
fn a_change_of_what_never_changes_is_a_replacement() {
    let group = |description: &str| json!({"name": "a", "vpc_id": "vpc-1", "description": description});
    let replaced = planned("aws_security_group", group("one"), group("two"));
    assert_eq!(replaced.disruption, Disruption::Brief);
    assert_eq!(plan(&item("aws_vpc", None, None)).unwrap().disruption, Disruption::None);
}

#[test]
fn misfits_are_refused_with_what_was_meant() {
    let refused = plan(&item("aws_vpc", None, Some(json!({"cidr_block": "10.0.0.0/16", "cidr_blok": "x"}))));
    let refused = refused.unwrap_err();
    assert_eq!(refused.class, ErrorClass::Invalid);
    assert_eq!(refused.hint.as_deref(), Some("did you mean cidr_block?"));
    assert!(plan(&item("aws_unknown", None, Some(json!({})))).is_err());
}

#[test]
fn planning_what_was_planned_changes_nothing() {
    for (kind, desired) in [
        ("aws_sqs_queue", json!({"name": "a", "policy": "{\"Statement\":[]}"})),
        ("aws_lb", balancer(json!([{"subnet_id": "s-1"}]), json!(["sg-1"]))),
        ("aws_s3_object", json!({"bucket": "b", "key": "k", "content": "x"})),
    ] {
        let first = plan(&item(kind, None, Some(desired))).unwrap().normalised;
        let again = PlanItem {
            address: Address::new(kind, "a"),
            desired: Some(first.clone()),
            observed: None,
            last_applied: None,
        };
        assert_eq!(plan(&again).unwrap().normalised, first);
    }
}

/// As kOps makes its groups.
#[test]
fn a_group_that_takes_the_newest_version_does_so_until_there_is_another() {
    let group = |version: serde_json::Value| {
        json!({"name": "nodes", "min_size": 1, "max_size": 1, "desired_capacity": 1,
            "launch_template": [{"id": "lt-1", "version": version}],
            "instances": [{"id": "i-1", "state": "InService", "launch_template": "lt-1", "version": "3"}]})
    };
    let version = |planned: &Planned| {
        planned.normalised.at(&Path::key("launch_template").index(0).child("version")).cloned().unwrap()
    };
    let wanted = |version: &str| {
        let mut wanted = group(json!(version));
        wanted.as_object_mut().unwrap().remove("instances");
        wanted
    };
    let same = planned("aws_autoscaling_group", group(json!("$Latest")), wanted("4"));
    assert_eq!(version(&same), "$Latest".into());
    assert!(!same.rollout.unwrap().has_leaving());
    assert_eq!(version(&planned("aws_autoscaling_group", group(json!("3")), wanted("4"))), "4".into());

    let mut changed = item("aws_autoscaling_group", Some(group(json!("$Latest"))), Some(wanted("4")));
    let path = Path::key("launch_template").index(0).child("version");
    changed.desired.as_mut().unwrap().set(&path, Value::Unknown);
    let changed = plan(&changed).unwrap();
    assert_eq!(version(&changed), Value::Unknown, "another version is wanted by its number");
    assert!(changed.rollout.unwrap().has_leaving());

    let mix = |version: &str| {
        json!({"name": "nodes", "min_size": 1, "max_size": 1, "mixed_instances_policy": [{"launch_template": [{
            "launch_template_specification": [{"launch_template_id": "lt-1", "version": version}]}]}]})
    };
    let same = planned("aws_autoscaling_group", mix("$Latest"), mix("4"));
    assert_eq!(same.normalised, normalised("aws_autoscaling_group", &Value::from_json(&mix("$Latest"))));
}

/// As after a zone was lost, or an instance was interrupted.
#[test]
fn a_plan_without_changes_says_which_instances_a_group_lacks() {
    let group = json!({"name": "nodes", "min_size": 2, "max_size": 2, "launch_template": [{"id": "lt-1", "version": "3"}]});
    let mut observed = group.clone();
    observed["desired_capacity"] = 2.into();
    observed["instances"] = json!([{"id": "i-1", "zone": "us-east-1a", "state": "InService", "launch_template": "lt-1", "version": "3"}]);
    let planned = planned("aws_autoscaling_group", observed, group);
    assert!(!planned.rollout.unwrap().has_leaving());
    let said = &planned.reasons[0];
    assert!(said.starts_with("1 of 2 instances are in service, in us-east-1a."), "{said}");
}

#[test]
fn a_group_with_another_name_takes_its_instances_along() {
    let group = |name: &str| json!({"name": name, "min_size": 1, "max_size": 1, "launch_template": [{"id": "lt-1", "version": "3"}]});
    let mut observed = group("masters");
    observed["instances"] =
        json!([{"id": "i-1", "state": "InService", "launch_template": "lt-1", "version": "3"}]);
    let mut other = item("aws_autoscaling_group", Some(observed), Some(group("others")));
    other.last_applied = Some(Value::from_json(&json!({"rollout": {"etcd_data": "boot-disk"}})));
    let rollout = plan(&other).unwrap().rollout.unwrap();
    assert_eq!(rollout.members.len(), 1);
    assert!(rollout.irremovable.is_some(), "etcd goes with them");
}

#[test]
fn control_planes_with_volumes_of_etcd_do_not_shrink_to_a_minority() {
    let group = |size: usize| json!({"name": "masters", "min_size": size, "max_size": size, "launch_template": [{"id": "lt-1", "version": "3"}]});
    let with_rollout = |size: usize| {
        let mut group = group(size);
        group["rollout"] = json!({"group": "control-plane", "max_surge": "0", "max_unavailable": "1", "drain": true,
            "drain_budgets": "respect", "drain_on_blocked": "fail", "drain_timeout_ms": 1, "ready_timeout_ms": 1, "settle_ms": 0,
            "etcd_data": "elsewhere"});
        group
    };
    let stays = |before: usize, after: usize| {
        let mut observed = group(before);
        let one = |index: usize| json!({"id": format!("i-{index}"), "state": "InService", "launch_template": "lt-1", "version": "3"});
        observed["instances"] = (0..before).map(one).collect();
        observed["desired_capacity"] = before.into();
        let mut item = item("aws_autoscaling_group", Some(observed), Some(with_rollout(after)));
        item.last_applied = Some(Value::from_json(&with_rollout(before)));
        plan(&item).unwrap().rollout.unwrap().irremovable
    };
    let why = stays(3, 1).unwrap();
    assert!(why.contains("1 of 3 is no majority"), "{why}");
    assert!(stays(2, 1).is_some());
    for (before, after) in [(3, 2), (5, 3), (3, 3), (1, 3), (1, 1)] {
        assert_eq!(stays(before, after), None, "{before} to {after}");
    }
}

#[test]
fn three_members_of_etcd_move_from_disks_to_volumes_and_a_single_one_stays() {
    let group = |version: &str| json!({"name": "masters", "min_size": 3, "max_size": 3, "launch_template": [{"id": "lt-1", "version": version}]});
    let of = |ids: &[&str], etcd_data: &str| {
        let mut observed = group("3");
        let one =
            |id: &&str| json!({"id": id, "state": "InService", "launch_template": "lt-1", "version": "3"});
        observed["instances"] = ids.iter().map(one).collect();
        observed["desired_capacity"] = ids.len().into();
        let mut desired = group("4");
        desired["rollout"] = json!({"group": "control-plane", "max_surge": "0", "max_unavailable": "1", "drain": true,
            "drain_budgets": "respect", "drain_on_blocked": "fail", "drain_timeout_ms": 1, "ready_timeout_ms": 1, "settle_ms": 0,
            "etcd_data": etcd_data});
        let mut item = item("aws_autoscaling_group", Some(observed), Some(desired));
        item.last_applied = Some(Value::from_json(&json!({"rollout": {"etcd_data": "boot-disk"}})));
        let planned = plan(&item).unwrap();
        let rollout = planned.rollout.unwrap();
        (
            rollout.irremovable.is_some(),
            rollout.loses.is_some(),
            planned.reasons.iter().any(|reason| reason == MOVES_ETCD),
        )
    };
    // The loss of each member is named, and has to be confirmed.
    assert_eq!(of(&["i-1", "i-2", "i-3"], "elsewhere"), (false, true, true));
    assert_eq!(of(&["i-1"], "elsewhere"), (true, true, false));
    // Some leave without a replacement, or the template has no volumes.
    assert_eq!(of(&["i-1", "i-2", "i-3", "i-4"], "elsewhere"), (true, true, false));
    assert_eq!(of(&["i-1", "i-2", "i-3"], "boot-disk"), (true, true, false));
}
