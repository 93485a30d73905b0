//! `slipway controller`

mod install;
mod show;

use std::process::ExitCode;
use std::sync::Arc;

use jiff::Timestamp;
use slipway_reconciler::board::{self, Board, Pause};
use slipway_reconciler::status::Status;
use slipway_reconciler::{Configuration, Controller, Error, stop_on_two_signals};
use slipway_state_store::{Backend, ClusterName, controllers, read_head};

use crate::cli::controller::{
    ControllerCommand, PauseArguments, RequestArguments, ResumeArguments, RunControllerArguments,
};
use crate::error::CommandError;
use crate::program::Context;

/// Runs a command about controllers.
pub(crate) async fn run(context: &Context, command: &ControllerCommand) -> Result<ExitCode, CommandError> {
    match command {
        ControllerCommand::Run(arguments) => serve(context, arguments).await,
        ControllerCommand::Show(arguments) => show::run(context, arguments).await,
        ControllerCommand::Pause(arguments) => pause(context, arguments).await,
        ControllerCommand::Resume(arguments) => resume(context, arguments).await,
        ControllerCommand::Request(arguments) => request(context, arguments).await,
        ControllerCommand::Install(arguments) => install::run(context, arguments),
    }
}

/// Runs a controller until a signal.
async fn serve(context: &Context, arguments: &RunControllerArguments) -> Result<ExitCode, CommandError> {
    let (stop, at_once) = stop_on_two_signals()?;
    let configuration = Configuration::read(&arguments.file)?;
    let controller = Controller::new(configuration, context.environment()?).await?;
    if let Some(address) = controller.address() {
        tracing::info!(%address, "health and metrics are served");
    }
    if let Some(address) = controller.webhooks_address() {
        tracing::info!(%address, "webhooks are received");
    }
    controller.run(stop, at_once).await?;
    Ok(ExitCode::SUCCESS)
}

async fn pause(context: &Context, arguments: &PauseArguments) -> Result<ExitCode, CommandError> {
    let backend = context.backend()?;
    check_known(&backend, &arguments.cluster).await?;
    let since = Timestamp::now();
    let until = arguments.duration.map(|duration| since.checked_add(duration)).transpose();
    let until = until.map_err(|error| CommandError::internal("the end of the pause is no date", error))?;
    let pause = Pause { who: context.actor()?.who, since, until, reason: arguments.reason.clone() };
    let sentence = sentence(&arguments.cluster, &pause);
    board::pause(&backend, &arguments.cluster, pause).await?;
    context.output.outcome(&sentence)?;
    Ok(ExitCode::SUCCESS)
}

async fn resume(context: &Context, arguments: &ResumeArguments) -> Result<ExitCode, CommandError> {
    let backend = context.backend()?;
    check_known(&backend, &arguments.cluster).await?;
    let cluster = &arguments.cluster;
    let text = match board::resume(&backend, cluster, Timestamp::now()).await? {
        Some(pause) => format!("Resumed {cluster}, which {} had paused: {}", pause.who, pause.reason),
        None => format!("{cluster} was not paused."),
    };
    context.output.outcome(&text)?;
    Ok(ExitCode::SUCCESS)
}

async fn request(context: &Context, arguments: &RequestArguments) -> Result<ExitCode, CommandError> {
    let backend = context.backend()?;
    for cluster in &arguments.clusters {
        check_known(&backend, cluster).await?;
    }
    board::request(&backend, &arguments.clusters, &context.actor()?.who, Timestamp::now()).await?;
    let names = arguments.clusters.join(", ");
    context.output.outcome(&format!("Controllers will plan {names} within seconds, if one runs."))?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses a name that neither a controller nor the state store knows: a pause of a misspelt name would have no effect.
async fn check_known(backend: &Arc<dyn Backend>, cluster: &str) -> Result<(), CommandError> {
    let name = ClusterName::new(cluster)?;
    if read_head(&**backend, &name).await?.is_some() {
        return Ok(());
    }
    match controllers::read::<Status>(&**backend, &controllers::status(&name)).await? {
        Some(_) => Ok(()),
        None => Err(Error::UnknownCluster { cluster: cluster.to_owned() }.into()),
    }
}

/// The message about a pause.
fn sentence(cluster: &str, pause: &Pause) -> String {
    format!("Controllers apply nothing for {cluster}: {pause}")
}

/// Says which of some clusters are paused.
pub(crate) async fn tell_pauses<'a>(
    context: &Context,
    clusters: impl IntoIterator<Item = &'a str>,
) -> Result<Board, CommandError> {
    let board = board::read(&*context.backend()?).await?;
    let now = Timestamp::now();
    for cluster in clusters {
        if let Some(pause) = board.pause(cluster, now) {
            context.output.message(&sentence(cluster, pause));
        }
    }
    Ok(board)
}
