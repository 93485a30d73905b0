use std::collections::BTreeMap;

use serde_json::Value;
use slipway_spec::model::Addon;

use super::{Context, carry};
use crate::{defaults, outcome::Outcome};

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

/// The add-ons, in the order of their names: what kOps installs by itself, and what the document says.
pub(super) fn read(context: &Context<'_>, outcome: &mut Outcome) -> Vec<Addon> {
    let mut addons: BTreeMap<String, Addon> =
        defaults::addons(&context.provider).iter().map(|name| ((*name).to_owned(), plain(name))).collect();
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
            // Without external-dns kOps runs a controller of its own, which the provider's records stand in for.
            addon.enabled = field.at("provider").filled().as_deref() == Some("external-dns")
                && field.at("disable").boolean() != Some(true);
        }
        let version = field.at("version");
        outcome.wrote(&format!("addons[{name}].version"), &version);
        addon.version = version.filled();
        let replicas = field.at("replicas");
        outcome.wrote(&format!("addons[{name}].replicas"), &replicas);
        addon.replicas = replicas.number();
        addon.config = without_own_fields(carry::addon(context, section, name));
    }
    addons.into_values().collect()
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
