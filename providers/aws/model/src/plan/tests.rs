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
