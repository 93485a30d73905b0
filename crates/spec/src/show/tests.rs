use super::*;
use crate::{load, load_files, source::SourceFile};

fn reload(text: &str) -> Loaded {
    load_files(vec![SourceFile::new("full.yaml", text)], &[])
}

#[test]
fn marks_defaults_and_keeps_what_was_written() {
    let text = "\
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: { name: demo }
spec:
  provider: { name: sim }
  kubernetesVersion: 1.35.2
  zones: [a]
  nodeFiles:
    files:
    - { name: motd, path: /etc/motd, content: \"two\\n\\n  lines: here\\n\" }
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: control-plane }
spec: { role: controlPlane, machineType: sim.large, nodeLabels: { example.com/tier: \"1\" } }
";
    let loaded = reload(text);
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    let full = full_yaml(&loaded).unwrap();
    assert!(full.contains("  kubernetesVersion: 1.35.2\n"), "{full}");
    assert!(full.contains("    topology: private # default\n"), "{full}");
    assert!(full.contains("    example.com/tier: '1'\n"), "{full}");
    let again = reload(&full);
    assert!(again.diagnostics.is_empty(), "{full}\n{:#?}", again.diagnostics);
    assert_eq!(again.clusters, loaded.clusters);
}

#[test]
fn every_example_survives_the_way_round() {
    let specs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../specs");
    let mut seen = 0;
    for entry in std::fs::read_dir(specs).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() || path.ends_with("schema") {
            continue;
        }
        let loaded = load(std::slice::from_ref(&path));
        assert!(loaded.diagnostics.is_empty(), "{}", crate::diagnostic::render_all(&loaded.diagnostics));
        let full = full_yaml(&loaded).unwrap();
        let again = reload(&full);
        assert!(again.diagnostics.is_empty(), "{}", crate::diagnostic::render_all(&again.diagnostics));
        assert_eq!(again.clusters, loaded.clusters, "{}", path.display());
        let third = full_yaml(&again).unwrap();
        assert!(!third.contains("# default"), "{third}");
        let written = written_yaml(&loaded).unwrap();
        // Beside other clusters, pools have to name theirs. What they inherit from the rollout of their cluster counts as default.
        let needed = ["cluster: ", "timeout: ", "settle: ", "budgets: ", "onBlocked: "];
        let is_needed = |line: &str| {
            !line.ends_with("# default") || needed.iter().any(|name| line.trim_start().starts_with(name))
        };
        assert!(written.lines().all(is_needed), "{}\n{written}", path.display());
        let again = reload(&written);
        assert!(again.diagnostics.is_empty(), "{}", crate::diagnostic::render_all(&again.diagnostics));
        assert_eq!(again.clusters, loaded.clusters, "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 5, "{seen} examples");
}

const TWO: &str = "\
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: { name: one }
spec:
  provider: { name: sim }
  kubernetesVersion: 1.35.2
  zones: [a]
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: control-plane }
spec:
  cluster: one
  role: controlPlane
  machineType: sim.large
  volumes:
  - sizeGiB: 10
    device: /dev/xvdb
  - sizeGiB: 20
    device: /dev/xvdc
---
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: { name: two }
spec:
  provider: { name: sim }
  kubernetesVersion: 1.35.2
  zones: [a]
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: control-plane }
spec: { cluster: two, role: controlPlane, machineType: sim.large }
";

#[test]
fn clusters_without_defaults_name_all_that_they_need() {
    let loaded = reload(TWO);
    assert!(loaded.is_valid(), "{:?}", loaded.diagnostics);
    let written = written_yaml(&loaded).unwrap();
    assert!(
        written.contains("  volumes:\n  - device: /dev/xvdb\n    sizeGiB: 10\n  - device: /dev/xvdc\n"),
        "{written}"
    );
    assert!(!written.contains("topology"), "{written}");
    let again = reload(&written);
    assert!(again.is_valid(), "{written}\n{:#?}", again.diagnostics);
    assert_eq!(again.clusters, loaded.clusters);
}

#[test]
fn defaults_of_another_format_stay_and_are_marked() {
    let mut loaded = reload(TWO);
    // As in a cluster of kOps.
    loaded.clusters[0].addons.retain(|addon| addon.name != "metrics-server");
    let written = written_yaml(&loaded).unwrap();
    assert!(written.contains("enabled: false # default\n"), "{written}");
    assert!(!written.contains("topology"), "{written}");
    let again = reload(&written);
    assert!(again.is_valid(), "{written}\n{:#?}", again.diagnostics);
    let addon = again.clusters[0].addons.iter().find(|addon| addon.name == "metrics-server").unwrap();
    assert!(!addon.enabled);
}

#[test]
fn fields_with_their_defaults_are_known() {
    let loaded = reload(TWO);
    let fields = [
        "labels",
        "network.topology",
        "pools[control-plane].zones",
        "pools[control-plane].volumes",
        "pools[control-plane].machineType",
        "kubernetesVersion",
        "pools[none].zones",
    ];
    let found = are_defaults(&loaded.clusters[0], &fields).unwrap();
    assert_eq!(found, [true, true, true, false, false, false, false]);
}

#[test]
fn brief_documents_of_several_clusters_belong_together() {
    let loaded = reload(TWO);
    let brief = |names_cluster: bool| {
        let of = |cluster: &Cluster| {
            brief_yaml(cluster, loaded.sources.cluster(&cluster.name).unwrap(), "default", names_cluster)
                .unwrap()
        };
        loaded.clusters.iter().map(of).collect::<Vec<String>>().join("---\n")
    };
    let again = reload(&brief(true));
    assert!(again.is_valid(), "{:#?}", again.diagnostics);
    assert_eq!(again.clusters, loaded.clusters);
    assert!(!reload(&brief(false)).is_valid());
}

#[test]
fn an_even_number_of_control_planes_is_shown_as_a_spec_that_loads() {
    let text = "\
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: { name: demo }
spec:
  provider: { name: sim }
  kubernetesVersion: 1.35.2
  zones: [a]
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: control-plane }
spec: { role: controlPlane, machineType: sim.large, size: { fixed: 2 } }
";
    let loaded = reload(text);
    assert!(loaded.is_valid(), "{:?}", loaded.diagnostics);
    let full = full_yaml(&loaded).unwrap();
    let again = reload(&full);
    assert!(again.is_valid(), "{full}\n{:#?}", again.diagnostics);
    assert_eq!(again.clusters, loaded.clusters);
    // Another even number is not the default.
    let uneven = full.replace("fixed: 2", "fixed: 3");
    assert!(!reload(&uneven).is_valid(), "{uneven}");
}

#[test]
fn an_addon_of_the_profile_that_a_cluster_has_not_is_shown_as_turned_off() {
    let text = "\
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: { name: demo }
spec:
  provider: { name: sim }
  kubernetesVersion: 1.35.2
  zones: [a]
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: control-plane }
spec: { role: controlPlane, machineType: sim.large }
";
    let mut loaded = reload(text);
    // As in a cluster of kOps.
    loaded.clusters[0].addons.retain(|addon| addon.name != "metrics-server");
    let again = reload(&full_yaml(&loaded).unwrap());
    let of = |name: &str| again.clusters[0].addons.iter().find(|addon| addon.name == name).unwrap();
    assert!(!of("metrics-server").enabled);
    assert!(of("coredns").enabled);
}

#[test]
fn what_has_no_value_in_it_is_written_as_empty() {
    let text = "\
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: { name: demo }
spec:
  provider: { name: sim, config: { items: [{ a: null }, { b: 1 }], one: { c: ~ } } }
  kubernetesVersion: 1.35.2
  zones: [a]
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: control-plane }
spec: { role: controlPlane, machineType: sim.large }
";
    let full = full_yaml(&reload(text)).unwrap();
    assert!(full.contains("      items:\n      - {}\n      - b: 1\n      one: {}\n"), "{full}");
    assert!(reload(&full).diagnostics.is_empty(), "{full}");
}
