//! The board: what persons ask of controllers. One document for all clusters, so that a controller needs one read for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slipway_state_store::{Backend, Result, controllers};

/// Pauses and requests, by cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Clusters for which controllers apply nothing.
    #[serde(default)]
    pub pauses: BTreeMap<String, Pause>,
    /// Clusters that a person wants to be planned now.
    #[serde(default)]
    pub requests: BTreeMap<String, Request>,
}

/// Why controllers apply nothing for a cluster. They go on to plan and to report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// The person, as `user@host`.
    pub who: String,
    /// Since when.
    pub since: Timestamp,
    /// When the pause ends; without it, the pause ends when a person resumes the cluster.
    pub until: Option<Timestamp>,
    /// Why.
    pub reason: String,
}

/// A request to plan a cluster now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Counts the requests for the cluster.
    pub number: u64,
    /// The person, as `user@host`.
    pub who: String,
    /// When.
    pub when: Timestamp,
}

impl Pause {
    /// Whether it holds at a moment.
    #[must_use]
    pub fn holds(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// As `paused until 2026-11-26T12:00:00Z by ada@laptop: incident 7`.
impl std::fmt::Display for Pause {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.until {
            Some(until) => write!(formatter, "paused until {until:.0}")?,
            None => write!(formatter, "paused")?,
        }
        write!(formatter, " by {}: {}", self.who, self.reason)
    }
}

impl Board {
    /// The pause of a cluster, if there is one now.
    #[must_use]
    pub fn pause(&self, cluster: &str, now: Timestamp) -> Option<&Pause> {
        self.pauses.get(cluster).filter(|pause| pause.holds(now))
    }

    /// The number of the last request for a cluster; 0 without one.
    #[must_use]
    pub fn request(&self, cluster: &str) -> u64 {
        self.requests.get(cluster).map_or(0, |request| request.number)
    }
}

/// Reads the board; an empty one where there is none.
///
/// # Errors
/// When it cannot be read.
pub async fn read(backend: &dyn Backend) -> Result<Board> {
    Ok(controllers::read(backend, &controllers::board()).await?.unwrap_or_default())
}

/// Pauses a cluster. A pause that exists is replaced. Pauses that have ended are removed.
///
/// # Errors
/// When the board cannot be changed.
pub async fn pause(backend: &Arc<dyn Backend>, cluster: &str, pause: Pause) -> Result<()> {
    change(backend, |board| {
        board.pauses.retain(|_, other| other.holds(pause.since));
        board.pauses.insert(cluster.to_owned(), pause.clone());
    })
    .await
}

/// Resumes a cluster. Returns the pause that held.
///
/// # Errors
/// When the board cannot be changed.
pub async fn resume(backend: &Arc<dyn Backend>, cluster: &str, now: Timestamp) -> Result<Option<Pause>> {
    let mut held = None;
    change(backend, |board| held = board.pauses.remove(cluster)).await?;
    Ok(held.filter(|pause| pause.holds(now)))
}

/// Requests that clusters are planned now.
///
/// # Errors
/// When the board cannot be changed.
pub async fn request(
    backend: &Arc<dyn Backend>,
    clusters: &[String],
    who: &str,
    when: Timestamp,
) -> Result<()> {
    change(backend, |board| {
        for cluster in clusters {
            let number = board.request(cluster) + 1;
            board.requests.insert(cluster.clone(), Request { number, who: who.to_owned(), when });
        }
    })
    .await
}

async fn change(backend: &Arc<dyn Backend>, mut edit: impl FnMut(&mut Board)) -> Result<()> {
    let changed = |found: Option<Board>| {
        let mut board = found.unwrap_or_default();
        edit(&mut board);
        Some(board)
    };
    controllers::change(backend, &controllers::board(), changed).await.map(drop)
}

#[cfg(test)]
mod tests {
    use slipway_state_store::MemoryBackend;

    use super::*;

    #[tokio::test]
    async fn a_pause_ends_by_itself_or_by_a_person() {
        let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
        let at = |second| Timestamp::from_second(second).unwrap();
        let until =
            |until| Pause { who: "ada@laptop".into(), since: at(10), until, reason: "incident".into() };
        pause(&backend, "prod", until(Some(at(20)))).await.unwrap();
        pause(&backend, "test", until(None)).await.unwrap();
        let board = read(&*backend).await.unwrap();
        assert!(board.pause("prod", at(19)).is_some() && board.pause("prod", at(20)).is_none());
        assert!(board.pause("test", at(1_000_000)).is_some());
        assert_eq!(
            board.pauses["prod"].to_string(),
            "paused until 1970-01-01T00:00:20Z by ada@laptop: incident"
        );
        assert!(resume(&backend, "test", at(30)).await.unwrap().is_some());
        assert!(resume(&backend, "test", at(30)).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn every_request_is_counted() {
        let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
        let names = ["prod".to_owned()];
        for _ in 0..2 {
            request(&backend, &names, "ada@laptop", Timestamp::UNIX_EPOCH).await.unwrap();
        }
        let board = read(&*backend).await.unwrap();
        assert_eq!((board.request("prod"), board.request("other")), (2, 0));
    }
}
