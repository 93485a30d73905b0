//! Labels that a kubelet may give its own node.

/// Prefixes below which a kubelet may name its node's labels.
const PREFIXES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/// Further labels of Kubernetes that a kubelet may set.
const KNOWN: [&str; 12] = [
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/exclude-from-external-load-balancers",
];

/// Whether the API server lets a kubelet give its own node a label (the kubelet's `--node-labels`, and the admission plugin
/// `NodeRestriction`). With any other label of Kubernetes the kubelet does not start.
pub(super) fn is_permitted(label: &str) -> bool {
    let Some((namespace, _)) = label.split_once('/') else { return true };
    let is_below = |domain: &str| {
        namespace.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if !is_below("kubernetes.io") && !is_below("k8s.io") {
        return true;
    }
    PREFIXES.iter().any(|prefix| is_below(prefix)) || KNOWN.contains(&label)
}

#[cfg(test)]
mod tests {
    use super::is_permitted;

    #[test]
    fn a_kubelet_does_not_give_itself_a_role() {
        for label in ["tier", "example.com/tier", "node.kubernetes.io/a", "topology.kubernetes.io/zone"] {
            assert!(is_permitted(label), "{label}");
        }
        for label in
            ["node-role.kubernetes.io/node", "kops.k8s.io/instancegroup", "node-restriction.kubernetes.io/a"]
        {
            assert!(!is_permitted(label), "{label}");
        }
        assert!(is_permitted("notkubernetes.io/a"));
    }
}
