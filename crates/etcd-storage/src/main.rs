//! `slipway-etcd-storage`: the tenant proxy of an etcd that many share, and the controller that runs such proxies.

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use slipway_controller::stop_on_signals;
use slipway_etcd_storage::{controller, proxy, storage};

mod arguments;

use arguments::{Arguments, Command, ManifestArguments};

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { command } = Arguments::parse();
    tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).init();
    let reported = match command {
        Command::Proxy(arguments) => {
            let served = match stop_on_signals() {
                Ok(stop) => proxy::serve(arguments.settings(), stop).await,
                Err(error) => Err(proxy::Error::Signals(error)),
            };
            served.or_else(|error| report(&error, error.code(), error.hint()))
        }
        Command::Controller(arguments) => {
            let ran = match stop_on_signals() {
                Ok(stop) => controller::run(arguments.settings(), stop).await,
                Err(error) => Err(controller::Error::System(error)),
            };
            ran.or_else(|error| report(&error, error.code(), error.hint()))
        }
        Command::Manifest(arguments) => print(*arguments),
    };
    // Nothing can be reported when the streams are closed.
    if reported.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes the manifest to standard output.
fn print(arguments: ManifestArguments) -> io::Result<()> {
    let objects = if arguments.crd_only {
        vec![storage::definition()]
    } else {
        let manifest = arguments.manifest();
        for url in &manifest.core_urls {
            proxy::check_endpoint(url).or_else(|error| report(&error, error.code(), error.hint()))?;
        }
        manifest.objects()
    };
    let mut out = io::stdout().lock();
    writeln!(out, "# Written by `slipway-etcd-storage manifest`.")?;
    for object in objects {
        let text = serde_yaml::to_string(&object).map_err(io::Error::other)?;
        write!(out, "---\n{text}")?;
    }
    out.flush()
}

/// Reports why a command ended. The error is passed on, so that the exit code tells of it.
fn report(error: &dyn Error, code: &str, hint: Option<String>) -> io::Result<()> {
    let mut out = io::stderr().lock();
    writeln!(out, "error[{code}]: {error}")?;
    let mut cause = error.source();
    while let Some(error) = cause {
        writeln!(out, "  caused by: {error}")?;
        cause = error.source();
    }
    if let Some(hint) = hint {
        writeln!(out, "hint: {hint}")?;
    }
    Err(io::Error::other("it was reported"))
}
