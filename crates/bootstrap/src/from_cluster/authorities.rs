use std::collections::BTreeMap;

use slipway_cluster_input::{AtRest, ClusterInput};
use slipway_resource::{Address, Desired, Path, Reference, Secret, TemplatePart, Value};

use super::Placement;
use super::configuration::algorithm;
use super::rotation::{RotatedKey, Rotation, Stage, name_of_generation};
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
/// The name of the key that encrypts objects at rest, among the encryption keys in the state.
pub const AT_REST: &str = "at-rest";
/// The type of a configuration with several encryption keys.
pub const ENCRYPTION_CONFIGURATION: &str = "encryption_configuration";
const ENCRYPTION_KEY: &str = "encryption_key";
const CROSS_CERTIFICATE: &str = "cross_certificate";
/// The common name of the first authority of the API, as in kubeadm.
const FIRST_CA: &str = "kubernetes";

/// The authorities that can be rotated.
pub(super) const AUTHORITIES: [RotatedKey; 3] =
    [RotatedKey::KubernetesCa, RotatedKey::FrontProxyCa, RotatedKey::EtcdCa];

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
    let mut resources = Vec::new();
    for subject in AUTHORITIES {
        for generation in subject.kept(placement.rotation(subject)) {
            // Each generation has a name of its own, which servers show as the authority that they accept.
            let name = name_of_generation(subject.key_name(), generation);
            resources.push(authority(&name, &common_name(subject, generation)));
        }
    }
    if let Some(address) = cross_certificate(placement) {
        let rotation = placement.rotation(RotatedKey::KubernetesCa);
        let certificate = |generation: u32| {
            Value::reference(generation_of(RotatedKey::KubernetesCa, generation), "certificate_pem")
        };
        let attributes = Value::map([
            ("subject_pem", certificate(rotation.new_generation())),
            ("issuer_pem", certificate(rotation.generation)),
            ("issuer_key", private_key(RotatedKey::KubernetesCa, rotation.generation)),
        ]);
        resources.push(Desired::new(address, attributes));
    }
    for generation in placement.rotation(RotatedKey::SaKey).generations() {
        resources.push(Desired::new(service_accounts(generation), Value::map([("algorithm", algorithm)])));
    }
    if let Some(at_rest) = &cluster.encryption.at_rest {
        resources.extend(encryption_keys(at_rest, placement.rotation(RotatedKey::EncryptionKey)));
    }
    resources
}

/// The keys that encrypt objects at rest, and the configuration of a stage with two of them.
fn encryption_keys(at_rest: &AtRest, rotation: Rotation) -> Vec<Desired> {
    let settings = serde_json::json!({
        "provider": at_rest.provider, "kmsEndpoint": at_rest.kms_endpoint, "resources": at_rest.resources,
    });
    let settings = Value::from_json(&settings);
    let mut resources = Vec::new();
    for generation in rotation.generations() {
        let mut attributes = Value::map([("at_rest", settings.clone())]);
        if let Some(key) = &at_rest.key {
            attributes.set(&Path::key("key"), Value::from(Secret::new(key.source())));
        }
        if generation > 1 {
            attributes.set(&Path::key("own_name"), true.into());
        }
        let mut resource = Desired::new(encryption_key(generation), attributes);
        resource.origins.insert(Path::root(), "encryption.atRest".to_owned());
        resources.push(resource);
    }
    if let Some(name) = configuration_name(rotation) {
        let keys = rotation.in_use_first().into_iter().map(encryption_key);
        let (texts, names): (Vec<Value>, Vec<Value>) = keys
            .map(|key| (Value::from(Secret::kept(&key, "key")), Value::reference(key, "key_name")))
            .unzip();
        let attributes =
            Value::map([("at_rest", settings), ("keys", Value::List(texts)), ("names", Value::List(names))]);
        resources.push(Desired::new(Address::new(ENCRYPTION_CONFIGURATION, name), attributes));
    }
    resources
}

/// The name of the configuration with two encryption keys, among those in the state; `None` in a stage with one key.
#[must_use]
pub fn configuration_name(rotation: Rotation) -> Option<String> {
    let stage = match rotation.stage {
        Stage::Rest => return None,
        Stage::Added => "added",
        Stage::Used => "used",
    };
    Some(format!("{}-{stage}", name_of_generation(AT_REST, rotation.new_generation())))
}

/// A generation of the key that encrypts objects at rest.
pub(super) fn encryption_key(generation: u32) -> Address {
    Address::new(ENCRYPTION_KEY, name_of_generation(AT_REST, generation))
}

/// The certificate of the API's new authority that the old one signs. It exists while the new one signs the certificates of API
/// servers, and clients may still trust the old one alone.
pub(super) fn cross_certificate(placement: &Placement) -> Option<Address> {
    let rotation = placement.rotation(RotatedKey::KubernetesCa);
    let address = Address::new(CROSS_CERTIFICATE, name_of_generation(CA, rotation.new_generation()));
    (rotation.stage == Stage::Used).then_some(address)
}

/// A generation of a key pair that can be rotated.
pub(super) fn generation_of(subject: RotatedKey, generation: u32) -> Address {
    key_pair(&name_of_generation(subject.key_name(), generation))
}

/// The common name in the certificate of a generation of an authority.
pub(super) fn common_name(subject: RotatedKey, generation: u32) -> String {
    match (subject, generation) {
        (RotatedKey::KubernetesCa, 0 | 1) => FIRST_CA.to_owned(),
        _ => name_of_generation(subject.key_name(), generation),
    }
}

/// The file of an authority that can be rotated, below the folder of certificates and without its ending.
pub(super) const fn file_of(subject: RotatedKey) -> &'static str {
    match subject {
        RotatedKey::KubernetesCa => "ca",
        RotatedKey::EtcdCa => "etcd/ca",
        _ => "front-proxy-ca",
    }
}

/// A generation of the key of service accounts.
pub(super) fn service_accounts(generation: u32) -> Address {
    generation_of(RotatedKey::SaKey, generation)
}

/// The private key of a generation.
pub(super) fn private_key(subject: RotatedKey, generation: u32) -> Value {
    private(&generation_of(subject, generation))
}

/// The public part of the token. It names an object of the cluster, so it must be known before the token is
/// made.
fn token_id(cluster: &ClusterInput) -> String {
    let digest = slipway_resource::Digest::of_bytes(cluster.name.as_bytes());
    digest.as_str().get(7..13).unwrap_or("slipwa").to_owned()
}

/// The certificates of the API's authorities that are trusted, the one in use first.
pub(super) fn ca_certificates(placement: &Placement) -> Value {
    in_use_first(RotatedKey::KubernetesCa, placement.rotation(RotatedKey::KubernetesCa), "certificate_pem")
}

/// The certificate of the API's authority in use, in base64, as in kubeconfigs.
pub(super) fn ca_certificate_base64(placement: &Placement) -> Value {
    let used = placement.rotation(RotatedKey::KubernetesCa).used();
    Value::reference(generation_of(RotatedKey::KubernetesCa, used), "certificate_base64")
}

/// The files of authorities that every control plane has, below the folder of certificates.
pub(super) fn files(placement: &Placement) -> BTreeMap<String, Value> {
    let mut files = BTreeMap::new();
    for subject in AUTHORITIES {
        let (file, rotation) = (file_of(subject), placement.rotation(subject));
        files.insert(format!("{file}.crt"), in_use_first(subject, rotation, "certificate_pem"));
        files.insert(format!("{file}.key"), private(&generation_of(subject, rotation.used())));
    }
    let rotation = placement.rotation(RotatedKey::SaKey);
    // API servers verify the tokens of service accounts by these keys.
    files.insert("sa.pub".to_owned(), in_use_first(RotatedKey::SaKey, rotation, "public_key_pem"));
    files.insert("sa.key".to_owned(), private(&service_accounts(rotation.used())));
    files
}

/// The public keys, or certificates, of all generations of a stage as one text. The first one is that of the key in use.
fn in_use_first(subject: RotatedKey, rotation: Rotation, attribute: &str) -> Value {
    let part = |generation: u32| Reference {
        address: generation_of(subject, generation),
        path: Path::key(attribute),
    };
    let parts: Vec<Reference> = rotation.in_use_first().into_iter().map(part).collect();
    if let [one] = parts.as_slice() {
        return one.clone().into();
    }
    let mut template = Vec::new();
    for part in parts {
        // The certificate of an adopted cluster may end without a line break, and the next one begins a line.
        if !template.is_empty() {
            template.push(TemplatePart::Text("\n".to_owned()));
        }
        template.push(TemplatePart::Reference(part));
    }
    Value::Template(template)
}

fn private(key: &Address) -> Value {
    Value::from(Secret::kept(key, "private_key_pem"))
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
pub(super) fn encryption(cluster: &ClusterInput, placement: &Placement) -> Option<Value> {
    cluster.encryption.at_rest.as_ref()?;
    let rotation = placement.rotation(RotatedKey::EncryptionKey);
    let keeper = match configuration_name(rotation) {
        Some(name) => Address::new(ENCRYPTION_CONFIGURATION, name),
        None => encryption_key(rotation.used()),
    };
    Some(Value::from(Secret::kept(&keeper, "configuration")))
}
