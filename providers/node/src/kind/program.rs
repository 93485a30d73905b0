//! A program file, fetched by its digest.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value as Json;
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Attribute, ErrorClass, ProviderError, ResourceType, Type, Value};

use super::{Kind, Place, Work, form};
use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::error::{conflict, invalid, of_path, permanent};
use crate::ledger::Found;
use crate::program;

/// Downloads that are not in their place yet.
const DOWNLOADS: &str = "/var/lib/slipway/programs";

/// How often a program that does not start is tried again.
const BUSY: usize = 3;

/// A program file. Nothing starts it: a service names its path.
pub(crate) struct Program;

#[async_trait]
impl Kind for Program {
    fn resource_type(&self) -> ResourceType {
        form::resource_type(
            "A program file, fetched by its digest and put in its place whole.",
            20_000,
            [
                ("path", form::path()),
                ("sha256", Attribute::required(Type::String).describe("Its SHA-256, 64 hexadecimal digits.")),
                (
                    "urls",
                    Attribute::required(Type::list(Type::String)).write_only().describe(
                        "Where it is fetched from: URLs (`https://`, `http://`, `file://`), tried in this order. Nothing is fetched \
                         when the file is there.",
                    ),
                ),
                (
                    "version",
                    Attribute::optional(Type::String).write_only().describe(
                        "The version that the program has to print for `--version`, as 1.34.4; a file that prints another one is not \
                         put in place.",
                    ),
                ),
            ],
        )
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "path").map(str::to_owned)
    }

    fn plan(&self, _: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "path")?;
        match planned.normalised.get("sha256") {
            Some(Value::String(digits)) if !is_sha256(digits) => {
                Err(invalid(format!("`{digits}` is not a SHA-256 in 64 small hexadecimal digits")))
            }
            _ => Ok(()),
        }
    }

    async fn look(&self, work: &Work) -> Result<Found, ProviderError> {
        let path = work.identity();
        let there = digest(work.host().disk.clone(), path.to_owned()).await?;
        match there {
            None => Ok(Found::Nothing),
            Some(there) if there == work.wanted().text("sha256")? => Ok(Found::Kept),
            Some(there) => {
                let text =
                    format!("{path} is there already with the SHA-256 {there}, and Slipway did not make it");
                Err(conflict(text).with_hint(form::aside(path)))
            }
        }
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let sha256 = work.wanted().text("sha256")?.to_owned();
        let path = work.identity().to_owned();
        let is_there =
            digest(work.host().disk.clone(), path.clone()).await?.as_deref() == Some(sha256.as_str());
        if !is_there {
            let download = fetch(work, &sha256).await?;
            work.blocking(move |work| {
                put(&work.host().disk, &path, &download)?;
                std::fs::remove_file(&download).map_err(|error| of_path(&download, "remove", &error))
            })
            .await?;
        }
        let checked = is_version(work).await;
        if checked.is_err() && !is_there {
            work.blocking(|work| work.host().disk.remove(work.identity()).map(drop)).await?;
        }
        checked.map(|()| Json::Null)
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        if work.stays() {
            return Ok(());
        }
        work.blocking(|work| work.host().disk.remove(work.identity()).map(drop)).await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        let path = place.identity.as_str();
        let digest = digest(place.host.disk.clone(), path.to_owned()).await?;
        Ok(digest.map(|digest| Value::map([("path", Value::from(path)), ("sha256", digest.into())])))
    }
}

fn is_sha256(digits: &str) -> bool {
    digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The SHA-256 of a program file; none when there is none.
async fn digest(disk: Disk, path: String) -> Result<Option<String>, ProviderError> {
    let read = move || {
        if disk.status(&path)?.is_none_or(|status| !status.is_file()) {
            return Ok(None);
        }
        let place = disk.target(&path)?;
        slipway_programs::digest(&place).map(Some).map_err(|error| of_path(&place, "read", &error))
    };
    tokio::task::spawn_blocking(read).await.map_err(|error| permanent(error.to_string()))?
}

/// Fetches the program; gives the place of the download.
async fn fetch(work: &Work, sha256: &str) -> Result<PathBuf, ProviderError> {
    let urls = work.wanted().texts("urls");
    work.tell(format!("fetches {}", work.identity()));
    let folder = work.blocking(|work| work.host().disk.folder(DOWNLOADS)).await?;
    let fetched = tokio::select! {
        fetched = slipway_programs::fetch(&urls, sha256, &folder) => fetched,
        () = work.stop.cancelled() => return Err(work.cancelled()),
        () = tokio::time::sleep_until(work.deadline) => Err(vec!["the time for this step is over".to_owned()]),
    };
    fetched.map_err(|reasons| {
        let text = format!("{} cannot be fetched: {}", work.identity(), reasons.join("; "));
        let hint = "put the file with this SHA-256 on a mirror of `assets.programs` that the host reaches, and apply again: the \
                    download goes on where it ended";
        ProviderError::new(ErrorClass::Permanent, text).with_hint(hint)
    })
}

/// Puts a download in its place.
fn put(disk: &Disk, path: &str, download: &Path) -> Result<(), ProviderError> {
    let (folder, name) = path.rsplit_once('/').unwrap_or_default();
    let folder = disk.folder(folder)?;
    disk.at("place");
    let source = File::open(download).map_err(|error| of_path(download, "read", &error))?;
    slipway_programs::write(&folder, Path::new(name), source)
        .map_err(|error| of_path(&folder, "put a program into it", &error))
}

/// Checks that the program runs here and has the desired version.
async fn is_version(work: &Work) -> Result<(), ProviderError> {
    let Some(wanted) = work.wanted().optional_text("version")?.map(str::to_owned) else { return Ok(()) };
    let place = work.host().disk.target(work.identity())?;
    let mut asked = program::run_at(&place, &["--version"]).await;
    for _ in 0..BUSY {
        if asked.is_ok() {
            break;
        }
        // A process that was forked while the file was written may still hold it open; the kernel does not run it meanwhile.
        work.pause(Duration::from_millis(100)).await?;
        asked = program::run_at(&place, &["--version"]).await;
    }
    let why = match asked {
        Ok(output) if printed(&output.out).as_deref() == Some(&wanted) => return Ok(()),
        Ok(output) => format!("it prints `{}` for --version", output.text),
        Err(error) => error.message,
    };
    let text = format!("{} is not the program of version {wanted}: {why}", work.identity());
    let hint =
        "correct `sha256`, `version` or `architecture` of the file in `assets.programs`, and apply again";
    Err(permanent(text).with_hint(hint))
}

/// The version in what a program prints for `--version`, as `Kubernetes v1.34.4`.
pub(super) fn printed(text: &str) -> Option<String> {
    text.split_whitespace().last().map(|word| word.trim_start_matches('v').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_programs_print_them() {
        assert_eq!(printed("Kubernetes v1.34.4\n").as_deref(), Some("1.34.4"));
        assert_eq!(printed(""), None);
    }

    #[test]
    fn a_digest_has_one_form() {
        assert!(is_sha256(&"0a".repeat(32)));
        assert!(!is_sha256(&"0A".repeat(32)) && !is_sha256("0a"));
    }
}
