use crate::{load_files, source::SourceFile};

const CLUSTER: &str = "\
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: { name: demo }
spec:
  provider: { name: sim }
  kubernetesVersion: 1.35.2
  zones: [a, b, c]
";
const POOL: &str = "\
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: control-plane }
spec: { role: controlPlane, machineType: sim.large, size: { fixed: 3 } }
";

fn messages(text: &str) -> Vec<String> {
    let loaded = load_files(vec![SourceFile::new("a.yaml", text)], &[]);
    loaded.diagnostics.iter().map(crate::diagnostic::render).collect()
}

#[test]
fn a_small_spec_is_fine() {
    assert_eq!(messages(&format!("{CLUSTER}{POOL}")), Vec::<String>::new());
}

#[test]
fn one_mistake_gives_one_message() {
    // The subnet's range is refused, so nothing is said about overlaps, containment, or the pool that uses it.
    let text = format!(
        "{CLUSTER}  network:\n    subnets:\n    - {{ name: x, zone: a, kind: private, cidr: 10.0.0.0 }}\n    \
         - {{ name: y, zone: a, kind: utility, cidr: 10.0.8.0/22 }}\n{POOL}"
    );
    let found = messages(&text);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("no prefix length"), "{found:?}");
}

#[test]
fn a_missing_cluster_field_does_not_hide_the_rest() {
    let text = format!("{}{POOL}", CLUSTER.replace("  kubernetesVersion: 1.35.2\n", "  sysctl: {}\n"));
    let found = messages(&text);
    assert_eq!(found.len(), 2, "{found:#?}");
}

#[test]
fn says_which_ranges_overlap() {
    let text = format!("{CLUSTER}  network: {{ cidr: 10.0.0.0/16, podCidrs: [10.0.128.0/17] }}\n{POOL}");
    let found = messages(&text);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("the pod range 10.0.128.0/17 overlaps the network 10.0.0.0/16"), "{found:?}");
}

#[test]
fn an_add_on_that_is_turned_off_under_a_wrong_name_is_told() {
    let found = messages(&format!("{CLUSTER}  addons: [{{ name: metric-server, enabled: false }}]\n{POOL}"));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("did you mean `metrics-server`?"), "{found:?}");
    let off = format!("{CLUSTER}  addons: [{{ name: metrics-server, enabled: false }}]\n{POOL}");
    assert_eq!(messages(&off), Vec::<String>::new());
}

#[test]
fn an_audit_policy_of_another_kind_is_refused_at_its_place() {
    let found = |policy: &str| messages(&format!("{CLUSTER}  audit: {{ policy: {policy} }}\n{POOL}"));
    for policy in ["{ rules: [] }", "{ apiVersion: audit.k8s.io/v1, kind: Policy, rules: [] }"] {
        assert_eq!(found(policy), Vec::<String>::new(), "{policy}");
    }
    for (policy, part) in [
        ("{ apiVersion: audit.k8s.io/v1beta1, rules: [] }", "write `apiVersion: audit.k8s.io/v1`"),
        ("{ kind: PolicyList }", "the kind `PolicyList` is not that of an audit policy"),
        ("{ kind: 7 }", "the kind `7` is not"),
        ("[]", "the audit policy is not an object"),
    ] {
        let found = found(policy);
        assert_eq!(found.len(), 1, "{policy}: {found:#?}");
        assert!(found[0].contains(part) && found[0].contains("a.yaml:8:"), "{policy}: {found:?}");
    }
}

#[test]
fn sizes_in_the_wrong_order_are_told_in_words_of_every_format() {
    let pool = POOL.replace("control-plane }", "w }").replace("controlPlane", "worker");
    let pool = pool.replace("{ fixed: 3 }", "{ bounds: { min: 5, max: 2 } }");
    let found = messages(&format!("{CLUSTER}{POOL}{pool}"));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("exchange them: the minimum is 2, and the maximum 5"), "{found:?}");
}
