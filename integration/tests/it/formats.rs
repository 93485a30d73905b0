//! Newer programs read the stored documents of older ones, and older programs refuse newer documents.
//!
//! `fixtures/state-formats/<format>/<version>/form.txt` is the form of each kind of document: every field
//! with its type. `fixtures/state-formats/stores/<n>/` are whole stores that a program left in the middle of
//! a run.
//!
//! `SLIPWAY_KEEP_FORMS=1` adds missing fixtures: the form of a new version, and a store that has it. It never
//! changes existing ones: a form that differs needs a new version.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use serde_json::Value;
use slipway_integration::place::{Ended, Place};
use slipway_state_store::{Acquire, ClusterName, CommitMeta, Holder, Identity, Key, Prefix, SystemClock};

use crate::state::larger;
use crate::{APPLY, PLAN, PROGRAM, SMALL};

/// The documents of a store: all its objects, and a plan file.
type Documents = BTreeMap<String, Vec<u8>>;

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/state-formats")
}

/// A life that leaves a document of every format behind, the last run killed in the middle.
fn life() -> Result<(Place, Documents)> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    place.expect(0, APPLY)?;
    place.write("spec.yaml", &larger())?;
    place.expect(2, &["plan", "-f", "spec.yaml", "--out", "state:"])?;
    let digest = keys(&place)?.into_iter().find(|key| format_of(key) == Some("stored-plan"));
    let digest =
        digest.as_deref().and_then(|key| key.rsplit('/').next()).context("a stored plan")?.to_owned();
    place.expect(0, &["approve", &format!("state:{digest}"), "--yes"])?;
    place.expect(2, &["plan", "-f", "spec.yaml", "--out", "plan.slipway"])?;
    place.expect(0, APPLY)?;
    place.write("spec.yaml", SMALL)?;
    let killed = place.command(APPLY).env("SLIPWAY_TEST_KILL", "1:after").output()?;
    ensure!(killed.status.code().is_none(), "a run is killed and taken up: {killed:?}");
    place.expect(0, APPLY)?;
    place.write("spec.yaml", &larger())?;
    let killed =
        place.command(APPLY).envs([("SLIPWAY_TEST_KILL", "5:after"), ("SLIPWAY_TEST_TERM", "1")]).output()?;
    ensure!(killed.status.code().is_none(), "the last run is killed: {killed:?}");
    let mut documents = dump(&place)?;
    documents.insert("plan.slipway".to_owned(), std::fs::read(place.path().join("plan.slipway"))?);
    Ok((place, documents))
}

fn with_runtime<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

fn keys(place: &Place) -> Result<Vec<String>> {
    let backend = place.backend()?;
    with_runtime(async { Ok(backend.list(&Prefix::root()).await?.iter().map(ToString::to_string).collect()) })
}

fn dump(place: &Place) -> Result<Documents> {
    let backend = place.backend()?;
    with_runtime(async {
        let mut documents = Documents::new();
        for key in backend.list(&Prefix::root()).await? {
            let (bytes, _) = backend.get(&key).await?.context("what was listed")?;
            documents.insert(key.to_string(), bytes.to_vec());
        }
        Ok(documents)
    })
}

/// A place that has these objects.
fn restore(documents: &Documents) -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    let backend = place.backend()?;
    with_runtime(async {
        for (key, bytes) in documents.iter().filter(|(key, _)| key.contains('/')) {
            backend.create(&Key::new(key)?, Bytes::copy_from_slice(bytes)).await?;
        }
        Ok(())
    })?;
    Ok(place)
}

/// Which format the object of a key has.
fn format_of(key: &str) -> Option<&'static str> {
    let rest = key.split_once('/').map_or(key, |(_, rest)| rest);
    Some(match rest.split('/').next()? {
        "head" => "head",
        "snapshots" => "snapshot",
        "journal" => "journal",
        "history" => "history",
        "runs" => "run",
        "plans" => "stored-plan",
        "approvals" => "approval",
        "secrets" => "secret",
        "plan.slipway" => "plan-file",
        _ => return None,
    })
}

/// The values of a document: one JSON value, or one value in each line.
fn values(bytes: &[u8]) -> Vec<Value> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return vec![value];
    }
    bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn version(values: &[Value]) -> Option<u64> {
    values
        .iter()
        .find_map(|value| [&value["format"], &value["plan"]["format"]].into_iter().find_map(Value::as_u64))
}

/// Objects whose keys are names, such as addresses, attributes and providers.
const BY_NAME: [&str; 10] = [
    ".fields",
    ".rate_classes",
    ".resources",
    ".catalogs",
    ".scopes",
    ".providers",
    ".after_unknown",
    ".about",
    ".preconditions",
    ".schemas",
];

/// Fields whose contents have other forms.
const FOREIGN: [&str; 10] =
    ["data", "prior", "spec", "applied", "before", "after", "attributes", "config", "catalog", "desired"];

/// Adds every field with its type; values and counts, which differ between runs, are left out.
fn form(value: &Value, path: &str, lines: &mut BTreeSet<String>) {
    let name = match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = if BY_NAME.iter().any(|map| path.ends_with(map)) { "*" } else { name };
                let path = format!("{path}.{name}");
                if FOREIGN.contains(&name) {
                    lines.insert(format!("{path}: as its provider or its spec has it"));
                } else {
                    form(field, &path, lines);
                }
            }
            "object"
        }
        Value::Array(items) => {
            for item in items {
                form(item, &format!("{path}[]"), lines);
            }
            "array"
        }
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
    };
    lines.insert(format!("{path}: {name}"));
}

/// The forms of the documents by format and version.
fn forms(documents: &Documents) -> Result<BTreeMap<(&'static str, u64), BTreeSet<String>>> {
    let mut forms: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for (key, bytes) in documents {
        let Some(format) = format_of(key) else { continue };
        let values = values(bytes);
        let version = version(&values).with_context(|| format!("{key} tells no format"))?;
        let lines = forms.entry((format, version)).or_default();
        for value in &values {
            form(value, "", lines);
        }
    }
    Ok(forms)
}

#[test]
fn what_is_written_has_the_form_of_its_version() -> Result<()> {
    let (_place, documents) = life()?;
    let forms = forms(&documents)?;
    let formats: BTreeSet<&str> = forms.keys().map(|(format, _)| *format).collect();
    let wanted = ["approval", "head", "history", "journal", "plan-file", "run", "snapshot", "stored-plan"];
    ensure!(wanted.iter().all(|format| formats.contains(format)), "{formats:?}");
    let keeps = std::env::var_os("SLIPWAY_KEEP_FORMS").is_some();
    let mut is_new = false;
    for ((format, version), lines) in forms {
        let path = kept().join(format).join(version.to_string()).join("form.txt");
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        if keeps && !path.exists() {
            std::fs::create_dir_all(path.parent().context("a folder")?)?;
            std::fs::write(&path, text)?;
            is_new = true;
            continue;
        }
        let known = std::fs::read_to_string(&path).with_context(|| {
            format!("version {version} of {format} is new: SLIPWAY_KEEP_FORMS=1 keeps its form, and a store with it")
        })?;
        let known: BTreeSet<&str> = known.lines().collect();
        let now: BTreeSet<&str> = text.lines().collect();
        let (gone, added): (Vec<_>, Vec<_>) =
            (known.difference(&now).collect(), now.difference(&known).collect());
        ensure!(
            gone.is_empty() && added.is_empty(),
            "the form of {format} has changed, and its version is still {version}: gone {gone:#?}, added {added:#?}"
        );
    }
    if is_new {
        keep_store(&documents)?;
    }
    Ok(())
}

/// Keeps a store under the next number.
fn keep_store(documents: &Documents) -> Result<()> {
    let number = stores()?.len() + 1;
    for (key, bytes) in documents {
        let path = kept().join("stores").join(number.to_string()).join(key);
        std::fs::create_dir_all(path.parent().context("a folder")?)?;
        std::fs::write(path, bytes)?;
    }
    Ok(())
}

/// All stores that are kept, the oldest first.
fn stores() -> Result<Vec<Documents>> {
    let mut stores = Vec::new();
    for number in 1.. {
        let folder = kept().join("stores").join(number.to_string());
        if !folder.exists() {
            break;
        }
        let mut documents = Documents::new();
        read_folder(&folder, &folder, &mut documents)?;
        stores.push(documents);
    }
    Ok(stores)
}

fn read_folder(root: &Path, folder: &Path, documents: &mut Documents) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_folder(root, &path, documents)?;
        } else {
            let key = path.strip_prefix(root)?.to_string_lossy().into_owned();
            documents.insert(key, std::fs::read(&path)?);
        }
    }
    Ok(())
}

#[test]
fn every_kept_store_is_read_and_brought_to_the_present() -> Result<()> {
    let stores = stores()?;
    ensure!(stores.len() >= 2, "{} stores are kept", stores.len());
    let mut seen = BTreeSet::new();
    for (number, documents) in stores.iter().enumerate() {
        seen.extend(forms(documents)?.into_keys());
        let place = restore(documents)?;
        let read = |arguments: &[&str]| {
            place.expect(0, arguments).with_context(|| format!("store {} of {}", number + 1, stores.len()))
        };
        let shown = read(&["state", "list", "line"])?;
        ensure!(shown.out.contains("sim_network"), "{shown:?}");
        read(&["state", "show", "line"])?;
        let history = read(&["state", "history", "line"])?;
        ensure!(history.out.contains("apply"), "{history:?}");
        // A change makes a new generation, in the newest form.
        let address = shown
            .out
            .split_whitespace()
            .find(|word| word.starts_with("sim_network."))
            .context("a network")?
            .to_owned();
        let removal = ["state", "rm", "line", &address, "--yes"];
        if values(&documents["line/head"])[0]["holder"].is_object() {
            // The holder was a process of another machine. Here it is only known that it does not renew its
            // lease.
            let patient: Vec<&str> = removal.into_iter().chain(["--wait", "1m"]).collect();
            let refused = place.run(&patient)?;
            ensure!(refused.err.contains("error[CLI0030]"), "its open run was read: {refused:?}");
            continue;
        }
        read(&removal)?;
        let newest = forms(&dump(&place)?)?;
        for format in ["head", "snapshot"] {
            let newest = newest.keys().filter(|(name, _)| *name == format).map(|(_, version)| *version).max();
            let folder = std::fs::read_dir(kept().join(format))?;
            let known =
                folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u64>().ok()).max();
            ensure!(
                newest == known,
                "{format} is written as {newest:?}, the newest that is known is {known:?}"
            );
        }
    }
    // Every version of every format is in some store.
    for format in
        std::fs::read_dir(kept())?.filter_map(Result::ok).filter(|entry| entry.file_name() != "stores")
    {
        for version in std::fs::read_dir(format.path())? {
            let (format, version) = (format.file_name(), version?.file_name());
            let (format, version) = (format.to_string_lossy(), version.to_string_lossy().parse::<u64>()?);
            let is_seen = seen.iter().any(|(name, number)| *name == format && *number == version);
            ensure!(is_seen, "no store has version {version} of {format}");
        }
    }
    Ok(())
}

/// A document of a version that does not exist yet.
fn newer(bytes: &[u8]) -> Result<Vec<u8>> {
    let text = std::str::from_utf8(bytes)?;
    let at = text.find("\"format\"").context("a format")? + "\"format\"".len();
    let (before, rest) = text.split_at(at);
    let digits = rest.find(|character: char| character.is_ascii_digit()).context("a version")?;
    let (colon, rest) = rest.split_at(digits);
    let rest = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    Ok(format!("{before}{colon}99{rest}").into_bytes())
}

#[test]
fn what_is_newer_is_refused_and_says_what_is_needed() -> Result<()> {
    let documents = stores()?.pop().context("a store")?;
    let stored_plan = documents.keys().find(|key| format_of(key) == Some("stored-plan")).context("a plan")?;
    let stored_plan = format!("state:{}", stored_plan.rsplit('/').next().unwrap_or_default());
    let cases: [(&str, Vec<&str>); 6] = [
        ("head", vec!["state", "show", "line"]),
        ("journal", vec!["state", "show", "line"]),
        ("history", vec!["state", "history", "line"]),
        ("stored-plan", vec!["show", &stored_plan]),
        ("approval", vec!["apply", &stored_plan, "--require-approval", "--yes"]),
        ("plan-file", vec!["show", "plan.slipway"]),
    ];
    for (format, arguments) in cases {
        let mut changed = documents.clone();
        for (key, bytes) in &mut changed {
            if format_of(key) == Some(format) {
                *bytes = newer(bytes).with_context(|| key.clone())?;
            }
        }
        if format == "approval" {
            // A plan that does not fit the state is refused before its approvals are read.
            let head = changed.get_mut("line/head").context("a head")?;
            let text = std::str::from_utf8(head)?;
            let now = format!("\"generation\": {}", values(head)[0]["generation"]);
            *head = text.replacen(&now, "\"generation\": 1", 1).into_bytes();
        }
        let place = restore(&changed)?;
        std::fs::write(place.path().join("plan.slipway"), &changed["plan.slipway"])?;
        let before = dump(&place)?;
        let refused: Ended = place.run(&arguments)?;
        ensure!(refused.code == Some(1), "{format}: {refused:?}");
        let says = |part: &str| refused.err.contains(part);
        ensure!(says("error[") && says("99"), "{format}: what was found: {}", refused.err);
        ensure!(
            says("this one reads") || says("this Slipway reads"),
            "{format}: what is read: {}",
            refused.err
        );
        ensure!(dump(&place)? == before, "{format}: what is not understood is left alone");
    }
    Ok(())
}

/// Commits the state of the cluster again, with a field in its spec that this version does not know.
fn add_foreign_field(place: &Place) -> Result<()> {
    let backend = place.backend()?;
    with_runtime(async {
        let acquire = Acquire::new(Identity::current("ada", "test"));
        let clock = Arc::new(SystemClock);
        let holder = Holder::acquire(backend, &ClusterName::new("line")?, acquire, clock).await?;
        let snapshot = holder.read().await?.snapshot.context("a snapshot")?;
        let mut snapshot: Value = serde_json::from_slice(&snapshot)?;
        snapshot["spec"]["lanes"] = 2.into();
        holder.release(Some((serde_json::to_vec(&snapshot)?, CommitMeta::default()))).await?;
        Ok(())
    })
}

#[test]
fn a_spec_of_another_form_in_the_state_is_refused_by_every_command_that_needs_it() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    place.expect(0, APPLY)?;
    add_foreign_field(&place)?;
    let before = dump(&place)?;
    let commands: [&[&str]; 8] = [
        PLAN,
        APPLY,
        &["drift", "line"],
        &["delete", "line", "--yes"],
        &["validate", "line"],
        &["kubeconfig", "line"],
        &["logs", "line", "kubelet"],
        &["get", "nodes", "line"],
    ];
    for arguments in commands {
        let refused = place.expect(1, arguments)?;
        for part in ["error[STATE0052]: line", "unknown field `lanes`"] {
            ensure!(refused.err.contains(part), "{arguments:?}: no {part} in {}", refused.err);
        }
    }
    ensure!(dump(&place)? == before, "what is not understood is left alone");
    // What does not need the spec shows the rest.
    place.expect(0, &["state", "show", "line"])?;
    Ok(())
}
