//! Files and scripts of bootstrap data, written and run on the host.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::AgentError;
use super::recipe::{File, Recipe, quoted};

/// How long a script may take.
const PATIENCE: Duration = Duration::from_secs(30 * 60);

/// Carries out a recipe in the folder of the agent. Its output is in `<name>.log` there.
///
/// # Errors
/// When a file cannot be written, or the script ends with an error.
pub(super) async fn recipe(recipe: &Recipe, folder: &Path, name: &str) -> Result<(), AgentError> {
    let mut script = String::new();
    for file in &recipe.files {
        write(file)?;
        if let Some(owner) = &file.owner {
            script.push_str(&format!("chown {} {} || exit\n", quoted(owner), quoted(&file.path)));
        }
    }
    script.push_str(&recipe.script);
    run(&script, folder, name).await
}

/// Runs a script. The files of the script and of its output are for the user of the agent only.
pub(super) async fn run(script: &str, folder: &Path, name: &str) -> Result<(), AgentError> {
    let (path, log_path) = (folder.join(format!("{name}.sh")), folder.join(format!("{name}.log")));
    let failed = |path: &Path| {
        let what = format!("{} cannot be written", path.display());
        move |cause| AgentError::System { what, cause }
    };
    private(&path, false).and_then(|mut file| file.write_all(script.as_bytes())).map_err(failed(&path))?;
    let log = private(&log_path, true).map_err(failed(&log_path))?;
    let errors = log.try_clone().map_err(failed(&log_path))?;
    let mut shell = Command::new("/bin/sh");
    shell.arg(&path).stdin(Stdio::null()).stdout(log).stderr(errors).kill_on_drop(true);
    let started = |cause| AgentError::System { what: "/bin/sh cannot be started".to_owned(), cause };
    let mut child = shell.spawn().map_err(started)?;
    let see = format!("see {}", log_path.display());
    match tokio::time::timeout(PATIENCE, child.wait()).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(AgentError::Failed(format!("the script {name} ended with {status}; {see}"))),
        Ok(Err(cause)) => Err(started(cause)),
        Err(_) => Err(AgentError::Failed(format!("the script {name} took longer than {PATIENCE:?}; {see}"))),
    }
}

fn private(path: &Path, append: bool) -> std::io::Result<fs::File> {
    OpenOptions::new().write(true).create(true).append(append).truncate(!append).mode(0o600).open(path)
}

fn write(file: &File) -> Result<(), AgentError> {
    let path = Path::new(&file.path);
    let work = || -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        if file.append {
            let mut opened = OpenOptions::new().append(true).create(true).mode(file.mode).open(path)?;
            opened.write_all(&file.content)?;
            return fs::set_permissions(path, fs::Permissions::from_mode(file.mode));
        }
        // Keys are never readable for others, not even for a moment.
        let mut opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        opened.write_all(&file.content)?;
        fs::set_permissions(path, fs::Permissions::from_mode(file.mode))
    };
    work().map_err(|cause| AgentError::System { what: format!("{} cannot be written", file.path), cause })
}
