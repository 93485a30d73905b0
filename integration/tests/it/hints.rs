//! Mistakes that a first user makes: each refusal names the place, and a way out that can be followed.

use anyhow::{Result, ensure};
use slipway_integration::place::{Ended, Place};

use crate::secrets::{TEXT, vault};
use crate::{APPLY, PLAN, PROGRAM, SMALL};

fn place(spec: &str) -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", spec)?;
    Ok(place)
}

/// Whether a refusal has all of the texts.
fn tells(refused: &Ended, texts: &[&str]) -> Result<()> {
    for text in texts {
        ensure!(refused.err.contains(text), "{text}: {}", refused.err);
    }
    Ok(())
}

#[test]
fn an_unknown_provider_is_told_at_its_place_with_the_one_that_was_meant() -> Result<()> {
    let place = place(&SMALL.replace("name: sim }", "name: smi }"))?;
    tells(&place.expect(1, PLAN)?, &["PROVIDER0001", "did you mean `sim`?", "spec.yaml:5:"])?;
    place.write("spec.yaml", &SMALL.replace("name: sim }", "name: gcp }"))?;
    tells(&place.expect(1, PLAN)?, &["PROVIDER0001", "the providers here are hosts, sim", "spec.yaml:5:"])?;
    // The executable alone is not a provider.
    place.write("providers/slipway-provider-gcp", "")?;
    let path = place.path().join("providers");
    let refused = Ended::of(place.command(PLAN).env("SLIPWAY_PROVIDER_PATH", &path).output()?)?;
    ensure!(!refused.err.contains("the providers here are"), "{}", refused.err);
    tells(&refused, &["PROVIDER0001", "write slipway-provider-gcp.toml beside it", "spec.yaml:5:"])
}

#[test]
fn a_quiet_check_prints_errors_only() -> Result<()> {
    let off = "  addons: [{ name: metric-server, enabled: false }]\n";
    let place = place(&SMALL.replace("  zones: [sim-1a]\n", &format!("  zones: [sim-1a]\n{off}")))?;
    let check = ["spec", "check", "-f", "spec.yaml"];
    let loud = place.expect(0, &check)?;
    ensure!(loud.out.contains("did you mean `metrics-server`?"), "{}", loud.out);
    let quiet = place.expect(0, &[&check[..], &["-q"]].concat())?;
    ensure!(!quiet.out.contains("metric-server"), "{}", quiet.out);
    Ok(())
}

#[test]
fn an_offline_plan_of_a_cluster_that_exists_is_told_as_such() -> Result<()> {
    let place = place(SMALL)?;
    place.expect(2, &[PLAN, &["--offline", "--out", "offline.plan"]].concat())?;
    place.expect(0, APPLY)?;
    let refused = place.expect(1, &["apply", "offline.plan", "--yes"])?;
    tells(&refused, &["RUN0004", "run `slipway plan` again, and without `--offline`"])
}

#[test]
fn a_secret_that_the_trust_policy_refuses_is_told_by_its_code() -> Result<()> {
    let place = place(&vault("{ env: AWS_SECRET_ACCESS_KEY }"))?;
    let mut command = place.command(APPLY);
    let refused = Ended::of(command.env("AWS_SECRET_ACCESS_KEY", "set").output()?)?;
    ensure!(refused.code == Some(1), "{refused:?}");
    tells(&refused, &["[TRUST0003]", "variable=AWS_SECRET_ACCESS_KEY"])?;
    ensure!(!refused.err.contains("set the environment variable"), "{}", refused.err);
    // The same where the cluster exists, and another key would make its data unreadable.
    place.write("spec.yaml", &vault("{ env: KEY }"))?;
    let with_key = |arguments: &[&str]| Ended::of(place.command(arguments).env("KEY", TEXT).output()?);
    let applied = with_key(APPLY)?;
    ensure!(applied.code == Some(0), "{applied:?}");
    place.write("spec.yaml", &vault("{ file: /etc/hostname }"))?;
    tells(&with_key(PLAN)?, &["PLAN0021", "[TRUST0", "file-root"])
}

#[test]
fn a_first_spec_has_a_name_that_the_check_accepts() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    tells(&place.expect(1, &["init", "Bad_Name"])?, &["invalid value 'Bad_Name'"])?;
    tells(&place.expect(1, &["init", "demo", "-o", "json"])?, &["`--out FILE` names the file"])?;
    ensure!(!place.path().join("json").exists() && !place.path().join("cluster.yaml").exists());
    Ok(())
}

#[test]
fn a_missing_configuration_and_a_version_that_is_none_have_a_hint() -> Result<()> {
    let place = place(SMALL)?;
    tells(&place.expect(1, &[PLAN, &["--config", "missing.toml"]].concat())?, &["CLI0001", "`--config`"])?;
    let upgrade = ["upgrade", "-f", "spec.yaml", "--to", "newest"];
    tells(&place.expect(1, &upgrade)?, &["CLI0017", "--to 1.35.2"])?;
    tells(&place.expect(1, &["explain", "spec.network"])?, &["cluster.spec.network"])
}

#[test]
fn a_relative_state_in_the_configuration_starts_at_its_folder() -> Result<()> {
    let place = place(SMALL)?;
    place.write("settings/slipway.toml", "[state]\nurl = \"states\"\n")?;
    let mut command = place.command(&[APPLY, &["--config", "settings/slipway.toml"]].concat());
    let applied = Ended::of(command.env_remove("SLIPWAY_STATE").output()?)?;
    ensure!(applied.code == Some(0), "{applied:?}");
    ensure!(place.path().join("settings/states").is_dir() && !place.path().join("states").exists());
    Ok(())
}

#[test]
fn converted_documents_that_need_a_change_are_named() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let spec = include_str!("../../../fixtures/kops/existing-network/spec.yaml");
    place.write("spec.yaml", &spec.replace("  kubernetesApiAccess: [10.0.0.0/8]\n", ""))?;
    let converted = place.expect(0, &["spec", "convert", "-f", "spec.yaml"])?;
    tells(&converted, &["change the written documents before you use them", "its access list is empty"])
}

#[test]
fn two_clusters_of_one_file_are_converted_and_shown_as_documents_that_load() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let one = include_str!("../../../fixtures/kops/minimal-public/spec.yaml");
    let name = "small.example.org";
    ensure!(one.contains(name));
    place.write("spec.yaml", &format!("{one}\n---\n{}", one.replace(name, "other.example.org")))?;
    for command in [&["spec", "convert"][..], &["spec", "show"], &["spec", "show", "--full"]] {
        let printed = place.expect(0, &[command, &["-f", "spec.yaml"]].concat())?.out;
        place.write("printed.yaml", &printed)?;
        place.expect(0, &["spec", "check", "-f", "printed.yaml"])?;
    }
    Ok(())
}
