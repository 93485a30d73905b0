//! Claims of hosts: one object for each claimed host, changed only by compare-and-swap.
//!
//! ```text
//! hosts/<inventory>/<host>
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use slipway_resource::{ClusterUid, Ownership, ProviderError, Token, with_causes};
use slipway_state_store::backend::Error as BackendError;
use slipway_state_store::{Backend, Key, Prefix, Tag};

use crate::error::{conflict, invalid, not_found, permanent, transient};

const FORMAT: u32 = 1;
const FOLDER: &str = "hosts";

/// How often a claim that changes at the same moment is read again.
const ATTEMPTS: usize = 5;

/// A host that is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    format: u32,
    /// The cluster's unique id.
    pub uid: ClusterUid,
    /// The cluster's name.
    pub cluster: String,
    /// The resource that is the claim.
    pub address: String,
    /// The token of the step that made it.
    pub token: Token,
}

impl Claim {
    fn to_bytes(&self) -> Result<Vec<u8>, ProviderError> {
        serde_json::to_vec_pretty(self).map_err(|error| permanent(error.to_string()))
    }

    fn of_another(&self, inventory: &str, host: &str) -> ProviderError {
        let text = format!(
            "the host {host} of the inventory {inventory} belongs to cluster {} ({})",
            self.cluster, self.uid
        );
        conflict(text).with_hint(format!(
            "choose another host; `slipway delete {}` gives the host back by destroying that cluster with its data",
            self.cluster
        ))
    }
}

/// The inventories in one state store.
#[derive(Clone, Debug)]
pub(crate) struct Inventory {
    backend: Arc<dyn Backend>,
}

impl Inventory {
    pub fn open(url: &str) -> Result<Self, ProviderError> {
        let backend = slipway_state_store::open(url)
            .map_err(|error| invalid(format!("the inventory in {url} cannot be opened: {error}")))?;
        Ok(Self { backend })
    }

    /// All claims, by inventory and host.
    pub async fn claims(&self) -> Result<BTreeMap<(String, String), Claim>, ProviderError> {
        let prefix = Prefix::new(FOLDER).map_err(failed)?;
        let keys = self.backend.list(&prefix).await.map_err(failed)?;
        let mut claims = BTreeMap::new();
        for key in keys {
            let mut parts = key.as_str().split('/').skip(1);
            let (Some(inventory), Some(host), None) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            if let Some((claim, _)) = self.read(&key).await? {
                claims.insert((inventory.to_owned(), host.to_owned()), claim);
            }
        }
        Ok(claims)
    }

    /// The claim of a host.
    pub async fn claim(&self, inventory: &str, host: &str) -> Result<Option<Claim>, ProviderError> {
        Ok(self.read(&key(inventory, host)?).await?.map(|(claim, _)| claim))
    }

    /// Claims a host, unless another cluster has it.
    ///
    /// # Errors
    /// `conflict` when another cluster has it, or another resource of this one.
    pub async fn take(
        &self,
        inventory: &str,
        host: &str,
        ownership: &Ownership,
        token: &Token,
    ) -> Result<(), ProviderError> {
        let key = key(inventory, host)?;
        let claim = Claim {
            format: FORMAT,
            uid: ownership.uid.clone(),
            cluster: ownership.cluster.clone(),
            address: ownership.address.to_string(),
            token: token.clone(),
        };
        match self.backend.create(&key, claim.to_bytes()?.into()).await {
            Ok(_) => return Ok(()),
            Err(BackendError::AlreadyExists { .. } | BackendError::OutcomeUnknown { .. }) => {}
            Err(error) => return Err(failed(error)),
        }
        match self.read(&key).await? {
            Some((known, _)) if known.uid != ownership.uid => Err(known.of_another(inventory, host)),
            Some((known, _)) if known.address != claim.address => {
                let text = format!(
                    "the host {host} of the inventory {inventory} is claimed already, by {}",
                    known.address
                );
                Err(conflict(text).with_hint("one cluster claims a host once: remove one of the two"))
            }
            Some(_) => Ok(()),
            None => Err(transient(format!("another process is claiming or releasing the host {host}"))),
        }
    }

    /// Changes the address in a claim of this cluster. Its author and time are kept.
    ///
    /// # Errors
    /// `not-found` when the host has no claim, `conflict` when another cluster has it.
    pub async fn rename(
        &self,
        inventory: &str,
        host: &str,
        ownership: &Ownership,
    ) -> Result<(), ProviderError> {
        let key = key(inventory, host)?;
        let address = ownership.address.to_string();
        for _ in 0..ATTEMPTS {
            let Some((known, tag)) = self.read(&key).await? else {
                return Err(not_found(format!(
                    "no cluster has claimed the host {host} of the inventory {inventory}"
                )));
            };
            if known.uid != ownership.uid {
                return Err(known.of_another(inventory, host));
            }
            if known.address == address {
                return Ok(());
            }
            let renamed = Claim { address: address.clone(), ..known };
            match self.backend.update(&key, renamed.to_bytes()?.into(), &tag).await {
                Ok(_) => return Ok(()),
                // Another process may have made the same change; the next read shows a write of unknown
                // outcome.
                Err(
                    BackendError::Conflict { .. }
                    | BackendError::NotFound { .. }
                    | BackendError::OutcomeUnknown { .. },
                ) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(transient(format!("another process is changing the claim of the host {host}")))
    }

    /// Gives a host back, if this cluster has it.
    pub async fn give_back(
        &self,
        inventory: &str,
        host: &str,
        uid: &ClusterUid,
    ) -> Result<(), ProviderError> {
        let key = key(inventory, host)?;
        match self.read(&key).await? {
            // Only its owner ever removes a claim, and a cluster has one holder.
            Some((known, _)) if known.uid == *uid => self.backend.delete(&key).await.map_err(failed),
            _ => Ok(()),
        }
    }

    async fn read(&self, key: &Key) -> Result<Option<(Claim, Tag)>, ProviderError> {
        let Some((bytes, tag)) = self.backend.get(key).await.map_err(failed)? else { return Ok(None) };
        let claim: Claim = serde_json::from_slice(&bytes)
            .map_err(|error| permanent(format!("{} does not say who has the host: {error}", key.as_str())))?;
        if claim.format > FORMAT {
            return Err(permanent(format!("{} was written by a newer Slipway", key.as_str())));
        }
        Ok(Some((claim, tag)))
    }
}

fn key(inventory: &str, host: &str) -> Result<Key, ProviderError> {
    Key::new(format!("{FOLDER}/{inventory}/{host}"))
        .map_err(|error| invalid(format!("{inventory}/{host} cannot be claimed: {error}")))
}

fn failed(error: impl std::error::Error + 'static) -> ProviderError {
    transient(format!("the inventory cannot be used: {}", with_causes(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_resource::Address;

    fn ownership(uid: &str) -> Ownership {
        let address = Address::new("host_claim", "cp-0");
        Ownership { uid: ClusterUid::new(uid), cluster: format!("cluster-{uid}"), address }
    }

    #[tokio::test]
    async fn a_host_is_never_had_twice() {
        let folder = tempfile::tempdir().unwrap();
        let url = folder.path().to_str().unwrap().to_owned();
        let (one, other) = (ownership("u1"), ownership("u2"));
        let take = async |who: &Ownership| {
            Inventory::open(&url).unwrap().take("rack", "cp-0", who, &Token::new("t")).await
        };
        // Two clusters claim the host at once: one of them gets it.
        let (first, second) = tokio::join!(take(&one), take(&other));
        let (winner, loser) = if first.is_ok() { (&one, second) } else { (&other, first) };
        let refused = loser.unwrap_err();
        assert!(refused.message.contains(&format!("belongs to cluster {}", winner.cluster)), "{refused}");
        take(winner).await.unwrap();
        let inventory = Inventory::open(&url).unwrap();
        assert_eq!(inventory.claims().await.unwrap().len(), 1);
        // Another cluster cannot release the claim.
        let stranger = if *winner == one { &other } else { &one };
        inventory.give_back("rack", "cp-0", &stranger.uid).await.unwrap();
        assert!(inventory.claim("rack", "cp-0").await.unwrap().is_some());
        inventory.give_back("rack", "cp-0", &winner.uid).await.unwrap();
        take(stranger).await.unwrap();
    }

    #[tokio::test]
    async fn a_claim_has_one_address_and_may_get_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let inventory = Inventory::open(folder.path().to_str().unwrap()).unwrap();
        let one = ownership("u1");
        let moved = Ownership { address: Address::new("host_claim", "first"), ..one.clone() };
        let missing = inventory.rename("rack", "cp-0", &moved).await.unwrap_err();
        assert_eq!(missing.class, slipway_resource::ErrorClass::NotFound);
        inventory.take("rack", "cp-0", &one, &Token::new("t")).await.unwrap();
        let twice = inventory.take("rack", "cp-0", &moved, &Token::new("t2")).await.unwrap_err();
        assert!(twice.message.ends_with("is claimed already, by host_claim.cp-0"), "{twice}");
        let refused = inventory.rename("rack", "cp-0", &ownership("u2")).await.unwrap_err();
        assert!(refused.message.contains("belongs to cluster cluster-u1"), "{refused}");
        // Twice at once, as after a crash: both end well.
        let (first, second) =
            tokio::join!(inventory.rename("rack", "cp-0", &moved), inventory.rename("rack", "cp-0", &moved));
        first.unwrap();
        second.unwrap();
        let claim = inventory.claim("rack", "cp-0").await.unwrap().unwrap();
        assert_eq!((claim.address.as_str(), claim.token.as_str()), ("host_claim.first", "t"));
    }
}
