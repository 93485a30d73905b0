//! The machines behind nodes. The name of a node is the name in the address of its machine.

use slipway_resource::ProviderError;
use slipway_resource::provider::{
    Instance, InstanceAnswer, InstanceQuery, InstancesRequest, NodeAddress, NodeAddressKind,
};

use crate::cloud::{Object, Objects};
use crate::defect::Defect;
use crate::kinds::MACHINE;
use crate::plan::invalid;

/// The start of provider ids.
pub const PROVIDER_ID: &str = "reference:///";

pub fn answers(objects: &Objects, request: &InstancesRequest, defect: &Defect) -> Vec<InstanceAnswer> {
    let answer = |query: &InstanceQuery| match find(objects, &request.cluster, query) {
        Ok(Some((identity, machine))) => InstanceAnswer::Present(instance(identity, machine)),
        Ok(None) => InstanceAnswer::Absent,
        Err(_) if defect.breaks("instances-never-guessed") => InstanceAnswer::Absent,
        Err(error) => InstanceAnswer::Unreadable(error),
    };
    let mut answers: Vec<InstanceAnswer> = request.queries.iter().map(answer).collect();
    if defect.breaks("instances") {
        answers.reverse();
    }
    answers
}

fn find<'a>(
    objects: &'a Objects,
    cluster: &str,
    query: &InstanceQuery,
) -> Result<Option<(&'a String, &'a Object)>, ProviderError> {
    let mut machines = objects.by_identity.iter().filter(|(_, object)| object.kind == MACHINE);
    let Some(id) = &query.provider_id else {
        let is_named = |object: &Object| {
            let tags = object.tags.as_ref();
            tags.is_some_and(|tags| tags.cluster == cluster && tags.address.name() == query.node)
        };
        return Ok(machines.find(|(_, object)| is_named(object)));
    };
    let wanted = id.strip_prefix(PROVIDER_ID).ok_or_else(|| invalid(format!("{id} is of another cloud")))?;
    Ok(machines.find(|(identity, _)| *identity == wanted))
}

fn instance(identity: &str, machine: &Object) -> Instance {
    let address = machine.attributes.get("address").and_then(slipway_resource::Value::as_str);
    let internal = |text: &str| NodeAddress { kind: NodeAddressKind::InternalIp, address: text.to_owned() };
    Instance {
        provider_id: format!("{PROVIDER_ID}{identity}"),
        shutdown: false,
        addresses: address.map(internal).into_iter().collect(),
        instance_type: None,
        zone: None,
        region: None,
        labels: std::collections::BTreeMap::new(),
    }
}
