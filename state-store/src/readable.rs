//! Listings that pass over records which no key at hand opens, as after a key was lost, and name them.

use crate::backend::Key;
use crate::error::{Error, Result};

/// The records of a listing, and the names of those that no key at hand opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readable<T> {
    /// The records, in the order of the listing.
    pub records: Vec<T>,
    /// The keys of the records that were passed over, in the same order.
    pub unopened: Vec<Key>,
}

/// A record, or the key of one that no key at hand opens.
pub(crate) type Opened<T> = std::result::Result<T, Key>;

/// Passes over a record that no key at hand opens. Other errors stay.
pub(crate) fn opened<T>(key: Key, read: Result<Option<T>>) -> Result<Option<Opened<T>>> {
    match read {
        Ok(found) => Ok(found.map(Ok)),
        Err(Error::Backend(error)) if error.lacks_key() => Ok(Some(Err(key))),
        Err(error) => Err(error),
    }
}

impl<T> Readable<T> {
    /// Sorts the records of a listing from the keys of those that were passed over.
    pub(crate) fn of(listed: impl IntoIterator<Item = Opened<T>>) -> Self {
        let mut readable = Self { records: Vec::new(), unopened: Vec::new() };
        for one in listed {
            match one {
                Ok(record) => readable.records.push(record),
                Err(key) => readable.unopened.push(key),
            }
        }
        readable
    }
}
