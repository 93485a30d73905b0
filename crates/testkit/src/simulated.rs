//! Specs of clusters in the simulated cloud.

use std::path::Path;

/// The spec of a cluster with one control plane and this number of workers. Its cloud is in a folder, and one of the cloud's seconds
/// takes `time_scale` real ones. Without workers, it has no pool for them.
#[must_use]
pub fn spec(name: &str, cloud: &Path, time_scale: f64, workers: u32) -> String {
    let cluster = format!(
        "apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: {{name: {name}}}
spec:
  provider: {{name: sim, config: {{directory: {}, timeScale: {time_scale}}}}}
  region: sim-1
  kubernetesVersion: 1.35.2
  zones: [sim-1a]
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: {{name: control-plane}}
spec: {{role: controlPlane, machineType: sim.medium}}
",
        cloud.display()
    );
    let pool = format!(
        "---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: {{name: workers}}
spec: {{machineType: sim.medium, size: {{fixed: {workers}}}}}
"
    );
    if workers == 0 { cluster } else { cluster + &pool }
}
