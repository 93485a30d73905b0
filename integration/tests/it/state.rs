//! The commands of the state: their output, their changes, and what they must not change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::{Ended, Place};
use slipway_provider_sim::inspect::Tamper;
use slipway_resource::Address;

use crate::{APPLY, PROGRAM, SMALL};

/// The spec with other pod addresses, which is one change.
pub(crate) fn larger() -> String {
    SMALL.replace("sim.medium", "sim.large")
}

/// A place with a cluster.
pub(crate) fn applied() -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    place.expect(0, APPLY)?;
    Ok(place)
}

/// Runs the program as this actor.
pub(crate) fn run_as(place: &Place, who: &str, arguments: &[&str]) -> Result<Ended> {
    Ended::of(place.command(arguments).env("SLIPWAY_ACTOR", who).output()?)
}

pub(crate) fn json(place: &Place, arguments: &[&str]) -> Result<Json> {
    let ended = place.expect(0, &[arguments, &["-o", "json"]].concat())?;
    serde_json::from_str(&ended.out).with_context(|| ended.out.clone())
}

/// Every file below a folder, with its bytes.
pub(crate) fn tree(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.clone(), std::fs::read(&path)?);
            }
        }
    }
    Ok(found)
}

/// The actions of a plan, by address.
fn actions(place: &Place) -> Result<BTreeMap<String, Json>> {
    let ended = place.run(&["plan", "-f", "spec.yaml", "-o", "json"])?;
    let plan: Json = serde_json::from_str(&ended.out).with_context(|| ended.err.clone())?;
    let changes = plan["resource_changes"].as_array().context("changes")?;
    Ok(changes
        .iter()
        .map(|change| {
            let address = change["address"].as_str().unwrap_or_default().to_owned();
            (address, change["change"]["actions"].clone())
        })
        .collect())
}

#[test]
fn every_generation_says_who_made_it_by_which_plan_and_how_it_ended() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    let plan = place.expect(2, &["plan", "-f", "spec.yaml", "-o", "json"])?;
    ensure!(run_as(&place, "ada", APPLY)?.code == Some(0));
    place.write("spec.yaml", &larger())?;
    ensure!(run_as(&place, "bob@example.com", APPLY)?.code == Some(0));
    place.write("spec.yaml", SMALL)?;
    let fault = r#"[{"method": "update", "kind": "fail-before", "class": "permanent"}]"#;
    place.write(".slipway/sim/faults.json", fault)?;
    ensure!(run_as(&place, "eve", APPLY)?.code == Some(1));

    let history = json(&place, &["state", "history", "line"])?;
    let told: Vec<_> = history["generations"]
        .as_array()
        .context("generations")?
        .iter()
        .map(|entry| (entry["generation"].clone(), entry["who"].clone(), entry["outcome"].clone()))
        .collect();
    ensure!(told.len() == 2, "{history}");
    ensure!(told[0] == (2.into(), "bob@example.com".into(), "complete".into()), "{told:?}");
    ensure!(told[1].0 == 1 && told[1].1.as_str().is_some_and(|who| who.starts_with("ada@")), "{told:?}");
    let plan: Json = serde_json::from_str(&plan.out)?;
    ensure!(history["generations"][1]["plan"] == plan["digest"], "{history}");
    ensure!(history["generations"][1]["about"]["version"] == "1.35.2", "{history}");
    ensure!(history["unfinished"]["outcome"] == "failed", "{history}");
    ensure!(history["unfinished"]["who"].as_str().is_some_and(|who| who.starts_with("eve@")), "{history}");
    let text = place.expect(0, &["state", "history", "line"])?.out;
    ensure!(text.lines().count() == 4 && text.contains("bob@example.com"), "{text}");
    let newest = place.expect(0, &["state", "history", "line", "--limit", "1"])?.out;
    ensure!(newest.lines().count() == 3, "{newest}");
    // The list of clusters tells of the run that failed, until one is through.
    let clusters = json(&place, &["get", "clusters"])?;
    ensure!(clusters["clusters"][0]["last_run"]["outcome"] == "failed", "{clusters}");
    std::fs::remove_file(place.path().join(".slipway/sim/faults.json"))?;
    place.expect(0, APPLY)?;
    let clusters = json(&place, &["get", "clusters"])?;
    ensure!(clusters["clusters"][0]["last_run"]["outcome"] == "complete", "{clusters}");
    Ok(())
}

#[test]
fn addresses_and_what_they_have_now_and_then() -> Result<()> {
    let place = applied()?;
    let all = place.expect(0, &["state", "list", "line"])?.out;
    ensure!(all.lines().collect::<Vec<_>>().is_sorted() && all.contains("sim_network.main\n"), "{all}");
    let some = place.expect(0, &["state", "list", "line", "sim_subnet.*"])?.out;
    ensure!(some.lines().count() > 0 && some.lines().all(|line| line.starts_with("sim_subnet.")), "{some}");
    let missing = place.expect(1, &["state", "list", "line", "sim_subnet.x"])?.err;
    ensure!(missing.contains("CLI0031") && missing.contains("state list line"), "{missing}");
    ensure!(place.expect(1, &["state", "list", "other"])?.err.contains("CLI0009"));

    place.write("spec.yaml", &larger())?;
    place.expect(0, APPLY)?;
    let address = "sim_machine_pool.control-plane";
    let now = place.expect(0, &["state", "show", "line", address])?.out;
    let then = place.expect(0, &["state", "show", "line", address, "--generation", "1"])?.out;
    ensure!(now.contains("sim.large") && then.contains("sim.medium"), "{now}\n{then}");
    let shown = json(&place, &["state", "show", "line", address])?;
    ensure!(shown["resources"][0]["applied"]["machine_type"] == "sim.large", "{shown}");
    let never = place.expect(1, &["state", "show", "line", "--generation", "7"])?.err;
    ensure!(never.contains("STATE0040"), "{never}");

    let diff = place.expect(0, &["state", "diff", "line", "1", "2"])?.out;
    ensure!(diff.contains("sim.medium") && diff.contains("sim.large"), "{diff}");
    ensure!(diff.contains("generation 1 to generation 2: 0 created") && !diff.contains("forces"), "{diff}");
    let diff = json(&place, &["state", "diff", "line", "2", "1"])?;
    let changed = &diff["resource_changes"];
    ensure!(changed[0]["change"]["after"]["machine_type"] == "sim.medium", "{diff}");
    ensure!(diff["spec_changes"][0]["field"].as_str().is_some_and(|field| field.contains("pools")), "{diff}");
    let none = place.expect(0, &["state", "diff", "line", "2"])?.out;
    ensure!(none.contains("nothing differs"), "{none}");
    Ok(())
}

#[test]
fn a_moved_record_takes_its_object_along() -> Result<()> {
    let place = applied()?;
    let (from, to) = ("sim_network.main", "sim_network.other");
    let moved = place.expect(0, &["state", "mv", "line", from, to, "--yes"])?;
    ensure!(moved.out.contains("generation 2") && moved.err.contains("tags"), "{moved:?}");
    ensure!(place.expect(1, &["state", "mv", "line", from, to, "--yes"])?.err.contains("CLI0031"));
    ensure!(place.expect(1, &["state", "mv", "line", to, "sim_subnet.x", "--yes"])?.err.contains("CLI0032"));
    let taken =
        place.expect(1, &["state", "mv", "line", "sim_workload.cni", "sim_workload.coredns", "--yes"])?;
    ensure!(taken.err.contains("CLI0032"), "{taken:?}");
    place.expect(0, &["state", "mv", "line", to, from, "--yes"])?;
    place.expect(0, &["plan", "-f", "spec.yaml"])?;

    // The record is at the address of the spec, and the object's tags name the old address: the next plan
    // changes the tags.
    let inventory = place.inventory()?;
    let address: Address = from.parse()?;
    let object = inventory.at(&address).first().map(|object| (object.id.clone(), object.owner.clone()));
    let (id, owner) = object.context("the network")?;
    let mut owner = owner.context("its owner")?;
    owner.address = to.parse()?;
    Tamper::open(place.cloud()).set_owner(&id, Some(owner))?;
    let plan = place.expect(2, &["plan", "-f", "spec.yaml"])?.out;
    ensure!(plan.contains("1 to rename") && plan.contains("0 to create"), "{plan}");
    ensure!(plan.contains("0 to delete"), "{plan}");
    place.expect(0, APPLY)?;
    ensure!(place.inventory()?.at(&address).iter().any(|object| object.id == id), "the tags are as before");
    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    Ok(())
}

#[test]
fn what_is_forgotten_is_taken_over_again_when_wanted_and_left_alone_when_not() -> Result<()> {
    let place = applied()?;
    let address = "sim_workload.metrics-server";
    let asked = place.expect(1, &["state", "rm", "line", address])?.err;
    ensure!(asked.contains("CLI0014") && asked.contains(address), "{asked}");
    let before = place.inventory()?.objects.len();
    place.expect(0, &["state", "rm", "line", address, "--yes"])?;
    ensure!(place.inventory()?.objects.len() == before, "the cloud was touched");
    // The spec has the object: it is recorded again, and not created twice.
    let found = actions(&place)?;
    ensure!(found.len() == 1 && found[address] == serde_json::json!(["no-op"]), "{found:?}");
    place.expect(0, APPLY)?;
    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    ensure!(place.inventory()?.objects.len() == before);

    place.expect(0, &["state", "rm", "line", address, "--yes"])?;
    let shown = place.expect(0, &["state", "show", "line"])?.out;
    ensure!(shown.contains(&format!("forgotten: {address}")), "{shown}");
    let deleted = place.expect(0, &["delete", "line", "--yes", "--confirm", "line", "--delete-backups"])?;
    ensure!(deleted.out.contains("was forgotten"), "{deleted:?}");
    let left: Vec<String> = place.inventory()?.objects.iter().map(|object| object.kind.clone()).collect();
    ensure!(left == ["sim_workload"], "{left:?}");
    Ok(())
}

#[test]
fn garbage_is_what_the_retention_does_not_keep() -> Result<()> {
    let place = applied()?;
    for spec in [larger(), SMALL.to_owned(), larger()] {
        place.write("spec.yaml", &spec)?;
        place.expect(2, &["plan", "-f", "spec.yaml", "--out", "state:"])?;
        place.expect(0, APPLY)?;
    }
    place.write("spec.yaml", SMALL)?;
    place.expect(2, &["plan", "-f", "spec.yaml", "--out", "state:"])?;
    let plans = || -> Result<usize> { Ok(std::fs::read_dir(place.state().join("line/plans"))?.count()) };
    ensure!(plans()? == 4);
    let before = tree(&place.state())?;
    let dry = place.expect(2, &["state", "gc", "--keep", "1", "--dry-run"])?.out;
    ensure!(dry.contains("2 snapshots") && dry.contains("Would remove"), "{dry}");
    ensure!(tree(&place.state())? == before, "a dry run writes");
    ensure!(place.expect(1, &["state", "gc", "--keep", "1"])?.err.contains("CLI0014"));
    // Young snapshots are kept, however many there are.
    let young = place.run(&["state", "gc", "line", "--keep-days", "1", "--dry-run"])?.out;
    ensure!(!young.contains(" snapshots"), "{young}");
    place.write("config/slipway/config.toml", "[retention]\nkeep = 3\n")?;
    ensure!(!place.run(&["state", "gc", "line", "--dry-run"])?.out.contains(" snapshots"));
    place.expect(0, &["state", "gc", "--keep", "1", "--yes"])?;
    place.expect(0, &["state", "gc", "--keep", "1", "--dry-run"])?;

    let gone = place.expect(1, &["state", "show", "line", "--generation", "2"])?.err;
    ensure!(gone.contains("STATE0041"), "{gone}");
    place.expect(0, &["state", "show", "line", "--generation", "3"])?;
    ensure!(
        json(&place, &["state", "history", "line"])?["generations"]
            .as_array()
            .is_some_and(|all| all.len() == 4)
    );
    // Kept are the plan for the present generation, and the plans for and of a kept generation.
    ensure!(plans()? == 3, "{}", plans()?);
    place.expect(0, &["state", "verify"])?;
    place.expect(2, &["plan", "-f", "spec.yaml"])?;
    Ok(())
}

#[test]
fn a_removed_history_is_noticed() -> Result<()> {
    let place = applied()?;
    for spec in [larger(), SMALL.to_owned()] {
        place.write("spec.yaml", &spec)?;
        place.expect(0, APPLY)?;
    }
    ensure!(!place.expect(0, &["state", "history", "line"])?.out.contains("Missing"));
    place.expect(0, &["state", "verify"])?;
    std::fs::remove_dir_all(place.state().join("line/history"))?;
    let verified = place.expect(1, &["state", "verify"])?.out;
    ensure!(verified.contains("the records of the generations 1 to 2 are missing"), "{verified}");
    let told = place.expect(0, &["state", "history", "line"])?.out;
    ensure!(told.contains("Missing: generations 1 to 2."), "{told}");
    let missing = json(&place, &["state", "history", "line"])?["missing"].clone();
    ensure!(missing == serde_json::json!([{ "first": 1, "last": 2 }]), "{missing}");
    Ok(())
}

#[test]
fn every_damaged_byte_is_named_with_what_mends_it() -> Result<()> {
    let place = applied()?;
    place.write("spec.yaml", &larger())?;
    place.expect(2, &["plan", "-f", "spec.yaml", "--out", "state:"])?;
    let digest = std::fs::read_dir(place.state().join("line/plans"))?.next().context("a plan")??;
    let digest = format!("state:{}", digest.file_name().to_string_lossy());
    place.expect(0, &["approve", &digest, "--yes"])?;
    place.expect(0, APPLY)?;
    place.expect(0, &["state", "verify"])?;
    let root = place.state().join("line");
    let mut kinds = std::collections::BTreeSet::new();
    for (path, bytes) in tree(&root)? {
        let key = format!("line/{}", path.strip_prefix(&root)?.display());
        let mut damaged = bytes.clone();
        let at = damaged.len() - 2;
        damaged[at] ^= 1;
        std::fs::write(&path, &damaged)?;
        let report = place.run(&["state", "verify", "line", "-o", "json"])?;
        ensure!(report.code == Some(1), "{key}: {report:?}");
        let report: Json = serde_json::from_str(&report.out)?;
        let finding = report["clusters"][0]["findings"].as_array().context("findings")?;
        let finding = finding.iter().find(|finding| finding["key"] == key).with_context(|| key.clone())?;
        kinds.insert((key.split('/').nth(1).unwrap_or_default().to_owned(), finding["mend"].to_string()));
        std::fs::write(&path, &bytes)?;
    }
    let kind = |name: &str, mend: &str| kinds.contains(&(name.to_owned(), format!("\"{mend}\"")));
    ensure!(
        kind("head", "rebuild") && kind("snapshots", "rebuild") && kind("snapshots", "past"),
        "{kinds:?}"
    );
    ensure!(kind("history", "past") && kind("journal", "past"), "{kinds:?}");
    ensure!(kind("plans", "anew") && kind("approvals", "anew"), "{kinds:?}");
    place.expect(0, &["state", "verify"])?;
    Ok(())
}

/// A plan is stored beside a state, and is not a part of it.
#[test]
fn a_damaged_stored_plan_is_named_and_the_state_is_sound() -> Result<()> {
    let place = applied()?;
    place.write("spec.yaml", &larger())?;
    place.expect(2, &["plan", "-f", "spec.yaml", "--out", "state:"])?;
    let path = std::fs::read_dir(place.state().join("line/plans"))?.next().context("a plan")??.path();
    let name = file_name(&path)?[..8].to_owned();
    let whole = std::fs::read(&path)?;
    let (begin, end) = (&whole[..40], &whole[..whole.len() - 9]);
    for damaged in [&b""[..], b"\n", b"nonsense\n", begin, end, &[0xff; 80]] {
        std::fs::write(&path, damaged)?;
        let verified = place.expect(1, &["state", "verify"])?;
        let named = format!("line/plans/{}: the stored plan {name} cannot be read: ", file_name(&path)?);
        for part in ["line: the state is sound, and 1 stored plan or approval cannot be read", &named] {
            ensure!(verified.out.contains(part), "no `{part}`: {}", verified.out);
        }
        ensure!(verified.out.contains("run `slipway plan … --out state:` again"), "{}", verified.out);
    }
    let report: Json = serde_json::from_str(&place.expect(1, &["state", "verify", "-o", "json"])?.out)?;
    let verdict = report["clusters"][0]["verdict"].as_str().context("a verdict")?;
    ensure!(verdict.starts_with("the state is sound"), "{report}");
    Ok(())
}

fn file_name(path: &std::path::Path) -> Result<String> {
    Ok(path.file_name().context("a name")?.to_string_lossy().into_owned())
}

#[test]
fn a_list_of_clusters_costs_a_call_for_each_and_none_for_what_they_have() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let calls = |place: &Place| -> Result<Vec<String>> {
        let file = place.path().join("calls");
        let _ = std::fs::remove_file(&file);
        let mut command = place.command(&["get", "clusters"]);
        ensure!(Ended::of(command.env("SLIPWAY_TEST_CALLS", &file).output()?)?.code == Some(0));
        Ok(std::fs::read_to_string(&file)?.lines().map(str::to_owned).collect())
    };
    for name in ["one", "two", "three"] {
        place.write("spec.yaml", &SMALL.replace("line", name))?;
        place.expect(0, APPLY)?;
    }
    // The last one is about controllers, once for all clusters.
    let expected =
        ["list-children ", "get one/head", "get three/head", "get two/head", "get _controller/board"];
    ensure!(calls(&place)? == expected, "{:?}", calls(&place)?);
    // More generations of a cluster cost nothing.
    place.write("spec.yaml", &larger().replace("line", "one"))?;
    place.expect(0, APPLY)?;
    ensure!(calls(&place)? == expected);
    // A deleted one is looked at, and not shown.
    place.expect(0, &["delete", "two", "--yes", "--confirm", "two", "--delete-backups"])?;
    let shown = place.expect(0, &["get", "clusters"])?.out;
    ensure!(shown.contains("three  sim       1.35.2   1 ") && !shown.contains("two"), "{shown}");
    let all = place.expect(0, &["get", "clusters", "--deleted"])?.out;
    ensure!(all.contains("deleted"), "{all}");
    Ok(())
}

#[test]
fn a_store_is_made_and_checked() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let made = place.expect(0, &["state", "init"])?.out;
    ensure!(
        made.contains("created the state store") && made.contains("✓ an object is created once"),
        "{made}"
    );
    let found = json(&place, &["state", "init"])?;
    ensure!(
        found["made"] == false && found["rules"].as_array().is_some_and(|rules| rules.len() >= 4),
        "{found}"
    );
    ensure!(place.expect(0, &["get", "clusters"])?.out.starts_with("No clusters"));
    Ok(())
}
