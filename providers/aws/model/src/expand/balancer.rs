//! Load balancers: the API's and the bastions', each with its target groups and listeners.

mod api;
mod bastion;
mod parts;
mod place;

use slipway_resource::ProviderError;

use super::build::Builder;

use place::address_type;
pub(super) use place::{bastion_scheme, subnets_for, subnets_of};

/// Adds the load balancers that the cluster has.
pub(super) fn balancers(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    api::api(builder)?;
    bastion::bastion(builder);
    Ok(())
}
