//! A state that is lost, damaged, or held by a run that does not exist any more.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::{Ended, Place};
use slipway_state_store::{Key, Prefix};

use crate::state::{applied, tree};
use crate::{APPLY, PROGRAM, SMALL};

const REBUILD: &[&str] = &["state", "rebuild", "line", "-f", "spec.yaml"];

/// A way to lose a state.
type Damage = fn(&Path) -> Result<()>;

fn newest(folder: PathBuf) -> Result<PathBuf> {
    let mut files: Vec<PathBuf> = tree(&folder)?.into_keys().collect();
    files.sort();
    files.pop().context("a file")
}

fn flip(path: &Path) -> Result<()> {
    let mut bytes = std::fs::read(path)?;
    let at = bytes.len() - 2;
    bytes[at] ^= 1;
    Ok(std::fs::write(path, bytes)?)
}

/// The objects in the cloud, by the cloud's inventory.
fn objects(place: &Place) -> Result<Vec<String>> {
    let mut ids: Vec<String> = place.inventory()?.objects.iter().map(|object| object.id.clone()).collect();
    ids.sort();
    Ok(ids)
}

/// Rebuilds, and checks that the cloud is unchanged and that the next runs create and delete nothing.
fn rebuilds(place: &Place, name: &str) -> Result<()> {
    let cloud = objects(place)?;
    let verified = place.run(&["state", "verify", "line"])?;
    ensure!(verified.code == Some(1) && verified.out.contains("state rebuild line"), "{name}: {verified:?}");
    let before = tree(&place.state())?;
    let dry = place.expect(2, &[REBUILD, &["--dry-run"]].concat()).context(name.to_owned())?;
    ensure!(dry.out.contains("The values of the last apply are unknown"), "{name}: {dry:?}");
    ensure!(tree(&place.state())? == before, "{name}: a dry run writes");
    ensure!(place.expect(1, REBUILD)?.err.contains("CLI0014"), "{name}");
    place.expect(0, &[REBUILD, &["--yes"]].concat()).context(name.to_owned())?;
    ensure!(objects(place)? == cloud, "{name}: a rebuild touches the cloud");

    let plan = place.run(&["plan", "-f", "spec.yaml", "-o", "json"])?;
    let plan: Json = serde_json::from_str(&plan.out).with_context(|| format!("{name}: {}", plan.err))?;
    for change in plan["resource_changes"].as_array().context("changes")? {
        let actions = &change["change"]["actions"];
        let harmless = *actions == serde_json::json!(["no-op"]) || *actions == serde_json::json!(["update"]);
        ensure!(harmless, "{name}: {change}");
    }
    place.expect(0, APPLY).context(name.to_owned())?;
    place.expect(0, &["plan", "-f", "spec.yaml"]).context(name.to_owned())?;
    ensure!(place.inventory()?.doubled().is_empty(), "{name}: something was made twice");
    let sound = place.run(&["state", "verify", "line"])?;
    let past_only = !sound.out.contains("state rebuild");
    ensure!(past_only, "{name}: {sound:?}");
    // A second rebuild is refused, because the state has the last applied attributes again.
    ensure!(place.expect(1, REBUILD)?.err.contains("CLI0037"), "{name}");
    Ok(())
}

#[test]
fn whatever_is_lost_is_found_again_by_ownership() -> Result<()> {
    let whole = applied()?;
    std::fs::copy(whole.state().join("line/head"), whole.state().join("../old-head"))?;
    // A second generation, so that there is a past to be kept.
    whole.write("spec.yaml", &crate::state::larger())?;
    whole.expect(0, APPLY)?;
    let ways: &[(&str, Damage)] = &[
        ("the head is lost", |state| Ok(std::fs::remove_file(state.join("head"))?)),
        ("the head is damaged", |state| flip(&state.join("head"))),
        ("an old head is put back", |state| {
            std::fs::copy(state.join("../../old-head"), state.join("head"))?;
            Ok(())
        }),
        ("the head is cut off", |state| Ok(std::fs::write(state.join("head"), "")?)),
        ("the snapshot is lost", |state| Ok(std::fs::remove_file(newest(state.join("snapshots"))?)?)),
        ("the snapshot is damaged", |state| flip(&newest(state.join("snapshots"))?)),
        ("all is lost but the journal", |state| {
            std::fs::remove_file(state.join("head"))?;
            std::fs::remove_dir_all(state.join("history"))?;
            Ok(std::fs::remove_dir_all(state.join("snapshots"))?)
        }),
    ];
    for (name, damage) in ways {
        let place = Place::new(PROGRAM)?;
        place.copy_from(&whole)?;
        place.write("spec.yaml", &crate::state::larger())?;
        damage(&place.state().join("line"))?;
        let cloud = objects(&place)?;
        rebuilds(&place, name)?;
        ensure!(objects(&place)? == cloud, "{name}: the cloud is another one");
        // Numbers go on behind every one that was used.
        let history = crate::state::json(&place, &["state", "history", "line"])?;
        let newest = &history["generations"][0]["generation"];
        let expected = if name.starts_with("all") { 2 } else { 4 };
        ensure!(*newest == expected, "{name}: {history}");
    }
    Ok(())
}

#[test]
fn nothing_begins_anew_over_a_state_that_is_lost() -> Result<()> {
    let place = applied()?;
    let head = place.state().join("line/head");
    let kept = std::fs::read(&head)?;
    std::fs::remove_file(&head)?;
    let before = tree(&place.state())?;
    for arguments in [&["plan", "-f", "spec.yaml"][..], APPLY, &["delete", "line", "--yes"]] {
        let refused = place.expect(1, arguments)?;
        ensure!(refused.err.contains("STATE0050"), "{arguments:?}: {refused:?}");
        ensure!(refused.err.contains("slipway state rebuild line"), "{arguments:?}: {refused:?}");
    }
    ensure!(tree(&place.state())? == before, "something was written");
    // A new state over an older one, as older versions could make it, is a problem.
    place.write("spec.yaml", &crate::state::larger())?;
    std::fs::write(&head, &kept)?;
    place.expect(0, APPLY)?;
    std::fs::write(&head, &kept)?;
    let verified = place.run(&["state", "verify", "line"])?;
    ensure!(verified.code == Some(1) && verified.out.contains("an older head was put back"), "{verified:?}");
    ensure!(verified.out.contains("state rebuild line"), "{verified:?}");
    // Nothing is planned from it, and nothing is created again.
    let before = tree(&place.state())?;
    for arguments in [&["plan", "-f", "spec.yaml"][..], APPLY, &["state", "rm", "line", "*", "--yes"]] {
        let refused = place.expect(1, arguments)?;
        ensure!(refused.err.contains("STATE0070"), "{arguments:?}: {refused:?}");
        ensure!(refused.err.contains("newest version of the object"), "{arguments:?}: {refused:?}");
    }
    ensure!(tree(&place.state())? == before, "something was written");
    Ok(())
}

#[test]
fn a_journal_that_is_lost_in_the_middle_of_a_run_doubles_nothing() -> Result<()> {
    let ways: &[(&str, Damage)] = &[
        ("the first segment is lost", |state| {
            let mut files: Vec<PathBuf> = tree(&state.join("journal"))?.into_keys().collect();
            files.sort();
            Ok(std::fs::remove_file(files.first().context("a segment")?)?)
        }),
        ("the last segment is damaged", |state| flip(&newest(state.join("journal"))?)),
        ("all of it and the head are lost", |state| {
            std::fs::remove_file(state.join("head"))?;
            Ok(std::fs::remove_dir_all(state.join("journal"))?)
        }),
    ];
    for (name, damage) in ways {
        let place = Place::new(PROGRAM)?;
        place.write("spec.yaml", SMALL)?;
        // Killed in the middle of its first apply, with calls under way.
        let killed = place.command(APPLY).env("SLIPWAY_TEST_KILL", "7:after").output()?;
        ensure!(Ended::of(killed)?.code.is_none(), "{name}: it was not killed");
        ensure!(!objects(&place)?.is_empty(), "{name}: nothing was made yet");
        damage(&place.state().join("line"))?;
        let known = objects(&place)?;
        place.expect(0, &[REBUILD, &["--yes"]].concat()).context((*name).to_owned())?;
        place.expect(0, APPLY).context((*name).to_owned())?;
        place.expect(0, &["plan", "-f", "spec.yaml"]).context((*name).to_owned())?;
        ensure!(place.inventory()?.doubled().is_empty(), "{name}: something was made twice");
        let now = objects(&place)?;
        ensure!(known.iter().all(|id| now.contains(id)), "{name}: something was made anew");
    }
    Ok(())
}

#[test]
fn there_is_nothing_to_rebuild_from_an_empty_or_an_unreadable_cloud() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    let empty = place.expect(1, &[REBUILD, &["--yes"]].concat())?.err;
    ensure!(empty.contains("RUN0021"), "{empty}");
    ensure!(!place.state().join("line").exists(), "something was written");
    place.expect(0, APPLY)?;
    std::fs::remove_file(place.state().join("line/head"))?;
    let before = tree(&place.state())?;
    let fault = r#"[{ "type": "sim_subnet", "kind": "unreadable" }]"#;
    place.write(".slipway/sim/faults.json", fault)?;
    let unreadable = place.expect(1, &[REBUILD, &["--yes"]].concat())?.err;
    ensure!(unreadable.contains("RUN0020"), "{unreadable}");
    ensure!(tree(&place.state())? == before, "something was written");
    Ok(())
}

#[test]
fn a_state_that_another_key_opens_is_not_damaged() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    place.write("config/slipway/config.toml", "[encryption]\nstate = true\n")?;
    let run = |passphrase: &str, arguments: &[&str]| {
        Ended::of(place.command(arguments).env("SLIPWAY_PASSPHRASE", passphrase).output()?)
    };
    let (right, wrong) = ("correct horse battery staple", "wrong horse battery staple");
    ensure!(run(right, APPLY)?.code == Some(0));
    ensure!(run(right, &["state", "verify"])?.code == Some(0));
    let before = tree(&place.state())?;
    let forced = [REBUILD, &["--yes", "--force"]].concat();
    for arguments in [&[REBUILD, &["--yes"]].concat()[..], &forced[..], &["state", "show", "line"]] {
        let refused = run(wrong, arguments)?;
        ensure!(refused.code == Some(1) && refused.err.contains("SECRET0004"), "{refused:?}");
        ensure!(!arguments.contains(&"rebuild") || refused.err.contains("`--key-lost`"), "{refused:?}");
    }
    let verified = run(wrong, &["state", "verify"])?;
    ensure!(verified.code == Some(1) && verified.out.contains("/snapshots/"), "{verified:?}");
    ensure!(!verified.out.contains("state rebuild"), "{verified:?}");
    ensure!(tree(&place.state())? == before, "something was written");
    // Actor, time and plan can be read without a key; a damaged object cannot be repaired by one.
    ensure!(run(wrong, &["get", "clusters"])?.code == Some(0));
    let snapshot = newest(place.state().join("line/snapshots"))?;
    flip(&snapshot)?;
    let verified = run(right, &["state", "verify"])?;
    ensure!(verified.code == Some(1) && verified.out.contains("state rebuild line"), "{verified:?}");
    ensure!(run(right, &[REBUILD, &["--yes"]].concat())?.code == Some(0));
    ensure!(run(right, APPLY)?.code == Some(0));
    ensure!(run(right, &["plan", "-f", "spec.yaml"])?.code == Some(0));
    // The key is asked for without a head, too. It is given up only by an option.
    let head = place.state().join("line/head");
    let kept = std::fs::read(&head)?;
    std::fs::remove_file(&head)?;
    let before = tree(&place.state())?;
    let refused = run(wrong, &[REBUILD, &["--yes"]].concat())?;
    ensure!(refused.code == Some(1) && refused.err.contains("SECRET0004"), "{refused:?}");
    ensure!(tree(&place.state())? == before, "something was written");
    std::fs::write(&head, kept)?;
    let lost = run(wrong, &[REBUILD, &["--yes", "--key-lost"]].concat())?;
    ensure!(lost.code == Some(0), "{lost:?}");
    ensure!(run(wrong, &["state", "show", "line"])?.code == Some(0));
    Ok(())
}

/// A way to get a state whose journal is needed, with the key in the environment.
type Unread = fn(&Place, &dyn Fn(&[&str]) -> Command) -> Result<()>;

#[test]
fn a_journal_that_no_key_opens_is_kept_and_the_state_is_rebuilt() -> Result<()> {
    let ways: &[(&str, Unread)] = &[
        ("rekeyed", |_, with_key| {
            ensure!(with_key(APPLY).status()?.success(), "apply");
            ensure!(with_key(&["state", "rekey", "line"]).status()?.success(), "rekey");
            Ok(())
        }),
        ("two generations, rekeyed", |place, with_key| {
            ensure!(with_key(APPLY).status()?.success(), "apply");
            place.write("spec.yaml", &crate::state::larger())?;
            ensure!(with_key(APPLY).status()?.success(), "the second apply");
            ensure!(with_key(&["state", "rekey", "line"]).status()?.success(), "rekey");
            Ok(())
        }),
        ("an interrupted run", |_, with_key| {
            let killed = with_key(APPLY).env("SLIPWAY_TEST_KILL", "7:after").status()?;
            ensure!(killed.code().is_none(), "it was not killed");
            Ok(())
        }),
        ("rekeyed, then an interrupted run", |place, with_key| {
            ensure!(with_key(APPLY).status()?.success(), "apply");
            ensure!(with_key(&["state", "rekey", "line"]).status()?.success(), "rekey");
            place.write("spec.yaml", &crate::state::larger())?;
            let killed = with_key(APPLY).env("SLIPWAY_TEST_KILL", "3:after").status()?;
            ensure!(killed.code().is_none(), "it was not killed");
            Ok(())
        }),
    ];
    for (name, prepare) in ways {
        let place = Place::new(PROGRAM)?;
        place.write("spec.yaml", SMALL)?;
        place.write("config/slipway/config.toml", "[encryption]\nstate = true\n")?;
        prepare(&place, &|arguments| {
            let mut command = place.command(arguments);
            command.env("SLIPWAY_PASSPHRASE", "correct horse battery staple");
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command
        })?;
        let run = |arguments: &[&str]| {
            Ended::of(place.command(arguments).env("SLIPWAY_PASSPHRASE", "another horse").output()?)
        };
        let journal = place.state().join("line/journal");
        let (before, state, cloud) = (tree(&journal)?, tree(&place.state())?, objects(&place)?);
        // Without the option, the way out is named and nothing is written.
        for options in [&["--yes"][..], &["--yes", "--force"]] {
            let refused = run(&[REBUILD, options].concat())?;
            ensure!(refused.code == Some(1) && refused.err.contains("SECRET0004"), "{name}: {refused:?}");
            ensure!(refused.err.contains("`--key-lost`"), "{name}: {refused:?}");
        }
        ensure!(tree(&place.state())? == state, "{name}: something was written");
        let rebuilt = run(&[REBUILD, &["--yes", "--key-lost"]].concat())?;
        ensure!(rebuilt.code == Some(0), "{name}: {rebuilt:?}");
        ensure!(rebuilt.err.contains("It stays in the store unread"), "{name}: {rebuilt:?}");
        ensure!(rebuilt.err.contains("line/journal/00000000000"), "{name}: {rebuilt:?}");
        ensure!(objects(&place)? == cloud, "{name}: a rebuild touches the cloud");
        let after = tree(&journal)?;
        ensure!(
            before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)),
            "{name}: a segment is gone"
        );
        for arguments in [APPLY, &["plan", "-f", "spec.yaml"]] {
            let ended = run(arguments)?;
            ensure!(ended.code == Some(0), "{name}: {ended:?}");
        }
        let now = place.inventory()?;
        ensure!(now.doubled().is_empty(), "{name}: something was made twice");
        // What the lost key sealed is named and passed over.
        let history = run(&["state", "history", "line"])?;
        ensure!(history.code == Some(0), "{name}: {history:?}");
        let is_named = history.out.contains("no available key decrypts it: line/history/000000000001");
        ensure!(is_named == (*name == "two generations, rekeyed"), "{name}: {history:?}");
        let collected = run(&["state", "gc", "line", "--yes"])?;
        ensure!(collected.code == Some(0), "{name}: {collected:?}");
    }
    Ok(())
}

#[test]
fn a_commit_that_was_interrupted_is_rebuilt_without_its_key() -> Result<()> {
    let with_key = |place: &Place, variable: (&str, String)| {
        let mut command = place.command(APPLY);
        command.env("SLIPWAY_PASSPHRASE", "correct horse battery staple").env(variable.0, variable.1);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status()
    };
    let encrypted = |from: Option<&Place>, spec: &str| -> Result<Place> {
        let place = Place::new(PROGRAM)?;
        from.map_or(Ok(()), |from| place.copy_from(from))?;
        place.write("spec.yaml", spec)?;
        place.write("config/slipway/config.toml", "[encryption]\nstate = true\n")?;
        Ok(place)
    };
    let first = encrypted(None, SMALL)?;
    ensure!(with_key(&first, ("USER", "tester".to_owned()))?.success(), "the first apply");
    let larger = crate::state::larger();
    let undisturbed = encrypted(Some(&first), &larger)?;
    let count = undisturbed.path().join("count");
    ensure!(
        with_key(&undisturbed, ("SLIPWAY_TEST_COUNT", count.display().to_string()))?.success(),
        "counting"
    );
    let writes: usize = std::fs::read_to_string(&count)?.parse()?;
    // The record of the generation before is written just before the commit.
    let mut recorded = 0;
    for write in writes.saturating_sub(5)..writes {
        let place = encrypted(Some(&first), &larger)?;
        let ended = with_key(&place, ("SLIPWAY_TEST_KILL", format!("{write}:after")))?;
        let is_recorded = place.state().join("line/history/000000000001").exists();
        recorded += usize::from(ended.code().is_none() && is_recorded);
        let rebuild = [REBUILD, &["--yes", "--key-lost"]].concat();
        let rebuilt = place.command(&rebuild).env("SLIPWAY_PASSPHRASE", "another horse").output()?;
        let rebuilt = Ended::of(rebuilt)?;
        ensure!(rebuilt.code == Some(0), "killed after write {write} of {writes}: {rebuilt:?}");
    }
    ensure!(recorded > 0, "no run was killed in its commit");
    Ok(())
}

#[test]
fn a_lease_is_broken_by_name_and_its_holder_ends() -> Result<()> {
    let place = applied()?;
    let none = place.expect(0, &["state", "break-lease", "line"])?.out;
    ensure!(none.contains("No process holds line"), "{none}");
    // Slow enough to be met at work.
    let slow = include_str!("rollout.yaml")
        .replace("    name: sim\n", "    name: sim\n    config: { timeScale: 0.2 }\n");
    place.write("spec.yaml", &slow)?;
    let mut command = place.command(APPLY);
    let first = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let deadline = Instant::now() + Duration::from_secs(30);
    while !place.inventory().is_ok_and(|inventory| {
        inventory
            .objects
            .iter()
            .any(|object| object.owner.as_ref().is_some_and(|owner| owner.cluster == "roll"))
    }) {
        ensure!(Instant::now() < deadline, "the first apply does not begin");
        std::thread::yield_now();
    }
    let unasked = place.expect(1, &["state", "break-lease", "roll"])?.err;
    ensure!(unasked.contains("CLI0014") && unasked.contains("tester@"), "{unasked}");
    let wrong = place.expect(1, &["state", "break-lease", "roll", "--confirm", "line"])?.err;
    ensure!(wrong.contains("CLI0036"), "{wrong}");
    let broken = place.expect(0, &["state", "break-lease", "roll", "--confirm", "roll"])?;
    ensure!(broken.out.contains("roll is free, in epoch 2"), "{broken:?}");
    let first = Ended::of(first.wait_with_output()?)?;
    ensure!(first.code == Some(1) && first.err.contains("RUN0010"), "{first:?}");
    // The steps of the interrupted run are resolved, and nothing is created twice.
    let fast = slow.replace("timeScale: 0.2", "timeScale: 0");
    place.write("spec.yaml", &fast)?;
    place.expect(0, APPLY)?;
    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    ensure!(place.inventory()?.doubled().is_empty());
    Ok(())
}

/// The same in a bucket: the remains of a state are found without its head, and are not overwritten.
#[test]
fn nothing_begins_anew_over_a_state_that_is_lost_in_a_bucket() -> Result<()> {
    let place = Place::on_s3(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    place.expect(0, APPLY)?;
    let backend = place.backend()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let head = Key::new("line/head")?;
    runtime.block_on(backend.delete(&head))?;
    let keys = || runtime.block_on(backend.list(&Prefix::root()));
    let before = keys()?;
    for arguments in [&["plan", "-f", "spec.yaml"][..], APPLY, &["delete", "line", "--yes"]] {
        let refused = place.expect(1, arguments)?;
        ensure!(refused.err.contains("STATE0050"), "{arguments:?}: {refused:?}");
        ensure!(refused.err.contains("slipway state rebuild line"), "{arguments:?}: {refused:?}");
    }
    ensure!(keys()? == before, "something was written: {:?}", keys()?);
    let verified = place.run(&["state", "verify", "line"])?;
    ensure!(verified.code == Some(1), "{verified:?}");
    place.expect(0, &[REBUILD, &["--yes"]].concat())?;
    place.expect(0, APPLY)?;
    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    Ok(())
}
