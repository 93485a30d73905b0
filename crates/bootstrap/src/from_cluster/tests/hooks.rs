//! Units of the user on machines.

use slipway_cluster_input::{Hook, HookTiming};

use super::super::hooks_without_effect;
use super::*;
use crate::expand::InitSystem;

fn hook(name: &str, timing: HookTiming) -> Hook {
    let content = "[Service]\nType=oneshot\nExecStart=/bin/true\n".to_owned();
    Hook { name: name.to_owned(), content, timing, enabled: true }
}

#[test]
fn hooks_run_before_and_after_the_kubelet() {
    let mut cluster = cluster("elected: {}");
    let off = Hook { enabled: false, ..hook("off.service", HookTiming::BeforeKubelet) };
    cluster.pools[0].node_files.hooks = vec![
        hook("early.service", HookTiming::BeforeKubelet),
        hook("late.service", HookTiming::AfterKubelet),
        off,
    ];
    let resources = expand(&cluster, &placement(3), &[]).unwrap().resources;
    assert!(stands_on(&resources, "service.cp-1/kubelet").contains("service.cp-1/early"));
    assert!(!stands_on(&resources, "service.cp-1/kubelet").contains("service.cp-1/late"));
    assert!(stands_on(&resources, "service.cp-1/late").contains("service.cp-1/kubelet"));
    assert!(resources.iter().all(|desired| !desired.address.name().ends_with("/off")));
    let early = find(&resources, "service.cp-1/early");
    let unit = early.attributes.get("unit").unwrap().to_plain_text();
    assert!(unit.contains("Before=kubelet.service") && unit.contains("RemainAfterExit=yes"), "{unit}");
    // A changed hook comes to one machine first, as a changed kubelet does.
    assert_eq!(early.lifecycle.turn, find(&resources, "service.cp-1/kubelet").lifecycle.turn);
}

#[test]
fn hosts_without_systemd_are_named() {
    let mut cluster = cluster("elected: {}");
    let mut placement = placement(3);
    placement.machines[1].facts.init_system = InitSystem::None;
    expand(&cluster, &placement, &[]).unwrap();
    cluster.pools[0].node_files.hooks = vec![hook("early.service", HookTiming::BeforeKubelet)];
    let refused = expand(&cluster, &placement, &[]).unwrap_err();
    assert_eq!(refused.code(), "CLUSTER0005");
    assert!(refused.to_string().ends_with("do not have: cp-1"), "{refused}");
}

#[test]
fn hooks_that_hosts_cannot_run_are_refused() {
    let mut cluster = cluster("elected: {}");
    let lost = hook("lost.service", HookTiming::BeforeKubelet);
    let content = lost.content.replace("ExecStart", "RemainAfterExit=no\nExecStart");
    let shared =
        vec![hook("tune.timer", HookTiming::BeforeKubelet), hook("tune.service", HookTiming::AfterKubelet)];
    let own = vec![hook("kubelet.service", HookTiming::BeforeKubelet), Hook { content, ..lost }];
    cluster.pools[0].node_files.hooks = [shared.clone(), own].concat();
    cluster.node_files.hooks = shared;
    let fields: Vec<String> = hooks_without_effect(&cluster).into_iter().map(|unused| unused.field).collect();
    assert_eq!(
        fields,
        [
            "nodeFiles.hooks[tune.timer].name",
            "pools[control-plane].nodeFiles.hooks[kubelet.service].name",
            "pools[control-plane].nodeFiles.hooks[lost.service].content",
        ]
    );
}

#[test]
fn names_that_systemd_takes_for_another_unit_are_refused() {
    let mut cluster = cluster("elected: {}");
    let early = |name: &str| hook(name, HookTiming::BeforeKubelet);
    let names =
        ["kubelet.service.service", "tune.timer.service", "twice", "twice.service", "my.tool.service"];
    cluster.pools[0].node_files.hooks = names.map(early).to_vec();
    let fields: Vec<String> = hooks_without_effect(&cluster).into_iter().map(|unused| unused.field).collect();
    let field = |name: &str| format!("pools[control-plane].nodeFiles.hooks[{name}].name");
    assert_eq!(
        fields,
        ["kubelet.service.service", "tune.timer.service", "twice", "twice.service"].map(field)
    );
}

#[test]
fn packages_are_installed_before_hooks_and_the_kubelet() {
    let mut cluster = cluster("elected: {}");
    cluster.pools[0].packages = vec!["nfs-common".to_owned(), "htop".to_owned()];
    cluster.pools[0].node_files.hooks = vec![hook("late.service", HookTiming::AfterKubelet)];
    let resources = expand(&cluster, &placement(3), &[]).unwrap().resources;
    let packages = "service.cp-1/slipway-packages";
    let unit = find(&resources, packages).attributes.get("unit").unwrap().to_plain_text();
    assert!(unit.contains("--no-install-recommends install nfs-common htop;"), "{unit}");
    assert!(unit.contains("RemainAfterExit=yes") && unit.contains("Before=kubelet.service"), "{unit}");
    for later in ["service.cp-1/kubelet", "service.cp-1/late"] {
        assert!(stands_on(&resources, later).contains(packages), "{later}");
    }
    cluster.pools[0].packages = vec!["a;reboot".to_owned()];
    let refused: Vec<String> =
        hooks_without_effect(&cluster).into_iter().map(|unused| unused.field).collect();
    assert_eq!(refused, ["pools[control-plane].packages"]);
    cluster.pools[0].node_files.hooks.clear();
    cluster.pools[0].packages = vec!["htop".to_owned()];
    let mut placement = placement(3);
    placement.machines[1].facts.init_system = InitSystem::None;
    assert_eq!(expand(&cluster, &placement, &[]).unwrap_err().code(), "CLUSTER0005");
}
