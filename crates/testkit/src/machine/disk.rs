//! What a machine has on disk before its first start.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use aws_lc_rs::digest::{SHA256, digest};

use super::MachineOptions;
use crate::cache;

const SCRIPTS: [(&str, &str); 4] = [
    ("init.sh", include_str!("init.sh")),
    ("first.sh", include_str!("first.sh")),
    ("systemctl", include_str!("systemctl.sh")),
    ("journalctl", include_str!("journalctl.sh")),
];

/// Makes it: `bin` with the scripts, and `disk` with the folders that outlive a restart.
pub fn make(folder: &Path, images: &Path, options: &MachineOptions) -> Result<()> {
    let (scripts, libraries) = (folder.join("bin"), folder.join("disk/var/lib"));
    for path in [&scripts, &libraries, &folder.join("disk/home")] {
        fs::create_dir_all(path)?;
    }
    for (name, text) in SCRIPTS {
        fs::write(scripts.join(name), text)?;
    }
    fs::write(
        scripts.join("authorized_keys"),
        format!("{}\n", options.authorized_key.as_deref().unwrap_or_default()),
    )?;
    let containerd = libraries.join("containerd");
    cache::run(Command::new("cp").args(["-al"]).arg(images).arg(&containerd))?;
    own_databases(&containerd)
}

/// Makes copies of what containerd writes again; all the rest stays shared.
fn own_databases(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        let (path, kind) = (entry.path(), entry.file_type()?);
        // Below are unpacked layers, with many files and no database.
        if kind.is_dir() && entry.file_name() != "snapshots" && entry.file_name() != "blobs" {
            own_databases(&path)?;
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "db") {
            let copy = path.with_extension("copy");
            fs::copy(&path, &copy)?;
            fs::rename(copy, path)?;
        }
    }
    Ok(())
}

/// A folder with a copy of a program, called `slipway`, without what only a debugger needs: a tenth of the size. It is
/// made once for each state of the program.
///
/// # Errors
/// When the program cannot be read, or there is no `strip`.
pub fn stripped(program: &Path) -> Result<PathBuf> {
    let program = fs::canonicalize(program).with_context(|| program.display().to_string())?;
    let state = fs::metadata(&program)?;
    let name = hex(program.as_os_str().as_encoded_bytes());
    let version = hex(format!("{} {} {}", state.size(), state.mtime(), state.mtime_nsec()).as_bytes());
    cache::installed(&format!("stripped-{name}"), &version, |folder| {
        let copy = folder.join("slipway");
        cache::run(Command::new("strip").arg("--strip-debug").arg("-o").arg(&copy).arg(&program))?;
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
        forget_others(&format!("stripped-{name}-"), &version)
    })
}

fn forget_others(prefix: &str, version: &str) -> Result<()> {
    for entry in fs::read_dir(cache::folder()?)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(other) = name.trim_start_matches('.').strip_prefix(prefix) else { continue };
        if !other.starts_with(version) {
            // Machines that run keep the file that they have.
            let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref()[..6].iter().map(|byte| format!("{byte:02x}")).collect()
}
