//! `slipway-etcd-storage`: the tenant proxy of an etcd that many share.

use std::error::Error as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use slipway_controller::stop_on_signals;
use slipway_etcd_storage::proxy::{self, Error};

mod arguments;

use arguments::{Arguments, Command};

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { command: Command::Proxy(arguments) } = Arguments::parse();
    tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).init();
    let served = match stop_on_signals() {
        Ok(stop) => proxy::serve(arguments.settings(), stop).await,
        Err(error) => Err(Error::Signals(error)),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nowhere else to report that standard error is closed.
            let _ = report(&error);
            ExitCode::FAILURE
        }
    }
}

fn report(error: &Error) -> io::Result<()> {
    let mut out = io::stderr().lock();
    writeln!(out, "error[{}]: {error}", error.code())?;
    let mut cause = error.source();
    while let Some(error) = cause {
        writeln!(out, "  caused by: {error}")?;
        cause = error.source();
    }
    if let Some(hint) = error.hint() {
        writeln!(out, "hint: {hint}")?;
    }
    Ok(())
}
