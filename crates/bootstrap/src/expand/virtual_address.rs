//! The virtual address that the control planes hand over among themselves, without kube-vip.

use slipway_resource::{Address, Value};

use super::certificates::of_authority;
use super::inputs::Inputs;
use super::phased::{Resources, refer};
use super::{Facts, kubeconfigs};
use crate::configuration::Configuration;
use crate::objects;
use crate::pki::{Subject, inventory};

/// The phase of every program that hands a virtual address over.
const PHASE: &str = "control-plane/kube-vip";

/// The kubeconfig of the service, for the API server of its own machine.
const KUBECONFIG: &str = "/etc/kubernetes/slipway-virtual-address.conf";

/// The name of the kubeconfig and of the service on a node.
const NAME: &str = "virtual-address";

/// The service of a control plane, if the cluster has such an address.
pub(super) fn add(
    resources: &mut Resources,
    configuration: &Configuration,
    facts: &Facts,
    inputs: &Inputs,
    after: &[&Address],
) {
    let Some(address) = &inputs.virtual_address else { return };
    let Some(authority) = inventory::certificate("ca").filter(|_| !facts.external_ca()) else { return };
    let mut made_after = of_authority(resources, authority);
    if made_after.is_empty() {
        made_after.clone_from(&inputs.shared_after);
    }
    let subject = Subject::new(objects::VIRTUAL_ADDRESS_USER);
    let server = configuration.local_endpoint();
    let signed = kubeconfigs::signed(configuration, authority, KUBECONFIG, &server, subject);
    let kubeconfig = resources.add(PHASE, "kubeconfig", NAME, signed, &refer(&made_after));
    let node = &configuration.node;
    let mut attributes = vec![
        ("address", Value::from(address.address.to_string())),
        ("node", node.name.as_str().into()),
        ("node_address", node.advertise_address.to_string().into()),
        ("kubeconfig_path", KUBECONFIG.into()),
    ];
    attributes.extend(address.interface.clone().map(|interface| ("interface", interface.into())));
    let mut needs = vec![&kubeconfig];
    needs.extend(after);
    resources.add(PHASE, "virtual_address", NAME, attributes, &needs);
}

/// Lets the services of all control planes elect one of them.
pub(super) fn holders(resources: &mut Resources, inputs: &Inputs, after: &[&Address]) {
    if inputs.virtual_address.is_some() {
        for object in objects::virtual_address_holders() {
            resources.object("addon/kube-vip", &object, after);
        }
    }
}
