use slipway_resource::{Address, Value};

use super::init::{Phases, balancer, kube_vip_pod, mark, static_pods};
use super::inputs::{Discovered, Inputs};
use super::phased::{Phased, Resources};
use super::{
    ExpandError, Facts, api_balancer, certificates, cluster, control_plane, kubeconfigs, kubelet,
    virtual_address,
};
use crate::configuration::{Configuration, Join};
use crate::kubeconfig::inventory::BOOTSTRAP_USER;
use crate::kubelet::BOOTSTRAP_KUBECONFIG_PATH;
use crate::patch::Patches;

/// A worker that joins: the CA, a kubeconfig with a token, and the kubelet.
///
/// # Errors
/// When a patch does not fit, or the cluster was not discovered.
pub fn join_worker(
    configuration: &Configuration,
    facts: &Facts,
    inputs: &Inputs,
) -> Result<Vec<Phased>, ExpandError> {
    let discovered = inputs.discovered.as_ref().ok_or(ExpandError::Undiscovered)?;
    let patches = Patches::read(&facts.patches)?;
    let mut resources = Resources::default();
    let mut before = vec![authority(&mut resources, configuration, discovered)];
    before.extend(api_balancer::add(
        &mut resources,
        configuration,
        &authority_path(configuration),
        &before.clone(),
    ));
    let server = server(configuration, discovered);
    before.extend(bootstrap(&mut resources, configuration, discovered, &server));
    let service = kubelet::add(&mut resources, configuration, facts, inputs, &patches, before)?;
    kubelet::credentials(&mut resources, "kubelet-wait-bootstrap", configuration, true, &[&service]);
    Ok(resources.done())
}

/// A further control plane.
///
/// # Errors
/// When a patch does not fit, or the cluster was not discovered.
pub fn join_control_plane(
    configuration: &Configuration,
    facts: &Facts,
    inputs: &Inputs,
) -> Result<Vec<Phased>, ExpandError> {
    let discovered = inputs.discovered.as_ref().ok_or(ExpandError::Undiscovered)?;
    let patches = Patches::read(&facts.patches)?;
    let configuration = &cluster::configured(configuration, inputs);
    let mut resources = Resources::default();
    certificates::add(&mut resources, configuration, facts, inputs, true);
    let mut before: Vec<Address> = balancer(&mut resources, configuration, inputs).into_iter().collect();
    kubeconfigs::add(&mut resources, configuration, facts, inputs, true);
    match resources.find("file", "pki/ca.crt") {
        Some(address) => before.push(address),
        None if inputs.shared_files.is_empty() => {
            before.push(authority(&mut resources, configuration, discovered));
        }
        None => {}
    }
    // The kubelet uses its node's own API server, which it starts before there is a certificate for it. A balancer has others.
    let local = configuration.cluster.feature_gate("ControlPlaneKubeletLocalMode");
    let server = match local {
        true => configuration.component_endpoint().url(),
        false => server(configuration, discovered),
    };
    before.extend(bootstrap(&mut resources, configuration, discovered, &server));
    let service = kubelet::add(&mut resources, configuration, facts, inputs, &patches, before)?;
    let voter = control_plane::joining_etcd(&mut resources, configuration, inputs, &patches, &service)?;
    // The API server cannot start before its etcd member votes: the kubelet would restart it with growing
    // delays.
    let after: Vec<&Address> = std::iter::once(&service).chain(&voter).collect();
    let api = static_pods(&mut resources, PHASES, configuration, facts, inputs, &patches, &after)?;
    kube_vip_pod(&mut resources, inputs, false, &[&service, &api]);
    virtual_address::add(&mut resources, configuration, facts, inputs, &[&service, &api]);
    let credentials = kubelet::credentials(
        &mut resources,
        "kubelet-wait-bootstrap",
        configuration,
        true,
        &[&service, &api],
    );
    let phase = "control-plane-join/mark-control-plane";
    mark(&mut resources, phase, configuration, inputs, &[&service, &api, &credentials]);
    Ok(resources.done())
}

const PHASES: Phases = Phases {
    api_server: "control-plane-prepare/control-plane",
    controller_manager: "control-plane-prepare/control-plane",
    scheduler: "control-plane-prepare/control-plane",
};

/// The CA's certificate, with which the kubelet verifies servers and clients.
fn authority(resources: &mut Resources, configuration: &Configuration, discovered: &Discovered) -> Address {
    let attributes = vec![
        ("path", authority_path(configuration).into()),
        ("content", discovered.authority.clone().into()),
        ("mode", "0644".into()),
        ("keep_existing", true.into()),
    ];
    resources.add("kubelet-start", "file", "ca", attributes, &[])
}

fn authority_path(configuration: &Configuration) -> String {
    let default = || format!("{}/ca.crt", configuration.cluster.certificates_dir);
    configuration.join.as_ref().map_or_else(default, |join| join.ca_cert_path.clone())
}

/// The URL at which a joining kubelet reaches the API.
fn server(configuration: &Configuration, discovered: &Discovered) -> String {
    match configuration.cluster.api_balancer {
        Some(_) => configuration.node_endpoint().url(),
        None => discovered.server.clone(),
    }
}

/// The kubeconfig with which the kubelet requests its certificate; `None` when the user's discovery file has
/// its own credentials, which the user installs.
fn bootstrap(
    resources: &mut Resources,
    configuration: &Configuration,
    discovered: &Discovered,
    server: &str,
) -> Option<Address> {
    let proof = match &discovered.client_certificate {
        Some(path) => {
            vec![("client_certificate_path", path.as_str().into()), ("client_key_path", path.as_str().into())]
        }
        None => vec![("token", configuration.join.as_ref().and_then(bootstrap_token)?)],
    };
    let mut attributes = vec![
        ("path", BOOTSTRAP_KUBECONFIG_PATH.into()),
        // The names in it are those of kubeadm, whatever the cluster's name is.
        ("cluster_name", "kubernetes".into()),
        ("server", server.into()),
        ("certificate_authority", discovered.authority.clone().into()),
        ("user_name", BOOTSTRAP_USER.into()),
        ("superseded_by", kubeconfigs::KUBELET.into()),
    ];
    attributes.extend(proof);
    Some(resources.add("kubelet-start", "kubeconfig", "bootstrap-kubelet", attributes, &[]))
}

fn bootstrap_token(join: &Join) -> Option<Value> {
    join.tls_bootstrap_token.clone().map(Value::from)
}
