//! Turns a cluster that was read from kOps into one with the fields of a Slipway spec.

use serde_json::{Map, Value};
use slipway_spec::model::{Addon, Cluster};

/// The provider of clusters on AWS.
const AWS: &str = "aws";

/// The key of settings that have the field names of kOps.
const KEY: &str = "kops";

/// Add-ons that a cluster of a Slipway spec has unless the spec disables them.
const STANDARD_ADDONS: [&str; 2] = ["coredns", "metrics-server"];

/// The cluster with the settings of its provider, its add-ons and its network where a Slipway spec has them:
/// not under the key `kops`. Add-ons that Slipway has by default and kOps has not are marked as disabled.
/// Both forms describe the same cluster.
#[must_use]
pub fn native(cluster: &Cluster) -> Cluster {
    let mut cluster = cluster.clone();
    raise(&mut cluster.provider.config);
    if let Value::Object(fields) = &mut cluster.provider.config {
        // kOps writes this one name with a capital letter.
        if let Some(value) = fields.remove("DisableSubnetTags") {
            fields.insert("disableSubnetTags".to_owned(), value);
        }
        // Every pool has its part of it.
        fields.remove("warmPool");
    }
    empty(&mut cluster.provider.config);
    if cluster.provider.name == AWS {
        // The default of a Slipway spec for a new cluster. A cluster of kOps has its keys elsewhere.
        let mut fields = cluster.provider.config.as_object().cloned().unwrap_or_default();
        fields.entry("keyService").or_insert_with(|| "none".into());
        cluster.provider.config = Value::Object(fields);
    }
    raise(&mut cluster.network.cni.config);
    for addon in &mut cluster.addons {
        raise(&mut addon.config);
    }
    for name in STANDARD_ADDONS {
        if !cluster.addons.iter().any(|addon| addon.name == name) {
            cluster.addons.push(without(name));
        }
    }
    cluster.addons.sort_by(|left, right| left.name.cmp(&right.name));
    for pool in &mut cluster.pools {
        raise(&mut pool.provider_config);
        empty(&mut pool.provider_config);
    }
    cluster
}

fn without(name: &str) -> Addon {
    Addon {
        name: name.to_owned(),
        enabled: false,
        version: None,
        replicas: None,
        minimum_available: None,
        config: Value::Null,
        manifest: None,
    }
}

/// Removes the key. Fields beside it take precedence.
fn raise(config: &mut Value) {
    let Value::Object(fields) = config else { return };
    if let Some(Value::Object(kops)) = fields.remove(KEY) {
        merge(fields, kops);
    }
    empty(config);
}

fn merge(over: &mut Map<String, Value>, under: Map<String, Value>) {
    for (name, value) in under {
        match (over.get_mut(&name), value) {
            (Some(Value::Object(over)), Value::Object(under)) => merge(over, under),
            (Some(_), _) => {}
            (None, value) => drop(over.insert(name, value)),
        }
    }
}

fn empty(config: &mut Value) {
    if config.as_object().is_some_and(Map::is_empty) {
        *config = Value::Null;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_stands_beside_the_key_decides() {
        let mut config =
            json!({ "iam": { "legacy": false }, "kops": { "iam": { "legacy": true, "a": 1 }, "b": 2 } });
        raise(&mut config);
        assert_eq!(config, json!({ "iam": { "legacy": false, "a": 1 }, "b": 2 }));
        let mut config = json!({ "kops": {} });
        raise(&mut config);
        assert_eq!(config, Value::Null);
    }
}
