//! The provider's own settings of a cluster and its pools, from `provider.config` and `providerConfig`.
//!
//! Their names are those of kOps' documents. Settings from such a document are under the key `kops`, in their
//! place in `spec`; a spec of Slipway has the same settings without that key. If both are given, the outer
//! one counts.

mod cluster;
mod pool;
mod schema;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;
use slipway_cluster_input::path::{item_path, join};
use slipway_resource::path::Segment;
use slipway_resource::validate::{Misfit, misfits};
use slipway_resource::{Attribute, ErrorClass, ProviderError};

pub use cluster::{
    ApiLoadBalancer, Bastion, ClusterSettings, Iam, IssuerDiscovery, KeyService, LoadBalancerSubnet,
    Profiles, ServiceAccountPermissions, SubnetSettings,
};
pub use pool::{
    Containerd, ExternalLoadBalancer, InstanceMetadata, NvidiaGpu, PoolSettings, VolumeMount,
    WarmPoolSettings,
};
pub use schema::{cluster_schema, pool_schema};

/// Reads settings; `field` names them in messages, `schema` finds the one that does not have its form.
///
/// # Errors
/// `invalid` when they do not have their form.
pub fn read<T: DeserializeOwned + Default>(
    field: &str,
    schema: fn() -> BTreeMap<String, Attribute>,
    config: &Value,
) -> Result<T, ProviderError> {
    let mut merged = config.get("kops").cloned().unwrap_or(Value::Null);
    if let Value::Object(own) = config {
        let mut own = own.clone();
        own.remove("kops");
        merge(&mut merged, Value::Object(own));
    }
    if merged.is_null() {
        return Ok(T::default());
    }
    serde_json::from_value(merged.clone()).map_err(|error| {
        // kOps has fields beside those that are read, and its documents are checked where they are loaded.
        let found = misfits(&schema(), &slipway_resource::Value::from_json(&merged));
        let (place, message) = match found.iter().find(|misfit| misfit.message != UNKNOWN) {
            Some(misfit) => (place(field, misfit, &merged), misfit.message.clone()),
            None => (field.to_owned(), format!("does not have its form: {error}")),
        };
        ProviderError::new(ErrorClass::Invalid, format!("{place}: {message}"))
            .with_field(place)
            .with_hint("write a value of that kind, or leave it out")
    })
}

/// The message about a field that the schema does not have.
const UNKNOWN: &str = "is not known";

/// The path of what does not fit, in the words of a spec's places: items of lists go by their names.
pub(crate) fn place(field: &str, misfit: &Misfit, config: &Value) -> String {
    let mut path = field.to_owned();
    let mut at = Some(config);
    for segment in misfit.path.segments() {
        path = match segment {
            Segment::Key(key) => join(&path, key),
            Segment::Index(index) => {
                let name =
                    |item: &'_ Value| item.get("name").and_then(Value::as_str).unwrap_or("").to_owned();
                let names: Vec<String> = at
                    .and_then(Value::as_array)
                    .map(|items| items.iter().map(name).collect())
                    .unwrap_or_default();
                item_path(&path, &names.iter().map(String::as_str).collect::<Vec<_>>(), *index)
            }
        };
        at = match segment {
            Segment::Key(key) => at.and_then(|value| value.get(key)),
            Segment::Index(index) => at.and_then(|value| value.get(index)),
        };
    }
    path
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
