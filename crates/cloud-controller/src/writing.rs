//! Writes to Nodes.

use serde_json::Value as Json;
use slipway_controller::k8s_openapi::api::core::v1::Node;
use slipway_controller::kube;
use slipway_controller::kube::api::{DeleteParams, Patch, PatchParams};

use crate::context::Context;
use crate::node::name;

/// A write that had no effect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unwritten {
    /// The node has changed since it was read, or is gone.
    #[error("it has changed since it was read")]
    Changed,
    /// The API refused, or gave no answer.
    #[error(transparent)]
    Api(kube::Error),
}

impl From<kube::Error> for Unwritten {
    fn from(error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) if matches!(status.code, 404 | 409) => Self::Changed,
            _ => Self::Api(error),
        }
    }
}

impl Context {
    /// Patches a node that is as it was read.
    pub(crate) async fn patch(&self, node: &Node, patch: &Json) -> Result<Node, Unwritten> {
        Ok(self.nodes.patch(name(node), &PatchParams::default(), &Patch::Merge(patch)).await?)
    }

    /// Patches the status of a node that is as it was read.
    pub(crate) async fn patch_status(&self, node: &Node, patch: &Json) -> Result<Node, Unwritten> {
        Ok(self.nodes.patch_status(name(node), &PatchParams::default(), &Patch::Merge(patch)).await?)
    }

    /// Deletes a node, on conditions.
    pub(crate) async fn delete(&self, name: &str, parameters: &DeleteParams) -> Result<(), Unwritten> {
        self.nodes.delete(name, parameters).await?;
        Ok(())
    }
}
