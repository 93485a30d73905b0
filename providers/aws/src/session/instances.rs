//! The instances behind nodes, for the controllers of a cluster: one list by id and one by tag, however many nodes.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_ec2::types::{Filter, Instance as Ec2Instance, InstanceStateName};
use slipway_aws_model::tags;
use slipway_resource::provider::{
    Instance, InstanceAnswer, InstanceQuery, InstancesRequest, NodeAddress, NodeAddressKind, NodeTarget,
};
use slipway_resource::{ErrorClass, ProviderError};

use super::identity::names;
use crate::cloud::Cloud;
use crate::error::{error, invalid};
use crate::look::filter;
use crate::rate::Class;

/// How many values a filter may have.
const VALUES: usize = 200;

/// The instances of all queries. A page that cannot be read fails the call: its instances are not absent.
pub(super) async fn find(
    cloud: &Cloud,
    request: &InstancesRequest,
) -> Result<Vec<InstanceAnswer>, ProviderError> {
    let existing = Existing::read(cloud, &request.cluster, &request.queries).await?;
    let answer = |query: &InstanceQuery| match existing.get(query) {
        Ok(Some(found)) => present(cloud, found),
        Ok(None) => InstanceAnswer::Absent,
        Err(error) => InstanceAnswer::Unreadable(error),
    };
    Ok(request.queries.iter().map(answer).collect())
}

/// The instances of nodes. Nodes without an instance of EC2 are left out.
///
/// # Errors
/// When they cannot be read, or several instances have the name of a node.
pub(super) async fn of_nodes(
    cloud: &Cloud,
    cluster: &str,
    nodes: &[NodeTarget],
) -> Result<Vec<Ec2Instance>, ProviderError> {
    let query = |node: &NodeTarget| InstanceQuery {
        node: node.node.clone(),
        provider_id: node.provider_id.clone().filter(|id| !id.is_empty()),
    };
    let queries: Vec<InstanceQuery> = nodes.iter().map(query).collect();
    let existing = Existing::read(cloud, cluster, &queries).await?;
    let mut found = Vec::new();
    for query in &queries {
        match existing.get(query) {
            Ok(instance) => found.extend(instance.cloned()),
            // A machine outside of EC2.
            Err(error) if error.class == ErrorClass::Invalid => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The instances that queries may be about.
struct Existing {
    by_id: HashMap<String, Ec2Instance>,
    by_name: HashMap<String, Vec<Ec2Instance>>,
}

impl Existing {
    async fn read(cloud: &Cloud, cluster: &str, queries: &[InstanceQuery]) -> Result<Self, ProviderError> {
        let ids: Vec<&str> = queries.iter().filter_map(|query| id_of(query)?.ok()).collect();
        let mut by_id = HashMap::new();
        for part in ids.chunks(VALUES) {
            for instance in describe(cloud, filter("instance-id", part.iter().copied())).await? {
                by_id.insert(instance.instance_id().unwrap_or_default().to_owned(), instance);
            }
        }
        let mut by_name: HashMap<String, Vec<Ec2Instance>> = HashMap::new();
        if queries.iter().any(|query| query.provider_id.is_none()) {
            let members = filter("tag-key", [tags::membership(cluster)]);
            for instance in describe(cloud, members).await? {
                for name in names(&instance, instance.instance_id().unwrap_or_default()) {
                    by_name.entry(name).or_default().push(instance.clone());
                }
            }
        }
        Ok(Self { by_id, by_name })
    }

    /// The instance of a query; `None` if it does not exist.
    fn get(&self, query: &InstanceQuery) -> Result<Option<&Ec2Instance>, ProviderError> {
        match id_of(query) {
            Some(id) => Ok(self.by_id.get(id?)),
            None => match self.by_name.get(&query.node).map(Vec::as_slice).unwrap_or_default() {
                [] => Ok(None),
                [instance] => Ok(Some(instance)),
                several => Err(ambiguous(&query.node, several)),
            },
        }
    }
}

/// The instance id of a provider id such as `aws:///us-east-1a/i-0123`; `None` without provider id.
fn id_of(query: &InstanceQuery) -> Option<Result<&str, ProviderError>> {
    let provider_id = query.provider_id.as_deref()?;
    let id = provider_id.strip_prefix("aws://").and_then(|path| path.rsplit('/').next());
    Some(id.filter(|id| id.starts_with("i-")).ok_or_else(|| {
        invalid(format!("node {}: {provider_id} is not the provider id of an EC2 instance", query.node))
    }))
}

/// The instances of a filter that are not terminated.
async fn describe(cloud: &Cloud, of: Filter) -> Result<Vec<Ec2Instance>, ProviderError> {
    let request = cloud.ec2().describe_instances().filters(of);
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud.pages(Class::Ec2Read, "DescribeInstances", send, |page| page.next_token()).await?;
    let reservations = pages.iter().flat_map(|page| page.reservations());
    let instances = reservations.flat_map(|reservation| reservation.instances());
    Ok(instances
        .filter(|instance| state(instance) != Some(&InstanceStateName::Terminated))
        .cloned()
        .collect())
}

fn state(instance: &Ec2Instance) -> Option<&InstanceStateName> {
    instance.state().and_then(|state| state.name())
}

fn present(cloud: &Cloud, instance: &Ec2Instance) -> InstanceAnswer {
    let id = instance.instance_id().unwrap_or_default();
    let zone = instance.placement().and_then(|placement| placement.availability_zone()).unwrap_or_default();
    let address = |kind, address: Option<&str>| {
        let address = address.filter(|address| !address.is_empty())?.to_owned();
        Some(NodeAddress { kind, address })
    };
    let addresses = [
        address(NodeAddressKind::InternalIp, instance.private_ip_address()),
        address(NodeAddressKind::InternalIp, instance.ipv6_address()),
        address(NodeAddressKind::ExternalIp, instance.public_ip_address()),
        address(NodeAddressKind::InternalDns, instance.private_dns_name()),
        address(NodeAddressKind::ExternalDns, instance.public_dns_name()),
    ];
    InstanceAnswer::Present(Instance {
        provider_id: format!("aws:///{zone}/{id}"),
        shutdown: state(instance) == Some(&InstanceStateName::Stopped),
        addresses: addresses.into_iter().flatten().collect(),
        instance_type: instance.instance_type().map(|kind| kind.as_str().to_owned()),
        zone: Some(zone.to_owned()).filter(|zone| !zone.is_empty()),
        region: Some(cloud.region().to_owned()),
        labels: BTreeMap::new(),
    })
}

fn ambiguous(node: &str, instances: &[Ec2Instance]) -> ProviderError {
    let ids: Vec<&str> = instances.iter().filter_map(|instance| instance.instance_id()).collect();
    error(ErrorClass::Conflict, format!("node {node}: several instances have this name: {}", ids.join(", ")))
}
