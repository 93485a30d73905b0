//! Plans that are kept beside the state: stored by digest, approved, applied from elsewhere, exported and put back.

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::{Ended, Place};

use crate::state::{applied, json, larger, run_as, tree};
use crate::{APPLY, PROGRAM, SMALL};

const STORE: &[&str] = &["plan", "-f", "spec.yaml", "--out", "state:"];

/// Stores the plan of the spec; returns its digest.
fn store(place: &Place) -> Result<String> {
    let ended = place.expect(2, &[STORE, &["-o", "json"]].concat())?;
    let plan: serde_json::Value = serde_json::from_str(&ended.out)?;
    let digest = plan["digest"].as_str().and_then(|digest| digest.strip_prefix("sha256:"));
    let digest = digest.context("a digest")?.to_owned();
    ensure!(plan["stored"] == format!("state:line/{digest}"), "{ended:?}");
    Ok(digest)
}

#[test]
fn a_stored_plan_is_applied_by_its_digest_from_another_machine() -> Result<()> {
    let here = Place::new(PROGRAM)?;
    // Both machines use one cloud.
    let cloud = format!("provider: {{ name: sim, config: {{ directory: {} }} }}", here.cloud().display());
    here.write("spec.yaml", &SMALL.replace("provider: { name: sim }", &cloud))?;
    let digest = store(&here)?;
    ensure!(store(&here)? == digest, "the same plan is stored twice");
    let elsewhere = Place::new(PROGRAM)?;
    let state = here.state();
    let state = state.to_str().context("a path")?;
    let there = |arguments: &[&str]| elsewhere.run(&[arguments, &["--state", state]].concat());

    let shown = there(&["show", &format!("state:{}", &digest[..8])])?;
    ensure!(shown.code == Some(0) && shown.out.contains(&digest), "{shown:?}");
    for (reference, part) in [
        ("state:0123", "8 to 64"),
        ("state:00000000", "no plan in"),
        ("state:xyzxyzxy", "names no plan"),
        ("state:other/00000000", "no plan in"),
    ] {
        let refused = there(&["apply", reference, "--yes"])?;
        ensure!(refused.code == Some(1) && refused.err.contains("CLI0034"), "{reference}: {refused:?}");
        ensure!(refused.err.contains(part), "{reference}: {refused:?}");
    }
    let done = there(&["apply", &format!("state:line/{digest}"), "--yes"])?;
    ensure!(done.code == Some(0), "{done:?}");
    here.expect(0, &["plan", "-f", "spec.yaml"])?;
    let again = there(&["apply", &format!("state:{digest}"), "--yes"])?;
    ensure!(again.code == Some(1) && again.err.contains("RUN0004"), "{again:?}");
    Ok(())
}

#[test]
fn a_plan_whose_bytes_were_changed_is_refused() -> Result<()> {
    let place = applied()?;
    place.write("spec.yaml", &larger())?;
    let digest = store(&place)?;
    let path = place.state().join("line/plans").join(&digest);
    let text = std::fs::read_to_string(&path)?;
    std::fs::write(&path, text.replace("sim.large", "sim.small"))?;
    let refused = place.expect(1, &["apply", &format!("state:{digest}"), "--yes"])?;
    ensure!(refused.err.contains("STATE0007"), "{refused:?}");
    Ok(())
}

#[test]
fn an_approval_is_of_one_digest_and_counts_persons() -> Result<()> {
    let place = applied()?;
    place.write("spec.yaml", &larger())?;
    let digest = store(&place)?;
    let reference = format!("state:{digest}");
    let apply = |who: &str, option: &str| run_as(&place, who, &["apply", &reference, "--yes", option]);
    let refused = |ended: Ended, part: &str| -> Result<()> {
        ensure!(ended.code == Some(1) && ended.err.contains("CLI0035"), "{ended:?}");
        ensure!(ended.err.contains(part), "no `{part}`: {ended:?}");
        Ok(())
    };
    refused(apply("ada", "--require-approval")?, "has none")?;
    // Without a terminal, the command fails. A saved file of the same plan is the same plan.
    ensure!(run_as(&place, "ada", &["approve", &reference])?.err.contains("CLI0014"));
    place.expect(2, &["plan", "-f", "spec.yaml", "--out", "change.plan"])?;
    let approved = run_as(&place, "ada", &["approve", "change.plan", "--yes", "--comment", "looks right"])?;
    ensure!(approved.code == Some(0) && approved.out.contains(&digest), "{approved:?}");
    let twice = run_as(&place, "ada", &["approve", &reference, "--yes"])?;
    ensure!(twice.code == Some(0) && twice.out.contains("approved sha256:"), "{twice:?}");
    refused(apply("bob", "--require-approval=2")?, "needs 2 approvals and has 1")?;
    refused(apply("ada", "--require-approval-by-other")?, "who applies it")?;
    // The configuration requires more approvals than the option.
    place.write("config/slipway/config.toml", "require-approval = 3\n")?;
    refused(apply("bob", "--require-approval")?, "needs 3 approvals")?;
    place.write("config/slipway/config.toml", "")?;

    // Another plan has no approval, even from the same actor; nor has a plan that the apply makes itself.
    place.write("spec.yaml", &larger().replace("sim.large", "sim.small"))?;
    let other = format!("state:{}", store(&place)?);
    refused(run_as(&place, "bob", &["apply", &other, "--yes", "--require-approval"])?, "has none")?;
    refused(run_as(&place, "bob", &[APPLY, &["--require-approval"]].concat())?, "has none")?;
    ensure!(json(&place, &["state", "history", "line"])?["generations"].as_array().map(Vec::len) == Some(1));
    // The spec of the approved plan gives the same plan again.
    place.write("spec.yaml", &larger())?;
    let done = run_as(&place, "bob", &[APPLY, &["--require-approval-by-other"]].concat())?;
    ensure!(done.code == Some(0) && done.err.contains("Approved by ada@"), "{done:?}");

    // The approved plan was applied: it does not fit the state any more, and it cannot be approved either.
    ensure!(apply("bob", "--require-approval")?.err.contains("RUN0004"));
    ensure!(run_as(&place, "eve", &["approve", &reference, "--yes"])?.err.contains("RUN0004"));
    Ok(())
}

#[test]
fn a_deletion_can_be_stored_approved_and_applied_like_any_plan() -> Result<()> {
    let place = applied()?;
    // The approval of another person is asked for before the confirmation of the caller.
    let refused = run_as(&place, "ada", &["delete", "line", "--yes", "--require-approval"])?;
    ensure!(refused.code == Some(1) && refused.err.contains("CLI0035"), "{refused:?}");
    let words = refused.err.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(words.contains("`slipway delete line --dry-run --out state:`"), "{refused:?}");
    let dry = ["delete", "line", "--dry-run", "--delete-backups", "--out", "state:"];
    let stored = place.expect(2, &dry)?.out;
    let reference = stored.split_whitespace().find(|word| word.starts_with("state:")).context("a place")?;
    ensure!(run_as(&place, "ada", &["approve", reference, "--yes"])?.code == Some(0), "{stored}");
    // What is to be saved is not carried out.
    place.expect(1, &["delete", "line", "--yes", "--confirm", "line", "--out", "state:"])?;
    place.expect(1, &["roll", "-f", "spec.yaml", "--yes", "--out", "state:"])?;
    place.expect(1, &["upgrade", "-f", "spec.yaml", "--to", "1.36.0", "--yes", "--out", "state:"])?;
    let apply = ["apply", reference, "--yes", "--require-approval-by-other"];
    // An approval does not confirm the loss of data.
    let unnamed = run_as(&place, "bob", &apply)?;
    ensure!(unnamed.code == Some(1) && unnamed.err.contains("RUN0008"), "{unnamed:?}");
    let done = run_as(&place, "bob", &[&apply[..], &["--confirm", "line"]].concat())?;
    ensure!(done.code == Some(0), "{done:?}");
    ensure!(place.inventory()?.objects.is_empty(), "something is left");
    ensure!(place.expect(1, &["state", "show", "line"])?.err.contains("CLI0009"));
    let history = json(&place, &["state", "history", "line"])?;
    ensure!(history["generations"][0]["deleted"] == true, "{history}");

    // The deletion of a protected cluster is not even stored.
    place.write(
        "spec.yaml",
        &SMALL.replace("  region: sim-1\n", "  region: sim-1\n  deletionProtection: true\n"),
    )?;
    place.expect(0, APPLY)?;
    ensure!(place.expect(1, &dry)?.err.contains("CLI0010"));
    Ok(())
}

#[test]
fn an_exported_generation_is_put_back_and_never_over_a_newer_one_unnamed() -> Result<()> {
    let place = applied()?;
    place.expect(0, &["state", "export", "line", "--out", "one.json"])?;
    let same = place.expect(0, &["state", "import", "one.json", "--yes"])?.out;
    ensure!(same.contains("as the archive has it"), "{same}");
    place.write("spec.yaml", &larger())?;
    place.expect(0, APPLY)?;
    place.expect(0, &["state", "export", "line", "--generation", "1", "--out", "again.json"])?;
    ensure!(
        tree(place.path())?
            .into_iter()
            .filter(|(path, _)| {
                path.extension().is_some_and(|extension| extension == "json")
                    && path.parent() == Some(place.path())
            })
            .map(|(_, bytes)| bytes)
            .collect::<std::collections::BTreeSet<_>>()
            .len()
            == 1,
        "two exports differ"
    );
    let refused = place.expect(1, &["state", "import", "one.json", "--yes"])?.err;
    ensure!(refused.contains("CLI0033") && refused.contains("--force 2"), "{refused}");
    ensure!(
        place.expect(1, &["state", "import", "one.json", "--yes", "--force", "1"])?.err.contains("CLI0113")
    );
    ensure!(place.expect(1, &["state", "import", "one.json", "--force", "2"])?.err.contains("CLI0014"));
    let back = place.expect(0, &["state", "import", "one.json", "--yes", "--force", "2"])?.out;
    ensure!(back.contains("generation 3"), "{back}");
    let none = place.expect(0, &["state", "diff", "line", "1", "3"])?.out;
    ensure!(none.contains("nothing differs"), "{none}");
    // The cloud has not changed; the plan compares the spec with the last applied attributes, as usual.
    place.expect(0, APPLY)?;
    place.expect(0, &["plan", "-f", "spec.yaml"])?;

    // An archive of another cluster is not written over, and a link that leads nowhere is not followed.
    let kept = std::fs::read_to_string(place.path().join("one.json"))?;
    place.write("other.json", &kept.replacen("\"cluster\":\"line\"", "\"cluster\":\"other\"", 1))?;
    let over = place.expect(1, &["state", "export", "line", "--out", "other.json"])?.err;
    ensure!(over.contains("CLI0090") && over.contains("is an archive of other"), "{over}");
    std::os::unix::fs::symlink("elsewhere.json", place.path().join("link.json"))?;
    let link = place.expect(1, &["state", "export", "line", "--out", "link.json"])?.err;
    ensure!(link.contains("CLI0094") && !place.path().join("elsewhere.json").exists(), "{link}");

    // A truncated file is refused, and so is another cluster with the name.
    let bytes = std::fs::read(place.path().join("one.json"))?;
    std::fs::write(place.path().join("cut.json"), &bytes[..bytes.len() / 2])?;
    ensure!(place.expect(1, &["state", "import", "cut.json", "--yes"])?.err.contains("STATE0042"));
    let other = Place::new(PROGRAM)?;
    other.write("spec.yaml", SMALL)?;
    other.expect(0, APPLY)?;
    std::fs::write(other.path().join("one.json"), &bytes)?;
    let refused = other.expect(1, &["state", "import", "one.json", "--yes"])?.err;
    ensure!(refused.contains("another cluster of the name line"), "{refused}");

    // The store has no trace of the cluster.
    std::fs::remove_dir_all(place.state())?;
    let imported = place.expect(0, &["state", "import", "one.json", "--yes"])?;
    ensure!(imported.err.contains("If another store still has it"), "{}", imported.err);
    let clusters = json(&place, &["get", "clusters"])?;
    ensure!(clusters["clusters"][0]["generation"] == 2, "no number is used twice: {clusters}");
    place.expect(0, APPLY)?;
    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    ensure!(place.inventory()?.doubled().is_empty());
    Ok(())
}
