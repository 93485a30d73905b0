use std::collections::BTreeMap;

use slipway_spec::{
    diagnostic::code,
    model::{Component, ComponentName, Resources},
    yaml::{Node, Value},
};

use super::Context;
use crate::{
    code as kops_code,
    field::{Field, scalar},
    fields::Kind,
    outcome::Outcome,
    rules::Treatment,
    values,
};

/// kOps' sections of the components.
const SECTIONS: [(&str, ComponentName); 6] = [
    ("kubeAPIServer", ComponentName::ApiServer),
    ("kubeControllerManager", ComponentName::ControllerManager),
    ("kubeScheduler", ComponentName::Scheduler),
    ("kubeProxy", ComponentName::Proxy),
    ("cloudControllerManager", ComponentName::CloudController),
    ("kubelet", ComponentName::Kubelet),
];

/// The settings of every component that the document says something about.
pub(super) fn read(context: &Context<'_>, outcome: &mut Outcome) -> BTreeMap<ComponentName, Component> {
    let mut components = BTreeMap::new();
    for (section, name) in SECTIONS {
        let field = context.spec.at(section);
        let component = one(context, &field, section, name, outcome);
        if component != Component::default() {
            outcome.wrote(&format!("components.{name}"), &field);
            components.insert(name, component);
        }
    }
    let etcd = etcd(context, outcome);
    if etcd != Component::default() {
        components.insert(ComponentName::Etcd, etcd);
    }
    components
}

fn one(
    context: &Context<'_>,
    field: &Field<'_>,
    section: &str,
    name: ComponentName,
    outcome: &mut Outcome,
) -> Component {
    let mut component = Component::default();
    flags(context, field, &format!("spec.{section}"), name, &mut component, outcome);
    if name == ComponentName::Kubelet {
        // Everything else of the kubelet belongs to its configuration file.
        return component;
    }
    let at = |leaf: &str| format!("components.{name}.{leaf}");
    let image = field.at("image");
    outcome.wrote(&at("image"), &image);
    component.image = image.filled();
    let level = field.at("logLevel");
    outcome.wrote(&at("logLevel"), &level);
    component.log_level = level.number();
    component.feature_gates = feature_gates(&field.at("featureGates"), outcome);
    outcome.wrote(&at("featureGates"), &field.at("featureGates"));
    component.resources = Resources {
        cpu_request: field.at("cpuRequest").parse(outcome),
        cpu_limit: field.at("cpuLimit").parse(outcome),
        memory_request: field.at("memoryRequest").parse(outcome),
        memory_limit: field.at("memoryLimit").parse(outcome),
    };
    for leaf in ["cpuRequest", "cpuLimit", "memoryRequest", "memoryLimit"] {
        outcome.wrote(&at(&format!("resources.{leaf}")), &field.at(leaf));
    }
    for variable in field.at("env").items() {
        if let (Some(name), Some(value)) = (variable.at("name").filled(), variable.at("value").text()) {
            outcome.wrote(&at(&format!("environment.{name}")), &variable.at("value"));
            component.environment.insert(name, value);
        }
    }
    let volumes = field.at("maxPersistentVolumes");
    if let (ComponentName::Scheduler, Some(count)) = (name, volumes.text()) {
        component.environment.insert("KUBE_MAX_PD_VOLS".to_owned(), count);
    }
    let plugins: Vec<_> = ["enableAdmissionPlugins", "appendAdmissionPlugins"]
        .iter()
        .flat_map(|list| field.at(list).texts())
        .collect();
    if !plugins.is_empty() {
        component.extra_args.insert("enable-admission-plugins".to_owned(), plugins.join(","));
    }
    let log = field.at("auditLogPath");
    if let Some(path) = log.filled() {
        outcome.wrote(&at("extraArgs.audit-log-path"), &log);
        component.extra_args.insert("audit-log-path".to_owned(), path);
    }
    component
}

/// The fields that are flags, as `extraArgs`.
fn flags(
    context: &Context<'_>,
    field: &Field<'_>,
    path: &str,
    name: ComponentName,
    component: &mut Component,
    outcome: &mut Outcome,
) {
    for (leaf, value) in field.entries() {
        let path = format!("{path}.{leaf}");
        let Some((_, Treatment::Flag(flag))) = context.rules.find(Kind::Cluster, &path) else {
            continue;
        };
        if leaf == "leaderElection" {
            flags(context, &value, &path, name, component, outcome);
            continue;
        }
        let Some(text) = value.node().and_then(rendered) else {
            continue;
        };
        let flag = flag.clone().unwrap_or_else(|| values::hyphenated(leaf));
        outcome.wrote(&format!("components.{name}.extraArgs.{flag}"), &value);
        component.extra_args.insert(flag, text);
    }
}

/// A value as the text behind a flag: items and pairs are joined by commas.
fn rendered(node: &Node) -> Option<String> {
    match &node.value {
        Value::Sequence(items) => Some(items.iter().filter_map(scalar).collect::<Vec<_>>().join(",")),
        Value::Mapping(entries) => Some(
            entries
                .iter()
                .filter_map(|entry| Some(format!("{}={}", entry.key.text, scalar(&entry.value)?)))
                .collect::<Vec<_>>()
                .join(","),
        ),
        _ => scalar(node),
    }
}

/// Feature gates, which kOps writes as texts.
pub(super) fn feature_gates(field: &Field<'_>, outcome: &mut Outcome) -> BTreeMap<String, bool> {
    let mut gates = BTreeMap::new();
    for (name, value) in field.entries() {
        match value.text().unwrap_or_default().to_ascii_lowercase().as_str() {
            "true" => drop(gates.insert(name.to_owned(), true)),
            "false" => drop(gates.insert(name.to_owned(), false)),
            other => outcome.say(
                value
                    .error(
                        code::UNKNOWN_VALUE,
                        format!("the feature gate {name} is {other:?}, neither true nor false"),
                    )
                    .hint("write \"true\" or \"false\""),
            ),
        }
    }
    gates
}

/// The settings that kOps has per etcd cluster and the model for all of them.
fn etcd(context: &Context<'_>, outcome: &mut Outcome) -> Component {
    let mut component = Component::default();
    for cluster in context.spec.at("etcdClusters").items() {
        let manager = cluster.at("manager");
        let mut set = |map: &mut BTreeMap<String, String>,
                       kind: &str,
                       name: &str,
                       value: Option<String>,
                       field: &Field<'_>| {
            let Some(value) = value else { return };
            outcome.wrote(&format!("components.etcd.{kind}.{name}"), field);
            let before = map.entry(name.to_owned()).or_insert_with(|| value.clone());
            if *before != value {
                outcome.say(
                    field
                        .warning(
                            kops_code::MERGED,
                            format!("{} is {value}, and {before} in an etcd cluster before it; {before} is used for all", field.path()),
                        )
                        .hint("give all etcd clusters the same value"),
                );
            }
        };
        for (leaf, flag) in
            [("heartbeatInterval", "heartbeat-interval"), ("leaderElectionTimeout", "election-timeout")]
        {
            let field = cluster.at(leaf);
            let value = field.duration().map(|time| time.get().as_millis().to_string());
            set(&mut component.extra_args, "extraArgs", flag, value, &field);
        }
        for (leaf, flag) in [
            ("listenMetricsURLs", "listen-metrics-urls"),
            ("listenClientHTTPURLs", "listen-client-http-urls"),
        ] {
            let field = manager.at(leaf);
            let value = field.node().and_then(rendered);
            set(&mut component.extra_args, "extraArgs", flag, value, &field);
        }
        for variable in manager.at("env").items() {
            if let Some(name) = variable.at("name").filled() {
                let value = Some(variable.at("value").text().unwrap_or_default());
                set(&mut component.environment, "environment", &name, value, &variable.at("value"));
            }
        }
        let image = cluster.at("image");
        outcome.wrote("components.etcd.image", &image);
        component.image = component.image.or_else(|| image.filled());
    }
    component
}
