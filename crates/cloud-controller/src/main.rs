//! The executable `slipway-cloud-controller`.

use std::process::ExitCode;

use clap::Parser as _;
use slipway_cloud_controller::arguments::Arguments;
use slipway_cloud_controller::program;
use tracing_subscriber::EnvFilter;

// One thread: it waits for the API and the cloud nearly all of the time.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_env("SLIPWAY_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
    match program::run(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{}", slipway_resource::with_causes(&error));
            ExitCode::FAILURE
        }
    }
}
