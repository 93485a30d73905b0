//! The existing objects: claims, agents, and the objects that each agent reports; every host is asked once.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use slipway_resource::provider::{DiscoverRequest, Discovery, ReadRequest, Unlisted};
use slipway_resource::{Address, ClusterUid, Identity, Observation, Observed, ProviderError, Value};

use super::lost::ETCD_MEMBER;
use super::plan::on_host;
use super::{HostsSession, identity_on, split};
use crate::agents::Agent;
use crate::error::{conflict, together};
use crate::inventory::Claim;
use crate::schema::{AGENT, CLAIM, HOST};

/// The objects of one host.
struct OfHost {
    observed: Vec<Observed>,
    /// Why some objects of the host are not known.
    unknown: Option<ProviderError>,
    /// The cluster whose node it is, as the host says, where this was asked.
    uid: Option<ClusterUid>,
}

impl HostsSession {
    pub(super) async fn look(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        let claims = match &self.inventory {
            Some(inventory) => inventory.claims().await?,
            None => BTreeMap::new(),
        };
        let is_ours = |claim: &Claim| match &request.uid {
            Some(uid) => claim.uid == *uid,
            None => claim.cluster == request.cluster,
        };
        let unclaimed = self.unclaimed(&claims);
        let ours: Vec<((String, String), Claim)> =
            claims.into_iter().filter(|(_, claim)| is_ours(claim)).collect();
        let mut uid = ours.first().map(|(_, claim)| claim.uid.clone());
        let mut observed: Vec<Observed> = ours.iter().map(|(place, claim)| claimed(place, claim)).collect();
        let asked = DiscoverRequest { uid: uid.clone().or(request.uid.clone()), ..request.clone() };
        let hosts = ours.iter().map(|((_, host), _)| self.look_at(host, &asked));
        // All hosts that do not answer are reported, not only the first.
        let mut unknown: Vec<ProviderError> = Vec::new();
        for found in join_all(hosts).await {
            let found = found?;
            observed.extend(found.observed);
            unknown.extend(found.unknown);
        }
        if request.uid.is_none() {
            // The state is lost, or there never was one: the claims may be lost with it, and hosts know their
            // cluster.
            let looks = unclaimed.into_iter().map(|host| {
                let asked = &asked;
                async move { (host, self.look_at(host, asked).await) }
            });
            for (host, found) in join_all(looks).await {
                let found = found?;
                unknown.extend(found.unknown);
                let Some(own) = found.uid else { continue };
                let known = uid.get_or_insert_with(|| own.clone());
                if *known != own {
                    let text = format!(
                        "the host {host} is a node of a cluster {} ({own}) by its own word, and others are nodes of {known}",
                        request.cluster
                    );
                    return Err(conflict(text).with_hint(
                        "take the hosts of the other cluster out of this spec; only for a cluster that is gone: `slipway node reset` on its hosts destroys what is left of its nodes, with the data of its etcd",
                    ));
                }
                observed.extend(found.observed);
            }
        }
        // If a host does not answer, its new objects are unknown. The same types are then unlisted on all
        // hosts, so that no object is created before it is known that it does not exist.
        let unlisted = together(unknown).into_iter().flat_map(|error| {
            let kinds = self.node.types.keys().map(String::as_str).chain([AGENT]);
            kinds.map(move |kind| Unlisted { kind: kind.to_owned(), error: error.clone() })
        });
        let unlisted = unlisted.collect();
        observed.sort_by(|one, other| (&one.address, &one.identity).cmp(&(&other.address, &other.identity)));
        Ok(Discovery { observed, unlisted, uid: uid.filter(|_| request.uid.is_none()) })
    }

    /// The objects of one host; an error when the machine is another node of the cluster than the specs say.
    async fn look_at(&self, host: &str, request: &DiscoverRequest) -> Result<OfHost, ProviderError> {
        let nothing = |unknown| Ok(OfHost { observed: Vec::new(), unknown, uid: None });
        let agent = match self.agents.of(host).await {
            Ok(Some(agent)) => agent,
            // Claimed, and nothing done on it yet.
            Ok(None) => return nothing(None),
            Err(error) => return nothing(Some(error)),
        };
        let mut observed = vec![of_agent(host, &agent)];
        let discovery = match agent.session.discover(request.clone()).await {
            Ok(discovery) => discovery,
            Err(error) => return Ok(OfHost { observed, unknown: Some(named(host, error)), uid: None }),
        };
        if let Some(other) = node_of_others(host, &discovery.observed) {
            return Err(another_node(host, other));
        }
        let has_any = !discovery.observed.is_empty();
        let uid = discovery.uid.or(request.uid.clone()).filter(|_| has_any);
        observed.extend(discovery.observed.into_iter().map(|found| outside(host, found)));
        let unknown = discovery.unlisted.into_iter().next().map(|unlisted| named(host, unlisted.error));
        Ok(OfHost { observed, unknown, uid })
    }

    /// The hosts of the specs without a claim.
    fn unclaimed(&self, claims: &BTreeMap<(String, String), Claim>) -> Vec<&str> {
        let is_claimed = |name: &str| claims.keys().any(|(_, host)| host == name);
        let hosts = self.config.hosts.iter().map(|host| host.name.as_str());
        hosts.filter(|name| !is_claimed(name)).collect()
    }

    pub(super) async fn read_all(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        let mut by_host: BTreeMap<String, Vec<(usize, ReadRequest)>> = BTreeMap::new();
        let mut answers: Vec<Option<Observed>> = Vec::new();
        let mut own: Vec<(usize, ReadRequest)> = Vec::new();
        for (position, request) in requests.into_iter().enumerate() {
            if self.is_inside(request.address.kind()) {
                match split(&request.identity) {
                    Ok((host, inner)) => {
                        let host = host.to_owned();
                        let request = ReadRequest { identity: inner, ..request };
                        by_host.entry(host).or_default().push((position, request));
                        answers.push(None);
                    }
                    Err(_) => answers.push(Some(answer(&request, Observation::Absent))),
                }
            } else {
                own.push((position, request));
                answers.push(None);
            }
        }
        // Side by side: a host that does not answer holds up no other.
        let own = own.into_iter().map(|(position, request)| async move {
            self.read_own(&request).await.map(|observed| (position, observed))
        });
        let reads = by_host.into_iter().map(|(host, requests)| async move {
            let (positions, requests): (Vec<usize>, Vec<ReadRequest>) = requests.into_iter().unzip();
            let found = self.read_on(&host, requests).await;
            positions.into_iter().zip(found).collect::<Vec<_>>()
        });
        let (own, inside) = tokio::join!(join_all(own), join_all(reads));
        let own: Vec<(usize, Observed)> = own.into_iter().collect::<Result<_, _>>()?;
        for (position, observed) in own.into_iter().chain(inside.into_iter().flatten()) {
            if let Some(place) = answers.get_mut(position) {
                *place = Some(observed);
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Reads objects on one host, in one call.
    async fn read_on(&self, host: &str, requests: Vec<ReadRequest>) -> Vec<Observed> {
        let all = |requests: &[ReadRequest], observation: Observation| -> Vec<Observed> {
            let one = |request| outside(host, answer(request, observation.clone()));
            requests.iter().map(one).collect()
        };
        match self.agents.of(host).await {
            Ok(Some(agent)) => match agent.session.read(requests.clone()).await {
                Ok(found) => found.into_iter().map(|found| outside(host, found)).collect(),
                Err(error) => all(&requests, Observation::Unreadable(named(host, error))),
            },
            Ok(None) => requests.iter().map(|request| self.given_up(host, request)).collect(),
            Err(error) => all(&requests, Observation::Unreadable(error)),
        }
    }

    /// Objects of a host without an agent are absent. An etcd member of a lost host still exists for the
    /// other members.
    fn given_up(&self, host: &str, request: &ReadRequest) -> Observed {
        let observation = if self.is_lost(host) && request.address.kind() == ETCD_MEMBER {
            Observation::Present(Value::map([("name", request.identity.as_str())]))
        } else {
            Observation::Absent
        };
        outside(host, answer(request, observation))
    }

    async fn read_own(&self, request: &ReadRequest) -> Result<Observed, ProviderError> {
        let name = request.identity.as_str();
        let observation = match request.address.kind() {
            CLAIM => match name.split_once('/') {
                Some((inventory, host)) => match self.inventory()?.claim(inventory, host).await? {
                    Some(_) => Observation::Present(claim_attributes(inventory, host)),
                    None => Observation::Absent,
                },
                None => Observation::Absent,
            },
            _ => match self.agents.of(name).await {
                Ok(Some(agent)) => of_agent(name, &agent).observation,
                Ok(None) => Observation::Absent,
                Err(error) => Observation::Unreadable(error),
            },
        };
        Ok(answer(request, observation))
    }

    /// The hosts that a cluster has, by its claims.
    pub(super) async fn hosts_of(&self, uid: &ClusterUid) -> Result<BTreeSet<String>, ProviderError> {
        let claims = self.inventory()?.claims().await?;
        Ok(claims.into_iter().filter(|(_, claim)| claim.uid == *uid).map(|((_, host), _)| host).collect())
    }
}

/// The host whose objects are on a machine, where this is not the host of the connection.
fn node_of_others<'f>(host: &str, found: &'f [Observed]) -> Option<&'f str> {
    let mut hosts = found.iter().filter_map(|observed| Some(observed.address.name().split_once('/')?.0));
    hosts.find(|other| *other != host)
}

/// The error for exchanged hosts: each would be changed into the other one, and both would lose their
/// objects.
fn another_node(host: &str, other: &str) -> ProviderError {
    conflict(format!("the machine that the host {host} names is the node {other} of this cluster; nothing was done"))
        .with_hint(format!(
            "correct the addresses and keys in the Host documents {host} and {other}: they are exchanged, or name the same machine"
        ))
}

fn answer(request: &ReadRequest, observation: Observation) -> Observed {
    Observed {
        address: request.address.clone(),
        identity: request.identity.clone(),
        token: None,
        owner: None,
        observation,
    }
}

fn claimed((inventory, host): &(String, String), claim: &Claim) -> Observed {
    Observed {
        address: claim.address.parse().unwrap_or_else(|_| Address::new(CLAIM, host.as_str())),
        identity: Identity::new(format!("{inventory}/{host}")),
        token: Some(claim.token.clone()),
        owner: None,
        observation: Observation::Present(claim_attributes(inventory, host)),
    }
}

pub(super) fn claim_attributes(inventory: &str, host: &str) -> Value {
    Value::map([(HOST, host), ("inventory", inventory)])
}

fn of_agent(host: &str, agent: &Agent) -> Observed {
    let attributes = Value::map([(HOST, Value::from(host)), ("sha256", agent.sha256.clone().into())]);
    Observed {
        address: Address::new(AGENT, host),
        identity: Identity::new(host),
        token: None,
        owner: None,
        observation: Observation::Present(attributes),
    }
}

/// An object as an agent says, seen from outside of its host.
fn outside(host: &str, found: Observed) -> Observed {
    let observation = match found.observation {
        Observation::Present(attributes) => Observation::Present(on_host(attributes, host)),
        Observation::Unreadable(error) => Observation::Unreadable(named(host, error)),
        Observation::Absent => Observation::Absent,
    };
    Observed { identity: identity_on(host, &found.identity), observation, ..found }
}

/// Adds the host to an error.
pub(super) fn named(host: &str, mut error: ProviderError) -> ProviderError {
    if !error.message.contains(host) {
        error.message = format!("{host}: {}", error.message);
    }
    error
}
