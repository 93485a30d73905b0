//! A disk that is full: no state and no plan is lost, the error names the reason, and with room the next run continues.
//!
//! The disks are small file systems in memory, so these tests need root.

#![cfg(test)]

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail, ensure};
use slipway_integration::place::{Ended, Place};

const PROGRAM: &str = env!("CARGO_BIN_EXE_slipway-under-test");
const SMALL: &str = include_str!("../it/small.yaml");
const PLAN: &[&str] = &["plan", "-f", "spec.yaml"];
const APPLY: &[&str] = &["apply", "-f", "spec.yaml", "--yes"];

/// The unit in which the file system gives room, in bytes.
const PAGE: usize = 4 << 10;

/// A disk of 4 MiB. It is unmounted with this value.
struct Disk(PathBuf);

impl Disk {
    fn mount(path: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(&path)?;
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=4m", "slipway-test"]).arg(&path);
        ensure!(command.status()?.success(), "this test mounts a file system: it needs root");
        Ok(Self(path))
    }

    /// Fills the disk, except for some pages.
    fn fill(&self, free: usize) -> Result<Filler> {
        let filler = Filler(self.0.join("filler"));
        let mut file = File::create(&filler.0)?;
        let mut pages = 0_usize;
        loop {
            match file.write_all(&[0; PAGE]) {
                Ok(()) => pages += 1,
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => bail!("the disk cannot be filled: {error}"),
            }
        }
        ensure!(pages > free, "the disk has only {pages} free pages");
        file.set_len(((pages - free) * PAGE).try_into()?)?;
        Ok(filler)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// The file that fills the disk. It is removed with this value.
struct Filler(PathBuf);

impl Drop for Filler {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The small cluster with another address range for each number.
fn spec(number: usize) -> String {
    let network = format!("zones: [sim-1a]\n  network: {{ additionalCidrs: [10.{number}.0.0/16] }}");
    SMALL.replace("zones: [sim-1a]", &network)
}

fn names_the_full_disk(ended: &Ended, code: &str) -> Result<()> {
    ensure!(ended.code == Some(1), "{ended:?}");
    for part in [code, "No space left on device"] {
        ensure!(ended.err.contains(part), "the error does not contain `{part}`: {}", ended.err);
    }
    Ok(())
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The number of free pages decides which write of the run is the first that fails: that of the head, of the journal, of the
/// snapshot, or of the commit.
#[test]
#[ignore = "needs root and namespaces"]
fn a_run_without_room_for_its_state_loses_nothing() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let disk = Disk::mount(place.state())?;
    place.write("spec.yaml", SMALL)?;
    place.expect(0, APPLY)?;
    let rooms = [0, 1, 2, 3, 4, 6, 8, 40];
    let mut failed = Vec::new();
    for (number, free) in (1..).zip(rooms) {
        place.write("spec.yaml", &spec(number))?;
        let filler = disk.fill(free)?;
        let ended = place.run(APPLY)?;
        if ended.code != Some(0) {
            names_the_full_disk(&ended, "STATE0008")?;
            ensure!(ended.err.contains("hint: make room where the state is stored"), "{}", ended.err);
            failed.push(free);
        }
        // Reading needs no room.
        let planned = place.run(PLAN)?;
        ensure!(matches!(planned.code, Some(0 | 2)), "{free} pages: {planned:?}");
        drop(filler);
        place.expect(0, &["state", "verify", "line"])?;
        place.expect(0, APPLY)?;
        place.expect(0, PLAN)?;
        ensure!(place.inventory()?.doubled().is_empty(), "{free} pages: objects are doubled");
    }
    ensure!(failed.len() >= 4 && failed.contains(&0) && !failed.contains(&40), "{failed:?}");
    let history = place.expect(0, &["state", "history", "line"])?.out;
    let rows = |outcome: &str| {
        history.lines().filter(|line| line.split_whitespace().any(|word| word == outcome)).count()
    };
    ensure!(rows("complete") == rooms.len() + 1, "{history}");
    // A run that could not take the cluster did nothing that could be told.
    ensure!(rows("interrupted") >= 2, "{history}");
    // A deletion ends in the same way.
    let delete = &["delete", "line", "--confirm", "line", "--yes"];
    let filler = disk.fill(0)?;
    names_the_full_disk(&place.run(delete)?, "STATE0008")?;
    drop(filler);
    place.expect(0, delete)?;
    ensure!(place.inventory()?.of_type("sim_network").next().is_none(), "the network is left");
    Ok(())
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_plan_without_room_for_its_file_leaves_the_one_before() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let folder = place.path().join("small");
    let disk = Disk::mount(folder.clone())?;
    let written = |name: &str| place.run(&[PLAN, &["--out", name]].concat());
    place.write("spec.yaml", SMALL)?;
    let planned = written("small/a.plan")?;
    ensure!(planned.code == Some(2), "{planned:?}");
    let before = std::fs::read(folder.join("a.plan"))?;
    let filler = disk.fill(0)?;
    place.write("spec.yaml", &spec(1))?;
    for name in ["small/a.plan", "small/b.plan"] {
        names_the_full_disk(&written(name)?, "CLI0001")?;
    }
    ensure!(names(&folder)? == ["a.plan", "filler"], "{:?}", names(&folder)?);
    drop(filler);
    ensure!(std::fs::read(folder.join("a.plan"))? == before, "the plan is another one");
    place.expect(0, &["apply", "small/a.plan", "--yes"])?;
    Ok(())
}
