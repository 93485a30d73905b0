use std::collections::BTreeMap;

use serde_json::Value;
use slipway_spec::model::Addon;

use super::{Context, carry};
use crate::{code as kops_code, defaults, outcome::Outcome};

/// kOps' sections with the names of their add-ons. In `kubeDNS` and `authentication.aws` being there is enough; the
/// others have `enabled` (`externalDns` has `provider`, and formerly `disable`).
const SECTIONS: [(&str, &str); 16] = [
    ("authentication.aws", "aws-iam-authenticator"),
    ("awsLoadBalancerController", "aws-load-balancer-controller"),
    ("certManager", "cert-manager"),
    ("cloudConfig.awsEBSCSIDriver", "aws-ebs-csi-driver"),
    ("clusterAutoscaler", "cluster-autoscaler"),
    ("containerd.gvisor", "gvisor"),
    ("containerd.nvidiaGPU", "nvidia"),
    ("externalDns", "external-dns"),
    ("karpenter", "karpenter"),
    ("kubeDNS", "coredns"),
    ("kubeDNS.nodeLocalDNS", "node-local-dns"),
    ("metricsServer", "metrics-server"),
    ("nodeProblemDetector", "node-problem-detector"),
    ("nodeTerminationHandler", "node-termination-handler"),
    ("podIdentityWebhook", "pod-identity-webhook"),
    ("snapshotController", "snapshot-controller"),
];

/// The add-on that drains machines before they are terminated.
const HANDLER: &str = "node-termination-handler";

/// The add-ons, in the order of their names: those that kOps installs by itself, and those of the document.
pub(super) fn read(context: &Context<'_>, outcome: &mut Outcome) -> Vec<Addon> {
    let mut addons: BTreeMap<String, Addon> =
        defaults::addons(&context.provider).iter().map(|name| ((*name).to_owned(), plain(name))).collect();
    one_handler(context, &mut addons, outcome);
    for (section, name) in SECTIONS {
        let field = context.spec.at(section);
        if !field.is_given() {
            continue;
        }
        outcome.wrote(&format!("addons[{name}]"), &field);
        let addon = addons.entry(name.to_owned()).or_insert_with(|| Addon { enabled: false, ..plain(name) });
        let always = matches!(name, "coredns" | "aws-iam-authenticator");
        let enabled = field.at("enabled");
        outcome.wrote(&format!("addons[{name}].enabled"), &enabled);
        addon.enabled = enabled.boolean().unwrap_or(always || addon.enabled);
        if name == "external-dns" {
            // Without external-dns kOps runs its own controller, which the provider's records replace.
            addon.enabled = field.at("provider").filled().as_deref() == Some("external-dns")
                && field.at("disable").boolean() != Some(true);
        }
        let version = field.at("version");
        outcome.wrote(&format!("addons[{name}].version"), &version);
        addon.version = version.filled();
        let replicas = field.at("replicas");
        outcome.wrote(&format!("addons[{name}].replicas"), &replicas);
        addon.replicas = replicas.number();
        addon.config = without_own_fields(carry::addon(context, section, name, outcome));
    }
    addons.into_values().collect()
}

/// Karpenter hears of machines that go itself: the termination handler is off beside it, and cannot be on.
fn one_handler(context: &Context<'_>, addons: &mut BTreeMap<String, Addon>, outcome: &mut Outcome) {
    if context.spec.at("karpenter.enabled").boolean() != Some(true) {
        return;
    }
    if let Some(handler) = addons.get_mut(HANDLER) {
        handler.enabled = false;
    }
    let enabled = context.spec.at("nodeTerminationHandler.enabled");
    if enabled.boolean() == Some(true) {
        let refused = enabled.error(
            kops_code::REFUSED,
            "spec.nodeTerminationHandler.enabled is refused: Karpenter is enabled, and both would empty their queues of \
             what happens to the same machines",
        );
        outcome.refuse(
            &format!("addons[{HANDLER}]"),
            refused.hint("leave it out; Karpenter has a queue of its own"),
        );
    }
}

fn plain(name: &str) -> Addon {
    Addon {
        name: name.to_owned(),
        enabled: true,
        version: None,
        replicas: None,
        minimum_available: None,
        config: Value::Null,
        manifest: None,
    }
}

/// The settings without those that the model has fields for.
fn without_own_fields(mut config: Value) -> Value {
    if let Some(fields) = config.get_mut("kops").and_then(Value::as_object_mut) {
        for name in ["enabled", "version", "replicas"] {
            fields.remove(name);
        }
        if fields.is_empty() {
            return Value::Null;
        }
    }
    config
}
