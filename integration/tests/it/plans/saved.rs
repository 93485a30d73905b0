//! Saved plans: applied exactly, or refused.

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::Ended;
use slipway_provider_sim::inspect::Tamper;
use slipway_resource::Value;

use super::shared::*;
use crate::{APPLY, PLAN};

#[test]
fn a_saved_plan_is_applied_as_it_is() -> Result<()> {
    let place = fresh(&spec())?;
    place.expect(2, &[PLAN, &["--out", "first.plan"]].concat())?;
    let shown = place.expect(0, &["show", "first.plan"])?.out;
    ensure!(shown == place.expect(2, PLAN)?.out, "the saved plan reads otherwise");
    // The contents of the spec do not matter meanwhile.
    place.write("spec.yaml", "nothing: here\n")?;
    let ended = place.expect(0, &["apply", "first.plan", "--yes"])?;
    ensure!(ended.out.starts_with(&shown), "another plan was applied:\n{}", ended.out);
    place.write("spec.yaml", &spec())?;
    place.expect(0, PLAN)?;

    // The plan was made for an earlier state.
    let stale = place.expect(1, &["apply", "first.plan", "--yes"])?;
    ensure!(stale.err.contains("RUN0004"), "{}", stale.err);
    ensure!(stale.out.is_empty(), "a plan that cannot be applied is shown: {}", stale.out);
    let stale = place.expect(1, &["approve", "first.plan", "--yes"])?;
    ensure!(stale.err.contains("RUN0004") && stale.out.is_empty(), "{}{}", stale.out, stale.err);
    place.write(
        "damaged.plan",
        &std::fs::read_to_string(place.path().join("first.plan"))?.replace("sim-1a", "sim-1b"),
    )?;
    let damaged = place.expect(1, &["apply", "damaged.plan", "--yes"])?;
    ensure!(damaged.err.contains("PLAN0013"), "{}", damaged.err);
    Ok(())
}

/// A plan of a cluster that exists, made without looking, and a store that never had the cluster.
#[test]
fn a_saved_offline_plan_makes_no_cluster_a_second_time() -> Result<()> {
    let place = applied(&spec())?;
    let before = identities(&place)?;
    place.expect(2, &[PLAN, &["--offline", "--out", "offline.plan"]].concat())?;
    let refused = place.expect(1, &["--state", "elsewhere", "apply", "offline.plan", "--yes"])?.err;
    ensure!(refused.contains("STATE0051"), "{refused}");
    ensure!(identities(&place)? == before, "something was made");
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn a_saved_plan_is_refused_when_the_state_moved() -> Result<()> {
    let place = applied(&spec())?;
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    place.expect(2, &[PLAN, &["--out", "later.plan"]].concat())?;
    place.write("spec.yaml", &spec().replace("fixed: 2", "fixed: 3"))?;
    place.expect(0, APPLY)?;
    let before = identities(&place)?;
    let refused = place.expect(1, &["apply", "later.plan", "--yes"])?;
    ensure!(refused.err.contains("RUN0004") && refused.err.contains("hint:"), "{}", refused.err);
    ensure!(identities(&place)? == before, "something was done");
    ensure!(
        object(&place, "sim_network.main")?.attributes.at(&"tags.team".parse()?) == Some(&"platform".into())
    );
    Ok(())
}

/// The state of a rebuild in an empty store has the number that the plan's state had.
#[test]
fn a_saved_plan_is_refused_when_the_state_was_rebuilt() -> Result<()> {
    let place = applied(&spec())?;
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    place.expect(2, &[PLAN, &["--out", "old.plan"]].concat())?;
    place.write("spec.yaml", &spec().replace("fixed: 2", "fixed: 3"))?;
    place.expect(0, APPLY)?;
    std::fs::remove_dir_all(place.state())?;
    let rebuilt = place.expect(0, &["state", "rebuild", "small", "-f", "spec.yaml", "--yes"])?.out;
    ensure!(rebuilt.contains("small is at generation 1"), "{rebuilt}");
    let before = identities(&place)?;
    for arguments in [&["apply", "old.plan", "--yes"], &["approve", "old.plan", "--yes"]] {
        let refused = place.expect(1, arguments)?;
        let named = "made for another state than the one that is generation 1 now";
        ensure!(refused.err.contains("RUN0004") && refused.err.contains(named), "{}", refused.err);
        ensure!(refused.out.is_empty(), "a plan that cannot be applied is shown: {}", refused.out);
    }
    ensure!(identities(&place)? == before, "something was done");
    ensure!(
        object(&place, "sim_network.main")?.attributes.at(&"tags.team".parse()?) == Some(&"platform".into())
    );
    // Plans of the former version name no state, and are still read.
    let file = place.path().join("old.plan");
    let mut plan = slipway_plan::Plan::from_bytes(&std::fs::read(&file)?)?;
    plan.format = 2;
    plan.binding.snapshot = None;
    std::fs::write(&file, plan.to_bytes()?)?;
    place.expect(0, &["show", "old.plan"])?;
    Ok(())
}

#[test]
fn a_changed_object_stops_its_step_and_what_stands_on_it_only() -> Result<()> {
    let place = applied(&spec())?;
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    place.expect(2, &[PLAN, &["--out", "later.plan"]].concat())?;
    let group = object(&place, "sim_target_group.api")?;
    Tamper::open(place.cloud()).set(&group.id, &"health_interval_ms".parse()?, Value::Integer(77_000))?;
    let stopped = place.expect(1, &["apply", "later.plan", "--yes"])?;
    ensure!(stopped.err.contains("update sim_target_group.api failed"), "{}", stopped.err);
    ensure!(stopped.err.contains("health_interval_ms: 10000 → 77000"), "no difference: {}", stopped.err);
    // Steps that do not depend on it were done.
    let label = |address: &str| -> Result<Option<Value>> {
        Ok(object(&place, address)?.attributes.at(&"tags.team".parse()?).cloned())
    };
    ensure!(label("sim_identity.worker")? == Some("network".into()), "an independent step was not done");
    ensure!(label("sim_target_group.api")? == Some("platform".into()), "the changed object was touched");
    // A new plan shows the difference, and the apply corrects it.
    let plan = planned(&place, 2, &[])?;
    ensure!(actions(&plan).contains(&("sim_target_group.api".to_owned(), "update".to_owned())));
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn a_plan_is_the_same_however_its_files_are_spelled() -> Result<()> {
    let place = applied(&spec())?;
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    let folder = place.path().display().to_string();
    let name = place.path().file_name().and_then(|name| name.to_str()).context("a name")?.to_owned();
    let spelled = [
        "spec.yaml".to_owned(),
        "./spec.yaml".to_owned(),
        format!("{folder}/spec.yaml"),
        format!("../{name}/spec.yaml"),
    ];
    let mut plans = std::collections::BTreeSet::new();
    for file in &spelled {
        let shown = place.expect(2, &["plan", "-f", file, "--out", "one.plan"])?.out;
        ensure!(shown.contains(&format!("{file}:")), "shown as it was named: {file}: {shown}");
        plans.insert(std::fs::read(place.path().join("one.plan"))?);
    }
    ensure!(plans.len() == 1, "{} plans of one spec", plans.len());

    // From elsewhere, and of several files in several folders.
    let [cluster, pools] = [CLUSTER, &[CONTROL_PLANE, WORKERS].concat()];
    place.write("a/cluster.yaml", cluster)?;
    place.write("a/pools/pools.yaml", pools)?;
    let mut plans = std::collections::BTreeSet::new();
    let out = place.path().join("two.plan").display().to_string();
    let elsewhere = place.path().join("a/pools");
    let whole = format!("{folder}/a");
    for (from, files) in [
        (place.path(), vec!["a"]),
        (place.path(), vec!["./a/"]),
        (place.path(), vec![whole.as_str()]),
        (place.path(), vec!["a/cluster.yaml", "a/pools/pools.yaml"]),
        (elsewhere.as_path(), vec![".."]),
        (elsewhere.as_path(), vec!["../cluster.yaml", "pools.yaml"]),
        (std::path::Path::new("/"), vec![whole.as_str()]),
    ] {
        let named: Vec<&str> = files.iter().flat_map(|file| ["-f", *file]).collect();
        let arguments = [&["plan", "--offline", "--out", &out][..], &named].concat();
        let ended = Ended::of(place.command(&arguments).current_dir(from).output()?)?;
        ensure!(ended.code == Some(2), "{files:?}: {}{}", ended.out, ended.err);
        plans.insert(std::fs::read(&out)?);
    }
    ensure!(plans.len() == 1, "{} plans of one folder", plans.len());
    Ok(())
}

/// Killed at every write, the last of which is the commit: the plan goes on, and nothing is made twice.
#[test]
fn a_saved_plan_goes_on_after_a_kill_at_any_write() -> Result<()> {
    for write in 1.. {
        let place = fresh(&spec())?;
        place.expect(2, &[PLAN, &["--out", "first.plan"]].concat())?;
        let apply = ["apply", "first.plan", "--yes"];
        let killed = place.command(&apply).env("SLIPWAY_TEST_KILL", format!("{write}:before")).output()?;
        if Ended::of(killed)?.code.is_some() {
            ensure!(write > 4, "there are only {write} writes");
            break;
        }
        place.expect(0, &apply).with_context(|| format!("killed before write {write}"))?;
        let doubled = place.inventory()?.doubled();
        ensure!(doubled.is_empty(), "killed before write {write}: {doubled:?}");
        place.expect(0, PLAN).with_context(|| format!("killed before write {write}"))?;
    }
    Ok(())
}

/// The zones of both specs are the same existing object, so that a name in it does not change.
#[test]
fn a_saved_plan_with_another_address_of_an_existing_object_is_applied() -> Result<()> {
    let endpoint = "loadBalancer: { scheme: internal } }";
    let spec =
        spec().replace(endpoint, &format!("{endpoint}, dns: {{ kind: public, zone: k8s.example.com }}"));
    let place = applied(&spec)?;
    place.write("spec.yaml", &spec.replace("kind: public", "kind: private"))?;
    place.expect(2, &[PLAN, &["--out", "zone.plan"]].concat())?;
    place.expect(0, &["apply", "zone.plan", "--yes"])?;
    place.expect(0, PLAN)?;
    Ok(())
}
