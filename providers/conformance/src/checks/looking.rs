//! Sessions that only look.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use slipway_resource::provider::{
    DiscoverRequest, Discovery, ExpandRequest, PlanItem, PreflightItem, ReadRequest, Terms,
};
use slipway_resource::{Address, Digest, Observation, Value};

use crate::bench::{Bench, CLUSTER, session_request};
use crate::stop::{Checked, Stop, ensure};

/// Where programs keep what they need only for a time, or for the next time.
const VARIABLES: [&str; 6] =
    ["TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"];

/// The contents of some folders: the digest of each file, and the time of the last change of each entry. A
/// file that was written and removed again has changed its folder.
type Snapshot = BTreeMap<PathBuf, (Option<SystemTime>, Option<Digest>)>;

fn snapshot(folders: &[PathBuf]) -> Snapshot {
    let mut found = Snapshot::new();
    let mut open = folders.to_vec();
    while let Some(path) = open.pop() {
        let Ok(metadata) = std::fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
        }
        let content = metadata.is_file().then(|| std::fs::read(&path).ok()).flatten();
        found.insert(path, (metadata.modified().ok(), content.map(|bytes| Digest::of_bytes(&bytes))));
    }
    found
}

/// The paths at which two snapshots differ.
fn differences(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let differ = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    differ.map(|path| path.display().to_string()).collect()
}

pub(crate) async fn read_only(bench: &mut Bench<'_>) -> Checked {
    for sample in bench.samples()? {
        if !bench.is_made(&sample.address) {
            bench.make(&sample).await?;
        }
    }
    let cloud = bench.discover(|_| true).await?;
    let own = tempfile::tempdir().map_err(|error| Stop::Skip(error.to_string()))?;
    let folders = [Path::new(&bench.places.scratch), Path::new(&bench.places.other), own.path()];
    let folders = folders.map(Path::to_owned);
    let before = snapshot(&folders);
    let variables = VARIABLES.map(|name| (OsString::from(name), own.path().as_os_str().to_owned()));
    let running = bench.suite.start_with(variables.to_vec()).await?;
    let looked = look(bench, &running).await;
    running.kill().await;
    looked?;
    let changed = differences(&before, &snapshot(&folders));
    ensure(changed.is_empty(), || format!("a session that only looks has written {}", changed.join(", ")))?;
    let after = bench.discover(|found| *found == cloud).await?;
    ensure(after == cloud, || "a session that only looks has changed objects".to_owned())
}

/// The attributes of an object that was found.
fn attributes_of(found: &Discovery, address: &Address) -> Option<Value> {
    let observed = found.observed.iter().find(|observed| observed.address == *address)?;
    match &observed.observation {
        Observation::Present(attributes) => Some(attributes.clone()),
        _ => None,
    }
}

/// Makes all calls of a plan. Other rules check the answers.
async fn look(bench: &Bench<'_>, running: &slipway_protocol::Running) -> Result<(), Stop> {
    let request = session_request(&bench.suite.scenario, &bench.places)?;
    let terms = Terms { read_only: true, ..Terms::default() };
    let session = running.provider().open_session_on(request, terms).await?;
    let catalog = session.catalog().await?;
    if let Some(expand) = &bench.suite.scenario.expand {
        let _ = session.expand(ExpandRequest { cluster: expand.cluster.clone(), catalog }).await;
    }
    let request =
        DiscoverRequest { uid: Some(bench.uid.clone()), cluster: CLUSTER.to_owned(), types: Vec::new() };
    let found = session.discover(request).await?;
    let reads = found.observed.iter().map(|observed| ReadRequest {
        address: observed.address.clone(),
        identity: observed.identity.clone(),
    });
    let _ = session.read(reads.collect()).await;
    let samples = bench.samples()?;
    let items = samples.iter().map(|sample| PlanItem {
        address: sample.address.clone(),
        desired: Some(bench.resolve(sample.mutation.as_ref().unwrap_or(&sample.attributes))),
        observed: attributes_of(&found, &sample.address),
        last_applied: None,
    });
    let items: Vec<PlanItem> = items.collect();
    if bench.info.capabilities.nodes {
        let _ = session.nodes().await;
    }
    if bench.info.capabilities.dry_run {
        let _ = session.dry_run(items.clone()).await;
    }
    let _ = session.plan(items).await;
    let creations = samples.iter().map(|sample| PreflightItem {
        address: Address::new(sample.address.kind(), format!("{}-looked", sample.address.name())),
        action: "create".to_owned(),
        desired: bench.resolve(&sample.attributes),
    });
    let _ = session.preflight(creations.collect()).await;
    Ok(())
}
