//! Recovery of keys that a state has lost, from the machines that use them.

use std::collections::BTreeMap;

use slipway_bootstrap::from_cluster::{CA, Placement};
use slipway_engine::Rebuilt;
use slipway_generated_secrets::{ENCRYPTION_KEY, Found, KEYPAIR, NAME as SECRETS};
use slipway_plan::Record;
use slipway_resource::provider::{Catalog, DiscoverRequest};
use slipway_resource::{Address, ClusterUid, Desired, Identity, SecretText, Token, Value};
use slipway_spec::model::Role;
use slipway_state_store::Journal;

use super::generations::{self, Rotations};
use crate::access::{KnownApi, with_authority};
use crate::adopting::nodes::{self, ENCRYPTION, FOLDER, PAIRS};
use crate::composition::{self, Linked};
use crate::error::Error;
use crate::opened::Opened;
use crate::stage::Stage;

/// The attribute that has the fingerprint of a key.
const FINGERPRINT: &str = "fingerprint";

/// The name of the key for encryption at rest, among the keys in the state.
const AT_REST: &str = "at-rest";

/// The keys that the machines of a cluster use.
#[derive(Debug, Default)]
pub struct Keys {
    /// The fingerprints of the keys in use.
    pub running: BTreeMap<Address, String>,
    /// Keys that were not found, each with the file that should have it.
    pub missing: Vec<(Address, String)>,
}

/// The catalogs from which the state of a cluster is rebuilt, with the facts from its machines.
pub(super) fn catalogs(opened: &Opened) -> Result<BTreeMap<String, Catalog>, Error> {
    nodes::catalogs(opened, Placement::REBUILDING)
}

/// Reads the files with keys on control planes, by their names below their folder. Changes nothing.
pub(super) async fn files(
    opened: &Opened,
    catalogs: &BTreeMap<String, Catalog>,
    uid: Option<&ClusterUid>,
) -> Result<BTreeMap<String, SecretText>, Error> {
    let cluster = &opened.spec.cluster;
    let mut files = BTreeMap::new();
    for (provider, handle) in opened.own.iter() {
        let placement = catalogs.get(provider).map(composition::placement).transpose()?.flatten();
        let Some(placement) = placement.filter(|_| handle.info.capabilities.hosts) else {
            continue;
        };
        let request = DiscoverRequest { uid: uid.cloned(), cluster: cluster.name.clone(), types: Vec::new() };
        let known = handle.session.discover(request).await?.uid.or(uid.cloned());
        // No machine has the cluster's ownership: there is no source of keys.
        let Some(known) = known else { continue };
        for machine in &placement.machines {
            let is_control_plane =
                cluster.pool(&machine.pool).is_some_and(|pool| pool.role == Role::ControlPlane);
            if is_control_plane {
                // A key that is missing on one control plane may be on another.
                for (name, text) in nodes::files_of(opened, machine, &*handle.session, &known).await? {
                    files.entry(name).or_insert(text);
                }
            }
        }
    }
    Ok(files)
}

/// The stage that has found the keys in the files of control planes: its vault offers them, and it uses them for the cluster's API.
pub(super) async fn stage(
    opened: &Opened,
    (files, rotations): (&BTreeMap<String, SecretText>, &Rotations),
    (catalogs, desired): (&BTreeMap<String, Catalog>, &[Desired]),
    hold: Option<&Journal>,
) -> Result<Stage, Error> {
    let cluster = &opened.spec.cluster;
    let found = found(files, rotations);
    let mut lent = None;
    if let Some(authority) = found.get(&generations::key(CA, rotations))
        && let Some(certificate) = &authority.certificate_pem
    {
        let endpoints = composition::endpoints(cluster, catalogs);
        let authority = (certificate.as_str(), &authority.private_key_pem);
        let networks = opened.grounds.policy.networks();
        lent = with_authority(&cluster.name, &endpoints, networks, authority).await?;
    }
    let mut vault = opened.stage.vault.offering(found);
    if let Some(journal) = hold {
        vault = vault.held(journal.clone());
    }
    // The next plan finds the objects inside the cluster.
    let linked = Linked { keys: desired.iter().any(composition::is_key), ..Linked::default() };
    opened.stage(vault, (KnownApi { lent, ..KnownApi::default() }, linked)).await
}

/// The keys in use, and those that were not found.
pub(super) fn keys(stage: &Stage, rotations: &Rotations, desired: &[Desired]) -> Result<Keys, Error> {
    let mut keys = Keys::default();
    for desired in desired {
        let Some(file) = file_of(&desired.address, rotations) else { continue };
        match stage.vault.shown(&desired.address, &desired.attributes)? {
            Some(shown) => {
                let fingerprint = shown.get(FINGERPRINT).and_then(Value::as_str).unwrap_or_default();
                keys.running.insert(desired.address.clone(), fingerprint.to_owned());
            }
            None => keys.missing.push((desired.address.clone(), format!("{FOLDER}/{file}"))),
        }
    }
    Ok(keys)
}

/// The keys in the files of a control plane.
fn found(files: &BTreeMap<String, SecretText>, rotations: &Rotations) -> BTreeMap<Address, Found> {
    let mut found = BTreeMap::new();
    for (name, key, certificate) in PAIRS {
        let Some(private_key_pem) = files.get(key).cloned() else { continue };
        let certificate_pem = match certificate {
            Some(certificate) => match files.get(certificate) {
                Some(text) => Some(generations::in_use(text.expose())),
                // A key without its certificate is not an authority.
                None => continue,
            },
            None => None,
        };
        found.insert(generations::key(name, rotations), Found { private_key_pem, certificate_pem });
    }
    if let Some(configuration) = files.get(ENCRYPTION).cloned() {
        let key = Found { private_key_pem: configuration, certificate_pem: None };
        found.insert(Address::new(ENCRYPTION_KEY, AT_REST), key);
    }
    found
}

/// The file of a control plane that has a key.
fn file_of(address: &Address, rotations: &Rotations) -> Option<&'static str> {
    match address.kind() {
        ENCRYPTION_KEY if address.name() == AT_REST => Some(ENCRYPTION),
        KEYPAIR => {
            let pair = PAIRS.iter().find(|(name, ..)| generations::key(name, rotations) == *address);
            pair.map(|(_, key, _)| *key)
        }
        _ => None,
    }
}

/// Completes a rebuilt state with the keys that the store does not have any more and the machines do. Returns
/// their addresses.
pub(super) async fn complete(
    stage: &Stage,
    rebuilt: &mut Rebuilt,
    keys: &Keys,
    desired: &[Desired],
) -> Result<Vec<Address>, Error> {
    let mut recovered = Vec::new();
    for desired in desired {
        let address = &desired.address;
        let Some(running) = keys.running.get(address) else { continue };
        let Some((_, _, kind)) = stage.providers.of_type(address.kind()) else { continue };
        if let Some(record) = rebuilt.snapshot.resources.get(address) {
            let stored = stage.vault.attributes(&rebuilt.snapshot.uid, &record.identity).await?;
            if stored.get(FINGERPRINT).and_then(Value::as_str) == Some(running) {
                continue;
            }
        }
        let record = Record {
            provider: SECRETS.to_owned(),
            schema_version: kind.version,
            // Its identity in the store is set when it is stored.
            identity: Identity::new(format!("{address}/found")),
            applied: None,
            depends_on: desired.dependencies(),
            retain: desired.lifecycle.retain,
            protected: desired.lifecycle.protected,
            existing: false,
            as_found: BTreeMap::new(),
            untagged: false,
            deposed: Vec::new(),
        };
        rebuilt.snapshot.resources.insert(address.clone(), record);
        rebuilt.missing.retain(|missing| missing != address);
        recovered.push(address.clone());
    }
    Ok(recovered)
}

/// Stores recovered keys under the hold.
pub(super) async fn keep(
    stage: &Stage,
    rebuilt: &mut Rebuilt,
    keys: &Keys,
    recovered: &[Address],
    desired: &[Desired],
) -> Result<(), Error> {
    for desired in desired.iter().filter(|desired| recovered.contains(&desired.address)) {
        let address = &desired.address;
        // The token is the same when the rebuild is repeated after a crash.
        let fingerprint = keys.running.get(address).map(|text| text.replace(':', "-")).unwrap_or_default();
        let token = Token::new(format!("rebuild-{fingerprint}"));
        let identity = stage.vault.keep(&rebuilt.snapshot.uid, address, &desired.attributes, token).await?;
        if let Some(record) = rebuilt.snapshot.resources.get_mut(address) {
            record.identity = identity;
        }
    }
    Ok(())
}
