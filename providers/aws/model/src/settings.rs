//! The provider's own settings of a cluster and its pools, from `provider.config` and `providerConfig`.
//!
//! Their names are those that kOps' documents have. What is read from such a document comes under the key `kops`, where
//! it stood in `spec`; a spec of Slipway's own writes the same without that key. What both say, the outer one decides.

mod cluster;
mod pool;
mod schema;

use serde::de::DeserializeOwned;
use serde_json::Value;
use slipway_resource::{ErrorClass, ProviderError};

pub use cluster::{
    ApiLoadBalancer, Bastion, ClusterSettings, Iam, IssuerDiscovery, LoadBalancerSubnet, Profiles,
    ServiceAccountPermissions, SubnetSettings,
};
pub use pool::{
    Containerd, ExternalLoadBalancer, InstanceMetadata, NvidiaGpu, PoolSettings, VolumeMount,
    WarmPoolSettings,
};
pub use schema::{cluster_schema, pool_schema};

/// Reads settings; `field` names them in messages.
///
/// # Errors
/// `invalid` when they do not have their form.
pub fn read<T: DeserializeOwned + Default>(field: &str, config: &Value) -> Result<T, ProviderError> {
    let mut merged = config.get("kops").cloned().unwrap_or(Value::Null);
    if let Value::Object(own) = config {
        let mut own = own.clone();
        own.remove("kops");
        merge(&mut merged, Value::Object(own));
    }
    if merged.is_null() {
        return Ok(T::default());
    }
    serde_json::from_value(merged).map_err(|error| {
        ProviderError::new(ErrorClass::Invalid, format!("{field} does not have its form: {error}"))
    })
}

/// Puts what `over` says over what is there.
fn merge(under: &mut Value, over: Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                merge(under.entry(key).or_insert(Value::Null), value);
            }
        }
        (under, over) if !over.is_null() => *under = over,
        _ => {}
    }
}
