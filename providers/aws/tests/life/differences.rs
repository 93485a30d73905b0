//! A cluster that Slipway creates from a spec of kOps differs from the one of kOps only as the documentation lists it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use slipway_testkit::Moto;

use crate::recorded::{Key, recordings, replay};
use crate::world::{APPLY, World};

/// Prints the objects of a cloud.
const ATTRIBUTES: &str = include_str!("attributes.py");
/// The page with the table of differences.
const PAGE: &str = include_str!("../../../../docs/design/aws-provider.md");
/// The heading above the table.
const HEADING: &str = "\n## Differences from clusters of kOps\n";
/// The bucket that the recorded specs name.
const BUCKET: &str = "bkt1";
/// The least number of objects of a cluster.
const LEAST: usize = 40;

/// Values by path, by the type and the name of their object.
type Objects = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// Each recorded cluster of kOps is compared with a cluster of Slipway from the same spec. The table has every difference, and no other.
pub fn from_kops_are_listed() -> Result<()> {
    let mut found = BTreeSet::new();
    for recording in recordings()? {
        let world = World::new()?;
        replay(&world, &recording, Key::LeftOut)?;
        let of_kops = objects(&world)?;
        world.cloud.reset()?;
        world.cloud.moto().create_bucket(BUCKET)?;
        world.expect(0, APPLY)?;
        let own = objects(&world)?;
        ensure!(of_kops.len() >= LEAST && own.len() >= LEAST, "{} and {} objects", of_kops.len(), own.len());
        found.extend(differences(&of_kops, &own));
    }
    let listed = listed()?;
    let unlisted: Vec<&String> = found.difference(&listed).collect();
    let outdated: Vec<&String> = listed.difference(&found).collect();
    ensure!(
        unlisted.is_empty() && outdated.is_empty(),
        "not in docs/design/aws-provider.md: {unlisted:#?}, only there: {outdated:#?}"
    );
    Ok(())
}

/// The objects of the world's cloud.
fn objects(world: &World) -> Result<Objects> {
    let script = world.place().write("attributes.py", ATTRIBUTES)?;
    let mut command = Command::new(Moto::install()?);
    let read = command.arg(script).arg(world.cloud.moto().endpoint()).output()?;
    ensure!(read.status.success(), "not read: {}", String::from_utf8_lossy(&read.stderr));
    serde_json::from_slice(&read.stdout).context("not readable")
}

/// The types that one cluster alone has an object of, and the attributes that differ, each after its type.
fn differences(left: &Objects, right: &Objects) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    for name in names {
        let kind = name.split(' ').next().unwrap_or_default();
        let (Some(one), Some(other)) = (left.get(name), right.get(name)) else {
            // Objects in a bucket have the names of their folders.
            found.insert(if kind == "object" { name.clone() } else { kind.to_owned() });
            continue;
        };
        let paths: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        let differing = paths.into_iter().filter(|path| one.get(*path) != other.get(*path));
        found.extend(differing.map(|path| format!("{kind} {path}")));
    }
    found
}

/// The differences in the first column of the table.
fn listed() -> Result<BTreeSet<String>> {
    let section = PAGE.split_once(HEADING).context("no table of differences")?.1;
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    Ok(cells.flat_map(|cell| cell.split('`').step_by(2)).map(str::to_owned).collect())
}
