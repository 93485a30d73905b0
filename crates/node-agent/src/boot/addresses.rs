//! The addresses at which the members of etcd are now, in the state store.
//!
//! Members know each other by the addresses in their data. When the machines of all members are replaced at the same moment, none
//! of these addresses leads to a member, and these records are the only way from one to another.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use slipway_bootstrap::preflight::EtcdIds;
use slipway_state_store::backend::Error as BackendError;
use slipway_state_store::{Backend, Key};

use super::claim::failed;
use crate::code;
use crate::error::Error;

/// How often a record is written that another attempt changes meanwhile.
const ATTEMPTS: usize = 5;

/// The record of a member.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Record {
    /// The address of the machine that has its volume.
    address: IpAddr,
}

/// The records of the members of an etcd cluster, for one of them.
pub struct Addresses {
    backend: Arc<dyn Backend>,
    cluster: String,
    ids: EtcdIds,
}

impl Addresses {
    /// The records for the member whose data is on this machine.
    pub(super) fn new(backend: Arc<dyn Backend>, cluster: &str, ids: EtcdIds) -> Self {
        Self { backend, cluster: cluster.to_owned(), ids }
    }

    /// The id of the member whose data is on this machine.
    pub(super) fn own(&self) -> u64 {
        self.ids.member
    }

    /// Writes the address of this machine into the record of its member.
    pub(super) async fn publish(&self, address: IpAddr) -> Result<(), Error> {
        let key = self.key(self.own())?;
        let bytes = serde_json::to_vec(&Record { address }).map_err(|error| damaged(&key, &error))?;
        let bytes = Bytes::from(bytes);
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let written = match self.backend.get(&key).await.map_err(failed)? {
                None => self.backend.create(&key, bytes.clone()).await,
                Some((found, _)) if found == bytes => return Ok(()),
                Some((_, tag)) => self.backend.update(&key, bytes.clone(), &tag).await,
            };
            match written {
                Ok(_) => return Ok(()),
                Err(
                    error @ (BackendError::AlreadyExists { .. }
                    | BackendError::Conflict { .. }
                    | BackendError::NotFound { .. }
                    | BackendError::OutcomeUnknown { .. }),
                ) => last = Some(error),
                Err(error) => return Err(failed(error)),
            }
        }
        last.map_or(Ok(()), |error| Err(failed(error)))
    }

    /// The address of the machine that has the volume of a member; `None` when it has not said so.
    pub(super) async fn of(&self, member: u64) -> Result<Option<IpAddr>, Error> {
        let key = self.key(member)?;
        let Some((bytes, _)) = self.backend.get(&key).await.map_err(failed)? else { return Ok(None) };
        let record: Record = serde_json::from_slice(&bytes).map_err(|error| damaged(&key, &error))?;
        Ok(Some(record.address))
    }

    fn key(&self, member: u64) -> Result<Key, Error> {
        Key::new(format!("{}/boot/etcd-{:x}/{member:x}", self.cluster, self.ids.cluster)).map_err(failed)
    }
}

fn damaged(key: &Key, error: &serde_json::Error) -> Error {
    Error::new(code::BOOT, format!("the address of a member of etcd in {key} is damaged"))
        .cause(error.to_string())
}

#[cfg(test)]
mod tests {
    use slipway_state_store::MemoryBackend;

    use super::*;

    #[tokio::test]
    async fn a_member_is_where_it_was_last() {
        let backend = Arc::new(MemoryBackend::new());
        let of = |member, cluster| Addresses::new(backend.clone(), "a", EtcdIds { member, cluster });
        let (one, two, other) = (of(1, 7), of(2, 7), of(1, 8));
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        assert_eq!(two.of(1).await.unwrap(), None);
        // The second one is the same address again.
        for last in [1, 1, 9] {
            one.publish(address(last)).await.unwrap();
            assert_eq!(two.of(one.own()).await.unwrap(), Some(address(last)));
        }
        // The members of another etcd cluster are others.
        assert_eq!(other.of(1).await.unwrap(), None);
    }
}
