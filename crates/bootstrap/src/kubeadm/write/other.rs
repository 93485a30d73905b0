use serde_json::Value;

use super::{document, flag, list, object, patches, text, timeouts};
use crate::configuration::{Reset, Upgrade};

pub(super) fn reset(reset: &Reset) -> Value {
    document(
        "ResetConfiguration",
        [
            ("certificatesDir", text(&reset.certificates_dir)),
            ("cleanupTmpDir", flag(reset.cleanup_tmp_dir)),
            ("criSocket", reset.cri_socket.as_deref().and_then(text)),
            ("dryRun", flag(reset.dry_run)),
            ("force", flag(reset.force)),
            ("ignorePreflightErrors", list(&reset.ignore_preflight_errors)),
            ("skipPhases", list(&reset.skip_phases)),
            ("timeouts", timeouts(&reset.timeouts)),
            ("unmountFlags", list(&reset.unmount_flags)),
        ],
    )
}

pub(super) fn upgrade(upgrade: &Upgrade) -> Value {
    let given = |on: Option<bool>| on.map(Value::from);
    let version = |version: &Option<String>| version.as_deref().and_then(text);
    let (apply, node, plan) = (&upgrade.apply, &upgrade.node, &upgrade.plan);
    let apply = object([
        ("allowExperimentalUpgrades", given(apply.allow_experimental_upgrades)),
        ("allowRCUpgrades", given(apply.allow_rc_upgrades)),
        ("certificateRenewal", Some(apply.certificate_renewal.into())),
        ("dryRun", given(apply.dry_run)),
        ("etcdUpgrade", Some(apply.etcd_upgrade.into())),
        ("forceUpgrade", given(apply.force_upgrade)),
        ("ignorePreflightErrors", list(&apply.ignore_preflight_errors)),
        ("imagePullPolicy", Some(apply.image_pull_policy.as_str().into())),
        ("imagePullSerial", Some(apply.image_pull_serial.into())),
        ("kubernetesVersion", version(&apply.kubernetes_version)),
        ("patches", patches(apply.patches_directory.as_deref())),
        ("printConfig", given(apply.print_config)),
        ("skipPhases", list(&apply.skip_phases)),
    ]);
    let node = object([
        ("certificateRenewal", Some(node.certificate_renewal.into())),
        ("dryRun", given(node.dry_run)),
        ("etcdUpgrade", Some(node.etcd_upgrade.into())),
        ("ignorePreflightErrors", list(&node.ignore_preflight_errors)),
        ("imagePullPolicy", Some(node.image_pull_policy.as_str().into())),
        ("imagePullSerial", Some(node.image_pull_serial.into())),
        ("patches", patches(node.patches_directory.as_deref())),
        ("skipPhases", list(&node.skip_phases)),
    ]);
    let plan = object([
        ("allowExperimentalUpgrades", given(plan.allow_experimental_upgrades)),
        ("allowRCUpgrades", given(plan.allow_rc_upgrades)),
        ("dryRun", given(plan.dry_run)),
        ("etcdUpgrade", Some(plan.etcd_upgrade.into())),
        ("ignorePreflightErrors", list(&plan.ignore_preflight_errors)),
        ("kubernetesVersion", version(&plan.kubernetes_version)),
        ("printConfig", given(plan.print_config)),
    ]);
    let diff = object([
        ("contextLines", upgrade.diff.context_lines.map(Value::from)),
        ("kubernetesVersion", version(&upgrade.diff.kubernetes_version)),
    ]);
    document(
        "UpgradeConfiguration",
        [
            ("apply", Some(apply)),
            ("diff", Some(diff)),
            ("node", Some(node)),
            ("plan", Some(plan)),
            ("timeouts", timeouts(&upgrade.timeouts)),
        ],
    )
}
