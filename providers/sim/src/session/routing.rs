//! Routes to the pods of machines.

use async_trait::async_trait;
use slipway_resource::ProviderError;
use slipway_resource::provider::{NewRoute, NodeReference, Route, Routes};

use super::SimSession;
use super::balancing::machine_of;
use crate::cloud::World;
use crate::cloud::traffic::{PodRoute, key};
use crate::error::{conflict, not_found, permanent};
use crate::fault::Call;

/// The rate class of all calls.
const RATE_CLASS: &str = "network";

#[async_trait]
impl Routes for SimSession {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, ProviderError> {
        let call = Call { method: "list-routes", type_name: "", name: cluster };
        let rules = self.begin(call, RATE_CLASS).await?;
        if let Some(error) = self.faults.unreadable(call) {
            return Err(error);
        }
        let routes: Result<Vec<Route>, ProviderError> = self.cloud.read(&self.clock, |world, _| {
            let of_cluster = world.pod_routes().filter(|route| route.cluster == cluster);
            of_cluster.map(|route| shown(world, route)).collect()
        })?;
        self.end(call, &rules, RATE_CLASS)?;
        let mut routes = routes?;
        routes.sort_by_key(|route| route.destination);
        Ok(routes)
    }

    async fn create(&self, cluster: &str, route: &NewRoute) -> Result<(), ProviderError> {
        let call = Call { method: "create-route", type_name: "", name: &route.target.node };
        let rules = self.begin(call, RATE_CLASS).await?;
        self.cloud.write(&self.clock, |change| {
            let Some(machine) = machine_of(change.world(), cluster, &route.target)? else {
                return Err(not_found(format!("node {} has no machine", route.target.node)));
            };
            let destination = route.destination.to_string();
            let wanted = PodRoute {
                cluster: cluster.to_owned(),
                name: format!("{}-{destination}", route.name_hint),
                destination,
                machine: machine.id.clone(),
            };
            match change.world().pod_route(&wanted.key()) {
                Some(existing) if existing.machine != wanted.machine => {
                    let PodRoute { destination, machine, .. } = existing;
                    Err(conflict(format!("{destination} has a route to machine {machine}")))
                }
                Some(_) => Ok(()),
                None => {
                    change.put_pod_route(wanted);
                    Ok(())
                }
            }
        })?;
        self.end(call, &rules, RATE_CLASS)
    }

    async fn delete(&self, cluster: &str, route: &Route) -> Result<(), ProviderError> {
        let call = Call { method: "delete-route", type_name: "", name: &route.name };
        let rules = self.begin(call, RATE_CLASS).await?;
        self.cloud.write(&self.clock, |change| {
            let key = key(cluster, &route.destination.to_string());
            // Another process may have given the destination another target since it was listed.
            if change.world().pod_route(&key).is_some_and(|existing| existing.name == route.name) {
                change.remove_pod_route(&key);
            }
            Ok(())
        })?;
        self.end(call, &rules, RATE_CLASS)
    }
}

fn shown(world: &World, route: &PodRoute) -> Result<Route, ProviderError> {
    let PodRoute { name, destination, machine, .. } = route;
    let machine = world.machine(machine);
    Ok(Route {
        name: name.clone(),
        destination: destination
            .parse()
            .map_err(|_| permanent(format!("route {name}: {destination} is not an address range")))?,
        target: machine.map(|machine| NodeReference::ProviderId(machine.provider_id())),
        blackhole: machine.is_none(),
    })
}
