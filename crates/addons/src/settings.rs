//! A cluster's settings for an add-on.

use serde_json::{Map, Value, json};
use slipway_cluster_input::{Addon, ClusterInput};

/// The settings of one add-on.
///
/// Settings of a kOps document are under the key `kops`. The same name beside that key takes precedence.
#[derive(Clone, Copy)]
pub(crate) struct Settings<'a>(&'a Value);

/// The add-on of this name, whether it is enabled or not.
pub(crate) fn addon<'a>(cluster: &'a ClusterInput, name: &str) -> Option<&'a Addon> {
    cluster.addons.iter().find(|addon| addon.name == name)
}

/// Whether an add-on is installed.
pub(crate) fn is_enabled(cluster: &ClusterInput, name: &str) -> bool {
    addon(cluster, name).is_some_and(|addon| addon.enabled)
}

impl<'a> Settings<'a> {
    /// The settings of an add-on; none where the cluster does not have it.
    pub(crate) fn of(cluster: &'a ClusterInput, name: &str) -> Self {
        Self(addon(cluster, name).map_or(&Value::Null, |addon| &addon.config))
    }

    /// The settings of the pod network.
    pub(crate) const fn of_network(cluster: &'a ClusterInput) -> Self {
        Self(&cluster.network.cni.config)
    }

    /// A setting, by kOps' name of it.
    pub(crate) fn get(self, key: &str) -> Option<&'a Value> {
        let given = |config: &'a Value| config.get(key).filter(|value| !value.is_null());
        given(self.0).or_else(|| given(self.0.get("kops")?))
    }

    /// A setting as text: texts, numbers and truth values are written as in YAML.
    pub(crate) fn text(self, key: &str) -> Option<String> {
        match self.get(key)? {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(text.clone()),
            other @ (Value::Number(_) | Value::Bool(_)) => Some(other.to_string()),
            _ => None,
        }
    }

    /// A setting as text, or its default.
    pub(crate) fn text_or(self, key: &str, default: &str) -> String {
        self.text(key).unwrap_or_else(|| default.to_owned())
    }

    /// A setting that is true or false.
    pub(crate) fn flag(self, key: &str, default: bool) -> bool {
        match self.get(key) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => text == "true",
            _ => default,
        }
    }

    /// The texts of a list.
    pub(crate) fn texts(self, key: &str) -> Vec<&'a str> {
        let items = self.get(key).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Annotations of the add-on's pods.
    pub(crate) fn pod_annotations(self) -> Map<String, Value> {
        self.get("podAnnotations").and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// The resource requests and limits of the add-on's container. A container without a limit has none.
    pub(crate) fn resources(self, cpu: &str, memory: &str) -> Value {
        let mut resources = json!({"requests": {
            "cpu": self.text_or("cpuRequest", cpu), "memory": self.text_or("memoryRequest", memory),
        }});
        for (key, name) in [("cpuLimit", "cpu"), ("memoryLimit", "memory")] {
            if let Some(limit) = self.text(key) {
                resources["limits"][name] = limit.into();
            }
        }
        resources
    }
}
