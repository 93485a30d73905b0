//! The recorded state of a cluster.

use slipway_engine::State;
use slipway_plan::Snapshot;
use slipway_spec::model::Cluster;
use slipway_spec::stored;
use slipway_spec::v1alpha1::keep_order;
use slipway_spec::value::KubernetesVersion;
use slipway_state_store::{Backend, ClusterName, Head};

use crate::environment::Environment;
use crate::error::Error;
use crate::protection::Known;
use crate::reversible;
use crate::spec::ClusterSpec;
use crate::version;

/// A cluster as it was applied last, by its state.
///
/// # Errors
/// When the state has no such cluster, or not its spec.
pub async fn recorded(environment: &Environment, cluster: &str) -> Result<ClusterSpec, Error> {
    let store = environment.store(cluster)?;
    let Some(state) = State::read(&*store.backend, cluster).await? else {
        return Err(Error::UnknownCluster { cluster: cluster.to_owned(), place: store.place.clone() });
    };
    let spec = spec_of(&state.snapshot)?;
    let spec = spec.ok_or_else(|| Error::NoRecordedSpec { cluster: cluster.to_owned() })?;
    Ok(ClusterSpec::recorded(&environment.policy, spec))
}

/// The version that a cluster had before an upgrade that did not complete, and the version of the upgrade. `None` if there is no
/// such upgrade.
///
/// # Errors
/// When the state cannot be read.
pub async fn unfinished_upgrade(
    environment: &Environment,
    cluster: &str,
) -> Result<Option<(KubernetesVersion, KubernetesVersion)>, Error> {
    let store = environment.store(cluster)?;
    let Some(state) = State::read(&*store.backend, cluster).await? else { return Ok(None) };
    let Some(begun) = spec_of(&state.snapshot)? else { return Ok(None) };
    let complete = version::unfinished(&state.head, &begun);
    Ok(complete.map(|complete| (complete, begun.kubernetes_version)))
}

/// The cluster that a snapshot has the spec of; `None` when it has no spec.
///
/// # Errors
/// [`Error::UnreadableSpec`] when this version cannot read it.
pub fn spec_of(snapshot: &Snapshot) -> Result<Option<Cluster>, Error> {
    stored::read(&snapshot.spec)
        .map_err(|source| Error::UnreadableSpec { cluster: snapshot.cluster.clone(), source })
}

/// A spec with zones and subnets in the order of the applied spec: another order in its files changes nothing. It has the stage of a
/// reversible upgrade too, which files do not have.
pub(crate) fn in_applied_order(spec: ClusterSpec, state: Option<&State>) -> ClusterSpec {
    // Where the recorded spec is needed, it is an error that it cannot be read.
    let applied = state.and_then(|state| spec_of(&state.snapshot).ok().flatten());
    in_order_of(spec, applied.as_ref())
}

/// A spec in the order of an applied one. That of a saved plan has this order already, and does not tell which places of members of etcd
/// its files name.
fn in_order_of(mut spec: ClusterSpec, applied: Option<&Cluster>) -> ClusterSpec {
    match applied.filter(|_| !spec.recorded) {
        Some(applied) => {
            keep_order(&mut spec.cluster, &spec.sources, applied);
            reversible::with_stage(spec, applied)
        }
        None => spec,
    }
}

/// The head of a cluster, also a deleted cluster's tombstone.
///
/// # Errors
/// When it cannot be read.
pub(crate) async fn head(backend: &dyn Backend, cluster: &str) -> Result<Option<Head>, Error> {
    let name = ClusterName::new(cluster)?;
    Ok(slipway_state_store::read_head(backend, &name).await?.map(|(head, _)| head))
}

/// The generation of a cluster's head.
///
/// # Errors
/// When the head cannot be read.
pub async fn generation(backend: &dyn Backend, cluster: &str) -> Result<Option<u64>, Error> {
    Ok(head(backend, cluster).await?.map(|head| head.generation.0))
}

/// The last generation of a cluster, without what runs that did not complete have done since.
pub(crate) async fn committed(backend: &dyn Backend, cluster: &str) -> Result<Option<Snapshot>, Error> {
    let view = slipway_state_store::read(backend, &ClusterName::new(cluster)?).await?;
    let bytes = view.filter(|view| !view.head.deleted).and_then(|view| view.snapshot);
    Ok(bytes.map(|bytes| State::snapshot_of(cluster, &bytes)).transpose()?)
}

/// The recorded protection of a cluster. Reads only the remains of an incomplete run beside the state.
pub(crate) async fn protection_of(
    backend: Option<&dyn Backend>,
    cluster: &str,
    state: Option<&State>,
) -> Result<Known, Error> {
    let (Some(backend), Some(state)) = (backend, state) else { return Ok(Known::default()) };
    if state.is_interrupted() {
        return Ok(Known::of(committed(backend, cluster).await?.as_ref(), state));
    }
    Ok(Known::of(state.head.snapshot.is_some().then_some(&state.snapshot), state))
}

/// A cluster as providers receive it.
pub(crate) fn to_provider(cluster: &Cluster) -> Result<serde_json::Value, Error> {
    cluster.to_provider().map_err(|error| Error::internal("the spec cannot be written as JSON", error))
}

/// A cluster as the state keeps it.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn to_json(cluster: &Cluster) -> Result<serde_json::Value, Error> {
    stored::write(cluster).map_err(|error| Error::internal("the spec cannot be written as JSON", error))
}

#[cfg(test)]
mod tests {
    use slipway_spec::load_files;
    use slipway_spec::source::SourceFile;
    use slipway_trust::Policy;

    use super::*;

    #[test]
    fn the_spec_of_a_saved_plan_stays_as_it_is() {
        let text = "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: { name: a }\n\
                    spec:\n  provider: { name: sim }\n  region: sim-1\n  kubernetesVersion: 1.35.2\n  zones: [sim-1a, sim-1b]\n\
                    ---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: { name: control-plane }\n\
                    spec: { role: controlPlane, machineType: sim.medium, size: { fixed: 1 } }\n";
        let mut loaded = load_files(vec![SourceFile::new("a.yaml", text)], &[]);
        assert!(loaded.is_valid(), "{:?}", loaded.diagnostics);
        let applied = loaded.clusters.remove(0);
        let mut moved = applied.clone();
        moved.etcd[0].members[0].subnet = Some("sim-1b".to_owned());
        assert_ne!(moved, applied);
        let saved = ClusterSpec::recorded(&Policy::default(), moved.clone());
        assert_eq!(in_order_of(saved, Some(&applied)).cluster, moved);
    }
}
