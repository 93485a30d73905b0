//! The calls of the provider contract over a vault.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use slipway_resource::provider::{
    Action, Applied, ApplyEvent, ApplyRequest, Catalog, DiscoverRequest, Discovery, EventSink, ExpandRequest,
    Expansion, LocateItem, LocateRequest, Located, PlanItem, Planned, PreflightFinding, PreflightItem,
    ReadRequest, Resolution, ResumeRequest, Scope,
};
use slipway_resource::validate::misfits;
use slipway_resource::{
    Address, ClusterUid, ErrorClass, Identity, Observation, Observed, ProviderError, Session, Token, Value,
};

use crate::content::Content;
use crate::kind::{self, Kind};
use crate::provider;
use crate::readers::{self, SEALED_FOR};
use crate::vault::{Vault, reference};

/// A session: the secrets of one cluster.
pub(crate) struct Secrets {
    vault: Arc<Vault>,
    scope: Scope,
}

impl Secrets {
    pub fn new(vault: Arc<Vault>) -> Self {
        Self { vault, scope: Scope::default() }
    }

    async fn observed(&self, uid: &ClusterUid, address: &Address, identity: &Identity) -> Observed {
        let mut observed = Observed {
            address: address.clone(),
            identity: identity.clone(),
            token: None,
            owner: None,
            observation: Observation::Absent,
        };
        match self.vault.open(uid, identity).await {
            Ok(content) => {
                observed.token = Some(content.token.clone());
                observed.observation = Observation::Present(content.attributes.clone());
            }
            Err(error) if error.class == ErrorClass::NotFound => {}
            Err(error) => observed.observation = Observation::Unreadable(error.with_address(address)),
        }
        observed
    }

    /// The unique id under which an object was sealed.
    async fn owner(&self, identity: &Identity) -> Result<Option<ClusterUid>, ProviderError> {
        let all = self.vault.list().await?;
        Ok(all.into_iter().find(|(found, _)| found == identity).map(|(_, uid)| uid))
    }

    fn refused(address: &Address, what: &str) -> ProviderError {
        ProviderError::new(ErrorClass::Invalid, format!("{address} {what}")).with_address(address)
    }
}

#[async_trait]
impl Session for Secrets {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        Catalog::empty()
    }

    async fn expand(&self, _request: ExpandRequest) -> Result<Expansion, ProviderError> {
        Ok(Expansion::default())
    }

    async fn discover(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        let all = self.vault.list().await?;
        let uid = request.uid.or_else(|| all.last().map(|(_, uid)| uid.clone()));
        let Some(uid) = uid else { return Ok(Discovery::default()) };
        let mut observed = Vec::new();
        for (identity, _) in all.iter().filter(|(_, owner)| *owner == uid) {
            let Ok(address) = reference(identity)?.name.parse::<Address>() else { continue };
            observed.push(self.observed(&uid, &address, identity).await);
        }
        observed.sort_by(|one, other| (&one.address, &one.identity).cmp(&(&other.address, &other.identity)));
        let uid = (!observed.is_empty()).then_some(uid);
        Ok(Discovery { observed, unlisted: Vec::new(), uid })
    }

    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        // One list for all requests, so that the cost does not grow with their number.
        let owners: BTreeMap<Identity, ClusterUid> = self.vault.list().await?.into_iter().collect();
        let mut answers = Vec::with_capacity(requests.len());
        for ReadRequest { address, identity } in requests {
            let absent = |address, identity| Observed {
                address,
                identity,
                token: None,
                owner: None,
                observation: Observation::Absent,
            };
            answers.push(match owners.get(&identity) {
                Some(uid) => self.observed(uid, &address, &identity).await,
                None => absent(address, identity),
            });
        }
        Ok(answers)
    }

    async fn locate(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        let one = |item: LocateItem| {
            let LocateItem { address, desired, .. } = item;
            Ok(match self.vault.offered(&address, &desired)? {
                // Its name in the store is given when it is stored.
                Some((attributes, _)) => {
                    let identity = Identity::new(format!("{address}/found"));
                    Located::one(address, identity, attributes)
                }
                None => Located::nothing(address),
            })
        };
        request.items.into_iter().map(one).collect()
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        items.into_iter().map(|item| plan(&item)).collect()
    }

    async fn preflight(&self, _items: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        Ok(Vec::new())
    }

    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        events.send(ApplyEvent::Started);
        let address = &request.ownership.address;
        let uid = &request.ownership.uid;
        match &request.action {
            Action::Create { desired } => {
                let kind = kind_of(address)?;
                let (attributes, fields) =
                    kind.make(desired).map_err(|text| Self::refused(address, &text))?;
                let content = Content::new(address.clone(), request.token.clone(), attributes, fields);
                let (identity, content) = self.vault.put(uid, content).await?;
                events.send(ApplyEvent::Identity(identity.clone()));
                Ok(Applied::new(identity, content.attributes.clone()))
            }
            Action::Delete { identity } => {
                self.vault.delete(uid, identity).await?;
                Ok(Applied::default())
            }
            Action::Update { identity, desired, .. } => {
                if !kind_of(address)?.resource().attributes.contains_key(SEALED_FOR) {
                    return Err(Self::refused(address, "is never changed in place"));
                }
                let reader = desired.get(SEALED_FOR).cloned().unwrap_or_default();
                let content = self.vault.seal_for(uid, identity, reader).await?;
                Ok(Applied::new(identity.clone(), content.attributes.clone()))
            }
            Action::Tag { .. } => {
                Err(Self::refused(address, "is stored under its name; a renamed one is created again"))
            }
            Action::Operation { name, .. } => Err(Self::refused(address, &format!("has no gate `{name}`"))),
        }
    }

    async fn resume(&self, request: ResumeRequest, _events: EventSink) -> Result<Resolution, ProviderError> {
        let ApplyRequest { token, ownership, action, .. } = &request.request;
        let all = self.vault.list().await?;
        match action {
            Action::Create { .. } => {
                for (identity, uid) in all.iter().filter(|(_, uid)| *uid == ownership.uid) {
                    let stored = reference(identity)?;
                    if stored.token == token.as_str() && stored.name == ownership.address.to_string() {
                        let content = self.vault.open(uid, identity).await?;
                        self.vault.note(ownership.address.clone(), identity.clone());
                        let attributes = content.attributes.clone();
                        return Ok(Resolution::Done(Applied::new(identity.clone(), attributes)));
                    }
                }
                Ok(Resolution::NotDone)
            }
            Action::Delete { identity } if all.iter().all(|(found, _)| found != identity) => {
                self.vault.forget(identity);
                Ok(Resolution::Done(Applied::default()))
            }
            _ => Ok(Resolution::NotDone),
        }
    }

    async fn cancel(&self, _token: Option<Token>) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn upgrade_state(
        &self,
        kind: &str,
        version: u32,
        attributes: Value,
    ) -> Result<Value, ProviderError> {
        provider::schema().of_version(kind, version, attributes)
    }

    async fn import(&self, address: &Address, identity: &Identity) -> Result<Observed, ProviderError> {
        let missing = || ProviderError::new(ErrorClass::NotFound, format!("{identity} is not stored"));
        let uid = self.owner(identity).await?.ok_or_else(missing)?;
        Ok(self.observed(&uid, address, identity).await)
    }

    async fn close(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}

fn kind_of(address: &Address) -> Result<&'static Kind, ProviderError> {
    kind::of(address).ok_or_else(|| Secrets::refused(address, "is not a secret of a cluster"))
}

fn plan(item: &PlanItem) -> Result<Planned, ProviderError> {
    let Some(desired) = &item.desired else { return Ok(Planned::default()) };
    let address = &item.address;
    let kind = kind_of(address)?;
    if let Some(misfit) = misfits(&kind.resource().attributes, desired).first() {
        return Err(Secrets::refused(address, &format!("cannot be: {misfit}")));
    }
    readers::check(desired).map_err(|error| error.with_address(address))?;
    if slipway_state_store::Key::new(format!("secrets/{address}/1")).is_err() || address.name().contains('/')
    {
        return Err(Secrets::refused(address, "cannot be: its name is a name in the state store too"));
    }
    Ok(Planned { normalised: kind.normalise(desired, item.observed.as_ref()), ..Planned::default() })
}
