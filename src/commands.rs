//! One file for each verb.

mod adopt;
mod apply;
mod approve;
mod complete;
mod controller;
mod delete;
mod documentation;
mod drift;
mod etcd;
mod explain;
mod export;
mod get;
mod init;
mod kubeconfig;
mod logs;
mod node;
mod output;
pub(crate) mod plan;
mod policy;
mod provider;
mod review;
mod roll;
mod rotate;
mod show;
mod spec;
mod state;
mod support_bundle;
mod upgrade;
mod validate;
mod version;

use std::process::ExitCode;

use crate::cli::Command;
use crate::error::CommandError;
use crate::program::Context;

/// Runs a command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<ExitCode, CommandError> {
    match command {
        Command::Plan(arguments) => plan::run(context, &arguments).await,
        Command::Apply(arguments) => apply::run(context, &arguments).await,
        Command::Show(arguments) => show::run(context, &arguments).await,
        Command::Approve(arguments) => approve::run(context, &arguments).await,
        Command::Review(arguments) => review::run(context, &arguments).await,
        Command::Drift(arguments) => drift::run(context, &arguments).await,
        Command::Roll(arguments) => roll::run(context, &arguments).await,
        Command::Upgrade(arguments) => upgrade::run(context, &arguments).await,
        Command::Rotate(command) => rotate::run(context, &command).await,
        Command::Delete(arguments) => delete::run(context, &arguments).await,
        Command::Validate(arguments) => validate::run(context, &arguments).await,
        Command::Kubeconfig(arguments) => kubeconfig::run(context, &arguments).await,
        Command::Output(arguments) => output::run(context, &arguments).await,
        Command::Logs(arguments) => logs::run(context, &arguments).await,
        Command::Etcd(command) => etcd::run(context, command).await,
        Command::SupportBundle(arguments) => support_bundle::run(context, &arguments).await,
        Command::Adopt(arguments) => adopt::run(context, &arguments).await,
        Command::Export(command) => export::run(context, &command).await,
        Command::Controller(command) => controller::run(context, &command).await,
        Command::Get(command) => get::run(context, &command).await,
        Command::State(command) => state::run(context, command).await,
        Command::Node(command) => node::run(context, *command).await,
        Command::Init(arguments) => init::run(context, &arguments),
        Command::Explain(arguments) => explain::run(context, &arguments),
        Command::Spec(command) => spec::run(context, &command),
        Command::Policy(command) => policy::run(context, &command),
        Command::Provider(command) => provider::run(context, &command).await,
        Command::Completions(arguments) => documentation::completions(context, &arguments),
        Command::Complete(arguments) => complete::run(context, &arguments).await,
        Command::Man(arguments) => documentation::man(context, &arguments),
        Command::Version(arguments) => version::run(context, &arguments),
    }
}

/// The exit code of a command that only shows a plan.
pub(crate) fn pending(plan: &slipway_plan::Plan) -> ExitCode {
    if plan.has_deferred() || !plan.findings.is_empty() {
        ExitCode::from(1)
    } else if slipway_operations::protection::is_nothing(plan) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(2)
    }
}

/// The more serious one of the exit codes of two clusters: an error, then pending changes, then success.
pub(crate) fn worse(left: ExitCode, right: ExitCode) -> ExitCode {
    let order = [ExitCode::SUCCESS, ExitCode::from(2), ExitCode::from(1)];
    let rank = |code: ExitCode| order.iter().position(|other| *other == code).unwrap_or(order.len());
    if rank(right) > rank(left) { right } else { left }
}

/// The exit code of a command that carries something out.
pub(crate) fn done(through: bool) -> ExitCode {
    if through { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
