//! The keys of the cluster: read from its state, or from the disk of a control plane that has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use slipway_bootstrap::boot::{NodeBootstrap, key_files};
use slipway_engine::State;
use slipway_generated_secrets::Vault;
use slipway_resource::{Address, ClusterUid, SecretText, Value};
use slipway_secrets::Keyring;
use slipway_state_store::ClusterName;

use super::Stop;
use super::key_service::KeyService;
use crate::caller::Caller;
use crate::error::Error;
use crate::facts::below;
use crate::machine::Machine;
use crate::secrets::NodeSecrets;

/// The folder of certificates.
const FOLDER: &str = "/etc/kubernetes/pki";
/// The file of the encryption configuration.
const ENCRYPTION: &str = "/etc/kubernetes/apiserver/encryption.yaml";

/// The keys of a cluster. The texts of private keys are among the machine's secrets.
pub(super) struct Keys {
    /// Certificates and public keys, by file name.
    pub certificates: BTreeMap<String, String>,
}

/// The keys that are on the disk of this control plane; none when one of them is missing.
pub(super) fn on_disk(
    document: &NodeBootstrap,
    machine: &Machine,
    secrets: &mut NodeSecrets,
) -> Result<Option<Keys>, Error> {
    let read = |path: &str| -> Result<Option<String>, Error> {
        let path = below(&machine.root, path);
        match slipway_limits::file::read_text(&path, slipway_limits::size::KUBECONFIG) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("the key", &path, &error)),
        }
    };
    let mut certificates = BTreeMap::new();
    for (_, public, private) in key_files() {
        let files = (read(&format!("{FOLDER}/{public}"))?, read(&format!("{FOLDER}/{private}"))?);
        let (Some(certificate), Some(key)) = files else { return Ok(None) };
        secrets.learn(&NodeBootstrap::key(private, Some(SecretText::new(key))));
        certificates.insert(public.to_owned(), certificate);
    }
    if document.encrypts() {
        let Some(text) = read(ENCRYPTION)? else { return Ok(None) };
        secrets.learn(&NodeBootstrap::encryption(Some(SecretText::new(text))));
    }
    Ok(Some(Keys { certificates }))
}

/// The keys in the state of the cluster. They are opened with the identities of the machine, or with the cloud's key service.
pub(super) async fn in_state(
    caller: &dyn Caller,
    document: &NodeBootstrap,
    store: &str,
    secrets: &mut NodeSecrets,
) -> Result<(Keys, ClusterUid), Stop> {
    let service = KeyService::new(document);
    let keyring = Arc::new(Keyring::new(service.beside(caller.keys())));
    let read = read(caller, document, store, (&keyring, secrets)).await;
    let is_missing = service.end().await;
    match read {
        Err(Stop::Failed(_)) if is_missing => Err(Stop::Waits(service.waits())),
        read => read,
    }
}

async fn read(
    caller: &dyn Caller,
    document: &NodeBootstrap,
    store: &str,
    (keyring, secrets): (&Arc<Keyring>, &mut NodeSecrets),
) -> Result<(Keys, ClusterUid), Stop> {
    let cluster = document.cluster_name();
    let backend = caller.backend_with(store, keyring.clone())?;
    let Some(state) = State::read(&*backend, cluster).await? else {
        return Err(Stop::Waits(format!("waits for the state of {cluster} in {store}")));
    };
    let uid = state.snapshot.uid.clone();
    let named = state.snapshot.resources.iter();
    let named = named.map(|(address, record)| (address.clone(), record.identity.clone()));
    let name = ClusterName::new(cluster)?;
    let vault = Vault::new(backend, keyring.clone(), name).knowing(named);
    let missing = |address: &Address| {
        Stop::Waits(format!("waits for the key {address} in the state of {cluster} in {store}"))
    };
    let mut certificates = BTreeMap::new();
    for (name, public, private) in key_files() {
        let address = Address::new(slipway_generated_secrets::KEYPAIR, name);
        let identity = vault.known(&address).ok_or_else(|| missing(&address))?;
        let attributes = vault.attributes(&uid, &identity).await?;
        let field = if public == "sa.pub" { "public_key_pem" } else { "certificate_pem" };
        let certificate = attributes.get(field).and_then(Value::as_str).ok_or_else(|| missing(&address))?;
        certificates.insert(public.to_owned(), certificate.to_owned());
        let text = vault.text(&uid, &identity, "private_key_pem").await?;
        secrets.learn(&NodeBootstrap::key(private, Some(text)));
    }
    if document.encrypts() {
        let address = Address::new(slipway_generated_secrets::ENCRYPTION_KEY, "at-rest");
        let identity = vault.known(&address).ok_or_else(|| missing(&address))?;
        let text = vault.text(&uid, &identity, "configuration").await?;
        secrets.learn(&NodeBootstrap::encryption(Some(text)));
    }
    Ok((Keys { certificates }, uid))
}
