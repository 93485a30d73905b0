//! The executable `slipway-token-controller`.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use slipway_resource::with_causes;
use slipway_token_controller::arguments::{Arguments, Command, ManifestArguments};
use slipway_token_controller::{Error, manifest, program};

// One thread: it waits for the API nearly all of the time.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Arguments { command } = Arguments::parse();
    tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).init();
    let outcome = match command {
        Command::Controller(arguments) => program::run(arguments).await,
        Command::Manifest(arguments) => print(&arguments).map_err(Error::from),
    };
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    let hint = error.hint().map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
    // Nothing can be reported when the stream is closed.
    let _ = write!(io::stderr(), "error[{}]: {}\n{hint}", error.code(), with_causes(&error));
    ExitCode::FAILURE
}

/// Writes the manifest to standard output.
fn print(arguments: &ManifestArguments) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "# Written by `slipway-token-controller manifest`.")?;
    for object in manifest::objects(&arguments.image) {
        let text = serde_yaml::to_string(&object).map_err(io::Error::other)?;
        write!(out, "---\n{text}")?;
    }
    out.flush()
}
