//! Clients of the node-local balancer on nodes that exist, and the way back.

use slipway_resource::{Address, Desired, Path, Value};

use super::super::Machine;
use super::super::configuration::is_control_plane;
use super::{KUBELET_CREDENTIALS, Making, OBJECT, inside};
use crate::kubelet;

/// The CA of the API servers, on every node.
pub(super) const AUTHORITY_FILE: &str = "/etc/kubernetes/pki/ca.crt";

/// The settings of kube-proxy, with its kubeconfig, and its pods.
const PROXY_SETTINGS: &str = "ConfigMap/kube-system/kube-proxy";
const PROXIES: &str = "DaemonSet/kube-system/kube-proxy";

impl Making<'_> {
    /// In a cluster that has a balancer, or had one: its clients move to it, or back, on nodes that exist already. kube-proxy, which
    /// has the same settings on all nodes, moves when every node has a balancer.
    pub(super) fn components_follow_the_balancer(&mut self) {
        if self.placement.balancer.is_none() {
            return;
        }
        let machines: Vec<&Machine> = self.placement.machines.iter().collect();
        for machine in &machines {
            self.kubelet_follows(machine);
        }
        let serving = self.serving_certificates(&machines);
        let balancers = self.of_kind("api_balancer");
        let settings = Address::new(OBJECT, PROXY_SETTINGS);
        let has_settings = self.resources.iter().any(|desired| desired.address == settings);
        for desired in &mut self.resources {
            let reads_kubeconfig = matches!(desired.address.kind(), "kubeconfig" | KUBELET_CREDENTIALS);
            if reads_kubeconfig {
                // API servers have the name in their certificates before anybody uses it.
                desired.lifecycle.update_after.extend(serving.iter().cloned());
            }
            if desired.address == settings {
                desired.lifecycle.update_after.extend(serving.iter().cloned());
                desired.depends_on.extend(balancers.iter().cloned());
            }
            if desired.address == Address::new(OBJECT, PROXIES) && has_settings {
                // Its pods read the settings when they start.
                desired.depends_on.push(settings.clone());
            }
        }
    }

    /// The kubelet of a machine is sent to its API by one resource, which checks that it runs well with it.
    fn kubelet_follows(&mut self, machine: &Machine) {
        let configuration = self.configuration(machine);
        let server = match is_control_plane(self.cluster, machine) {
            true => configuration.component_endpoint(),
            false => configuration.node_endpoint(),
        };
        let settings = [
            ("server", Value::from(server.url())),
            ("server_ca_path", AUTHORITY_FILE.into()),
            ("steady_url", kubelet::health_url(&configuration).into()),
            ("steady_node", machine.name.as_str().into()),
            ("steady_kubeconfig_path", kubelet::KUBECONFIG_PATH.into()),
        ];
        let credentials = inside(KUBELET_CREDENTIALS, machine, "kubelet");
        let made = inside("kubeconfig", machine, "kubelet");
        let balancer = inside("api_balancer", machine, "node");
        let has_balancer = self.placement.is_balanced();
        for desired in &mut self.resources {
            if desired.address == made {
                desired.attributes.set(&Path::key("keep_server"), true.into());
            }
            if desired.address == credentials {
                for (name, value) in &settings {
                    desired.attributes.set(&Path::key(*name), value.clone());
                }
                desired.depends_on.extend(Some(balancer.clone()).filter(|_| has_balancer));
            }
        }
    }

    fn serving_certificates(&self, machines: &[&Machine]) -> Vec<Address> {
        let control_planes = machines.iter().filter(|machine| is_control_plane(self.cluster, machine));
        control_planes.map(|machine| inside("certificate", machine, "apiserver")).collect()
    }

    fn of_kind(&self, kind: &str) -> Vec<Address> {
        let found = self.resources.iter().filter(|desired: &&Desired| desired.address.kind() == kind);
        found.map(|desired| desired.address.clone()).collect()
    }
}
