//! Carrying out: claims and agents here, the inside of hosts by their agents.

use futures_util::future::join_all;
use slipway_resource::provider::{
    Action, Applied, ApplyEvent, ApplyRequest, EventSink, Resolution, ResumeRequest,
};
use slipway_resource::{ErrorClass, Identity, ProviderError, Token, Value};

use super::actual::{claim_attributes, named};
use super::plan::on_host;
use super::preflight::owned;
use super::{HostsSession, identity_on, split, without_host};
use crate::error::{conflict, invalid};
use crate::schema::{AGENT, CLAIM, HOST};

impl HostsSession {
    pub(super) async fn act(
        &self,
        request: ApplyRequest,
        events: EventSink,
    ) -> Result<Applied, ProviderError> {
        let address = request.ownership.address.clone();
        let done = match address.kind() {
            CLAIM => self.claim(&request, &events).await,
            AGENT => self.agent(&request, &events).await,
            kind if self.is_inside(kind) => self.inside(request, events).await,
            kind => Err(invalid(format!("{kind} is not a type of this provider"))),
        };
        done.map_err(|error| if error.address.is_some() { error } else { error.with_address(&address) })
    }

    pub(super) async fn find_again(
        &self,
        resume: ResumeRequest,
        events: EventSink,
    ) -> Result<Resolution, ProviderError> {
        let ownership = resume.request.ownership.clone();
        match ownership.address.kind() {
            CLAIM => {
                let inventory = self.inventory()?;
                match &resume.request.action {
                    Action::Create { desired } => {
                        let (name, host) = (text(desired, "inventory")?, text(desired, HOST)?);
                        match inventory.claim(name, host).await? {
                            Some(claim) if claim.uid == ownership.uid => Ok(Resolution::Done(Applied::new(
                                Identity::new(format!("{name}/{host}")),
                                claim_attributes(name, host),
                            ))),
                            _ => Ok(Resolution::NotDone),
                        }
                    }
                    // Giving back what is given back changes nothing.
                    _ => Ok(Resolution::NotDone),
                }
            }
            // An agent is put there whole or not at all; putting it there again changes nothing.
            AGENT => Ok(Resolution::NotDone),
            _ => self.find_inside(resume, events).await,
        }
    }

    pub(super) async fn cancel_on_hosts(&self, token: Option<Token>) -> Result<(), ProviderError> {
        let hosts = self.config.hosts.iter().map(|host| async {
            // A host that cannot be reached has no action that could be stopped.
            if let Some(agent) = self.agents.connected(&host.name).await {
                let _ = agent.session.cancel(token.clone()).await;
            }
        });
        join_all(hosts).await;
        Ok(())
    }

    async fn claim(&self, request: &ApplyRequest, events: &EventSink) -> Result<Applied, ProviderError> {
        events.send(ApplyEvent::Started);
        let ownership = &request.ownership;
        let inventory = self.inventory()?;
        match &request.action {
            Action::Create { desired } => {
                let (name, host) = (text(desired, "inventory")?, text(desired, HOST)?);
                if let Some((uid, cluster)) = self.agents.owner(host).await?
                    && uid != ownership.uid.as_str()
                {
                    return Err(owned(host, &(uid, cluster)));
                }
                inventory.take(name, host, ownership, &request.token).await?;
                let identity = Identity::new(format!("{name}/{host}"));
                events.send(ApplyEvent::Identity(identity.clone()));
                Ok(Applied::new(identity, claim_attributes(name, host)))
            }
            Action::Delete { identity } => {
                if let Some((name, host)) = identity.as_str().split_once('/') {
                    inventory.give_back(name, host, &ownership.uid).await?;
                }
                Ok(Applied::default())
            }
            Action::Tag { identity } => match identity.as_str().split_once('/') {
                Some((name, host)) => {
                    inventory.rename(name, host, ownership).await?;
                    let attributes = claim_attributes(name, host);
                    Ok(Applied::new(identity.clone(), attributes))
                }
                None => Err(invalid(format!("{identity} names no host"))),
            },
            Action::Update { .. } | Action::Operation { .. } => {
                Err(invalid("a claim is made and given back, and never changed"))
            }
        }
    }

    async fn agent(&self, request: &ApplyRequest, events: &EventSink) -> Result<Applied, ProviderError> {
        events.send(ApplyEvent::Started);
        match &request.action {
            Action::Create { desired } | Action::Update { desired, .. } => {
                let host = text(desired, HOST)?;
                if self.inventory.is_some() && !self.hosts_of(&request.ownership.uid).await?.contains(host) {
                    return Err(conflict(format!("the host {host} is not claimed by this cluster")));
                }
                let identity = Identity::new(host);
                events.send(ApplyEvent::Identity(identity.clone()));
                let sha256 = self.agents.install(host).await?;
                let attributes = Value::map([(HOST, Value::from(host)), ("sha256", sha256.into())]);
                Ok(Applied::new(identity, attributes))
            }
            Action::Delete { identity } => {
                self.agents.remove(identity.as_str()).await?;
                Ok(Applied::default())
            }
            Action::Tag { identity } => {
                let agent = self.agents.needed(identity.as_str()).await?;
                let host = Value::from(identity.as_str());
                let attributes = Value::map([(HOST, host), ("sha256", agent.sha256.clone().into())]);
                Ok(Applied::new(identity.clone(), attributes))
            }
            Action::Operation { name, .. } => Err(invalid(format!("an agent has no gate `{name}`"))),
        }
    }

    /// An action inside a host, done by its agent.
    async fn inside(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        let (host, request) = routed(request)?;
        if self.is_lost(&host) {
            return self.give_up(&host, &request, &events).await;
        }
        let agent = self.agents.needed(&host).await?;
        self.without_the_lost(&agent, &request).await?;
        let applied = agent.session.apply(request, on_events(&host, events)).await;
        applied.map(|applied| outside(&host, applied)).map_err(|error| failed(&host, error))
    }

    async fn find_inside(
        &self,
        resume: ResumeRequest,
        events: EventSink,
    ) -> Result<Resolution, ProviderError> {
        let ResumeRequest { request, identity, handle, superseded } = resume;
        let (host, request) = routed(request)?;
        if self.is_lost(&host) {
            // Throwing out a member that is not there any more changes nothing.
            return Ok(Resolution::NotDone);
        }
        let Some(agent) = self.agents.of(&host).await? else { return Ok(Resolution::NotDone) };
        let identity = match &identity {
            Some(identity) => Some(split(identity)?.1),
            None => None,
        };
        let resume = ResumeRequest { request, identity, handle, superseded };
        match agent.session.resume(resume, on_events(&host, events)).await {
            Ok(Resolution::Done(applied)) => Ok(Resolution::Done(outside(&host, applied))),
            Ok(other) => Ok(other),
            Err(error) => Err(failed(&host, error)),
        }
    }
}

/// A request as the agent of its host gets it.
fn routed(mut request: ApplyRequest) -> Result<(String, ApplyRequest), ProviderError> {
    let nowhere = || invalid("it is not said on which host");
    let host = match &mut request.action {
        Action::Create { desired } => {
            let (inner, host) = without_host(desired);
            *desired = inner;
            host.ok_or_else(nowhere)?
        }
        Action::Update { identity, prior, desired } => {
            let (host, inner) = split(identity)?;
            let host = host.to_owned();
            *identity = inner;
            *prior = without_host(prior).0;
            *desired = without_host(desired).0;
            host
        }
        Action::Delete { identity } | Action::Tag { identity } | Action::Operation { identity, .. } => {
            let (host, inner) = split(identity)?;
            let host = host.to_owned();
            *identity = inner;
            host
        }
    };
    Ok((host, request))
}

fn on_events(host: &str, events: EventSink) -> EventSink {
    let host = host.to_owned();
    EventSink::new(move |event| {
        events.send(match event {
            ApplyEvent::Identity(identity) => ApplyEvent::Identity(identity_on(&host, &identity)),
            other => other,
        });
    })
}

fn outside(host: &str, applied: Applied) -> Applied {
    Applied {
        identity: applied.identity.map(|identity| identity_on(host, &identity)),
        attributes: on_host(applied.attributes, host),
        ..applied
    }
}

/// A failure of an agent; one that went away while it worked may have done it.
fn failed(host: &str, error: ProviderError) -> ProviderError {
    let identity = error.identity.as_ref().map(|identity| identity_on(host, identity));
    let error = ProviderError { identity, ..error };
    match error.class {
        ErrorClass::Throttled { .. } => error,
        _ => named(host, error),
    }
}

fn text<'a>(desired: &'a Value, name: &str) -> Result<&'a str, ProviderError> {
    let missing = || invalid(format!("`{name}` is missing"));
    desired.get(name).and_then(Value::as_str).ok_or_else(missing)
}
