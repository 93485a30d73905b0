//! Which object is where, per cluster.
//!
//! ```text
//! <cluster>/head
//! <cluster>/snapshots/<generation>-<digest>
//! <cluster>/journal/<epoch>/<sequence>
//! <cluster>/history/<generation>
//! <cluster>/runs/<epoch>
//! <cluster>/plans/<digest>
//! <cluster>/approvals/<digest of the plan>/<who>
//! ```
//!
//! Documents of controllers are beside the clusters ([`crate::controllers`]).
//!
//! Numbers have twelve digits, so that a listing is in their order.

use crate::backend::{Key, Prefix};
use crate::digest::Digest;
use crate::name::{ClusterName, Epoch, Generation, Sequence};

/// The greatest number that fits into a key.
pub(crate) const GREATEST: u64 = 999_999_999_999;

/// The name of a head.
pub const HEAD: &str = "head";

/// The one mutable object.
pub fn head(cluster: &ClusterName) -> Key {
    Key::trusted(format!("{cluster}/{HEAD}"))
}

/// A snapshot.
pub fn snapshot(cluster: &ClusterName, generation: Generation, digest: Digest) -> Key {
    Key::trusted(format!("{cluster}/snapshots/{:012}-{}", generation.0, digest.to_hex()))
}

/// All snapshots.
pub fn snapshots(cluster: &ClusterName) -> Prefix {
    Prefix::trusted(format!("{cluster}/snapshots"))
}

/// Everything of a cluster.
pub fn cluster(cluster: &ClusterName) -> Prefix {
    Prefix::trusted(cluster.to_string())
}

/// The record of a generation that a later one replaced.
pub fn history(cluster: &ClusterName, generation: Generation) -> Key {
    Key::trusted(format!("{cluster}/history/{:012}", generation.0))
}

/// The records of all earlier generations.
pub fn histories(cluster: &ClusterName) -> Prefix {
    Prefix::trusted(format!("{cluster}/history"))
}

/// The record of a run that ended without a commit.
pub fn run(cluster: &ClusterName, epoch: Epoch) -> Key {
    Key::trusted(format!("{cluster}/runs/{:012}", epoch.0))
}

/// The records of all such runs.
pub fn runs(cluster: &ClusterName) -> Prefix {
    Prefix::trusted(format!("{cluster}/runs"))
}

/// A stored plan.
pub fn plan(cluster: &ClusterName, plan: Digest) -> Key {
    Key::trusted(format!("{cluster}/plans/{}", plan.to_hex()))
}

/// All stored plans.
pub fn plans(cluster: &ClusterName) -> Prefix {
    Prefix::trusted(format!("{cluster}/plans"))
}

/// The approval that one person gave to a plan.
pub fn approval(cluster: &ClusterName, plan: Digest, person: Digest) -> Key {
    Key::trusted(format!("{cluster}/approvals/{}/{}", plan.to_hex(), person.to_hex()))
}

/// All approvals of a plan.
pub fn approvals_of(cluster: &ClusterName, plan: Digest) -> Prefix {
    Prefix::trusted(format!("{cluster}/approvals/{}", plan.to_hex()))
}

/// All approvals.
pub fn approvals(cluster: &ClusterName) -> Prefix {
    Prefix::trusted(format!("{cluster}/approvals"))
}

/// All secrets.
pub fn secrets(cluster: &ClusterName) -> Prefix {
    Prefix::trusted(format!("{cluster}/secrets"))
}

/// All segments of all epochs.
pub fn journals(cluster: &ClusterName) -> Prefix {
    Prefix::trusted(format!("{cluster}/journal"))
}

/// All segments of one epoch's journal.
pub fn journal(cluster: &ClusterName, epoch: Epoch) -> Prefix {
    Prefix::trusted(format!("{cluster}/journal/{:012}", epoch.0))
}

/// One segment of the journal.
pub fn segment(cluster: &ClusterName, epoch: Epoch, sequence: Sequence) -> Key {
    Key::trusted(format!("{cluster}/journal/{:012}/{:012}", epoch.0, sequence.0))
}

/// The sequence that a segment's key names.
pub fn sequence(key: &Key) -> Option<Sequence> {
    number(key.name()).map(Sequence)
}

/// The epoch that a segment's key names.
pub fn epoch(key: &Key) -> Option<Epoch> {
    number(key.as_str().rsplit('/').nth(1)?).map(Epoch)
}

/// The generation that the key of a snapshot or of a record of the history names.
pub fn generation(key: &Key) -> Option<Generation> {
    let name = key.name();
    number(name.split_once('-').map_or(name, |(number, _)| number)).map(Generation)
}

/// The number that a part of a key is.
pub(crate) fn number(text: &str) -> Option<u64> {
    let is_number = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_in_order() {
        let cluster = ClusterName::new("prod.example.com").unwrap();
        let keys: Vec<Key> =
            [0, 9, 10, 99, 1_000_000].map(|n| segment(&cluster, Epoch(2), Sequence(n))).into();
        assert!(keys.is_sorted());
        assert_eq!(keys[1].as_str(), "prod.example.com/journal/000000000002/000000000009");
        assert_eq!((epoch(&keys[3]), sequence(&keys[3])), (Some(Epoch(2)), Some(Sequence(99))));
        assert_eq!(sequence(&head(&cluster)), None);
        assert_eq!(
            snapshot(&cluster, Generation(7), Digest::of(b"")).as_str(),
            "prod.example.com/snapshots/000000000007-\
             e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
