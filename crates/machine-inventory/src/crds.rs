//! The custom resource definitions, with the labels by which Cluster API finds the versions of its contract.

use slipway_controller::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use slipway_controller::kube::CustomResourceExt as _;

use crate::api::{
    ElementalCluster, ElementalClusterTemplate, ElementalHost, ElementalMachine, ElementalMachineTemplate,
    ElementalRegistration, VERSION,
};

/// The label of clusterctl on the objects of a provider, and its value.
pub const PROVIDER: (&str, &str) = ("cluster.x-k8s.io/provider", "infrastructure-elemental");

/// The versions of the contract that the kinds keep. Cluster API takes the newest that it knows.
const CONTRACTS: [&str; 2] = ["cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2"];

/// The custom resource definitions of all kinds.
#[must_use]
pub fn all() -> Vec<CustomResourceDefinition> {
    let definitions = [
        ElementalCluster::crd(),
        ElementalClusterTemplate::crd(),
        ElementalHost::crd(),
        ElementalMachine::crd(),
        ElementalMachineTemplate::crd(),
        ElementalRegistration::crd(),
    ];
    definitions.into_iter().map(labelled).collect()
}

fn labelled(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    let labels = definition.metadata.labels.get_or_insert_default();
    labels.insert(PROVIDER.0.to_owned(), PROVIDER.1.to_owned());
    labels.extend(CONTRACTS.map(|contract| (contract.to_owned(), VERSION.to_owned())));
    definition
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_cluster_api_computes() {
        // Cluster API makes the name of a definition from kind and group, without discovery.
        let names: Vec<String> = all().into_iter().filter_map(|one| one.metadata.name).collect();
        let expected = [
            "elementalclusters",
            "elementalclustertemplates",
            "elementalhosts",
            "elementalmachines",
            "elementalmachinetemplates",
            "elementalregistrations",
        ];
        assert_eq!(names, expected.map(|plural| format!("{plural}.infrastructure.cluster.x-k8s.io")));
    }
}
