//! Room on the disk for a run of the tests.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use slipway_testkit::cache;

use crate::output::say;
use crate::workspace::target;

const GIB: u64 = 1 << 30;

/// What the build of everything takes in the folder of build products, in bytes.
const BUILD: u64 = 15 * GIB;

/// What the components take in the user's cache folder, in bytes.
const COMPONENTS: u64 = 6 * GIB;

/// What a run takes at least, in bytes, also where everything is built and installed: machines of several tests at a time
/// have their disks in the cache folder, and a machine refuses to take a backup of etcd with less than 1 GiB free.
const LEAST: u64 = 4 * GIB;

/// Says how much of the disk is free and how much the whole takes.
///
/// # Errors
/// When a disk has less than a run takes at least.
pub fn check() -> Result<()> {
    for (folder, takes, what) in
        [(target(), BUILD, "the whole build"), (cache::folder()?, COMPONENTS, "all components")]
    {
        let free = cache::free_space(&existing(&folder))?;
        say(&format!("disk: {}; from clean, {what} takes about {}", shown(&folder, free), gib(takes)));
        ensure_enough(&folder, free)?;
    }
    Ok(())
}

/// # Errors
/// When less is free than a run takes at least.
fn ensure_enough(folder: &Path, free: u64) -> Result<()> {
    ensure!(
        free >= LEAST,
        "{}: the tests need at least {}. Remove builds that you do not need, for example with `cargo clean`; `cargo \
         xtask setup` removes components of earlier builds",
        shown(folder, free),
        gib(LEAST)
    );
    Ok(())
}

fn shown(folder: &Path, free: u64) -> String {
    format!("{} free for {}", gib(free), folder.display())
}

/// With one digit after the point, rounded down: what is missing is never hidden by the rounding.
fn gib(bytes: u64) -> String {
    format!("{}.{} GiB", bytes / GIB, bytes % GIB * 10 / GIB)
}

/// The folder, or the nearest one above it that exists.
fn existing(folder: &Path) -> PathBuf {
    let above = folder.ancestors().find(|above| above.exists());
    // The name of a relative folder has only an empty one above it.
    above.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_begins_only_with_room_for_its_machines() {
        ensure_enough(Path::new("/w/target"), LEAST).unwrap();
        let refused = ensure_enough(Path::new("/w/target"), LEAST - 1).unwrap_err().to_string();
        assert!(
            refused.starts_with("3.9 GiB free for /w/target: the tests need at least 4.0 GiB."),
            "{refused}"
        );
        assert!(refused.contains("`cargo clean`") && refused.contains("`cargo xtask setup`"), "{refused}");
    }

    #[test]
    fn a_folder_that_does_not_exist_yet_is_on_the_disk_of_the_one_above() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(existing(&folder.path().join("not/there")), folder.path());
        assert!(cache::free_space(&existing(&folder.path().join("not/there"))).unwrap() > 0);
        assert_eq!(existing(Path::new("not/there")), Path::new("."));
    }
}
