use serde_json::{Value as Json, json};
use slipway_resource::Address;

use super::*;

fn instance(id: &str, version: &str) -> Json {
    json!({"id": id, "state": "InService", "health": "Healthy", "launch_template": "lt-1", "version": version})
}

fn group(instances: &[Json]) -> Value {
    Value::from_json(&json!({"name": "nodes", "min_size": 1, "max_size": 5, "desired_capacity": 3,
        "launch_template": [{"id": "lt-1", "version": "1"}], "instances": instances}))
}

fn wanted(version: impl Into<Value>, more: &Json) -> Value {
    let mut group = Value::from_json(&json!({"name": "nodes", "min_size": 1, "max_size": 5}));
    let template = Value::map([("id", Value::from("lt-1")), ("version", version.into())]);
    if let (Value::Map(entries), Value::Map(more)) = (&mut group, Value::from_json(more)) {
        entries.insert("launch_template".to_owned(), Value::List(vec![template]));
        entries.extend(more);
    }
    group
}

fn fates(rollout: &Rollout) -> Vec<(&str, &str)> {
    let fate = |member: &Member| match &member.fate {
        Fate::Keep => "keep",
        Fate::Replace { .. } => "replace",
        Fate::Retire { .. } => "retire",
    };
    rollout.members.iter().map(|member| (member.identity.as_str(), fate(member))).collect()
}

#[test]
fn instances_of_another_version_are_replaced_in_the_order_of_their_ids() {
    let observed = group(&[instance("i-2", "1"), instance("i-1", "2"), instance("i-3", "1")]);
    let found = rollout(&wanted("2", &json!({})), Some(&observed));
    assert_eq!(fates(&found), [("i-1", "keep"), ("i-2", "replace"), ("i-3", "replace")]);
    assert_eq!(found.size, 3, "the autoscaler's size is kept");
    let Fate::Replace { reason, path } = &found.members[1].fate else { panic!("{found:?}") };
    assert_eq!(reason, "version 1 → 2 of the launch template");
    assert_eq!(path.as_ref().unwrap(), &Path::key("launch_template"));
    assert_eq!(reasons(&found), ["2 instances are replaced: version 1 → 2 of the launch template"]);
}

#[test]
fn all_are_replaced_when_the_template_changes_in_the_same_plan() {
    let observed = group(&[instance("i-1", "1"), instance("i-2", "1")]);
    let version = Value::reference(Address::new("aws_launch_template", "nodes"), "latest_version");
    let found = rollout(&wanted(version, &json!({})), Some(&observed));
    assert_eq!(fates(&found), [("i-1", "replace"), ("i-2", "replace")]);
    assert_eq!(fates(&rollout(&wanted(Value::Unknown, &json!({})), Some(&observed))), fates(&found));
    for same in ["1", "$Latest"] {
        assert!(!rollout(&wanted(same, &json!({})), Some(&observed)).has_leaving(), "{same}");
    }
}

#[test]
fn what_left_the_group_goes_first_and_what_goes_already_is_no_member() {
    let mut detached = instance("i-9", "2");
    detached["detached"] = true.into();
    let mut going = instance("i-0", "1");
    going["state"] = "Terminating:Wait".into();
    let mut warm = instance("i-5", "1");
    warm["state"] = "Warmed:Stopped".into();
    let observed = group(&[instance("i-1", "2"), going, warm, detached]);
    let found = rollout(&wanted("2", &json!({})), Some(&observed));
    assert_eq!(fates(&found), [("i-9", "replace"), ("i-1", "keep")]);
}

fn with(id: &str, version: &str, more: &Json) -> Json {
    let mut instance = instance(id, version);
    instance.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    instance
}

#[test]
fn a_group_that_gets_smaller_names_those_that_go() {
    let observed = group(&[
        with("i-1", "1", &json!({"zone": "a"})),
        with("i-2", "1", &json!({"zone": "b"})),
        with("i-3", "1", &json!({"zone": "b"})),
    ]);
    let two = wanted("1", &json!({"min_size": 2, "max_size": 2}));
    let found = rollout(&two, Some(&observed));
    assert_eq!(fates(&found), [("i-1", "keep"), ("i-2", "retire"), ("i-3", "keep")], "the fuller zone");
    assert_eq!(
        (found.size, reasons(&found)),
        (2, vec!["1 instance leaves: the desired size of the group is 2".to_owned()])
    );
    assert_eq!(retired(&observed, &two), ["i-2"], "the update takes out what the plan has named");

    // Instances that are no ready nodes come first, then those that would be replaced anyway, and protected
    // ones last.
    let observed = group(&[
        with("i-1", "1", &json!({"protected": true})),
        instance("i-2", "2"),
        with("i-3", "2", &json!({"health": "Unhealthy"})),
    ]);
    let one = |version: &str| wanted(version, &json!({"min_size": 1, "max_size": 1}));
    assert_eq!(retired(&observed, &one("2")), ["i-2", "i-3"]);
    assert_eq!(retired(&observed, &wanted("1", &json!({"max_size": 2}))), ["i-3"]);
    let observed = group(&[instance("i-1", "2"), instance("i-2", "1"), instance("i-3", "1")]);
    let found = rollout(&wanted("2", &json!({"max_size": 2})), Some(&observed));
    assert_eq!(fates(&found), [("i-1", "keep"), ("i-2", "retire"), ("i-3", "replace")]);

    // An autoscaler's size within the bounds is its own business, and so is one more for a while.
    let observed = group(&["i-1", "i-2", "i-3", "i-4"].map(|id| instance(id, "1")));
    assert!(!rollout(&wanted("1", &json!({"min_size": 0})), Some(&observed)).has_leaving());
}

#[test]
fn what_was_taken_out_of_a_smaller_group_still_goes() {
    let out = json!({"id": "i-9", "detached": true, "retired": true});
    let observed = group(&[instance("i-1", "1"), out]);
    let found = rollout(&wanted("1", &json!({"min_size": 1, "max_size": 1})), Some(&observed));
    assert_eq!(fates(&found), [("i-9", "retire"), ("i-1", "keep")], "what comes no more need not go");
    assert!(retired(&observed, &wanted("1", &json!({"max_size": 1}))).is_empty(), "it is out already");
}

#[test]
fn all_leave_with_their_group_as_it_was_asked_for() {
    let rollout = json!({"group": "worker", "max_surge": "0", "max_unavailable": "2", "drain_timeout_ms": 7});
    let item = |observed: Option<Value>| PlanItem {
        address: Address::new("aws_autoscaling_group", "nodes"),
        desired: None,
        observed,
        last_applied: Some(Value::from_json(&json!({"rollout": rollout}))),
    };
    let mut warm = instance("i-5", "1");
    warm["state"] = "Warmed:Stopped".into();
    let observed = group(&[instance("i-1", "1"), warm, instance("i-2", "1")]);
    let planned = super::super::plan(&item(Some(observed))).unwrap();
    let found = planned.rollout.unwrap();
    assert_eq!(fates(&found), [("i-1", "retire"), ("i-2", "retire")]);
    assert_eq!((found.size, found.max_unavailable, found.drain_timeout_ms), (0, 2, 7));
    assert_eq!(planned.reasons, ["2 instances leave: its group goes"]);
    assert!(super::super::plan(&item(Some(group(&[])))).unwrap().rollout.is_none());
    assert!(super::super::plan(&item(None)).unwrap().rollout.is_none());
}

#[test]
fn a_mixed_group_goes_by_the_template_of_its_policy() {
    let observed = group(&[instance("i-1", "1")]);
    let wanted = Value::from_json(&json!({"name": "nodes", "min_size": 1, "max_size": 1,
        "mixed_instances_policy": [{"launch_template": [{"launch_template_specification":
            [{"launch_template_id": "lt-1", "version": "4"}]}]}]}));
    let found = rollout(&wanted, Some(&observed));
    let Fate::Replace { path, .. } = &found.members[0].fate else { panic!("{found:?}") };
    assert_eq!(path.as_ref().unwrap(), &Path::key("mixed_instances_policy"));
}

#[test]
fn limits_are_counts_and_percentages_and_those_of_the_role() {
    let limits = |group: &str, surge: &str, unavailable: &str, size| {
        let manner = Manner {
            group: group.to_owned(),
            max_surge: surge.to_owned(),
            max_unavailable: unavailable.to_owned(),
            ..Manner::default()
        };
        manner.limits(size)
    };
    assert_eq!(limits("worker", "25%", "25%", 10), (3, 2));
    assert_eq!(limits("worker", "0", "0", 10), (0, 1));
    assert_eq!(limits("control-plane", "3", "2", 3), (1, 0));
    assert_eq!(limits("control-plane", "0", "2", 3), (0, 1), "a volume is at one machine only");
}

#[test]
fn the_order_of_the_groups_follows_from_the_role() {
    let after = |group: &str| {
        let found = rollout(&wanted("1", &json!({"rollout": {"group": group}})), None);
        (found.after.join(" "), found.exclusive)
    };
    assert_eq!(after("control-plane"), (String::new(), true));
    assert_eq!(after("api-server"), ("control-plane".to_owned(), false));
    assert_eq!(after("worker"), ("control-plane api-server".to_owned(), false));
    assert_eq!(after("bastion"), (String::new(), false));
}

#[test]
fn what_is_not_ready_says_so() {
    let mut pending = instance("i-1", "1");
    pending["state"] = "Pending:Wait".into();
    let mut sick = instance("i-2", "1");
    sick["health"] = "Unhealthy".into();
    let mut left = instance("i-4", "1");
    (left["detached"], left["state"]) = (true.into(), Json::Null);
    let observed = group(&[pending, sick, instance("i-3", "1"), left]);
    let found = rollout(&wanted("1", &json!({})), Some(&observed));
    let ready: Vec<bool> = found.members.iter().map(|member| member.ready).collect();
    // The one that has left its group comes first.
    assert_eq!(ready, [true, false, false, true]);
}

#[test]
fn a_manner_survives_its_line() {
    let manner = Manner {
        group: "control-plane".to_owned(),
        max_surge: "100%".to_owned(),
        max_unavailable: "33%".to_owned(),
        drain: false,
        drain_budgets: "ignore".to_owned(),
        drain_on_blocked: "force".to_owned(),
        drain_timeout_ms: 86_400_000,
        ready_timeout_ms: 86_400_000,
        settle_ms: 86_400_000,
        data_disks: Vec::new(),
        etcd_data: None,
        in_place_only: false,
    };
    assert_eq!(Manner::from_line(&manner.to_line()), manner);
    assert!(manner.to_line().len() <= 256, "a tag holds no more");
    assert_eq!(Manner::from_line(""), Manner::default());
}

#[test]
fn the_nodes_of_instances_are_named() {
    let mut one = instance("i-1", "1");
    one["zone"] = "us-east-1a".into();
    let observed = group(&[one]);
    let of = |group: &str| {
        let wanted = wanted("2", &json!({"rollout": {"group": group}}));
        let found = rollout(&wanted, Some(&observed));
        (found.drains(), found.members[0].node.clone())
    };
    let node = NodeReference::ProviderId("aws:///us-east-1a/i-1".to_owned());
    assert_eq!(of("worker"), (true, Some(node)));
    assert_eq!(of("bastion"), (false, None), "bastions are not nodes");
    let wanted = wanted("2", &json!({"rollout": {"drain": false}}));
    assert!(!rollout(&wanted, Some(&observed)).drains());
}

#[test]
fn what_the_spec_says_of_drains_is_said_to_the_planner() {
    let observed = group(&[instance("i-1", "1")]);
    let of = |block: Json| {
        let found = rollout(&wanted("2", &json!({ "rollout": block })), Some(&observed));
        (found.ignore_budgets, found.on_blocked, found.settle_ms)
    };
    assert_eq!(of(json!({})), (false, OnBlocked::Fail, 0));
    let given = json!({"drain_budgets": "ignore", "drain_on_blocked": "force", "settle_ms": 30_000});
    assert_eq!(of(given), (true, OnBlocked::Force, 30_000));
    assert_eq!(of(json!({"drain_on_blocked": "skip"})).1, OnBlocked::Skip);
}

#[test]
fn data_disks_that_go_with_their_machines_are_named() {
    let observed = group(&[instance("i-1", "1")]);
    let of = |disks: &[&str]| {
        let wanted = wanted("2", &json!({"rollout": {"data_disks": disks}}));
        rollout(&wanted, Some(&observed)).loses
    };
    assert_eq!(of(&[]), None);
    assert_eq!(of(&["/dev/xvdb (/data)"]).unwrap(), "its data disk /dev/xvdb (/data)");
    assert_eq!(of(&["/dev/xvdb", "/dev/xvdc"]).unwrap(), "its data disks /dev/xvdb, /dev/xvdc");
}

#[test]
fn control_planes_whose_etcd_is_on_the_disk_that_they_boot_from_have_to_stay() {
    let observed = group(&[instance("i-1", "1")]);
    let of = |rollout: Json| {
        let found = rollout_of(&rollout, &observed);
        (found.loses, found.irremovable)
    };
    let (loses, stays) = of(json!({"group": "control-plane", "etcd_data": "boot-disk"}));
    let etcd = "the data of its member of etcd, which is on the disk that it boots from";
    assert_eq!(loses.unwrap(), etcd);
    assert!(stays.unwrap().contains("does not move such a member of etcd"));
    let disks = json!({"data_disks": ["/dev/xvdb"], "etcd_data": "boot-disk-of-image"});
    assert_eq!(of(disks), (Some(format!("its data disk /dev/xvdb, and {etcd}")), None));
    assert_eq!(of(json!({"etcd_data": "elsewhere"})), (None, None));
    assert_eq!(of(json!({})), (None, None));

    // Deleted groups are known by what was applied last.
    let item = PlanItem {
        address: Address::new("aws_autoscaling_group", "a"),
        desired: None,
        observed: Some(observed.clone()),
        last_applied: Some(wanted("1", &json!({"rollout": {"etcd_data": "boot-disk"}}))),
    };
    let removed = of_removal(&item).unwrap();
    assert!(removed.loses.is_some() && removed.irremovable.is_some());
}

fn rollout_of(block: &Json, observed: &Value) -> Rollout {
    rollout(&wanted("2", &json!({ "rollout": block })), Some(observed))
}
