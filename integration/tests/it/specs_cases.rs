//! Every example and every case lives a whole life: made, changed, rolled, deleted, and planned empty in between.
//!
//! Beside `specs/` and `fixtures/kops/`, the cases are those of `SLIPWAY_CASES`: folders with a `spec.yaml`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value as Json, json};
use slipway_integration::place::{Ended, Place};
use slipway_spec::source::SourceFile;
use slipway_spec::yaml;

use crate::PROGRAM;

const THREADS: usize = 2;

#[test]
fn every_example_and_every_case_lives() -> Result<()> {
    let cases = cases()?;
    ensure!(cases.len() >= 10, "{cases:?}");
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let lived = live(case);
                    if let (Err(error), Ok(mut failed)) = (lived, failed.lock()) {
                        failed.push(format!("{}: {error:#}", case.display()));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().map_err(|_| anyhow::anyhow!("a thread panicked"))?;
    ensure!(failed.is_empty(), "{} of {} cases:\n{}", failed.len(), cases.len(), failed.join("\n\n"));
    Ok(())
}

/// Files of every example and case, one folder each.
fn cases() -> Result<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![root.join("specs"), root.join("fixtures/kops")];
    folders.extend(std::env::var_os("SLIPWAY_CASES").map(PathBuf::from));
    let mut cases = Vec::new();
    for folder in folders {
        let mut found: Vec<PathBuf> = std::fs::read_dir(&folder)
            .with_context(|| folder.display().to_string())?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<_>>()?;
        found.retain(|case| case.join("spec.yaml").is_file() || case.join("cluster.yaml").is_file());
        found.sort();
        cases.append(&mut found);
    }
    Ok(cases)
}

/// The documents of a case: its `spec.yaml`, or all of its YAML files. The expected results are beside them.
fn documents(case: &Path) -> Result<Vec<Json>> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(case)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    let single = case.join("spec.yaml");
    if single.is_file() {
        paths = vec![single];
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let mut documents = Vec::new();
    for path in paths {
        let file = SourceFile::new(path.display().to_string(), std::fs::read_to_string(&path)?);
        let (parsed, diagnostics) = yaml::parse(&file);
        ensure!(diagnostics.is_empty(), "{diagnostics:?}");
        documents.extend(parsed.iter().map(|document| document.root.to_json()));
    }
    Ok(documents)
}

struct Life<'a> {
    place: Place,
    cluster: &'a str,
}

impl Life<'_> {
    fn expect(&self, code: i32, arguments: &[&str]) -> Result<Ended> {
        let mut command = self.place.command(arguments);
        let output = command.env("HA_PRIVATE_ENCRYPTION_KEY", "a key of thirty-two bytes, or so").output()?;
        let ended = Ended::of(output)?;
        ensure!(
            ended.code == Some(code),
            "slipway {} ended with {:?}, wanted {code}\n--- out\n{}\n--- err\n{}",
            arguments.join(" "),
            ended.code,
            tail(&ended.out),
            tail(&ended.err)
        );
        Ok(ended)
    }

    fn with_spec(&self, code: i32, verb: &str, file: &str, more: &[&str]) -> Result<Ended> {
        let mut arguments = vec![verb, "-f", file, "--cluster", self.cluster, "--provider", "sim"];
        arguments.extend(more);
        self.expect(code, &arguments)
    }

    fn machines(&self) -> Result<BTreeSet<String>> {
        Ok(self.place.inventory()?.machines.into_iter().map(|machine| machine.id).collect())
    }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(25)..].join("\n")
}

fn live(case: &Path) -> Result<()> {
    let documents = documents(case)?;
    let clusters: Vec<&str> = documents
        .iter()
        .filter(|document| document["kind"] == "Cluster")
        .filter_map(|document| document["metadata"]["name"].as_str())
        .collect();
    ensure!(!clusters.is_empty(), "no cluster");
    for cluster in clusters {
        let life = Life { place: Place::new(PROGRAM)?, cluster };
        life.place.write("spec.yaml", &emit(&documents)?)?;
        life.place.write("changed.yaml", &emit(&changed(&documents, cluster)?)?)?;
        one_life(&life).with_context(|| format!("cluster {cluster}"))?;
    }
    Ok(())
}

/// The confirmations that a shown plan asks for: of data disks that machines lose, by the names of their pools.
fn confirmed(shown: &str) -> Vec<&str> {
    let asked = shown.lines().filter_map(|line| line.trim().strip_prefix("! --confirm "));
    std::iter::once("--yes").chain(asked.flat_map(|name| ["--confirm", name])).collect()
}

fn one_life(life: &Life<'_>) -> Result<()> {
    let pending = life.with_spec(2, "plan", "spec.yaml", &[])?;
    remarks_have_places(life, &pending)?;
    life.with_spec(0, "apply", "spec.yaml", &["--yes"])?;
    life.with_spec(0, "plan", "spec.yaml", &[])?;
    ensure!(!life.machines()?.is_empty(), "no machines");

    let shown = life.with_spec(2, "plan", "changed.yaml", &[])?;
    ensure!(shown.out.contains("image-of-another-day"), "the plan does not name the image:\n{}", shown.out);
    life.with_spec(0, "apply", "changed.yaml", &confirmed(&shown.out))?;
    life.with_spec(0, "plan", "changed.yaml", &[])?;
    let inventory = life.place.inventory()?;
    ensure!(
        inventory.machines.iter().any(|machine| machine.image == "image-of-another-day"),
        "no machine has the image"
    );

    let before = life.machines()?;
    let shown = life.with_spec(2, "roll", "changed.yaml", &["--dry-run"])?;
    ensure!(life.machines()? == before, "a dry run rolled");
    life.with_spec(0, "roll", "changed.yaml", &confirmed(&shown.out))?;
    let after = life.machines()?;
    ensure!(after.is_disjoint(&before), "some machines stayed: {:?}", after.intersection(&before));
    ensure!(after.len() == before.len(), "{} machines became {}", before.len(), after.len());
    life.with_spec(0, "plan", "changed.yaml", &[])?;

    life.expect(2, &["delete", life.cluster, "--dry-run"])?;
    life.expect(0, &["delete", life.cluster, "--yes", "--confirm", life.cluster, "--delete-backups"])?;
    let left = life.place.inventory()?;
    let objects: Vec<&str> = left.objects.iter().map(|object| object.kind.as_str()).collect();
    ensure!(objects.is_empty(), "left: {objects:?}");
    ensure!(left.machines.is_empty() && left.pods.is_empty(), "machines or pods are left");
    Ok(())
}

/// Fields without an effect are reported on standard error, each with its line.
fn remarks_have_places(life: &Life<'_>, planned: &Ended) -> Result<()> {
    let checked = life.expect(0, &["spec", "check", "-f", "spec.yaml", "-o", "json"])?;
    let remarks: Json = serde_json::from_str(&checked.out)?;
    for remark in remarks["diagnostics"].as_array().into_iter().flatten() {
        let line = remark["location"]["line"].as_u64().with_context(|| format!("no line: {remark}"))?;
        let message = remark["message"].as_str().unwrap_or_default();
        ensure!(planned.err.contains(message), "not on standard error: {message}");
        ensure!(planned.err.contains(&format!("spec.yaml:{line}:")), "no line {line}: {message}");
        ensure!(!planned.out.contains(message), "on standard output: {message}");
    }
    Ok(())
}

/// The documents with another image for the cluster's workers, or for whatever pool it has.
fn changed(documents: &[Json], cluster: &str) -> Result<Vec<Json>> {
    let mut documents = documents.to_vec();
    let is_pool = |document: &Json| {
        let of = document.pointer("/metadata/labels/kops.k8s.io~1cluster").and_then(Json::as_str);
        matches!(document["kind"].as_str(), Some("NodePool" | "InstanceGroup"))
            && of.is_none_or(|name| name == cluster)
    };
    let is_worker =
        |document: &Json| matches!(document["spec"]["role"].as_str(), None | Some("worker" | "Node"));
    // A pool of nothing has no machine to show.
    let has_machines = |document: &Json| {
        let least = [&document["spec"]["size"]["bounds"]["min"], &document["spec"]["minSize"]];
        !least.contains(&&json!(0))
    };
    let worker = documents
        .iter()
        .position(|document| is_pool(document) && is_worker(document) && has_machines(document))
        .or_else(|| documents.iter().position(is_pool));
    documents[worker.context("a pool")?]["spec"]["image"] = json!("image-of-another-day");
    for document in &mut documents {
        if document["spec"]["deletionProtection"] == true {
            document["spec"]["deletionProtection"] = json!(false);
        }
    }
    Ok(documents)
}

fn emit(documents: &[Json]) -> Result<String> {
    let texts: Vec<String> = documents.iter().map(serde_json::to_string_pretty).collect::<Result<_, _>>()?;
    Ok(texts.join("\n---\n"))
}
