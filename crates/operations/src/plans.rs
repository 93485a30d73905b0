//! Plans that were made before: kept in a file or beside the state, and carried out exactly as they are.

mod catalogs;
mod expanded;
mod unchanged;

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use slipway_plan::{Mode, Plan};
use slipway_resource::ClusterUid;
use slipway_spec::model::Cluster;
use slipway_spec::stored;
use slipway_state_store::plans::{self, About, StoredPlan};
use slipway_state_store::{Backend, ClusterName, Digest, Generation};

use self::catalogs::Other;
use crate::applying::{self, Applied, Manner, Outcome};
use crate::decide::Occasion;
use crate::environment::Environment;
use crate::error::Error;
use crate::holding::{Held, Taking};
use crate::observe::Event;
use crate::opened::Opened;
use crate::plannable::Planned;
use crate::planning::{outages, retention};
use crate::protection;
use crate::secrets::sealed;
use crate::spec::ClusterSpec;
use crate::state::spec_of;
use crate::version;
use crate::weakening;

/// The prefix of a plan's place in the state store.
pub const STORE: &str = "state:";

/// Number of clusters that are read at once.
const AT_ONCE: usize = 16;

/// A plan from a file, with the envelope of its secrets, which is not opened.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The plan.
    pub plan: Plan,
    /// The envelope.
    pub sealed: Option<serde_json::Value>,
}

impl Saved {
    /// Reads a plan file, and checks what the file alone tells: an edited plan is not even shown.
    ///
    /// # Errors
    /// When it is none, or a part of it does not follow from the others.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (plan, sealed) = Plan::from_bytes_with(bytes)?;
        plan.check_alone()?;
        spec_in(&plan)?;
        Ok(Self { plan, sealed })
    }

    /// The plan file of a plan, with its secrets as far as they can be read and sealed here.
    ///
    /// # Errors
    /// When its secrets cannot be sealed, or the plan cannot be written as JSON.
    pub async fn to_bytes(opened: &Opened, planned: &Planned) -> Result<Vec<u8>, Error> {
        let keyring = &opened.environment.keyring;
        let sealed = sealed::seal(keyring, &planned.plan, &*planned.texts).await?;
        Ok(planned.plan.to_bytes_with(sealed.as_ref())?)
    }

    /// Carries the plan out exactly as it was saved.
    ///
    /// # Errors
    /// When the plan does not fit the state, is not approved, or another process holds the cluster. A step that fails is in the
    /// report.
    pub async fn apply(self, environment: &Environment, manner: Manner<'_>) -> Result<Outcome, Error> {
        let Self { plan, sealed } = self;
        check_fits(environment, &plan).await?;
        manner.decide.review(&plan, Occasion::First).await?;
        if protection::is_nothing(&plan) {
            return Ok(Outcome::Nothing);
        }
        let backend = environment.store(&plan.cluster)?.backend.clone();
        let checked = applying::check_terms(environment, Some(backend), &plan, &manner).await;
        let checked = match checked.map_err(Error::of_saved_plan) {
            // Nobody confirms the loss by a plan that shows something else than it does: that is checked first.
            Err(error) if !matches!(error, Error::Unconfirmed(_)) => return Err(error),
            checked => checked,
        };
        let cluster =
            spec_in(&plan)?.ok_or_else(|| Error::NoRecordedSpec { cluster: plan.cluster.clone() })?;
        let spec = ClusterSpec::recorded(&environment.policy, cluster);
        let opened = match plan.mode {
            Mode::Delete => Opened::leaving(environment, spec).await?,
            Mode::Apply | Mode::Drift => Opened::open(environment, spec).await?,
        };
        plan.check_losses(opened.providers(), opened.prior())?;
        let digest = plan.digest()?;
        let is_begun = opened.state.as_ref().is_some_and(|state| state.is_run_of(&digest));
        if !is_begun {
            plan.check_identities(opened.prior())?;
            plan.check_owners(opened.providers(), opened.prior()).await?;
            plan.check_machines(opened.providers(), opened.prior()).await?;
            if plan.mode == Mode::Apply && opened.prior().is_none() {
                opened.look_for_unknown().await?;
            }
            if let Some(prior) = opened.prior() {
                slipway_engine::check_account(prior, opened.providers())?;
            }
            if plan.mode == Mode::Apply {
                opened.check_saved()?;
            }
            let compared = opened.comparable().await?;
            let prior = compared.as_ref().or(opened.prior());
            plan.check_derived(&opened.deriving(&plan).await?, prior).await?;
        }
        let others = match is_begun {
            true => Vec::new(),
            false => catalogs::compare(&plan, &opened).await?.map_err(unsound)?,
        };
        let hidden = || protection::hidden(&plan, opened.protection);
        if let Some(fault) = (!is_begun).then(hidden).flatten() {
            return Err(unsound(fault));
        }
        let last = opened.prior().and_then(|prior| spec_of(prior).ok().flatten());
        let unshown = || match plan.mode {
            Mode::Apply => version::hidden(last.as_ref(), &opened.spec.cluster),
            Mode::Delete | Mode::Drift => None,
        };
        let shorter = retention::hidden(&plan, last.as_ref(), &opened.spec.cluster);
        let weaker = || weakening::hidden(&plan, last.as_ref(), &opened.spec.cluster);
        let outage = || outages::hidden(&plan, last.as_ref(), &opened.spec.cluster);
        if let Some(fault) = shorter.or_else(unshown).or_else(weaker).or_else(outage) {
            return Err(unsound(fault));
        }
        if !is_begun && let Some(fault) = expanded::fault(&plan, &opened, &others).await? {
            return Err(unsound(fault));
        }
        checked?;
        if let Some(state) = &opened.state {
            slipway_engine::check_interrupted(&plan, state)?;
        }
        let confirmed = applying::ask(&plan, &manner).await.map_err(Error::of_saved_plan)?;
        for Other { provider, name, .. } in others {
            environment.observer.event(Event::OtherChoice { provider, name });
        }
        let mut texts = opened.texts(&opened.stage.vault, std::collections::BTreeMap::new());
        if let Some(sealed) = sealed {
            match sealed::open(&environment.keyring, &plan, &sealed).await? {
                Ok(opened) => texts.sealed = opened,
                Err(error) => environment.observer.event(Event::SecretsReadAgain(error.to_string())),
            }
        }
        if plan.mode == Mode::Delete {
            protection::check_opened(&opened, false)?;
        }
        let before = version::applied_version(opened.prior())?;
        let uid = plan.binding.uid.clone();
        let operation = if plan.mode == Mode::Delete { "delete" } else { "apply" };
        let taking = Taking { operation, wait: manner.terms.wait, uid: uid.as_ref() };
        let held = Held::take(environment, &opened, taking).await?;
        let held = held.unless_protected(plan.mode, &plan.cluster, false).await?;
        let planned = Planned { plan, observed_at: None, uid: uid.clone(), texts: Arc::new(texts) };
        let applied: Applied =
            applying::run(environment, &opened, planned, held, (confirmed, manner.stop)).await?;
        let Cluster { name: cluster, kubernetes_version: version, .. } = &opened.spec.cluster;
        if applied.is_complete()
            && applied.plan.mode == Mode::Apply
            && before.is_some_and(|before| before != *version)
        {
            let (cluster, version) = (cluster.clone(), version.clone());
            environment.observer.event(Event::VersionApplied { cluster, version });
        }
        Ok(Outcome::Applied(applied))
    }
}

/// The spec in a plan file, if it has one.
///
/// # Errors
/// When the spec cannot be read, or is that of another cluster.
fn spec_in(plan: &Plan) -> Result<Option<Cluster>, Error> {
    let unreadable =
        |error: stored::Unreadable| unsound(format!("its spec cannot be read: {}", error.form()));
    let spec = stored::read(&plan.spec).map_err(unreadable)?;
    if let Some(other) = spec.as_ref().filter(|spec| spec.name != plan.cluster) {
        return Err(unsound(format!(
            "its spec is that of the cluster {}, instead of {}",
            other.name, plan.cluster
        )));
    }
    Ok(spec)
}

/// The error of a plan file that shows something else than it does.
fn unsound(fault: String) -> Error {
    slipway_plan::Error::Unsound { fault }.into()
}

/// Refuses a plan that does not fit the state any more. It is checked before a plan is shown, so that no review is in
/// vain; the run asks again when it holds the cluster.
///
/// # Errors
/// When the plan was made for another generation, another state or another cluster.
pub async fn check_fits(environment: &Environment, plan: &Plan) -> Result<(), Error> {
    let cluster = ClusterName::new(plan.cluster.as_str())?;
    let backend = &environment.store(&plan.cluster)?.backend;
    let head = slipway_state_store::read_head(&**backend, &cluster).await?.map(|(head, _)| head);
    let present = head.as_ref().filter(|head| !head.deleted);
    let uid = present.map(|head| ClusterUid::new(head.uid.as_str()));
    Ok(slipway_engine::check_generation(plan, head.as_ref(), uid.as_ref())?)
}

/// Stores a plan's file beside the state of its cluster. Returns its place, as `state:CLUSTER/DIGEST`.
///
/// # Errors
/// When the store cannot be written.
pub async fn store(environment: &Environment, plan: &Plan, bytes: Vec<u8>) -> Result<String, Error> {
    let backend = &environment.store(&plan.cluster)?.backend;
    let about = About {
        format: plans::FORMAT,
        cluster: ClusterName::new(plan.cluster.as_str())?,
        plan: digest(plan)?,
        generation: Generation(plan.binding.generation.unwrap_or(0)),
        who: environment.actor.who.clone(),
        when: jiff::Timestamp::now(),
        digest: Digest::of(&bytes),
    };
    let place = format!("{STORE}{}/{}", about.cluster, about.plan.to_hex());
    plans::store(backend, &StoredPlan { about, bytes: bytes.into() }).await?;
    Ok(place)
}

/// The digest of a plan, as the state store names it.
///
/// # Errors
/// When the plan cannot be written as JSON.
pub fn digest(plan: &Plan) -> Result<Digest, Error> {
    let digest = plan.digest()?;
    digest
        .as_str()
        .parse()
        .map_err(|error| Error::internal("the plan's digest cannot be used as a name", error))
}

/// Reads the plan that a reference names: `DIGEST` or `CLUSTER/DIGEST`, of which the first digits are enough.
///
/// # Errors
/// [`Error::StoredPlan`] when the store has no such plan, or several.
pub async fn stored(environment: &Environment, reference: &str) -> Result<Saved, Error> {
    let place = environment.store(reference)?;
    let (cluster, digits) = match reference.rsplit_once('/') {
        Some((cluster, digits)) => (Some(ClusterName::new(cluster)?), digits),
        None => (None, reference),
    };
    let digits = digits.strip_prefix("sha256:").unwrap_or(digits);
    let is_hexadecimal = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hexadecimal || !(plans::FEWEST_DIGITS..=64).contains(&digits.len()) {
        let hint = "a stored plan is named by 8 to 64 of the digits of its digest, as state:0123abcd";
        return Err(not_stored(format!("`{STORE}{reference}` names no plan in the state store"), Some(hint)));
    }
    let clusters = match cluster {
        Some(cluster) => vec![cluster],
        None => slipway_state_store::list_clusters(&*place.backend).await?,
    };
    let found = find(&place.backend, clusters, digits).await?;
    let missing = || {
        let hint =
            "`slipway plan -f … --out state:` stores one; `slipway state gc` removes those that fit no more";
        let message = format!("no plan in {} has a digest that begins with {digits}", place.place);
        not_stored(message, Some(hint))
    };
    match found.as_slice() {
        [] => Err(missing()),
        [(cluster, digest)] => {
            let stored = plans::read(&*place.backend, cluster, *digest).await?.ok_or_else(missing)?;
            let saved = Saved::from_bytes(&stored.bytes)?;
            // The name it was stored under is what was reviewed.
            if self::digest(&saved.plan)? != *digest {
                return Err(not_stored(format!("{digest} is stored with another plan in it"), None));
            }
            Ok(saved)
        }
        several => Err(Error::StoredPlan {
            message: format!("{digits} are the first digits of several plans"),
            candidates: several
                .iter()
                .map(|(cluster, plan)| format!("{STORE}{cluster}/{}", plan.to_hex()))
                .collect(),
            hint: Some("give more digits, or the cluster too"),
        }),
    }
}

fn not_stored(message: String, hint: Option<&'static str>) -> Error {
    Error::StoredPlan { message, candidates: Vec::new(), hint }
}

/// The plans whose digest begins so. Calls grow with clusters, not with what they have.
async fn find(
    backend: &Arc<dyn Backend>,
    clusters: Vec<ClusterName>,
    digits: &str,
) -> Result<Vec<(ClusterName, Digest)>, Error> {
    let find = |cluster: ClusterName| async move {
        let found = plans::find(&**backend, &cluster, digits).await?;
        Ok(found.into_iter().map(move |plan| (cluster.clone(), plan)).collect())
    };
    let all: Vec<Vec<_>> = stream::iter(clusters)
        .map(find)
        .buffered(AT_ONCE)
        .try_collect()
        .await
        .map_err(|error: slipway_state_store::Error| Error::from(error))?;
    Ok(all.into_iter().flatten().collect())
}
