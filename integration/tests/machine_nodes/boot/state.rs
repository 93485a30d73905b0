//! The state of a cluster of which only the keys exist, as the machines of its control plane find it.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use slipway_generated_secrets::{GeneratedSecrets, Vault};
use slipway_plan::{Record, Snapshot};
use slipway_resource::provider::{Action, ApplyRequest, EventSink, PlanItem, SessionRequest};
use slipway_resource::{Address, ClusterUid, Ownership, Provider as _, Session, Token, Value};
use slipway_secrets::key::GivenKeys;
use slipway_secrets::{Keyring, age};
use slipway_state_store::{Acquire, Backend, ClusterName, FileBackend, Holder, Identity, SystemClock};
use slipway_testkit::machine::Machine;

/// The unique id of the cluster.
const UID: &str = "u1";

/// A state with keys, and the age identity that opens them.
pub(super) struct State {
    folder: tempfile::TempDir,
    identity: String,
}

impl State {
    /// The keys of a cluster.
    pub fn new(cluster: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let backend: Arc<dyn Backend> = Arc::new(FileBackend::open(folder.path()));
        Self::of(cluster, folder, backend)
    }

    /// The keys of a cluster in a bucket. Its folder is empty.
    pub fn in_bucket(cluster: &str, backend: Arc<dyn Backend>) -> Result<Self> {
        Self::of(cluster, tempfile::tempdir()?, backend)
    }

    fn of(cluster: &str, folder: tempfile::TempDir, backend: Arc<dyn Backend>) -> Result<Self> {
        let identity = age::Identity::generate()?;
        let text = identity.to_secret_text().to_string();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(make(backend, cluster, identity))?;
        Ok(Self { folder, identity: text })
    }

    /// Gives a machine the identity that opens the keys.
    pub fn open_on(&self, machine: &Machine) -> Result<()> {
        machine.write("/etc/slipway/identity.txt", "600", format!("{}\n", self.identity))
    }

    /// Brings it onto a machine, with the identity that opens it.
    pub fn copy_to(&self, machine: &Machine, path: &str) -> Result<()> {
        self.open_on(machine)?;
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?.path();
                if entry.is_dir() {
                    folders.push(entry);
                } else {
                    let below = entry.strip_prefix(self.folder.path())?.display().to_string();
                    machine.write(&format!("{path}/{below}"), "600", std::fs::read(&entry)?)?;
                }
            }
        }
        Ok(())
    }

    /// A text that may only appear in the files that contain it.
    pub fn secret(&self) -> &str {
        &self.identity
    }
}

async fn make(backend: Arc<dyn Backend>, cluster: &str, identity: age::Identity) -> Result<()> {
    let name = ClusterName::new(cluster)?;
    let acquire = Acquire::new(Identity::current("ada", "test")).create(UID.parse()?);
    let holder = Holder::acquire(backend.clone(), &name, acquire, Arc::new(SystemClock)).await?;
    let keyring = Arc::new(Keyring::new(Arc::new(GivenKeys::of_identity(identity))));
    let vault = Vault::new(backend, keyring, name).held(holder.journal().clone());
    let request = SessionRequest { config: Value::Null, region: None, offline: false };
    let session = GeneratedSecrets::new(Arc::new(vault)).open_session(request).await?;
    let mut snapshot = Snapshot::empty(cluster, ClusterUid::new(UID));
    for name in ["kubernetes-ca", "front-proxy-ca", "etcd-ca", "service-accounts"] {
        let mut attributes = vec![("algorithm", Value::from("ECDSA-P256"))];
        if name != "service-accounts" {
            attributes.push(("certificate_authority", Value::map([("common_name", name)])));
        }
        let address = Address::new("keypair", name);
        let record = key(&*session, cluster, &address, Value::map(attributes)).await?;
        snapshot.resources.insert(address, record);
    }
    holder.release(Some((serde_json::to_vec(&snapshot)?, Default::default()))).await?;
    Ok(())
}

async fn key(session: &dyn Session, cluster: &str, address: &Address, desired: Value) -> Result<Record> {
    let item =
        PlanItem { address: address.clone(), desired: Some(desired), observed: None, last_applied: None };
    let desired = session.plan(vec![item]).await?.remove(0).normalised;
    let ownership =
        Ownership { uid: ClusterUid::new(UID), cluster: cluster.to_owned(), address: address.clone() };
    let token = Token::new(address.to_string().replace('.', "-"));
    let request = ApplyRequest { token, ownership, action: Action::Create { desired }, timeout_ms: 1_000 };
    let made = session.apply(request, EventSink::discard()).await?;
    Ok(Record {
        provider: slipway_generated_secrets::NAME.to_owned(),
        schema_version: 1,
        identity: made.identity.context("a key without an identity")?,
        applied: None,
        depends_on: Vec::new(),
        retain: false,
        protected: false,
        existing: false,
        as_found: BTreeMap::new(),
        untagged: false,
        deposed: Vec::new(),
    })
}
