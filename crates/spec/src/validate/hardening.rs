use std::collections::BTreeSet;

use super::{
    context::{Context, error},
    names::dns_label,
};
use crate::{
    diagnostic::code::{BAD_NAME, DUPLICATE_NAME, KERNEL_DEFAULTS},
    model::{KUBELET_SYSCTLS, NodePool, Profile},
    reader::join,
};

/// Settings with which an API server or a kubelet would not start.
pub(super) fn check(context: &mut Context<'_>) {
    exempt_namespaces(context);
    let cluster = context.cluster;
    // A value of the cluster is one mistake, however many pools have it.
    let mut named = BTreeSet::new();
    for pool in &cluster.pools {
        kernel_defaults(context, pool, &mut named);
    }
}

fn exempt_namespaces(context: &mut Context<'_>) {
    let Some(settings) = &context.cluster.pod_security else { return };
    let names = &settings.exempt_namespaces;
    for (index, name) in names.iter().enumerate() {
        let place = format!("podSecurity.exemptNamespaces[{index}]");
        if let Some(problem) = dns_label(name) {
            let complaint = error(
                BAD_NAME,
                format!("the namespace `{name}` {problem}"),
                "write the name of a namespace, as in kube-system",
            );
            context.at(&place, complaint);
        } else if names.iter().take(index).any(|earlier| earlier == name) {
            let complaint = error(
                DUPLICATE_NAME,
                format!("the namespace `{name}` is listed twice"),
                format!("remove one `{name}`"),
            );
            context.at(&place, complaint);
        }
    }
}

/// A kubelet that protects the kernel's defaults does not start where one of them has another value.
fn kernel_defaults(context: &mut Context<'_>, pool: &NodePool, named: &mut BTreeSet<String>) {
    let own = pool.kubelet.extra_config.get("protectKernelDefaults").and_then(serde_json::Value::as_bool);
    if !own.unwrap_or(context.cluster.profile == Profile::Hardened) {
        return;
    }
    for (name, required) in KUBELET_SYSCTLS {
        let Some(value) = pool.sysctls.get(name).filter(|value| value.trim() != required) else { continue };
        let of_pool = join(&format!("pools[{}].sysctls", pool.name), name);
        let place = if context.is_written(&of_pool) { of_pool } else { join("sysctls", name) };
        if !named.insert(place.clone()) {
            continue;
        }
        let complaint = error(
            KERNEL_DEFAULTS,
            format!("kubelets of the pool `{}` do not start with {name} = {value}", pool.name),
            format!(
                "write `{name}: \"{required}\"`, or `kubelet: {{ extraConfig: {{ protectKernelDefaults: false }} }}`"
            ),
        );
        context.at(&place, complaint);
    }
}
