//! Plans without a cloud: any directory, no lock file, no credentials, nothing written.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::{Ended, Place};

use crate::PROGRAM;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Builds what plans AWS offline; it stands beside the program then.
pub(crate) fn place() -> Result<Place> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", "slipway-aws-model", "--bins"]);
    let output = build.current_dir(root()).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Place::new(PROGRAM)
}

pub(crate) fn run(place: &Place, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Ended> {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).current_dir(place.path()).envs(environment.iter().copied());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AWS_") {
            command.env_remove(name);
        }
    }
    let output = command.output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Ended { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) })
}

fn spec(name: &str) -> String {
    root().join("fixtures/kops").join(name).join("spec.yaml").display().to_string()
}

#[test]
fn a_cluster_on_aws_is_planned_from_nothing_but_its_spec() -> Result<()> {
    let place = place()?;
    let spec = spec("minimal-public");
    let plan = ["plan", "-f", &spec, "--offline", "-o", "json"];
    let ended = run(&place, &plan, &[])?;
    ensure!(ended.code == Some(2), "{:?} {}", ended.code, ended.err);
    let json: Json = serde_json::from_str(&ended.out)?;
    let changes = json["resource_changes"].as_array().cloned().unwrap_or_default();
    let kinds: Vec<&str> = changes.iter().filter_map(|change| change["type"].as_str()).collect();
    for kind in ["aws_vpc", "aws_subnet", "aws_security_group_rule", "aws_autoscaling_group", "aws_iam_role"]
    {
        ensure!(kinds.contains(&kind), "no {kind}: {kinds:?}");
    }
    // What only the account knows is unknown, and no reason to fail.
    let template = changes.iter().find(|change| change["type"] == "aws_launch_template");
    let unknown = template.map(|change| change["change"]["after_unknown"]["image_id"].clone());
    ensure!(unknown == Some(Json::Bool(true)), "{unknown:?}");
    ensure!(run(&place, &plan, &[])?.out == ended.out, "planned twice, it differs");
    let left: Vec<_> = std::fs::read_dir(place.path())?.collect();
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}

#[test]
fn only_what_stands_beside_the_program_runs_unpinned() -> Result<()> {
    let place = place()?;
    let script = "#!/bin/sh\ntouch ran\n";
    place.write("elsewhere/slipway-provider-aws", script)?;
    place.write(
        "elsewhere/provider.toml",
        "name = 'aws'\nversion = '1'\nprotocol = ['v1alpha1']\ndescription = ''\n",
    )?;
    let executable = place.path().join("elsewhere/slipway-provider-aws");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&executable, mode)?;
    let path = place.path().join("elsewhere").display().to_string();
    let spec = spec("minimal-public");
    let searched = [("SLIPWAY_PROVIDER_PATH", path.as_str())];
    let offline = run(&place, &["plan", "-f", &spec, "--offline"], &searched)?;
    ensure!(offline.code == Some(2), "{:?} {}", offline.code, offline.err);
    let online = run(&place, &["plan", "-f", &spec], &searched)?;
    ensure!(online.code == Some(1) && online.err.contains("PROVIDER0005"), "{}", online.err);
    ensure!(online.err.contains("slipway provider lock aws"), "{}", online.err);
    ensure!(!place.path().join("ran").exists(), "an executable ran that nobody has pinned");
    Ok(())
}
