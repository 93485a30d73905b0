//! `slipway node reset`

use std::process::ExitCode;

use slipway_bootstrap::phase::Command;
use slipway_bootstrap::preflight::{Purpose, Questions};
use slipway_node_agent::Released;
use slipway_node_agent::leave::Leaving;
use slipway_node_agent::machine::Machine;
use slipway_node_agent::secrets::NodeSecrets;
use slipway_node_agent::spec::CLUSTER;
use slipway_node_agent::work::Work;

use super::{ADMINISTRATORS, KUBELET};
use crate::cli::RunArguments;
use crate::cli::node::{NodeResetArguments, ResetSettings};
use crate::code;
use crate::error::CommandError;
use crate::node::work::{self, Manner, selection};
use crate::program::Context;

/// Takes the machine out of its cluster and removes what was made on it.
pub(super) async fn run(
    context: &Context,
    arguments: &NodeResetArguments,
    only: Option<&str>,
) -> Result<ExitCode, CommandError> {
    let mut machine = Machine::open(context, &arguments.machine.rootfs).await?;
    machine.leaving = arguments.settings.offline;
    let Some(spec) = machine.spec()? else {
        if machine.state.is_none() {
            return Err(CommandError::new(
                code::NO_STATE,
                "nothing on this machine was made by `slipway node`; nothing was done",
            )
            .hint("what kubeadm made, `kubeadm reset` removes"));
        }
        return Err(CommandError::new(
            code::NO_STATE,
            "nothing is left on this machine of what `slipway node` made",
        ));
    };
    let selection =
        selection(Command::Reset, &arguments.carry_out, &spec.configuration.node.skip_phases, only)?;
    let is_control_plane = spec.role != Purpose::JoinWorker;
    let server = is_control_plane.then(|| spec.configuration.local_endpoint().url());
    let files = if is_control_plane { ADMINISTRATORS } else { KUBELET };
    let mut kubeconfigs: Vec<&str> = Vec::new();
    let given = match &arguments.settings.kubeconfig {
        Some(path) => Some(
            std::path::absolute(path).map_err(|error| CommandError::file("the kubeconfig", path, error))?,
        ),
        None => None,
    };
    let given_path = given.as_ref().map(|path| path.display().to_string());
    kubeconfigs.extend(given_path.as_deref());
    kubeconfigs.extend(files);
    let server = server.filter(|_| given.is_none());
    let secrets = NodeSecrets::new(&machine.root);
    let work = Work::open(context, machine, selection, secrets, (&kubeconfigs, server)).await?;
    work::check(context, &work, (&Questions::of_reset(), &spec), &arguments.machine, None).await?;
    let released = if arguments.settings.offline { Released::ClusterAndNode } else { Released::Cluster };
    let name = &spec.configuration.node.name;
    let leaving = if is_control_plane || !work.selection.means("cleanup-node") {
        Leaving::AsKnown
    } else if arguments.settings.offline {
        Leaving::Stays { name: name.clone(), why: "the API is not asked".to_owned() }
    } else {
        Leaving::of_worker(&work.machine.root, name, given.as_ref()).await?
    };
    let run = confirmed(&arguments.settings);
    let manner = Manner {
        dry_run: arguments.carry_out.dry_run,
        full: arguments.carry_out.full,
        output: arguments.machine.output,
        run: &run,
        replace: &[],
    };
    work::remove(context, work, spec, (released, leaving), manner).await
}

/// The questions that the options answer. `--force` answers all of them, as with kubeadm; `--yes` confirms no loss.
fn confirmed(settings: &ResetSettings) -> RunArguments {
    let mut confirm = settings.confirm.clone();
    if settings.force {
        confirm.push(CLUSTER.to_owned());
    }
    RunArguments { yes: settings.yes || settings.force, confirm, ..RunArguments::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_force_and_a_name_confirm_a_loss() {
        let of = |yes, force, names: &[&str]| {
            let confirm = names.iter().map(|name| (*name).to_owned()).collect();
            let run = confirmed(&ResetSettings { yes, force, confirm, ..ResetSettings::default() });
            (run.yes, run.confirm)
        };
        assert_eq!(of(false, false, &[]), (false, Vec::new()));
        assert_eq!(of(true, false, &[]), (true, Vec::new()));
        assert_eq!(of(true, false, &["node"]), (true, vec!["node".to_owned()]));
        assert_eq!(of(false, true, &[]), (true, vec!["node".to_owned()]));
    }
}
