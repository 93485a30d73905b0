//! Which providers work on one cluster: its own, and those that are linked in.

use std::sync::Arc;

use slipway_builtin::{Builtin, Vault};
use slipway_plan::Providers;
use slipway_resource::provider::SessionRequest;
use slipway_resource::{Schema, Value};

use crate::error::CommandError;
use crate::providers;

/// Whether a provider does the work inside machines that exist already: it then has the types of a node, for many
/// hosts. What is in those machines is then the core's to say.
pub(crate) fn works_on_hosts(schema: &Schema) -> bool {
    schema.types.get("static_pod").is_some_and(|kind| kind.attributes.contains_key("host"))
}

/// Adds what a cluster needs beside its own provider.
pub(crate) async fn complete(
    providers: &mut Providers,
    vault: &Arc<Vault>,
    offline: bool,
) -> Result<(), CommandError> {
    if !providers.iter().any(|(_, handle)| works_on_hosts(&handle.schema)) {
        return Ok(());
    }
    let request = SessionRequest { config: Value::Null, region: None, offline };
    providers::add(providers, slipway_builtin::NAME, &Builtin::new(vault.clone()), request).await
}
