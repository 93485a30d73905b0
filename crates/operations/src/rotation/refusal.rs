//! Keys that cannot be rotated, with the reason.

use slipway_bootstrap::from_cluster::RotatedKey;
use slipway_spec::model::{AtRest, AtRestProvider, Cluster, ComponentName};

use crate::error::Error;
use crate::opened::Opened;
use crate::spec::ClusterSpec;

/// The resources whose objects can be encrypted again: `encrypted_objects` of the node provider knows their keys in etcd.
const RESOURCES: [&str; 3] = ["secrets", "configmaps", "serviceaccounts"];

/// Flags of API servers with which they do not read the files that a rotation changes, or keep objects elsewhere in etcd.
const ENCRYPTION_FLAGS: [&str; 3] =
    ["encryption-provider-config", "encryption-provider-config-automatic-reload", "etcd-prefix"];
const ACCOUNT_FLAGS: [&str; 2] = ["service-account-key-file", "service-account-signing-key-file"];
const FRONT_PROXY_FLAGS: [&str; 3] =
    ["requestheader-client-ca-file", "proxy-client-cert-file", "proxy-client-key-file"];
const ETCD_FLAGS: [&str; 4] = ["etcd-servers", "etcd-cafile", "etcd-certfile", "etcd-keyfile"];
const API_FLAGS: [&str; 6] = [
    "client-ca-file",
    "tls-cert-file",
    "tls-private-key-file",
    "kubelet-certificate-authority",
    "kubelet-client-certificate",
    "kubelet-client-key",
];

/// Flags of controller managers with which they publish another authority, or sign with one.
const SIGNER_FLAGS: [&str; 2] = ["root-ca-file", "client-ca-file"];
const SIGNING_FLAGS: &str = "cluster-signing-";

/// Refuses a cluster whose machines a provider makes.
pub(super) fn check_provider(opened: &Opened, subject: RotatedKey) -> Result<(), Error> {
    if opened.is_on_hosts() {
        return Ok(());
    }
    let provider = &opened.spec.cluster.provider.name;
    let why = format!(
        "its machines are made by the provider {provider}. Keys are rotated on existing hosts only (provider hosts)"
    );
    Err(refused(&opened.spec, subject, why))
}

/// Refuses a cluster whose spec has no such key that Slipway can rotate.
pub(super) fn check_spec(spec: &ClusterSpec, subject: RotatedKey) -> Result<(), Error> {
    let cluster = &spec.cluster;
    let problem = match subject {
        RotatedKey::EncryptionKey => match &cluster.encryption.at_rest {
            None => Some("its spec has no `encryption.atRest`".to_owned()),
            Some(at_rest) => encryption(at_rest).or_else(|| flag(cluster, &ENCRYPTION_FLAGS)),
        },
        RotatedKey::SaKey => flag(cluster, &ACCOUNT_FLAGS),
        RotatedKey::KubernetesCa => flag(cluster, &API_FLAGS).or_else(|| signer_flag(cluster)),
        RotatedKey::FrontProxyCa => flag(cluster, &FRONT_PROXY_FLAGS),
        RotatedKey::EtcdCa => flag(cluster, &ETCD_FLAGS),
    };
    match problem {
        Some(why) => Err(refused(spec, subject, why)),
        None => Ok(()),
    }
}

fn encryption(at_rest: &AtRest) -> Option<String> {
    if at_rest.provider == AtRestProvider::Kms {
        return Some("its key is in the KMS plugin, which rotates it".to_owned());
    }
    if at_rest.key.is_some() {
        return Some(
            "its spec gives the key (`encryption.atRest.key`); Slipway rotates keys that it has generated"
                .to_owned(),
        );
    }
    let unknown = at_rest.resources.iter().find(|name| !RESOURCES.contains(&name.as_str()))?;
    Some(format!(
        "its spec encrypts `{unknown}` at rest, and Slipway finds the objects of {} in etcd only",
        RESOURCES.join(", ")
    ))
}

fn flag(cluster: &Cluster, flags: &[&str]) -> Option<String> {
    let arguments = cluster.component(ComponentName::ApiServer).extra_args;
    let found = flags.iter().find(|flag| arguments.contains_key(**flag))?;
    Some(format!("its spec sets the flag --{found} of the API server"))
}

fn signer_flag(cluster: &Cluster) -> Option<String> {
    let arguments = cluster.component(ComponentName::ControllerManager).extra_args;
    let is_of_signer = |flag: &str| {
        SIGNER_FLAGS.contains(&flag) || (flag.starts_with(SIGNING_FLAGS) && flag.ends_with("-file"))
    };
    let found = arguments.keys().find(|flag| is_of_signer(flag))?;
    Some(format!("its spec sets the flag --{found} of the controller manager"))
}

fn refused(spec: &ClusterSpec, subject: RotatedKey, why: String) -> Error {
    Error::CannotRotate { cluster: spec.cluster.name.to_string(), subject: subject.name(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_rest(change: impl Fn(&mut serde_json::Value)) -> Option<String> {
        let mut settings = serde_json::json!({ "provider": "secretbox", "resources": ["secrets"] });
        change(&mut settings);
        encryption(&serde_json::from_value(settings).unwrap())
    }

    #[test]
    fn only_generated_keys_of_known_resources_are_rotated() {
        assert_eq!(at_rest(|_| ()), None);
        assert!(at_rest(|settings| settings["provider"] = "kms".into()).unwrap().contains("KMS"));
        let given = at_rest(|settings| settings["key"] = serde_json::json!({ "file": "key.txt" }));
        assert!(given.unwrap().contains("encryption.atRest.key"));
        let other = at_rest(|settings| settings["resources"] = serde_json::json!(["secrets", "leases"]));
        assert!(other.unwrap().contains("`leases`"));
    }
}
