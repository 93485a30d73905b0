//! The program is killed at every write to its state; the next run must end as if nothing had happened.
//!
//! A write is a segment of the journal, a snapshot or the head. Between two writes, nothing durable changes
//! in the state. So a kill right before and right after each write meets every state that a crash can leave.
//! The objects are compared by the cloud's inventory, never by Slipway's state.

use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use slipway_integration::place::{Ended, Place};

use crate::PROGRAM;

/// How many kills of one scenario run without `SLIPWAY_CRASH=all`.
const SAMPLE: usize = 12;

/// Calls that fail after their effect, so that the answer is lost, in every run of a scenario.
const FAULTS: &str = r#"[
  {"method": "create", "probability": 0.15, "kind": "fail-after", "class": "outcome-unknown"},
  {"method": "delete", "probability": 0.15, "kind": "fail-after", "class": "transient"},
  {"method": "update", "probability": 0.15, "kind": "fail-before", "class": "transient"}
]"#;

/// One change of a cluster's life.
struct Scenario {
    name: &'static str,
    /// The arguments of an earlier run, which is not interrupted.
    before: Option<String>,
    /// The interrupted run: its spec and its arguments.
    spec: String,
    arguments: &'static [&'static str],
}

// On other hosts, a killed holder is replaced when its lease has ended.
pub(crate) const APPLY: &[&str] = &["apply", "-f", "spec.yaml", "--yes", "--wait", "1m"];
/// Confirms the pool whose data disks are deleted with their machines.
const ROLL: &[&str] =
    &["apply", "-f", "spec.yaml", "--yes", "--wait", "1m", "--confirm", "sim_machine_pool.databases"];
/// The same for a cluster without such a pool.
const ROLL_WITHOUT_DATA: &[&str] = &["apply", "-f", "spec.yaml", "--wait", "1m", "--yes"];
/// Confirms all clusters of these tests, whose etcd is deleted.
#[rustfmt::skip]
pub(crate) const DELETE: &[&str] = &[
    "delete", "-f", "spec.yaml", "--yes", "--delete-backups", "--wait", "1m", "--confirm", "crash", "--confirm",
    "single-host", "--confirm", "ipv6", "--confirm", "spot", "--confirm", "ha-private",
];

/// Makes a place for a run.
type MakePlace = fn() -> Result<Place>;

fn on_files() -> Result<Place> {
    Place::new(PROGRAM)
}

/// The store is checked in advance, because the check takes longer than a short lease.
pub(crate) fn on_s3() -> Result<Place> {
    let place = Place::on_s3(PROGRAM)?;
    place.expect(0, &["state", "init"])?;
    Ok(place)
}

/// A call of the program, with leases of two seconds where they have to run out.
pub(crate) fn command(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    if place.bucket().is_some() {
        command.env("SLIPWAY_TEST_TERM", "2");
    }
    command
}

/// The life of a cluster: create, change, roll, upgrade, delete.
fn life(spec: &str, changed: &str, rolled: &str) -> Vec<Scenario> {
    let step = |name, before: Option<&str>, spec: &str, arguments| Scenario {
        name,
        before: before.map(str::to_owned),
        spec: spec.to_owned(),
        arguments,
    };
    let roll = if rolled.contains("name: databases") { ROLL } else { ROLL_WITHOUT_DATA };
    vec![
        step("create", None, spec, APPLY),
        step("update", Some(spec), changed, APPLY),
        step("rollout", Some(spec), rolled, roll),
        step("delete", Some(spec), spec, DELETE),
    ]
}

/// Runs every kill of every scenario.
fn survive(name: &str, scenarios: &[Scenario], make: MakePlace, sample: usize) -> Result<()> {
    for scenario in scenarios {
        survive_one(scenario, make, sample).with_context(|| format!("{name}: {}", scenario.name))?;
    }
    Ok(())
}

fn survive_one(scenario: &Scenario, make: MakePlace, sample: usize) -> Result<()> {
    let start = make()?;
    if let Some(before) = &scenario.before {
        start.write("spec.yaml", before)?;
        start.expect(0, APPLY)?;
    }
    let undisturbed = make()?;
    undisturbed.copy_from(&start)?;
    undisturbed.write("spec.yaml", &scenario.spec)?;
    let count = undisturbed.path().join("count");
    let ended =
        Ended::of(command(&undisturbed, scenario.arguments).env("SLIPWAY_TEST_COUNT", &count).output()?)?;
    ensure!(ended.code == Some(0), "undisturbed: {ended:?}");
    let writes: usize = std::fs::read_to_string(&count)?.parse()?;
    let wanted = shape(&undisturbed)?;
    let all = std::env::var("SLIPWAY_CRASH").is_ok_and(|value| value == "all");
    let stride = if all { 1 } else { (writes * 2).div_ceil(sample).max(1) };
    for kill in (0..writes * 2).step_by(stride) {
        let moment = if kill % 2 == 0 { "before" } else { "after" };
        let place = make()?;
        place.copy_from(&start)?;
        one_kill(&place, scenario, kill / 2, moment, &wanted)
            .with_context(|| format!("killed {moment} write {} of {writes}", kill / 2))?;
    }
    Ok(())
}

/// Kills one run, kills the run that recovers, and wants the third to end as the undisturbed one did.
fn one_kill(place: &Place, scenario: &Scenario, write: usize, moment: &str, wanted: &[String]) -> Result<()> {
    place.write("spec.yaml", &scenario.spec)?;
    place.write(".slipway/sim/faults.json", FAULTS)?;
    let killed = |command: &mut Command, at: String| -> Result<Option<i32>> {
        Ok(command.env("SLIPWAY_TEST_KILL", at).output()?.status.code())
    };
    let first = killed(&mut command(place, scenario.arguments), format!("{write}:{moment}"))?;
    // Group commit depends on timing: a run may need fewer writes than the undisturbed one did.
    ensure!(matches!(first, None | Some(0)), "the killed run ended with {first:?}");
    let arguments = recovering(place, scenario)?;
    killed(&mut command(place, &arguments), format!("{}:{moment}", 1 + write % 5))?;
    let arguments = recovering(place, scenario)?;
    let last = Ended::of(command(place, &arguments).output()?)?;
    ensure!(last.code == Some(0), "the last run: {last:?}");
    std::fs::remove_file(place.cloud().join("faults.json"))?;
    let found = shape(place)?;
    if found != wanted {
        let missing: Vec<&String> = wanted.iter().filter(|line| !found.contains(line)).collect();
        let extra: Vec<&String> = found.iter().filter(|line| !wanted.contains(line)).collect();
        bail!("the cloud is not as it should be: missing {missing:?}, extra {extra:?}");
    }
    if scenario.arguments == APPLY {
        let plan = place.run(&["plan", "-f", "spec.yaml"])?;
        ensure!(plan.code == Some(0), "a plan is left: {}", plan.out);
    }
    Ok(())
}

/// The command after a crash: the same again.
fn recovering<'a>(_place: &Place, scenario: &Scenario) -> Result<Vec<&'a str>> {
    Ok(scenario.arguments.to_vec())
}

/// The objects in the cloud, without the identities that the cloud assigned.
pub(crate) fn shape(place: &Place) -> Result<Vec<String>> {
    let inventory = place.inventory()?;
    ensure!(inventory.doubled().is_empty(), "doubled: {:?}", inventory.doubled());
    let mut lines: Vec<String> = inventory
        .objects
        .iter()
        .map(|object| {
            let owner = object.owner.as_ref().map(|tags| tags.address.to_string()).unwrap_or_default();
            format!("{} {owner}", object.kind)
        })
        .collect();
    let machines = inventory.machines.iter().map(|machine| {
        let pool = inventory.objects.iter().find(|object| object.id == machine.pool);
        let pool = pool.and_then(|pool| pool.owner.as_ref()).map(|tags| tags.address.to_string());
        // Whether it gets ready; when is a matter of the cloud's own time.
        let ready = machine.ready_at.is_some();
        format!(
            "machine of {pool:?} {} {} ready={ready} cordoned={}",
            machine.image, machine.kubernetes_version, machine.cordoned
        )
    });
    lines.extend(machines);
    lines.sort();
    Ok(lines)
}

/// A small cluster whose life has every kind of step.
pub(crate) const SMALL: &str = "\
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata:
  name: crash
spec:
  provider:
    name: sim
  region: sim-1
  kubernetesVersion: 1.34.2
  zones: [sim-1a]
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata:
  name: control-plane
spec:
  role: controlPlane
  machineType: sim.medium
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata:
  name: workers
spec:
  machineType: sim.medium
  image: image-1
  size:
    fixed: 2
";

#[test]
fn small_cluster() -> Result<()> {
    let changed = SMALL.replace("zones: [sim-1a]", "zones: [sim-1a, sim-1b]");
    let rolled = SMALL.replace("image-1", "image-2");
    survive("small", &life(SMALL, &changed, &rolled), on_files, SAMPLE)
}

#[test]
fn small_cluster_with_its_state_on_s3() -> Result<()> {
    let changed = SMALL.replace("zones: [sim-1a]", "zones: [sim-1a, sim-1b]");
    let rolled = SMALL.replace("image-1", "image-2");
    survive("small on S3", &life(SMALL, &changed, &rolled), on_s3, SAMPLE / 6)
}

/// One of the examples, with a change that updates and one that rolls every machine.
fn example(text: &[&str]) -> Result<()> {
    let spec = text.join("\n---\n").replace("deletionProtection: true", "deletionProtection: false");
    let version = spec
        .lines()
        .find_map(|line| line.trim().strip_prefix("kubernetesVersion: "))
        .context("the example's version")?
        .to_owned();
    let (minor, patch) = version.rsplit_once('.').context("a version")?;
    let patched = format!("{minor}.{}", patch.parse::<u32>()? + 1);
    let rolled = spec.replace(&version, &patched);
    let changed = spec.replacen("\nspec:\n", "\nspec:\n  sysctls: { vm.max_map_count: \"262144\" }\n", 1);
    survive("example", &life(&spec, &changed, &rolled), on_files, SAMPLE / 3)
}

#[test]
fn single_host() -> Result<()> {
    example(&[include_str!("../../../specs/single-host/cluster.yaml")])
}

#[test]
fn ipv6() -> Result<()> {
    example(&[include_str!("../../../specs/ipv6/cluster.yaml")])
}

#[test]
fn spot() -> Result<()> {
    example(&[
        include_str!("../../../specs/spot/cluster.yaml"),
        include_str!("../../../specs/spot/pools.yaml"),
    ])
}

#[test]
fn ha_private() -> Result<()> {
    example(&[
        include_str!("../../../specs/ha-private/cluster.yaml"),
        include_str!("../../../specs/ha-private/pools.yaml"),
    ])
}
