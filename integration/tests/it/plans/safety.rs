//! Nothing that cannot be replaced is lost, rolled or forgotten without being named.

use anyhow::{Result, ensure};
use serde_json::Value as Json;
use slipway_plan::Plan;
use slipway_provider_sim::inspect::Tamper;
use slipway_resource::Value;

use super::confirmations::{VOLUME, with_volume};
use super::shared::*;
use crate::{APPLY, PLAN};

const POOL: &str = "sim_machine_pool.workers";

/// A new name of a pool is another pool: the old one is drained after the new one has its machines. Where no pool takes over, the
/// plan says so.
#[test]
fn a_renamed_pool_is_created_before_the_old_one_is_drained() -> Result<()> {
    let place = applied(&spec())?;
    place.write("spec.yaml", &spec().replace("name: workers", "name: general"))?;
    let plan = planned(&place, 2, &[])?;
    let steps = plan["steps"].as_array().cloned().unwrap_or_default();
    let mut after: Vec<bool> = Vec::new();
    let mut leaving = 0;
    for step in &steps {
        let is_created = step["address"] == "sim_machine_pool.general" && step["action"] == "create";
        let waits_for = step["depends_on"].as_array().into_iter().flatten().filter_map(Json::as_u64);
        let mut earlier = waits_for.filter_map(|id| after.get(usize::try_from(id).ok()?));
        let is_after = is_created || earlier.any(|is_after| *is_after);
        after.push(is_after);
        let address = step["address"].as_str().unwrap_or_default();
        if address == POOL || address.starts_with("sim_node.workers-") {
            leaving += 1;
            ensure!(after.last() == Some(&true), "it does not wait for the new pool: {step}");
        }
    }
    ensure!(leaving >= 5, "two drains and the end of the pool: {steps:?}");
    let classes = |plan: &Json| plan["disruption"].as_array().cloned().unwrap_or_default();
    ensure!(classes(&plan).iter().any(|one| one["address"] == POOL && one["class"] == "rolling"), "{plan}");
    let markdown = place.expect(2, &[PLAN, &["-o", "markdown"]].concat())?.out;
    ensure!(markdown.contains("its machines are drained and removed"), "{markdown}");
    ensure!(!markdown.contains("machines are rolled") && !markdown.contains("no worker"), "{markdown}");

    for gone in [spec().replace(WORKERS, ""), spec().replace("fixed: 2", "fixed: 0")] {
        place.write("spec.yaml", &gone)?;
        let shown = unwrapped(&place.expect(2, PLAN)?.out);
        ensure!(shown.contains("no worker will be left") && shown.contains(POOL), "{shown}");
    }
    Ok(())
}

/// A text without its line breaks.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A disk cannot become smaller: drift shows the difference, and a plan tells which value to write.
#[test]
fn a_volume_that_somebody_grew_is_drift() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    let volume = object(&place, VOLUME)?;
    Tamper::open(place.cloud()).set(&volume.id, &"size_gib".parse()?, Value::Integer(40))?;
    let drift = unwrapped(&place.expect(2, &["drift", "small"])?.out);
    ensure!(drift.contains(VOLUME) && drift.contains("20 → 40"), "{drift}");
    ensure!(drift.contains("write 40 GiB as its size into the spec"), "{drift}");
    let refused = place.expect(1, PLAN)?.err;
    ensure!(refused.contains("PLAN0008") && refused.contains("cannot shrink from 40 to 20 GiB"), "{refused}");
    ensure!(refused.contains("hint: write 40 GiB as its size into the spec (spec.yaml:"), "{refused}");
    place.write("spec.yaml", &with_volume("sim-1a").replace("sizeGiB: 20", "sizeGiB: 40"))?;
    let recorded = unwrapped(&place.expect(2, PLAN)?.out);
    ensure!(recorded.contains("1 to record; "), "{recorded}");
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    place.expect(0, &["drift", "small"])?;
    ensure!(object(&place, VOLUME)?.id == volume.id, "it is another volume");
    Ok(())
}

/// A roll that stops after a cordon, and that the spec does not need any more.
#[test]
fn what_a_roll_cordoned_takes_pods_again() -> Result<()> {
    let place = applied(&spec())?;
    let tamper = Tamper::open(place.cloud());
    let cordoned = || -> Result<Vec<String>> {
        let machines = place.inventory()?.machines;
        Ok(machines.into_iter().filter(|machine| machine.cordoned).map(|machine| machine.name).collect())
    };
    place.write(
        ".slipway/sim/faults.json",
        r#"[{ "method": "drain", "kind": "fail-before", "class": "permanent" }]"#,
    )?;
    place.write("spec.yaml", &spec().replace("sim-linux-1", "sim-linux-2"))?;
    place.expect(1, APPLY)?;
    std::fs::remove_file(place.cloud().join("faults.json"))?;
    let by_slipway = cordoned()?;
    ensure!(by_slipway.len() == 1, "{by_slipway:?}");
    let other = place
        .inventory()?
        .machines
        .into_iter()
        .find(|machine| machine.name.starts_with("workers") && !by_slipway.contains(&machine.name));
    let by_hand = other.map(|machine| (machine.id, machine.name));
    let by_hand = anyhow::Context::context(by_hand, "another worker")?;
    tamper.set_cordoned(&by_hand.0, true)?;

    place.write("spec.yaml", &spec())?;
    let shown = unwrapped(&place.expect(2, PLAN)?.out);
    ensure!(shown.contains(&by_slipway[0]) && shown.contains("takes pods again"), "{shown}");
    place.expect(0, APPLY)?;
    ensure!(cordoned()? == [by_hand.1.clone()], "{:?}", cordoned()?);
    place.expect(0, PLAN)?;
    // A machine that a person cordoned in the meantime stays cordoned.
    Ok(())
}

/// The machines of a completed roll are not checked any more.
#[test]
fn a_roll_that_went_through_leaves_nothing_to_take_back() -> Result<()> {
    let place = applied(&spec())?;
    place.write("spec.yaml", &spec().replace("sim-linux-1", "sim-linux-2"))?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    let kept = place.expect(0, &["state", "export", "small", "--out", "-"])?.out;
    ensure!(!kept.contains("\"cordoned\""), "{kept}");
    Ok(())
}

/// An ignored attribute still holds the object that it refers to.
#[test]
fn an_ignored_reference_holds_what_is_deleted() -> Result<()> {
    let two = with_volume("sim-1a");
    let ignored = |text: &str| {
        text.replace(
            "  cloudLabels:",
            "  ignoreChanges: [{ resource: \"*\", attribute: \"*\" }]\n  cloudLabels:",
        )
    };
    let place = applied(&ignored(&two))?;
    let before = identities(&place)?;
    place.write("spec.yaml", &ignored(&two.replace("zones: [sim-1a, sim-1b]", "zones: [sim-1a]")))?;
    for arguments in [PLAN, APPLY] {
        let refused = place.expect(1, arguments)?.err;
        ensure!(refused.contains("PLAN0044") && refused.contains("sim_subnet.sim-1b"), "{refused}");
        ensure!(refused.contains("(spec.yaml:"), "no place: {refused}");
    }
    place.write("spec.yaml", &ignored(&two))?;
    let replace = [PLAN, &["--replace", VOLUME]].concat();
    ensure!(place.expect(1, &replace)?.err.contains("PLAN0044"), "a volume that its pool keeps");
    ensure!(identities(&place)? == before, "something was done");
    place.expect(0, PLAN)?;
    // Objects that no other object holds can be created and deleted.
    place.write("spec.yaml", &ignored(&two).replace(WORKERS, ""))?;
    place.expect(2, PLAN)?;
    Ok(())
}

/// An address decides which object takes the place of which.
#[test]
fn a_volume_gets_another_address_only_by_name() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    let mv = ["state", "mv", "small", VOLUME, "sim_volume.spare", "--yes"];
    let refused = place.expect(1, &mv)?.err;
    ensure!(refused.contains("CLI0014") && refused.contains(&format!("--confirm {VOLUME}")), "{refused}");
    ensure!(refused.contains(&format!("{VOLUME} is protected. At a wrong address")), "{refused}");
    let wrong = place.expect(1, &[&mv[..], &["--confirm", "small"]].concat())?.err;
    ensure!(wrong.contains("CLI0036"), "{wrong}");
    place.expect(0, PLAN)?;
    place.expect(0, &[&mv[..], &["--confirm", VOLUME]].concat())?;
    // The machines of a pool may have data disks.
    let mv = ["state", "mv", "small", POOL, "sim_machine_pool.other", "--yes"];
    let refused = place.expect(1, &mv)?.err;
    ensure!(refused.contains("CLI0014") && refused.contains(&format!("--confirm {POOL}")), "{refused}");
    ensure!(refused.contains(&format!("{POOL} has machines, whose disks may hold data")), "{refused}");
    // An object that can be created again needs no confirmation.
    place.expect(0, &["state", "mv", "small", "sim_target_group.api", "sim_target_group.other", "--yes"])?;
    Ok(())
}

/// A delete right after a rebuild is refused as before it.
#[test]
fn a_rebuilt_state_is_as_protected_as_before() -> Result<()> {
    let protected = spec().replace("  cloudLabels:", "  deletionProtection: true\n  cloudLabels:");
    const REBUILD: &[&str] = &["state", "rebuild", "small", "-f", "spec.yaml", "--yes"];
    const DELETE: &[&str] = &["delete", "small", "--yes", "--confirm", "small"];
    let place = applied(&protected)?;
    // The old state can be read, and the spec is an older one.
    place.write("spec.yaml", &spec())?;
    let rebuilt = place.expect(0, &[REBUILD, &["--force"]].concat())?.out;
    ensure!(rebuilt.contains("protected from deletion, as it was in the state"), "{rebuilt}");
    place.expect(1, DELETE)?;
    // The old state does not exist any more.
    std::fs::remove_dir_all(place.state())?;
    let rebuilt = place.expect(0, REBUILD)?.out;
    ensure!(rebuilt.contains("is not known, so it is protected now"), "{rebuilt}");
    ensure!(place.expect(1, DELETE)?.err.contains("deletionProtection"), "not protected");
    place.expect(0, APPLY)?;
    // An unprotected cluster stays so.
    let rebuilt = place.expect(0, &[REBUILD, &["--force"]].concat())?.out;
    ensure!(rebuilt.contains("is not protected from deletion"), "{rebuilt}");
    place.expect(0, DELETE)?;
    ensure!(identities(&place)?.is_empty(), "something is left");
    Ok(())
}

/// An archive of a time before the protection takes it away as little as a rebuild does.
#[test]
fn an_imported_state_is_as_protected_as_before() -> Result<()> {
    const STORE: &str = "sim_backup_store.etcd-main";
    const DELETE: &[&str] = &["delete", "small", "--yes", "--confirm", "small"];
    let with = |protected: bool, keeps: bool| {
        let fields = format!(
            "  deletionProtection: {protected}\n  etcd: [{{ name: main, members: [{{ name: a, pool: control-plane }}], backups: {{ enabled: true, keepOnDelete: {keeps} }} }}]\n  cloudLabels:"
        );
        spec().replace("  cloudLabels:", &fields)
    };
    let place = applied(&with(false, false))?;
    place.expect(0, &["state", "export", "small", "--out", "one.json"])?;
    place.write("spec.yaml", &with(true, true))?;
    place.expect(0, APPLY)?;
    let imported = place.expect(0, &["state", "import", "one.json", "--yes", "--force", "2"])?.err;
    for part in
        ["small stays protected from deletion", &format!("{STORE} is still kept when small is deleted")]
    {
        ensure!(imported.contains(part), "no `{part}`: {imported}");
    }
    ensure!(place.expect(1, DELETE)?.err.contains("deletionProtection"), "not protected");
    let shown = place.expect(2, &["delete", "small", "--dry-run"])?.out;
    ensure!(!shown.contains(&format!("- {STORE}")), "{shown}");
    // A complete apply takes both away, and an archive that has them brings them back.
    place.write("spec.yaml", &with(false, false))?;
    place.expect(0, APPLY)?;
    let before = place.expect(0, &["state", "import", "one.json", "--yes", "--force", "4"])?.err;
    ensure!(!before.contains("protected from deletion") && !before.contains(STORE), "{before}");
    place.expect(0, DELETE)?;
    ensure!(identities(&place)?.is_empty(), "something is left");
    Ok(())
}

/// An archive that calls the objects of others older objects of the cluster.
#[test]
fn an_imported_state_deletes_only_what_the_cluster_owns() -> Result<()> {
    const IDENTITY: &str = "sim_identity.worker";
    let place = applied(&spec())?;
    let model = object(&place, IDENTITY)?;
    let foreign = Tamper::open(place.cloud()).add_foreign("sim_identity", &model.attributes, None)?;
    place.expect(0, &["state", "export", "small", "--out", "small.json"])?;
    let text = std::fs::read_to_string(place.path().join("small.json"))?;
    let (about, state) = anyhow::Context::context(text.split_once('\n'), "two lines")?;
    let mut state = json(state)?;
    state["resources"][IDENTITY]["deposed"] = vec![foreign.as_str()].into();
    place.write("edited.json", &archive(about, &state.to_string())?)?;
    std::fs::remove_dir_all(place.state())?;
    place.expect(0, &["state", "import", "edited.json", "--yes"])?;
    let shown = unwrapped(&place.expect(0, PLAN)?.out);
    ensure!(shown.contains(&format!("names {foreign} as an older object of this address")), "{shown}");
    place.expect(0, APPLY)?;
    place.expect(0, &["delete", "small", "--yes", "--confirm", "small"])?;
    let left: Vec<String> = identities(&place)?.into_iter().collect();
    ensure!(left == [foreign], "{left:?}");
    Ok(())
}

/// The number in an archive does not hide it from the history of the store.
#[test]
fn an_archive_of_a_generation_that_the_store_never_had_is_refused() -> Result<()> {
    let place = applied(&spec())?;
    place.expect(0, &["state", "export", "small", "--out", "small.json"])?;
    let text = std::fs::read_to_string(place.path().join("small.json"))?;
    let (about, state) = anyhow::Context::context(text.split_once('\n'), "two lines")?;
    let mut about = json(about)?;
    about["generation"] = 7.into();
    let state = state.trim_end().replace("\"platform\"", "\"network\"");
    place.write("edited.json", &archive(&about.to_string(), &state)?)?;
    let refused = place.expect(1, &["state", "import", "edited.json", "--yes"])?.err;
    for part in ["CLI0095", "has no generation 7 of small", "`--force 1` imports it all the same"] {
        ensure!(refused.contains(part), "no `{part}`: {refused}");
    }
    place.expect(0, PLAN)?;
    place.expect(0, &["state", "import", "edited.json", "--yes", "--force", "1"])?;
    Ok(())
}

/// Backups that are kept for a shorter time are deleted.
#[test]
fn a_shorter_retention_of_backups_needs_a_name() -> Result<()> {
    const STORE: &str = "sim_backup_store.etcd-main";
    let with = |retention: &str| {
        let etcd = format!(
            "  etcd: [{{ name: main, members: [{{ name: a, pool: control-plane }}], backups: {{ enabled: true, retention: {retention} }} }}]\n  cloudLabels:"
        );
        spec().replace("  cloudLabels:", &etcd)
    };
    let place = applied(&with("90d"))?;
    place.write("spec.yaml", &with("7d"))?;
    let shown = unwrapped(&place.expect(2, PLAN)?.out);
    ensure!(shown.contains("kept for 7d instead of 90d: older ones are deleted"), "{shown}");
    let comment = place.expect(2, &[PLAN, &["-o", "markdown"]].concat())?.out;
    ensure!(comment.contains("1 dangerous change") && !comment.contains("No dangerous changes"), "{comment}");
    let refused = place.expect(1, APPLY)?.err;
    ensure!(refused.contains("RUN0008") && refused.contains(&format!("--confirm {STORE}")), "{refused}");
    // A saved plan without the confirmation is found out.
    place.expect(2, &[PLAN, &["--out", "saved.plan"]].concat())?;
    cut(&place, "saved.plan")?;
    ensure!(place.expect(1, &["apply", "saved.plan", "--yes"])?.err.contains("PLAN0014"), "it was applied");
    place.expect(0, &[APPLY, &["--confirm", STORE]].concat())?;
    place.expect(0, PLAN)?;
    place.write("spec.yaml", &with("30d"))?;
    place.expect(0, APPLY)?;
    Ok(())
}

/// Workers with a data disk.
fn with_disks(name: &str) -> String {
    let disks = "volumes: [{ device: /dev/xvdb, mountPath: /var/lib/data, sizeGiB: 50 }], machineType";
    let workers = WORKERS.replace("machineType", disks).replace("name: workers", &format!("name: {name}"));
    [CLUSTER, CONTROL_PLANE, &workers].concat()
}

#[test]
fn a_renamed_pool_names_the_disks_that_go() -> Result<()> {
    let place = applied(&with_disks("workers"))?;
    let moved = "  moved: [{ from: sim_machine_pool.workers, to: sim_machine_pool.general }]\n  cloudLabels:";
    place.write("spec.yaml", &with_disks("general").replace("  cloudLabels:", moved))?;
    let shown = unwrapped(&place.expect(2, PLAN)?.out);
    ensure!(shown.contains("--confirm sim_machine_pool.general"), "{shown}");
    let named = "removes its 2 machines at once, without a drain; each machine that goes loses its data disk /dev/xvdb";
    ensure!(shown.contains(named), "{shown}");
    Ok(())
}

#[test]
fn a_move_between_two_that_exist_is_refused() -> Result<()> {
    let more = WORKERS.replace("name: workers", "name: general");
    let both = [&spec(), more.as_str()].concat();
    let moved = "  moved: [{ from: sim_machine_pool.workers, to: sim_machine_pool.general }]\n  cloudLabels:";
    let place = applied(&both)?;
    let before = identities(&place)?;
    let left = [CLUSTER, CONTROL_PLANE, &more].concat();
    for text in [&both, &left] {
        place.write("spec.yaml", &text.replace("  cloudLabels:", moved))?;
        let refused = place.expect(1, APPLY)?.err;
        for part in ["PLAN0045", POOL, "sim_machine_pool.general", "(spec.yaml:"] {
            ensure!(refused.contains(part), "no {part}: {refused}");
        }
    }
    ensure!(identities(&place)? == before, "something was done");
    Ok(())
}

/// Takes all confirmations out of a plan file.
fn cut(place: &slipway_integration::place::Place, name: &str) -> Result<()> {
    let file = place.path().join(name);
    let mut plan = Plan::from_bytes(&std::fs::read(&file)?)?;
    for change in &mut plan.changes {
        change.confirmation = None;
    }
    Ok(std::fs::write(&file, plan.to_bytes()?)?)
}

#[test]
fn disks_that_a_plan_file_does_not_name_are_found() -> Result<()> {
    let place = applied(&with_disks("workers"))?;
    let before = identities(&place)?;
    for (spec, what) in [
        (with_disks("workers").replace("sim-linux-1", "sim-linux-2"), "a roll"),
        ([CLUSTER, CONTROL_PLANE].concat(), "the end of a pool"),
    ] {
        place.write("spec.yaml", &spec)?;
        place.expect(2, &[PLAN, &["--out", "saved.plan"]].concat())?;
        cut(&place, "saved.plan")?;
        let refused = place.expect(1, &["apply", "saved.plan", "--yes"])?.err;
        ensure!(refused.contains("PLAN0014") && refused.contains(POOL), "{what}: {refused}");
    }
    ensure!(identities(&place)? == before, "something was done");
    Ok(())
}

#[test]
fn drift_asks_the_provider_of_the_command_line() -> Result<()> {
    let place = applied(&spec())?;
    let other = [
        "drift",
        "-f",
        "spec.yaml",
        "--provider",
        "sim",
        "--provider-config",
        r#"{"directory":"elsewhere"}"#,
    ];
    let drift = place.expect(2, &other)?;
    ensure!(drift.out.contains("sim_network.main"), "{}", drift.out);
    place.expect(0, &["drift", "-f", "spec.yaml", "--provider", "sim"])?;
    Ok(())
}

#[test]
fn a_misspelt_fault_is_no_cloud_without_faults() -> Result<()> {
    let place = applied(&spec())?;
    place.write(".slipway/sim/faults.json", r#"[{ "methods": "create", "kind": "fail-before" }]"#)?;
    let refused = place.expect(1, PLAN)?;
    ensure!(refused.err.contains("unknown field `methods`"), "{}", refused.err);
    Ok(())
}

/// An archive with another state.
fn archive(about: &str, state: &str) -> Result<String> {
    let mut about = json(about)?;
    about["digest"] = serde_json::to_value(slipway_state_store::Digest::of(state.as_bytes()))?;
    Ok(format!("{about}\n{state}\n"))
}

/// An archive in which two objects of the cluster have each other's identity.
#[test]
fn an_archive_with_exchanged_objects_changes_nothing() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    let (one, other) = (object(&place, "sim_subnet.sim-1a")?.id, object(&place, "sim_subnet.sim-1b")?.id);
    place.expect(0, &["state", "export", "small", "--out", "small.json"])?;
    let text = std::fs::read_to_string(place.path().join("small.json"))?;
    let (about, state) = anyhow::Context::context(text.split_once('\n'), "two lines")?;
    let exchanged = [(&one, "\0"), (&other, one.as_str()), (&"\0".to_owned(), other.as_str())];
    let state = exchanged.into_iter().fold(state.trim_end().to_owned(), |state, (from, to)| {
        state.replace(&format!("\"{from}\""), &format!("\"{to}\""))
    });
    place.write("edited.json", &archive(about, &state)?)?;
    place.expect(0, &["--state", "elsewhere", "state", "import", "edited.json", "--yes"])?;
    for arguments in [PLAN, APPLY] {
        let refused = place.expect(1, &[&["--state", "elsewhere"], arguments].concat())?.err;
        let named = format!("sim_subnet.sim-1a: {other} has the ownership tags of sim_subnet.sim-1b");
        ensure!(refused.contains("STATE0054") && refused.contains(&named), "{refused}");
    }
    place.expect(0, PLAN)?;
    Ok(())
}

/// An archive with exchanged identities is detected: by the history if there is one, and by the tags of the
/// objects.
#[test]
fn an_edited_archive_changes_nothing_of_another_cluster() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    place.write("other.yaml", &with_volume("sim-1a").replace("name: small", "name: other"))?;
    place.expect(0, &["apply", "-f", "other.yaml", "--yes"])?;
    let volumes = place.inventory()?.of_type("sim_volume").map(|found| found.id.clone()).collect::<Vec<_>>();
    ensure!(volumes.len() == 2, "{volumes:?}");
    let before = identities(&place)?;
    place.expect(0, &["state", "export", "small", "--out", "small.json"])?;
    let text = std::fs::read_to_string(place.path().join("small.json"))?;
    let (about, state) = anyhow::Context::context(text.split_once('\n'), "two lines")?;
    let own = volumes.iter().find(|id| state.contains(&format!("\"{id}\"")));
    let own = anyhow::Context::context(own, "the volume of the cluster")?;
    let foreign = anyhow::Context::context(volumes.iter().find(|id| *id != own), "another volume")?;
    let state = state.trim_end().replace(&format!("\"{own}\""), &format!("\"{foreign}\""));
    place.write("edited.json", &archive(about, &state)?)?;

    let refused = place.expect(1, &["state", "import", "edited.json", "--force", "1", "--yes"])?.err;
    ensure!(refused.contains("CLI0095"), "{refused}");
    // A store without a history takes it; the next plan refuses it.
    let elsewhere = |arguments: &[&str]| -> Result<String> {
        Ok(place.expect(1, &[&["--state", "elsewhere"], arguments].concat())?.err)
    };
    place.expect(0, &["--state", "elsewhere", "state", "import", "edited.json", "--yes"])?;
    for arguments in
        [PLAN, APPLY, &["delete", "small", "--yes", "--confirm", "small"][..], &["drift", "small"][..]]
    {
        let refused = elsewhere(arguments)?;
        let named = format!("{VOLUME}: {foreign} belongs to the cluster");
        ensure!(refused.contains("STATE0054") && refused.contains(&named), "{arguments:?}: {refused}");
    }
    ensure!(identities(&place)? == before, "something was done");
    Ok(())
}

#[test]
fn every_zone_can_be_removed() -> Result<()> {
    let of = |zones: &str| {
        spec()
            .replace("zones: [sim-1a]", &format!("zones: [{zones}]"))
            .replace("role: controlPlane, machineType", "role: controlPlane, size: { fixed: 3 }, machineType")
    };
    let place = applied(&of("sim-1a, sim-1b, sim-1c"))?;
    for (zones, gone) in [
        ("sim-1c, sim-1a", &["sim-1b"][..]),
        ("sim-1b", &["sim-1a", "sim-1c"]),
        ("sim-1b, sim-1c", &["sim-1a"]),
    ] {
        place.write("spec.yaml", &of(zones))?;
        let plan = planned(&place, 2, &[])?;
        let changed = actions(&plan);
        let subnets: Vec<&str> =
            changed.iter().filter_map(|(address, _)| address.strip_prefix("sim_subnet.sim-")).collect();
        let expected: Vec<&str> = gone.iter().filter_map(|zone| zone.strip_prefix("sim-")).collect();
        ensure!(subnets == expected, "{zones}: {changed:?}");
        let losses = plan["confirmations"].as_array().map_or(0, Vec::len);
        ensure!(losses == gone.len(), "each member of etcd in {gone:?} is confirmed: {plan}");
        let is_lost = plan["notes"].to_string().contains("no majority");
        ensure!(is_lost == (gone.len() > 1), "{zones}: {}", plan["notes"]);
    }
    place.expect(0, &[APPLY, &["--confirm", "sim_volume.etcd-main-a"]].concat())?;
    place.expect(0, PLAN).map(|_| ())
}

/// All control planes leave before the one that stays is started: the plan marks the outage.
#[test]
fn control_planes_that_shrink_to_one_are_an_outage() -> Result<()> {
    let of = |size: u32| {
        let sized = format!("role: controlPlane, size: {{ fixed: {size} }}, machineType");
        spec()
            .replace("zones: [sim-1a]", "zones: [sim-1a, sim-1b, sim-1c]")
            .replace("role: controlPlane, machineType", &sized)
    };
    let place = applied(&of(3))?;
    place.write("spec.yaml", &of(1))?;
    let plan = planned(&place, 2, &[])?;
    let classes = plan["disruption"].as_array().cloned().unwrap_or_default();
    let is_named =
        |one: &Json| one["address"] == "sim_machine_pool.control-plane" && one["class"] == "outage";
    ensure!(classes.iter().any(is_named), "{classes:#?}");
    Ok(())
}
