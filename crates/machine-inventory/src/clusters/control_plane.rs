//! The hosts that a control plane will claim, before it has a machine: the selector of its ElementalMachineTemplate.

use serde_json::Value as Json;
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use slipway_controller::kube::api::{Api, DynamicObject};
use slipway_controller::kube::{self, discovery};

use crate::api::{ElementalCluster, ElementalMachineTemplate, GROUP};
use crate::context::Context;
use crate::core_api::{Cluster, ContractReference};
use crate::election::Elected;
use crate::world::namespace;
use crate::writing::Failure;

/// Where a control plane names the template of its machines: in version v1beta2 of the contract, and in v1beta1.
const TEMPLATE: [&str; 2] =
    ["/spec/machineTemplate/spec/infrastructureRef", "/spec/machineTemplate/infrastructureRef"];

/// The selector of the candidates; otherwise why it is not known. Nothing is read when the endpoint exists.
pub(super) async fn selector(
    context: &Context,
    infrastructure: &ElementalCluster,
    cluster: &Cluster,
) -> Result<Result<Option<LabelSelector>, String>, Failure> {
    let election = infrastructure.spec.endpoint_election.as_ref();
    if let Some(selector) = election.and_then(|election| election.host_selector.clone()) {
        return Ok(Ok(Some(selector)));
    }
    let has_endpoint = infrastructure.spec.control_plane_endpoint.as_ref().is_some_and(|one| one.is_given());
    if cluster.has_control_plane() || has_endpoint && Elected::of(&infrastructure.metadata).is_none() {
        return Ok(Err("the endpoint exists".to_owned()));
    }
    let Some(reference) = &cluster.spec.control_plane_ref else {
        let message = "spec.controlPlaneEndpoint is blank, and the Cluster has no controlPlaneRef: set the endpoint, or \
                       spec.endpointElection.hostSelector";
        return Ok(Err(message.to_owned()));
    };
    let Some(control_plane) = get(context, namespace(&cluster.metadata), reference).await? else {
        return Ok(Err(format!("waiting for {} {}", reference.kind, reference.name)));
    };
    let template = TEMPLATE.iter().find_map(|path| control_plane.pointer(path));
    let template = template.and_then(|value| serde_json::from_value::<ContractReference>(value.clone()).ok());
    let Some(template) =
        template.filter(|one| one.group() == GROUP && one.kind == "ElementalMachineTemplate")
    else {
        return Ok(Err(format!(
            "{} {} names no ElementalMachineTemplate: set spec.endpointElection.hostSelector",
            reference.kind, reference.name
        )));
    };
    let templates = context.api::<ElementalMachineTemplate>(namespace(&cluster.metadata));
    match templates.get_opt(&template.name).await? {
        Some(template) => Ok(Ok(template.spec.template.spec.selector)),
        None => Ok(Err(format!("waiting for ElementalMachineTemplate {}", template.name))),
    }
}

/// The object of another provider, whatever version of its group the API prefers.
async fn get(
    context: &Context,
    namespace: &str,
    reference: &ContractReference,
) -> Result<Option<Json>, Failure> {
    let group = match discovery::group(&context.client, reference.group()).await {
        Ok(group) => group,
        // The group is not installed, or not yet.
        Err(kube::Error::Discovery(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let Some((resource, _)) = group.recommended_kind(&reference.kind) else { return Ok(None) };
    let objects: Api<DynamicObject> = Api::namespaced_with(context.client.clone(), namespace, &resource);
    let found = objects.get_opt(&reference.name).await?;
    let as_json = |object: DynamicObject| {
        serde_json::to_value(object).map_err(|error| Failure::Unusable(error.to_string()))
    };
    found.map(as_json).transpose()
}
