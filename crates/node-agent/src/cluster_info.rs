//! `cluster-info` of a running cluster, and its signatures: made here, so that no controller is needed for them.

use serde_json::json;
use slipway_bootstrap::discovery::{self, KUBECONFIG, SIGNATURE_PREFIX};
use slipway_bootstrap::kubeconfig::{Cluster, Kubeconfig};
use slipway_bootstrap::token::Token;

use super::api::Api;
use super::discovery::texts;
use crate::code;
use crate::error::Error;

const PLACE: &str = "/api/v1/namespaces/kube-public/configmaps/cluster-info";

/// The public information about a cluster.
pub struct ClusterInfo {
    /// The exact text of its kubeconfig.
    pub text: String,
    /// The cluster that the kubeconfig names.
    pub cluster: Cluster,
}

/// Reads the ConfigMap `cluster-info`.
pub async fn read(api: &Api) -> Result<ClusterInfo, Error> {
    let data = texts(&api.get(PLACE).await?.body);
    let text = data.get(KUBECONFIG).cloned().unwrap_or_default();
    let cluster = Kubeconfig::parse(&text).and_then(|kubeconfig| kubeconfig.cluster()).map_err(|error| {
        Error::new(code::CLUSTER_INFO, "the cluster's cluster-info cannot be used").cause(error.to_string())
    })?;
    Ok(ClusterInfo { text, cluster })
}

/// Signs cluster-info with a token. A cluster without cluster-info is left unchanged.
pub async fn sign(api: &Api, token: &Token) -> Result<(), Error> {
    let info = match read(api).await {
        Ok(info) => info,
        Err(error) => {
            tracing::warn!(?error, "there is no cluster-info to sign");
            return Ok(());
        }
    };
    let key = format!("{SIGNATURE_PREFIX}{}", token.id());
    api.merge(PLACE, &json!({"data": {key: discovery::signature(&info.text, token)}})).await?;
    Ok(())
}

/// Removes the signature with a token from cluster-info.
pub async fn unsign(api: &Api, id: &str) -> Result<(), Error> {
    match api.merge(PLACE, &json!({"data": {format!("{SIGNATURE_PREFIX}{id}"): null}})).await {
        Ok(_) => Ok(()),
        Err(error) if error.status() == Some(404) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
