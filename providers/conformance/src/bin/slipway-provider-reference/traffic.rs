//! Load balancers of Services and routes to pods.

use std::net::{IpAddr, Ipv4Addr};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use slipway_resource::provider::{
    BalancerKey, DesiredBalancer, Ingress, IngressPoint, IpMode, LoadBalancer, LoadBalancers, NewRoute,
    NodeReference, Route, Routes,
};
use slipway_resource::{ErrorClass, ProviderError};

use crate::cloud::Objects;
use crate::session::ReferenceSession;

/// A load balancer.
#[derive(Clone, Serialize, Deserialize)]
pub struct Balancer {
    address: IpAddr,
    nodes: Vec<String>,
}

/// A route, by its cluster and destination.
#[derive(Clone, Serialize, Deserialize)]
pub struct PodRoute {
    cluster: String,
    destination: String,
    provider_id: String,
}

fn name(key: &BalancerKey) -> String {
    format!("{}/{}", key.cluster, key.name)
}

fn nodes(desired: &DesiredBalancer) -> Vec<String> {
    desired.nodes.iter().map(|node| node.node.clone()).collect()
}

fn shown(balancer: &Balancer) -> LoadBalancer {
    let at = IngressPoint::Ip { address: balancer.address, mode: IpMode::Vip };
    LoadBalancer { ingress: vec![Ingress { at, ports: Vec::new() }] }
}

#[async_trait]
impl LoadBalancers for ReferenceSession {
    async fn get(&self, key: &BalancerKey) -> Result<Option<LoadBalancer>, ProviderError> {
        if self.blind {
            let is_guessed = self.defect.breaks("load-balancers-never-guessed");
            return if is_guessed { Ok(None) } else { Err(Self::unreadable()) };
        }
        self.cloud.look(|objects| objects.balancers.get(&name(key)).map(shown))
    }

    async fn ensure(&self, desired: &DesiredBalancer) -> Result<LoadBalancer, ProviderError> {
        self.cloud.change(|objects| {
            let address = Ipv4Addr::from(0xC612_0000 + objects.balancers.len() as u32).into();
            let new = || Balancer { address, nodes: Vec::new() };
            let balancer = objects.balancers.entry(name(&desired.key)).or_insert_with(new);
            balancer.nodes = nodes(desired);
            Ok(shown(balancer))
        })
    }

    async fn update(&self, desired: &DesiredBalancer) -> Result<(), ProviderError> {
        self.cloud.change(|objects| match objects.balancers.get_mut(&name(&desired.key)) {
            Some(balancer) => {
                balancer.nodes = nodes(desired);
                Ok(())
            }
            None => Err(ProviderError::new(ErrorClass::NotFound, "there is no such load balancer")),
        })
    }

    async fn delete(&self, key: &BalancerKey) -> Result<(), ProviderError> {
        self.cloud.change(|objects| {
            if !self.defect.breaks("load-balancers") {
                objects.balancers.remove(&name(key));
            }
            Ok(())
        })
    }
}

#[async_trait]
impl Routes for ReferenceSession {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, ProviderError> {
        if self.blind {
            let is_guessed = self.defect.breaks("routes-never-guessed");
            return if is_guessed { Ok(Vec::new()) } else { Err(Self::unreadable()) };
        }
        self.cloud.look(|objects| {
            let of_cluster = objects.routes.iter().filter(|route| route.cluster == cluster);
            of_cluster
                .filter_map(|route| {
                    Some(Route {
                        name: route.destination.clone(),
                        destination: route.destination.parse().ok()?,
                        target: Some(NodeReference::ProviderId(route.provider_id.clone())),
                        blackhole: !exists(objects, &route.provider_id),
                    })
                })
                .collect()
        })
    }

    async fn create(&self, cluster: &str, route: &NewRoute) -> Result<(), ProviderError> {
        let destination = route.destination.to_string();
        let provider_id = route.target.provider_id.clone().unwrap_or_default();
        self.cloud.change(|objects| {
            if !exists(objects, &provider_id) {
                return Err(ProviderError::new(ErrorClass::NotFound, "the target does not exist"));
            }
            let is_it = |other: &&PodRoute| other.cluster == cluster && other.destination == destination;
            match objects.routes.iter().find(is_it) {
                Some(other) if other.provider_id != provider_id => {
                    Err(ProviderError::new(ErrorClass::Conflict, "it has another target"))
                }
                Some(_) => Ok(()),
                None => {
                    let cluster = cluster.to_owned();
                    objects.routes.push(PodRoute { cluster, destination, provider_id });
                    Ok(())
                }
            }
        })
    }

    async fn delete(&self, cluster: &str, route: &Route) -> Result<(), ProviderError> {
        let destination = route.destination.to_string();
        let stays = |other: &PodRoute| other.cluster != cluster || other.destination != destination;
        self.cloud.change(|objects| {
            if !self.defect.breaks("routes") {
                objects.routes.retain(stays);
            }
            Ok(())
        })
    }
}

fn exists(objects: &Objects, provider_id: &str) -> bool {
    let identity = provider_id.strip_prefix(crate::instances::PROVIDER_ID);
    identity.is_some_and(|identity| objects.by_identity.contains_key(identity))
}
