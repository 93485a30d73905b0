//! The network, its subnets, gateways and routes.

use slipway_resource::ProviderError;

use super::build::Builder;

/// Adds the network with everything in it.
pub(super) fn network(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    let _ = builder;
    Ok(())
}
