//! Problems that users of the program found: overwritten files, hints that did not help, missing messages.

use anyhow::{Result, ensure};
use slipway_integration::place::Place;

use crate::{APPLY, PLAN, PROGRAM, SMALL};

fn place() -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    Ok(place)
}

#[test]
fn an_output_that_is_no_file_is_refused_before_anything_is_planned() -> Result<()> {
    let place = place()?;
    let pipe = place.path().join("pipe");
    ensure!(std::process::Command::new("mkfifo").arg(&pipe).status()?.success());
    std::fs::create_dir(place.path().join("folder"))?;
    // A spec with a mistake is not even read.
    place.write("bad.yaml", "kind: [")?;
    let commands: [&[&str]; 6] = [
        &["plan", "-f", "bad.yaml"],
        &["delete", "-f", "bad.yaml", "--dry-run"],
        &["roll", "-f", "bad.yaml", "--dry-run"],
        &["upgrade", "-f", "bad.yaml", "--to", "1.36.0", "--dry-run"],
        &["export", "terraform", "-f", "bad.yaml"],
        &["state", "export", "line"],
    ];
    for command in commands {
        for out in ["pipe", "folder", "/dev/null", "none/a.plan"] {
            let refused = place.expect(1, &[command, &["--out", out]].concat())?.err;
            ensure!(
                refused.contains("CLI0094") && refused.contains("hint: "),
                "{command:?} {out}: {refused}"
            );
        }
    }
    for out in ["pipe", "folder", "/dev/null"] {
        let refused = place.expect(1, &["kubeconfig", "line", "--out", out])?.err;
        ensure!(refused.contains("CLI0094"), "{out}: {refused}");
    }
    Ok(())
}

#[test]
fn an_output_replaces_older_outputs_of_its_kind_only() -> Result<()> {
    let place = place()?;
    fn plan(out: &str) -> Vec<&str> {
        [PLAN, &["--out", out]].concat()
    }
    let refused = place.expect(1, &plan("spec.yaml"))?.err;
    ensure!(refused.contains("CLI0090") && refused.contains("spec.yaml exists"), "{refused}");
    place.write("empty", "")?;
    place.expect(2, &plan("empty"))?;
    place.expect(2, &plan("a.plan"))?;
    place.expect(2, &plan("a.plan"))?;
    place.expect(0, APPLY)?;
    let export = ["state", "export", "line", "--out"];
    place.expect(0, &[&export[..], &["a.archive"]].concat())?;
    place.expect(0, &[&export[..], &["a.archive"]].concat())?;
    place.expect(1, &[&export[..], &["a.plan"]].concat())?;
    place.expect(1, &[&export[..], &["spec.yaml"]].concat())?;
    place.expect(1, &plan("a.archive"))?;
    place.expect(1, &["delete", "line", "--dry-run", "--out", "spec.yaml"])?;
    let terraform = ["export", "terraform", "-f", "spec.yaml", "--source", "example/sim", "--out"];
    place.expect(0, &[&terraform[..], &["main.tf"]].concat())?;
    place.expect(0, &[&terraform[..], &["main.tf"]].concat())?;
    place.expect(1, &[&terraform[..], &["spec.yaml"]].concat())?;
    place.write("own.tf", "variable \"a\" {}\n")?;
    place.expect(1, &[&terraform[..], &["own.tf"]].concat())?;
    ensure!(std::fs::read_to_string(place.path().join("spec.yaml"))? == SMALL, "the spec was written over");
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn a_text_plan_names_its_cluster_its_place_and_its_actor() -> Result<()> {
    let place = place()?;
    let head = |out: &str| out.lines().take(4).map(str::to_owned).collect::<Vec<_>>();
    let plan = head(&place.expect(2, PLAN)?.out);
    ensure!(plan[0] == "Cluster line, provider sim, account sim-account, region sim-1", "{plan:?}");
    ensure!(plan[1].starts_with("State in .slipway/state, actor tester@"), "{plan:?}");
    ensure!(plan[2] == "Symbols: + create" && plan[3].is_empty(), "{plan:?}");
    let offline = head(&place.expect(2, &[PLAN, &["--offline"]].concat())?.out);
    ensure!(offline[0].starts_with("Cluster line, provider sim"), "{offline:?}");
    ensure!(offline[1].starts_with("No state (`--offline`), actor tester@"), "{offline:?}");
    Ok(())
}

#[test]
fn questions_name_what_answers_them() -> Result<()> {
    let place = place()?;
    place.expect(2, &[PLAN, &["--out", "a.plan"]].concat())?;
    let asked = place.expect(1, &["approve", "a.plan"])?.err;
    ensure!(asked.contains("`Approve this plan?`") && !asked.contains("carries the plan out"), "{asked}");
    place.expect(0, APPLY)?;
    let moved = place.expect(1, &["state", "mv", "line", "sim_network.main", "sim_network.other"])?.err;
    ensure!(moved.contains("CLI0014"), "{moved}");
    let entered = place.expect(1, &["kubeconfig", "line"])?.err;
    ensure!(entered.contains("has no Kubernetes API") && !entered.contains("slipway apply"), "{entered}");
    // No object was read, so the cluster is neither healthy nor unhealthy.
    let looked = place.expect(1, &["validate", "line"])?;
    ensure!(looked.err.contains("CLI0041") && looked.err.contains("`slipway drift line`"), "{looked:?}");
    ensure!(looked.out.is_empty(), "{looked:?}");
    let logs = place.expect(1, &["logs", "nobody"])?.err;
    ensure!(logs.contains("CLI0043"), "{logs}");
    Ok(())
}

#[test]
fn an_archive_of_another_life_needs_its_unique_id() -> Result<()> {
    let (place, other) = (place()?, place()?);
    for place in [&place, &other] {
        place.expect(0, APPLY)?;
        place.expect(0, &["state", "export", "line", "--out", "one.json"])?;
    }
    std::fs::copy(other.path().join("one.json"), place.path().join("other.json"))?;
    let uid = |file: &str| -> Result<String> {
        let text = std::fs::read_to_string(place.path().join(file))?;
        let about: serde_json::Value = serde_json::from_str(text.lines().next().unwrap_or_default())?;
        Ok(about["uid"].as_str().unwrap_or_default().to_owned())
    };
    let (ours, theirs) = (uid("one.json")?, uid("other.json")?);
    let over = place.expect(1, &["state", "export", "line", "--out", "other.json"])?.err;
    ensure!(over.contains("CLI0090") && over.contains(&theirs), "{over}");
    ensure!(uid("other.json")? == theirs, "an archive of another cluster was written over");
    let import = ["state", "import", "other.json", "--yes", "--force", "1"];
    let refused = place.expect(1, &import)?.err;
    ensure!(refused.contains("CLI0091") && refused.contains(&ours) && refused.contains(&theirs), "{refused}");
    place.expect(1, &[&import[..], &["--confirm", &theirs]].concat())?;
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn a_missing_secret_of_a_new_cluster_stops_its_plan() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &crate::secrets::vault("{ env: NOWHERE }"))?;
    let planned = place.expect(1, PLAN)?.out;
    ensure!(planned.contains("NOWHERE is not set") || planned.contains("variable NOWHERE"), "{planned}");
    let applied = place.expect(1, APPLY)?.err;
    ensure!(applied.contains("CLI0013") && applied.contains("NOWHERE"), "{applied}");
    let stranger = place.run(&[PLAN, &["--untrusted"]].concat())?;
    ensure!(!stranger.out.contains("is not set") && stranger.code != Some(0), "{stranger:?}");
    place.expect(2, &[PLAN, &["--no-preflight"]].concat())?;
    Ok(())
}

#[test]
fn a_failed_delete_goes_on_with_delete_and_names_what_was_forgotten() -> Result<()> {
    let place = place()?;
    place.expect(0, APPLY)?;
    place.expect(0, &["state", "rm", "line", "sim_machine_pool.control-plane", "--yes"])?;
    let ended = place.run(&["delete", "line", "--yes", "--confirm", "line"])?;
    ensure!(ended.code == Some(1), "{ended:?}");
    ensure!(
        ended.out.contains("`slipway delete line` goes on") && !ended.out.contains("next apply"),
        "{ended:?}"
    );
    ensure!(ended.err.contains("sim_machine_pool.control-plane"), "{ended:?}");
    ensure!(ended.err.contains("slipway state rebuild line"), "{ended:?}");
    place.expect(0, &["state", "rebuild", "line", "-f", "spec.yaml", "--force", "--yes"])?;
    place.expect(0, &["delete", "line", "--yes", "--confirm", "line"])?;
    Ok(())
}
