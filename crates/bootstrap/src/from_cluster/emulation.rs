//! A control plane that emulates an earlier release, as in the first stage of a reversible upgrade.
//!
//! The flag is that of KEP-4330. API servers store objects in forms that the release before the emulated one can read, which is their
//! default (`--min-compatibility-version` of later releases), so that their programs can be exchanged for those of the emulated release.

use slipway_cluster_input::ClusterInput;

use crate::configuration::{Argument, ClusterSettings, Etcd};
use crate::version::{core_dns_tag, etcd_tag};

/// The flag of API servers, controller managers and schedulers.
pub const FLAG: &str = "emulated-version";

/// Has the components of a control plane emulate the release that the cluster names. kube-proxy, CoreDNS and etcd stay at that
/// release.
pub(super) fn emulate(cluster: &ClusterInput, settings: &mut ClusterSettings) {
    let Some(emulated) = &cluster.emulated_version else { return };
    let flag = Argument::new(FLAG, format!("{}.{}", emulated.major, emulated.minor));
    let components =
        [&mut settings.api_server.component, &mut settings.controller_manager, &mut settings.scheduler];
    for component in components {
        component.extra_args.push(flag.clone());
    }
    settings.proxy.version = Some(emulated.clone());
    let dns = core_dns_tag(emulated);
    if settings.dns.image.tag.is_none() && dns != core_dns_tag(&settings.kubernetes_version) {
        settings.dns.image.tag = Some(dns.to_owned());
    }
    let tag = etcd_tag(emulated);
    if let Etcd::Local(local) = &mut settings.etcd
        && local.image.tag.is_none()
        && tag != etcd_tag(&settings.kubernetes_version)
    {
        local.image.tag = Some(tag.to_owned());
    }
}
