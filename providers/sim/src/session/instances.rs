//! The machines behind nodes, for the controllers of a cluster.

use std::collections::{BTreeMap, HashMap};

use slipway_resource::ProviderError;
use slipway_resource::provider::{
    Instance, InstanceAnswer, InstanceQuery, InstancesRequest, NodeAddress, NodeAddressKind,
};

use super::SimSession;
use crate::cloud::{Machine, World, text_of};
use crate::error::invalid;
use crate::fault::Call;
use crate::kind::NODE;

/// The label of a node with the pool of its machine.
const POOL_LABEL: &str = "sim.slipway.dev/pool";

impl SimSession {
    /// The requested machines, read at one moment by one call.
    pub(super) async fn find_instances(
        &self,
        request: &InstancesRequest,
    ) -> Result<Vec<InstanceAnswer>, ProviderError> {
        let call = Call { method: "instances", type_name: NODE, name: "" };
        self.begin(call, "compute").await?;
        let found = self.cloud.read(&self.clock, |world, _| {
            let of_cluster = world.machines().filter(|machine| machine.cluster == request.cluster);
            let by_name: HashMap<&str, &Machine> =
                of_cluster.map(|machine| (machine.name.as_str(), machine)).collect();
            let find = |query: &InstanceQuery| match &query.provider_id {
                None => Ok(by_name.get(query.node.as_str()).copied()),
                Some(id) => Machine::id_of(id).map(|id| world.machine(id)).ok_or_else(|| {
                    invalid(format!("node {}: {id} is not a provider id of provider sim", query.node))
                }),
            };
            let answer = |query: &InstanceQuery| match find(query) {
                Ok(Some(machine)) => InstanceAnswer::Present(self.instance(world, machine)),
                Ok(None) => InstanceAnswer::Absent,
                Err(error) => InstanceAnswer::Unreadable(error),
            };
            request.queries.iter().map(answer).collect::<Vec<_>>()
        })?;
        let hidden = |query: &InstanceQuery| self.faults.unreadable(Call { name: &query.node, ..call });
        let answers = request.queries.iter().zip(found).map(|(query, found)| match hidden(query) {
            Some(error) => InstanceAnswer::Unreadable(error),
            None => found,
        });
        let answers: Vec<InstanceAnswer> = answers.collect();
        self.calls.append(&[self.record(call, "ok", answers.len())]);
        Ok(answers)
    }

    fn instance(&self, world: &World, machine: &Machine) -> Instance {
        let address = |kind, address: &str| NodeAddress { kind, address: address.to_owned() };
        let pool = world.object(&machine.pool).map(|pool| text_of(pool, "name")).unwrap_or_default();
        let label = (POOL_LABEL.to_owned(), pool.to_owned());
        Instance {
            provider_id: machine.provider_id(),
            shutdown: machine.stopped,
            addresses: vec![
                address(NodeAddressKind::InternalIp, &machine.address),
                address(NodeAddressKind::Hostname, &machine.name),
            ],
            instance_type: Some(machine.machine_type.clone()).filter(|name| !name.is_empty()),
            zone: Some(machine.zone.clone()).filter(|zone| !zone.is_empty()),
            region: self.scope.region.clone(),
            labels: BTreeMap::from([label]),
        }
    }
}
