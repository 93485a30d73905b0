//! Control planes whose components are DaemonSets of the cluster.

use slipway_cluster_input::Hosting;
use slipway_resource::{Address, Desired, Path, Value};

use super::super::Machine;
use super::{Making, administrators, inside};
use crate::static_pod::Component;

/// The field of the spec.
const FIELD: &str = "controlPlane.hosting";

/// The components that DaemonSets run, in their order. etcd stays a static pod: it is what the API is kept in.
const COMPONENTS: [Component; 3] = [Component::ApiServer, Component::ControllerManager, Component::Scheduler];

impl Making<'_> {
    /// Has DaemonSets take over the components of all control planes, if the spec asks for it: one component after the other, and the
    /// leader's last. They are given back in the opposite order.
    pub(super) fn control_planes_are_self_hosted(&mut self, control_planes: &[&Machine], leader: &Machine) {
        if self.cluster.control_plane.hosting != Hosting::SelfHosted {
            return;
        }
        let others = control_planes.iter().copied().filter(|machine| machine.name != leader.name);
        let in_order: Vec<&Machine> = others.chain([leader]).collect();
        let mut before: Option<Address> = None;
        for machine in in_order {
            let recovery = self.recovery(machine);
            for component in COMPONENTS {
                let mut desired = self.self_hosted(machine, component);
                desired.depends_on.push(recovery.clone());
                desired.depends_on.extend(before.take());
                desired.depends_on.sort();
                before = Some(desired.address.clone());
                self.resources.push(desired);
            }
        }
    }

    /// The service of a machine that starts the components while DaemonSets do not. Returns its address.
    fn recovery(&mut self, machine: &Machine) -> Address {
        let address = inside("control_plane_recovery", machine, "control-plane");
        let attributes = Value::map([("host", machine.name.as_str())]);
        let mut desired = Desired::new(address.clone(), attributes);
        desired.origins.insert(Path::root(), FIELD.to_owned());
        desired.depends_on.push(inside("service", machine, "kubelet"));
        self.resources.push(desired);
        address
    }

    fn self_hosted(&self, machine: &Machine, component: Component) -> Desired {
        let pod = inside("static_pod", machine, component.name());
        let mut attributes = self.access_to_api(machine);
        attributes.extend([
            ("host", Value::from(machine.name.as_str())),
            ("node", machine.name.as_str().into()),
            ("path", component.path().into()),
        ]);
        let of_pod = self.find(&pod).map(|pod| &pod.attributes);
        for name in ["ready_url", "ready_ca_path", "ready_timeout_seconds"] {
            let value = of_pod.and_then(|attributes| attributes.get(name));
            attributes.extend(value.map(|value| (name, value.clone())));
        }
        let address = inside("self_hosted_pod", machine, component.name());
        let mut desired = Desired::new(address, Value::map(attributes));
        desired.origins.insert(Path::root(), FIELD.to_owned());
        // The controller manager makes the pod of the DaemonSet, for a node that is there.
        desired.depends_on = COMPONENTS.map(|own| inside("static_pod", machine, own.name())).to_vec();
        desired.depends_on.extend([Address::new("kubernetes_node", machine.name.as_str()), administrators()]);
        desired
    }
}
