//! Nodes that another tool has made: their placement, and the parts of their secrets that the cluster's state
//! needs.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_bootstrap::from_cluster::{CA, ETCD_CA, FRONT_PROXY_CA, Machine, Placement, SERVICE_ACCOUNTS};
use slipway_generated_secrets::{Found, KEYPAIR};
use slipway_provider_hosts::{Remote, disclosed};
use slipway_resource::provider::Catalog;
use slipway_resource::{Address, ClusterUid, Digest, SecretText, Session};
use slipway_spec::model::{Cluster, Role};
use zeroize::Zeroizing;

use crate::composition;
use crate::error::Error;
use crate::opened::Opened;

/// Where kubeadm keeps a cluster's files.
pub(crate) const FOLDER: &str = "/etc/kubernetes";

/// The encryption configuration of the API server, if Slipway has made it.
pub(crate) const ENCRYPTION: &str = "apiserver/encryption.yaml";

/// The administrator's kubeconfig.
const ADMIN: &str = "admin.conf";

/// The key pairs that the state of a cluster has: each with its files, the private key and the certificate or public key.
pub(crate) const PAIRS: [(&str, &str, Option<&str>); 4] = [
    (CA, "pki/ca.key", Some("pki/ca.crt")),
    (FRONT_PROXY_CA, "pki/front-proxy-ca.key", Some("pki/front-proxy-ca.crt")),
    (ETCD_CA, "pki/etcd/ca.key", Some("pki/etcd/ca.crt")),
    (SERVICE_ACCOUNTS, "pki/sa.key", None),
];

/// The catalogs at the start of an adoption of nodes: a provider that works inside machines then checks which
/// cluster a machine belongs to.
pub(crate) fn catalogs(opened: &Opened, asks: &str) -> Result<BTreeMap<String, Catalog>, Error> {
    let mut catalogs = BTreeMap::new();
    for (name, handle) in opened.providers().iter() {
        if handle.info.capabilities.hosts {
            let data = serde_json::json!({ (asks): true });
            let digest =
                Digest::of(&data).map_err(|error| Error::internal("a catalog has no digest", error))?;
            catalogs.insert(name.to_owned(), Catalog { digest, data });
        }
    }
    Ok(catalogs)
}

/// The secrets of control planes that another tool made.
#[derive(Default)]
pub(super) struct Taken {
    /// The keys that the state will keep.
    pub keys: BTreeMap<Address, Found>,
    /// A kubeconfig of an administrator.
    pub kubeconfig: Option<SecretText>,
}

/// Reads on a control plane what is needed to look into the cluster, and what its state will keep.
pub(super) async fn look(
    opened: &Opened,
    catalogs: &BTreeMap<String, Catalog>,
    uid: &ClusterUid,
) -> Result<Taken, Error> {
    let cluster = &opened.spec.cluster;
    let mut taken = Taken::default();
    for (provider, handle) in opened.providers().iter() {
        let Some(catalog) = catalogs.get(provider) else { continue };
        let Some(placement) = composition::placement(catalog)? else { continue };
        let machine = control_plane(cluster, &placement)?;
        let files = files_of(opened, machine, &*handle.session, uid).await?;
        let text = |name: &str| files.get(name).cloned();
        taken.kubeconfig = text(ADMIN).or(taken.kubeconfig);
        let mut missing: Vec<&str> = Vec::new();
        for (name, key, certificate) in PAIRS {
            missing
                .extend([Some(key), certificate].into_iter().flatten().filter(|file| text(file).is_none()));
            let certificate_pem = certificate.and_then(text).map(|text| text.expose().to_owned());
            if let Some(private_key_pem) = text(key) {
                taken.keys.insert(Address::new(KEYPAIR, name), Found { private_key_pem, certificate_pem });
            }
        }
        if !missing.is_empty() {
            let files = missing.iter().map(|file| format!("{FOLDER}/{file}")).collect();
            return Err(Error::MissingFiles { machine: machine.name.clone(), files });
        }
    }
    Ok(taken)
}

/// The files of a control plane by their names below its folder, read by SSH or by its agent.
pub(crate) async fn files_of(
    opened: &Opened,
    machine: &Machine,
    session: &dyn Session,
    uid: &ClusterUid,
) -> Result<BTreeMap<String, SecretText>, Error> {
    let cluster = &opened.spec.cluster;
    match remote(cluster, opened.grounds.policy.networks(), machine)? {
        Some(remote) => read(&remote).await,
        None => disclosed_by_agent(session, (uid, &cluster.name), &machine.name).await,
    }
}

/// A control plane that is one already, one that others joined first.
fn control_plane<'a>(cluster: &Cluster, placement: &'a Placement) -> Result<&'a Machine, Error> {
    let is_one = |machine: &&Machine| {
        machine.found.is_some()
            && cluster.pool(&machine.pool).is_some_and(|pool| pool.role == Role::ControlPlane)
    };
    let found = placement.machines.iter().filter(is_one).min_by_key(|machine| !machine.founding);
    found.ok_or_else(|| Error::NothingToAdopt { cluster: cluster.name.clone() })
}

/// The way to a machine by SSH; none for one that is entered by its agent only.
fn remote(cluster: &Cluster, networks: &[String], machine: &Machine) -> Result<Option<Remote>, Error> {
    let hosts = cluster.all_hosts();
    match hosts.iter().find(|host| host.name == machine.name) {
        Some(host) => Ok(Remote::to(&host.clone().into(), networks)?),
        None => Ok(None),
    }
}

/// The names of the files that are needed.
fn files() -> impl Iterator<Item = &'static str> {
    let files = PAIRS.iter().flat_map(|(_, key, certificate)| [Some(*key), *certificate]).flatten();
    [ADMIN, ENCRYPTION].into_iter().chain(files)
}

/// The files of a control plane by their names below its folder, from its agent; missing files are left out.
async fn disclosed_by_agent(
    session: &dyn Session,
    cluster: (&ClusterUid, &str),
    host: &str,
) -> Result<BTreeMap<String, SecretText>, Error> {
    let mut read = BTreeMap::new();
    for file in files() {
        if let Some(text) = disclosed(session, cluster, host, &format!("{FOLDER}/{file}")).await? {
            read.insert(file.to_owned(), text);
        }
    }
    Ok(read)
}

/// The files of a control plane by their names below its folder; missing files are left out.
async fn read(remote: &Remote) -> Result<BTreeMap<String, SecretText>, Error> {
    let files: Vec<&str> = files().collect();
    let script = format!(
        r#"cd {FOLDER} || exit 0
for file in {}; do if [ -f "$file" ]; then printf '%s ' "$file"; base64 < "$file" | tr -d '\n'; echo; fi; done"#,
        files.join(" ")
    );
    let printed = Zeroizing::new(remote.run(&script).await?);
    let mut read = BTreeMap::new();
    for (file, encoded) in printed.lines().filter_map(|line| line.split_once(' ')) {
        let bytes = STANDARD.decode(encoded).unwrap_or_default();
        if let Ok(text) = String::from_utf8(bytes) {
            read.insert(file.to_owned(), SecretText::new(text));
        }
    }
    Ok(read)
}
