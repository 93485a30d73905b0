//! The permissions of machines, and the keys that may log in to them.

use slipway_resource::{Digest, Value};

use super::address;
use super::build::{Builder, id_of};
use super::policy;
use super::topology::{role_name, roles};

/// Adds an identity for each role, and the key pair.
pub(super) fn identities(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    for role in roles(cluster) {
        let name = role_name(role);
        let draft = builder
            .draft("sim_identity", name, "pools")
            .set("name", format!("{name}.{}", cluster.name), "name")
            .fix("description", format!("{name} machines of cluster {}", cluster.name))
            .fix("policy", policy::document(cluster, role));
        builder.add(draft);
    }
    if !cluster.ssh.keys.is_empty() && cluster.ssh.key_name.is_none() {
        let keys = cluster.ssh.keys.join("\n");
        let draft = builder
            .draft("sim_key_pair", "ssh", "ssh.keys")
            .set("name", key_name(&cluster.name, &keys), "ssh.keys")
            .set("public_key", keys, "ssh.keys");
        builder.add(draft);
    }
}

/// The identity of the machines of a role.
pub(super) fn identity_of(role: slipway_cluster_input::Role) -> Value {
    id_of(&address("sim_identity", role_name(role)))
}

/// The name of the key that may log in.
pub(super) fn login_key(builder: &Builder<'_>) -> Value {
    match &builder.cluster.ssh.key_name {
        Some(name) => Value::from(name.as_str()),
        None if builder.has(&address("sim_key_pair", "ssh")) => {
            Value::reference(address("sim_key_pair", "ssh"), "name")
        }
        None => Value::Null,
    }
}

fn key_name(cluster: &str, keys: &str) -> String {
    format!("{cluster}-{}", Digest::of_bytes(keys.as_bytes()).short())
}
