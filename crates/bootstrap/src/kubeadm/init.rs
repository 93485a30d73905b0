use slipway_cluster_input::Profile;
use slipway_spec::diagnostic::Diagnostic;

use super::{cluster, component, context::Context, kinds::Sorted, node, v1beta4};
use crate::configuration::{Configuration, Detected, NodeSettings, Timeouts};

/// Reads what the first control plane of a cluster needs.
pub(super) fn read(
    documents: &Sorted,
    detected: &Detected,
    diagnostics: &mut Vec<Diagnostic>,
) -> Configuration {
    let mut node = init(documents, detected, diagnostics);
    let cluster = cluster::read(documents.cluster.as_ref(), node.bind_port, diagnostics);
    let usual = Timeouts::default().control_plane_component_health_check;
    if let Some(timeout) =
        cluster.control_plane_timeout.filter(|timeout| !timeout.is_zero() && *timeout != usual)
    {
        node.timeouts.control_plane_component_health_check = timeout;
    }
    Configuration {
        profile: Profile::Kubeadm,
        cluster: cluster.settings,
        node,
        join: None,
        kubelet: component::read(documents.kubelet.as_ref(), diagnostics),
        kube_proxy: component::read(documents.kube_proxy.as_ref(), diagnostics),
    }
}

fn init(documents: &Sorted, detected: &Detected, diagnostics: &mut Vec<Diagnostic>) -> NodeSettings {
    let (mut context, given) =
        Context::read::<v1beta4::InitConfiguration>(documents.init.as_ref(), diagnostics);
    let context = &mut context;
    let mut node = node::registration(context, given.node_registration, detected);
    node::endpoint(context, "localAPIEndpoint", &given.local_api_endpoint, &mut node);
    node.bootstrap_tokens = node::tokens(context, given.bootstrap_tokens);
    node.certificate_key = node::certificate_key(context, "certificateKey", &given.certificate_key);
    node.skip_phases = given.skip_phases;
    node.patches_directory = given.patches.map(|patches| patches.directory).filter(|path| !path.is_empty());
    node.timeouts = context.timeouts(given.timeouts);
    node.dry_run = given.dry_run;
    node
}
