//! Providers that are found, locked and named.

use super::*;

#[test]
fn a_provider_is_found_pinned_and_the_same_in_a_process_of_its_own() -> Result<()> {
    let place = place()?;
    let path = provider(&place)?;
    let expect = |code: i32, arguments: &[&str]| -> Result<Ended> {
        let ended = run_with(&place, arguments, &[("SLIPWAY_PROVIDER_PATH", &path)])?;
        ensure!(ended.code == Some(code), "{arguments:?}: {:?} {}{}", ended.code, ended.out, ended.err);
        Ok(ended)
    };
    let json = |arguments: &[&str]| -> Result<Json> { Ok(serde_json::from_str(&expect(0, arguments)?.out)?) };
    let status = |list: &Json, executable: bool| {
        let rows = list["providers"].as_array().cloned().unwrap_or_default();
        let row = rows.into_iter().find(|row| (row["executable"].as_str() != Some("")) == executable);
        row.and_then(|row| row["status"].as_str().map(str::to_owned)).unwrap_or_default()
    };
    ensure!(status(&json(&["provider", "list", "-o", "json"])?, true) == "not locked");
    let listed = expect(0, &["provider", "list"])?.out;
    for built_in in ["sim", "hosts", "kubernetes"] {
        let is_shown = |line: &str| line.starts_with(built_in) && line.ends_with("built in");
        ensure!(listed.lines().any(is_shown), "{built_in}: {listed}");
    }
    let embedded = [
        expect(2, PLAN)?.out,
        expect(2, &[PLAN, &["-o", "json", "--out", "embedded.plan"]].concat())?.out,
        expect(0, &["provider", "info", "sim", "-o", "json"])?.out,
    ];

    let locked = json(&["provider", "lock", "sim", "-o", "json"])?;
    let digest = locked["locked"][0]["digest"].as_str().unwrap_or_default();
    ensure!(locked["locked"][0]["name"] == "sim" && digest.starts_with("sha256:"), "{locked}");
    let list = json(&["provider", "list", "-o", "json"])?;
    ensure!(status(&list, true) == "locked" && status(&list, false).contains("replaced"), "{list}");
    let over_the_wire = [
        expect(2, PLAN)?.out,
        expect(2, &[PLAN, &["-o", "json", "--out", "wire.plan"]].concat())?.out,
        expect(0, &["provider", "info", "sim", "-o", "json"])?.out,
    ];
    for (embedded, wire) in embedded.iter().zip(&over_the_wire) {
        ensure!(embedded == wire, "not the same:\n{embedded}\n{wire}");
    }
    let bytes = |name: &str| std::fs::read(place.path().join(name));
    ensure!(bytes("embedded.plan")? == bytes("wire.plan")?, "the plan files differ");

    // Applied over the wire, planned by the one that is built in.
    expect(0, &["apply", "embedded.plan", "--yes"])?;
    expect(0, PLAN)?;
    std::fs::rename(place.path().join("slipway.lock"), place.path().join("away.lock"))?;
    expect(0, PLAN)?;
    std::fs::rename(place.path().join("away.lock"), place.path().join("slipway.lock"))?;

    // A provider that is locked and not installed is listed.
    let away = place.path().join("away");
    std::fs::rename(place.path().join("providers"), &away)?;
    let gone = expect(0, &["provider", "list"])?.out;
    ensure!(gone.contains("locked, and no executable was found"), "{gone}");
    std::fs::rename(&away, place.path().join("providers"))?;

    // An executable that changed is not run.
    let executable = place.path().join("providers/slipway-provider-sim");
    std::fs::write(&executable, "#!/bin/sh\ntouch ran\n")?;
    ensure!(status(&json(&["provider", "list", "-o", "json"])?, true).contains("changed"));
    let refused = expect(1, PLAN)?;
    ensure!(refused.err.contains("PROVIDER") && !place.path().join("ran").exists(), "{}", refused.err);
    Ok(())
}

#[test]
fn a_provider_without_its_executable_is_listed_as_such() -> Result<()> {
    let place = place()?;
    let path = provider(&place)?;
    std::fs::remove_file(place.path().join("providers/slipway-provider-sim"))?;
    let listed = run_with(&place, &["provider", "list"], &[("SLIPWAY_PROVIDER_PATH", &path)])?;
    ensure!(listed.out.contains("no executable was found"), "{listed:?}");
    ensure!(!listed.out.contains("slipway-provider-sim"), "a path that does not exist: {listed:?}");
    let refused = run_with(&place, &["provider", "lock", "sim"], &[("SLIPWAY_PROVIDER_PATH", &path)])?;
    ensure!(refused.code == Some(1) && refused.err.contains("PROVIDER0013"), "{refused:?}");
    Ok(())
}

#[test]
fn an_unknown_provider_is_named_with_the_way_out() -> Result<()> {
    let place = place()?;
    let unknown = place.expect(1, &[PLAN, &["--provider", "nosuch"]].concat())?;
    ensure!(unknown.err.contains("nosuch") && unknown.err.contains("hint:"), "{}", unknown.err);
    place.write("other.yaml", &SMALL.replace("name: sim }", "name: sim, config: { latencyy: true } }"))?;
    let setting = place.expect(1, &["plan", "-f", "other.yaml"])?;
    ensure!(setting.err.contains("did you mean `latency`"), "{}", setting.err);
    place.expect(1, &[PLAN, &["--provider", "sim", "--provider-config", "[1"]].concat())?;
    Ok(())
}
