use slipway_spec::{diagnostic::Diagnostic, reader::Document};

use super::{context::Context, node, v1beta4};
use crate::configuration::{Upgrade, UpgradeApply, UpgradeDiff, UpgradeNode, UpgradePlan};

/// Reads how a cluster is upgraded.
pub(super) fn read(document: &Document, diagnostics: &mut Vec<Diagnostic>) -> Upgrade {
    let (mut context, given) = Context::read::<v1beta4::UpgradeConfiguration>(Some(document), diagnostics);
    let context = &mut context;
    let text = |text: String| Some(text).filter(|text| !text.is_empty());
    let (apply, node, plan) = (given.apply, given.node, given.plan);
    for (name, names) in [
        ("apply", &apply.ignore_preflight_errors),
        ("node", &node.ignore_preflight_errors),
        ("plan", &plan.ignore_preflight_errors),
    ] {
        node::ignored_errors(context, &format!("{name}/ignorePreflightErrors"), names);
    }
    Upgrade {
        apply: UpgradeApply {
            kubernetes_version: text(apply.kubernetes_version),
            allow_experimental_upgrades: apply.allow_experimental_upgrades,
            allow_rc_upgrades: apply.allow_rc_upgrades,
            certificate_renewal: apply.certificate_renewal.unwrap_or(true),
            dry_run: apply.dry_run,
            etcd_upgrade: apply.etcd_upgrade.unwrap_or(true),
            force_upgrade: apply.force_upgrade,
            ignore_preflight_errors: apply.ignore_preflight_errors,
            patches_directory: patches(context, "apply", apply.patches),
            print_config: apply.print_config,
            skip_phases: apply.skip_phases,
            image_pull_policy: apply.image_pull_policy.unwrap_or_default(),
            image_pull_serial: apply.image_pull_serial.unwrap_or(true),
        },
        diff: UpgradeDiff {
            kubernetes_version: text(given.diff.kubernetes_version),
            context_lines: Some(given.diff.context_lines).filter(|lines| *lines > 0),
        },
        node: UpgradeNode {
            certificate_renewal: node.certificate_renewal.unwrap_or(true),
            dry_run: node.dry_run,
            etcd_upgrade: node.etcd_upgrade.unwrap_or(true),
            ignore_preflight_errors: node.ignore_preflight_errors,
            skip_phases: node.skip_phases,
            patches_directory: patches(context, "node", node.patches),
            image_pull_policy: node.image_pull_policy.unwrap_or_default(),
            image_pull_serial: node.image_pull_serial.unwrap_or(true),
        },
        plan: UpgradePlan {
            kubernetes_version: text(plan.kubernetes_version),
            allow_experimental_upgrades: plan.allow_experimental_upgrades,
            allow_rc_upgrades: plan.allow_rc_upgrades,
            dry_run: plan.dry_run,
            etcd_upgrade: plan.etcd_upgrade.unwrap_or(true),
            ignore_preflight_errors: plan.ignore_preflight_errors,
            print_config: plan.print_config,
        },
        timeouts: context.timeouts(given.timeouts),
    }
}

/// The folder of patches, which has to be absolute here.
fn patches(context: &mut Context<'_>, path: &str, given: Option<v1beta4::Patches>) -> Option<String> {
    let directory = given?.directory;
    context.absolute(&format!("{path}/patches/directory"), &directory);
    Some(directory)
}
