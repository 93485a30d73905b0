use super::{
    context::{Context, error},
    names::dns_name,
};
use crate::{diagnostic::code::LABELS, model::NodePool, reader::join};

/// Prefixes that Kubernetes keeps for itself; kubelets may not set them (KEP-279, NodeRestriction).
const RESERVED: [&str; 2] = ["kubernetes.io", "k8s.io"];
/// Prefixes below the reserved ones that are free.
const FREE: [&str; 2] = ["node.kubernetes.io", "kubelet.kubernetes.io"];
/// Taints that a cluster's own parts set.
const OWN_TAINTS: [&str; 1] = ["node.kubernetes.io"];

/// Checks that labels and taints have the form that Kubernetes requires, and do not use its reserved names.
pub(super) fn check(context: &mut Context<'_>) {
    let cluster = context.cluster;
    for (path, labels) in [("labels", &cluster.labels)] {
        for (key, value) in labels {
            form(context, path, key, value);
        }
    }
    for pool in &cluster.pools {
        let path = format!("pools[{}]", pool.name);
        for (key, value) in &pool.labels {
            form(context, &format!("{path}.labels"), key, value);
        }
        for (key, value) in &pool.node_labels {
            let list = format!("{path}.nodeLabels");
            form(context, &list, key, value);
            reserved(context, &list, key);
        }
        taints(context, pool, &path);
    }
    for host in &cluster.hosts {
        let path = format!("hosts[{}]", host.name);
        let list = format!("{path}.nodeLabels");
        for (key, value) in &host.node_labels {
            form(context, &list, key, value);
            reserved(context, &list, key);
        }
        for (name, value) in [("zone", &host.zone), ("region", &host.region)] {
            // It becomes a label of the node.
            if let Some((value, problem)) =
                value.as_ref().and_then(|value| Some((value, value_problem(value)?)))
            {
                let complaint = error(LABELS, format!("the {name} `{value}` {problem}"), VALUE);
                context.at(&format!("{path}.{name}"), complaint);
            }
        }
    }
}

fn reserved(context: &mut Context<'_>, list: &str, key: &str) {
    let Some((prefix, name)) = key.split_once('/') else { return };
    let ends = |domain: &&str| prefix == *domain || prefix.ends_with(&format!(".{domain}"));
    if !RESERVED.iter().any(&ends) || FREE.iter().any(ends) {
        return;
    }
    let hint = match prefix {
        "node-role.kubernetes.io" => {
            "roles come from the pool's `role`; for a label of your own use `node.kubernetes.io/…` or your domain"
                .to_owned()
        }
        "topology.kubernetes.io" => {
            "it says where the machine stands: write `zone` and `region` in its Host document; a cloud says it itself"
                .to_owned()
        }
        _ => format!("kubelets may not set it; use a prefix of your own, as in example.com/{name}"),
    };
    let complaint = error(LABELS, format!("the label `{key}` is reserved by Kubernetes"), hint);
    context.at_key(&join(list, key), complaint);
}

fn taints(context: &mut Context<'_>, pool: &NodePool, path: &str) {
    for (index, taint) in pool.taints.iter().enumerate() {
        let place = format!("{path}.taints[{index}]");
        if let Some(problem) = key_problem(&taint.key) {
            let complaint = error(LABELS, format!("the taint key `{}` {problem}", taint.key), KEY);
            context.at(&format!("{place}.key"), complaint);
        }
        if let Some(problem) = value_problem(&taint.value) {
            let complaint = error(LABELS, format!("the taint value `{}` {problem}", taint.value), VALUE);
            context.at(&format!("{place}.value"), complaint);
        }
        let own = taint.key.split_once('/').is_some_and(|(prefix, _)| OWN_TAINTS.contains(&prefix));
        if own {
            let complaint = error(
                LABELS,
                format!("the taint `{taint}` is set by Kubernetes itself"),
                "use a key of your own, as in example.com/dedicated",
            );
            context.at(&format!("{place}.key"), complaint);
        }
        let twice = pool.taints[..index]
            .iter()
            .any(|earlier| earlier.key == taint.key && earlier.effect == taint.effect);
        if twice {
            let complaint = error(
                LABELS,
                format!(
                    "the pool `{}` has two taints `{}` with the effect {:?}",
                    pool.name, taint.key, taint.effect
                ),
                "a node has one taint of a key and an effect: remove one of them",
            );
            context.at(&place, complaint);
        }
    }
}

const KEY: &str = "a key is at most 63 letters, digits, `-`, `_` and `.`, perhaps after a DNS name and a `/`, as in example.com/tier";
const VALUE: &str =
    "a value is at most 63 letters, digits, `-`, `_` and `.`, and begins and ends with a letter or a digit";

fn form(context: &mut Context<'_>, list: &str, key: &str, value: &str) {
    let path = join(list, key);
    if let Some(problem) = key_problem(key) {
        context.at_key(&path, error(LABELS, format!("the label key `{key}` {problem}"), KEY));
    }
    if let Some(problem) = value_problem(value) {
        context
            .at(&path, error(LABELS, format!("the value `{value}` of the label `{key}` {problem}"), VALUE));
    }
}

fn key_problem(key: &str) -> Option<&'static str> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if prefix.is_some_and(|prefix| dns_name(prefix).is_some()) {
        Some("has a prefix that is not a DNS name")
    } else if name.is_empty() {
        Some("has no name")
    } else {
        value_problem(name)
    }
}

fn value_problem(value: &str) -> Option<&'static str> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric();
    let bytes = value.as_bytes();
    if bytes.len() > 63 {
        Some("is longer than 63 characters")
    } else if !bytes.iter().all(|byte| plain(byte) || b"-_.".contains(byte)) {
        Some("has characters that it cannot have")
    } else if !bytes.first().is_none_or(plain) || !bytes.last().is_none_or(plain) {
        Some("begins or ends with a character that is neither a letter nor a digit")
    } else {
        None
    }
}
