//! The service that takes snapshots, for each supervisor.

use std::path::Path;

use slipway_resource::ProviderError;

use crate::error::permanent;
use crate::supervise::{Definition, Supervisor};

/// The line of a unit that names the program, up to its path.
const STARTS: [&str; 2] = ["ExecStart=", "command="];

/// The service: this very program, with the settings in a file.
pub(super) fn definition(
    supervisor: Supervisor,
    name: &str,
    settings: &Path,
) -> Result<Definition, ProviderError> {
    let program = std::env::current_exe()
        .map_err(|error| permanent(format!("the place of this program is not known: {error}")))?;
    let program = program.to_string_lossy();
    // The name that the kernel adds when the file was replaced meanwhile.
    let program = program.strip_suffix(" (deleted)").unwrap_or(&program);
    let is_slipway = Path::new(program).file_name().is_some_and(|name| name == "slipway");
    let verb = if is_slipway { "node etcd-backup" } else { "etcd-backup" };
    let arguments = format!("{verb} --config {}", settings.display());
    let unit = match supervisor {
        Supervisor::Systemd => Some(systemd(program, &arguments)),
        Supervisor::OpenRc => Some(openrc(name, program, &arguments)),
        Supervisor::Own => None,
    };
    let words = [program].into_iter().chain(verb.split(' ')).chain(["--config"]).map(str::to_owned);
    let command = words.chain([settings.display().to_string()]).collect();
    Ok(Definition { command, unit, ..Definition::default() })
}

/// A unit without the path of its program: a preview asks by a program that is somewhere else.
pub(super) fn without_program(unit: &str) -> String {
    let line = |line: &str| match STARTS.iter().find(|start| line.starts_with(**start)) {
        Some(start) => (*start).to_owned(),
        None => line.to_owned(),
    };
    unit.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn systemd(program: &str, arguments: &str) -> String {
    format!(
        "[Unit]\n\
         Description=Slipway: snapshots of etcd\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         \n\
         [Service]\n\
         ExecStart={program} {arguments}\n\
         Restart=always\n\
         RestartSec=10\n\
         Nice=10\n\
         UMask=0077\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}

fn openrc(name: &str, program: &str, arguments: &str) -> String {
    format!(
        "#!/sbin/openrc-run\n\
         description=\"Slipway: snapshots of etcd\"\n\
         supervisor=supervise-daemon\n\
         command=\"{program}\"\n\
         command_args=\"{arguments}\"\n\
         respawn_delay=10\n\
         umask=077\n\
         output_log=\"/var/log/{name}.log\"\n\
         error_log=\"/var/log/{name}.log\"\n\
         \n\
         depend() {{\n\
         \tneed net\n\
         }}\n"
    )
}
