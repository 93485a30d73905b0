//! The inputs that a campaign begins with.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The largest file that is taken into a corpus.
const LARGEST: u64 = 256 << 10;

/// The folder of the workspace.
#[must_use]
pub fn workspace() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own)
}

/// Every file below some folders of the workspace that a rule accepts, in order. Findings of earlier
/// campaigns are in `fixtures/fuzz/<target>` and always included.
///
/// # Errors
/// When a folder cannot be read.
pub fn files(folders: &[&str], takes: impl Fn(&Path) -> bool) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| workspace().join(folder)).collect();
    while let Some(folder) = open.pop() {
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if takes(&path) && path.metadata()?.len() <= LARGEST {
                found.push(path);
            }
        }
    }
    found.sort();
    found.into_iter().map(|path| Ok((path.clone(), fs::read(&path)?))).collect()
}

/// Whether a path ends with one of these.
pub(crate) fn ends(path: &Path, endings: &[&str]) -> bool {
    let name = path.to_string_lossy();
    endings.iter().any(|ending| name.ends_with(ending))
}
