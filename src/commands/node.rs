//! `slipway node`: one file for each verb.

mod api_balancer;
mod begin;
mod boot;
mod certificates;
mod config;
mod control_plane_recovery;
mod etcd_backup;
mod identity;
mod kubeconfig;
mod logs;
mod mend;
mod phase;
mod requests;
mod reset;
mod serve;
mod settings;
mod token;
mod virtual_address;

use std::process::ExitCode;

use crate::cli::node::NodeCommand;
use crate::code;
use crate::error::CommandError;
use crate::program::Context;

pub(super) async fn run(context: &Context, command: NodeCommand) -> Result<ExitCode, CommandError> {
    match command {
        NodeCommand::Init(arguments) => begin::init(context, &arguments, None).await,
        NodeCommand::Join(arguments) => begin::join(context, &arguments, None).await,
        NodeCommand::Boot(arguments) => boot::run(context, &arguments).await,
        NodeCommand::Identity(arguments) => identity::run(context, &arguments).await,
        NodeCommand::Settings => settings::run(context).await,
        NodeCommand::Reset(arguments) => reset::run(context, &arguments, None).await,
        NodeCommand::Phase(command) => phase::run(context, command).await,
        NodeCommand::Plan(arguments) => mend::plan(context, &arguments).await,
        NodeCommand::Apply(arguments) => mend::apply(context, &arguments).await,
        NodeCommand::Serve(arguments) => serve::run(&arguments).await,
        NodeCommand::EtcdBackup(arguments) => etcd_backup::run(context, &arguments).await,
        NodeCommand::ApiBalancer(arguments) => api_balancer::run(context, &arguments).await,
        NodeCommand::VirtualAddress(arguments) => virtual_address::run(context, &arguments).await,
        NodeCommand::ControlPlaneRecovery(arguments) => {
            control_plane_recovery::run(context, &arguments).await
        }
        NodeCommand::Token(command) => token::run(context, &command).await,
        NodeCommand::Certs(command) => certificates::run(context, &command).await,
        NodeCommand::Kubeconfig(arguments) => kubeconfig::run(context, &arguments).await,
        NodeCommand::Config(command) => config::run(context, &command).await,
        NodeCommand::Logs(arguments) => logs::run(context, &arguments).await,
    }
}

/// The kubeconfigs by which a control plane reaches the API; the first works before roles are bound.
const ADMINISTRATORS: &[&str] = &["/etc/kubernetes/super-admin.conf", "/etc/kubernetes/admin.conf"];
/// That by which a worker does.
const KUBELET: &[&str] = &["/etc/kubernetes/kubelet.conf"];

fn unexpandable(error: slipway_bootstrap::expand::ExpandError) -> CommandError {
    CommandError::new(error.code(), error.to_string())
}

fn no_randomness(error: impl std::fmt::Display) -> CommandError {
    CommandError::new(code::INTERNAL, "the system gives no random numbers").cause(error.to_string())
}
