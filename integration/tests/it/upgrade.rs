//! Upgrades by the program: one plan for each minor version, and the spec file follows.

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::Place;
use slipway_plan::Plan;
use slipway_provider_sim::inspect::Tamper;

use crate::PROGRAM;

/// A small cluster that was applied, its spec, and the path of the spec.
fn small() -> Result<(Place, String, PathBuf)> {
    let place = Place::new(PROGRAM)?;
    let spec = include_str!("rollout.yaml").replace("fixed: 3", "fixed: 1").replace("fixed: 6", "fixed: 2");
    let path = place.write("spec.yaml", &spec)?;
    place.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    Ok((place, spec, path))
}

#[test]
fn a_chain_of_minor_versions_is_a_sequence_of_plans() -> Result<()> {
    let (place, spec, path) = small()?;
    let preview = place.expect(2, &["upgrade", "-f", "spec.yaml", "--to", "1.36.0", "--dry-run"])?;
    ensure!(preview.out.contains("then Kubernetes 1.36.0"), "{}", preview.out);
    ensure!(preview.out.contains("sim_machine_pool.workers"), "workers follow: {}", preview.out);
    ensure!(preview.out.contains("! an outage until"), "the only control plane leaves: {}", preview.out);
    // A reason names the line of the version, also for add-ons that follow it.
    ensure!(!preview.out.contains("(addons["), "{}", preview.out);
    place.expect(0, &["upgrade", "-f", "spec.yaml", "--to", "1.36.0", "--yes"])?;
    let written = std::fs::read_to_string(path)?;
    ensure!(written == spec.replace("1.34.2", "1.36.0"), "{written}");
    for machine in place.inventory()?.machines {
        ensure!(machine.kubernetes_version == "1.36.0", "{machine:?}");
    }
    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    let history = place.expect(0, &["state", "history", "roll", "--limit", "1"])?.out;
    for part in [" rolled", "; Kubernetes 1.35.", " → 1.36.0"] {
        ensure!(history.contains(part), "no `{part}`: {history}");
    }
    Ok(())
}

/// Without a version, the command lists the versions after the present one. With `--via`, a chain takes the named patch release.
#[test]
fn versions_are_listed_and_patch_releases_on_the_way_are_named() -> Result<()> {
    let (place, spec, path) = small()?;
    let listed = place.expect(0, &["upgrade", "-f", "spec.yaml"])?.out;
    ensure!(listed.starts_with("roll has Kubernetes 1.34.2.\n"), "{listed}");
    let rows: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    let is_row = |plans: &str, steps: usize| {
        rows.iter()
            .any(|row| row.get(1) == Some(&plans) && row.len() == 2 + steps && row.last() == row.first())
    };
    for (plans, steps) in [("1", 1), ("2", 2), ("3", 3)] {
        ensure!(is_row(plans, steps), "no version with {plans} plans: {listed}");
    }
    let json: Json =
        serde_json::from_str(&place.expect(0, &["upgrade", "-f", "spec.yaml", "-o", "json"])?.out)?;
    ensure!(json["cluster"] == "roll" && json["version"] == "1.34.2", "{json}");
    let steps = json["upgrades"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|way| way["steps"].as_array().map_or(0, Vec::len));
    ensure!(steps.max() == Some(3), "{json}");
    for more in ["--yes", "--dry-run"] {
        let refused = place.expect(1, &["upgrade", "-f", "spec.yaml", more])?;
        ensure!(refused.err.contains("--to <VERSION>"), "{}", refused.err);
    }
    let upgrade = ["upgrade", "-f", "spec.yaml", "--to", "1.36.0"];
    let refused = place.expect(1, &[&upgrade[..], &["--via", "1.37.0", "--yes"]].concat())?.err;
    ensure!(refused.contains("CLI0072") && refused.contains("1.37.0"), "{refused}");
    ensure!(std::fs::read_to_string(&path)? == spec, "the spec was changed");
    let passed = ["--via", "1.33.2", "--via", "1.35.4", "--yes"];
    let done = place.expect(0, &[&upgrade[..], &passed].concat())?;
    ensure!(done.err.contains("`--via 1.33.2` has no effect"), "{}", done.err);
    ensure!(done.err.contains("Step 1 of 2: Kubernetes 1.35.4"), "{}", done.err);
    for machine in place.inventory()?.machines {
        ensure!(machine.kubernetes_version == "1.36.0", "{machine:?}");
    }
    Ok(())
}

/// Whatever is refused or listed names an upgrade that was killed, until the same command has completed it.
#[test]
fn a_killed_upgrade_is_named_and_continued() -> Result<()> {
    let (place, spec, path) = small()?;
    let upgrade = ["upgrade", "-f", "spec.yaml", "--to", "1.35.4", "--yes"];
    let killed = place.command(&upgrade).env("SLIPWAY_TEST_KILL", "9:after").output()?;
    ensure!(killed.status.code().is_none(), "{killed:?}");
    let way = "slipway upgrade -f … --to 1.35.4";
    let listed = place.expect(0, &["upgrade", "-f", "spec.yaml"])?.out;
    ensure!(listed.contains("Its upgrade to 1.35.4 did not complete") && listed.contains(way), "{listed}");
    ensure!(!listed.contains("\n1.34."), "an older version is offered: {listed}");
    let older: &[&str] = &["upgrade", "-f", "spec.yaml", "--to", "1.34.9", "--yes"];
    for arguments in [&["plan", "-f", "spec.yaml"][..], &["apply", "-f", "spec.yaml", "--yes"], older] {
        let refused = place.expect(1, arguments)?.err;
        ensure!(refused.contains("error[CLI0078]") && refused.contains(way), "{arguments:?}: {refused}");
    }
    let refused = place.expect(1, &["state", "rm", "roll", "sim_network.*", "--yes"])?.err;
    ensure!(refused.contains("error[CLI0030]") && refused.contains(way), "{refused}");
    // Another process has taken the cluster since, and has committed nothing.
    let clusters = place.expect(0, &["get", "clusters"])?.out;
    ensure!(clusters.contains("upgrade interrupted"), "{clusters}");
    let pools = place.expect(0, &["get", "pools"])?;
    ensure!(pools.err.contains("its upgrade from 1.34.2 to 1.35.4 did not complete"), "{}", pools.err);
    // A way to a later minor version passes the release that some machines have.
    let later = place.run(&["upgrade", "-f", "spec.yaml", "--to", "1.36.0", "--dry-run"])?;
    ensure!(later.out.contains("1.35.4") && !later.out.contains("1.35.10"), "{}{}", later.out, later.err);
    place.write(
        ".slipway/sim/faults.json",
        r#"[{ "method": "drain", "kind": "fail-before", "class": "permanent" }]"#,
    )?;
    let failed = place.expect(1, &upgrade)?.out;
    let names_the_way = failed.contains(&format!("`{way}` goes on from here"));
    ensure!(names_the_way && !failed.contains("next apply"), "{failed}");
    std::fs::remove_file(place.cloud().join("faults.json"))?;
    place.expect(0, &upgrade)?;
    ensure!(std::fs::read_to_string(path)? == spec.replace("1.34.2", "1.35.4"), "the spec was not written");
    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    let clusters = place.expect(0, &["get", "clusters"])?.out;
    ensure!(clusters.contains("upgrade complete"), "{clusters}");
    Ok(())
}

/// A subnet was changed outside, so that the upgrade has to replace it.
#[test]
fn an_upgrade_with_an_outage_needs_a_confirmation_by_name() -> Result<()> {
    let (place, spec, path) = small()?;
    let inventory = place.inventory()?;
    let subnets = inventory.at(&"sim_subnet.sim-1a".parse()?);
    let subnet = subnets.first().context("a subnet")?;
    Tamper::open(place.cloud()).set(
        &subnet.id,
        &slipway_resource::Path::key("cidr"),
        "10.0.255.0/24".into(),
    )?;
    let upgrade = ["upgrade", "-f", "spec.yaml", "--to", "1.34.4"];
    let preview = place.expect(2, &[&upgrade[..], &["--dry-run", "--out", "upgrade.plan"]].concat())?.out;
    let words: Vec<&str> = preview.split_whitespace().collect();
    ensure!(words.join(" ").contains("the cluster has an outage until that is done"), "{preview}");
    let apply: &[&str] = &["apply", "upgrade.plan", "--yes"];
    for arguments in [&[&upgrade[..], &["--yes"]].concat()[..], apply] {
        let refused = place.expect(1, arguments)?.err;
        ensure!(refused.contains("error[RUN0008]") && refused.contains("--confirm sim_subnet."), "{refused}");
    }
    ensure!(std::fs::read_to_string(path)? == spec, "the spec was changed");
    // The confirmation cannot be taken out of the plan.
    let mut edited = Plan::from_bytes(&std::fs::read(place.path().join("upgrade.plan"))?)?;
    let subnets = edited.changes.iter_mut().filter(|change| change.address.kind() == "sim_subnet");
    subnets.for_each(|change| change.confirmation = None);
    std::fs::write(place.path().join("edited.plan"), edited.to_bytes()?)?;
    let refused = place.expect(1, &["apply", "edited.plan", "--yes"])?.err;
    ensure!(refused.contains("PLAN0014") && refused.contains("asks for no confirmation"), "{refused}");
    Ok(())
}

/// Only control planes on hosts emulate a version. Where that is not possible, nothing is changed, and nothing can be finalised.
#[test]
fn an_upgrade_with_a_way_back_is_refused_where_nothing_can_emulate() -> Result<()> {
    let (place, spec, path) = small()?;
    let upgrade = ["upgrade", "-f", "spec.yaml"];
    for (more, told) in [
        (&["--to", "1.35.4", "--reversible", "--yes"][..], ["CLI0075", "made by the provider sim"]),
        (&["--finalise", "--yes"][..], ["CLI0076", "finalised: its control plane has Kubernetes 1.34.2"]),
        (&["--finalize", "--dry-run"][..], ["CLI0076", "emulates no other version"]),
        (&["--back", "--yes"][..], ["CLI0076", "can be taken back"]),
        (&["--to", "1.35.4", "--back"][..], ["--to <VERSION>", "cannot be used with"]),
    ] {
        let refused = place.expect(1, &[&upgrade[..], more].concat())?.err;
        for part in told {
            ensure!(refused.contains(part), "no `{part}` for {more:?}: {refused}");
        }
    }
    ensure!(std::fs::read_to_string(&path)? == spec, "the spec was changed");
    place.expect(0, &["plan", "-f", "spec.yaml"]).map(|_| ())
}

/// The second plan of an upgrade loses the disks a second time, and asks a second time.
#[test]
fn a_name_confirms_for_one_plan_of_an_upgrade() -> Result<()> {
    let (place, spec, _) = small()?;
    let disk = "volumes: [{ device: /dev/xvdb, mountPath: /var/lib/data, sizeGiB: 50 }]";
    let spec = spec.replace("  image: image-1\n", &format!("  image: image-1\n  {disk}\n"));
    ensure!(spec.contains(disk), "{spec}");
    place.write("spec.yaml", &spec)?;
    place.expect(0, &["apply", "-f", "spec.yaml", "--yes", "--confirm", "sim_machine_pool.workers"])?;
    let upgrade =
        ["upgrade", "-f", "spec.yaml", "--to", "1.36.0", "--yes", "--confirm", "sim_machine_pool.workers"];
    let refused = place.expect(1, &upgrade)?;
    ensure!(refused.err.contains("RUN0008"), "{}", refused.err);
    let versions = || -> Result<Vec<String>> {
        Ok(place.inventory()?.machines.into_iter().map(|machine| machine.kubernetes_version).collect())
    };
    ensure!(versions()?.iter().all(|version| version.starts_with("1.35.")), "{:?}", versions()?);
    place.expect(0, &upgrade)?;
    ensure!(versions()?.iter().all(|version| version == "1.36.0"), "{:?}", versions()?);
    Ok(())
}

#[test]
fn versions_are_neither_skipped_nor_taken_back() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let spec = include_str!("rollout.yaml");
    place.write("spec.yaml", spec)?;
    place.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    for (version, code, hint) in [
        ("1.36.0", "CLI0012", "slipway upgrade -f … --to 1.36.0"),
        ("1.33.9", "CLI0011", "write `kubernetesVersion: 1.34.2` into spec.yaml"),
        ("1.34.1", "CLI0011", "Kubernetes cannot go back from 1.34.2 to 1.34.1 (spec.yaml:"),
    ] {
        place.write("spec.yaml", &spec.replace("1.34.2", version))?;
        let refused = place.expect(1, &["plan", "-f", "spec.yaml"])?;
        ensure!(refused.err.contains(code) && refused.err.contains(hint), "{}", refused.err);
    }
    Ok(())
}

/// Neither a saved plan nor `--keep-spec` writes the spec file. Both say so, and the file with the old version is refused.
#[test]
fn a_spec_file_with_the_version_before_is_named_and_refused() -> Result<()> {
    let (place, spec, path) = small()?;
    let upgrade = ["upgrade", "-f", "spec.yaml", "--to"];
    let saved =
        place.expect(2, &[&upgrade[..], &["1.34.3", "--dry-run", "--out", "upgrade.plan"]].concat())?;
    ensure!(saved.err.contains("write `kubernetesVersion: 1.34.3` into spec.yaml"), "{}", saved.err);
    let applied = place.expect(0, &["apply", "upgrade.plan", "--yes"])?;
    ensure!(applied.err.contains("write `kubernetesVersion: 1.34.3` into it"), "{}", applied.err);
    let kept = place.expect(0, &[&upgrade[..], &["1.34.4", "--keep-spec", "--yes"]].concat())?;
    ensure!(kept.err.contains("kubernetesVersion is still 1.34.2"), "{}", kept.err);
    ensure!(std::fs::read_to_string(&path)? == spec, "the spec was changed");
    for arguments in [&["plan", "-f", "spec.yaml"][..], &["apply", "-f", "spec.yaml", "--yes"]] {
        let refused = place.expect(1, arguments)?;
        for part in ["CLI0011", "(spec.yaml:", "write `kubernetesVersion: 1.34.4` into spec.yaml"] {
            ensure!(refused.err.contains(part), "{part}: {}", refused.err);
        }
    }
    place.write("spec.yaml", &spec.replace("1.34.2", "1.34.4"))?;
    place.expect(0, &["plan", "-f", "spec.yaml"]).map(|_| ())
}

/// The version has to be written back into the file: where that is not possible, no upgrade begins.
#[test]
fn a_version_with_a_yaml_anchor_or_alias_is_refused_before_the_upgrade() -> Result<()> {
    let (place, spec, path) = small()?;
    let aliased = spec
        .replacen("  name: roll\n", "  name: roll\n  labels: { version: &v 1.34.2 }\n", 1)
        .replace("kubernetesVersion: 1.34.2", "kubernetesVersion: *v");
    for text in [spec.replace("kubernetesVersion: 1.34.2", "kubernetesVersion: &v 1.34.2"), aliased] {
        ensure!(text.contains("&v 1.34.2"), "the spec has no anchor: {text}");
        std::fs::write(&path, &text)?;
        let refused = place.expect(1, &["upgrade", "-f", "spec.yaml", "--to", "1.34.3", "--yes"])?.err;
        for part in ["CLI0093", "spec.yaml:", "`kubernetesVersion: 1.34.2` without an anchor", "--keep-spec"]
        {
            ensure!(refused.contains(part), "no `{part}`: {refused}");
        }
        ensure!(std::fs::read_to_string(&path)? == text, "the spec was changed");
    }
    std::fs::write(&path, &spec)?;
    let mode = std::fs::metadata(&path)?.permissions();
    std::fs::set_permissions(&path, Permissions::from_mode(0o444))?;
    let refused = place.expect(1, &["upgrade", "-f", "spec.yaml", "--to", "1.34.3", "--yes"])?.err;
    for part in ["CLI0093", "read-only", "--keep-spec"] {
        ensure!(refused.contains(part), "no `{part}`: {refused}");
    }
    std::fs::set_permissions(&path, mode)?;
    for machine in place.inventory()?.machines {
        ensure!(machine.kubernetes_version == "1.34.2", "{machine:?}");
    }
    place.expect(0, &["plan", "-f", "spec.yaml"]).map(|_| ())
}

/// The spec is checked at each version on the way before the first step, so that no upgrade begins that is
/// refused later.
#[test]
fn an_upgrade_to_a_release_that_is_not_supported_is_refused() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let spec = include_str!("rollout.yaml");
    place.write("spec.yaml", spec)?;
    place.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    for more in [["--dry-run"], ["--yes"]] {
        let refused =
            place.expect(1, &[&["upgrade", "-f", "spec.yaml", "--to", "1.99.0"], &more[..]].concat())?;
        ensure!(refused.err.contains("SPEC0040") && refused.err.contains("1.31 to 1.37"), "{}", refused.err);
        // The version of the spec is right, that of the command is wrong.
        ensure!(
            refused.err.contains("Kubernetes 1.99.0") && !refused.err.contains("spec.yaml"),
            "{}",
            refused.err
        );
    }
    ensure!(std::fs::read_to_string(place.path().join("spec.yaml"))? == spec, "the spec was changed");
    place.expect(0, &["plan", "-f", "spec.yaml"]).map(|_| ())
}

/// A signal that comes when one run has ended and the next one has not begun is for the command.
#[test]
fn a_signal_between_two_minor_versions_ends_the_command() -> Result<()> {
    let (place, _, path) = small()?;
    let mut command = place.command(&["upgrade", "-f", "spec.yaml", "--to", "1.36.0", "--yes"]);
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(process.stderr.take().context("messages")?).lines();
    let between = |line: &String| line.contains("kubernetesVersion is 1.35");
    while !between(&lines.next().context("the version is written")??) {}
    Command::new("kill").args(["-INT", &process.id().to_string()]).status()?;
    let rest: Vec<String> = lines.collect::<std::io::Result<_>>()?;
    let status = process.wait()?;
    ensure!(status.code().is_some_and(|code| code != 0), "{status:?}: {rest:#?}");
    let written = std::fs::read_to_string(path)?;
    ensure!(written.contains("kubernetesVersion: 1.35"), "{written}");
    Ok(())
}
