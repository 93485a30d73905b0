//! The existing objects of the node.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};
use slipway_resource::provider::{
    DiscoverRequest, Discovery, LocateRequest, Located, PreflightFinding, PreflightItem, ReadRequest,
    Unlisted,
};
use slipway_resource::{
    Address, ClusterUid, ErrorClass, Identity, Observation, Observed, ProviderError, Token, Value,
};

use super::NodeSession;
use crate::attributes::Attributes;
use crate::error::not_found;
use crate::kind::Place;
use crate::ledger::{Entry, Stage};

/// How many objects are read at once.
const READS: usize = 16;

impl NodeSession {
    pub(super) async fn list(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        let entries = match self.host.reachable() {
            Ok(()) => self.host.blocking(|host| host.ledger.all()).await,
            Err(error) => Err(error),
        };
        let entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                let unlisted = |kind: &'static str| Unlisted { kind: kind.to_owned(), error: error.clone() };
                let unlisted = self.kinds.names().map(unlisted).collect();
                return Ok(Discovery { unlisted, ..Discovery::default() });
            }
        };
        let is_asked = |entry: &Entry| match &request.uid {
            Some(uid) => entry.uid == uid.as_str(),
            None => entry.cluster == request.cluster,
        };
        let ours: Vec<Entry> = entries.into_values().filter(is_asked).collect();
        let uid = ours.first().map(|entry| ClusterUid::new(entry.uid.as_str()));
        let reads = ours.into_iter().map(|entry| async move {
            let (address, identity) = (entry.address.clone(), Identity::new(entry.identity.as_str()));
            let (token, stage) = (Token::new(entry.created_by.as_str()), entry.stage);
            let observation = self.observe(&address, identity.clone(), Some(entry)).await;
            let observed = Observed { address, identity, token: Some(token), owner: None, observation };
            (observed, stage)
        });
        let found: Vec<(Observed, Stage)> = stream::iter(reads).buffer_unordered(READS).collect().await;
        // An entry whose object was never made, or is gone, is no object.
        let is_there = |(observed, _): &(Observed, Stage)| observed.observation != Observation::Absent;
        let mut observed: Vec<Observed> =
            found.into_iter().filter(is_there).map(|(observed, _)| observed).collect();
        observed
            .sort_by(|left, right| (&left.address, &left.identity).cmp(&(&right.address, &right.identity)));
        Ok(Discovery { observed, unlisted: Vec::new(), uid: uid.filter(|_| request.uid.is_none()) })
    }

    pub(super) async fn read_all(&self, requests: Vec<ReadRequest>) -> Vec<Observed> {
        let reads = requests.into_iter().map(|ReadRequest { address, identity }| async move {
            let observation = match self.host.reachable() {
                Ok(()) => match self.entry_of(&address, &identity).await {
                    Ok(entry) => self.observe(&address, identity.clone(), entry).await,
                    Err(error) => Observation::Unreadable(error),
                },
                Err(error) => Observation::Unreadable(error),
            };
            Observed { address, identity, token: None, owner: None, observation }
        });
        stream::iter(reads).buffered(READS).collect().await
    }

    pub(super) async fn entry_of(
        &self,
        address: &Address,
        identity: &Identity,
    ) -> Result<Option<Entry>, ProviderError> {
        let (kind, name) = (address.kind().to_owned(), identity.as_str().to_owned());
        self.host.blocking(move |host| host.ledger.get(&kind, &name)).await
    }

    async fn observe(&self, address: &Address, identity: Identity, entry: Option<Entry>) -> Observation {
        let place = Place { host: Arc::clone(&self.host), identity, entry };
        let read = match self.kinds.of(address) {
            Ok(kind) => kind.read(&place).await,
            Err(error) => Err(error),
        };
        match read {
            Ok(Some(attributes)) => Observation::Present(attributes),
            Ok(None) => Observation::Absent,
            Err(error) => Observation::Unreadable(error.with_address(address)),
        }
    }

    pub(super) async fn find(
        &self,
        address: &Address,
        identity: &Identity,
    ) -> Result<Observed, ProviderError> {
        let entry = self.entry_of(address, identity).await?;
        match self.observe(address, identity.clone(), entry).await {
            Observation::Absent => {
                Err(not_found(format!("{identity} is not on this node")).with_address(address))
            }
            Observation::Unreadable(error) => Err(error),
            observation @ Observation::Present(_) => Ok(Observed {
                address: address.clone(),
                identity: identity.clone(),
                token: None,
                owner: None,
                observation,
            }),
        }
    }

    /// The objects in desired places that are not in the ledger.
    pub(super) async fn look_for(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        self.host.reachable()?;
        let mut located = Vec::with_capacity(request.items.len());
        for item in request.items {
            let kind = self.kinds.of(&item.address)?;
            let identity = match &item.existing {
                Some(identity) => Ok(identity.clone()),
                None => kind.identity(Attributes(&item.desired)).map(Identity::new),
            };
            let Ok(identity) = identity else {
                // The place is not known yet, so no object can be in it.
                located.push(Located::nothing(item.address));
                continue;
            };
            let entry = self.entry_of(&item.address, &identity).await?;
            if entry.is_some() && item.existing.is_none() {
                located.push(Located::nothing(item.address));
                continue;
            }
            let entry =
                entry.or_else(|| Some(Entry::supposed(&item.address, identity.as_str(), &item.desired)));
            located.push(match self.observe(&item.address, identity.clone(), entry).await {
                Observation::Present(attributes) => Located::one(item.address, identity, attributes),
                Observation::Absent => Located::nothing(item.address),
                Observation::Unreadable(error) => return Err(error),
            });
        }
        Ok(located)
    }

    /// Findings before a change: the node of another cluster, or a place that is taken.
    pub(super) async fn check(
        &self,
        items: Vec<PreflightItem>,
    ) -> Result<Vec<PreflightFinding>, ProviderError> {
        self.host.reachable()?;
        let mut findings = Vec::new();
        for item in items.iter().filter(|item| item.action == "create") {
            let kind = self.kinds.of(&item.address)?;
            let Ok(identity) = kind.identity(Attributes(&item.desired)) else { continue };
            let identity = Identity::new(identity);
            if !item.desired.is_known() || self.entry_of(&item.address, &identity).await?.is_some() {
                continue;
            }
            let work = self.looking(item, identity);
            let Err(error) = kind.look(&work).await else { continue };
            // Secrets have no text yet, so only certain conflicts are reported.
            if error.class == ErrorClass::Conflict {
                findings.push(PreflightFinding {
                    address: Some(item.address.clone()),
                    class: error.class,
                    message: error.message,
                    hint: error.hint,
                });
            }
        }
        Ok(findings)
    }

    fn looking(&self, item: &PreflightItem, identity: Identity) -> crate::kind::Work {
        crate::kind::Work {
            place: Place { host: Arc::clone(&self.host), identity, entry: None },
            desired: item.desired.clone(),
            events: slipway_resource::provider::EventSink::discard(),
            stop: tokio_util::sync::CancellationToken::new(),
            deadline: tokio::time::Instant::now() + std::time::Duration::from_secs(10),
        }
    }
}

/// Whether the observed attributes are the desired ones, as far as they can be compared.
pub(super) fn is_as_wanted(kind: &slipway_resource::ResourceType, observed: &Value, wanted: &Value) -> bool {
    slipway_resource::diff::diff(kind, observed, wanted, Some(wanted)).is_empty()
}
