//! Keys of clusters that kOps created, from the state store of kOps. They are only read: they stay there, and kOps uses them.

mod at_rest;
pub(crate) mod keyset;

use std::collections::BTreeMap;

use async_trait::async_trait;
use slipway_bootstrap::from_cluster::{AT_REST, CA, ETCD_CA, FRONT_PROXY_CA, SERVICE_ACCOUNTS};
use slipway_generated_secrets::{ENCRYPTION_KEY, Found, KEYPAIR};
use slipway_limits::size;
use slipway_resource::{Address, Desired, SecretText};
use slipway_spec::model::Cluster;
use slipway_state_store::backend::remote::Bucket;
use slipway_state_store::backend::{Error as BackendError, url};

use self::keyset::{Keyset, KeysetError};
use crate::error::Error;
use crate::opened::Opened;

/// Where an adoption reads the keys of a cluster whose machines a provider makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeySource {
    /// In the folder that the spec names as `configBase`, if that is a bucket.
    #[default]
    Spec,
    /// In a folder of the same layout, as `s3://bucket/cluster`.
    At(String),
    /// Nowhere: the cluster is adopted without its keys.
    Nowhere,
}

/// Why an object with keys of a cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyProblem {
    /// The object does not exist.
    #[error("it does not exist")]
    Missing,
    /// The store refuses, or does not answer.
    #[error(transparent)]
    Store(#[from] BackendError),
    /// The object is not text.
    #[error("it is not text in UTF-8")]
    NoText,
    /// The object is not a key set, or its primary key cannot be used.
    #[error(transparent)]
    Keyset(#[from] KeysetError),
    /// The folder is that of another cluster.
    #[error("it describes the cluster {name}")]
    OtherCluster {
        /// The name of that cluster.
        name: String,
    },
    /// The state of the cluster has no keys that the store could have.
    #[error("the state of this cluster has no keys from such a store")]
    Unused,
}

/// The keys of a cluster in the store of kOps.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The keys.
    pub keys: BTreeMap<Address, Found>,
    /// Remarks: where each key is from, and what stays with kOps.
    pub notes: Vec<String>,
}

/// A pair of keys in the state, and the key set of kOps that is the same.
#[derive(Clone, Copy, Debug)]
struct Set {
    /// The name of the pair in the state.
    pair: &'static str,
    /// The names of the key set. kOps before 1.22 has the last one.
    names: &'static [&'static str],
    /// Whether the state has its certificate, too.
    is_authority: bool,
}

/// The pairs of keys that the state of a cluster has. Members of etcd recognise each other by the authority of peers, so that is the
/// one that the state has. kOps has other authorities for the clients of etcd and for etcd-manager.
const SETS: [Set; 4] = [
    Set { pair: CA, names: &["kubernetes-ca", "ca"], is_authority: true },
    Set { pair: FRONT_PROXY_CA, names: &["apiserver-aggregator-ca"], is_authority: true },
    Set { pair: ETCD_CA, names: &["etcd-peers-ca-main"], is_authority: true },
    Set { pair: SERVICE_ACCOUNTS, names: &["service-account", "master"], is_authority: false },
];

/// The object with the spec of the cluster, as kOps stores it.
const CLUSTER: &str = "config";

/// The secret of kOps with the configuration of encryption at rest.
const ENCRYPTION: &str = "encryptionconfig";

/// Secrets of kOps that the state does not have.
const STAYING: [&str; 2] = ["dockerconfig", "ciliumpassword"];

impl Set {
    fn address(self) -> Address {
        Address::new(KEYPAIR, self.pair)
    }
}

/// The object of a key set.
fn object_of(name: &str) -> String {
    format!("pki/private/{name}/keyset.yaml")
}

/// The object of a secret.
fn secret_of(name: &str) -> String {
    format!("secrets/{name}")
}

/// Reads the objects of one cluster in a store of kOps.
#[async_trait]
trait Objects: Sync {
    /// The text of an object; `None` if it does not exist.
    async fn read(&self, name: &str) -> Result<Option<SecretText>, KeyProblem>;
}

#[async_trait]
impl Objects for Bucket {
    async fn read(&self, name: &str) -> Result<Option<SecretText>, KeyProblem> {
        let bytes = match self.get(name, size::KEY_FILE).await {
            Ok(bytes) => bytes,
            Err(BackendError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let text = std::str::from_utf8(&bytes).map_err(|_| KeyProblem::NoText)?;
        Ok(Some(SecretText::new(text)))
    }
}

/// Reads the keys that the state of a cluster will have, among `keys`.
///
/// # Errors
/// When the store cannot be read, when it lacks one of the keys, or when the caller does not trust the spec.
pub(super) async fn look(opened: &Opened, keys: &[Desired], source: &KeySource) -> Result<Kept, Error> {
    let cluster = &opened.spec.cluster;
    let failed = |object: &str, source: KeyProblem| Error::KeyStore {
        cluster: cluster.name.to_string(),
        object: object.to_owned(),
        source,
    };
    let sets: Vec<Set> =
        SETS.into_iter().filter(|set| keys.iter().any(|key| key.address == set.address())).collect();
    let place = match source {
        KeySource::Nowhere => return Ok(Kept::default()),
        KeySource::At(place) if sets.is_empty() => return Err(failed(place, KeyProblem::Unused)),
        KeySource::At(place) => place.as_str(),
        KeySource::Spec => match config_base(cluster).filter(|_| !sets.is_empty()) {
            Some(place) if is_bucket(place) => place,
            Some(place) => return Ok(not_read(place)),
            None => return Ok(Kept::default()),
        },
    };
    let Some(settings) = &opened.environment.buckets else { return Ok(not_read(place)) };
    opened.grounds.policy.secrets(&format!("the keys in {place}"))?;
    let settings = match &cluster.region {
        Some(region) => settings.clone().in_region(region),
        None => settings.clone(),
    };
    let bucket = Bucket::open(place, &settings).map_err(|error| failed(place, error.into()))?;
    let at_rest = keys.iter().find(|key| key.address == Address::new(ENCRYPTION_KEY, AT_REST));
    let from = (cluster.name.as_str(), place);
    read(&bucket, from, (&sets, at_rest)).await.map_err(|(object, problem)| failed(&object, problem))
}

/// The folder of kOps' state store that has the files of a cluster, as the spec says.
fn config_base(cluster: &Cluster) -> Option<&str> {
    let config = &cluster.provider.config;
    let fields = ["/configBase", "/kops/configBase"];
    fields.iter().find_map(|field| config.pointer(field)?.as_str()).filter(|place| !place.is_empty())
}

/// Whether a place is a bucket that can be read.
fn is_bucket(place: &str) -> bool {
    matches!(
        place.parse::<url::Location>(),
        Ok(url::Location::S3(_) | url::Location::Google(_) | url::Location::Azure(_))
    )
}

fn not_read(place: &str) -> Kept {
    let note = format!(
        "the keys of the cluster are not adopted: {place} is not a bucket that is read here; `--keys s3://…` names a copy of this \
         folder"
    );
    Kept { keys: BTreeMap::new(), notes: vec![note] }
}

/// Reads key sets from the folder of a cluster. An error names the object.
async fn read(
    store: &dyn Objects,
    (cluster, place): (&str, &str),
    (sets, at_rest): (&[Set], Option<&Desired>),
) -> Result<Kept, (String, KeyProblem)> {
    let place = place.trim_end_matches('/');
    check_cluster(store, cluster).await.map_err(|problem| (format!("{place}/{CLUSTER}"), problem))?;
    let mut kept = Kept::default();
    for set in sets {
        let mut found = None;
        for name in set.names {
            let object = object_of(name);
            let shown = format!("{place}/{object}");
            match store.read(&object).await {
                Ok(Some(text)) => {
                    found = Some((shown, text));
                    break;
                }
                Ok(None) => {}
                Err(problem) => return Err((shown, problem)),
            }
        }
        let Some((shown, text)) = found else {
            let name = set.names.first().copied().unwrap_or_default();
            return Err((format!("{place}/{}", object_of(name)), KeyProblem::Missing));
        };
        let keyset = match Keyset::parse(text.expose()) {
            Ok(keyset) => keyset,
            Err(error) => return Err((shown, error.into())),
        };
        kept.notes.push(format!("{}: key {} of {shown}, which stays there", set.address(), keyset.id));
        if !keyset.also_trusted.is_empty() {
            kept.notes.push(format!(
                "{shown}: the cluster also trusts {}, which the state does not have; end the rotation with `kops distrust keypair`",
                keyset.also_trusted.join(", ")
            ));
        }
        let certificate_pem = set.is_authority.then_some(keyset.certificate_pem);
        kept.keys.insert(set.address(), Found { private_key_pem: keyset.private_key_pem, certificate_pem });
    }
    if let Ok(Some(secret)) = store.read(&secret_of(ENCRYPTION)).await {
        let shown = format!("{place}/{}", secret_of(ENCRYPTION));
        let key = at_rest.and_then(|key| Some((key, at_rest::configuration(key, secret.expose())?)));
        kept.notes.push(match key {
            Some((key, private_key_pem)) => {
                let note = format!("{}: the key of {shown}, which stays there", key.address);
                kept.keys.insert(key.address.clone(), Found { private_key_pem, certificate_pem: None });
                note
            }
            None => format!(
                "{shown} stays with kOps; the state does not have it: `encryption.atRest` of the spec has other settings, or the \
                 secret has several keys"
            ),
        });
    }
    for name in STAYING {
        // Nothing depends on these: one that cannot be read is not named.
        if let Ok(Some(_)) = store.read(&secret_of(name)).await {
            kept.notes
                .push(format!("{place}/{} stays with kOps; the state does not have it", secret_of(name)));
        }
    }
    Ok(kept)
}

/// Refuses the folder of another cluster. A copy of the keys alone is not refused.
async fn check_cluster(store: &dyn Objects, cluster: &str) -> Result<(), KeyProblem> {
    let Some(text) = store.read(CLUSTER).await? else { return Ok(()) };
    let document: serde_json::Value = serde_yaml::from_str(text.expose()).unwrap_or_default();
    match document.pointer("/metadata/name").and_then(serde_json::Value::as_str) {
        Some(name) if name != cluster => Err(KeyProblem::OtherCluster { name: name.to_owned() }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::at_rest::tests::{CONFIGURATION, key, secret};
    use super::keyset::tests::{document, pair};
    use super::*;

    /// Texts of objects by their names; `None` is an object that the caller may not read.
    struct Store(BTreeMap<String, Option<String>>);

    #[async_trait]
    impl Objects for Store {
        async fn read(&self, name: &str) -> Result<Option<SecretText>, KeyProblem> {
            match self.0.get(name) {
                Some(Some(text)) => Ok(Some(SecretText::new(text.as_str()))),
                Some(None) => Err(KeyProblem::NoText),
                None => Ok(None),
            }
        }
    }

    fn of(names: &[&str]) -> Store {
        let text = |name: &&str| document("1", &[("1", &pair(name), false)]);
        Store(names.iter().map(|name| (object_of(name), Some(text(name)))).collect())
    }

    async fn failure(store: &Store) -> String {
        let (object, problem) = read(store, ("b", "s3://a/b/"), (&SETS, None)).await.unwrap_err();
        format!("{object}: {problem}")
    }

    #[tokio::test]
    async fn every_key_has_its_set_and_its_remark() {
        let mut store =
            of(&["kubernetes-ca", "apiserver-aggregator-ca", "etcd-peers-ca-main", "service-account"]);
        store.0.insert("secrets/encryptionconfig".to_owned(), Some("{}".to_owned()));
        store.0.insert("secrets/dockerconfig".to_owned(), None);
        let kept = read(&store, ("b", "s3://a/b/"), (&SETS, None)).await.unwrap();
        let found: Vec<(String, bool)> = kept
            .keys
            .iter()
            .map(|(address, found)| (address.to_string(), found.certificate_pem.is_some()))
            .collect();
        let expected = [
            ("keypair.etcd-ca", true),
            ("keypair.front-proxy-ca", true),
            ("keypair.kubernetes-ca", true),
            ("keypair.service-accounts", false),
        ];
        assert_eq!(found, expected.map(|(address, has)| (address.to_owned(), has)));
        let ca = "keypair.kubernetes-ca: key 1 of s3://a/b/pki/private/kubernetes-ca/keyset.yaml, which stays there";
        assert_eq!(kept.notes.first().map(String::as_str), Some(ca));
        assert!(kept.notes.last().unwrap().contains("s3://a/b/secrets/encryptionconfig"), "{:?}", kept.notes);
        assert_eq!(kept.notes.len(), 5);
    }

    #[tokio::test]
    async fn names_of_earlier_versions_are_known_and_other_keys_that_are_trusted_are_named() {
        let mut store = of(&["ca", "apiserver-aggregator-ca", "etcd-peers-ca-main", "master"]);
        let (used, next) = (pair("used"), pair("next"));
        let rotated = document("1", &[("1", &used, false), ("2", &next, false)]);
        store.0.insert(object_of("master"), Some(rotated));
        let kept = read(&store, ("b", "s3://a/b"), (&SETS, None)).await.unwrap();
        let key = &kept.keys[&Address::new(KEYPAIR, SERVICE_ACCOUNTS)];
        assert_eq!(key.private_key_pem.expose(), used.0);
        assert!(kept.notes.last().unwrap().contains("master/keyset.yaml: the cluster also trusts 2"));
    }

    #[tokio::test]
    async fn an_object_that_cannot_be_used_is_named() {
        let names = ["kubernetes-ca", "apiserver-aggregator-ca", "etcd-peers-ca-main"];
        let missing = failure(&of(&names)).await;
        assert_eq!(missing, "s3://a/b/pki/private/service-account/keyset.yaml: it does not exist");
        let mut store = of(&names);
        store.0.insert(object_of("etcd-peers-ca-main"), None);
        let refused = failure(&store).await;
        assert_eq!(refused, "s3://a/b/pki/private/etcd-peers-ca-main/keyset.yaml: it is not text in UTF-8");
        let spec = |name: &str| Some(format!("kind: Cluster\nmetadata:\n  name: {name}\n"));
        store.0.insert(CLUSTER.to_owned(), spec("c"));
        assert_eq!(failure(&store).await, "s3://a/b/config: it describes the cluster c");
        store.0.insert(CLUSTER.to_owned(), spec("b"));
        store.0.insert(object_of("kubernetes-ca"), Some("x".to_owned()));
        let broken = failure(&store).await;
        assert!(
            broken.starts_with("s3://a/b/pki/private/kubernetes-ca/keyset.yaml: it is not a document"),
            "{broken}"
        );
    }

    #[tokio::test]
    async fn the_key_at_rest_is_kept_if_the_spec_has_its_settings() {
        let mut store = of(&[]);
        store.0.insert("secrets/encryptionconfig".to_owned(), Some(secret(CONFIGURATION)));
        for (provider, is_kept) in [("aescbc", true), ("secretbox", false)] {
            let wanted = key(provider);
            let kept = read(&store, ("b", "s3://a/b"), (&[], Some(&wanted))).await.unwrap();
            assert_eq!(kept.keys.contains_key(&wanted.address), is_kept, "{provider}");
            let [note] = kept.notes.as_slice() else { panic!("{:?}", kept.notes) };
            assert_eq!(
                note.starts_with("encryption_key.at-rest: the key of s3://a/b/secrets/"),
                is_kept,
                "{note}"
            );
        }
    }

    #[test]
    fn only_buckets_are_read() {
        assert!(is_bucket("s3://a/b") && is_bucket("gs://a/b"));
        assert!(!is_bucket("memfs://a/b") && !is_bucket("file:///a/b") && !is_bucket("/a/b"));
    }
}
