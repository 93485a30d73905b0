//! Which object is where, per cluster.
//!
//! ```text
//! <cluster>/head
//! <cluster>/snapshots/<generation>-<digest>
//! <cluster>/journal/<epoch>/<sequence>
//! ```
//!
//! Numbers have twelve digits, so that a listing is in their order.

use crate::backend::{Key, Prefix};
use crate::digest::Digest;
use crate::name::{ClusterName, Epoch, Generation, Sequence};

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

fn number(text: &str) -> Option<u64> {
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
