//! Checks every object of a cluster, and reports problems with their remedies. Writes nothing.

mod journal;

use std::collections::BTreeSet;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde::Serialize;

use crate::approvals::Approval;
use crate::backend::{Backend, Key};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::head::Head;
use crate::history::{self, Entry};
use crate::journal::fence;
use crate::layout;
use crate::name::{ClusterName, Generation};
use crate::plans;
use crate::runs::Run;

/// Number of objects that are read at once.
const AT_ONCE: usize = 16;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The number of objects.
    pub objects: usize,
    /// Their size in bytes.
    pub bytes: u64,
    /// The problems, by key.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether no object is damaged or missing; remarks do not count.
    pub fn is_sound(&self) -> bool {
        self.findings.iter().all(|finding| finding.mend == Mend::Collect)
    }
}

/// A problem with one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The object.
    pub key: String,
    /// The problem.
    pub problem: String,
    /// The remedy.
    pub mend: Mend,
}

/// The remedy for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mend {
    /// The present state is damaged: rebuild it from the cloud, or import it.
    Rebuild,
    /// Only the history is damaged: an earlier generation cannot be shown, compared or exported any more.
    Past,
    /// A stored plan or an approval is damaged: make it again.
    Anew,
    /// It is encrypted with a key that must be restored, or was written by a newer Slipway.
    Other,
    /// It is not needed: it may be removed.
    Collect,
    /// It is stored in plain text, and must be encrypted.
    Encrypt,
}

/// Reads all objects of a cluster.
///
/// # Errors
/// When the store cannot be listed or read at all. Problems are in the report.
pub async fn verify(backend: &dyn Backend, cluster: &ClusterName) -> Result<Report> {
    let keys = backend.list(&layout::cluster(cluster)).await?;
    let head_key = layout::head(cluster);
    let mut report = Report { objects: keys.len(), ..Report::default() };
    let head = match backend.get(&head_key).await {
        Ok(Some((bytes, _))) => Head::decode(cluster, &bytes),
        Ok(None) => Err(Error::NoCluster { cluster: cluster.clone() }),
        Err(error) => Err(error.into()),
    };
    let head = match head {
        Ok(head) => Some(head),
        Err(error) if !is_told(&error) => return Err(error),
        Err(Error::NoCluster { cluster }) if keys.is_empty() => return Err(Error::NoCluster { cluster }),
        Err(error) => {
            let problem = match &error {
                Error::NoCluster { .. } => "it is missing".to_owned(),
                error => problem(error),
            };
            let mend = if is_damage(&error) { Mend::Rebuild } else { Mend::Other };
            report.findings.push(Finding { key: head_key.to_string(), problem, mend });
            None
        }
    };
    let mut look =
        Look { head: head.as_ref(), seen: BTreeSet::new(), entries: Vec::new(), segments: Vec::new() };
    let mut fetched = stream::iter(keys)
        .map(|key| async move {
            let stored = backend.get(&key).await;
            (key, stored)
        })
        .buffered(AT_ONCE);
    while let Some((key, stored)) = fetched.next().await {
        let checked = match stored {
            // It was removed since the listing; the object that replaced it is checked separately.
            Ok(None) => continue,
            Ok(Some((bytes, _))) => {
                report.bytes += bytes.len() as u64;
                look.seen.insert(key.clone());
                look.check(&key, bytes)
            }
            Err(error) => Err(error.into()),
        };
        let Err(error) = checked else { continue };
        if !is_told(&error) {
            return Err(error);
        }
        report.findings.extend(look.finding(&key, &error));
    }
    drop(fetched);
    look.relations(cluster, &mut report.findings);
    report.findings.sort_by(|left, right| left.key.cmp(&right.key));
    Ok(report)
}

/// Whether an error is about one object, and not about the backend.
fn is_told(error: &Error) -> bool {
    use crate::backend::Error::{NewerFormat, Sealed};
    let cannot_be_read = matches!(error, Error::Backend(NewerFormat { .. } | Sealed { .. }));
    is_damage(error) || cannot_be_read || matches!(error, Error::NewerFormat { .. })
}

/// The text of an error about an object whose key is shown beside it.
fn problem(error: &Error) -> String {
    match error {
        Error::Backend(crate::backend::Error::Corrupt { reason, .. }) => reason.clone(),
        error => error.to_string(),
    }
}

/// The minimum part of a plan's name that references to it have.
fn short(name: &str) -> &str {
    name.get(..plans::FEWEST_DIGITS).unwrap_or(name)
}

fn is_damage(error: &Error) -> bool {
    use crate::backend::Error::{Corrupt, NotFound};
    matches!(error, Error::Backend(Corrupt { .. } | NotFound { .. }) | Error::NoCluster { .. })
}

/// The known facts about the cluster during the check.
struct Look<'a> {
    head: Option<&'a Head>,
    seen: BTreeSet<Key>,
    entries: Vec<Entry>,
    segments: Vec<journal::Seen>,
}

impl Look<'_> {
    /// Checks one object by itself.
    fn check(&mut self, key: &Key, bytes: Bytes) -> Result<()> {
        match group(key) {
            Some("snapshots") => {
                let digest = key.name().split_once('-').map(|(_, digest)| digest);
                if digest != Some(Digest::of(&bytes).to_hex().as_str()) {
                    let reason = "its digest is not the one in its name";
                    return Err(crate::backend::Error::corrupt(key, reason).into());
                }
            }
            Some("history") => self.entries.push(Entry::decode(key, &bytes)?),
            Some("journal") => self.segments.push(journal::Seen::read(key, &bytes)?),
            Some("plans") => drop(plans::decode(key, &bytes)?),
            Some("runs") => drop(Run::decode(key, &bytes)?),
            Some("approvals") => drop(Approval::decode(key, &bytes)?),
            _ => {}
        }
        Ok(())
    }

    /// The finding for a damaged object.
    fn finding(&self, key: &Key, error: &Error) -> Option<Finding> {
        // The finding of the head exists already.
        let group = group(key)?;
        let is_current = self.head.is_none_or(|head| match group {
            "snapshots" => head.snapshot.as_ref().is_some_and(|snapshot| snapshot.key == key.as_str()),
            "journal" => journal::is_needed(head, key),
            _ => false,
        });
        let mend = match (group, error) {
            ("plans" | "approvals", _) => Mend::Anew,
            (_, error) if !is_damage(error) => Mend::Other,
            ("snapshots" | "journal", _) if is_current => Mend::Rebuild,
            ("snapshots" | "journal" | "history" | "runs", _) => Mend::Past,
            _ => Mend::Other,
        };
        let problem = match group {
            "plans" => format!("the stored plan {} cannot be read: {}", short(key.name()), problem(error)),
            "approvals" => format!("this approval of a plan cannot be read: {}", problem(error)),
            _ => problem(error),
        };
        Some(Finding { key: key.to_string(), problem, mend })
    }

    /// Checks the relations between objects.
    fn relations(&mut self, cluster: &ClusterName, findings: &mut Vec<Finding>) {
        let Some(head) = self.head else { return };
        if let Some(current) = &head.snapshot
            && !self.seen.iter().any(|key| key.as_str() == current.key)
            && !findings.iter().any(|finding| finding.key == current.key)
        {
            findings.push(Finding {
                key: current.key.clone(),
                problem: "the head names it, and it does not exist".to_owned(),
                mend: Mend::Rebuild,
            });
        }
        self.begun_over(cluster, head, findings);
        self.unreached(cluster, head, findings);
        journal::relations(head, &self.segments, findings);
        self.history(cluster, head, findings);
        self.strays(head, findings);
    }

    /// Finds a head that was created over objects of an earlier one: these use higher numbers.
    fn begun_over(&self, cluster: &ClusterName, head: &Head, findings: &mut Vec<Finding>) {
        // The snapshot of a failed commit has the next number.
        let is_later = |key: &&Key| match group(key) {
            Some("snapshots") => layout::generation(key).is_some_and(|found| found > head.generation.next()),
            Some("history") => layout::generation(key).is_some_and(|found| found > head.generation),
            Some("journal") => layout::epoch(key).is_some_and(|found| found > head.epoch),
            _ => false,
        };
        if let Some(key) = self.seen.iter().find(is_later) {
            let problem = format!(
                "it is of generation {} in epoch {}, and {key} is of a later one: an older head was put back, or a state began over one that was lost",
                head.generation, head.epoch
            );
            let key = layout::head(cluster).to_string();
            findings.push(Finding { key, problem, mend: Mend::Rebuild });
        } else if let Some(seal) =
            self.segments.iter().find(|seen| head.is_before_seals() && seen.ends(head.epoch))
        {
            let error = Error::replaced(head, seal.key());
            let key = layout::head(cluster).to_string();
            findings.push(Finding { key, problem: error.to_string(), mend: Mend::Rebuild });
        }
    }

    /// Finds a head with an epoch that the journal does not lead to.
    fn unreached(&self, cluster: &ClusterName, head: &Head, findings: &mut Vec<Finding>) {
        let segments = self.seen.iter().filter(|key| group(key) == Some("journal"));
        let newest = segments.filter_map(layout::epoch).filter(|epoch| *epoch <= head.epoch).max();
        if let Some(problem) = fence::unreached(head, newest) {
            let key = layout::head(cluster).to_string();
            findings.push(Finding { key, problem, mend: Mend::Rebuild });
        }
    }

    /// Finds missing records of generations. A damaged record has a finding of its own.
    fn history(&self, cluster: &ClusterName, head: &Head, findings: &mut Vec<Finding>) {
        let is_record = |key: &&Key| group(key) == Some("history");
        let recorded: BTreeSet<Generation> =
            self.seen.iter().filter(is_record).filter_map(layout::generation).collect();
        let first = recorded.first();
        let oldest = self.entries.iter().find(|entry| Some(&entry.generation) == first);
        for gap in history::gaps(head, &recorded, oldest) {
            let key = layout::history(cluster, gap.first).to_string();
            let problem = match gap.first == gap.last {
                true => "the record of this generation is missing".to_owned(),
                false => format!("the records of the {gap} are missing"),
            };
            findings.push(Finding { key, problem, mend: Mend::Past });
        }
    }

    /// Finds snapshots of failed commits, and objects of other programs.
    fn strays(&self, head: &Head, findings: &mut Vec<Finding>) {
        for key in &self.seen {
            let problem = match group(key) {
                Some("snapshots") if is_stray(head, &self.entries, key) => {
                    "it is of a commit that did not happen"
                }
                Some("snapshots" | "history" | "runs" | "journal" | "plans" | "approvals" | "secrets") => {
                    continue;
                }
                None => continue,
                Some(_) => "it is not an object of a Slipway state store",
            };
            findings.push(Finding { key: key.to_string(), problem: problem.to_owned(), mend: Mend::Collect });
        }
    }
}

/// Whether a snapshot belongs to no generation.
pub(crate) fn is_stray(head: &Head, entries: &[Entry], key: &Key) -> bool {
    let Some(generation) = layout::generation(key) else {
        return true;
    };
    let is_it = |reference: &crate::head::SnapshotRef| reference.key == key.as_str();
    if generation == head.generation && head.last_commit.is_some() {
        return !head.snapshot.as_ref().is_some_and(is_it);
    }
    match entries.iter().find(|entry| entry.generation == generation) {
        Some(entry) => !entry.snapshot.as_ref().is_some_and(is_it),
        // From the time before such records, or of a commit in progress.
        None => generation > head.generation,
    }
}

/// The part of a key after the cluster's name: `journal`, `snapshots`, …; `None` for the head.
fn group(key: &Key) -> Option<&str> {
    let (_, rest) = key.as_str().split_once('/')?;
    match rest.split_once('/') {
        Some((group, _)) => Some(group),
        None if rest == layout::HEAD => None,
        None => Some(rest),
    }
}
