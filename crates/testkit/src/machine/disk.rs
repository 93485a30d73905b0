//! The disk of a machine before its first start.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

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
    if let Some(instance) = &options.instance {
        instance.write(&scripts)?;
    }
    for (path, content) in &options.files {
        let path = scripts.join("files").join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap_or(&scripts))?;
        fs::write(path, content)?;
    }
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
