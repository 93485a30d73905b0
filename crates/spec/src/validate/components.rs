use super::context::{Context, error};
use crate::{
    diagnostic::code::{CONTRADICTION, RESERVED_ARGUMENT},
    model::ComponentName,
    reader::join,
};

/// The flags that Slipway sets itself, each with where to say the same; a spec that sets them would contradict itself.
#[must_use]
pub const fn reserved_arguments(component: ComponentName) -> &'static [(&'static str, &'static str)] {
    match component {
        ComponentName::ApiServer => &[
            ("advertise-address", "leave it out: it is the node's own address"),
            ("secure-port", "say it in `controlPlane.endpoint`"),
            ("service-cluster-ip-range", "say it in `network.serviceCidrs`"),
            ("service-node-port-range", "say it in `network.nodePortRange`"),
            ("etcd-servers", "leave it out: it follows from `etcd`"),
            ("etcd-servers-overrides", "leave it out: it follows from `etcd`"),
            ("etcd-cafile", "leave it out: keys and certificates are made for you"),
            ("etcd-certfile", "leave it out: keys and certificates are made for you"),
            ("etcd-keyfile", "leave it out: keys and certificates are made for you"),
            ("client-ca-file", "leave it out: keys and certificates are made for you"),
            ("tls-cert-file", "leave it out: keys and certificates are made for you"),
            ("tls-private-key-file", "leave it out: keys and certificates are made for you"),
            ("service-account-issuer", "say it in `serviceAccounts.issuer`"),
            ("service-account-key-file", "leave it out: keys and certificates are made for you"),
            ("service-account-signing-key-file", "leave it out: keys and certificates are made for you"),
            ("encryption-provider-config", "say it in `encryption.atRest`"),
            ("audit-policy-file", "say it in `audit.policy`"),
            ("audit-log-maxage", "say it in `audit.maxAgeDays`"),
            ("audit-log-maxbackup", "say it in `audit.maxBackups`"),
            ("audit-log-maxsize", "say it in `audit.maxSizeMebibytes`"),
            ("oidc-issuer-url", "say it in `authentication.openIdConnect`"),
            ("oidc-client-id", "say it in `authentication.openIdConnect`"),
            ("authentication-config", "say it in `authentication.openIdConnect`"),
            ("feature-gates", "say it in `featureGates` beside `extraArgs`"),
        ],
        ComponentName::ControllerManager => &[
            ("cluster-cidr", "say it in `network.podCidrs`"),
            ("service-cluster-ip-range", "say it in `network.serviceCidrs`"),
            ("kubeconfig", "leave it out: keys and certificates are made for you"),
            ("root-ca-file", "leave it out: keys and certificates are made for you"),
            ("service-account-private-key-file", "leave it out: keys and certificates are made for you"),
            ("cluster-signing-cert-file", "leave it out: keys and certificates are made for you"),
            ("cluster-signing-key-file", "leave it out: keys and certificates are made for you"),
            ("cluster-name", "say it in `metadata.name`"),
            ("feature-gates", "say it in `featureGates` beside `extraArgs`"),
        ],
        ComponentName::Scheduler => &[
            ("kubeconfig", "leave it out: keys and certificates are made for you"),
            ("feature-gates", "say it in `featureGates` beside `extraArgs`"),
        ],
        ComponentName::Proxy => &[
            ("cluster-cidr", "say it in `network.podCidrs`"),
            ("proxy-mode", "say it in `network.proxyMode`"),
            ("kubeconfig", "leave it out: keys and certificates are made for you"),
            ("feature-gates", "say it in `featureGates` beside `extraArgs`"),
        ],
        ComponentName::Kubelet => &[
            ("config", "say it in `kubelet`"),
            ("kubeconfig", "leave it out: keys and certificates are made for you"),
            ("bootstrap-kubeconfig", "leave it out: keys and certificates are made for you"),
            ("node-labels", "say it in `nodeLabels` of the pool"),
            ("register-with-taints", "say it in `taints` of the pool"),
            ("max-pods", "say it in `kubelet.maxPods`"),
            ("cluster-dns", "say it in `network.dnsAddress`"),
            ("cluster-domain", "say it in `network.clusterDomain`"),
            (
                "cloud-provider",
                "write `external` for a cloud controller of yours; else leave it out: it follows from the provider",
            ),
            ("provider-id", "leave it out: it follows from the provider"),
        ],
        ComponentName::Etcd => &[
            ("name", "leave it out: it follows from `etcd`"),
            ("data-dir", "leave it out: it follows from `etcd`"),
            ("initial-cluster", "leave it out: it follows from `etcd`"),
            ("initial-cluster-state", "leave it out: it follows from `etcd`"),
            ("initial-advertise-peer-urls", "leave it out: it follows from `etcd`"),
            ("listen-client-urls", "leave it out: it follows from `etcd`"),
            ("listen-peer-urls", "leave it out: it follows from `etcd`"),
            ("advertise-client-urls", "leave it out: it follows from `etcd`"),
            ("cert-file", "leave it out: keys and certificates are made for you"),
            ("key-file", "leave it out: keys and certificates are made for you"),
            ("trusted-ca-file", "leave it out: keys and certificates are made for you"),
        ],
        ComponentName::CloudController => &[
            ("cluster-name", "say it in `metadata.name`"),
            ("cluster-cidr", "say it in `network.podCidrs`"),
            ("kubeconfig", "leave it out: keys and certificates are made for you"),
        ],
    }
}

/// Components get no flags that Slipway sets itself, and limits that are not below their requests.
pub(super) fn check(context: &mut Context<'_>) {
    for (name, component) in &context.cluster.components {
        let path = format!("components.{name}");
        for (flag, value) in &component.extra_args {
            let place = join(&format!("{path}.extraArgs"), flag);
            let bare = flag.trim_start_matches('-');
            if bare.len() != flag.len() {
                let complaint = error(
                    RESERVED_ARGUMENT,
                    format!("the flag `{flag}` is written with hyphens in front"),
                    format!("write `{bare}`"),
                );
                context.at_key(&place, complaint);
            }
            let reserved = reserved_arguments(*name).iter().find(|(reserved, _)| *reserved == bare);
            // A cloud controller of the user's own: kubelets wait for it.
            let is_external = bare == "cloud-provider" && value == "external";
            if let Some((_, instead)) = reserved.filter(|_| !is_external) {
                let complaint = error(
                    RESERVED_ARGUMENT,
                    format!("Slipway sets the flag `{bare}` of {name} itself"),
                    (*instead).to_owned(),
                );
                context.at_key(&place, complaint);
            }
        }
        let resources = &component.resources;
        for (what, request, limit) in [
            ("cpu", &resources.cpu_request, &resources.cpu_limit),
            ("memory", &resources.memory_request, &resources.memory_limit),
        ] {
            if let (Some(request), Some(limit)) = (request, limit)
                && limit.to_f64() < request.to_f64()
            {
                let complaint = error(
                    CONTRADICTION,
                    format!("the {what} limit {limit} of {name} is below its request {request}"),
                    format!("write a `{what}Limit` of at least {request}"),
                );
                context.at(&format!("{path}.resources.{what}Limit"), complaint);
            }
        }
    }
    kubelets(context);
}

fn kubelets(context: &mut Context<'_>) {
    let cluster = context.cluster;
    let pools = cluster.pools.iter().map(|pool| (format!("pools[{}].kubelet", pool.name), &pool.kubelet));
    let all: Vec<_> = [("kubelet".to_owned(), &cluster.kubelet)].into_iter().chain(pools).collect();
    for (path, kubelet) in all {
        if let (Some(low), Some(high)) =
            (kubelet.image_gc_low_threshold_percent, kubelet.image_gc_high_threshold_percent)
            && low >= high
        {
            let complaint = error(
                CONTRADICTION,
                format!("images are removed from {high} % down to {low} %, which is not lower"),
                "write an `imageGCLowThresholdPercent` below `imageGCHighThresholdPercent`",
            );
            let place = format!("{path}.imageGCLowThresholdPercent");
            if context.is_written(&place) {
                context.at(&place, complaint);
            }
        }
        for (field, allowed, value) in [
            ("cpuManagerPolicy", &["none", "static"][..], &kubelet.cpu_manager_policy),
            (
                "topologyManagerPolicy",
                &["none", "best-effort", "restricted", "single-numa-node"][..],
                &kubelet.topology_manager_policy,
            ),
        ] {
            let place = format!("{path}.{field}");
            if let Some(value) = value
                && !allowed.contains(&value.as_str())
                && context.is_written(&place)
            {
                let complaint = error(
                    CONTRADICTION,
                    format!("the kubelet has no {field} `{value}`"),
                    format!("allowed are {}", allowed.join(", ")),
                );
                context.at(&place, complaint);
            }
        }
        for signal in kubelet.eviction_soft.keys() {
            let place = join(&format!("{path}.evictionSoft"), signal);
            if !kubelet.eviction_soft_grace_period.contains_key(signal) && context.is_written(&place) {
                let complaint = error(
                    CONTRADICTION,
                    format!("the soft eviction signal `{signal}` has no grace period"),
                    format!("add `evictionSoftGracePeriod: {{ {signal}: 1m30s }}`"),
                );
                context.at_key(&place, complaint);
            }
        }
    }
}
