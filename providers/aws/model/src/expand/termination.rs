//! How the cluster learns that machines are about to go: a queue, the rules that feed it, and the hooks that wait.

use serde_json::{Value, json};

use super::build::{Builder, address, id_of};
use super::iam::has_termination_queue;
use super::{addons, compute};
use crate::names;
use crate::policy::{Document, Principal, Statement};

/// For how long messages are kept and hooks wait, in seconds.
const PATIENCE: i64 = 300;
/// The suffix of the name of the termination handler's queue.
const HANDLER_QUEUE: &str = "nth";
/// The longest part of a rule's name that the cluster's name may be.
const LONGEST_CLUSTER: usize = 40;
/// The longest part of a queue's name that the cluster's name may be.
const LONGEST_QUEUE: usize = 76;

/// The queues of the node termination handler and of Karpenter: each has its own, since a message is one component's.
pub(super) fn termination(builder: &mut Builder<'_>) {
    let handler = "addons[node-termination-handler]";
    if has_termination_queue(builder) {
        let rebalance =
            addons::flag(builder.cluster, "node-termination-handler", "enableRebalanceDraining", false);
        let rules = rules().into_iter().filter(|rule| rebalance || rule.name != "RebalanceRecommendation");
        queue(builder, HANDLER_QUEUE, "", handler, rules);
        hooks(builder, handler);
    }
    if addons::is_enabled(builder.cluster, "karpenter") {
        let rules = rules().into_iter().filter(|rule| rule.name != "ASGLifecycle");
        queue(builder, "karpenter", "Karpenter-", "addons[karpenter]", rules);
    }
}

/// Events that a queue is fed with.
struct Rule {
    name: &'static str,
    source: &'static str,
    kind: &'static str,
    detail: Value,
}

fn rules() -> [Rule; 5] {
    let rule = |name, source, kind, detail| Rule { name, source, kind, detail };
    let scheduled = json!({ "service": ["EC2"], "eventTypeCategory": ["scheduledChange"] });
    [
        rule("ASGLifecycle", "aws.autoscaling", "EC2 Instance-terminate Lifecycle Action", Value::Null),
        rule("SpotInterruption", "aws.ec2", "EC2 Spot Instance Interruption Warning", Value::Null),
        rule("InstanceStateChange", "aws.ec2", "EC2 Instance State-change Notification", Value::Null),
        rule("InstanceScheduledChange", "aws.health", "AWS Health Event", scheduled),
        rule("RebalanceRecommendation", "aws.ec2", "EC2 Instance Rebalance Recommendation", Value::Null),
    ]
}

impl Rule {
    fn pattern(&self) -> String {
        let mut pattern = json!({ "source": [self.source], "detail-type": [self.kind] });
        if let (Value::Object(fields), false) = (&mut pattern, self.detail.is_null()) {
            fields.insert("detail".to_owned(), self.detail.clone());
        }
        pattern.to_string()
    }
}

/// The name of a queue of the cluster.
fn queue_name(cluster: &str, suffix: &str) -> String {
    let kept: String = cluster.replace('.', "-").chars().take(LONGEST_QUEUE).collect();
    format!("{kept}-{suffix}")
}

/// The URL of the termination handler's queue.
pub(super) fn handler_queue_url(builder: &Builder<'_>) -> String {
    let (catalog, name) = (builder.catalog, queue_name(&builder.cluster.name, HANDLER_QUEUE));
    format!("https://sqs.{}.{}/{}/{name}", catalog.region, catalog.domain(), catalog.account())
}

fn queue(
    builder: &mut Builder<'_>,
    suffix: &str,
    prefix: &str,
    origin: &str,
    rules: impl Iterator<Item = Rule>,
) {
    let cluster = &builder.cluster.name;
    let name = queue_name(cluster, suffix);
    let catalog = builder.catalog;
    let arn = format!("arn:{}:sqs:{}:{}:{name}", catalog.partition(), catalog.region, catalog.account());
    let policy = Document::of(Statement {
        principal: Some(Principal::Services(vec![
            "events.amazonaws.com".to_owned(),
            "sqs.amazonaws.com".to_owned(),
        ])),
        actions: ["sqs:SendMessage".to_owned()].into(),
        resources: vec![arn.into()],
        conditions: std::collections::BTreeMap::new(),
    });
    let draft = builder
        .draft("aws_sqs_queue", &name, origin)
        .fix("name", name.as_str())
        .fix("message_retention_seconds", PATIENCE)
        .fix("policy", policy.to_value())
        .tags(builder.tags(&name));
    let queue = builder.add(draft);
    let cluster = names::shortened(cluster, LONGEST_CLUSTER, false);
    for rule in rules {
        let name = format!("{cluster}-{prefix}{}", rule.name);
        let draft = builder
            .draft("aws_cloudwatch_event_rule", &name, origin)
            .fix("name", name.as_str())
            .fix("event_pattern", rule.pattern())
            .tags(builder.tags(&name));
        let rule = builder.add(draft);
        let target = builder
            .draft("aws_cloudwatch_event_target", &format!("{name}-Target"), origin)
            .fix("rule", id_of(&rule))
            .fix("arn", slipway_resource::Value::reference(queue.clone(), "arn"));
        builder.add(target);
    }
}

/// Hooks that hold a machine until its node was drained.
fn hooks(builder: &mut Builder<'_>, origin: &str) {
    for pool in &builder.cluster.pools {
        if !compute::is_group(builder, pool) {
            continue;
        }
        let name = format!("{}-NTHLifecycleHook", pool.name);
        let group = address("aws_autoscaling_group", &names::group(pool, &builder.cluster.name));
        let hook = builder
            .draft("aws_autoscaling_lifecycle_hook", &name, origin)
            .fix("name", name.as_str())
            .fix("autoscaling_group_name", id_of(&group))
            .fix("lifecycle_transition", "autoscaling:EC2_INSTANCE_TERMINATING")
            .fix("default_result", "CONTINUE")
            .fix("heartbeat_timeout", PATIENCE);
        builder.add(hook);
    }
}

/// The tag by which the termination handler knows the machines that it looks after.
pub(super) fn managed_tag<'a>(builder: &Builder<'a>) -> Option<&'a str> {
    let given = addons::setting(builder.cluster, "node-termination-handler", "managedASGTag");
    let tag = given.and_then(Value::as_str).unwrap_or("aws-node-termination-handler/managed");
    (has_termination_queue(builder) && !tag.is_empty()).then_some(tag)
}
