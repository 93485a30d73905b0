//! A machine as something that is planned for and carried out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use slipway_bootstrap::expand::Phased;
use slipway_engine::{Observed, SecretSource, State, observe};
use slipway_plan::file::Mode;
use slipway_plan::{Inputs, Observations, Providers, Snapshot};
use slipway_provider_kubernetes::{NODE, OBJECT};
use slipway_resource::{Address, ClusterUid, Desired, Value};
use slipway_secrets::SecretStore;
use slipway_state_store::{Backend, Journal};
use tokio::time::Instant;

use super::leave::Leaving;
use super::phases::Selection;
use super::secrets::NodeSecrets;
use super::spec::{CLUSTER, NodeSpec};
use crate::error::CommandError;
use crate::planning::{Planned, Request};
use crate::subject::Subject;

/// What a plan of the machine does not decide about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Released {
    /// Tokens, and certificates that were uploaded: the cluster removes them when their time is over.
    Passing,
    /// The objects of the cluster, which lives on.
    Cluster,
    /// These, and the Node: the API is not asked at all.
    ClusterAndNode,
}

/// Whether an object ends by itself.
fn is_passing(address: &Address) -> bool {
    address.kind() == OBJECT
        && (address.name().starts_with("Secret/kube-system/bootstrap-token-")
            || address.name().contains("/kube-system/kubeadm-certs")
            || address.name().contains("/kube-system/kubeadm:kubeadm-certs"))
}

/// Whether something is reached only when the pods of a control plane run.
fn is_behind_pods(address: &Address) -> bool {
    ["etcd_member", OBJECT, NODE].contains(&address.kind())
}

/// A machine with what it is to be.
pub(crate) struct NodeSubject {
    pub spec: NodeSpec,
    /// Everything that it consists of, by phase.
    pub phased: Vec<Phased>,
    /// Which phases are meant.
    pub selection: Selection,
    pub providers: Providers,
    pub backend: Arc<dyn Backend>,
    pub texts: NodeSecrets,
    /// The state as it was read, without a hold.
    pub state: Option<State>,
    /// Whether the API that the cluster's objects are behind exists.
    pub api_exists: Arc<AtomicBool>,
    /// What is not, or no longer, this machine's to keep or to delete.
    pub released: Released,
    /// What becomes of the Node of a worker.
    pub leaving: Leaving,
}

impl NodeSubject {
    /// The wanted resources, and the addresses that are meant when not all are.
    fn wanted(&self, prior: Option<&Snapshot>) -> (Vec<Desired>, Vec<String>) {
        let kubelet = Address::new("service", "kubelet");
        let runs = prior.is_some_and(|prior| prior.resources.contains_key(&kubelet));
        // A phase alone may come before the kubelet that runs the pods: then nothing is there to wait for.
        let early = self.selection.is_one() && !runs;
        let (mut desired, meant) = self.selected(early);
        let keys: Vec<Address> = ["super-admin", "admin"]
            .map(|name| Address::new("kubeconfig", name))
            .into_iter()
            .filter(|key| self.selection.is_all() && desired.iter().any(|desired| desired.address == *key))
            .collect();
        for desired in &mut desired {
            if desired.address.kind() == OBJECT || desired.address.kind() == NODE {
                // What the API is reached by goes after what is behind it.
                desired.depends_on.extend(keys.iter().cloned());
            }
            if early
                && desired.address.kind() == "static_pod"
                && let Value::Map(attributes) = &mut desired.attributes
            {
                attributes.remove("ready_url");
            }
        }
        (desired, meant)
    }

    fn selected(&self, early: bool) -> (Vec<Desired>, Vec<String>) {
        if self.selection.is_all() {
            return (self.phased.iter().map(|phased| phased.desired.clone()).collect(), Vec::new());
        }
        let meant: BTreeSet<&Address> = self
            .phased
            .iter()
            .filter(|phased| self.selection.means(phased.phase))
            .filter(|phased| !early || !is_behind_pods(&phased.desired.address))
            .map(|phased| &phased.desired.address)
            .collect();
        let desired = self.phased.iter().map(|phased| {
            let mut desired = phased.desired.clone();
            if meant.contains(&desired.address) {
                // What is left out has been made by other means: nothing waits for it.
                desired.depends_on.retain(|address| meant.contains(address));
            }
            desired
        });
        (desired.collect(), meant.iter().map(ToString::to_string).collect())
    }

    fn is_released(&self, address: &Address) -> bool {
        match self.released {
            Released::Passing => {
                is_passing(address) && self.phased.iter().all(|phased| phased.desired.address != *address)
            }
            Released::Cluster => address.kind() == OBJECT,
            Released::ClusterAndNode => address.kind() == OBJECT || address.kind() == NODE,
        }
    }

    /// Whether the phases that are meant have nothing to make.
    pub fn is_nothing(&self) -> bool {
        !self.selection.is_all() && !self.phased.iter().any(|phased| self.selection.means(phased.phase))
    }

    /// Whether the API server that keeps the cluster's objects was there when this state was written.
    fn knows_api(&self, prior: Option<&Snapshot>) -> bool {
        if self.spec.role != slipway_bootstrap::preflight::Purpose::Init {
            return true;
        }
        let server = Address::new("static_pod", "kube-apiserver");
        prior.is_some_and(|prior| prior.resources.contains_key(&server))
    }
}

#[async_trait(?Send)]
impl Subject for NodeSubject {
    fn cluster(&self) -> &str {
        CLUSTER
    }

    fn providers(&self) -> &Providers {
        &self.providers
    }

    fn backend(&self) -> Option<Arc<dyn Backend>> {
        Some(self.backend.clone())
    }

    fn texts(&self) -> &dyn SecretSource {
        &self.texts
    }

    fn secret_store(&self, _: &ClusterUid) -> Result<Option<SecretStore>, CommandError> {
        Ok(None)
    }

    fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    fn taken(&self, state: &mut State) {
        state.snapshot.resources.retain(|address, _| !self.is_released(address));
    }

    fn begins(&self, _: &Journal, _: &State) {
        self.api_exists.store(true, Ordering::SeqCst);
    }

    async fn plan_from(&self, request: &Request, prior: Option<&Snapshot>) -> Result<Planned, CommandError> {
        self.api_exists.store(self.knows_api(prior), Ordering::SeqCst);
        let kept = prior.map(|prior| {
            let mut kept = prior.clone();
            kept.resources.retain(|address, _| !self.is_released(address));
            if request.mode == Mode::Delete {
                self.leaving.remember(&mut kept, &self.providers);
            }
            kept
        });
        let prior = kept.as_ref();
        let (desired, targets) = match request.mode {
            Mode::Delete => (Vec::new(), Vec::new()),
            Mode::Apply | Mode::Drift => self.wanted(prior),
        };
        let observed = if request.offline {
            Observed { observations: Observations::default(), uid: None, at: Instant::now() }
        } else {
            observe(CLUSTER, &self.providers, prior, &desired).await?
        };
        let mut observations = observed.observations;
        observations.leave_out(|address| self.is_released(address));
        let generation = crate::planning::generation(&*self.backend, CLUSTER).await?;
        let mut options = request.options.clone();
        options.targets.extend(targets);
        let uid = observed.uid.clone();
        let inputs = Inputs {
            cluster: CLUSTER,
            uid: uid.clone(),
            mode: request.mode,
            spec: self.spec.to_json()?,
            desired,
            notes: self.leaving.notes(),
            prior,
            generation,
            observations,
            providers: &self.providers,
            catalogs: std::collections::BTreeMap::new(),
            options,
            locate: &|_| None,
        };
        let plan = slipway_plan::plan(inputs).await?;
        Ok(Planned { plan, observed_at: observed.at, uid })
    }
}
