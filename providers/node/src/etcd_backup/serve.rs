//! The program that takes snapshots of etcd on a schedule, on each control plane.

use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use slipway_resource::ProviderError;

use super::settings::Settings;
use super::take;
use crate::own_program::OwnProgram;

/// The longest time between two looks at whether a snapshot is due.
const LOOK: Duration = Duration::from_secs(30);

/// How often the store is cleared of what is not kept any more: each time, all manifests are read.
const CLEAR: SignedDuration = SignedDuration::from_hours(1);

/// The last attempt to take a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Attempt {
    /// When it ended.
    pub(crate) at: Timestamp,
    /// Why it failed; none when it did not.
    pub(crate) error: Option<String>,
}

impl Attempt {
    const FILE: &str = "last-attempt.json";

    /// The status on this machine.
    pub(crate) fn read(settings: &Settings) -> Option<Self> {
        let text = std::fs::read(settings.spool_path.join(Self::FILE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes the attempt to a file, which `slipway etcd snapshots` shows. A failure to write it is ignored.
    fn write(&self, settings: &Settings) {
        let Ok(text) = serde_json::to_vec(self) else { return };
        let (draft, place) =
            (settings.spool_path.join(".last-attempt.new"), settings.spool_path.join(Self::FILE));
        let written = take::make_folder(&settings.spool_path).and_then(|()| {
            std::fs::write(&draft, text).map_err(|error| crate::error::of_path(&draft, "write", &error))
        });
        if written.is_ok() {
            let _ = std::fs::rename(draft, place);
        }
    }
}

/// Takes snapshots by the settings in a file, until this process is ended or its program is replaced; says what it did.
///
/// Only the member that leads etcd takes snapshots, so that there is one for each interval, whichever members there are.
///
/// # Errors
/// When the settings cannot be read.
pub async fn serve_etcd_backups(
    path: &Path,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), ProviderError> {
    let settings = Settings::read(path)?;
    let program = OwnProgram::now();
    let pause = (settings.interval() / 4).clamp(Duration::from_millis(200), LOOK);
    let (mut cleared, mut said) = (None::<Timestamp>, None::<String>);
    loop {
        match look(&settings, &mut cleared, tell).await {
            Ok(()) => said = None,
            Err(error) => {
                let text = error.message.clone();
                // A repeated failure is reported once, until another result.
                if said.as_ref() != Some(&text) {
                    tell(&format!("no snapshot was saved: {text}"));
                    said = Some(text);
                }
            }
        }
        tokio::time::sleep(pause).await;
        if program.is_replaced() {
            tell("the program was replaced; the new one goes on");
            return Ok(());
        }
    }
}

/// Writes a snapshot of the store into a file, as `etcdutl snapshot restore` reads it. The file must not exist. Returns the
/// revision of the snapshot.
///
/// # Errors
/// When the settings cannot be read, the snapshot does not exist or is damaged, or the file cannot be written.
pub async fn fetch_etcd_snapshot(settings: &Path, name: &str, file: &Path) -> Result<i64, ProviderError> {
    let repository = Settings::read(settings)?.repository()?;
    Ok(repository.fetch(name, file).await?.revision)
}

/// Takes a snapshot if one is due here.
async fn look(
    settings: &Settings,
    cleared: &mut Option<Timestamp>,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), ProviderError> {
    let done = attempt(settings, cleared, tell).await;
    if let Err(error) = &done {
        Attempt { at: Timestamp::now(), error: Some(error.message.clone()) }.write(settings);
    }
    done
}

async fn attempt(
    settings: &Settings,
    cleared: &mut Option<Timestamp>,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), ProviderError> {
    if !take::status(settings).await?.leads {
        return Ok(());
    }
    let repository = settings.repository()?;
    let newest = repository.newest().await?;
    let now = Timestamp::now();
    if is_due(newest, settings.interval(), now) {
        let (name, manifest) = take::take(settings).await?;
        Attempt { at: Timestamp::now(), error: None }.write(settings);
        tell(&format!(
            "saved the snapshot {name} in {}: revision {}, {} bytes, read back and verified",
            settings.store, manifest.revision, manifest.size
        ));
    }
    if cleared.is_none_or(|cleared| now.duration_since(cleared) >= CLEAR) {
        for name in repository.prune(settings.retention(), now).await? {
            tell(&format!("removed the snapshot {name}: the retention does not keep it"));
        }
        settings.remove_empty_folders();
        *cleared = Some(now);
    }
    Ok(())
}

/// Whether a snapshot is due. One from the future counts for nothing: a clock was wrong.
fn is_due(newest: Option<Timestamp>, interval: Duration, now: Timestamp) -> bool {
    let interval = SignedDuration::try_from(interval).unwrap_or(SignedDuration::MAX);
    newest.is_none_or(|newest| {
        let age = now.duration_since(newest);
        age >= interval || age < -interval
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_due_when_the_interval_is_over() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let (quarter, now) = (Duration::from_secs(900), at("2026-11-26T12:00:00Z"));
        assert!(is_due(None, quarter, now));
        assert!(!is_due(Some(at("2026-11-26T11:50:00Z")), quarter, now));
        assert!(is_due(Some(at("2026-11-26T11:45:00Z")), quarter, now));
        assert!(!is_due(Some(at("2026-11-26T12:00:10Z")), quarter, now), "clocks differ a little");
        assert!(is_due(Some(at("2027-01-01T00:00:00Z")), quarter, now), "a clock was wrong");
    }
}
