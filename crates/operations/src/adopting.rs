//! Adopting objects that another tool created for a cluster. Only the state is written.

pub(crate) mod nodes;

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
use crate::composition::Linked;
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
    found: Adopted,
}

impl Adopting {
    /// Searches for the objects that a spec describes. Writes nothing.
    ///
    /// # Errors
    /// When the state has the cluster already, or when something cannot be read.
    pub async fn look(environment: &Environment, spec: ClusterSpec) -> Result<Self, Error> {
        let name = ClusterName::new(spec.cluster.name.as_str())?;
        refuse_known(&*environment.store(name.as_str())?.backend, &name).await?;
        let opened = Opened::without_state(environment, spec).await?;
        let uid = slipway_state_store::ClusterUid::random()?;
        let found = find(&opened, &ClusterUid::new(uid.as_str()), None).await?.adopted;
        Ok(Self { opened, name, uid, found })
    }

    /// The adopted state.
    #[must_use]
    pub fn found(&self) -> &Adopted {
        &self.found
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
        let adopted = match again(&self.opened, &holder).await {
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
async fn again(opened: &Opened, holder: &Holder) -> Result<Adopted, Error> {
    let cluster = &opened.spec.cluster.name;
    let state = State::of_view(cluster, holder.read().await?)?;
    if !state.snapshot.resources.is_empty() || state.is_interrupted() {
        return Err(Error::KnownCluster { cluster: cluster.clone() });
    }
    let uid = state.snapshot.uid;
    let Found { mut adopted, desired, stage } = find(opened, &uid, Some(holder)).await?;
    refuse_ambiguous(&adopted)?;
    // Secrets that were found get their places in the store.
    for desired in &desired {
        let Some(record) = adopted.snapshot.resources.get_mut(&desired.address) else { continue };
        if record.provider == SECRETS {
            let token = Token::new("adopt");
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
}

/// Searches for the objects that the spec describes. Under a hold, objects that only Slipway has are created: claims of
/// hosts, and their agents.
async fn find(opened: &Opened, uid: &ClusterUid, holder: Option<&Holder>) -> Result<Found, Error> {
    let expansion = opened.expand(nodes::catalogs(opened, Placement::ADOPTING)?).await?;
    let (desired, catalogs) = (expansion.desired, expansion.catalogs);
    let taken = nodes::look(opened, &catalogs, uid).await?;
    let mut vault = opened.stage.vault.offering(taken.keys);
    if let Some(holder) = holder {
        vault = vault.held(holder.journal().clone());
    }
    let stage = opened
        .stage(vault, (KnownApi { lent: taken.kubeconfig, ..KnownApi::default() }, Linked::default()))
        .await?;
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
    Ok(Found { adopted, desired, stage })
}

fn refuse_ambiguous(adopted: &Adopted) -> Result<(), Error> {
    if adopted.ambiguous.is_empty() {
        return Ok(());
    }
    Err(Error::AmbiguousObjects(
        adopted.ambiguous.iter().map(|(address, identities)| (address.clone(), identities.clone())).collect(),
    ))
}
