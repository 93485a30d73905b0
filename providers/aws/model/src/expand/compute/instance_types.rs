//! Properties of instance types by their names, for offline plans.

use slipway_cluster_input::NodePool;

use crate::expand::addons;
use crate::expand::build::Builder;

/// Types of machines with disks of their own that are not NVMe: these must be mapped to appear. Newer types map theirs
/// themselves. From the public list of instance store volumes.
const DISKS: &[(&str, u32)] = &[
    ("c1.medium", 1),
    ("c1.xlarge", 4),
    ("c3.large", 2),
    ("c3.xlarge", 2),
    ("c3.2xlarge", 2),
    ("c3.4xlarge", 2),
    ("c3.8xlarge", 2),
    ("cc2.8xlarge", 4),
    ("cr1.8xlarge", 2),
    ("d2.xlarge", 3),
    ("d2.2xlarge", 6),
    ("d2.4xlarge", 12),
    ("d2.8xlarge", 24),
    ("g2.2xlarge", 1),
    ("g2.8xlarge", 2),
    ("h1.2xlarge", 1),
    ("h1.4xlarge", 2),
    ("h1.8xlarge", 4),
    ("h1.16xlarge", 8),
    ("hs1.8xlarge", 24),
    ("i2.xlarge", 1),
    ("i2.2xlarge", 2),
    ("i2.4xlarge", 4),
    ("i2.8xlarge", 8),
    ("m1.small", 1),
    ("m1.medium", 1),
    ("m1.large", 2),
    ("m1.xlarge", 4),
    ("m2.xlarge", 1),
    ("m2.2xlarge", 1),
    ("m2.4xlarge", 2),
    ("m3.medium", 1),
    ("m3.large", 1),
    ("m3.xlarge", 2),
    ("m3.2xlarge", 2),
    ("r3.large", 1),
    ("r3.xlarge", 1),
    ("r3.2xlarge", 1),
    ("r3.4xlarge", 1),
    ("r3.8xlarge", 2),
    ("x1.16xlarge", 1),
    ("x1.32xlarge", 2),
    ("x1e.xlarge", 1),
    ("x1e.2xlarge", 1),
    ("x1e.4xlarge", 1),
    ("x1e.8xlarge", 1),
    ("x1e.16xlarge", 1),
    ("x1e.32xlarge", 2),
];

/// Families with processors of NVIDIA.
const NVIDIA: &[&str] = &[
    "g2", "g3", "g3s", "g4dn", "g5", "g5g", "g6", "g6e", "g6f", "gr6", "gr6f", "p2", "p3", "p3dn", "p4d",
    "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300",
];

/// How many instance store disks of a machine must be mapped: by the account, or by the name of the type.
pub(super) fn disks(builder: &Builder<'_>, machine: &str) -> u32 {
    match builder.catalog.instance_types.get(machine) {
        Some(known) => known.instance_store_disks,
        None => DISKS.iter().find(|(name, _)| *name == machine).map_or(0, |(_, count)| *count),
    }
}

/// Whether a pool's nodes get the driver for NVIDIA's processors.
pub(crate) fn has_nvidia(builder: &Builder<'_>, pool: &NodePool) -> bool {
    let family = pool.machine_type.as_deref().and_then(|machine| machine.split('.').next());
    let own = builder.pool_settings(pool).containerd.nvidia_gpu.enabled;
    let wanted = own || addons::is_enabled(builder.cluster, "nvidia");
    wanted && family.is_some_and(|family| NVIDIA.contains(&family))
}
