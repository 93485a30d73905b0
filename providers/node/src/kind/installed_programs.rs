//! The programs of one fetched file, such as containerd or the CNI plugins, in their folder.

mod places;
mod running;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as FilePath;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_programs::Contents;
use slipway_resource::provider::{Disruption, PlanItem, Planned};
use slipway_resource::{Attribute, Path, ProviderError, ResourceType, Type, Value};

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::error::{invalid, permanent};
use crate::ledger::Found;
use crate::program;
use crate::steady;
use places::Places;

/// The attribute with the version of the programs.
const VERSION: &str = "version";
/// The attribute with the text of the unit.
const UNIT: &str = "unit";
/// The attribute with the path of the unit.
const UNIT_PATH: &str = "unit_path";

/// The version of a program that runs and prints none.
const UNKNOWN: &str = "unknown";

/// How often a program that does not start is tried again.
const BUSY: usize = 3;

/// The programs of one fetched file. A service that runs one of them is restarted, and must run well.
pub(crate) struct InstalledPrograms;

/// The programs that are in their places.
#[derive(Debug, Serialize, Deserialize)]
struct Memory {
    /// The SHA-256 of the file that they come from.
    source: String,
    /// The SHA-256 of each program, by name.
    files: BTreeMap<String, String>,
}

impl Memory {
    /// The names of the programs that a place has from us.
    fn ours(place: &Place) -> BTreeSet<String> {
        recall::<Self>(place.memory()).map(|memory| memory.files.into_keys().collect()).unwrap_or_default()
    }
}

#[async_trait]
impl Kind for InstalledPrograms {
    fn resource_type(&self) -> ResourceType {
        let optional = |kind, text: &str| Attribute::optional(kind).describe(text);
        let mut programs = form::resource_type(
            "The programs of one fetched file in their folder. What the host had there before comes back with a delete.",
            30_000,
            [
                (
                    "name",
                    Attribute::required(Type::String).immutable().describe(
                        "Its name, as containerd. With a unit, that of the service that runs one of the programs.",
                    ),
                ),
                ("folder", Attribute::required(Type::String).immutable().describe("Where the programs are.")),
                (
                    "source",
                    Attribute::required(Type::String).write_only().describe("The path of the fetched file."),
                ),
                (
                    "sha256",
                    Attribute::required(Type::String)
                        .describe("The SHA-256 of the fetched file, 64 hexadecimal digits."),
                ),
                (
                    "archive_folder",
                    optional(
                        Type::String,
                        "The folder with the programs, if the file is an archive (tar, gzip); empty for the root of the archive. \
                         Without it, the file is the program itself.",
                    )
                    .write_only(),
                ),
                (
                    "only",
                    optional(Type::String, "The only program of the archive to install; else all.").write_only(),
                ),
                (
                    "program",
                    Attribute::required(Type::String)
                        .write_only()
                        .describe("The program that prints the version for --version."),
                ),
                (
                    VERSION,
                    Attribute::optional_computed(Type::String).describe(
                        "The version that the program prints, as 2.1.4. One that prints another version is not put in place.",
                    ),
                ),
                (
                    UNIT_PATH,
                    optional(Type::String, "The path of the unit of the service, or of an addition to it.").write_only(),
                ),
                (UNIT, optional(Type::String, "The text of this file.")),
            ],
        );
        programs
            .attributes
            .extend(steady::attributes().map(|(name, attribute)| (name.to_owned(), attribute)));
        programs
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        let name = desired.text("name")?;
        let is_plain = !name.is_empty()
            && name.len() < 100
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if is_plain {
            Ok(name.to_owned())
        } else {
            Err(invalid(format!("`{name}` is not a name of programs")))
        }
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        for name in ["folder", "source", UNIT_PATH] {
            form::plan_path(planned, name)?;
        }
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let Some(observed) = &item.observed else { return Ok(()) };
        let changes = |name: &str| observed.get(name) != planned.normalised.get(name);
        let (is_other, has_service) = (changes("sha256"), text(&planned.normalised, UNIT).is_some());
        if !is_other && (!has_service || !changes(UNIT)) {
            return Ok(());
        }
        let wanted = item.desired.as_ref().and_then(|desired| text(desired, VERSION));
        if is_other && wanted.is_none() {
            planned.normalised.set(&Path::key(VERSION), Value::Unknown);
        }
        let name = text(&planned.normalised, "name").unwrap_or_default();
        if let (Some(from), Some(to)) = (text(observed, VERSION), wanted)
            && from != to
        {
            planned.reasons.push(format!("{name} changes from {from} to {to} on this host"));
        }
        if has_service {
            planned.disruption = planned.disruption.max(Disruption::Brief);
            planned.reasons.push(format!("{name} is restarted: pods on the node keep running"));
        }
        Ok(())
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        // Programs of the host are kept aside, one by one.
        Ok(Found::Nothing)
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let program = work.wanted().text("program")?.to_owned();
        let before = running::Before::of(work).await?;
        let names = work.blocking(stage).await?;
        let staged = work.blocking(places).await?.staged(&program);
        if let Err(error) = is_version(work, &staged).await {
            work.blocking(|work| places(work)?.unstage()).await?;
            return Err(error);
        }
        let files = work
            .blocking({
                let names = names.clone();
                move |work| {
                    let places = places(work)?;
                    places.replace(&names, &Memory::ours(&work.place))?;
                    places.digests(&names)
                }
            })
            .await?;
        if let Some(before) = before {
            before.restart(work, &names).await?;
        }
        work.blocking(|work| {
            running::forget(work)?;
            places(work)?.settle()
        })
        .await?;
        memorise(&Memory { source: work.wanted().text("sha256")?.to_owned(), files })
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        running::without(work).await?;
        work.blocking(|work| {
            let wanted = work.place.wanted();
            let folder = work.host().disk.target(wanted.text("folder")?)?;
            let files = recall::<Memory>(work.place.memory()).map(|memory| memory.files).unwrap_or_default();
            Places::new(folder, work.identity()).give_back(&files)
        })
        .await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        // Of a node that another tool has made, nothing is known.
        if place.entry.as_ref().is_none_or(|entry| entry.uid.is_empty()) {
            return Ok(None);
        }
        let memory = recall::<Memory>(place.memory());
        let (mut value, program) = place
            .blocking(move |place, host| {
                let wanted = place.wanted();
                let folder = wanted.text("folder")?;
                let places = Places::new(host.disk.target(folder)?, place.identity.as_str());
                let mut value = Value::map([("name", place.identity.as_str()), ("folder", folder)]);
                // After an interruption the places may have other programs.
                let whole = match &memory {
                    Some(memory) if places.digests(memory.files.keys())? == memory.files => {
                        memory.source.as_str()
                    }
                    _ => "",
                };
                value.set(&Path::key("sha256"), whole.into());
                if let Some(path) = wanted.optional_text(UNIT_PATH)? {
                    value.set(&Path::key(UNIT), host.disk.read_text(path)?.into());
                }
                Ok((value, places.program(wanted.text("program")?)))
            })
            .await?;
        value.set(&Path::key(VERSION), version_of(&program).await.ok().into());
        Ok(Some(value))
    }
}

/// The places of the desired programs. Makes their folder.
fn places(work: &Work) -> Result<Places, ProviderError> {
    let folder = work.host().disk.folder(work.wanted().text("folder")?)?;
    Ok(Places::new(folder, work.identity()))
}

/// Unpacks the fetched file beside the places of its programs. Returns their names.
fn stage(work: &Work) -> Result<BTreeSet<String>, ProviderError> {
    let wanted = work.wanted();
    let source = work.host().disk.target(wanted.text("source")?)?;
    let found =
        slipway_programs::digest(&source).map_err(|error| crate::error::of_path(&source, "read", &error))?;
    if found != wanted.text("sha256")? {
        let text =
            format!("{} has the SHA-256 {found}: it was changed since it was fetched", source.display());
        return Err(permanent(text).with_hint(format!("remove {} and apply again", source.display())));
    }
    let contents = match wanted.optional_text("archive_folder")? {
        Some(folder) => Contents::Archive { folder, only: wanted.optional_text("only")? },
        None => Contents::Program(wanted.text("program")?),
    };
    places(work)?.stage(contents, &source)
}

/// Checks that a program runs here and has the desired version.
async fn is_version(work: &Work, program: &FilePath) -> Result<(), ProviderError> {
    let mut found = version_of(program).await;
    for _ in 0..BUSY {
        if found.is_ok() {
            break;
        }
        // A process that was forked while the file was written may still hold it open; the kernel does not run it meanwhile.
        work.pause(Duration::from_millis(100)).await?;
        found = version_of(program).await;
    }
    let wanted = work.wanted().optional_text(VERSION)?;
    let why = match (found, wanted) {
        (Ok(found), Some(wanted)) if found != wanted => {
            format!("it has the version {found} instead of {wanted}")
        }
        (Ok(_), _) => return Ok(()),
        (Err(why), _) => why,
    };
    let text = format!("{} is not put in place: {why}", work.identity());
    let hint =
        "correct `sha256`, `version` or `architecture` of the file in `assets.programs`, and apply again";
    Err(permanent(text).with_hint(hint))
}

/// The version that a program prints for `--version`; otherwise why it is not known.
async fn version_of(program: &FilePath) -> Result<String, String> {
    let output = program::run_at(program, &["--version"]).await.map_err(|error| error.message)?;
    if !output.success {
        return Err(format!("--version fails: {}", output.text));
    }
    let found = printed(&output.out).or_else(|| printed(&output.text));
    Ok(found.unwrap_or_else(|| UNKNOWN.to_owned()))
}

/// The first version in the first line of a text, without a `v` and without what a distribution adds: `1.6.20` of `containerd … 1.6.20~ds1`.
fn printed(text: &str) -> Option<String> {
    let version = |word: &str| {
        let word = word.strip_prefix('v').unwrap_or(word);
        let word = word.split(['~', '+', ',']).next().unwrap_or_default();
        let mut parts = word.split('.');
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let is_version = parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number);
        is_version.then(|| word.to_owned())
    };
    text.lines().next()?.split_whitespace().find_map(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_programs_print_them() {
        for (text, wanted) in [
            ("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u1", Some("1.6.20")),
            ("containerd github.com/containerd/containerd/v2 v2.1.4 75cb2b71", Some("2.1.4")),
            ("runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1\nspec: 1.0.2-dev\n", Some("1.1.5")),
            ("crictl version v1.34.0\n", Some("1.34.0")),
            ("CNI loopback plugin v1.7.1\nCNI protocol versions supported: 0.1.0, 0.2.0\n", Some("1.7.1")),
            ("containerd github.com/containerd/containerd/v2 2.2.0-rc.1 abc", Some("2.2.0-rc.1")),
            ("CNI loopback plugin version unknown\nCNI protocol versions supported: 0.1.0, 0.2.0\n", None),
            ("usage: program [file]", None),
        ] {
            assert_eq!(printed(text).as_deref(), wanted, "{text}");
        }
    }
}
