//! Plans a cluster on the simulated cloud, and carries the plan out.

use std::error::Error;
use std::sync::Arc;

use slipway_operations::{Actor, Approve, Environment, Manner, Opened, Request, Specs, Terms, bring};
use slipway_state_store::MemoryBackend;
use slipway_trust::{Mode, Policy, Settings};

const SPEC: &str =
    "{apiVersion: slipway.dev/v1alpha1, kind: Cluster, metadata: {name: demo}, spec: {region: sim-1,
  kubernetesVersion: 1.35.2, zones: [sim-1a], provider: {name: sim, config: {directory: CLOUD}}}}
--- {apiVersion: slipway.dev/v1alpha1, kind: NodePool, metadata: {name: control-plane},
  spec: {role: controlPlane, machineType: sim.medium}}";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("spec.yaml");
    std::fs::write(&file, SPEC.replace("CLOUD", &folder.path().join("cloud").display().to_string()))?;

    let policy = Policy::new(Settings::default(), Mode::Own);
    let environment =
        Environment::new(Actor::here("ada")?, policy).with_store(Arc::new(MemoryBackend::new()), "memory");
    for spec in Specs::read(&environment.policy, &[file])?.clusters {
        let opened = Opened::open(&environment, spec).await?;
        let planned = opened.plan(&Request::apply()).await?;
        assert!(!planned.plan.is_empty(), "nothing exists yet");

        let (terms, approve) = (Terms::default(), Approve::default());
        let outcome = bring(&environment, &opened, &Request::apply(), Manner::new(&terms, &approve)).await?;
        assert!(outcome.is_complete(), "every step is done");
    }
    Ok(())
}
