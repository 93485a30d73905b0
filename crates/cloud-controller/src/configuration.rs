//! The configuration of the process, which `/configz` shows.

use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::arguments::Arguments;

/// The configuration in the form of Kubernetes' own cloud controller managers (`CloudControllerManagerConfiguration` of
/// `k8s.io/cloud-provider`), as far as this controller has it.
pub(crate) fn configuration(arguments: &Arguments) -> Json {
    let network = &arguments.network;
    let file = arguments.cloud_config.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    json!({"cloudcontrollermanager.config.k8s.io": {
        "Generic": {
            "Address": arguments.bind_address,
            "Controllers": arguments.controllers,
            "LeaderElection": {
                "LeaderElect": arguments.leader_elect,
                "LeaseDuration": text(arguments.leader_elect_lease_duration),
                "RenewDeadline": text(arguments.leader_elect_renew_deadline),
                "RetryPeriod": text(arguments.leader_elect_retry_period),
                "ResourceLock": "leases",
                "ResourceName": arguments.leader_elect_resource_name,
                "ResourceNamespace": arguments.leader_elect_resource_namespace,
            },
        },
        "KubeCloudShared": {
            "CloudProvider": {
                "Name": arguments.cloud_provider,
                "CloudConfigFile": file,
            },
            "ClusterName": arguments.cluster_name,
            "ClusterCIDR": network.cluster_cidr,
            "AllocateNodeCIDRs": network.allocate_node_cidrs,
            "CIDRAllocatorType": "RangeAllocator",
            "ConfigureCloudRoutes": network.configure_cloud_routes,
            "NodeMonitorPeriod": text(arguments.node_monitor_period),
            "RouteReconciliationPeriod": text(network.route_reconciliation_period),
        },
        "NodeController": {"ConcurrentNodeSyncs": arguments.concurrent_node_syncs},
        "ServiceController": {"ConcurrentServiceSyncs": arguments.concurrent_service_syncs},
        "NodeStatusUpdateFrequency": text(arguments.node_status_update_frequency),
    }})
}

/// A time span as Go writes it: `5m0s`, `1h0m0s`, `500ms`.
fn text(span: Duration) -> String {
    let (seconds, milliseconds) = (span.as_secs(), span.subsec_millis());
    if seconds == 0 {
        return format!("{milliseconds}ms");
    }
    let fraction = if milliseconds == 0 { String::new() } else { format!(".{milliseconds:03}") };
    let last = format!("{}{}s", seconds % 60, fraction.trim_end_matches('0'));
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => last,
        (0, minutes) => format!("{minutes}m{last}"),
        (hours, minutes) => format!("{hours}h{minutes}m{last}"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn spans_are_written_as_go_does() {
        let shown = |milliseconds| text(Duration::from_millis(milliseconds));
        assert_eq!(shown(500), "500ms");
        assert_eq!(shown(1_500), "1.5s");
        assert_eq!(shown(10_000), "10s");
        assert_eq!(shown(300_000), "5m0s");
        assert_eq!(shown(3_600_000), "1h0m0s");
    }

    #[test]
    fn the_configuration_has_the_names_of_kubernetes() {
        let flags = ["slipway-cloud-controller", "--cloud-provider=sim", "--cluster-name=demo"];
        let shown = configuration(&Arguments::try_parse_from(flags).unwrap());
        let shared = &shown["cloudcontrollermanager.config.k8s.io"]["KubeCloudShared"];
        assert_eq!(shared["CloudProvider"], json!({"Name": "sim", "CloudConfigFile": ""}));
        assert_eq!((&shared["ClusterName"], &shared["NodeMonitorPeriod"]), (&json!("demo"), &json!("5s")));
    }
}
