//! Whole plans against the rules of existence: every example and every case, changed at random, must give a plan that can
//! be carried out, or a refusal that names why it cannot.
//!
//! The clouds are simulated in memory: they keep the requested attributes, and refuse to delete objects that
//! others hold. Every plan is checked against the rules when it is made ([`slipway_plan::lint`]).
//! `SLIPWAY_MUTATIONS=<n>` sets how many changes are tried, `SLIPWAY_SEED=<n>` which ones.

#![allow(clippy::print_stdout, reason = "a test that tells which changes it tried")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_aws_model::offline::OfflineProvider;
use slipway_integration::host_model::HostModel;
use slipway_integration::lab::Lab;
use slipway_integration::pretend::{AnySecret, Pretended, PretendedProvider};
use slipway_kops::KopsReader;
use slipway_plan::Error;
use slipway_provider_sim::Sim;
use slipway_resource::Provider;
use slipway_spec::load::load_with;
use slipway_spec::model::Cluster;

/// Numbers that look random and are the same in every run (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap_or(1)).unwrap_or(0)
    }
}

#[derive(Default)]
struct Tally {
    applied: usize,
    held: usize,
    refused: usize,
}

#[tokio::test]
async fn every_plan_of_aws_can_be_carried_out() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![root.join("fixtures/kops")];
    folders.extend(std::env::var_os("SLIPWAY_CASES").map(PathBuf::from));
    let mut cases = vec![];
    for folder in folders {
        cases.extend(specs(&folder)?);
    }
    cases.extend(files(&root.join("providers/aws/model/tests/expand/specs"))?);
    try_all(&cases, "aws", &|| Arc::new(OfflineProvider)).await
}

#[tokio::test]
async fn every_plan_of_the_simulated_cloud_can_be_carried_out() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cases = specs(&root.join("specs"))?;
    cases.extend(specs(&root.join("fixtures/kops"))?);
    try_all(&cases, "sim", &|| Arc::new(Sim)).await
}

#[tokio::test]
async fn every_plan_of_hosts_can_be_carried_out() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cases = specs(&root.join("specs"))?;
    cases.push(root.join("fixtures/leaves/hosts.yaml"));
    try_all(&cases, "hosts", &|| Arc::new(HostModel::default())).await
}

async fn try_all(cases: &[PathBuf], provider: &str, make: &dyn Fn() -> Arc<dyn Provider>) -> Result<()> {
    let mut clusters = Vec::new();
    for case in cases {
        let loaded = load_with(std::slice::from_ref(case), &[&KopsReader::default()]);
        clusters.extend(loaded.clusters.into_iter().filter(|cluster| {
            cluster.provider.name == provider || (provider == "sim" && cluster.provider.name != "hosts")
        }));
    }
    let least = if provider == "hosts" { 3 } else { 5 };
    ensure!(clusters.len() >= least, "{} clusters for {provider}", clusters.len());
    let mut labs = Vec::new();
    for cluster in &clusters {
        if let Some(lab) = begin(cluster, provider, make()).await.with_context(|| cluster.name.clone())? {
            labs.push((cluster, lab));
        }
    }
    ensure!(labs.len() >= least, "only {} of {} clusters can be planned", labs.len(), clusters.len());
    let each = mutations().div_ceil(labs.len());
    let seed = number("SLIPWAY_SEED", 7);
    println!("{provider}: {} changes of {} clusters, seed {seed}", each * labs.len(), labs.len());
    let mut numbers = Numbers(seed);
    let mut tally = Tally::default();
    for (cluster, lab) in labs {
        live(cluster, &lab, each, &mut numbers, &mut tally).await.with_context(|| cluster.name.clone())?;
    }
    println!("{provider}: {} applied, {} held, {} refused", tally.applied, tally.held, tally.refused);
    ensure!(tally.applied > tally.refused / 4, "hardly any change is a plan");
    Ok(())
}

/// Applies a cluster as it is. `None` when it names objects that only a cloud can have.
///
/// # Errors
/// When it has no plan for another reason, or the plan cannot be carried out.
async fn begin(cluster: &Cluster, provider: &str, pure: Arc<dyn Provider>) -> Result<Option<Lab>> {
    let mut lab = Lab::with(Arc::new(PretendedProvider::new(pure, Pretended::default())))?;
    lab.secrets = Arc::new(AnySecret);
    let Err(error) = step(&lab, cluster, "as it is").await else { return Ok(Some(lab)) };
    let names_existing = matches!(error.downcast_ref::<Error>(), Some(Error::MissingExisting { .. }));
    // On AWS, images and machine types are facts of the cloud, too.
    if error.is::<NotDone>() || !(names_existing || provider == "aws") {
        return Err(error);
    }
    println!("{}: {error:#}", cluster.name);
    Ok(None)
}

async fn live(
    cluster: &Cluster,
    lab: &Lab,
    changes: usize,
    numbers: &mut Numbers,
    tally: &mut Tally,
) -> Result<()> {
    let mut current = serde_json::to_value(cluster)?;
    for _ in 0..changes {
        let mut changed = current.clone();
        let what = mutate(&mut changed, numbers);
        let Ok(wanted) = serde_json::from_value::<Cluster>(changed.clone()) else { continue };
        if wanted.name != cluster.name || wanted.provider.name != cluster.provider.name {
            continue;
        }
        match step(lab, &wanted, &what).await {
            Ok(()) => {
                tally.applied += 1;
                current = changed;
            }
            Err(error) => match error.downcast_ref::<Error>() {
                Some(Error::Held { .. }) => tally.held += 1,
                // A changed name of something that others name; in a spec it is refused before there is a plan.
                Some(Error::DanglingReference { .. }) => tally.refused += 1,
                Some(Error::Contradiction(_) | Error::Cycle(_)) => return Err(error.context(what)),
                None if error.is::<NotDone>() => return Err(error.context(what)),
                _ => tally.refused += 1,
            },
        }
    }
    let (plan, report) = lab.delete(&serde_json::from_value(current)?).await?;
    ensure!(report.is_complete(), "delete of {} steps: {:?}", plan.steps.len(), report.failures);
    Ok(())
}

/// A plan that was made and could not be carried out.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NotDone(String);

async fn step(lab: &Lab, wanted: &Cluster, what: &str) -> Result<()> {
    // A spec that cannot be planned has no laws to check.
    lab.plan(wanted).await?;
    let (plan, report) = lab.apply(wanted).await?;
    if report.is_complete() {
        return Ok(());
    }
    let failures = report.failures.iter().map(|failure| {
        let step = plan.steps.get(failure.step.index());
        format!("{}: {}", step.map(|step| step.title()).unwrap_or_default(), failure.error)
    });
    Err(NotDone(format!("{what}: {}", failures.collect::<Vec<_>>().join("\n"))).into())
}

/// Changes one value of a document, anywhere.
fn mutate(document: &mut Json, numbers: &mut Numbers) -> String {
    let mut paths = Vec::new();
    leaves(document, &mut String::new(), &mut paths);
    // Other fields depend on ranges: every third change is one of them.
    let ranges: Vec<String> =
        paths.iter().filter(|path| path.to_lowercase().ends_with("cidr")).cloned().collect();
    let chosen = if numbers.below(3) == 0 && !ranges.is_empty() { &ranges } else { &paths };
    let Some(path) = chosen.get(numbers.below(chosen.len())).cloned() else { return String::new() };
    let Some(value) = document.pointer_mut(&path) else { return path };
    let before = value.clone();
    *value = match &before {
        Json::Bool(value) => Json::Bool(!value),
        Json::Number(number) => Json::from(number.as_i64().unwrap_or(0) + 1),
        Json::String(text) => Json::String(other_text(text, numbers)),
        Json::Array(items) => {
            let mut items = items.clone();
            if !items.is_empty() {
                items.remove(numbers.below(items.len()));
            }
            Json::Array(items)
        }
        other => other.clone(),
    };
    format!("{path}: {before} to {value}")
}

fn other_text(text: &str, numbers: &mut Numbers) -> String {
    if let Some((address, bits)) = text.split_once('/')
        && let Ok(address) = address.parse::<std::net::Ipv4Addr>()
        && let Ok(bits) = bits.parse::<u32>()
    {
        let size = 1_u32.checked_shl(32 - bits.min(32)).unwrap_or(0);
        let moved = u32::from(address).wrapping_add(size.wrapping_mul(u32::from(numbers.below(2) == 0) * 4));
        return format!("{}/{}", std::net::Ipv4Addr::from(moved), bits + u32::from(numbers.below(2) == 0));
    }
    format!("{text}x")
}

fn leaves(value: &Json, path: &mut String, found: &mut Vec<String>) {
    let length = path.len();
    match value {
        Json::Object(entries) => {
            for (key, value) in entries {
                path.push('/');
                path.push_str(&key.replace('~', "~0").replace('/', "~1"));
                leaves(value, path, found);
                path.truncate(length);
            }
        }
        Json::Array(items) => {
            found.push(path.clone());
            for (index, value) in items.iter().enumerate() {
                path.push('/');
                path.push_str(&index.to_string());
                leaves(value, path, found);
                path.truncate(length);
            }
        }
        Json::Null => {}
        _ => found.push(path.clone()),
    }
}

/// The documents of every folder in a folder.
fn specs(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = files(folder)?;
    found.retain(|case| case.join("spec.yaml").is_file() || case.join("cluster.yaml").is_file());
    let document = |case: PathBuf| {
        let alone = case.join("spec.yaml");
        if alone.is_file() { alone } else { case }
    };
    Ok(found.into_iter().map(document).collect())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut found: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    found.sort();
    Ok(found)
}

fn mutations() -> usize {
    usize::try_from(number("SLIPWAY_MUTATIONS", 100)).unwrap_or(usize::MAX)
}

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
