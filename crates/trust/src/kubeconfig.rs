//! Limits of a kubeconfig that a spec names, and not the caller: it is data, and names nothing else.

use serde_json::Value;

/// The fields of a user that name a command or a file, and what they do.
const USER: [(&str, &str); 5] = [
    ("exec", "runs a command (`exec`)"),
    ("auth-provider", "may run a command (`auth-provider`)"),
    ("tokenFile", "sends a file of this machine (`tokenFile`)"),
    (
        "client-certificate",
        "reads a file of this machine (`client-certificate`; `client-certificate-data` holds it)",
    ),
    ("client-key", "reads a file of this machine (`client-key`; `client-key-data` holds it)"),
];

/// The same of a cluster.
const CLUSTER: [(&str, &str); 2] = [
    (
        "certificate-authority",
        "reads a file of this machine (`certificate-authority`; `certificate-authority-data` holds it)",
    ),
    ("proxy-url", "names a proxy (`proxy-url`)"),
];

/// Checks that a kubeconfig has everything in it. Returns the URLs of its servers.
///
/// All users and clusters are checked, also those that no context names.
///
/// # Errors
/// The part of it that only a kubeconfig of the caller may have.
pub fn confined(document: &Value) -> Result<Vec<String>, String> {
    let each = |list: &str, inner: &str| -> Vec<Value> {
        let entries = document.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
        entries.iter().filter_map(|entry| entry.get(inner).cloned()).collect()
    };
    let first = |entry: &Value, fields: &[(&str, &'static str)]| {
        fields
            .iter()
            .find(|(field, _)| entry.get(field).is_some_and(|value| !is_empty(value)))
            .map(|(_, does)| *does)
    };
    for user in each("users", "user") {
        if let Some(does) = first(&user, &USER) {
            return Err(format!("it {does}"));
        }
    }
    let mut servers = Vec::new();
    for cluster in each("clusters", "cluster") {
        if let Some(does) = first(&cluster, &CLUSTER) {
            return Err(format!("it {does}"));
        }
        servers.extend(cluster.get("server").and_then(Value::as_str).map(str::to_owned));
    }
    Ok(servers)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kubeconfig_of_a_spec_is_data() {
        let of = |user: Value, cluster: Value| {
            confined(
                &json!({"users": [{"name": "a", "user": user}], "clusters": [{"name": "a", "cluster": cluster}]}),
            )
        };
        let good = of(json!({"token": "x", "tokenFile": ""}), json!({"server": "https://a:6443"}));
        assert_eq!(good.unwrap(), ["https://a:6443"]);
        for (user, word) in [
            (json!({"exec": {"command": "./run-me.sh"}}), "exec"),
            (json!({"auth-provider": {"name": "gcp", "config": {"cmd-path": "./x"}}}), "auth-provider"),
            (json!({"tokenFile": "/etc/passwd"}), "tokenFile"),
            (json!({"client-certificate": "/a"}), "client-certificate"),
            (json!({"client-key": "/a"}), "client-key"),
        ] {
            assert!(of(user, json!({})).unwrap_err().contains(word), "{word}");
        }
        for field in ["certificate-authority", "proxy-url"] {
            assert!(of(json!({}), json!({field: "/a"})).unwrap_err().contains(field));
        }
    }
}
