//! The plan's JSON is read by tools that check plans of Terraform: HashiCorp's library, and conftest with a
//! policy.
//!
//! The tools are built from `integration/policy`, whose `go.sum` pins them, into the user's cache. Only the
//! first run takes minutes for it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context as _, Result, bail, ensure};
use slipway_integration::place::{Ended, Place};
use slipway_resource::Digest;
use slipway_testkit::{cache, go};

use crate::{PROGRAM, SMALL};

const WORKERS: &str = "\
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: workers }
spec: { machineType: sim.medium }
";

fn module() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("policy")
}

/// The folder with `planjson` and `conftest`, built when it does not exist.
fn tools() -> Result<&'static Path> {
    static TOOLS: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = TOOLS.get_or_init(|| build().map_err(|error| format!("{error:#}")));
    built.as_deref().map_err(|error| anyhow::anyhow!("{error}"))
}

fn build() -> Result<PathBuf> {
    let mut inputs = Vec::new();
    for file in ["go.mod", "go.sum", "planjson/main.go"] {
        inputs.extend(std::fs::read(module().join(file))?);
    }
    cache::installed("policy-tools", Digest::of_bytes(&inputs).short(), |folder| {
        let mut go = go::compiler("build", "");
        go.current_dir(module()).arg("-o").arg(format!("{}/", folder.display()));
        cache::run(go.args(["./planjson", "github.com/open-policy-agent/conftest"]))
    })
}

/// Reads a plan with HashiCorp's library: a line for each resource.
fn terraform(plan: &str) -> Result<Vec<String>> {
    let mut child = Command::new(tools()?.join("planjson"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    child.stdin.take().context("standard input")?.write_all(plan.as_bytes())?;
    let ended = Ended::of(child.wait_with_output()?)?;
    ensure!(ended.code == Some(0), "{}", ended.err);
    Ok(ended.out.lines().map(str::to_owned).collect())
}

/// Whether the policy accepts a plan, and the output of conftest.
fn conftest(place: &Place, plan: &str) -> Result<(bool, String)> {
    let file = place.write("plan.json", plan)?;
    let ended = Ended::of(
        Command::new(tools()?.join("conftest"))
            .args(["test", "--no-color", "--policy"])
            .arg(module().join("rego"))
            .arg(&file)
            .current_dir(place.path())
            .output()?,
    )?;
    match ended.code {
        Some(0) => Ok((true, ended.out)),
        Some(1) if ended.out.contains("FAIL") => Ok((false, ended.out)),
        _ => bail!("conftest: {ended:?}"),
    }
}

/// Policies in CEL, with a test that holds and one that does not.
const POLICIES: &str = r#"
policies:
  - name: keep-pools
    expression: plan.resource_changes.all(c, !(c.type == "sim_machine_pool" && "delete" in c.change.actions))
    message: a pool is deleted
  - name: one-pool
    action: warn
    expression: size(plan.resource_changes.filter(c, c.type == "sim_machine_pool")) < 2
    message: several pools change
tests:
  - name: a pool cannot be deleted
    plan: { resource_changes: [{ type: sim_machine_pool, change: { actions: [delete] } }] }
    denied: [keep-pools]
  - name: networks are watched
    plan: { resource_changes: [{ type: sim_network, change: { actions: [delete] } }] }
    denied: [keep-pools]
"#;

#[test]
fn policies_in_cel_deny_plans_and_warn_of_them() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("policies.yaml", POLICIES)?;
    place.write("spec.yaml", &format!("{SMALL}{WORKERS}"))?;
    let with = ["-f", "spec.yaml", "--policy", "policies.yaml"];
    let created = place.expect(2, &[&["plan"][..], &with].concat())?.out;
    let created = created.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(created.contains("the policy one-pool warns: several pools change"), "{created}");
    place.expect(0, &[&["apply", "--yes"][..], &with].concat())?;
    place.write("spec.yaml", SMALL)?;
    let denied = place.expect(1, &[&["plan", "--no-preflight"][..], &with].concat())?;
    let said = format!("{}{}", denied.out, denied.err);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(said.contains("the policy keep-pools denies the plan: a pool is deleted"), "{said}");
    let pools = || place.inventory().map(|found| found.objects.len());
    let before = pools()?;
    // A plan that was saved without the policies is held against them when it is applied.
    place.expect(2, &["plan", "-f", "spec.yaml", "--out", "saved.plan"])?;
    let saved = ["apply", "--yes", "saved.plan", "--policy", "policies.yaml"];
    for arguments in [[&["apply", "--yes", "--no-preflight"][..], &with].concat(), saved.to_vec()] {
        let refused = place.expect(1, &arguments)?.err;
        ensure!(refused.contains("CLI0013") && refused.contains("keep-pools"), "{arguments:?}: {refused}");
        ensure!(!refused.contains("--no-preflight"), "{refused}");
        ensure!(pools()? == before, "{arguments:?} changed something");
    }
    let plan = place.expect(2, &["plan", "-f", "spec.yaml", "-o", "json"])?.out;
    place.write("plan.json", &plan)?;
    let checked = place.expect(1, &["policy", "test", "policies.yaml", "--plan", "plan.json"])?.out;
    ensure!(checked.contains("denied  keep-pools: a pool is deleted"), "{checked}");
    let tested = place.expect(1, &["policy", "test", "policies.yaml"])?.out;
    for line in [
        "ok      a pool cannot be deleted",
        "failed  networks are watched: denied by []",
        "1 passed, 1 failed",
    ] {
        ensure!(tested.contains(line), "no `{line}` in {tested}");
    }
    // Policies of the configuration hold for all commands.
    place.write("config.toml", "policies = ['policies.yaml']\n")?;
    let refused = place.expect(1, &["apply", "--yes", "--config", "config.toml", "saved.plan"])?.err;
    ensure!(refused.contains("keep-pools"), "{refused}");
    let deleted = place.expect(1, &["delete", "line", "--dry-run", "--config", "config.toml"])?;
    ensure!(format!("{}{}", deleted.out, deleted.err).contains("keep-pools"), "{deleted:?}");
    place.write("policies.yaml", &POLICIES.replace("plan.resource_changes.all", "spec.pools.all"))?;
    let refused = place.expect(1, &[&["plan"][..], &with].concat())?.err;
    ensure!(refused.contains("CLI0098") && refused.contains("uses the variable `spec`"), "{refused}");
    Ok(())
}

#[test]
fn terraform_reads_every_kind_of_plan() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &format!("{SMALL}{WORKERS}"))?;
    let plan = place.expect(2, &["plan", "-f", "spec.yaml", "-o", "json"])?.out;
    let lines = terraform(&plan)?;
    ensure!(lines.contains(&"sim_machine_pool.workers create".to_owned()), "{lines:?}");
    let planned = lines.iter().find(|line| line.starts_with("planned ")).context("planned values")?;
    ensure!(planned.contains("sim_network.main"), "{planned}");

    place.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    let nothing = place.expect(0, &["plan", "-f", "spec.yaml", "-o", "json"])?.out;
    ensure!(terraform(&nothing)?.iter().all(|line| line.trim() == "planned"), "{nothing}");

    let changed = SMALL.replace("zones: [sim-1a]", "zones: [sim-1a]\n  cloudLabels: { team: a }");
    place.write("changed.yaml", &changed)?;
    let plan =
        place.expect(2, &["plan", "-f", "changed.yaml", "--replace", "sim_listener.api", "-o", "json"])?.out;
    let lines = terraform(&plan)?;
    for wanted in ["sim_network.main update", "sim_machine_pool.workers delete"] {
        ensure!(lines.iter().any(|line| line == wanted), "no `{wanted}` in {lines:#?}");
    }
    let replaced = ["create-before-destroy", "destroy-before-create"];
    let of_listener = lines.iter().filter_map(|line| line.strip_prefix("sim_listener.api "));
    ensure!(of_listener.into_iter().any(|word| replaced.contains(&word)), "{lines:#?}");
    ensure!(!lines.iter().any(|line| line.contains("unknown")), "{lines:#?}");

    let delete = place.expect(2, &["delete", "line", "--dry-run", "-o", "json"])?.out;
    let lines = terraform(&delete)?;
    ensure!(lines.contains(&"sim_network.main delete".to_owned()), "{lines:#?}");
    Ok(())
}

#[test]
fn a_policy_forbids_deletions() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &format!("{SMALL}{WORKERS}"))?;
    let create = place.expect(2, &["plan", "-f", "spec.yaml", "-o", "json"])?.out;
    let (passes, said) = conftest(&place, &create)?;
    ensure!(passes, "{said}");
    place.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    place.write("spec.yaml", SMALL)?;
    let delete = place.expect(2, &["plan", "-f", "spec.yaml", "-o", "json"])?.out;
    let (passes, said) = conftest(&place, &delete)?;
    ensure!(!passes && said.contains("sim_machine_pool.workers would be deleted"), "{said}");
    Ok(())
}
