//! The settings of the cluster's add-ons.

use serde_json::Value;
use slipway_cluster_input::{Addon, ClusterInput};

/// The add-on of this name, whether it is enabled or not.
pub(crate) fn addon<'a>(cluster: &'a ClusterInput, name: &str) -> Option<&'a Addon> {
    cluster.addons.iter().find(|addon| addon.name == name)
}

/// Whether an add-on is installed.
pub(crate) fn is_enabled(cluster: &ClusterInput, name: &str) -> bool {
    addon(cluster, name).is_some_and(|addon| addon.enabled)
}

/// A setting of an add-on, by kOps' name of it. Settings of a kOps document are under the key `kops`; the
/// same name beside that key takes precedence.
pub(crate) fn setting<'a>(cluster: &'a ClusterInput, name: &str, key: &str) -> Option<&'a Value> {
    let config = &addon(cluster, name)?.config;
    let given = |config: &'a Value| config.get(key).filter(|value| !value.is_null());
    given(config).or_else(|| given(config.get("kops")?))
}

/// A setting that is true or false.
pub(crate) fn flag(cluster: &ClusterInput, name: &str, key: &str, default: bool) -> bool {
    setting(cluster, name, key).and_then(Value::as_bool).unwrap_or(default)
}

/// The network's setting, by kOps' name of it.
pub(crate) fn network_setting<'a>(cluster: &'a ClusterInput, key: &str) -> Option<&'a Value> {
    let config = &cluster.network.cni.config;
    let given = |config: &'a Value| config.get(key).filter(|value| !value.is_null());
    given(config).or_else(|| given(config.get("kops")?))
}
