//! `slipway node etcd-backup`

use std::process::ExitCode;

use slipway_provider_node::{fetch_etcd_snapshot, serve_etcd_backups};

use crate::cli::node::EtcdBackupArguments;
use crate::error::CommandError;
use crate::program::Context;

/// Takes snapshots of this machine's etcd until it is ended, or writes one of them to a file.
pub(super) async fn run(
    context: &Context,
    arguments: &EtcdBackupArguments,
) -> Result<ExitCode, CommandError> {
    let output = &context.output;
    if let (Some(name), Some(file)) = (&arguments.fetch, &arguments.out) {
        let revision = fetch_etcd_snapshot(&arguments.config, name, file).await.map_err(|error| {
            CommandError::new(
                "ETCD0003",
                format!("the snapshot {name} was not written to {}", file.display()),
            )
            .cause(error.message)
        })?;
        output.message(&format!("{} has the snapshot {name}, with revision {revision}.", file.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let tell = |text: &str| output.message(text);
    serve_etcd_backups(&arguments.config, &tell).await.map_err(|error| {
        CommandError::new("ETCD0002", "snapshots of etcd are not taken on this machine").cause(error.message)
    })?;
    Ok(ExitCode::SUCCESS)
}
