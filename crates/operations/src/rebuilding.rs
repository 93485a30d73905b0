//! Rebuilding a lost or damaged state from the objects that have the ownership tags of the cluster.

mod adopted;
mod generations;
mod keys;
mod protection;
mod sealed;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use slipway_engine::{Rebuild, Rebuilt, State, establish};
use slipway_plan::Record;
use slipway_provider_hosts::{HOST, host_of};
use slipway_resource::schema::Part;
use slipway_resource::{Address, ClusterUid, Desired, Value};
use slipway_state_store::verify::{Mend, verify};
use slipway_state_store::{
    Backend, ClusterName, Error as StoreError, Generation, Head, HeadStands, Holder, Journal, SystemClock,
    head_stands, read_head, restore_head,
};

use crate::environment::Environment;
use crate::error::Error;
use crate::holding::{acquire, commit, give_back, lost_head};
use crate::opened::Opened;
use crate::secrets;
use crate::spec::ClusterSpec;
use crate::stage::Stage;
use crate::state::to_json;
use crate::unplanned::{Allowed, Unplanned};

pub use keys::Keys;
pub use protection::Protection;
pub(crate) use protection::{readable, recorded};
pub use sealed::is_about_key;

/// Damage of the present state of a cluster.
#[derive(Debug)]
pub struct Damage {
    /// The problems, one sentence each; none of a whole state.
    pub problems: Vec<String>,
    /// The head, where it is whole.
    head: Option<Head>,
    /// Whether the cluster was protected from deletion, where something tells.
    protected: Option<bool>,
    /// Whether objects that no key at hand opens are given up.
    key_lost: bool,
}

impl Damage {
    /// Looks for damage. With `force`, objects that cannot be read for other reasons count too, and with `key_lost`, those that no
    /// key at hand opens.
    ///
    /// # Errors
    /// When the store cannot be read; without `key_lost`, when no key at hand opens what it has ([`is_about_key`]).
    pub async fn look(
        environment: &Environment,
        cluster: &str,
        force: bool,
        key_lost: bool,
    ) -> Result<Self, Error> {
        let backend = &environment.store(cluster)?.backend;
        let name = ClusterName::new(cluster)?;
        if !key_lost {
            sealed::check_keys(environment, backend, &name).await?;
        }
        let head = match head_stands(&**backend, &name).await? {
            HeadStands::Whole => read_head(&**backend, &name).await?.map(|(head, _)| head),
            HeadStands::Lost | HeadStands::Damaged | HeadStands::Old => None,
        };
        let unopened = sealed::segments(&**backend, &name, head.as_ref()).await?;
        if let Some((_, error)) = unopened.first().filter(|_| !key_lost) {
            return Err(StoreError::from(error.clone()).into());
        }
        let mut problems = problems(environment, backend, &name, head.as_ref(), force || key_lost).await?;
        problems.extend(sealed::set_aside(&unopened));
        let protected = protection::recorded(&**backend, &name).await;
        Ok(Self { problems, head, protected, key_lost })
    }
}

async fn problems(
    environment: &Environment,
    backend: &Arc<dyn Backend>,
    cluster: &ClusterName,
    head: Option<&Head>,
    force: bool,
) -> Result<Vec<String>, Error> {
    let missing = || vec![format!("{cluster}/head: it is missing")];
    let report = match verify(&**backend, cluster).await {
        Ok(report) => report,
        Err(StoreError::NoCluster { .. }) => return Ok(missing()),
        Err(error) => return Err(error.into()),
    };
    let present = report.findings.iter().filter(|finding| finding.mend == Mend::Rebuild);
    let mut found: Vec<String> =
        present.map(|finding| format!("{}: {}", finding.key, finding.problem)).collect();
    if found.is_empty() && head.is_none() {
        found = missing();
    }
    if found.is_empty() {
        match State::read(&**backend, cluster.as_str()).await {
            Ok(state) => {
                found.extend(secrets::lost(&environment.keyring, backend, cluster, state.as_ref()).await?);
            }
            Err(error @ slipway_engine::Error::Corrupt { .. }) => found.push(error.to_string()),
            // An object that needs another key or a newer Slipway is not damaged.
            Err(error) if !force => return Err(error.into()),
            Err(error) => found.push(error.to_string()),
        }
    }
    if head.is_some_and(|head| head.deleted) {
        found.push(format!("{cluster} is recorded as deleted"));
    }
    Ok(found)
}

/// The rebuilt state of a cluster.
pub struct Found {
    /// The state as it can be made again.
    pub rebuilt: Rebuilt,
    /// The keys that the cluster runs with.
    pub keys: Keys,
    /// Keys that the store has lost and a control plane has.
    pub recovered: Vec<Address>,
    /// Whether the rebuilt state protects the cluster from deletion, and why.
    pub protection: Protection,
    desired: Vec<Desired>,
    stage: Stage,
}

/// A state that is being rebuilt.
pub struct Rebuilding {
    opened: Opened,
    is_lost: bool,
    protected: Option<bool>,
    key_lost: bool,
    found: Found,
}

impl Rebuilding {
    /// Asks the cloud and the machines. Writes nothing.
    ///
    /// # Errors
    /// When something cannot be read: it would be forgotten.
    pub async fn look(environment: &Environment, spec: ClusterSpec, damage: &Damage) -> Result<Self, Error> {
        let opened = Opened::without_state(environment, spec).await?;
        let found = find(&opened, (damage.head.as_ref(), damage.protected), None).await?;
        let Damage { head, protected, key_lost, .. } = damage;
        Ok(Self { opened, is_lost: head.is_none(), protected: *protected, key_lost: *key_lost, found })
    }

    /// The rebuild as a change that a policy may hold back: every object of the rebuilt state, and the protection.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub async fn change(&self, environment: &Environment) -> Result<Unplanned, Error> {
        let snapshot = &self.found.rebuilt.snapshot;
        let record = |(address, record): (&Address, &Record)| format!("{address} is {}", record.identity);
        let mut effects: Vec<String> = snapshot.resources.iter().map(record).collect();
        effects.push(format!("the unique id is {}", snapshot.uid));
        effects.push(format!("the protection from deletion is {:?}", self.found.protection));
        Unplanned::of(environment, "state rebuild", &snapshot.cluster, effects).await
    }

    /// The rebuilt state.
    #[must_use]
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Takes the cluster, searches again under the hold, and stores the state.
    ///
    /// # Errors
    /// When another process holds the cluster, or when something cannot be read.
    pub async fn commit(
        self,
        environment: &Environment,
        change: &Allowed,
        wait: Option<Duration>,
    ) -> Result<Generation, Error> {
        let cluster = ClusterName::new(self.opened.spec.cluster.name.as_str())?;
        let backend = &environment.store(cluster.as_str())?.backend;
        let snapshot = &self.found.rebuilt.snapshot;
        let uid = slipway_state_store::ClusterUid::new(snapshot.uid.as_str())?;
        let actor = &environment.actor;
        if self.is_lost {
            let meta = lost_head(actor, slipway_engine::about(&snapshot.spec));
            restore_head(backend, &cluster, uid.clone(), Generation(0), meta).await?;
        }
        let mut acquire = acquire(environment, "state rebuild", wait).over_damage().create(uid);
        acquire.over_lost_key = self.key_lost;
        let holder = Holder::acquire(backend.clone(), &cluster, acquire, Arc::new(SystemClock)).await?;
        if !self.is_lost
            && let Err(error) = change.check(holder.head().generation)
        {
            return give_back(holder, error).await;
        }
        let rebuilt = match under_hold(&self.opened, (&holder, self.protected), &self.found).await {
            Ok(rebuilt) => rebuilt,
            Err(error) => return give_back(holder, error).await,
        };
        let detail = format!("{} resources found by ownership", rebuilt.snapshot.resources.len());
        commit(holder, actor, "state rebuild", &rebuilt.snapshot, detail).await
    }
}

/// Asks the cloud and the machines, with the unique id that the head has, if there is a head.
async fn find(
    opened: &Opened,
    (head, protected): (Option<&Head>, Option<bool>),
    hold: Option<&Journal>,
) -> Result<Found, Error> {
    let cluster = &opened.spec.cluster;
    let uid = head.filter(|head| !head.deleted).map(|head| ClusterUid::new(head.uid.as_str()));
    let first = opened.expand(keys::catalogs(opened)?).await?;
    let catalogs = first.catalogs.clone();
    let files = keys::files(opened, &catalogs, uid.as_ref()).await?;
    let mut rotations = generations::of(&files);
    let mut first = Some(first);
    loop {
        let mut expansion = match first.take().filter(|_| rotations.is_empty()) {
            Some(first) => first,
            None => opened.expand(generations::pin(catalogs.clone(), &rotations)?).await?,
        };
        // The store may still have the keys of a cluster whose machines a provider makes.
        expansion.desired.append(&mut expansion.keys);
        expansion.desired.append(&mut expansion.reader);
        let (desired, catalogs) = (expansion.desired, expansion.catalogs);
        let stage = keys::stage(opened, (&files, &rotations), (&catalogs, &desired), hold).await?;
        let keys = keys::keys(&stage, &rotations, &desired)?;
        let mut spec = to_json(cluster)?;
        let protection = Protection::of(&spec, protected);
        protection.write(&mut spec);
        let rebuild = Rebuild {
            cluster: &cluster.name,
            uid: uid.clone(),
            spec,
            catalogs,
            desired: &desired,
            running: keys.running.clone(),
        };
        let mut rebuilt = rebuild.run(&stage.providers).await?;
        if !opened.is_on_hosts() {
            adopted::settle(&mut rebuilt, &desired, |address| kept_on_adoption(&stage, address))?;
        }
        let recovered = keys::complete(&stage, &mut rebuilt, &keys, &desired).await?;
        match generations::settled(&rotations, &rebuilt.missing) {
            Some(settled) => rotations = settled,
            None => return Ok(Found { rebuilt, keys, recovered, protection, desired, stage }),
        }
    }
}

/// The attributes that the type of a resource keeps on adoption.
fn kept_on_adoption(stage: &Stage, address: &Address) -> Vec<String> {
    let Some((_, _, kind)) = stage.providers.of_type(address.kind()) else { return Vec::new() };
    let kept = kind.attributes.iter().filter(|(_, attribute)| attribute.kept_on_adoption);
    kept.map(|(name, _)| name.clone()).collect()
}

/// Takes again what is this cluster's, looks once more, and stores recovered keys.
async fn under_hold(
    opened: &Opened,
    (holder, protected): (&Holder, Option<bool>),
    seen: &Found,
) -> Result<Rebuilt, Error> {
    let held = holder.head();
    let uid = ClusterUid::new(held.uid.as_str());
    let claims = lost_claims(seen);
    establish(&opened.spec.cluster.name, &uid, &claims, &[Part::HostClaim], &seen.stage.providers).await?;
    let mut found = find(opened, (Some(&held), protected), Some(holder.journal())).await?;
    let Found { rebuilt, keys, recovered, desired, stage, .. } = &mut found;
    keys::keep(stage, rebuilt, keys, recovered, desired).await?;
    Ok(found.rebuilt)
}

/// The claims of hosts that have something of the cluster, and that the inventory does not know any more.
fn lost_claims(seen: &Found) -> Vec<Desired> {
    let records = seen.rebuilt.snapshot.resources.values();
    let used: BTreeSet<&str> = records.filter_map(|record| host_of(&record.identity)).collect();
    let lost = seen.desired.iter().filter(|desired| {
        let host = desired.attributes.get(HOST).and_then(Value::as_str);
        seen.stage.providers.part(&desired.address) == Some(Part::HostClaim)
            && seen.rebuilt.missing.contains(&desired.address)
            && host.is_some_and(|host| used.contains(host))
    });
    lost.cloned().collect()
}
