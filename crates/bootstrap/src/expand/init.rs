use slipway_resource::{Address, Value};

use super::inputs::Inputs;
use super::phased::{Phased, Resources, refer};
use super::{
    ExpandError, Facts, api_balancer, certificates, cluster, control_plane, kubeconfigs, kubelet, objects,
    virtual_address,
};
use crate::configuration::Configuration;
use crate::kube_vip;
use crate::patch::Patches;
use crate::pki::inventory;
use crate::static_pod::Component;
use crate::yaml;

/// The first control plane of a cluster, and what the cluster has from its beginning. A node that continues a cluster
/// ([`Inputs::continues`]) makes none of the cluster's objects.
///
/// # Errors
/// When a patch does not fit, or a bootstrap token is not known.
pub fn init(
    configuration: &Configuration,
    facts: &Facts,
    inputs: &Inputs,
) -> Result<Vec<Phased>, ExpandError> {
    let patches = Patches::read(&facts.patches)?;
    let configuration = &cluster::configured(configuration, inputs);
    let mut resources = Resources::default();
    certificates::add(&mut resources, configuration, facts, inputs, false);
    let balancer = balancer(&mut resources, configuration, inputs);
    kubeconfigs::add(&mut resources, configuration, facts, inputs, false);
    let mut before = resources.those(&[("kubeconfig", "kubelet")]);
    before.extend(balancer);
    let service = kubelet::add(&mut resources, configuration, facts, inputs, &patches, before)?;
    control_plane::first_etcd(&mut resources, configuration, facts, inputs, &patches, &service)?;
    let api = static_pods(&mut resources, PHASES, configuration, facts, inputs, &patches, &[&service])?;
    kube_vip_pod(&mut resources, inputs, true, &[&service]);
    virtual_address::add(&mut resources, configuration, facts, inputs, &[&service, &api]);
    kubelet::credentials(
        &mut resources,
        "kubelet-finalize/enable-client-cert-rotation",
        configuration,
        false,
        &[&service, &api],
    );
    if inputs.continues {
        mark(&mut resources, "mark-control-plane", configuration, inputs, &[&service, &api]);
        return Ok(resources.done());
    }
    let administrators = objects::administrators(&mut resources, &[&api]);
    let after = [&api, &administrators];
    objects::settings(&mut resources, configuration, facts, &after);
    api_balancer::readers(&mut resources, configuration, &after);
    virtual_address::holders(&mut resources, inputs, &after);
    objects::tokens(&mut resources, configuration, inputs, &after)?;
    objects::addons(&mut resources, configuration, facts, inputs, &patches, &after)?;
    if let Some(kube_vip) = &inputs.kube_vip {
        for object in kube_vip.objects() {
            resources.manifest("addon/kube-vip", object, vec![("wait", "none".into())], &after);
        }
    }
    mark(&mut resources, "mark-control-plane", configuration, inputs, &[&service, &administrators]);
    Ok(resources.done())
}

/// The balancer of a control plane, after the CA's certificate.
pub(super) fn balancer(
    resources: &mut Resources,
    configuration: &Configuration,
    inputs: &Inputs,
) -> Option<Address> {
    let authority = inventory::certificate("ca")?;
    let mut after = certificates::of_authority(resources, authority);
    if after.is_empty() {
        after.clone_from(&inputs.shared_after);
    }
    api_balancer::add(resources, configuration, &authority.certificate_path(configuration), &after)
}

/// The phases of a control plane's own pods.
pub(super) struct Phases {
    pub api_server: &'static str,
    pub controller_manager: &'static str,
    pub scheduler: &'static str,
}

const PHASES: Phases = Phases {
    api_server: "control-plane/apiserver",
    controller_manager: "control-plane/controller-manager",
    scheduler: "control-plane/scheduler",
};

/// API server, controller manager and scheduler; returns the API server.
pub(super) fn static_pods(
    resources: &mut Resources,
    phases: Phases,
    configuration: &Configuration,
    facts: &Facts,
    inputs: &Inputs,
    patches: &Patches,
    after: &[&Address],
) -> Result<Address, ExpandError> {
    cluster::add(resources, phases.api_server, configuration, inputs);
    let mut add = |phase, component| {
        control_plane::add(resources, phase, component, configuration, facts, patches, after)
    };
    let api = add(phases.api_server, Component::ApiServer)?;
    add(phases.controller_manager, Component::ControllerManager)?;
    add(phases.scheduler, Component::Scheduler)?;
    Ok(api)
}

/// The static pod of kube-vip, if that holds the cluster's virtual address.
pub(super) fn kube_vip_pod(resources: &mut Resources, inputs: &Inputs, first: bool, after: &[&Address]) {
    let Some(pod) = inputs.kube_vip.as_ref().and_then(|kube_vip| kube_vip.static_pod(first)) else { return };
    let name = if first { "super-admin" } else { "admin" };
    let kubeconfig = resources.those(&[("kubeconfig", name)]);
    let mut all = refer(&kubeconfig);
    all.extend(after);
    let attributes = vec![("path", kube_vip::PATH.into()), ("manifest", yaml::to_string(&pod).into())];
    resources.add_in_turn("control-plane/kube-vip", "static_pod", "kube-vip", attributes, &all);
}

/// The labels and taints of a control plane.
pub(super) fn mark(
    resources: &mut Resources,
    phase: &'static str,
    configuration: &Configuration,
    inputs: &Inputs,
    after: &[&Address],
) {
    let node = &configuration.node;
    let mut labels = inputs.node_labels.clone();
    for label in
        ["node-role.kubernetes.io/control-plane", "node.kubernetes.io/exclude-from-external-load-balancers"]
    {
        labels.insert(label.to_owned(), String::new());
    }
    let taints = node.effective_taints(true).into_iter().map(|taint| {
        let value = Some(taint.value).filter(|value| !value.is_empty());
        Value::map([
            ("key", Value::from(taint.key)),
            ("value", value.into()),
            ("effect", taint.effect.into()),
        ])
    });
    let mut attributes = vec![
        ("name", node.name.clone().into()),
        ("labels", labels.into()),
        ("taints", Value::list(taints)),
        // Without a network of pods it does not become ready, and that may come later.
        ("ready", false.into()),
    ];
    if !configuration.cluster.feature_gate("NodeLocalCRISocket") {
        let socket = node.cri_socket.clone().unwrap_or_default();
        let annotation = Value::map([("kubeadm.alpha.kubernetes.io/cri-socket", socket)]);
        attributes.push(("annotations", annotation));
    }
    if !inputs.serving_names.is_empty() {
        attributes.push(("serving", Value::list(inputs.serving_names.clone())));
    }
    resources.add(phase, "kubernetes_node", &node.name, attributes, after);
}
