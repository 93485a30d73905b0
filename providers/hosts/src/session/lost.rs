//! Lost hosts: their objects are given up, and the remaining hosts remove their etcd members.

use slipway_resource::provider::{Action, Applied, ApplyEvent, ApplyRequest, EventSink};
use slipway_resource::{Address, ErrorClass, Identity, Ownership, ProviderError, Value};

use super::HostsSession;
use super::actual::named;
use crate::agents::Agent;
use crate::error::{invalid, transient};

/// The type of a host's member of etcd.
pub(super) const ETCD_MEMBER: &str = "etcd_member";

/// The type of an etcd member's vote. It is given up with the member.
const ETCD_VOTER: &str = "etcd_voter";

/// The operation by which one etcd member removes another.
const EXPEL: &str = "expel";

/// The port on which members of etcd reach each other.
const PEER_PORT: u16 = 2380;

impl HostsSession {
    /// Whether a host is gone for ever, by the word of the specs.
    pub(super) fn is_lost(&self, host: &str) -> bool {
        self.config.host(host).is_some_and(|host| host.lost)
    }

    /// Gives up an object on a lost host. The other hosts remove its etcd member, so that they do not wait
    /// for it.
    pub(super) async fn give_up(
        &self,
        host: &str,
        request: &ApplyRequest,
        events: &EventSink,
    ) -> Result<Applied, ProviderError> {
        events.send(ApplyEvent::Started);
        match &request.action {
            Action::Delete { .. } if request.ownership.address.kind() == ETCD_MEMBER => {
                self.expelled(host, request).await?;
                Ok(Applied::default())
            }
            Action::Delete { .. } => Ok(Applied::default()),
            _ => Err(invalid(format!("{host} is lost: nothing is made or changed on it"))
                .with_hint("its Host document says `lost: true`")),
        }
    }

    /// Removes the etcd members of lost hosts first: a member can only leave while a majority is available.
    pub(super) async fn without_the_lost(
        &self,
        agent: &Agent,
        request: &ApplyRequest,
    ) -> Result<(), ProviderError> {
        let leaves = matches!(request.action, Action::Delete { .. })
            && matches!(request.ownership.address.kind(), ETCD_MEMBER | ETCD_VOTER);
        if !leaves {
            return Ok(());
        }
        let Some((own, _)) = request.ownership.address.name().split_once('/') else { return Ok(()) };
        for lost in self.config.hosts.iter().filter(|host| host.lost) {
            match self.expel(own, agent, &lost.name, request).await {
                // This host has no member any more, so it cannot remove another one.
                Err(error) if error.class == ErrorClass::NotFound => {}
                // There is no majority any more. When the whole cluster is deleted, no member needs one.
                Err(_) if self.config.leaving => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Asks another member to remove the member of a lost host.
    async fn expelled(&self, lost: &str, request: &ApplyRequest) -> Result<(), ProviderError> {
        let mut refused = None;
        for host in self.hosts_of(&request.ownership.uid).await? {
            if self.is_lost(&host) {
                continue;
            }
            let done = match self.agents.of(&host).await {
                Ok(Some(agent)) => self.expel(&host, &agent, lost, request).await,
                Ok(None) => continue,
                Err(error) => Err(error),
            };
            match done {
                Ok(()) => return Ok(()),
                // This host has no etcd member.
                Err(error) if error.class == ErrorClass::NotFound => {}
                Err(error) => refused = Some(named(&host, error)),
            }
        }
        match refused {
            None => Ok(()),
            Some(_) if self.config.leaving => Ok(()),
            Some(error) if error.class.is_retryable() => Err(error),
            Some(error) => Err(transient(format!("etcd member {lost} was not removed: {}", error.message))),
        }
    }

    async fn expel(
        &self,
        host: &str,
        agent: &Agent,
        lost: &str,
        request: &ApplyRequest,
    ) -> Result<(), ProviderError> {
        let addresses = self.config.host(lost).into_iter().flat_map(|host| &host.addresses);
        let urls = addresses.map(|entry| {
            let address = std::net::SocketAddr::new(entry.address, PEER_PORT);
            format!("https://{address}")
        });
        let arguments = Value::map([("name", Value::from(lost)), ("peer_urls", Value::list(urls))]);
        let action = Action::Operation { identity: Identity::new(host), name: EXPEL.to_owned(), arguments };
        let address = Address::new(ETCD_MEMBER, format!("{host}/etcd"));
        let ownership = Ownership { address, ..request.ownership.clone() };
        let request = ApplyRequest { ownership, action, ..request.clone() };
        agent.session.apply(request, EventSink::discard()).await.map(drop)
    }
}
