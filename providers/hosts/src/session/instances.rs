//! The hosts behind nodes, for the controllers of a cluster.
//!
//! The node of a host has the provider id `slipway-hosts://<inventory>/<host>`. A host is an instance of a cluster while the cluster
//! has claimed it in its inventory: all claims are read once for all nodes.

use std::collections::BTreeMap;

use slipway_cluster_input::{Host, HostAddressType};
use slipway_resource::ProviderError;
use slipway_resource::provider::{
    Instance, InstanceAnswer, InstanceQuery, InstancesRequest, NodeAddress, NodeAddressKind,
};

use super::HostsSession;
use crate::error::invalid;
use crate::inventory::Claim;

/// The start of the provider ids of nodes.
const PROVIDER_ID: &str = "slipway-hosts://";

/// An inventory, and a host in it.
type Place = (String, String);

impl HostsSession {
    /// The hosts of all queries. Claims that cannot be read fail the call.
    pub(super) async fn find_instances(
        &self,
        request: &InstancesRequest,
    ) -> Result<Vec<InstanceAnswer>, ProviderError> {
        let claims = self.inventory()?.claims().await?;
        let answer = |query: &InstanceQuery| match self.instance(&claims, &request.cluster, query) {
            Ok(Some(instance)) => InstanceAnswer::Present(instance),
            Ok(None) => InstanceAnswer::Absent,
            Err(error) => InstanceAnswer::Unreadable(error),
        };
        Ok(request.queries.iter().map(answer).collect())
    }

    fn instance(
        &self,
        claims: &BTreeMap<Place, Claim>,
        cluster: &str,
        query: &InstanceQuery,
    ) -> Result<Option<Instance>, ProviderError> {
        let place = match &query.provider_id {
            Some(id) => Some(place_of(id).ok_or_else(|| {
                invalid(format!("node {}: {id} is not a provider id of provider hosts", query.node))
            })?),
            None => {
                let is_it =
                    |(place, claim): &(&Place, &Claim)| claim.cluster == cluster && place.1 == query.node;
                claims.iter().find(is_it).map(|(place, _)| place.clone())
            }
        };
        let Some(place) = place.filter(|place| claims.contains_key(place)) else { return Ok(None) };
        let is_listed = |host: &&Host| host.inventory == place.0 && host.name == place.1;
        let Some(host) = self.config.hosts.iter().find(is_listed) else {
            let text =
                format!("the host {} of the inventory {} is claimed, and not listed", place.1, place.0);
            return Err(invalid(text).with_hint("list it in `hosts` of the configuration"));
        };
        // A machine that is gone for ever has no node, also while its claim is given up.
        Ok((!host.lost).then(|| shown(host)))
    }
}

fn place_of(provider_id: &str) -> Option<Place> {
    let (inventory, host) = provider_id.strip_prefix(PROVIDER_ID)?.split_once('/')?;
    let is_name = |name: &str| !name.is_empty() && !name.contains('/');
    (is_name(inventory) && is_name(host)).then(|| (inventory.to_owned(), host.to_owned()))
}

fn shown(host: &Host) -> Instance {
    let addresses = host.addresses.iter().map(|entry| NodeAddress {
        kind: match entry.kind {
            HostAddressType::Internal => NodeAddressKind::InternalIp,
            HostAddressType::Public => NodeAddressKind::ExternalIp,
        },
        address: entry.address.to_string(),
    });
    let name = NodeAddress { kind: NodeAddressKind::Hostname, address: host.name.clone() };
    Instance {
        provider_id: format!("{PROVIDER_ID}{}/{}", host.inventory, host.name),
        // A host that is switched off cannot be told from one that does not answer.
        shutdown: false,
        addresses: addresses.chain([name]).collect(),
        instance_type: None,
        zone: host.zone.clone(),
        region: host.region.clone(),
        labels: host.node_labels.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_id_names_an_inventory_and_a_host() {
        let place = ("rack".to_owned(), "a".to_owned());
        assert_eq!(place_of("slipway-hosts://rack/a"), Some(place));
        for id in
            ["aws:///us-east-1a/i-1", "slipway-hosts://rack", "slipway-hosts:///a", "slipway-hosts://r/a/b"]
        {
            assert_eq!(place_of(id), None, "{id}");
        }
    }
}
