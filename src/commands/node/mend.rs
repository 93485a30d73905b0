//! `slipway node plan` and `slipway node apply`: show and correct the drift of a machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::Timestamp;
use slipway_bootstrap::expand::{self, Inputs};
use slipway_bootstrap::phase::Command;
use slipway_bootstrap::preflight::Purpose;
use slipway_node_agent::Selection;
use slipway_node_agent::boot::Stop;
use slipway_node_agent::boot::attempt::{self, Prepared};
use slipway_node_agent::machine::Machine;
use slipway_node_agent::secrets::NodeSecrets;
use slipway_node_agent::spec::{Boot, NodeSpec};
use slipway_node_agent::work::Work;
use slipway_node_agent::{begin, join};

use super::{ADMINISTRATORS, KUBELET, unexpandable};
use crate::cli::node::{
    CarryOutArguments, InitSettings, MachineArguments, NodeApplyArguments, NodePlanArguments, RenewArguments,
    SourceArguments,
};
use crate::cli::{OutputFormat, RunArguments};
use crate::code;
use crate::error::CommandError;
use crate::node::settings;
use crate::node::work::{self, Manner, selection};
use crate::program::Context;

/// Shows the drift of the machine.
pub(super) async fn plan(context: &Context, arguments: &NodePlanArguments) -> Result<ExitCode, CommandError> {
    let run = RunArguments::default();
    let MachineArguments { rootfs, output, .. } = &arguments.machine;
    let manner = Manner { dry_run: true, full: arguments.full, output: *output, run: &run, replace: &[] };
    go(context, rootfs, arguments.config.as_ref(), &[], manner).await
}

/// Corrects the drift of the machine.
pub(super) async fn apply(
    context: &Context,
    arguments: &NodeApplyArguments,
) -> Result<ExitCode, CommandError> {
    let MachineArguments { rootfs, output, .. } = &arguments.machine;
    let carry_out = &arguments.carry_out;
    let manner = Manner {
        dry_run: carry_out.dry_run,
        full: carry_out.full,
        output: *output,
        run: &arguments.run,
        replace: &[],
    };
    go(context, rootfs, arguments.config.as_ref(), &carry_out.skip_phases, manner).await
}

/// Replaces certificates and kubeconfigs.
pub(super) async fn renew(
    context: &Context,
    arguments: &RenewArguments,
    replace: Vec<String>,
) -> Result<ExitCode, CommandError> {
    let run = RunArguments { yes: arguments.yes, ..RunArguments::default() };
    let manner = Manner {
        dry_run: arguments.dry_run,
        full: false,
        output: OutputFormat::Text,
        run: &run,
        replace: &replace,
    };
    go(context, &arguments.rootfs, None, &[], manner).await
}

async fn go(
    context: &Context,
    root: &Path,
    config: Option<&PathBuf>,
    skip: &[String],
    manner: Manner<'_>,
) -> Result<ExitCode, CommandError> {
    let machine = Machine::open(context, root).await?;
    let Some(before) = machine.spec()? else {
        return Err(CommandError::new(code::NO_STATE, "nothing is known of what this machine should be")
            .hint("`slipway node init` and `slipway node join` make it a node; `slipway adopt` takes over what kubeadm made"));
    };
    if let Some(boot) = &before.boot {
        return booted(context, machine, &before, boot, (config, skip), manner).await;
    }
    let mut secrets = NodeSecrets::new(&machine.root);
    let mut spec = before.clone();
    if let Some(path) = config {
        let source = SourceArguments { config: Some(path.clone()) };
        spec.configuration = match spec.role {
            Purpose::Init => settings::init(&source, &InitSettings::default(), &machine.detected, None)?,
            _ => settings::rejoin(&source, &before.configuration, &machine.detected)?,
        };
    }
    let now = Timestamp::now();
    drop_ended_tokens(&mut spec, now);
    begin::complete(&mut spec.configuration, Some(&before), &mut secrets, false, now)?;
    let command = if spec.role == Purpose::Init { Command::Init } else { Command::Join };
    let carry_out = CarryOutArguments { skip_phases: skip.to_vec(), ..CarryOutArguments::default() };
    let selection = selection(command, &carry_out, &before.skipped, None)?;
    spec.skipped = selection.skipped().to_vec();
    let is_control_plane = spec.role.is_control_plane();
    let server = is_control_plane.then(|| spec.configuration.local_endpoint().url());
    let cluster = match spec.role {
        Purpose::Init => None,
        _ => Some(join::again(&mut spec, &machine).await?),
    };
    let files = if is_control_plane { ADMINISTRATORS } else { KUBELET };
    let work = Work::open(context, machine, selection, secrets, (files, server)).await?;
    let facts = begin::expansion(&work.machine.root, &spec.configuration)?;
    let phased = match &cluster {
        Some(cluster) => cluster.expand(&spec, &facts),
        None => expand::init(&spec.configuration, &facts, &Inputs::default()),
    };
    let phased = phased.map_err(unexpandable)?;
    work::apply(context, work, (spec, phased), manner).await
}

/// The same on a machine that booted from a document, which is then the desired state.
async fn booted(
    context: &Context,
    machine: Machine,
    before: &NodeSpec,
    boot: &Boot,
    (config, skip): (Option<&PathBuf>, &[String]),
    manner: Manner<'_>,
) -> Result<ExitCode, CommandError> {
    if config.is_some() || !skip.is_empty() {
        let text = "this machine has booted from a document, which takes no other configuration";
        return Err(CommandError::new(code::DOCUMENT, text)
            .hint("leave out --config and --skip-phases, or change the spec of the cluster"));
    }
    let document = attempt::document(boot)?;
    let prepared = attempt::prepare(context, &machine, &document, boot, (Some(before), None)).await;
    let Prepared { spec, phased, secrets, .. } = prepared.map_err(Stop::into_error)?;
    let is_control_plane = spec.role.is_control_plane();
    let server = is_control_plane.then(|| spec.configuration.local_endpoint().url());
    let files = if is_control_plane { ADMINISTRATORS } else { KUBELET };
    let work = Work::open(context, machine, Selection::default(), secrets, (files, server)).await?;
    work::apply(context, work, (spec, phased), manner).await
}

/// Drops expired tokens: the cluster removes them by itself.
fn drop_ended_tokens(spec: &mut NodeSpec, now: Timestamp) {
    spec.configuration.node.bootstrap_tokens.retain(|token| token.expires.is_none_or(|end| end > now));
}
