//! Who has which host: one object for each host that is taken, changed by compare-and-swap only.
//!
//! ```text
//! hosts/<inventory>/<host>
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use slipway_resource::{ClusterUid, Ownership, ProviderError, Token, with_causes};
use slipway_state_store::backend::Error as BackendError;
use slipway_state_store::{Backend, Key, Prefix};

use crate::error::{conflict, invalid, permanent, transient};

const FORMAT: u32 = 1;
const FOLDER: &str = "hosts";

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

/// The inventories of one state store.
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
            if let Some(claim) = self.read(&key).await? {
                claims.insert((inventory.to_owned(), host.to_owned()), claim);
            }
        }
        Ok(claims)
    }

    /// Who has a host.
    pub async fn claim(&self, inventory: &str, host: &str) -> Result<Option<Claim>, ProviderError> {
        self.read(&key(inventory, host)?).await
    }

    /// Takes a host, unless somebody has it.
    ///
    /// # Errors
    /// `conflict` when another cluster has it.
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
        let bytes = serde_json::to_vec_pretty(&claim).map_err(|error| permanent(error.to_string()))?;
        match self.backend.create(&key, bytes.into()).await {
            Ok(_) => return Ok(()),
            Err(BackendError::AlreadyExists { .. } | BackendError::OutcomeUnknown { .. }) => {}
            Err(error) => return Err(failed(error)),
        }
        match self.read(&key).await? {
            Some(known) if known.uid == ownership.uid => Ok(()),
            Some(known) => {
                let text = format!(
                    "the host {host} of the inventory {inventory} belongs to cluster {} ({})",
                    known.cluster, known.uid
                );
                Err(conflict(text).with_hint("choose another host, or delete that cluster first"))
            }
            None => Err(transient(format!("somebody else takes or leaves the host {host} at this moment"))),
        }
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
            Some(known) if known.uid == *uid => self.backend.delete(&key).await.map_err(failed),
            _ => Ok(()),
        }
    }

    async fn read(&self, key: &Key) -> Result<Option<Claim>, ProviderError> {
        let Some((bytes, _)) = self.backend.get(key).await.map_err(failed)? else { return Ok(None) };
        let claim: Claim = serde_json::from_slice(&bytes)
            .map_err(|error| permanent(format!("{} does not say who has the host: {error}", key.as_str())))?;
        if claim.format > FORMAT {
            return Err(permanent(format!("{} was written by a newer Slipway", key.as_str())));
        }
        Ok(Some(claim))
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
        // Both at once: one of them gets it.
        let (first, second) = tokio::join!(take(&one), take(&other));
        let (winner, loser) = if first.is_ok() { (&one, second) } else { (&other, first) };
        let refused = loser.unwrap_err();
        assert!(refused.message.contains(&format!("belongs to cluster {}", winner.cluster)), "{refused}");
        take(winner).await.unwrap();
        let inventory = Inventory::open(&url).unwrap();
        assert_eq!(inventory.claims().await.unwrap().len(), 1);
        // Who does not have it cannot give it back.
        let stranger = if *winner == one { &other } else { &one };
        inventory.give_back("rack", "cp-0", &stranger.uid).await.unwrap();
        assert!(inventory.claim("rack", "cp-0").await.unwrap().is_some());
        inventory.give_back("rack", "cp-0", &winner.uid).await.unwrap();
        take(stranger).await.unwrap();
    }
}
