//! Adopting objects that another tool created for a cluster. Only the state is written.

mod kops;
pub(crate) mod nodes;

pub use self::kops::keyset::KeysetError;
pub use self::kops::{KeyProblem, KeySource};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use slipway_bootstrap::from_cluster::Placement;
use slipway_engine::{Adopted, Adoption, State, establish};
use slipway_generated_secrets::NAME as SECRETS;
use slipway_resource::provider::Applied;
use slipway_resource::schema::Part;
use slipway_resource::{Address, ClusterUid, Desired, Token};
use slipway_state_store::{Backend, ClusterName, Generation, Holder, SystemClock, read_head};

use crate::access::KnownApi;
use crate::composition::{self, Linked};
use crate::environment::Environment;
use crate::error::Error;
use crate::holding::{acquire, commit, give_back};
use crate::opened::Opened;
use crate::spec::ClusterSpec;
use crate::stage::Stage;
use crate::state::to_json;

/// The objects that another tool created for a cluster, as they were found.
pub struct Adopting {
    opened: Opened,
    name: ClusterName,
    uid: slipway_state_store::ClusterUid,
    keys: KeySource,
    found: Adopted,
    notes: Vec<String>,
}

impl Adopting {
    /// Searches for the objects that a spec describes, and for the keys of the cluster. Writes nothing.
    ///
    /// # Errors
    /// When the state has the cluster already, or when something cannot be read.
    pub async fn look(environment: &Environment, spec: ClusterSpec, keys: KeySource) -> Result<Self, Error> {
        let name = ClusterName::new(spec.cluster.name.as_str())?;
        refuse_known(&*environment.store(name.as_str())?.backend, &name).await?;
        let opened = Opened::without_state(environment, spec).await?;
        let uid = slipway_state_store::ClusterUid::random()?;
        let Found { adopted: found, notes, .. } =
            find(&opened, &ClusterUid::new(uid.as_str()), &keys, None).await?;
        Ok(Self { opened, name, uid, keys, found, notes })
    }

    /// The adopted state.
    #[must_use]
    pub fn found(&self) -> &Adopted {
        &self.found
    }

    /// Remarks on the keys of the cluster: where each one was found, and what is not adopted.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Refuses resources for which several objects were found.
    ///
    /// # Errors
    /// [`Error::AmbiguousObjects`].
    pub fn refuse_ambiguous(&self) -> Result<(), Error> {
        refuse_ambiguous(&self.found)
    }

    /// Takes the cluster, searches again under the hold, and stores the state. Hosts are claimed and
    /// get their agents with it.
    ///
    /// # Errors
    /// When another process holds the cluster, or the result is ambiguous by now.
    pub async fn take_over(
        self,
        environment: &Environment,
        wait: Option<Duration>,
    ) -> Result<Generation, Error> {
        let acquire = acquire(environment, "adopt", wait).create(self.uid);
        let backend = environment.store(self.name.as_str())?.backend.clone();
        let holder = Holder::acquire(backend, &self.name, acquire, Arc::new(SystemClock)).await?;
        let adopted = match again(&self.opened, &self.keys, &holder).await {
            Ok(adopted) => adopted,
            Err(error) => return give_back(holder, error).await,
        };
        let detail = format!("{} resources taken over", adopted.snapshot.resources.len());
        commit(holder, &environment.actor, "adopt", &adopted.snapshot, detail).await
    }
}

/// Refuses a cluster of which there is a state.
async fn refuse_known(backend: &dyn Backend, name: &ClusterName) -> Result<(), Error> {
    match read_head(backend, name).await? {
        Some((head, _)) if !head.deleted && head.snapshot.is_some() => {
            Err(Error::KnownCluster { cluster: name.to_string() })
        }
        _ => Ok(()),
    }
}

/// Searches again under the hold.
async fn again(opened: &Opened, keys: &KeySource, holder: &Holder) -> Result<Adopted, Error> {
    let cluster = &opened.spec.cluster.name;
    let state = State::of_view(cluster, holder.read().await?)?;
    if !state.snapshot.resources.is_empty() || state.is_interrupted() {
        return Err(Error::KnownCluster { cluster: cluster.clone() });
    }
    let uid = state.snapshot.uid;
    let Found { mut adopted, desired, stage, .. } = find(opened, &uid, keys, Some(holder)).await?;
    refuse_ambiguous(&adopted)?;
    // Secrets that were found get their places in the store.
    for desired in &desired {
        let Some(record) = adopted.snapshot.resources.get_mut(&desired.address) else { continue };
        if record.provider == SECRETS {
            let token = Token::new(composition::ADOPTED);
            let kept = stage.vault.keep(&uid, &desired.address, &desired.attributes, token).await;
            record.identity = kept?;
        }
    }
    Ok(adopted)
}

/// The adopted state, and the stage that has found it.
struct Found {
    adopted: Adopted,
    desired: Vec<Desired>,
    stage: Stage,
    notes: Vec<String>,
}

/// Searches for the objects that the spec describes. Under a hold, objects that only Slipway has are created: claims of
/// hosts, and their agents.
async fn find(
    opened: &Opened,
    uid: &ClusterUid,
    keys: &KeySource,
    holder: Option<&Holder>,
) -> Result<Found, Error> {
    let mut expansion = opened.expand(nodes::catalogs(opened, Placement::ADOPTING)?).await?;
    let taken = nodes::look(opened, &expansion.catalogs, uid).await?;
    let of_kops = kops::look(opened, &expansion.keys, keys).await?;
    expansion.add_found_keys(|address| of_kops.keys.contains_key(address));
    let (desired, catalogs) = (expansion.desired, expansion.catalogs);
    let has_keys_of_kops = !of_kops.keys.is_empty();
    let mut vault = opened.stage.vault.offering(taken.keys).offering(of_kops.keys);
    if let Some(holder) = holder {
        vault = vault.held(holder.journal().clone());
    }
    let linked = Linked { keys: has_keys_of_kops, ..Linked::default() };
    let stage =
        opened.stage(vault, (KnownApi { lent: taken.kubeconfig, ..KnownApi::default() }, linked)).await?;
    let cluster = &opened.spec.cluster;
    let established: BTreeMap<Address, Applied> = match holder {
        Some(_) => {
            establish(&cluster.name, uid, &desired, &[Part::HostClaim, Part::HostAgent], &stage.providers)
                .await?
        }
        None => BTreeMap::new(),
    };
    let spec = to_json(cluster)?;
    let adoption =
        Adoption { cluster: &cluster.name, uid: uid.clone(), spec, catalogs, desired: &desired, established };
    let is_written = |field: &str| opened.spec.is_written(field);
    let adopted = adoption.run(&stage.providers, &is_written).await?;
    let mut records = adopted.snapshot.resources.values();
    if has_keys_of_kops && records.all(|record| record.existing || record.provider == SECRETS) {
        let cluster = cluster.name.to_string();
        return Err(slipway_engine::Error::NothingFound { cluster }.into());
    }
    Ok(Found { adopted, desired, stage, notes: of_kops.notes })
}

fn refuse_ambiguous(adopted: &Adopted) -> Result<(), Error> {
    if adopted.ambiguous.is_empty() {
        return Ok(());
    }
    Err(Error::AmbiguousObjects(
        adopted.ambiguous.iter().map(|(address, identities)| (address.clone(), identities.clone())).collect(),
    ))
}
