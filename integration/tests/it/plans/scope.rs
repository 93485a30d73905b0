//! Plans that leave out, add, rename and refuse changes.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::{Ended, Place};
use slipway_provider_sim::inspect::Tamper;
use slipway_resource::Value;

use super::shared::*;
use crate::{APPLY, PLAN};

#[test]
fn targets_narrow_and_replacements_widen() -> Result<()> {
    let place = fresh(&spec())?;
    let plan = planned(&place, 2, &["--target", "sim_subnet.*"])?;
    let addresses: Vec<String> = actions(&plan).into_iter().map(|(address, _)| address).collect();
    ensure!(addresses.iter().any(|address| address.starts_with("sim_subnet.")), "{addresses:?}");
    ensure!(
        addresses.contains(&"sim_network.main".to_owned()),
        "what it stands on is missing: {addresses:?}"
    );
    ensure!(!addresses.iter().any(|address| address.starts_with("sim_machine_pool")), "{addresses:?}");
    ensure!(plan["complete"] == false, "{}", plan["complete"]);
    place.expect(0, &[APPLY, &["--target", "sim_subnet.*"]].concat())?;
    let kinds: BTreeSet<String> = place.inventory()?.objects.into_iter().map(|object| object.kind).collect();
    ensure!(kinds == ["sim_network", "sim_subnet"].map(str::to_owned).into(), "{kinds:?}");
    place.expect(2, PLAN)?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;

    let outside = ["--replace", "sim_listener.api", "--target", "sim_subnet.*"];
    let refused = place.expect(1, &[PLAN, &outside].concat())?.err;
    ensure!(refused.contains("PLAN0047") && refused.contains("--target sim_listener.api"), "{refused}");
    let before = object(&place, "sim_listener.api")?.id;
    let plan = planned(&place, 2, &["--replace", "sim_listener.api"])?;
    ensure!(actions(&plan).len() == 1, "{:?}", actions(&plan));
    place.expect(0, &[APPLY, &["--replace", "sim_listener.api"]].concat())?;
    ensure!(object(&place, "sim_listener.api")?.id != before, "it is the same object");
    place.expect(0, PLAN)?;

    let unknown = place.expect(1, &[PLAN, &["--target", "sim_subnets.*"]].concat())?;
    ensure!(unknown.err.contains("PLAN0007"), "{}", unknown.err);
    let near = place.expect(1, &[PLAN, &["--replace", "sim_listener.apo"]].concat())?;
    ensure!(near.err.contains("did you mean `sim_listener.api`"), "{}", near.err);
    Ok(())
}

#[test]
fn a_caller_limits_the_steps_that_run_at_once() -> Result<()> {
    let place = fresh(&spec())?;
    let refused = place.expect(1, &[APPLY, &["--parallelism", "0"]].concat())?.err;
    ensure!(refused.contains("--parallelism"), "{refused}");
    place.expect(0, &[APPLY, &["--parallelism", "1"]].concat())?;
    place.expect(0, PLAN)?;
    // A saved plan has no limit of its own.
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    place.expect(2, &[PLAN, &["--out", "a.plan"]].concat())?;
    place.expect(0, &["apply", "a.plan", "--yes", "--parallelism", "2"])?;
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn ignored_changes_stay_as_others_made_them() -> Result<()> {
    let with = |ignore: &str| spec().replace("  cloudLabels:", &format!("{ignore}  cloudLabels:"));
    let ignore = "  ignoreChanges: [{ resource: \"sim_subnet.*\", attribute: tags.finance }]\n";
    let place = applied(&with(ignore))?;
    let subnet = place.inventory()?.of_type("sim_subnet").next().context("a subnet")?.clone();
    let tamper = Tamper::open(place.cloud());
    tamper.set(&subnet.id, &"tags.finance".parse()?, "4711".into())?;
    place.expect(0, PLAN)?;
    // Drift that is not ignored is corrected, and the ignored part stays.
    tamper.set(&subnet.id, &"tags.team".parse()?, "others".into())?;
    place.expect(2, PLAN)?;
    place.expect(0, APPLY)?;
    let attributes = |place: &Place| -> Result<Value> {
        let inventory = place.inventory()?;
        Ok(inventory.objects.iter().find(|object| object.id == subnet.id).context("gone")?.attributes.clone())
    };
    ensure!(
        attributes(&place)?.at(&"tags.finance".parse()?) == Some(&"4711".into()),
        "the ignored tag is gone"
    );
    ensure!(attributes(&place)?.at(&"tags.team".parse()?) == Some(&"platform".into()));
    place.expect(0, &["drift", "small"])?;
    // Without the rule, the tag is drift: the spec does not have it.
    place.write("spec.yaml", &with(""))?;
    place.expect(2, PLAN)?;
    Ok(())
}

#[test]
fn a_rename_keeps_the_object() -> Result<()> {
    let subnets = |name: &str, moved: &str| {
        let network = format!(
            "  network:\n    topology: public\n    cni: {{ name: none }}\n    proxyMode: none\n    cidr: 10.0.0.0/16\n    subnets:\n      \
             - {{ name: {name}, zone: sim-1a, kind: public, cidr: 10.0.0.0/20 }}\n{moved}"
        );
        spec().replace("  network: { cni: { name: none }, proxyMode: none }\n", &network)
    };
    let place = applied(&subnets("old", ""))?;
    let before = object(&place, "sim_subnet.old")?.id;
    let everything = identities(&place)?;
    place.write("spec.yaml", &subnets("new", "  moved: [{ from: sim_subnet.old, to: sim_subnet.new }]\n"))?;
    let plan = planned(&place, 2, &[])?;
    let change = plan["resource_changes"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|change| change["address"] == "sim_subnet.new")
        .context("no change of the subnet")?;
    ensure!(change["previous_address"] == "sim_subnet.old", "{change}");
    ensure!(!change["change"]["actions"].to_string().contains("create"), "{change}");
    place.expect(0, APPLY)?;
    ensure!(object(&place, "sim_subnet.new")?.id == before, "it is another object");
    ensure!(identities(&place)? == everything, "other objects came or went");
    place.expect(0, PLAN)?;
    // The rule may stay or go.
    place.write("spec.yaml", &subnets("new", ""))?;
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn what_the_spec_says_is_removed_leaves_the_state_and_is_kept() -> Result<()> {
    let removed = |from: &str| format!("{CLUSTER}  removed: [{{ from: \"{from}\" }}]\n{CONTROL_PLANE}");
    let place = applied(&spec())?;
    let pool = object(&place, "sim_machine_pool.workers")?.id;
    // The spec has the pool yet.
    place.write("spec.yaml", &format!("{}{WORKERS}", removed("sim_machine_pool.workers")))?;
    let refused = place.expect(1, PLAN)?.err;
    ensure!(refused.contains("PLAN0055") && refused.contains("spec.yaml:13:"), "{refused}");
    // A pattern leaves what the spec has.
    place.write("spec.yaml", &format!("{}{WORKERS}", removed("sim_machine_pool.*")))?;
    place.expect(0, PLAN)?;

    // With the pool, all that only it needs leaves the state.
    place.write("spec.yaml", &removed("*.*"))?;
    let before = identities(&place)?;
    let plan = planned(&place, 2, &[])?;
    ensure!(!actions(&plan).iter().any(|(_, words)| words.contains("delete")), "{:?}", actions(&plan));
    let text = place.expect(2, PLAN)?.out;
    ensure!(text.contains("sim_machine_pool.workers") && text.contains("the spec says to keep it"), "{text}");
    place.expect(0, APPLY)?;
    ensure!(identities(&place)? == before, "an object was deleted");
    ensure!(object(&place, "sim_machine_pool.workers")?.id == pool);
    let listed = place.expect(0, &["state", "list", "small"])?.out;
    ensure!(!listed.contains("sim_machine_pool.workers"), "{listed}");
    ensure!(listed.contains("sim_machine_pool.control-plane"), "{listed}");
    place.expect(0, PLAN)?;
    // The entry is not needed any more, and neither a plan nor the end of the cluster takes the object.
    place.write("spec.yaml", &[CLUSTER, CONTROL_PLANE].concat())?;
    place.expect(0, PLAN)?;
    place.expect(0, &["drift", "small"])?;
    // Once the spec has the pool again, it is the cluster's again.
    place.write("spec.yaml", &spec())?;
    place.expect(0, APPLY)?;
    ensure!(object(&place, "sim_machine_pool.workers")?.id == pool, "another pool was made");
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn what_the_spec_imports_becomes_an_object_of_the_cluster() -> Result<()> {
    let with = |to: &str, id: &str| {
        spec().replace("  cloudLabels:", &format!("  import: [{{ to: {to}, id: {id} }}]\n  cloudLabels:"))
    };
    let place = applied(&spec())?;
    let group = object(&place, "sim_target_group.api")?.id;
    let before = identities(&place)?;
    // An object that Slipway does not know, without ownership tags.
    place.expect(0, &["state", "rm", "small", "sim_target_group.api", "--yes"])?;
    Tamper::open(place.cloud()).set_owner(&group, None)?;
    let created = ("sim_target_group.api".to_owned(), "create".to_owned());
    ensure!(actions(&planned(&place, 2, &["--no-preflight"])?).contains(&created), "it is not created");

    for (to, id, why) in [
        ("sim_target_group.api", "tgt-999999", "there is no such object"),
        ("sim_target_group.other", group.as_str(), "the spec does not have this address"),
        ("sim_network.main", group.as_str(), "the state has"),
    ] {
        place.write("spec.yaml", &with(to, id))?;
        let refused = place.expect(1, PLAN)?.err;
        ensure!(refused.contains("PLAN0056") && refused.contains(why), "{refused}");
    }

    place.write("spec.yaml", &with("sim_target_group.api", &group))?;
    let plan = planned(&place, 2, &[])?;
    ensure!(!actions(&plan).contains(&created), "{:?}", actions(&plan));
    let mut changes = plan["resource_changes"].as_array().into_iter().flatten();
    let change = changes.find(|change| change["address"] == "sim_target_group.api").context("no change")?;
    ensure!(change["change"]["importing"]["id"] == group.as_str(), "{change}");
    place.expect(2, &[PLAN, &["--out", "import.plan"]].concat())?;
    place.expect(0, &["apply", "import.plan", "--yes"])?;
    ensure!(object(&place, "sim_target_group.api")?.id == group, "it has no ownership tags");
    ensure!(identities(&place)? == before, "other objects came or went");
    place.expect(0, PLAN)?;
    // The entry may stay or go.
    place.write("spec.yaml", &spec())?;
    place.expect(0, PLAN)?;
    place.expect(0, &["drift", "small"])?;
    Ok(())
}

#[test]
fn what_leaves_the_spec_is_undone() -> Result<()> {
    let place = applied(&spec())?;
    // A field.
    place.write("spec.yaml", &spec().replace("  cloudLabels: { team: platform }\n", ""))?;
    let plan = place.expect(2, PLAN)?.out;
    ensure!(plan.contains("is not in the spec any more"), "{plan}");
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    let network = object(&place, "sim_network.main")?;
    ensure!(network.attributes.at(&"tags.team".parse()?).is_none(), "the label is there yet");
    // A pool, with all that only it needed.
    place.write("spec.yaml", &[CLUSTER, CONTROL_PLANE].concat())?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    ensure!(place.inventory()?.at(&"sim_machine_pool.workers".parse()?).is_empty(), "the pool is there yet");
    ensure!(place.inventory()?.at(&"sim_identity.worker".parse()?).is_empty(), "its identity is there yet");
    Ok(())
}

#[test]
fn protection_shows_everything_and_refuses() -> Result<()> {
    let protected = spec().replace("  cloudLabels:", "  deletionProtection: true\n  cloudLabels:");
    let place = applied(&protected)?;
    let before = identities(&place)?;
    let refused = place.expect(1, &["delete", "small", "--yes", "--confirm", "small"])?;
    ensure!(refused.out.contains("- sim_network.main"), "the plan is hidden:\n{}", refused.out);
    ensure!(refused.err.contains("CLI0010") && refused.err.contains("hint:"), "{}", refused.err);
    ensure!(identities(&place)? == before, "something was deleted");
    for form in ["text", "json", "markdown"] {
        let shown = place.expect(2, &["delete", "small", "--dry-run", "-o", form])?.out;
        ensure!(shown.contains("will be refused"), "{form}: {shown}");
    }
    // Taking it away is a plan of its own, that touches no object.
    place.write("spec.yaml", &spec())?;
    place.expect(2, PLAN)?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    ensure!(identities(&place)? == before, "objects came or went");
    place.expect(0, &["delete", "small", "--yes", "--confirm", "small"])?;
    ensure!(identities(&place)?.is_empty(), "something is left");
    Ok(())
}

fn protected() -> String {
    spec().replace("  cloudLabels:", "  deletionProtection: true\n  cloudLabels:")
}

const DELETE: &[&str] = &["delete", "small", "--yes", "--confirm", "small"];

#[test]
fn a_run_that_did_not_complete_takes_no_protection_away() -> Result<()> {
    let place = applied(&protected())?;
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    let mut killed = place.command(APPLY);
    let ended = Ended::of(killed.env("SLIPWAY_TEST_KILL", "4:after").output()?)?;
    ensure!(ended.code.is_none(), "it was not killed: {}{}", ended.out, ended.err);
    let before = identities(&place)?;
    for delete in [DELETE, &["delete", "-f", "spec.yaml", "--yes", "--confirm", "small"]] {
        let refused = place.expect(1, delete)?;
        ensure!(
            refused.err.contains("CLI0010") && refused.err.contains("did not complete"),
            "{}",
            refused.err
        );
        ensure!(
            refused.err.contains("--unprotect") && refused.err.contains("generation 1"),
            "{}",
            refused.err
        );
    }
    ensure!(identities(&place)? == before, "something was deleted");
    // The protection ends when the run has completed, or before that with `--unprotect`.
    let other = fresh("")?;
    other.copy_from(&place)?;
    other.expect(0, &[DELETE, &["--unprotect"]].concat())?;
    ensure!(identities(&other)?.is_empty(), "something is left");
    place.expect(0, APPLY)?;
    place.expect(0, DELETE)?;
    ensure!(identities(&place)?.is_empty(), "something is left");
    Ok(())
}

#[test]
fn a_plan_of_a_part_takes_no_protection_away() -> Result<()> {
    let place = applied(&protected())?;
    place.write("spec.yaml", &spec().replace("fixed: 2", "fixed: 3"))?;
    let part = [APPLY, &["--target", "sim_machine_pool.workers"]].concat();
    let applied = place.expect(0, &part)?;
    ensure!(
        applied.out.contains("deletionProtection") && applied.out.contains("stays true"),
        "{}",
        applied.out
    );
    ensure!(place.expect(1, DELETE)?.err.contains("CLI0010"));
    let whole = place.expect(0, APPLY)?;
    ensure!(whole.out.contains("is false from now on"), "{}", whole.out);
    place.expect(0, PLAN)?;
    place.expect(0, DELETE)?;
    Ok(())
}

#[test]
fn a_saved_deletion_is_held_against_the_protection_again() -> Result<()> {
    let place = applied(&spec())?;
    place.expect(2, &["delete", "small", "--dry-run", "--out", "small.plan"])?;
    // The run that protects the cluster is killed, so the present generation still is the one of the plan.
    place.write("spec.yaml", &protected())?;
    let mut killed = place.command(APPLY);
    let ended = Ended::of(killed.env("SLIPWAY_TEST_KILL", "3:after").output()?)?;
    ensure!(ended.code.is_none(), "it was not killed: {}{}", ended.out, ended.err);
    let before = identities(&place)?;
    let refused = place.expect(1, &["apply", "small.plan", "--yes", "--confirm", "small"])?;
    ensure!(refused.err.contains("CLI0010"), "{}", refused.err);
    ensure!(identities(&place)? == before, "something was deleted");
    Ok(())
}
