//! Every form of a plan, and what none of them may show.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::Ended;

use super::shared::*;
use crate::{APPLY, PLAN};

#[test]
fn every_form_is_well_formed() -> Result<()> {
    let place = applied(&spec())?;
    let many: String =
        (0..40).map(|index| WORKERS.replace("name: workers", &format!("name: pool-{index:02}"))).collect();
    place.write("spec.yaml", &format!("{CLUSTER}{CONTROL_PLANE}{many}"))?;
    let out = |form: &str| -> Result<String> { Ok(place.expect(2, &[PLAN, &["-o", form]].concat())?.out) };

    let plan = json(&out("json")?)?;
    ensure!(plan["format_version"].as_str().is_some_and(|version| version.starts_with("1.")));
    for key in ["steps", "reasons", "preconditions", "disruption", "estimate", "digest"] {
        ensure!(!plan[key].is_null(), "no {key}");
    }
    for change in plan["resource_changes"].as_array().context("changes")? {
        for key in ["address", "type", "name", "change", "provider_name", "mode"] {
            ensure!(!change[key].is_null(), "no {key} in {change}");
        }
        for key in ["actions", "after_unknown", "before_sensitive", "after_sensitive"] {
            ensure!(!change["change"][key].is_null(), "no change.{key} in {change}");
        }
    }
    let steps = plan["steps"].as_array().map_or(0, Vec::len);
    ensure!(steps > 40, "{steps} steps");

    let markdown = out("markdown")?;
    ensure!(markdown.len() < 60_000, "{} bytes", markdown.len());
    ensure!(markdown.contains("sim_machine_pool.workers"), "the deletion is folded away");
    ensure!(markdown.contains(plan["digest"].as_str().context("a digest")?), "no digest");

    let dot = out("dot")?;
    ensure!(dot.trim_start().starts_with("digraph") && dot.trim_end().ends_with('}'), "{dot}");
    ensure!(dot.matches('{').count() == dot.matches('}').count(), "braces");
    let nodes = dot.lines().filter(|line| line.contains("label=") && !line.contains("->")).count();
    ensure!(nodes >= steps, "{nodes} nodes for {steps} steps");

    well_formed(&out("svg")?)?;
    Ok(())
}

/// Whether a text is an XML document: every element is closed in its order, and there is only one root.
fn well_formed(text: &str) -> Result<()> {
    let mut open: Vec<String> = Vec::new();
    let mut elements = 0;
    let mut rest = text.trim();
    while let Some(start) = rest.find('<') {
        let between = &rest[..start];
        ensure!(!open.is_empty() || between.trim().is_empty(), "text outside the root: {between}");
        entities(between)?;
        let tag = &rest[start..];
        let end = tag.find('>').with_context(|| format!("a tag without end: {tag}"))?;
        let inner = &tag[1..end];
        rest = &tag[end + 1..];
        if inner.starts_with('?') || inner.starts_with('!') {
            continue;
        }
        if let Some(name) = inner.strip_prefix('/') {
            let last = open.pop();
            ensure!(last.as_deref() == Some(name.trim()), "</{name}> closes {last:?}");
            continue;
        }
        ensure!(!open.is_empty() || elements == 0, "a second root");
        ensure!(inner.matches('"').count().is_multiple_of(2), "quotes in <{inner}>");
        entities(inner)?;
        elements += 1;
        if !inner.ends_with('/') {
            open.push(inner.split_whitespace().next().unwrap_or_default().to_owned());
        }
    }
    ensure!(open.is_empty() && elements > 0 && rest.trim().is_empty(), "left open: {open:?}");
    Ok(())
}

fn entities(text: &str) -> Result<()> {
    for part in text.split('&').skip(1) {
        let name = part.split(';').next().unwrap_or_default();
        let known = matches!(name, "amp" | "lt" | "gt" | "quot" | "apos") || name.starts_with('#');
        ensure!(known && part.contains(';'), "&{name}");
    }
    Ok(())
}

#[test]
fn offline_needs_nothing() -> Result<()> {
    let place = fresh(&spec())?;
    let ended = place.expect(2, &[PLAN, &["--offline", "--state", "s3://nowhere/at/all"]].concat())?;
    ensure!(ended.out.contains("+ sim_network.main"), "{}", ended.out);
    ensure!(!place.path().join(".slipway").exists(), "something was written");
    Ok(())
}

#[test]
fn no_secret_is_seen_anywhere() -> Result<()> {
    const FIRST: &str = "Zmlyc3Qta2V5LWZvci10ZXN0cy1vZi0zMi1ieXRlcyE=";
    const SECOND: &str = "b3RoZXIta2V5LWZvci10ZXN0cy1vZi0zMi1ieXRlcyE=";
    let with = |key: &str| {
        spec().replace(
            "  cloudLabels:",
            &format!("  encryption: {{ atRest: {{ provider: secretbox, key: {{ {key} }}, resources: [secrets] }} }}\n  cloudLabels:"),
        )
    };
    let place = fresh(&with("env: SMALL_KEY"))?;
    place.write("keys/first.txt", &format!("{FIRST}\n"))?;
    let mut said = String::new();
    let mut run = |code: i32, key: &str, arguments: &[&str]| -> Result<Ended> {
        let mut command = place.command(arguments);
        let ended = Ended::of(command.env("SMALL_KEY", key).env("SLIPWAY_LOG", "trace").output()?)?;
        ensure!(
            ended.code == Some(code),
            "slipway {}: {:?}\n{}\n{}",
            arguments.join(" "),
            ended.code,
            ended.out,
            ended.err
        );
        said.push_str(&ended.out);
        said.push_str(&ended.err);
        Ok(ended)
    };
    for form in ["text", "json", "markdown", "html", "dot", "svg"] {
        run(2, FIRST, &[PLAN, &["--full", "-o", form]].concat())?;
    }
    run(2, FIRST, &[PLAN, &["--out", "saved.plan"]].concat())?;
    run(0, FIRST, &["apply", "saved.plan", "--yes"])?;
    run(0, FIRST, PLAN)?;
    // Another text of the same name is another key, which is refused; the same text from another place is none.
    let changed = run(1, SECOND, PLAN)?;
    ensure!(changed.err.contains("encryption_key"), "{}", changed.err);
    run(1, SECOND, &[APPLY, &["--confirm", "sim_machine_pool.control-plane"]].concat())?;
    place.write("spec.yaml", &with("file: keys/first.txt"))?;
    let elsewhere = run(2, "", PLAN)?;
    ensure!(!elsewhere.out.contains("encryption_key"), "{}", elsewhere.out);
    run(0, "", APPLY)?;
    run(0, "", PLAN)?;
    for form in ["text", "json"] {
        run(2, "", &["delete", "small", "--dry-run", "-o", form])?;
    }
    // A key that is not there cannot be shown to be the same, so it is refused.
    place.write("spec.yaml", &with("file: keys/none.txt"))?;
    let missing = run(1, "", PLAN)?;
    ensure!(missing.err.contains("the secret file:keys/none.txt cannot be read"), "{}", missing.err);
    run(0, "", &["delete", "small", "--yes", "--confirm", "small"])?;
    for secret in [FIRST, SECOND] {
        ensure!(!said.contains(secret), "a secret was printed");
        let found = files_with(place.path(), secret)?;
        let wanted: &[&str] = if secret == FIRST { &["first.txt"] } else { &[] };
        ensure!(found == wanted, "{secret} is in {found:?}");
    }
    Ok(())
}

/// The names of files below a folder that hold a text.
fn files_with(folder: &Path, text: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files_with(&entry.path(), text)?);
        } else {
            let bytes = std::fs::read(entry.path())?;
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    Ok(found)
}
