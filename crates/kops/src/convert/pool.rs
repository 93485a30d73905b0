use std::collections::BTreeMap;

use slipway_spec::{
    diagnostic::{closest, code},
    model::{NodePool, Role, Size, Subnet, SubnetKind, WarmPool},
    reader::Document,
    value::KubernetesVersion,
};

use super::{Context, carry, identity, kubelet, kubelet::Kubelets, node_files, node_files::Files};
use crate::{code as kops_code, defaults, field::Field, fields::Kind, outcome::Outcome};

mod labels;
mod machine;
mod rollout;
mod volumes;

/// The settings that all pools inherit from their cluster.
pub(super) struct Shared<'a> {
    pub(super) version: &'a KubernetesVersion,
    pub(super) subnets: &'a [Subnet],
    pub(super) kubelet: &'a Kubelets,
    pub(super) files: &'a Files,
    pub(super) cloud_labels: &'a BTreeMap<String, String>,
    pub(super) sysctls: &'a BTreeMap<String, String>,
}

/// The pool of an instance group; `None` without a name.
pub(super) fn read(
    context: &Context<'_>,
    shared: &Shared<'_>,
    document: &Document,
    outcome: &mut Outcome,
) -> Option<NodePool> {
    let root = Field::root(document);
    let spec = root.at("spec");
    let Some(name) = root.at("metadata.name").filled() else {
        let missing =
            root.at("metadata.name").error(code::MISSING_FIELD, "an InstanceGroup has no metadata.name");
        outcome.say(missing.hint("write one, as in name: nodes"));
        outcome.refused.push("pools".to_owned());
        return None;
    };
    let path = format!("pools[{name}]");
    outcome.wrote(&path, &root);
    outcome.wrote(&format!("{path}.name"), &root.at("metadata.name"));
    record(&path, &spec, outcome);
    let role = required_role(&spec, &name, &path, outcome);
    let subnets = subnets(context, shared, &spec, &name, role, outcome);
    let own = kubelet::read(
        context,
        Kind::InstanceGroup,
        &spec.at("kubelet"),
        "spec.kubelet",
        &format!("{path}.kubelet"),
        outcome,
    );
    let own_files = node_files::own(&spec, role, outcome);
    let mut sysctls = shared.sysctls.clone();
    sysctls.extend(identity::sysctls(&spec.at("sysctlParameters"), outcome));
    let mut cloud_labels = shared.cloud_labels.clone();
    cloud_labels.extend(spec.at("cloudLabels").text_map());
    let mut packages = context.spec.at("packages").texts();
    packages.extend(spec.at("packages").texts());
    let machine_type = machine_type(context, &spec, &name, role, outcome);
    let image = spec.at("image").filled();
    let mixed_instances = machine::mixed(&spec, machine_type.as_deref(), outcome);
    let spot = machine::spot(&spec);
    let kind = |name: &String| shared.subnets.iter().find(|subnet| subnet.name == *name);
    let mut zones = spec.at("zones").texts();
    if zones.is_empty() {
        for zone in subnets.iter().filter_map(kind).map(|subnet| &subnet.zone) {
            if !zone.is_empty() && !zones.contains(zone) {
                zones.push(zone.clone());
            }
        }
    }
    let private = subnets.iter().filter_map(kind).any(|subnet| subnet.kind == SubnetKind::Private);
    let labels = labels::read(context, &spec, role);
    Some(NodePool {
        labels: identity::own_labels(&root.at("metadata.labels")),
        role,
        size: size(&spec, role),
        kubernetes_version: shared.version.clone(),
        architecture: machine::architecture(context, machine_type.as_deref(), image.as_deref()),
        machine_type,
        image,
        warm_pool: warm_pool(context, &spec, role, spot.is_some() || mixed_instances.is_some(), outcome),
        mixed_instances,
        spot,
        root_volume: volumes::root(context, &spec, role, outcome),
        volumes: volumes::more(context, &spec, &path, outcome),
        public_ip: public_ip(&spec, private, outcome),
        subnets,
        zones,
        additional_security_groups: spec.at("additionalSecurityGroups").texts(),
        node_labels: labels.set_by_kubelet,
        taints: labels::taints(context, &spec, role, outcome),
        kubelet: shared.kubelet.of(role, &own),
        rollout: rollout::read(context, &spec, role, outcome),
        hosts: None,
        user_data: machine::user_data(&spec, outcome),
        packages,
        sysctls,
        node_files: shared.files.of(role, own_files),
        cloud_labels,
        provider_config: provider_config(context, &root, labels.set_from_outside, role, &path, outcome),
        name,
    })
}

/// The kind of machine; on AWS kOps has one for a group that names none.
fn machine_type(
    context: &Context<'_>,
    spec: &Field<'_>,
    name: &str,
    role: Role,
    outcome: &mut Outcome,
) -> Option<String> {
    let field = spec.at("machineType");
    if field.filled().is_some() || !context.is_aws() {
        return field.filled();
    }
    let assumed = defaults::machine_type(role);
    outcome.say(Context::assumed(
        &field,
        format!("the instance group {name} names no machineType; {assumed} is assumed"),
        "write the one that its machines have",
    ));
    Some(assumed.to_owned())
}

fn record(path: &str, spec: &Field<'_>, outcome: &mut Outcome) {
    for (kops, model) in [
        ("role", "role"),
        ("minSize", "size.bounds"),
        ("maxSize", "size"),
        ("machineType", "machineType"),
        ("image", "image"),
        ("mixedInstancesPolicy", "mixedInstances"),
        ("mixedInstancesPolicy.instances", "mixedInstances.machineTypes"),
        ("mixedInstancesPolicy.onDemandBase", "mixedInstances.onDemandBase"),
        ("mixedInstancesPolicy.onDemandAboveBase", "mixedInstances.onDemandPercentageAboveBase"),
        ("mixedInstancesPolicy.spotInstancePools", "mixedInstances.spotPools"),
        ("maxPrice", "spot.maxPrice"),
        ("rootVolumeSize", "rootVolume.sizeGiB"),
        ("rootVolumeType", "rootVolume.type"),
        ("rootVolumeIops", "rootVolume.iops"),
        ("rootVolumeThroughput", "rootVolume.throughput"),
        ("rootVolumeEncryption", "rootVolume.encrypted"),
        ("rootVolumeEncryptionKey", "rootVolume.key"),
        ("volumes", "volumes"),
        ("subnets", "subnets"),
        ("zones", "zones"),
        ("associatePublicIp", "publicIp"),
        ("additionalSecurityGroups", "additionalSecurityGroups"),
        ("nodeLabels", "nodeLabels"),
        ("taints", "taints"),
        ("kubelet", "kubelet"),
        ("rollingUpdate", "rollout"),
        ("rollingUpdate.maxSurge", "rollout.maxSurge"),
        ("rollingUpdate.maxUnavailable", "rollout.maxUnavailable"),
        ("warmPool", "warmPool"),
        ("additionalUserData", "userData"),
        ("packages", "packages"),
        ("sysctlParameters", "sysctls"),
        ("fileAssets", "nodeFiles.files"),
        ("hooks", "nodeFiles.hooks"),
        ("cloudLabels", "cloudLabels"),
    ] {
        outcome.wrote(&format!("{path}.{model}"), &spec.at(kops));
    }
    for (label, field) in spec.at("nodeLabels").entries() {
        outcome.wrote(&slipway_spec::reader::join(&format!("{path}.nodeLabels"), label), &field);
    }
    for list in ["subnets", "zones", "taints", "volumes"] {
        for (index, item) in spec.at(list).items().iter().enumerate() {
            outcome.wrote(&format!("{path}.{list}[{index}]"), item);
        }
    }
}

/// kOps' settings for the provider, with the labels that the kubelet may not set itself.
fn provider_config(
    context: &Context<'_>,
    root: &Field<'_>,
    labels: BTreeMap<String, String>,
    role: Role,
    path: &str,
    outcome: &mut Outcome,
) -> serde_json::Value {
    let path = format!("{path}.providerConfig");
    let mut config = carry::kops(context, Kind::InstanceGroup, root, &path, outcome);
    let mut put = |name: &str, value: serde_json::Value| {
        if config.is_null() {
            config = serde_json::json!({ "kops": {} });
        }
        if let Some(kops) = config.get_mut("kops").and_then(serde_json::Value::as_object_mut) {
            kops.insert(name.to_owned(), value);
        }
    };
    if !labels.is_empty() {
        outcome.wrote(&format!("{path}.nodeLabels"), &root.at("spec.nodeLabels"));
        put(
            "nodeLabels",
            labels.into_iter().map(|(name, value)| (name, serde_json::Value::from(value))).collect(),
        );
    }
    // A field that the group's warm pool does not set has the value of the cluster's warm pool.
    let (own, shared) = (root.at("spec.warmPool"), context.spec.at("warmPool"));
    if matches!(role, Role::Worker | Role::ApiServer) && own.at("maxSize").number() != Some(0_u32) {
        let mut kept = serde_json::Map::new();
        for leaf in ["additionalImages", "lifecycleHookTimeout"] {
            let field = if own.at(leaf).is_given() { own.at(leaf) } else { shared.at(leaf) };
            if field.is_given() {
                outcome.wrote(&format!("{path}.warmPool.{leaf}"), &field);
                kept.insert(leaf.to_owned(), field.json());
            }
        }
        if !kept.is_empty() {
            put("warmPool", kept.into());
        }
    }
    config
}

fn required_role(spec: &Field<'_>, name: &str, path: &str, outcome: &mut Outcome) -> Role {
    let field = spec.at("role");
    let found = if field.filled().is_some() {
        role(&field, outcome)
    } else {
        let missing = field.error(code::MISSING_FIELD, format!("the instance group {name} has no role"));
        outcome.say(missing.hint("write role: Master, Node, Bastion or APIServer"));
        None
    };
    if found.is_none() {
        outcome.refused.extend([format!("{path}.role"), "pools".to_owned()]);
    }
    found.unwrap_or_default()
}

/// A role by kOps' names of it, old and new.
pub(super) fn role(field: &Field<'_>, outcome: &mut Outcome) -> Option<Role> {
    let text = field.filled()?;
    match text.to_ascii_lowercase().as_str() {
        "master" | "controlplane" | "control-plane" => Some(Role::ControlPlane),
        "node" => Some(Role::Worker),
        "bastion" => Some(Role::Bastion),
        "apiserver" => Some(Role::ApiServer),
        "etcd" | "scheduler" | "kubecontrollermanager" => {
            let refused = field
                .error(kops_code::REFUSED, format!("{} is {text}, an experiment of kOps", field.path()))
                .hint("write role: Master; a control plane is not divided further than APIServer");
            outcome.say(refused);
            None
        }
        _ => {
            let hint = match closest(&text, ["Master", "ControlPlane", "Node", "Bastion", "APIServer"]) {
                Some(meant) => format!("did you mean {meant}?"),
                None => "write Master, Node, Bastion or APIServer".to_owned(),
            };
            let unknown = field.error(code::UNKNOWN_VALUE, format!("{} is {text:?}", field.path()));
            outcome.say(unknown.hint(hint));
            None
        }
    }
}

/// The subnets that the group names; without any, those of its zones that are there for its role, or all of the cluster's
/// that are.
fn subnets(
    context: &Context<'_>,
    shared: &Shared<'_>,
    spec: &Field<'_>,
    name: &str,
    role: Role,
    outcome: &mut Outcome,
) -> Vec<String> {
    let field = spec.at("subnets");
    let zones = spec.at("zones").texts();
    let named = field.texts();
    if !named.is_empty() {
        return named;
    }
    if zones.is_empty() {
        let found = standard_subnets(context, role);
        if found.is_empty() {
            let missing = field
                .error(code::MISSING_FIELD, format!("the instance group {name} names no subnets"))
                .hint("list the names of the cluster's subnets that it lives in");
            outcome.refuse(&format!("pools[{name}].subnets"), missing);
        } else {
            outcome.say(Context::assumed(
                &field,
                format!("the instance group {name} names no subnets; {} are assumed", found.join(", ")),
                "list the names of the cluster's subnets that it lives in",
            ));
        }
        return found;
    }
    let kinds = match role {
        Role::Bastion => [SubnetKind::Utility, SubnetKind::Public],
        _ => [SubnetKind::Private, SubnetKind::Public],
    };
    let of = |kind: SubnetKind| -> Vec<String> {
        let there =
            shared.subnets.iter().filter(|subnet| subnet.kind == kind && zones.contains(&subnet.zone));
        there.map(|subnet| subnet.name.clone()).collect()
    };
    kinds.into_iter().map(of).find(|found| !found.is_empty()).unwrap_or_default()
}

/// The subnets of a group that names none, as kOps chooses them: none for control planes, which must name theirs; for others
/// all that are neither there for load balancers nor for control planes, or else all but those for load balancers. API servers
/// of an IPv6 cluster need IPv4 addresses too.
fn standard_subnets(context: &Context<'_>, role: Role) -> Vec<String> {
    let fields = context.spec.at("subnets").items();
    let but = |kinds: &[&str]| -> Vec<String> {
        let is = |field: &Field<'_>| {
            let kind = field.at("type").filled().unwrap_or_default();
            kinds.iter().any(|other| kind.eq_ignore_ascii_case(other))
        };
        fields.iter().filter(|field| !is(field)).filter_map(|field| field.at("name").filled()).collect()
    };
    match role {
        Role::ControlPlane => Vec::new(),
        Role::ApiServer if context.is_ipv6() => but(&["Private", "Utility"]),
        _ => match but(&["DualStack", "Utility"]) {
            none if none.is_empty() => but(&["Utility"]),
            found => found,
        },
    }
}

fn size(spec: &Field<'_>, role: Role) -> Size {
    let standard = defaults::size(role);
    let (least, most): (Option<u32>, Option<u32>) =
        (spec.at("minSize").number(), spec.at("maxSize").number());
    let (min, max) = match (least, most) {
        (Some(min), Some(max)) => (min, max),
        (Some(min), None) => (min, standard.max(min)),
        (None, Some(max)) => (standard.min(max), max),
        (None, None) => (standard, standard),
    };
    if min == max { Size::Fixed(min) } else { Size::Bounds { min, max } }
}

/// In private subnets nodes have no public addresses, whatever the group says; elsewhere they have one unless it says no.
fn public_ip(spec: &Field<'_>, private: bool, outcome: &mut Outcome) -> bool {
    let field = spec.at("associatePublicIp");
    if private {
        if field.boolean() == Some(true) {
            let note = field
                .note(
                    kops_code::HARMLESS,
                    "spec.associatePublicIp has no effect: the group lives in private subnets",
                )
                .hint(crate::code::HARMLESS_HINT);
            outcome.say(note);
        }
        return false;
    }
    field.boolean().unwrap_or(true)
}

/// The cluster's warm pool for workers and API servers, with what the group's own says in its place; none for machines that
/// the cloud may take back. A group can neither take the cluster's hook away nor its least size.
fn warm_pool(
    context: &Context<'_>,
    spec: &Field<'_>,
    role: Role,
    mixed: bool,
    outcome: &mut Outcome,
) -> Option<WarmPool> {
    let (own, shared) = (spec.at("warmPool"), context.spec.at("warmPool"));
    let field = |leaf: &str| if own.at(leaf).is_given() { own.at(leaf) } else { shared.at(leaf) };
    let max_size: Option<u32> = field("maxSize").number();
    if !(own.is_given() || shared.is_given()) || max_size == Some(0) {
        return None;
    }
    if !matches!(role, Role::Worker | Role::ApiServer) || mixed {
        if own.is_given() {
            let note = own
                .note(
                    kops_code::HARMLESS,
                    "spec.warmPool has no effect: only workers and API servers on demand have one",
                )
                .hint(crate::code::HARMLESS_HINT);
            outcome.say(note);
        }
        return None;
    }
    let least = |section: &Field<'_>| section.at("minSize").number().filter(|least| *least != 0);
    let hooked = |section: &Field<'_>| section.at("enableLifecycleHook").boolean() == Some(true);
    Some(WarmPool {
        min_size: least(&own).or_else(|| least(&shared)).unwrap_or(0),
        max_size,
        lifecycle_hook: hooked(&own) || hooked(&shared),
    })
}
