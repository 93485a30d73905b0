//! Clusters of kOps: created in moto through AWS' own APIs from the cases, found, and adopted. The first plan
//! is empty.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use slipway_testkit::{Moto, share};

use crate::cloud::Object;
use crate::several::each;
use crate::world::World;

/// Makes a cluster as kOps does.
const MAKER: &str = concat!(
    include_str!("kops/account.py"),
    include_str!("kops/values.py"),
    include_str!("kops/network.py"),
    include_str!("kops/identities.py"),
    include_str!("kops/machines.py"),
    include_str!("kops/balance.py"),
    include_str!("kops/services.py"),
    include_str!("kops/make.py"),
);

/// The folder of the cases; without it these tests are ignored, and say so.
pub const CASES: &str = "SLIPWAY_CASES";

fn cases() -> Result<Vec<PathBuf>> {
    let folder = std::env::var_os(CASES).map(PathBuf::from).context("SLIPWAY_CASES is not set")?;
    let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut cases: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    cases.retain(|case| case.join("expected.json").is_file());
    cases.sort();
    ensure!(!cases.is_empty(), "no cases in {}", folder.display());
    let name = |case: &Path| case.file_name().unwrap_or_default().to_string_lossy().into_owned();
    cases.retain(|case| share::has(&name(case)));
    Ok(cases)
}

/// The kOps cluster of each case is adopted, and deleted like one of our own.
pub fn every_case() -> Result<()> {
    each(&cases()?, |world, case| adopts(world, case).with_context(|| case.display().to_string()))
}

/// The cluster of each case is created, has an empty plan, and is deleted.
pub fn every_case_made() -> Result<()> {
    each(&cases()?, |world, case| lives(world, case).with_context(|| case.display().to_string()))
}

/// Makes a case's account, and with `whole` also its cluster; how many resources that has.
fn prepare(world: &World, case: &Path, whole: bool) -> Result<usize> {
    // The case has zones of its own.
    world.cloud.reset()?;
    let script = world.place().write("kops.py", MAKER)?;
    let mut command = Command::new(Moto::install()?);
    command.arg(script).arg(world.cloud.moto().endpoint()).arg(case).arg(world.place().path());
    if !whole {
        command.arg("account");
    }
    let made = command.output()?;
    ensure!(made.status.success(), "the cluster is not made: {}", String::from_utf8_lossy(&made.stderr));
    Ok(String::from_utf8(made.stdout)?.trim().parse()?)
}

/// Sees that there is what the account had before, and nothing else.
fn is_account(world: &World) -> Result<()> {
    let account = std::fs::read(world.place().path().join("account.json"))?;
    let account: Vec<Object> = serde_json::from_slice(&account)?;
    let objects = world.cloud.objects()?;
    let left: Vec<&Object> = objects.iter().filter(|object| !account.contains(object)).collect();
    let gone: Vec<&Object> = account.iter().filter(|object| !objects.contains(object)).collect();
    ensure!(left.is_empty() && gone.is_empty(), "left: {left:#?}, gone: {gone:#?}");
    Ok(())
}

fn adopts(world: &World, case: &Path) -> Result<()> {
    let count = prepare(world, case, true)?;
    let before = world.cloud.objects()?;
    world.expect(2, &["adopt", "-f", "spec.yaml", "--dry-run"])?;
    let told = world.expect(0, &["adopt", "-f", "spec.yaml", "--yes"])?;
    ensure!(told.out.contains(&format!("Found {count} resources")), "not {count}: {}", told.out);
    ensure!(world.cloud.objects()? == before, "taking over has changed the cloud");

    world.is_settled().context("the first plan")?;
    world.delete()?;
    is_account(world)
}

fn lives(world: &World, case: &Path) -> Result<()> {
    prepare(world, case, false)?;
    world.apply()?;
    world.is_settled()?;
    world.delete()?;
    is_account(world)
}
