//! Assumptions of an offline plan.

use slipway_plan::{Observations, Providers};
use slipway_resource::{Desired, Observation, Observed, Value};

/// Observations for an offline plan: the objects that the spec names as existing exist, and attributes that
/// only the cloud knows are unknown.
pub(super) fn observations(desired: &[Desired], providers: &Providers) -> Observations {
    let mut observations = Observations::default();
    for desired in desired {
        let Some(identity) = &desired.lifecycle.existing else { continue };
        let Some((_, _, kind)) = providers.of_type(desired.address.kind()) else { continue };
        let written = |name: &str| desired.attributes.get(name).filter(|value| !value.is_null()).cloned();
        let attributes =
            kind.attributes.keys().map(|name| (name.clone(), written(name).unwrap_or(Value::Unknown)));
        observations.add_read(Observed {
            address: desired.address.clone(),
            identity: identity.clone(),
            token: None,
            owner: None,
            observation: Observation::Present(Value::Map(attributes.collect())),
        });
    }
    observations
}
