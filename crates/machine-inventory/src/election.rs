//! The election of the host whose address is the endpoint of a control plane. All decisions are pure.
//!
//! The endpoint must exist before the first control plane bootstraps: its provider creates no machine without an
//! endpoint, and the certificates of the API server name it. So a free host is elected, and reserved for the first
//! machine of the control plane. Later the endpoint moves only if that host is lost, and only to a host that serves the
//! API already.

use std::sync::Arc;

use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use crate::addresses::Rules;
use crate::api::{ElementalCluster, ElementalHost, ElementalMachine, Endpoint};
use crate::core_api::Cluster;
use crate::endpoint::DEFAULT_PORT;
use crate::labels::{ELECTED_ENDPOINT, ELECTED_HOST, ELECTED_HOST_UID, annotation};
use crate::selector::matches;
use crate::world::{name, uid};

/// An endpoint that was elected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elected<'a> {
    /// Name of the host.
    pub host: &'a str,
    /// UID of the host: a host that is registered again has another one.
    pub uid: &'a str,
    /// The endpoint, `host:port`.
    pub endpoint: &'a str,
}

impl<'a> Elected<'a> {
    /// The election that the annotations of an ElementalCluster record.
    #[must_use]
    pub fn of(metadata: &'a ObjectMeta) -> Option<Self> {
        Some(Self {
            host: annotation(metadata, ELECTED_HOST)?,
            uid: annotation(metadata, ELECTED_HOST_UID)?,
            endpoint: annotation(metadata, ELECTED_ENDPOINT)?,
        })
    }
}

/// All that an election depends on.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The infrastructure of the cluster.
    pub infrastructure: &'a ElementalCluster,
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The hosts of the namespace, sorted by name.
    pub hosts: Vec<&'a Arc<ElementalHost>>,
    /// The machines of the control plane.
    pub machines: Vec<&'a Arc<ElementalMachine>>,
    /// The selector of the control plane's hosts; otherwise why it is not known.
    pub selector: Result<Option<LabelSelector>, String>,
}

/// What has to be done about an endpoint.
#[derive(Clone, Debug)]
pub enum Decision {
    /// The user has set it.
    Given,
    /// The user, or the control plane provider, has set it in the Cluster: it is copied.
    Adopt(Endpoint),
    /// The elected endpoint stays.
    Keep(Arc<ElementalHost>),
    /// This host is elected.
    Elect(Arc<ElementalHost>, Endpoint),
    /// Nothing can be done yet; with the reason and a message.
    Wait(&'static str, String),
}

/// Decides about the endpoint of a cluster.
#[must_use]
pub fn decide(question: &Question<'_>) -> Decision {
    let given = question.infrastructure.spec.control_plane_endpoint.as_ref().filter(|one| one.is_given());
    let elected = Elected::of(&question.infrastructure.metadata);
    match (given, elected) {
        (Some(_), None) => return Decision::Given,
        // The user has replaced the elected endpoint.
        (Some(given), Some(elected)) if given.authority() != elected.endpoint => return Decision::Given,
        (Some(_), Some(elected)) => {
            if let Some(host) = question.living(elected) {
                return Decision::Keep(Arc::clone(host));
            }
        }
        (None, None) => {
            if let Some(endpoint) = question.cluster.endpoint() {
                return Decision::Adopt(endpoint.clone());
            }
        }
        (None, Some(_)) => {}
    }
    question.choose(elected)
}

impl Question<'_> {
    /// The elected host, while it can serve the endpoint: it stays, and the machine that has claimed it does.
    fn living(&self, elected: Elected<'_>) -> Option<&Arc<ElementalHost>> {
        let host = self.hosts.iter().find(|host| uid(&host.metadata) == elected.uid)?;
        let stays = !host.is_leaving() && host.claimer().is_none_or(|claimer| self.stays(claimer));
        stays.then_some(*host)
    }

    /// Whether a machine of the control plane is not being deleted.
    fn stays(&self, machine: &str) -> bool {
        let is_it = |one: &&Arc<ElementalMachine>| uid(&one.metadata) == machine;
        self.machines.iter().copied().find(is_it).is_some_and(|one| one.metadata.deletion_timestamp.is_none())
    }

    fn choose(&self, elected: Option<Elected<'_>>) -> Decision {
        if self.cluster.metadata.deletion_timestamp.is_some() {
            return Decision::Wait(
                "ClusterDeleting",
                "the cluster is being deleted: no endpoint is elected".to_owned(),
            );
        }
        let rules = match Rules::new(self.infrastructure.spec.endpoint_election.as_ref()) {
            Ok(rules) => rules,
            Err(error) => return Decision::Wait("InvalidElection", error.to_string()),
        };
        let serves = |host: &&Arc<ElementalHost>| {
            host.is_bootstrapped()
                && !host.is_leaving()
                && host.claimer().is_some_and(|machine| self.stays(machine))
        };
        let serving = self.hosts.iter().copied().filter(serves).find_map(|host| self.choice(&rules, host));
        if let Some((host, endpoint)) = serving {
            return Decision::Elect(host, endpoint);
        }
        if self.cluster.has_control_plane() {
            let stays = elected.map(|elected| {
                format!("; the endpoint stays {}, on the lost host {}", elected.endpoint, elected.host)
            });
            let message =
                format!("no other host of the control plane is bootstrapped{}", stays.unwrap_or_default());
            return Decision::Wait("NoCandidate", message);
        }
        self.choose_free(&rules)
    }

    /// A host for the first machine of the control plane.
    fn choose_free(&self, rules: &Rules) -> Decision {
        let selector = match &self.selector {
            Ok(selector) => selector.as_ref(),
            Err(reason) => return Decision::Wait("MissingControlPlaneEndpoint", reason.clone()),
        };
        let own = uid(&self.infrastructure.metadata);
        let can = |host: &&Arc<ElementalHost>| {
            host.is_free()
                && matches(selector, &host.metadata)
                && host.reserved_for().is_none_or(|cluster| cluster == own)
        };
        let mut free: Vec<&Arc<ElementalHost>> = self.hosts.iter().copied().filter(can).collect();
        // A host that an interrupted election has reserved comes first. The order by name stays otherwise.
        free.sort_by_key(|host| host.reserved_for() != Some(own));
        let found = free.iter().find_map(|host| self.choice(rules, host));
        match found {
            Some((host, endpoint)) => Decision::Elect(host, endpoint),
            None if free.is_empty() => Decision::Wait(
                "NoCandidate",
                "no free host matches the selector of the control plane".to_owned(),
            ),
            None => {
                let names: Vec<&str> = free.iter().map(|host| name(&host.metadata)).collect();
                let message = format!(
                    "no address of these hosts keeps the rules of the election: {}",
                    names.join(", ")
                );
                Decision::Wait("NoCandidate", message)
            }
        }
    }

    fn choice(&self, rules: &Rules, host: &Arc<ElementalHost>) -> Option<(Arc<ElementalHost>, Endpoint)> {
        let address = rules.choose(host.addresses())?.to_owned();
        Some((Arc::clone(host), Endpoint { host: address, port: self.port() }))
    }

    fn port(&self) -> i32 {
        let asked = self.infrastructure.spec.control_plane_endpoint.as_ref().map(|endpoint| endpoint.port);
        let of_network =
            self.cluster.spec.cluster_network.as_ref().and_then(|network| network.api_server_port);
        [asked, of_network].into_iter().flatten().find(|port| *port > 0).unwrap_or(DEFAULT_PORT)
    }
}

#[cfg(test)]
mod tests;
