//! Which control plane begins the cluster: the first that creates an object in the state store.
//!
//! The founder renews its record while it begins the cluster, and marks it as begun when its API answered. Another control
//! plane takes over a record that was not renewed for [`TERM`] on its own clock, unless the cluster has begun. A control
//! plane that joins marks the record as begun first, so that a cluster with members is not taken over.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use slipway_limits::replace::{self, Readers};
use slipway_resource::ClusterUid;
use slipway_state_store::backend::{Error as BackendError, Tag};
use slipway_state_store::{Backend, Key};
use tokio::time::Instant;

use super::Stop;
use crate::code;
use crate::error::Error;
use crate::facts::below;

/// A record that was not renewed for this time is taken over by another control plane.
pub(super) const TERM: Duration = Duration::from_secs(60);
/// How often the founder renews its record.
pub(super) const RENEWAL: Duration = Duration::from_secs(15);

/// The file with which the machine that began a cluster remembers it.
const BEGUN: &str = "/var/lib/slipway/boot/begun";
/// The content of this file on a machine that continues a cluster with the data on its volume.
const CONTINUED: &[u8] = b"continued\n";
/// The folder of static pods.
const MANIFESTS: &str = "/etc/kubernetes/manifests";

/// The control plane that begins a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Founder {
    /// The name of its node.
    pub node: String,
    /// Its address.
    pub address: String,
    /// The id of the machine (machine-id(5)): another machine of the same name is not the founder.
    pub machine: String,
    /// Whether its API has answered. Then it stays the founder for ever.
    #[serde(default)]
    pub begun: bool,
    /// How often it was renewed.
    #[serde(default)]
    pub renewals: u64,
    /// The id of its etcd cluster, where the members of that are on volumes: a machine that gets such a volume knows by it whether
    /// the data is that of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd: Option<String>,
}

impl Founder {
    fn is_machine(&self, other: &Self) -> bool {
        self.machine == other.machine
    }
}

/// The record of another control plane, as this process saw it last.
#[derive(Debug, Default)]
pub struct Seen {
    record: Option<(Founder, Instant)>,
    /// Since when this machine has waited for other control planes.
    waits: Option<Instant>,
}

impl Seen {
    /// Whether this machine has waited for other control planes for a full term, from the first time that it asks.
    pub(super) fn has_waited(&mut self) -> bool {
        self.waits.get_or_insert_with(Instant::now).elapsed() >= TERM
    }

    /// Whether the record has not changed for a full term.
    fn is_stale(&mut self, found: &Founder) -> bool {
        match &self.record {
            Some((known, since)) if known == found => since.elapsed() >= TERM,
            _ => {
                self.record = Some((found.clone(), Instant::now()));
                false
            }
        }
    }
}

/// The record of a cluster in its state store.
pub struct Claim {
    backend: Arc<dyn Backend>,
    key: Key,
    cluster: String,
    own: Founder,
}

impl Claim {
    /// The record of a cluster, for this control plane.
    pub(super) fn new(
        backend: Arc<dyn Backend>,
        cluster: &str,
        uid: &ClusterUid,
        own: Founder,
    ) -> Result<Self, Error> {
        let key = Key::new(format!("{cluster}/boot/{uid}/founder")).map_err(failed)?;
        Ok(Self { backend, key, cluster: cluster.to_owned(), own })
    }

    /// Whether this control plane begins the cluster: it created the record first, or the founder's record
    /// became stale. Its record is renewed. A repeated call has the same result.
    pub async fn begins(&self, seen: &mut Seen) -> Result<bool, Stop> {
        match self.backend.create(&self.key, self.bytes(&self.own)?).await {
            Ok(_) | Err(BackendError::AlreadyExists { .. } | BackendError::OutcomeUnknown { .. }) => {}
            Err(error) => return Err(failed(error).into()),
        }
        let (found, tag) = self.read().await?;
        if found.is_machine(&self.own) {
            return if found.begun { Ok(true) } else { self.renew().await };
        }
        if found.begun || !seen.is_stale(&found) {
            return Ok(false);
        }
        tracing::warn!(node = %found.node, "the first control plane does not renew its record; this one begins the cluster");
        self.replace(&Founder { renewals: found.renewals + 1, ..self.own.clone() }, &tag).await
    }

    /// The record as it is now.
    pub(super) async fn record(&self) -> Result<Founder, Stop> {
        Ok(self.read().await?.0)
    }

    /// Writes the id of the etcd cluster into the record: that which this machine has begun, or that which it has joined.
    pub(super) async fn remember_etcd(&self, cluster: &str, is_founder: bool) -> Result<(), Stop> {
        loop {
            let (found, tag) = self.read().await?;
            let is_known = match is_founder {
                true => !found.is_machine(&self.own) || found.etcd.is_some(),
                false => found.etcd.as_deref() == Some(cluster),
            };
            if is_known {
                return Ok(());
            }
            if self.replace(&Founder { etcd: Some(cluster.to_owned()), ..found }, &tag).await? {
                return Ok(());
            }
        }
    }

    /// Renews the record of this control plane. False when another one has taken it over.
    pub async fn renew(&self) -> Result<bool, Stop> {
        let (found, tag) = self.read().await?;
        if !found.is_machine(&self.own) {
            return Ok(false);
        }
        if found.begun {
            return Ok(true);
        }
        self.replace(&Founder { renewals: found.renewals + 1, ..found }, &tag).await
    }

    /// Marks that the API of the cluster has answered, so that no other control plane begins the cluster.
    /// False when this control plane was the founder and another one has taken its record over.
    pub async fn has_begun(&self, is_founder: bool) -> Result<bool, Stop> {
        loop {
            let (found, tag) = self.read().await?;
            if is_founder && !found.is_machine(&self.own) {
                return Ok(false);
            }
            if found.begun || self.replace(&Founder { begun: true, ..found }, &tag).await? {
                return Ok(true);
            }
        }
    }

    /// Renews the record again and again. Ends when another control plane has taken it over.
    pub async fn until_lost(&self) {
        loop {
            tokio::time::sleep(RENEWAL).await;
            match self.renew().await {
                Ok(true) => {}
                Ok(false) => return,
                Err(stop) => {
                    let error = stop.into_error();
                    tracing::warn!(%error, "the record of the first control plane is not renewed");
                }
            }
        }
    }

    async fn read(&self) -> Result<(Founder, Tag), Stop> {
        let Some((bytes, tag)) = self.backend.get(&self.key).await.map_err(failed)? else {
            let what = format!("waits for the record of the first control plane of {}", self.cluster);
            return Err(Stop::Waits(what));
        };
        let founder = serde_json::from_slice(&bytes).map_err(|error| self.damaged(&error))?;
        Ok((founder, tag))
    }

    /// Replaces the record that was read. False when it was changed in the meantime.
    async fn replace(&self, founder: &Founder, tag: &Tag) -> Result<bool, Stop> {
        match self.backend.update(&self.key, self.bytes(founder)?, tag).await {
            Ok(_) => Ok(true),
            Err(BackendError::Conflict { .. } | BackendError::NotFound { .. }) => Ok(false),
            Err(BackendError::OutcomeUnknown { .. }) => Ok(self.read().await?.0 == *founder),
            Err(error) => Err(failed(error).into()),
        }
    }

    fn bytes(&self, founder: &Founder) -> Result<bytes::Bytes, Error> {
        serde_json::to_vec(founder).map(Into::into).map_err(|error| self.damaged(&error))
    }

    fn damaged(&self, error: &serde_json::Error) -> Error {
        let text = format!("the record of the first control plane of {} is damaged", self.cluster);
        Error::new(code::BOOT, text).cause(error.to_string())
    }
}

/// Whether this machine has begun the cluster, and knows it without the state.
pub(super) fn has_begun_here(root: &Path) -> bool {
    below(root, BEGUN).exists()
}

/// Remembers that this machine has begun the cluster.
pub(super) fn remember_begun(root: &Path) -> Result<(), Error> {
    remember(root, b"")
}

/// Whether this machine continues a cluster that another machine has begun.
pub(super) fn has_continued_here(root: &Path) -> bool {
    std::fs::read(below(root, BEGUN)).is_ok_and(|content| content == CONTINUED)
}

/// Remembers that this machine continues the cluster in place of the machine that had its data before.
pub(super) fn remember_continued(root: &Path) -> Result<(), Error> {
    remember(root, CONTINUED)
}

fn remember(root: &Path, content: &[u8]) -> Result<(), Error> {
    let path = below(root, BEGUN);
    let write = || {
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        replace::write(&path, content, Readers::AsUsual)
    };
    write().map_err(|error| Error::file("the record of the first control plane", &path, &error))
}

/// Stops the control plane that this machine has begun, because another machine begins the cluster. No machine has joined
/// this control plane, so no data is lost.
pub(super) fn step_down(root: &Path) -> Stop {
    let folder = below(root, MANIFESTS);
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in entries.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
        if let Err(error) = std::fs::remove_file(&path) {
            return Error::file("the static pod", &path, &error).into();
        }
    }
    let text =
        "another control plane has begun the cluster, since this machine did not renew its record in time";
    Stop::Refused(
        Error::new(code::OTHER_BEGINNING, text).hint("replace the machine: a new one joins the cluster"),
    )
}

/// The error of a machine for one of the state store.
pub(super) fn failed(error: BackendError) -> Error {
    Error::from(slipway_state_store::Error::from(error))
}

#[cfg(test)]
mod tests {
    use slipway_state_store::MemoryBackend;
    use tokio::time::advance;

    use super::*;

    fn own(number: u8) -> Founder {
        Founder {
            node: format!("n{number}"),
            address: format!("10.0.0.{number}"),
            machine: format!("{number}"),
            begun: false,
            renewals: 0,
            etcd: None,
        }
    }

    fn claim(backend: &Arc<MemoryBackend>, uid: &str, number: u8) -> Claim {
        Claim::new(backend.clone(), "a", &ClusterUid::new(uid), own(number)).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn one_of_several_control_planes_begins_the_cluster() {
        let backend = Arc::new(MemoryBackend::new());
        let (one, two) = (claim(&backend, "u1", 1), claim(&backend, "u1", 2));
        let mut seen = [Seen::default(), Seen::default()];
        assert!(one.begins(&mut seen[0]).await.unwrap());
        // As long as it renews its record, and for ever after it has begun.
        for _ in 0..10 {
            assert!(!two.begins(&mut seen[1]).await.unwrap());
            advance(RENEWAL).await;
            assert!(one.renew().await.unwrap());
        }
        assert!(one.has_begun(true).await.unwrap());
        for _ in 0..10 {
            assert!(!two.begins(&mut seen[1]).await.unwrap());
            advance(TERM).await;
        }
        assert!(one.begins(&mut seen[0]).await.unwrap());
        // A later cluster of the same name has a new founder.
        assert!(claim(&backend, "u2", 2).begins(&mut Seen::default()).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_founder_that_died_is_followed_by_another() {
        let backend = Arc::new(MemoryBackend::new());
        let (one, two, three) =
            (claim(&backend, "u1", 1), claim(&backend, "u1", 2), claim(&backend, "u1", 3));
        let mut seen = [Seen::default(), Seen::default()];
        assert!(one.begins(&mut Seen::default()).await.unwrap());
        assert!(!two.begins(&mut seen[0]).await.unwrap() && !three.begins(&mut seen[1]).await.unwrap());
        advance(TERM - Duration::from_secs(1)).await;
        assert!(!two.begins(&mut seen[0]).await.unwrap(), "not before a full term");
        advance(Duration::from_secs(1)).await;
        assert!(two.begins(&mut seen[0]).await.unwrap());
        assert!(!three.begins(&mut seen[1]).await.unwrap(), "the record is another one now");
        // The one that died comes back, and is not the founder any more.
        assert!(!one.renew().await.unwrap());
        assert!(!one.has_begun(true).await.unwrap());
        assert!(!one.begins(&mut Seen::default()).await.unwrap());
        assert!(two.has_begun(true).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_begins_a_cluster_that_another_one_joins() {
        let backend = Arc::new(MemoryBackend::new());
        let (one, two, three) =
            (claim(&backend, "u1", 1), claim(&backend, "u1", 2), claim(&backend, "u1", 3));
        let mut seen = Seen::default();
        assert!(one.begins(&mut Seen::default()).await.unwrap());
        assert!(!three.begins(&mut seen).await.unwrap());
        // The founder died when its API had answered to the second.
        assert!(two.has_begun(false).await.unwrap());
        for _ in 0..3 {
            advance(TERM).await;
            assert!(!three.begins(&mut seen).await.unwrap());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_record_has_the_etcd_of_its_founder() {
        let backend = Arc::new(MemoryBackend::new());
        let (one, two) = (claim(&backend, "u1", 1), claim(&backend, "u1", 2));
        assert!(one.begins(&mut Seen::default()).await.unwrap());
        two.remember_etcd("b", true).await.unwrap();
        assert_eq!(one.record().await.unwrap().etcd, None);
        // Also when another control plane has joined before.
        assert!(two.has_begun(false).await.unwrap());
        one.remember_etcd("a", true).await.unwrap();
        assert!(one.has_begun(true).await.unwrap());
        let record = two.record().await.unwrap();
        assert_eq!((record.begun, record.etcd.as_deref()), (true, Some("a")));
        // One that has joined knows the etcd of now, which may have been restored.
        two.remember_etcd("c", false).await.unwrap();
        assert_eq!(one.record().await.unwrap().etcd.as_deref(), Some("c"));
        let mut seen = Seen::default();
        assert!(!seen.has_waited());
        advance(TERM).await;
        assert!(seen.has_waited());
    }

    #[test]
    fn a_machine_that_steps_down_serves_no_api_any_more() {
        let root = tempfile::tempdir().unwrap();
        let folder = below(root.path(), MANIFESTS);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("kube-apiserver.yaml"), "").unwrap();
        let Stop::Refused(error) = step_down(root.path()) else { panic!() };
        assert!(error.to_string().starts_with("another control plane"), "{error}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::create_dir_all(below(root.path(), "/var/lib/slipway/boot")).unwrap();
        assert!(!has_begun_here(root.path()));
        remember_begun(root.path()).unwrap();
        assert!(has_begun_here(root.path()) && !has_continued_here(root.path()));
        remember_continued(root.path()).unwrap();
        assert!(has_begun_here(root.path()) && has_continued_here(root.path()));
    }
}
