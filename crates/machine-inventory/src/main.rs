//! The executable `slipway-machine-inventory`.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use slipway_machine_inventory::arguments::{Arguments, Command};
use slipway_machine_inventory::{agent, manifest, program};
use tracing_subscriber::EnvFilter;

// One thread: it waits for APIs nearly all of the time.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_env("SLIPWAY_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
    let outcome = match arguments.command {
        Command::Manager(arguments) => {
            program::run(*arguments).await.map_err(|error| slipway_resource::with_causes(&error))
        }
        Command::Manifest(arguments) => manifest::run(&arguments)
            .map_err(|error| slipway_resource::with_causes(&error))
            .and_then(|text| std::io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string())),
        Command::Agent(arguments) => {
            agent::run(arguments).await.map_err(|error| slipway_resource::with_causes(&error))
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}
