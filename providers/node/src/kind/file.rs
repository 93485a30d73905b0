//! A file with a content.

mod content;
mod disclosure;
mod key;

use async_trait::async_trait;
use serde_json::Value as Json;
use slipway_bootstrap::material::FINGERPRINT;
use slipway_resource::provider::{Applied, PlanItem, Planned};
use slipway_resource::{Attribute, Path, ProviderError, ResourceType, Type, Value};

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::error::{conflict, invalid};
use crate::ledger::Found;
use crate::{previous, replaced};
use content::{Content, Memory, Version};
use key::REPLACES;

pub(super) use content::digest;
pub use disclosure::{DISCLOSE, SEALED};

/// A file. A content that is a secret is compared by its digest and never returned.
pub(crate) struct File;

#[async_trait]
impl Kind for File {
    fn resource_type(&self) -> ResourceType {
        let optional = |kind| Attribute::optional(kind);
        let mut file = form::resource_type(
            "A file.",
            5,
            [
                ("path", form::path()),
                (
                    "content",
                    optional(Type::String).describe("Its text. A secret is never returned, only compared."),
                ),
                (
                    "content_base64",
                    optional(Type::String).describe("Its bytes in base64, in place of content."),
                ),
                ("mode", form::mode("0644")),
                ("owner", form::owner()),
                ("group", form::group()),
                (
                    "keep_existing",
                    optional(Type::Bool)
                        .write_only()
                        .describe("Whether a file that is there already is kept as it is, as kubeadm does."),
                ),
                (
                    "replace_existing",
                    optional(Type::Bool).write_only().describe(
                        "Whether a file that is there already is replaced; it comes back with a delete.",
                    ),
                ),
                (
                    FINGERPRINT,
                    Attribute::optional_computed(Type::String).describe(
                        "The public fingerprint of a key, an authority or an encryption configuration in it; nothing of any \
                         other file. Whoever asks for one says that the content is of that kind.",
                    ),
                ),
                (
                    REPLACES,
                    optional(Type::String).write_only().describe(
                        "The fingerprint of the key that may be overwritten. Without it a key is never overwritten by \
                         another one.",
                    ),
                ),
                (
                    "keep_previous",
                    optional(Type::Bool).write_only().describe(
                        "Whether a changed file is kept as it was until the service that reads it runs well with the new one; \
                         else that service puts it back.",
                    ),
                ),
                (
                    "sha256",
                    Attribute::computed(Type::String).describe(
                        "Digest of the content in hexadecimal digits; of a secret its keyed fingerprint.",
                    ),
                ),
            ],
        );
        file.irreplaceable = Some(form::irreplaceable());
        form::keep(&mut file, &["content", "content_base64"]);
        file.operations.insert(DISCLOSE.to_owned(), disclosure::operation());
        file
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "path").map(str::to_owned)
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "path")?;
        form::plan_mode(planned, "mode")?;
        let wanted = &planned.normalised;
        let is_set = |name: &str| wanted.get(name).is_some_and(|value| !value.is_null());
        if is_set("content") == is_set("content_base64") {
            return Err(invalid("a file has either content or content_base64"));
        }
        let keeps = wanted.get("keep_existing").and_then(Value::as_bool).unwrap_or(false);
        if let Some(observed) = item.observed.as_ref().filter(|_| keeps) {
            for name in ["content", "content_base64", FINGERPRINT, "sha256"] {
                let kept = observed.get(name).cloned().unwrap_or_default();
                planned.normalised.set(&Path::key(name), kept);
            }
            return Ok(());
        }
        let declared = key::declared(item.desired.as_ref());
        let wants_secret = matches!(wanted.get("content"), Some(Value::Secret(_)));
        if let Some(observed) = item.observed.as_ref().filter(|_| wants_secret)
            && (key::is_the_same(observed, declared)
                || observed.get("mode") == wanted.get("mode")
                    && content::is_left(observed, item.last_applied.as_ref()))
        {
            for name in ["content", FINGERPRINT, "sha256"] {
                let kept = observed.get(name).cloned().unwrap_or_default();
                planned.normalised.set(&Path::key(name), kept);
            }
            return Ok(());
        }
        let digest = match content::planned_digest(&planned.normalised)? {
            // The content that is found in its place is known then.
            Some(_) if keeps => Value::Unknown,
            Some(digest) => digest.into(),
            None => content::digest_of_secret(&planned.normalised),
        };
        if digest == Value::Unknown {
            // Others may refer to the digest of a content that is known only after another step.
            planned.unknown_after.push(Path::key("sha256"));
        }
        planned.normalised.set(&Path::key("sha256"), digest);
        key::plan(declared, item.observed.as_ref(), &mut planned.normalised)
    }

    async fn look(&self, work: &Work) -> Result<Found, ProviderError> {
        work.blocking(|work| {
            let path = work.identity();
            let disk = &work.host().disk;
            let Some(status) = disk.status(path)? else { return Ok(Found::Nothing) };
            if !status.is_file() {
                return Err(conflict(format!("{path} is there, and no file")));
            }
            let wanted = Content::of(work.wanted())?;
            let there = disk.read(path)?.unwrap_or_default();
            if work.wanted().flag("keep_existing") || there == wanted.bytes {
                return Ok(Found::Kept);
            }
            if work.wanted().flag("replace_existing") {
                return Ok(Found::Replaced);
            }
            let text = format!("{path} is there already with another content, and Slipway did not make it");
            Err(conflict(text).with_hint(form::aside(path)))
        })
        .await
    }

    async fn foresee(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let path = work.identity();
            let mut memory = recall::<Memory>(work.place.memory()).unwrap_or_default();
            if work.place.entry.as_ref().is_some_and(|entry| entry.found == Found::Replaced) {
                replaced::keep(&work.host().disk, path)?;
            }
            memory.next = Some(Content::of(work.wanted())?.version());
            memorise(&memory)
        })
        .await
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let path = work.identity();
            let disk = &work.host().disk;
            let wanted = Content::of(work.wanted())?;
            let access = form::access(disk, work.wanted(), "mode", 0o644)?;
            let there = disk.read(path)?;
            let keeps = work.wanted().flag("keep_existing")
                && work.place.entry.as_ref().is_some_and(|entry| entry.found == Found::Kept);
            let version = match there {
                Some(there) if keeps => Version { digest: content::digest(&there), ..wanted.version() },
                Some(there) if there == wanted.bytes => wanted.version(),
                there => {
                    key::refuse_overwriting(work, there.as_deref(), &wanted.bytes)?;
                    if work.wanted().flag("keep_previous") {
                        previous::keep(disk, path)?;
                    }
                    disk.write(path, &wanted.bytes, access)?;
                    wanted.version()
                }
            };
            if !keeps {
                disk.set_access(path, access)?;
            }
            memorise(&Memory { now: Some(version), next: None })
        })
        .await
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        work.blocking(|work| {
            let path = work.identity();
            let disk = &work.host().disk;
            previous::forget(disk, path)?;
            match work.place.entry.as_ref().map(|entry| entry.found) {
                Some(Found::Nothing | Found::TakenOver) => disk.remove(path).map(drop),
                Some(Found::Replaced) => replaced::bring_back(disk, path),
                Some(Found::Kept) | None => {
                    work.tell(format!("{path} was there before and stays"));
                    Ok(())
                }
            }
        })
        .await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        Place::blocking(place, |place, host| {
            let path = place.identity.as_str();
            let Some(status) = host.disk.status(path)?.filter(super::super::disk::Status::is_file) else {
                return Ok(None);
            };
            let Some(bytes) = host.disk.read(path)? else { return Ok(None) };
            let mut value = Value::map([("path", path)]);
            form::read_access(&host.disk, &status, place.wanted(), &mut value);
            content::show(&bytes, &status, place, &mut value);
            key::show(&bytes, place, &mut value);
            Ok(Some(value))
        })
        .await
    }

    async fn operate(&self, work: &Work, name: &str, arguments: &Value) -> Result<Applied, ProviderError> {
        match name {
            DISCLOSE => disclosure::run(work, arguments).await,
            _ => Err(invalid(format!("a file has no operation {name}"))),
        }
    }
}
