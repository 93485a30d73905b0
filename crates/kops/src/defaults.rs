//! kOps' own defaults, applied where they differ from Slipway's, so that a cluster of kOps does not change.
//! Each names its field of kOps (v1alpha2).

use slipway_spec::{
    model::{Drain, Eviction, Kubelet, Role, Rollout, Strategy},
    value::{Amount, Duration},
};

/// `Cluster spec.networkCIDR` on AWS, for a network that the cluster makes.
pub(crate) const NETWORK_CIDR: &str = "172.20.0.0/16";

/// `Cluster spec.nonMasqueradeCIDR`.
pub(crate) const NON_MASQUERADE_CIDR: &str = "100.64.0.0/10";

/// `Cluster spec.serviceClusterIPRange` of a cluster whose `nonMasqueradeCIDR` is `::/0`.
pub(crate) const SERVICE_CIDR_IPV6: &str = "fd00:5e4f:ce::/108";

/// `Cluster spec.clusterDNSDomain`.
pub(crate) const CLUSTER_DOMAIN: &str = "cluster.local";

/// The port of kOps' API servers (`Cluster spec.kubeAPIServer.securePort`, in front of it the load balancer's).
pub(crate) const API_PORT: u16 = 443;

/// `Cluster spec.etcdClusters[].etcdMembers[].volumeSize`, in GiB.
pub(crate) const ETCD_VOLUME_GIB: u32 = 20;

/// `Cluster spec.etcdClusters[].memoryRequest`.
pub(crate) const ETCD_MEMORY: &str = "100Mi";

/// `Cluster spec.etcdClusters[].cpuRequest`: 200m for `main`, 100m for the others.
pub(crate) fn etcd_cpu(cluster: &str) -> &'static str {
    if cluster == "main" { "200m" } else { "100m" }
}

/// `volumeType`, `rootVolumeType` and `volumes[].type` on AWS.
pub(crate) const VOLUME_TYPE: &str = "gp3";

/// `volumeIops` and `rootVolumeIops` of gp3.
pub(crate) const GP3_IOPS: u32 = 3000;

/// `volumeThroughput` and `rootVolumeThroughput` of gp3, in MiB per second.
pub(crate) const GP3_THROUGHPUT: u32 = 125;

/// `Cluster spec.api.loadBalancer.sslPolicy` on AWS.
pub(crate) const TLS_POLICY: &str = "ELBSecurityPolicy-2016-08";

/// `InstanceGroup spec.machineType` on AWS.
pub(crate) const fn machine_type(role: Role) -> &'static str {
    match role {
        Role::Bastion => "t3.micro",
        Role::ControlPlane | Role::ApiServer | Role::Worker => "t3.medium",
    }
}

/// `InstanceGroup spec.rootVolumeSize`, in GiB.
pub(crate) const fn root_volume_gib(role: Role) -> u32 {
    match role {
        Role::ControlPlane | Role::ApiServer => 64,
        Role::Worker => 128,
        Role::Bastion => 32,
    }
}

/// `InstanceGroup spec.minSize` and `spec.maxSize`.
pub(crate) const fn size(role: Role) -> u32 {
    match role {
        Role::Worker | Role::ApiServer => 2,
        Role::ControlPlane | Role::Bastion => 1,
    }
}

/// `Cluster spec.api` of a cluster whose documents leave it out: records of the control plane's nodes where these are
/// public, a load balancer where they are not.
pub(crate) const fn has_load_balancer(control_plane_is_public: bool, makes_records: bool) -> bool {
    !control_plane_is_public || !makes_records
}

/// `Cluster spec.kubeAPIServer.apiAudiences`.
pub(crate) const AUDIENCE: &str = "kubernetes.svc.default";

/// `Cluster spec.kubelet`: anonymous requests are refused, pods have 30 s to end when a node shuts down (10 s of them
/// for critical ones), and image file systems are full at 90 percent.
pub(crate) fn kubelet() -> Kubelet {
    Kubelet {
        eviction_hard: eviction(),
        shutdown_grace_period: Some(Duration::from_secs(30)),
        extra_config: serde_json::json!({
            "authentication": { "anonymous": { "enabled": false } },
            "shutdownGracePeriodCriticalPods": "10s",
        }),
        ..Kubelet::default()
    }
}

fn eviction() -> Eviction {
    [
        ("imagefs.available", "10%"),
        ("imagefs.inodesFree", "5%"),
        ("memory.available", "100Mi"),
        ("nodefs.available", "10%"),
        ("nodefs.inodesFree", "5%"),
    ]
    .map(|(signal, threshold)| (signal.to_owned(), threshold.to_owned()))
    .into()
}

/// `rollingUpdate` of an instance group, and the flags of `kops rolling-update cluster`. On AWS a worker is
/// added before one is deleted; control planes, and machines of other providers, are replaced one at a time.
/// Draining and becoming ready have 15 minutes (`--drain-timeout`, `--validation-timeout`), with 15 s between
/// two nodes (`--node-interval`).
pub(crate) fn rollout(role: Role, provider: &str, karpenter: bool) -> Rollout {
    let surges = provider == "aws" && !karpenter && role != Role::ControlPlane;
    Rollout {
        strategy: Strategy::Replace,
        max_surge: Amount::Count(u32::from(surges)),
        max_unavailable: Amount::Count(u32::from(!surges)),
        drain: Drain::default(),
        ready_timeout: Duration::from_mins(15),
        settle: Duration::from_secs(15),
    }
}

/// Add-ons that kOps installs without being asked (`kubeDNS`, and on AWS `nodeTerminationHandler.enabled` and
/// `cloudConfig.awsEBSCSIDriver.enabled`).
pub(crate) fn addons(provider: &str) -> &'static [&'static str] {
    match provider {
        "aws" => &["coredns", "node-termination-handler", "aws-ebs-csi-driver"],
        _ => &["coredns"],
    }
}
