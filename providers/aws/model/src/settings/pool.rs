use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Settings of a pool.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolSettings {
    /// The instance profile.
    pub iam: PoolIam,
    /// An existing security group in place of the role's, by id.
    pub security_group_override: Option<String>,
    /// `default`, `dedicated` or `host`.
    pub tenancy: Option<String>,
    /// Whether metrics come every minute.
    pub detailed_instance_monitoring: bool,
    /// `standard` or `unlimited`.
    pub cpu_credits: Option<String>,
    /// The instance metadata service.
    pub instance_metadata: InstanceMetadata,
    /// Whether the cloud never takes a machine away when the pool shrinks.
    pub instance_protection: bool,
    /// The time after which a machine is replaced, as in `48h20m`.
    pub max_instance_lifetime: Option<String>,
    /// Load balancers that Slipway does not manage.
    pub external_load_balancers: Vec<ExternalLoadBalancer>,
    /// Suspended processes of the auto-scaling group.
    pub suspend_processes: Vec<String>,
    /// Whether spot machines at risk are replaced early.
    pub capacity_rebalance: Option<bool>,
    /// Whether the user data is compressed.
    pub compress_user_data: bool,
    /// Whether the instances are EBS-optimized.
    pub root_volume_optimization: Option<bool>,
    /// The duration of a request for a spot machine, in minutes.
    pub spot_duration_in_minutes: Option<i64>,
    /// `terminate`, `stop` or `hibernate`.
    pub instance_interruption_behavior: Option<String>,
    /// Whether the cluster autoscaler may change the pool's size.
    pub autoscale: Option<bool>,
    /// How much the cluster autoscaler prefers the pool, where its expander is `priority`.
    pub autoscale_priority: Option<i64>,
    /// `CloudGroup` for an auto-scaling group, `Karpenter` for machines that Karpenter makes.
    pub manager: Option<String>,
    /// Settings of a mix of machines that the model has no field for.
    pub mixed_instances_policy: MixedInstancesPolicy,
    /// Settings of a warm pool that the model has no field for.
    pub warm_pool: WarmPoolSettings,
    /// Parts of the container runtime.
    pub containerd: Containerd,
    /// Labels that the kubelet may not set itself.
    pub node_labels: BTreeMap<String, String>,
    /// How volumes are formatted and mounted.
    pub volume_mounts: Vec<VolumeMount>,
}

/// The instance profile.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolIam {
    /// An existing instance profile, by ARN.
    pub profile: Option<String>,
}

/// Parts of the container runtime.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Containerd {
    /// The driver for NVIDIA's processors.
    #[serde(rename = "nvidiaGPU")]
    pub nvidia_gpu: NvidiaGpu,
}

/// The driver for NVIDIA's processors.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NvidiaGpu {
    /// Whether the pool's machines get it, where they have such processors. The cluster's add-on is for all pools.
    pub enabled: bool,
}

/// The instance metadata service.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InstanceMetadata {
    /// `required` or `optional`.
    pub http_tokens: Option<String>,
    /// How many hops an answer may take.
    pub http_put_response_hop_limit: Option<i64>,
}

/// A load balancer that Slipway does not manage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExternalLoadBalancer {
    /// A classic load balancer, by name.
    pub load_balancer_name: Option<String>,
    /// A target group, by ARN.
    #[serde(alias = "targetGroupARN")]
    pub target_group_arn: Option<String>,
}

/// How a volume is formatted and mounted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeMount {
    /// The volume's device.
    pub device: String,
    /// The file system, as in `ext4`.
    pub filesystem: Option<String>,
    /// Options of the call that formats it.
    pub format_options: Vec<String>,
    /// Options of the mount.
    pub mount_options: Vec<String>,
}

/// Settings of a mix of machines that the model has no field for.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MixedInstancesPolicy {
    /// The requirements of machines, in place of a list of types.
    pub instance_requirements: Option<Value>,
    /// `prioritized` or `lowest-price`.
    pub on_demand_allocation_strategy: Option<String>,
}

/// Settings of a warm pool that the model has no field for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WarmPoolSettings {
    /// Images that machines of the pool pull in advance.
    pub additional_images: Vec<String>,
    /// How long a machine may take to prepare itself, in seconds.
    pub lifecycle_hook_timeout: Option<i64>,
}
