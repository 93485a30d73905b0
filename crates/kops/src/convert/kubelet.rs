use std::collections::BTreeMap;

use serde_json::{Map, Value};
use slipway_spec::{
    model::{Kubelet, Role},
    value::Duration,
};

use super::{Context, components};
use crate::{defaults, field::Field, fields::Kind, outcome::Outcome, rules::Treatment, values};

/// The kubelets' settings of a cluster.
pub(super) struct Kubelets {
    /// `kubelet`, over kOps' own defaults.
    pub(super) everywhere: Kubelet,
    /// `masterKubelet`, for the control plane.
    control_plane: Kubelet,
}

impl Kubelets {
    /// The settings of a pool: the cluster's, the control plane's, its own over them.
    pub(super) fn of(&self, role: Role, own: &Kubelet) -> Kubelet {
        match role {
            Role::ControlPlane | Role::ApiServer => {
                self.everywhere.merged_with(&self.control_plane).merged_with(own)
            }
            Role::Worker | Role::Bastion => self.everywhere.merged_with(own),
        }
    }
}

/// `kubelet` and `masterKubelet` of a cluster.
pub(super) fn cluster(context: &Context<'_>, outcome: &mut Outcome) -> Kubelets {
    let everywhere = context.spec.at("kubelet");
    let own = read(context, Kind::Cluster, &everywhere, "spec.kubelet", "kubelet", outcome);
    let control_plane = context.spec.at("masterKubelet");
    Kubelets {
        everywhere: merged(&defaults::kubelet(), &own),
        control_plane: read(context, Kind::Cluster, &control_plane, "spec.masterKubelet", "", outcome),
    }
}

/// Like [`Kubelet::merged_with`], with the inner fields of `extraConfig` merged too.
fn merged(base: &Kubelet, over: &Kubelet) -> Kubelet {
    let mut all = base.merged_with(over);
    all.extra_config = deep(&base.extra_config, &over.extra_config);
    if !over.eviction_hard.is_empty() {
        // kOps takes the thresholds as one text.
        all.eviction_hard.clone_from(&over.eviction_hard);
    }
    all
}

fn deep(base: &Value, over: &Value) -> Value {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            let mut all = base.clone();
            for (key, value) in over {
                let value = all.get(key).map_or_else(|| value.clone(), |before| deep(before, value));
                all.insert(key.clone(), value);
            }
            Value::Object(all)
        }
        (base, Value::Null) => base.clone(),
        (_, over) => over.clone(),
    }
}

/// One kubelet section. `rule` is its path in the table, `path` the one in the model; empty records no places.
pub(super) fn read(
    context: &Context<'_>,
    kind: Kind,
    field: &Field<'_>,
    rule: &str,
    path: &str,
    outcome: &mut Outcome,
) -> Kubelet {
    let mut kubelet = Kubelet {
        max_pods: field.at("maxPods").number(),
        kube_reserved: quantities(&field.at("kubeReserved"), outcome),
        system_reserved: quantities(&field.at("systemReserved"), outcome),
        eviction_hard: thresholds(&field.at("evictionHard"), outcome),
        eviction_soft: thresholds(&field.at("evictionSoft"), outcome),
        eviction_soft_grace_period: grace_periods(&field.at("evictionSoftGracePeriod"), outcome),
        cpu_manager_policy: field.at("cpuManagerPolicy").filled(),
        topology_manager_policy: field.at("topologyManagerPolicy").filled(),
        image_gc_high_threshold_percent: field.at("imageGCHighThresholdPercent").number(),
        image_gc_low_threshold_percent: field.at("imageGCLowThresholdPercent").number(),
        shutdown_grace_period: field.at("shutdownGracePeriod").duration(),
        serialize_image_pulls: field.at("serializeImagePulls").boolean(),
        server_tls_bootstrap: None,
        fail_swap_on: field.at("failSwapOn").boolean(),
        allowed_unsafe_sysctls: field.at("allowedUnsafeSysctls").texts(),
        feature_gates: components::feature_gates(&field.at("featureGates"), outcome),
        extra_config: Value::Null,
    };
    let mut extra = Map::new();
    for (leaf, value) in field.entries() {
        let Some((_, Treatment::Kubelet(place))) = context.rules.find(kind, &format!("{rule}.{leaf}")) else {
            place(leaf, &value, path, outcome);
            continue;
        };
        let place = place.clone().unwrap_or_else(|| leaf.to_owned());
        put(&mut extra, &place, &value);
        if !path.is_empty() {
            let outermost = place.split(['.', '[', '{']).next().unwrap_or(&place);
            outcome.wrote(&format!("{path}.extraConfig.{outermost}"), &value);
        }
    }
    if !extra.is_empty() {
        kubelet.extra_config = Value::Object(extra);
    }
    kubelet
}

fn place(leaf: &str, value: &Field<'_>, path: &str, outcome: &mut Outcome) {
    if !path.is_empty() {
        outcome.wrote(&format!("{path}.{leaf}"), value);
    }
}

/// Puts a value where `KubeletConfiguration` has it.
fn put(config: &mut Map<String, Value>, place: &str, field: &Field<'_>) {
    let text = || field.text().unwrap_or_default();
    let (place, value) = if let Some(place) = place.strip_suffix("[]") {
        (place, Value::from(values::parts(&text())))
    } else if let Some(place) = place.strip_suffix("{}") {
        let pairs = values::pairs(&text(), '=').unwrap_or_default();
        (place, pairs.into_iter().map(|(key, value)| (key, Value::from(value))).collect())
    } else {
        (place, field.json())
    };
    match place.split_once('.') {
        None => drop(config.insert(place.to_owned(), value)),
        Some((outer, inner)) => {
            let section = config.entry(outer).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(section) = section {
                nest(section, inner, value);
            }
        }
    }
}

fn nest(section: &mut Map<String, Value>, place: &str, value: Value) {
    match place.split_once('.') {
        None => drop(section.insert(place.to_owned(), value)),
        Some((outer, inner)) => {
            let deeper = section.entry(outer).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(deeper) = deeper {
                nest(deeper, inner, value);
            }
        }
    }
}

fn quantities<T>(field: &Field<'_>, outcome: &mut Outcome) -> BTreeMap<String, T>
where
    T: std::str::FromStr<Err = slipway_spec::value::Malformed>,
{
    field
        .entries()
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.parse(outcome)?)))
        .collect()
}

fn thresholds(field: &Field<'_>, outcome: &mut Outcome) -> BTreeMap<String, String> {
    let Some(text) = field.filled() else { return BTreeMap::new() };
    values::pairs(&text, '<').unwrap_or_else(|| {
        let hint = "write signals with thresholds, as in memory.available<100Mi,nodefs.available<10%";
        outcome.say(field.malformed(&text, "is not a list of thresholds", hint));
        BTreeMap::new()
    })
}

fn grace_periods(field: &Field<'_>, outcome: &mut Outcome) -> BTreeMap<String, Duration> {
    let Some(text) = field.filled() else { return BTreeMap::new() };
    let pairs = values::pairs(&text, '=').unwrap_or_default();
    let periods: BTreeMap<_, _> = pairs
        .into_iter()
        .filter_map(|(signal, period)| Some((signal, values::go_duration(&period)?)))
        .collect();
    if periods.len() != values::parts(&text).len() {
        let hint = "write signals with durations, as in memory.available=1m30s";
        outcome.say(field.malformed(&text, "is not a list of grace periods", hint));
    }
    periods
}
