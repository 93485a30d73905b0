//! A whole roll, gate by gate, each of them twice with the same token: the second time nothing happens. The gates on nodes are
//! those of the provider of nodes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};
use slipway_resource::provider::{
    Action, Applied, EventSink, Fate, Member, OnBlocked, PlanItem, Resolution, Rollout, operation,
};
use slipway_resource::{Address, ErrorClass, Identity, Observation, ProviderError, Value};
use slipway_testkit::lab::values;
use slipway_testkit::proxy::Verdict;
use slipway_testkit::{Moto, http};

use crate::cluster_api::{BROKEN, ClusterApi, running};
use crate::group::{GROUP, Ground, TEMPLATE, rollout, template};
use crate::life::{create, observed};
use crate::nodes::Nodes;
use crate::support::{Cloud, moto, proxy};

/// How long a new node may take, in milliseconds.
const READY_MS: i64 = 20_000;

fn gate(identity: &Identity, name: &str, arguments: Json) -> Action {
    Action::Operation {
        identity: identity.clone(),
        name: name.to_owned(),
        arguments: Value::from_json(&arguments),
    }
}

/// Runs a gate twice with one token.
async fn twice(cloud: &Cloud, id: &Identity, name: &str, arguments: Json) -> Result<Applied, ProviderError> {
    let address: Address = GROUP.parse().unwrap();
    let request = cloud.request(&address, gate(id, name, arguments));
    cloud.session.apply(request.clone(), EventSink::discard()).await?;
    cloud.session.apply(request, EventSink::discard()).await
}

/// The group as the cluster's own objects show it.
async fn discovered(cloud: &Cloud) -> Value {
    let found = cloud.discover().await;
    let group = found.into_iter().find(|found| found.address.to_string() == GROUP).unwrap();
    match group.observation {
        Observation::Present(attributes) => attributes,
        other => panic!("{other:?}"),
    }
}

async fn planned(cloud: &Cloud, wanted: &Json) -> Rollout {
    let group = discovered(cloud).await;
    cloud.plan(&GROUP.parse().unwrap(), Some(Value::from_json(wanted)), Some(group)).await.rollout.unwrap()
}

/// A version that comes out of a reference is a number.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_may_be_a_number() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let ground = Ground::lay(&cloud).await;
    let mut group = ground.group(1, 1);
    group["launch_template"][0]["version"] = 1.into();
    let action = Action::Create { desired: Value::from_json(&group) };
    cloud.apply(&GROUP.parse().unwrap(), action).await.unwrap();
    cloud.end().await;
}

/// Gives the template another image, and the group its new version.
async fn update(cloud: &Cloud, ground: &Ground, image: &str, wanted: &Json) {
    let prior = observed(cloud, TEMPLATE, &ground.template).await;
    cloud.update(TEMPLATE, &ground.template, &prior, Value::from_json(&template(image))).await;
    let id = Identity::new("nodes.a.example.com");
    let prior = observed(cloud, GROUP, &id).await;
    cloud.update(GROUP, &id, &prior, Value::from_json(wanted)).await;
}

fn members_leaving(rollout: &Rollout) -> impl Iterator<Item = &Member> {
    rollout.members.iter().filter(|member| member.fate != Fate::Keep)
}

fn leaving(rollout: &Rollout) -> Vec<String> {
    members_leaving(rollout).map(|member| member.identity.to_string()).collect()
}

fn drain(timeout_ms: i64) -> Value {
    Value::map([("timeout_ms", timeout_ms)])
}

/// Carries a roll out in the order in which the planner has it, and sees after each gate that the limits hold.
async fn roll((cloud, nodes): (&Cloud, &Nodes), moto: &Moto, rollout: &Rollout, anew: bool) {
    let id = Identity::new("nodes.a.example.com");
    let (size, surge) = (rollout.size as usize, rollout.max_surge as usize);
    let in_bounds = || {
        let count = running(moto.port()).len();
        let least = size - if surge == 0 { 1 } else { 0 };
        assert!((least..=size + surge).contains(&count), "{count} instances run; {size} is the size");
    };
    let limit = i64::try_from(rollout.drain_timeout_ms).unwrap();
    for (number, member) in members_leaving(rollout).enumerate() {
        let mut launch = json!({"slot": (number + 1).to_string()});
        if anew {
            launch["anew"] = true.into();
        }
        if surge > 0 {
            let new = twice(cloud, &id, operation::SURGE, launch.clone()).await.unwrap();
            nodes.verify(cloud, &new, READY_MS).await.unwrap();
            in_bounds();
        }
        let node = nodes.of_member(member).await.unwrap();
        nodes.empty(cloud, &node, drain(limit)).await.unwrap();
        let member = member.identity.as_str();
        twice(cloud, &id, operation::REMOVE, json!({"member": member})).await.unwrap();
        assert!(running(moto.port()).iter().all(|instance| instance.id != member), "{member} runs");
        in_bounds();
        if surge == 0 {
            let new = twice(cloud, &id, operation::SURGE, launch).await.unwrap();
            nodes.verify(cloud, &new, READY_MS).await.unwrap();
        }
    }
}

fn ids(moto: &Moto) -> BTreeSet<String> {
    running(moto.port()).into_iter().map(|instance| instance.id).collect()
}

/// Nothing is left of the roll: every instance is new, and the next plan is empty.
async fn is_through(cloud: &Cloud, moto: &Moto, wanted: &Json, before: &BTreeSet<String>) {
    let after = ids(moto);
    assert!(after.is_disjoint(before), "{before:?} {after:?}");
    let group = discovered(cloud).await;
    cloud.assert_no_change(&GROUP.parse().unwrap(), &Value::from_json(wanted), &group).await;
    let again = planned(cloud, wanted).await;
    assert!(!again.has_leaving(), "{again:#?}");
    assert_eq!(again.members.len(), again.size as usize);
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_replaced_one_beyond_the_size_and_drained() {
    let moto = moto();
    let api = ClusterApi::start(moto.port());
    let nodes = Nodes::of(&api).await;
    let cloud = Cloud::open(&moto.endpoint()).await;
    let ground = Ground::lay(&cloud).await;
    create(&cloud, GROUP, &ground.group(1, 3)).await;
    let before = ids(&moto);
    for (number, instance) in before.iter().enumerate() {
        api.put(&format!("web-{number}"), instance, "ReplicaSet", number);
        api.put(&format!("proxy-{number}"), instance, "DaemonSet", 0);
    }
    let wanted = ground.group(2, 3);
    update(&cloud, &ground, "ami-87654321", &wanted).await;
    let plan = planned(&cloud, &wanted).await;
    assert_eq!(leaving(&plan), before.iter().cloned().collect::<Vec<_>>());
    for (number, member) in plan.members.iter().enumerate() {
        let node = nodes.of_member(member).await.unwrap();
        assert_eq!(node.name, format!("node-{}", member.identity));
        let told = ["budget default/web allows 0 disruptions".to_owned()];
        assert_eq!(node.blockers, if number == 0 { &[][..] } else { &told[..] }, "{node:?}");
        assert!(member.ready && node.ready);
    }
    roll((&cloud, &nodes), &moto, &plan, false).await;
    assert_eq!(api.evicted(), ["web-0", "web-1", "web-2"], "budgets were waited for, and the proxies stayed");
    assert_eq!(api.cordoned(), before);
    assert!(running(moto.port()).iter().all(|instance| instance.image == "ami-87654321"));
    is_through(&cloud, &moto, &wanted, &before).await;

    // Again, although nothing differs: the user requests the replacement.
    let before = ids(&moto);
    let mut plan = planned(&cloud, &wanted).await;
    for member in &mut plan.members {
        member.fate = Fate::Replace { reason: "its replacement was asked for".to_owned(), path: None };
    }
    roll((&cloud, &nodes), &moto, &plan, true).await;
    is_through(&cloud, &moto, &wanted, &before).await;
    cloud.delete(GROUP, &Identity::new("nodes.a.example.com")).await;
    assert!(ids(&moto).is_empty());
    cloud.end().await;
}

/// The next instance must not leave the target group before the new one serves in it.
#[tokio::test(flavor = "multi_thread")]
async fn an_instance_fills_its_slot_when_it_serves_in_the_target_group() {
    let moto = moto();
    let unregistered = Arc::new(AtomicUsize::new(0));
    let left = Arc::clone(&unregistered);
    let proxy = proxy(&moto, move |action| {
        let take = |left: usize| left.checked_sub(1);
        let is_early = action == "DescribeTargetHealth"
            && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok();
        if !is_early {
            return Verdict::Pass;
        }
        let body = "<DescribeTargetHealthResponse xmlns=\"http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/\">\
            <DescribeTargetHealthResult><TargetHealthDescriptions/></DescribeTargetHealthResult>\
            <ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></DescribeTargetHealthResponse>";
        let headers = vec![("Content-Type".to_owned(), "text/xml".to_owned())];
        Verdict::Answer { status: 200, headers, body: body.as_bytes().to_vec() }
    });
    let cloud = Cloud::open(&proxy.endpoint()).await;
    let ground = Ground::lay(&cloud).await;
    let network = create(&cloud, "aws_vpc.b", &json!({"cidr_block": "10.1.0.0/16"})).await;
    let targets = json!({"name": "tcp", "port": 443, "protocol": "TCP", "vpc_id": network.as_str()});
    let targets = create(&cloud, "aws_lb_target_group.tcp", &targets).await;
    let group = |version: u32| {
        let mut group = ground.group(version, 2);
        group["target_group_arns"] = json!([targets.as_str()]);
        group
    };
    let id = create(&cloud, GROUP, &group(1)).await;
    let before = ids(&moto);
    update(&cloud, &ground, "ami-87654321", &group(2)).await;
    let plan = planned(&cloud, &group(2)).await;
    for (number, member) in leaving(&plan).iter().enumerate() {
        unregistered.store(3, Ordering::SeqCst);
        let slot = json!({"slot": (number + 1).to_string()});
        twice(&cloud, &id, operation::SURGE, slot).await.unwrap();
        assert_eq!(unregistered.load(Ordering::SeqCst), 0, "the gate ended before the instance served");
        twice(&cloud, &id, operation::REMOVE, json!({"member": member})).await.unwrap();
    }
    is_through(&cloud, &moto, &group(2), &before).await;
    cloud.end().await;
}

/// How many targets of a target group are healthy.
fn healthy(moto: u16, targets: &str) -> usize {
    let signed = "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/elasticloadbalancing/aws4_request, \
                  SignedHeaders=host, Signature=0";
    let headers = [("Authorization", signed), ("Content-Type", "application/x-www-form-urlencoded")];
    let body = format!("Action=DescribeTargetHealth&Version=2015-12-01&TargetGroupArn={targets}");
    let answer = http::request("POST", moto, "/", &headers, body.as_bytes()).unwrap();
    let text = String::from_utf8(answer.body).unwrap();
    values(&text, "State").into_iter().filter(|state| *state == "healthy").count()
}

/// With one subnet, the new instance comes before the other one leaves its target group, also when answers are lost.
#[tokio::test(flavor = "multi_thread")]
async fn an_instance_leaves_its_target_group_after_the_new_one_serves() {
    for lost in ["", "CreateTags", "UpdateAutoScalingGroup", "DetachInstances"] {
        let moto = moto();
        let (armed, fewest) = (Arc::new(Mutex::new(false)), Arc::new(AtomicUsize::new(usize::MAX)));
        let served: Arc<Mutex<Option<String>>> = Arc::default();
        let proxy = {
            let (armed, fewest, served) = (Arc::clone(&armed), Arc::clone(&fewest), Arc::clone(&served));
            let port = moto.port();
            proxy(&moto, move |action| {
                if let Some(targets) = served.lock().unwrap().as_deref() {
                    fewest.fetch_min(healthy(port, targets), Ordering::SeqCst);
                }
                let is_lost =
                    !lost.is_empty() && action == lost && std::mem::take(&mut *armed.lock().unwrap());
                if is_lost { Verdict::DropAfter } else { Verdict::Pass }
            })
        };
        let cloud = Cloud::open(&proxy.endpoint()).await;
        let ground = Ground::lay(&cloud).await;
        let network = create(&cloud, "aws_vpc.b", &json!({"cidr_block": "10.1.0.0/16"})).await;
        let targets = json!({"name": "tcp", "port": 443, "protocol": "TCP", "vpc_id": network.as_str()});
        let targets = create(&cloud, "aws_lb_target_group.tcp", &targets).await;
        let group = |version: u32| {
            let mut group = ground.group(version, 2);
            group["vpc_zone_identifier"] = json!([ground.subnets[0].as_str()]);
            group["target_group_arns"] = json!([targets.as_str()]);
            group
        };
        let id = create(&cloud, GROUP, &group(1)).await;
        let before = ids(&moto);
        update(&cloud, &ground, "ami-87654321", &group(2)).await;
        let plan = planned(&cloud, &group(2)).await;
        *served.lock().unwrap() = Some(targets.as_str().to_owned());
        *armed.lock().unwrap() = true;
        let address: Address = GROUP.parse().unwrap();
        for (number, member) in leaving(&plan).iter().enumerate() {
            let slot = json!({"slot": (number + 1).to_string()});
            for (name, arguments) in
                [(operation::SURGE, slot), (operation::REMOVE, json!({"member": member}))]
            {
                let request = cloud.request(&address, gate(&id, name, arguments));
                let mut result = cloud.session.apply(request.clone(), EventSink::discard()).await;
                if let Err(error) = &result {
                    assert_eq!(error.class, ErrorClass::OutcomeUnknown, "{lost}: {error}");
                    result = cloud.session.apply(request, EventSink::discard()).await;
                }
                result.unwrap();
                assert!((2..=3).contains(&ids(&moto).len()), "{lost}: {:?}", ids(&moto));
            }
        }
        assert!(fewest.load(Ordering::SeqCst) >= 2, "{lost}: {fewest:?} targets were healthy");
        assert!(lost.is_empty() || !*armed.lock().unwrap(), "{lost} was never called");
        // The group has its sizes back.
        is_through(&cloud, &moto, &group(2), &before).await;
        cloud.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn those_that_a_smaller_group_does_without_are_named_and_drained() {
    let moto = moto();
    let api = ClusterApi::start(moto.port());
    let nodes = Nodes::of(&api).await;
    // The answer to the call that takes them out is lost: the same update, sent again, takes out no others.
    let armed = Arc::new(Mutex::new(true));
    let proxy = proxy(&moto, move |action| {
        let lost = action == "DetachInstances" && std::mem::take(&mut *armed.lock().unwrap());
        if lost { Verdict::DropAfter } else { Verdict::Pass }
    });
    let cloud = Cloud::open(&proxy.endpoint()).await;
    let ground = Ground::lay(&cloud).await;
    let id = create(&cloud, GROUP, &ground.group(1, 4)).await;
    let before = ids(&moto);
    for (number, instance) in before.iter().enumerate() {
        api.put(&format!("web-{number}"), instance, "ReplicaSet", 1);
    }
    let wanted = ground.group(1, 2);
    let plan = planned(&cloud, &wanted).await;
    let named: BTreeSet<String> = leaving(&plan).into_iter().collect();
    assert_eq!((named.len(), plan.size), (2, 2), "{plan:#?}");
    let retire = |fate: &Fate| matches!(fate, Fate::Keep | Fate::Retire { .. });
    assert!(plan.members.iter().all(|member| retire(&member.fate)), "{plan:#?}");

    let prior = discovered(&cloud).await;
    let address: Address = GROUP.parse().unwrap();
    let desired = Value::from_json(&wanted);
    let action = Action::Update { identity: id.clone(), prior, desired };
    let request = cloud.request(&address, action);
    let error = cloud.session.apply(request.clone(), EventSink::discard()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::OutcomeUnknown, "{error}");
    cloud.session.apply(request, EventSink::discard()).await.unwrap();
    assert_eq!(ids(&moto), before, "all of them run until they are drained");

    // The next plan shows the instances that are being removed.
    let again = planned(&cloud, &wanted).await;
    assert_eq!(leaving(&again).into_iter().collect::<BTreeSet<_>>(), named, "{again:#?}");
    let gone = |member: &str| json!({"member": member, "retire": true});
    for member in members_leaving(&plan) {
        let node = nodes.of_member(member).await.unwrap();
        nodes.empty(&cloud, &node, drain(20_000)).await.unwrap();
        twice(&cloud, &id, operation::REMOVE, gone(member.identity.as_str())).await.unwrap();
    }
    assert_eq!(api.cordoned(), named);
    assert_eq!(api.evicted().len(), 2, "what ran on the others stays: {:?}", api.evicted());
    let left: BTreeSet<String> = before.difference(&named).cloned().collect();
    assert_eq!(ids(&moto), left, "nothing came for them");
    let group = discovered(&cloud).await;
    cloud.assert_no_change(&address, &Value::from_json(&wanted), &group).await;
    assert!(!planned(&cloud, &wanted).await.has_leaving());

    // The group is deleted: its nodes are drained, and end with it.
    let item = PlanItem {
        address,
        desired: None,
        observed: Some(group),
        last_applied: Some(Value::from_json(&wanted)),
    };
    let leaves = cloud.session.plan(vec![item]).await.unwrap().remove(0).rollout.unwrap();
    assert_eq!(leaving(&leaves).into_iter().collect::<BTreeSet<_>>(), left);
    for member in members_leaving(&leaves) {
        let node = nodes.of_member(member).await.unwrap();
        nodes.empty(&cloud, &node, drain(20_000)).await.unwrap();
        twice(&cloud, &id, operation::REMOVE, gone(member.identity.as_str())).await.unwrap();
    }
    assert_eq!((ids(&moto), api.evicted().len()), (left, 4), "none came for those that are drained");
    cloud.delete(GROUP, &id).await;
    assert!(ids(&moto).is_empty());
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_never_joins_stops_the_roll_and_is_named() {
    let moto = moto();
    let api = ClusterApi::start(moto.port());
    let nodes = Nodes::of(&api).await;
    let cloud = Cloud::open(&moto.endpoint()).await;
    let ground = Ground::lay(&cloud).await;
    let id = create(&cloud, GROUP, &ground.group(1, 2)).await;
    let before = ids(&moto);
    update(&cloud, &ground, BROKEN, &ground.group(2, 2)).await;
    let new = twice(&cloud, &id, operation::SURGE, json!({"slot": "1"})).await.unwrap();
    let error = nodes.verify(&cloud, &new, 1_500).await.unwrap_err();
    let newcomer = running(moto.port()).into_iter().find(|instance| instance.image == BROKEN).unwrap();
    assert_eq!(error.class, ErrorClass::Permanent, "{error}");
    assert!(error.message.contains(&newcomer.id), "{error}");
    assert!(error.message.contains("it has not joined the cluster"), "{error}");
    assert!(before.is_subset(&ids(&moto)), "those that it was to stand in for still run");

    // The next plan shows the instance that has left its group, and replaces it first.
    let found = planned(&cloud, &ground.group(2, 2)).await;
    let of_newcomer = found.members.iter().find(|member| member.identity.as_str() == newcomer.id).unwrap();
    assert!(nodes.of_member(of_newcomer).await.is_none(), "{found:#?}");
    let first = &found.members[0];
    assert!(before.contains(first.identity.as_str()), "{found:#?}");
    assert!(matches!(&first.fate, Fate::Replace { reason, .. } if reason.contains("left the group")));
    cloud.delete(GROUP, &id).await;
    assert!(ids(&moto).is_empty(), "what left the group goes with it");
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_never_allows_it_stops_the_drain() {
    let moto = moto();
    let api = ClusterApi::start(moto.port());
    let nodes = Nodes::of(&api).await;
    let cloud = Cloud::open(&moto.endpoint()).await;
    let ground = Ground::lay(&cloud).await;
    let id = create(&cloud, GROUP, &ground.group(1, 1)).await;
    let member = ids(&moto).into_iter().next().unwrap();
    api.put("web", &member, "ReplicaSet", usize::MAX);
    let rollout = |plan: Rollout| (plan.members.first().cloned().unwrap(), plan.on_blocked);
    let (member, on_blocked) = rollout(planned(&cloud, &ground.group(1, 1)).await);
    assert_eq!(on_blocked, OnBlocked::Fail);
    let node = nodes.of_member(&member).await.unwrap();
    let error = nodes.empty(&cloud, &node, drain(1_500)).await.unwrap_err();
    let ErrorClass::Dependency { blockers } = &error.class else { panic!("{error}") };
    assert!(blockers[0].contains("pod default/web: The disruption budget web needs 2"), "{blockers:?}");
    assert!(api.evicted().is_empty());

    let mut forced = ground.group(1, 1);
    forced["rollout"]["drain_on_blocked"] = "force".into();
    let prior = observed(&cloud, GROUP, &id).await;
    cloud.update(GROUP, &id, &prior, Value::from_json(&forced)).await;
    let (_, on_blocked) = rollout(planned(&cloud, &forced).await);
    let arguments =
        Value::map([("timeout_ms", Value::from(4_000_i64)), ("on_blocked", on_blocked.as_str().into())]);
    nodes.empty(&cloud, &node, arguments).await.unwrap();
    assert_eq!(api.evicted(), ["web by force"]);
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn spot_instances_go_before_others_come_and_a_warm_pool_is_renewed() {
    let moto = moto();
    let api = ClusterApi::start(moto.port());
    let nodes = Nodes::of(&api).await;
    let cloud = Cloud::open(&moto.endpoint()).await;
    let ground = Ground::lay(&cloud).await;
    let group = |version: u32| {
        let mut group = ground.group(version, 2);
        group.as_object_mut().unwrap().remove("launch_template");
        group["rollout"] = rollout("0");
        group["mixed_instances_policy"] = json!([{
            "instances_distribution": [{"on_demand_percentage_above_base_capacity": 0, "on_demand_base_capacity": 0,
                "on_demand_allocation_strategy": "prioritized", "spot_max_price": "0.05",
                "spot_allocation_strategy": "price-capacity-optimized"}],
            "launch_template": [{
                "launch_template_specification":
                    [{"launch_template_id": ground.template.as_str(), "version": version.to_string()}],
                "override": [{"instance_type": "m5.large"}, {"instance_type": "m5a.large"}]}]}]);
        group
    };
    create(&cloud, GROUP, &group(1)).await;
    let before = ids(&moto);
    update(&cloud, &ground, "ami-87654321", &group(2)).await;
    let plan = planned(&cloud, &group(2)).await;
    assert_eq!((plan.max_surge, plan.max_unavailable, leaving(&plan).len()), (0, 1, 2));
    roll((&cloud, &nodes), &moto, &plan, false).await;
    is_through(&cloud, &moto, &group(2), &before).await;

    // With a warm pool: its instances have the new version before the group takes one.
    let warm = |version: u32| {
        let mut group = group(version);
        group["warm_pool"] = json!([{"min_size": 1, "max_group_prepared_capacity": 3}]);
        group
    };
    let prior = observed(&cloud, GROUP, &Identity::new("nodes.a.example.com")).await;
    cloud.update(GROUP, &Identity::new("nodes.a.example.com"), &prior, Value::from_json(&warm(2))).await;
    let before = ids(&moto);
    assert_eq!(before.len(), 3, "one waits in the warm pool");
    update(&cloud, &ground, "ami-11112222", &warm(3)).await;
    let images: Vec<String> = running(moto.port()).into_iter().map(|instance| instance.image).collect();
    assert_eq!(images.iter().filter(|image| *image == "ami-11112222").count(), 1, "{images:?}");
    let plan = planned(&cloud, &warm(3)).await;
    assert_eq!((plan.members.len(), leaving(&plan).len()), (2, 2), "the warm one is no member");
    for (number, member) in leaving(&plan).iter().enumerate() {
        let id = Identity::new("nodes.a.example.com");
        twice(&cloud, &id, operation::REMOVE, json!({"member": member})).await.unwrap();
        let slot = json!({"slot": (number + 1).to_string()});
        let new = twice(&cloud, &id, operation::SURGE, slot).await.unwrap();
        nodes.verify(&cloud, &new, READY_MS).await.unwrap();
    }
    is_through(&cloud, &moto, &warm(3), &before).await;
    cloud.delete(GROUP, &Identity::new("nodes.a.example.com")).await;
    assert!(ids(&moto).is_empty());
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_takes_no_second_instance_out() {
    for lost in ["DetachInstances", "CreateTags", "TerminateInstances"] {
        let moto = moto();
        let armed = Arc::new(Mutex::new(false));
        let switch = Arc::clone(&armed);
        let proxy = proxy(&moto, move |action| {
            let mut armed = switch.lock().unwrap();
            if *armed && action == lost {
                *armed = false;
                return Verdict::DropAfter;
            }
            Verdict::Pass
        });
        let cloud = Cloud::open(&proxy.endpoint()).await;
        let ground = Ground::lay(&cloud).await;
        create(&cloud, GROUP, &ground.group(1, 2)).await;
        let before = ids(&moto);
        let wanted = ground.group(2, 2);
        update(&cloud, &ground, "ami-87654321", &wanted).await;
        let address: Address = GROUP.parse().unwrap();
        let id = Identity::new("nodes.a.example.com");
        *armed.lock().unwrap() = true;
        let plan = planned(&cloud, &wanted).await;
        for (number, member) in leaving(&plan).iter().enumerate() {
            let slot = json!({"slot": number + 1});
            let steps = [(operation::SURGE, slot), (operation::REMOVE, json!({"member": member}))];
            for (name, arguments) in steps {
                let request = cloud.request(&address, gate(&id, name, arguments));
                let mut result = cloud.session.apply(request.clone(), EventSink::discard()).await;
                if let Err(error) = &result {
                    assert_eq!(error.class, ErrorClass::OutcomeUnknown, "{error}");
                    result = cloud.session.apply(request, EventSink::discard()).await;
                }
                result.unwrap();
                assert!((2..=3).contains(&ids(&moto).len()), "{lost}: {:?}", ids(&moto));
            }
        }
        assert!(!*armed.lock().unwrap(), "{lost} was never called");
        is_through(&cloud, &moto, &wanted, &before).await;
        cloud.end().await;
    }
}

/// A plan of an older provider has them, with `clusterApi` in its settings.
#[tokio::test(flavor = "multi_thread")]
async fn a_group_has_no_gates_on_nodes() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let ground = Ground::lay(&cloud).await;
    let id = create(&cloud, GROUP, &ground.group(1, 1)).await;
    let member = ids(&moto).into_iter().next().unwrap();
    for name in [operation::VERIFY, operation::CORDON, operation::DRAIN] {
        let request = cloud.request(&GROUP.parse().unwrap(), gate(&id, name, json!({"member": member})));
        // An interrupted run at such a gate is resumed: the gate did nothing that must be finished, and a new
        // plan is made.
        assert!(matches!(cloud.resume(&request).await, Resolution::NotDone), "{name}");
        let error = cloud.session.apply(request, EventSink::discard()).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::Invalid, "{error}");
        assert!(error.message.contains(&format!("aws_autoscaling_group has no operation {name}")), "{error}");
    }
    // An instance that is gone by itself satisfies its gate.
    twice(&cloud, &id, operation::REMOVE, json!({"member": "i-0000000000000dead"})).await.unwrap();
    cloud.end().await;
}
