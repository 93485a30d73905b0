use std::collections::BTreeMap;

use slipway_cluster_input::ClusterInput;
use slipway_resource::{Address, Desired, Path, Secret, Value};

use super::Placement;
use super::configuration::algorithm;
use crate::expand::Tokens;

/// The name of the authority of the API, among the pairs of keys in the state.
pub const CA: &str = "kubernetes-ca";
/// The name of the authority of the API's front proxies.
pub const FRONT_PROXY_CA: &str = "front-proxy-ca";
/// The name of etcd's authority.
pub const ETCD_CA: &str = "etcd-ca";
/// The name of the key of service accounts.
pub const SERVICE_ACCOUNTS: &str = "service-accounts";

/// The name of the token with which machines join, among the tokens in the state.
pub const JOIN_TOKEN: &str = "join";
const AT_REST: &str = "at-rest";

fn key_pair(name: &str) -> Address {
    Address::new("keypair", name)
}

/// The keys that the state of a cluster keeps: authorities, the key of service accounts, and the key that encrypts objects
/// at rest.
#[must_use]
pub fn keys(cluster: &ClusterInput) -> Vec<Desired> {
    of_state(cluster, &Placement::default())
}

/// The secrets that the cluster's state keeps: its keys, and the token with which machines join.
pub(super) fn resources(cluster: &ClusterInput, placement: &Placement) -> Vec<Desired> {
    let mut resources = of_state(cluster, placement);
    if placement.has_joining() {
        let attributes = Value::map([("form", "bootstrap".to_owned()), ("token_id", token_id(cluster))]);
        resources.push(Desired::new(Address::new("token", JOIN_TOKEN), attributes));
    }
    resources
}

fn of_state(cluster: &ClusterInput, placement: &Placement) -> Vec<Desired> {
    let algorithm = algorithm(cluster, placement).as_str();
    let authority = |name: &str, common_name: &str| {
        let authority = Value::map([("common_name", common_name)]);
        let attributes =
            Value::map([("algorithm", Value::from(algorithm)), ("certificate_authority", authority)]);
        Desired::new(key_pair(name), attributes)
    };
    let mut resources = vec![
        authority(CA, "kubernetes"),
        authority(FRONT_PROXY_CA, "front-proxy-ca"),
        authority(ETCD_CA, "etcd-ca"),
        Desired::new(key_pair(SERVICE_ACCOUNTS), Value::map([("algorithm", algorithm)])),
    ];
    if let Some(at_rest) = &cluster.encryption.at_rest {
        let key = at_rest.key.as_ref().map(|key| Value::from(Secret::new(key.source())));
        let settings = serde_json::json!({
            "provider": at_rest.provider, "kmsEndpoint": at_rest.kms_endpoint, "resources": at_rest.resources,
        });
        let mut attributes = Value::map([("at_rest", Value::from_json(&settings))]);
        if let Some(key) = key {
            attributes.set(&Path::key("key"), key);
        }
        let mut resource = Desired::new(Address::new("encryption_key", AT_REST), attributes);
        resource.origins.insert(Path::root(), "encryption.atRest".to_owned());
        resources.push(resource);
    }
    resources
}

/// The public part of the token. It names an object of the cluster, so it must be known before the token is
/// made.
fn token_id(cluster: &ClusterInput) -> String {
    let digest = slipway_resource::Digest::of_bytes(cluster.name.as_bytes());
    digest.as_str().get(7..13).unwrap_or("slipwa").to_owned()
}

/// The certificate of the API's authority.
pub(super) fn ca_certificate() -> Value {
    Value::reference(key_pair(CA), "certificate_pem")
}

/// The same in base64, as in kubeconfigs.
pub(super) fn ca_certificate_base64() -> Value {
    Value::reference(key_pair(CA), "certificate_base64")
}

/// The files of authorities that every control plane has, below the folder of certificates.
pub(super) fn files() -> BTreeMap<String, Value> {
    let mut files = BTreeMap::new();
    for (file, name) in [("ca", CA), ("front-proxy-ca", FRONT_PROXY_CA), ("etcd/ca", ETCD_CA)] {
        files.insert(format!("{file}.crt"), Value::reference(key_pair(name), "certificate_pem"));
        files.insert(format!("{file}.key"), private(name));
    }
    files.insert("sa.pub".to_owned(), Value::reference(key_pair(SERVICE_ACCOUNTS), "public_key_pem"));
    files.insert("sa.key".to_owned(), private(SERVICE_ACCOUNTS));
    files
}

fn private(name: &str) -> Value {
    Value::from(Secret::kept(&key_pair(name), "private_key_pem"))
}

/// The token with which machines join.
pub(super) fn join_token() -> Secret {
    Secret::kept(&Address::new("token", JOIN_TOKEN), "token")
}

/// The token as an object of the cluster; none when no machine joins with it.
pub(super) fn tokens(cluster: &ClusterInput, placement: &Placement) -> Tokens {
    if !placement.has_joining() {
        return Tokens { tokens: Vec::new(), after: Vec::new() };
    }
    let address = Address::new("token", JOIN_TOKEN);
    let part = Value::from(Secret::kept(&address, "token_secret"));
    Tokens { tokens: vec![(token_id(cluster), part)], after: vec![address] }
}

/// The text of the `EncryptionConfiguration`, if encryption at rest is on.
pub(super) fn encryption(cluster: &ClusterInput) -> Option<Value> {
    cluster.encryption.at_rest.as_ref()?;
    Some(Value::from(Secret::kept(&Address::new("encryption_key", AT_REST), "configuration")))
}
