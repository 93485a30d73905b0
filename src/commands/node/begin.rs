//! `slipway node init` and `slipway node join`

use std::process::ExitCode;

use jiff::Timestamp;
use slipway_bootstrap::expand::{self, Inputs};
use slipway_bootstrap::phase::Command;
use slipway_bootstrap::preflight::{Purpose, Questions};
use slipway_node_agent::machine::Machine;
use slipway_node_agent::secrets::NodeSecrets;
use slipway_node_agent::spec::NodeSpec;
use slipway_node_agent::work::Work;
use slipway_node_agent::{begin, invite, join};

use super::{ADMINISTRATORS, KUBELET, unexpandable};
use crate::cli::RunArguments;
use crate::cli::node::{CarryOutArguments, MachineArguments, NodeInitArguments, NodeJoinArguments};
use crate::code;
use crate::error::CommandError;
use crate::node::settings;
use crate::node::work::{self, Manner, selection};
use crate::program::Context;

/// Begins a cluster on this machine, or carries out one phase of that.
pub(super) async fn init(
    context: &Context,
    arguments: &NodeInitArguments,
    only: Option<&str>,
) -> Result<ExitCode, CommandError> {
    let machine = Machine::open(context, &arguments.machine.rootfs).await?;
    let before = machine.spec()?;
    refuse_other_role(before.as_ref(), Purpose::Init)?;
    let mut configuration =
        settings::init(&arguments.source, &arguments.settings, &machine.detected, before.as_ref())?;
    let mut secrets = NodeSecrets::new(&machine.root);
    let upload = arguments.settings.upload_certs || only == Some("upload-certs");
    begin::complete(&mut configuration, before.as_ref(), &mut secrets, upload, Timestamp::now())?;
    let selection = selection(Command::Init, &arguments.carry_out, &configuration.node.skip_phases, only)?;
    let mut spec = NodeSpec::new(Purpose::Init, configuration);
    spec.upload_certificates = upload;
    spec.skipped = selection.skipped().to_vec();
    let server = spec.configuration.local_endpoint().url();
    let invitation = invite::Invitation::of(&spec, &secrets);
    let work = Work::open(context, machine, selection, secrets, (ADMINISTRATORS, Some(server))).await?;
    let questions = Questions::of(&spec.configuration, Purpose::Init);
    work::check(context, &work, (&questions, &spec), &arguments.machine, None).await?;
    if work.selection.is_only("preflight") {
        return Ok(ExitCode::SUCCESS);
    }
    let facts = begin::expansion(&work.machine.root, &spec.configuration)?;
    let phased = expand::init(&spec.configuration, &facts, &Inputs::default()).map_err(unexpandable)?;
    let root = work.machine.root.clone();
    let tells = work.selection.means("show-join-command") && !arguments.carry_out.dry_run;
    let signs = work.selection.means("bootstrap-token") && !arguments.carry_out.dry_run;
    let uploads = work.selection.means("upload-certs") && upload && !arguments.carry_out.dry_run;
    let configuration = spec.configuration.clone();
    let manner = manner(&arguments.carry_out, &arguments.machine, &YES);
    let code = work::apply(context, work, (spec, phased), manner).await?;
    if code == ExitCode::SUCCESS && signs {
        invitation.sign(&root).await?;
    }
    if code == ExitCode::SUCCESS && uploads {
        // Each encryption of a file gives another result, so a plan could not compare it.
        invitation.upload(&root, &configuration).await?;
    }
    if code == ExitCode::SUCCESS && tells {
        let settings = &arguments.settings;
        let skipped = (settings.skip_token_print, settings.skip_certificate_key_print);
        if let Some(commands) = invitation.commands(&root, skipped)? {
            context.output.result(&commands)?;
        }
    }
    Ok(code)
}

/// Joins a cluster, or carries out one phase of that.
pub(super) async fn join(
    context: &Context,
    arguments: &NodeJoinArguments,
    only: Option<&str>,
) -> Result<ExitCode, CommandError> {
    let machine = Machine::open(context, &arguments.machine.rootfs).await?;
    let before = machine.spec()?;
    let mut configuration =
        settings::join(&arguments.source, &arguments.settings, &machine.detected, before.as_ref())?;
    let purpose =
        if configuration.is_control_plane() { Purpose::JoinControlPlane } else { Purpose::JoinWorker };
    refuse_other_role(before.as_ref(), purpose)?;
    let mut secrets = NodeSecrets::new(&machine.root);
    begin::complete(&mut configuration, before.as_ref(), &mut secrets, false, Timestamp::now())?;
    let selection = selection(Command::Join, &arguments.carry_out, &configuration.node.skip_phases, only)?;
    let mut spec = NodeSpec::new(purpose, configuration);
    spec.skipped = selection.skipped().to_vec();
    let cluster = join::find(&mut spec, &mut secrets, &machine, before.as_ref()).await?;
    let files = if purpose.is_control_plane() { ADMINISTRATORS } else { KUBELET };
    let work = Work::open(context, machine, selection, secrets, (files, None)).await?;
    let questions = Questions::of(&spec.configuration, purpose);
    let ahead = cluster.clock_ahead_seconds;
    work::check(context, &work, (&questions, &spec), &arguments.machine, ahead).await?;
    if work.selection.is_only("preflight") {
        return Ok(ExitCode::SUCCESS);
    }
    let facts = begin::expansion(&work.machine.root, &spec.configuration)?;
    let phased = cluster.expand(&spec, &facts).map_err(unexpandable)?;
    let name = spec.configuration.node.name.clone();
    let manner = manner(&arguments.carry_out, &arguments.machine, &YES);
    let code = work::apply(context, work, (spec, phased), manner).await?;
    if code == ExitCode::SUCCESS && !arguments.carry_out.dry_run && only.is_none() {
        context.output.message(&format!("{name} has joined the cluster."));
    }
    Ok(code)
}

/// As with kubeadm, the command asks no question: `--dry-run` shows the plan.
static YES: RunArguments = RunArguments {
    yes: true,
    confirm: Vec::new(),
    wait: None,
    parallelism: None,
    require_approval: None,
    require_approval_by_other: false,
};

fn manner<'a>(
    carry_out: &CarryOutArguments,
    machine: &MachineArguments,
    run: &'a RunArguments,
) -> Manner<'a> {
    Manner { dry_run: carry_out.dry_run, full: carry_out.full, output: machine.output, run, replace: &[] }
}

/// Refuses another role: a machine has one role in one cluster.
fn refuse_other_role(before: Option<&NodeSpec>, wanted: Purpose) -> Result<(), CommandError> {
    let Some(before) = before.filter(|before| before.role != wanted) else { return Ok(()) };
    let part = match before.role {
        Purpose::Init => "the control plane that began a cluster",
        Purpose::JoinControlPlane => "a control plane that joined a cluster",
        Purpose::JoinWorker => "a worker of a cluster",
        Purpose::Reset => "being reset",
    };
    Err(CommandError::new(code::OTHER_ROLE, format!("this machine is {part} already"))
        .hint("`slipway node reset` takes it out; `slipway node apply` changes it"))
}
