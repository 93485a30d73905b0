//! The machine on which the program runs: its root, its state, and the files on it that Slipway owns.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use slipway_bootstrap::configuration::Detected;
use slipway_engine::{State, WaitHandler};
use slipway_operations::providers;
use slipway_plan::Providers;
use slipway_provider_node::Node;
use slipway_resource::Value;
use slipway_resource::provider::{DiscoverRequest, SessionRequest};
use slipway_state_store::Backend;

use super::access::NodeAccess;
use super::facts;
use super::spec::{CLUSTER, NodeSpec};
use crate::caller::Caller;
use crate::error::Error;

/// Where the machine's own state is.
const STATE: &str = "/var/lib/slipway/state";

/// The machine.
pub struct Machine {
    /// The root of its files.
    pub root: PathBuf,
    /// Its values for fields that a configuration leaves open.
    pub detected: Detected,
    /// Its own state.
    pub backend: Arc<dyn Backend>,
    /// The state as it was read, without a hold.
    pub state: Option<State>,
    /// Whether the machine leaves without the cluster's agreement.
    pub leaving: bool,
}

/// The root of a machine's files as an absolute path; refused when there is no such folder.
pub fn root_of_files(root: &Path) -> Result<PathBuf, Error> {
    let unusable = |error| Error::file("the root of the machine's files", root, &error);
    if !std::fs::metadata(root).map_err(unusable)?.is_dir() {
        return Err(unusable(std::io::ErrorKind::NotADirectory.into()));
    }
    std::path::absolute(root).map_err(unusable)
}

impl Machine {
    /// Looks at the machine. Changes nothing.
    pub async fn open(caller: &dyn Caller, root: &Path) -> Result<Self, Error> {
        let root = root_of_files(root)?;
        let backend = caller.folder(&facts::below(&root, STATE));
        let state = State::read(&*backend, CLUSTER).await?;
        Ok(Self { detected: facts::detect(&root), root, backend, state, leaving: false })
    }

    /// The folder of the machine's own state, as plans name it.
    pub fn place(&self) -> String {
        facts::below(&self.root, STATE).display().to_string()
    }

    /// Makes the folder of the machine's state, which only root may read.
    pub fn keep_to_itself(&self) -> Result<(), Error> {
        use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
        let folder = facts::below(&self.root, STATE);
        let unusable = |error| Error::file("the folder of the machine's state", &folder, &error);
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(unusable)?;
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).map_err(unusable)
    }

    /// The spec of the last run on this machine, complete or interrupted.
    pub fn spec(&self) -> Result<Option<NodeSpec>, Error> {
        let Some(state) = &self.state else { return Ok(None) };
        let document = &state.snapshot.spec;
        if document.is_null() { Ok(None) } else { NodeSpec::from_json(document).map(Some) }
    }

    /// The providers of a machine, and whether the API that the cluster's objects are behind exists yet.
    pub async fn providers(
        &self,
        waits: WaitHandler,
        access: NodeAccess,
    ) -> Result<(Providers, Arc<AtomicBool>), Error> {
        let exists = access.exists.clone();
        let mut providers = Providers::default();
        let root = self.root.display().to_string();
        let config = Value::map([("root", Value::from(root)), ("leaving", self.leaving.into())]);
        let request = SessionRequest { config, region: None, offline: false };
        providers::add(waits.clone(), &mut providers, "node", &Node::new(), request).await?;
        let kubernetes = slipway_provider_kubernetes::Kubernetes::new(Arc::new(access));
        let request = SessionRequest { config: Value::Null, region: None, offline: false };
        providers::add(waits, &mut providers, "kubernetes", &kubernetes, request).await?;
        Ok((providers, exists))
    }

    /// The paths that earlier runs have made, also those that were interrupted.
    pub async fn owned(&self, providers: &Providers) -> Result<BTreeSet<String>, Error> {
        let mut owned = BTreeSet::new();
        let Some(state) = &self.state else { return Ok(owned) };
        let identities = state.snapshot.resources.values().map(|record| record.identity.as_str().to_owned());
        owned.extend(identities.filter(|identity| identity.starts_with('/')));
        if let Some(node) = providers.get("node") {
            let request = DiscoverRequest {
                uid: Some(state.snapshot.uid.clone()),
                cluster: CLUSTER.to_owned(),
                types: Vec::new(),
            };
            let discovery = node.session.discover(request).await?;
            let found = discovery.observed.iter().map(|object| object.identity.as_str().to_owned());
            owned.extend(found.filter(|identity| identity.starts_with('/')));
        }
        if owned.contains("/etc/kubernetes/manifests/etcd.yaml") {
            // The data folder of our etcd member.
            owned.insert("/var/lib/etcd".to_owned());
        }
        if owned.contains("/var/lib/kubelet/config.yaml") {
            // The files that our kubelet was given, and those that it writes itself.
            owned.extend(["/etc/kubernetes/manifests", "/etc/kubernetes/kubelet.conf"].map(str::to_owned));
        }
        Ok(owned)
    }

    /// The questions to the host before a bootstrap.
    pub fn looking(&self, socket: Option<&String>, owned: BTreeSet<String>) -> facts::Looking {
        facts::Looking {
            root: self.root.clone(),
            cri_socket: socket.cloned(),
            pull: true,
            owned,
            etcd: None,
            clock_ahead_seconds: None,
        }
    }
}
