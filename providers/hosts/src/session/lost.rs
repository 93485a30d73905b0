//! Hosts that are gone for ever: what was on them is given up, and those that are left throw out their members of etcd.

use slipway_resource::provider::{Action, Applied, ApplyEvent, ApplyRequest, EventSink};
use slipway_resource::{Address, ErrorClass, Identity, Ownership, ProviderError, Value};

use super::HostsSession;
use super::actual::named;
use crate::agents::Agent;
use crate::error::{invalid, transient};

/// The type of a host's member of etcd.
pub(super) const ETCD_MEMBER: &str = "etcd_member";

/// The type that says that a member votes: it leaves too.
const ETCD_VOTER: &str = "etcd_voter";

/// The operation by which one member throws out another.
const EXPEL: &str = "expel";

/// The port on which members of etcd reach each other.
const PEER_PORT: u16 = 2380;

impl HostsSession {
    /// Whether a host is gone for ever, by the word of the specs.
    pub(super) fn is_lost(&self, host: &str) -> bool {
        self.config.host(host).is_some_and(|host| host.lost)
    }

    /// What there is to do about an object on a host that is gone: of a member of etcd the others must not wait for it.
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

    /// A member leaves only while most of those that are counted are there: those that are gone are thrown out before.
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
                // One that is no member any more throws out nobody.
                Err(error) if error.class == ErrorClass::NotFound => {}
                // Too many are gone for a majority; when the whole cluster goes, nobody stays who would miss it.
                Err(_) if self.config.leaving => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Has another member throw out that of a host which is gone.
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
                // It has no member of its own.
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
