//! `slipway node boot`

use std::path::Path;
use std::process::ExitCode;

use slipway_node_agent::boot::{attempt, machine, unit};
use slipway_node_agent::facts::init_system;
use slipway_node_agent::spec::Boot;

use crate::cli::node::BootArguments;
use crate::error::CommandError;
use crate::program::Context;

/// Makes the machine the node of its document, or has its unit do that.
pub(super) async fn run(context: &Context, arguments: &BootArguments) -> Result<ExitCode, CommandError> {
    let absolute = |path: &Path| {
        std::path::absolute(path)
            .map(|path| path.display().to_string())
            .map_err(|error| CommandError::file("the path", path, error))
    };
    let boot = Boot {
        document: absolute(&arguments.document)?,
        digest: arguments.digest.clone(),
        endpoint: arguments.endpoint.clone(),
        state: context.global.state.clone(),
        credential: absolute(&arguments.credential)?,
        authority: arguments.authority.clone(),
        provider_id: arguments.provider_id.clone(),
    };
    let root = Path::new("/");
    if arguments.foreground || init_system(root) != "systemd" {
        machine::run(context, &boot, &arguments.console).await?;
        return Ok(ExitCode::SUCCESS);
    }
    attempt::bootstrap(&boot)?;
    unit::BOOT.install(root, &command(&boot, &arguments.console)?).await?;
    context.output.message(&format!(
        "{} makes this machine a node; `journalctl --unit {}` shows how far it is.",
        unit::BOOT.name,
        unit::BOOT.name
    ));
    Ok(ExitCode::SUCCESS)
}

/// The command of the unit.
fn command(boot: &Boot, console: &Path) -> Result<Vec<String>, CommandError> {
    let mut words = vec![unit::own_program()?];
    if let Some(state) = &boot.state {
        words.extend(["--state".to_owned(), state.clone()]);
    }
    words.extend(["node", "boot", "--foreground"].map(str::to_owned));
    let mut option = |name: &str, value: &str| words.extend([name.to_owned(), value.to_owned()]);
    option("--document", &boot.document);
    option("--digest", &boot.digest);
    option("--credential", &boot.credential);
    option("--console", &console.display().to_string());
    if let Some(endpoint) = &boot.endpoint {
        option("--endpoint", endpoint);
    }
    if let Some(authority) = &boot.authority {
        option("--authority", authority);
    }
    if let Some(id) = &boot.provider_id {
        option("--provider-id", id);
    }
    Ok(words)
}
