//! Which control plane begins the cluster: the first that creates an object in the state store.

use serde::{Deserialize, Serialize};
use slipway_resource::ClusterUid;
use slipway_state_store::backend::Error as BackendError;
use slipway_state_store::{Backend, Key};

use super::Stop;
use crate::error::CommandError;

/// The control plane that begins a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Founder {
    /// The name of its node.
    pub node: String,
    /// Its address.
    pub address: String,
    /// The id of the machine (machine-id(5)): another machine of the same name is not the founder.
    pub machine: String,
}

/// The control plane that begins the cluster: this one, when no other one was first. Repeated, it has the same result.
pub(super) async fn founder(
    backend: &dyn Backend,
    cluster: &str,
    uid: &ClusterUid,
    own: &Founder,
) -> Result<Founder, Stop> {
    let failed = |error: BackendError| CommandError::from(slipway_state_store::Error::from(error));
    let damaged = |error: serde_json::Error| {
        CommandError::new(
            "NODE0018",
            format!("the record of the first control plane of {cluster} is damaged"),
        )
        .cause(error.to_string())
    };
    let key = Key::new(format!("{cluster}/boot/{uid}/founder")).map_err(failed)?;
    let bytes = serde_json::to_vec(own).map_err(damaged)?;
    match backend.create(&key, bytes.into()).await {
        Ok(_) | Err(BackendError::AlreadyExists { .. } | BackendError::OutcomeUnknown { .. }) => {}
        Err(error) => return Err(failed(error).into()),
    }
    let Some((bytes, _)) = backend.get(&key).await.map_err(failed)? else {
        return Err(Stop::Waits(format!("waits for the record of the first control plane of {cluster}")));
    };
    Ok(serde_json::from_slice(&bytes).map_err(damaged)?)
}

#[cfg(test)]
mod tests {
    use slipway_state_store::MemoryBackend;

    use super::*;

    #[tokio::test]
    async fn one_of_several_control_planes_begins_the_cluster() {
        let backend = MemoryBackend::new();
        let uid = ClusterUid::new("u1");
        let own = |number: u8| Founder {
            node: format!("n{number}"),
            address: format!("10.0.0.{number}"),
            machine: format!("{number}"),
        };
        let first = founder(&backend, "a", &uid, &own(1)).await.unwrap();
        assert_eq!(first, own(1));
        assert_eq!(founder(&backend, "a", &uid, &own(2)).await.unwrap(), own(1));
        assert_eq!(founder(&backend, "a", &uid, &own(1)).await.unwrap(), own(1));
        // A later cluster of the same name begins anew.
        assert_eq!(founder(&backend, "a", &ClusterUid::new("u2"), &own(2)).await.unwrap(), own(2));
    }
}
