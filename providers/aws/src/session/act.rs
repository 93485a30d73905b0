//! Carries out one action: sends the call, and waits until reads show its effect.

use std::time::Duration;

use slipway_aws_model::normalise::normalised;
use slipway_provider_sdk::Ticket;
use slipway_resource::diff::diff;
use slipway_resource::provider::{Action, Applied, ApplyEvent, ApplyRequest, EventSink};
use slipway_resource::{ErrorClass, Identity, Path, ProviderError, Value};
use tokio::time::Instant;

use crate::act::{Act, Wait};
use crate::cloud::Cloud;
use crate::error::{error, invalid, permanent};
use crate::kind::{self, Condition, Found, Kind};
use crate::known::{Known, may_be_late};
use crate::late::remove_twins;

/// For how long reads may lag behind before that counts as a failure.
const CONSISTENCY: Duration = Duration::from_secs(90);

/// How long values may be shown as they were before a change, or not at all.
const SETTLED: Duration = Duration::from_secs(30);

/// How long the object with a taken name is looked up.
const LOOKED_FOR: Duration = Duration::from_secs(10);
/// How long a deletion is repeated while no lasting object blocks it.
const IN_THE_WAY: Duration = Duration::from_secs(600);
/// How long calls may deny an object that was just created.
const NEW: Duration = Duration::from_secs(60);
/// How often the call after a creating call is tried.
const ATTEMPTS: u32 = 6;

/// Carries out one action.
pub(super) async fn apply(
    cloud: &Cloud,
    request: &ApplyRequest,
    events: &EventSink,
    ticket: Ticket<'_>,
) -> Result<Applied, ProviderError> {
    let kind = kind::of(&request.ownership.address)?;
    check_fit(request)?;
    let act = Act::new(cloud, request, events, ticket);
    act.check()?;
    events.send(ApplyEvent::Started);
    match &request.action {
        Action::Create { desired } => {
            let desired = normalised(kind.name(), desired);
            let identity = create(&act, kind, &desired).await?;
            finish_create(&act, kind, &identity, &desired).await.map_err(|mut error| {
                if error.class.is_retryable() {
                    // The object exists: the same create must not be sent again.
                    error.class = ErrorClass::OutcomeUnknown;
                }
                error
            })
        }
        Action::Update { identity, prior, desired } => {
            let (prior, desired) = (normalised(kind.name(), prior), normalised(kind.name(), desired));
            with_parents(&act, kind, &desired, || kind.update(&act, identity, &prior, &desired)).await?;
            shown(&act, kind, identity, Expected::Changed(&desired)).await
        }
        Action::Delete { identity } => delete(&act, kind, identity).await,
        Action::Tag { identity } => {
            kind.tag(&act, identity).await?;
            shown(&act, kind, identity, Expected::There).await
        }
        Action::Operation { identity, name, arguments } => {
            kind.operate(&act, identity, name, arguments).await
        }
    }
}

/// Refuses attributes that do not fit the schema, before the first call.
fn check_fit(request: &ApplyRequest) -> Result<(), ProviderError> {
    let (Action::Create { desired } | Action::Update { desired, .. }) = &request.action else {
        return Ok(());
    };
    let name = request.ownership.address.kind();
    let Some(schema) = slipway_aws_model::types::get(name) else { return Ok(()) };
    // A reference may have resolved to a number where a text is expected, as the version of a launch
    // template.
    let desired = normalised(name, desired);
    match slipway_resource::validate::misfits(&schema.attributes, &desired).into_iter().next() {
        Some(misfit) => Err(invalid(format!("{name}: {misfit}"))),
        None => Ok(()),
    }
}

/// Sends a call again while AWS denies an object that the session knows to exist. An object that this session
/// created is waited for; any other object is read again first. If the object does not exist, the call fails.
async fn with_parents<T, F>(
    act: &Act<'_>,
    kind: &dyn Kind,
    attributes: &Value,
    send: impl Fn() -> F + Send + Sync,
) -> Result<T, ProviderError>
where
    F: Future<Output = Result<T, ProviderError>> + Send,
{
    let mut wait = Wait::for_at_most(NEW);
    loop {
        let failure = match send().await {
            Err(error) if may_be_late(kind.name(), &error) => error,
            result => return result,
        };
        let Some(parent) = late_parent(act, kind, &failure, attributes).await? else { return Err(failure) };
        act.progress(format!("waiting until {parent} is known everywhere"));
        match act.pause(&mut wait, "its parent was not known").await {
            Err(error) if error.class == ErrorClass::OutcomeUnknown => return Err(failure),
            waited => waited?,
        }
    }
}

/// An object that a refused call names and that exists all the same.
async fn late_parent(
    act: &Act<'_>,
    kind: &dyn Kind,
    failure: &ProviderError,
    attributes: &Value,
) -> Result<Option<Identity>, ProviderError> {
    let known = act.cloud.shared::<Known>();
    let parents: Vec<_> =
        known.named_by(attributes).into_iter().filter(|parent| parent.kind != kind.name()).collect();
    let is_new = |made: Option<Instant>| made.is_some_and(|made| made.elapsed() < NEW);
    if let Some(parent) = parents.iter().find(|parent| is_new(parent.made)) {
        return Ok(Some(parent.identity.clone()));
    }
    // A service with one code for all errors is believed about objects that are not new.
    if failure.class != ErrorClass::NotFound {
        return Ok(None);
    }
    let mut found = None;
    for parent in &parents {
        let Some(of_it) = kind::all().iter().find(|kind| kind.name() == parent.kind) else { continue };
        match kind::read(*of_it, act.cloud, &parent.identity).await? {
            Some(Found { condition: Condition::Ending, .. }) | None => {
                known.gone(&parent.identity);
                return Ok(None);
            }
            Some(_) => found = Some(parent.identity.clone()),
        }
    }
    Ok(found)
}

/// Sends the creating call. An object that has the name or the range already may be the result of an earlier
/// attempt.
async fn create(act: &Act<'_>, kind: &dyn Kind, desired: &Value) -> Result<Identity, ProviderError> {
    let created = with_parents(act, kind, desired, || kind.create(act, desired)).await;
    let failure = match created {
        Err(error) if error.class == ErrorClass::Conflict => error,
        result => return result,
    };
    let mut wait = Wait::for_at_most(LOOKED_FOR);
    loop {
        if let Some(identity) = kind.made(act, desired).await? {
            return Ok(identity);
        }
        match act.pause(&mut wait, "nothing was found").await {
            Ok(()) => {}
            Err(error) if error.class == ErrorClass::OutcomeUnknown => return Err(failure),
            Err(error) => return Err(error),
        }
    }
}

/// The calls after a creating call, also when its object is found again after a crash.
pub(super) async fn finish_create(
    act: &Act<'_>,
    kind: &dyn Kind,
    identity: &Identity,
    desired: &Value,
) -> Result<Applied, ProviderError> {
    act.announce(identity);
    act.cloud.shared::<Known>().made(kind.name(), identity, desired);
    let finished = async {
        complete(act, kind, identity, desired).await?;
        remove_twins(act, kind, identity).await?;
        shown(act, kind, identity, Expected::Made(desired)).await
    };
    finished.await.map_err(|mut error| {
        error.identity = Some(identity.clone());
        error
    })
}

/// Sets attributes that the creating call could not set. If the object is not visible everywhere yet, the
/// call is repeated.
async fn complete(
    act: &Act<'_>,
    kind: &dyn Kind,
    identity: &Identity,
    desired: &Value,
) -> Result<(), ProviderError> {
    let mut wait = Wait::for_at_most(CONSISTENCY);
    for _ in 1..ATTEMPTS {
        match kind.complete(act, identity, desired).await {
            // A new object is not known everywhere at once.
            Err(error) if may_be_late(kind.name(), &error) => {
                tracing::debug!(%identity, %error, "once more");
                act.progress(format!("waiting until {identity} is known everywhere"));
                act.pause(&mut wait, &format!("{identity} was not complete")).await?;
            }
            // A repeated call does no harm, so one whose answer was lost may be sent again.
            Err(error) if error.class == ErrorClass::OutcomeUnknown => {
                return Err(ProviderError { class: ErrorClass::Transient, ..error });
            }
            result => return result,
        }
    }
    kind.complete(act, identity, desired).await
}

/// The state that reads must show of an object.
#[derive(Clone, Copy)]
pub(super) enum Expected<'a> {
    /// The object exists.
    There,
    /// The requested attributes of a new object.
    Made(&'a Value),
    /// The requested attributes of an existing object, in place of the previous ones.
    Changed(&'a Value),
}

impl Expected<'_> {
    /// The attributes that are shown otherwise than they were sent, and whether they may only be late.
    fn lacking(self, kind: &dyn Kind, attributes: &Value) -> (Vec<Path>, bool) {
        let (desired, is_new) = match self {
            Self::There => return (Vec::new(), false),
            Self::Made(desired) => (desired, true),
            Self::Changed(desired) => (desired, false),
        };
        let paths = lacking(kind, attributes, desired);
        let was_asked_for = |path: &Path| desired.at(path).is_some_and(|value| !value.is_null());
        let is_late = paths.iter().any(|path| !is_new || was_asked_for(path));
        (paths, is_late)
    }
}

/// Waits until reads show the object ready, and as desired.
pub(super) async fn shown(
    act: &Act<'_>,
    kind: &dyn Kind,
    identity: &Identity,
    expected: Expected<'_>,
) -> Result<Applied, ProviderError> {
    let cloud = act.patient();
    let mut lag = Wait::for_at_most(CONSISTENCY);
    let mut long = Wait::for_minutes(Duration::from_secs(3600));
    let (mut settling, mut reported) = (None, None);
    loop {
        match act.rest(kind::read(kind, &cloud, identity)).await {
            Ok(Some(Found { condition: Condition::Failed(reason), .. })) => {
                return Err(permanent(format!("{identity} will never be ready: {reason}")));
            }
            Ok(Some(Found { condition: Condition::Pending(reason), .. })) => {
                if reported.as_ref() != Some(&reason) {
                    act.progress(reason.clone());
                }
                act.pause(&mut long, &format!("{identity} was not ready: {reason}")).await?;
                reported = Some(reason);
            }
            Ok(Some(found)) => {
                let (paths, is_late) = expected.lacking(kind, &found.attributes);
                let applied = Applied { not_shown: paths, ..Applied::new(found.identity, found.attributes) };
                if !is_late {
                    return Ok(applied);
                }
                let names: Vec<String> = applied.not_shown.iter().map(ToString::to_string).collect();
                let settling = settling.get_or_insert_with(|| Wait::for_at_most(SETTLED));
                match act.pause(settling, &format!("{identity} did not show {}", names.join(", "))).await {
                    // AWS has accepted the call, which would have failed otherwise: the result names the
                    // attributes that are not shown.
                    Err(error) if error.class == ErrorClass::OutcomeUnknown => return Ok(applied),
                    waited => waited?,
                }
            }
            Ok(None) => act.pause(&mut lag, &format!("{identity} could not be read")).await?,
            Err(error) if error.class.is_retryable() => {
                act.pause(&mut lag, &format!("{identity} could not be read: {error}")).await?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// The attributes that are not as desired.
pub(super) fn lacking(kind: &dyn Kind, attributes: &Value, desired: &Value) -> Vec<Path> {
    let Some(schema) = slipway_aws_model::types::get(kind.name()) else { return Vec::new() };
    let changes = diff(schema, attributes, desired, Some(desired));
    let mut paths: Vec<Path> =
        changes.into_iter().filter(|change| change.after.is_known()).map(|change| change.path).collect();
    paths.dedup();
    paths
}

async fn delete(act: &Act<'_>, kind: &dyn Kind, identity: &Identity) -> Result<Applied, ProviderError> {
    act.cloud.shared::<Known>().gone(identity);
    let mut wait = Wait::for_at_most(IN_THE_WAY);
    let mut late = Wait::for_at_most(CONSISTENCY);
    let mut reported = Vec::new();
    loop {
        match kind.delete(act, identity).await {
            Ok(()) => break,
            // The missing object may be a part that is deleted first, and that is gone already.
            Err(error) if error.class == ErrorClass::NotFound => {
                if !is_there(act, kind, identity).await? {
                    break;
                }
                act.pause(&mut late, &format!("{identity} was shown, and not found")).await?;
            }
            Err(error) if matches!(error.class, ErrorClass::Dependency { .. }) => {
                let passing = in_the_way(act, kind, identity, error).await?;
                let names = passing.join(", ");
                if reported != passing && !passing.is_empty() {
                    act.progress(format!("waiting for {names}"));
                }
                act.pause(&mut wait, &format!("{identity} was still in use by {names}")).await.map_err(
                    |mut error| {
                        if error.class == ErrorClass::OutcomeUnknown {
                            error.class = ErrorClass::Dependency { blockers: passing.clone() };
                        }
                        error
                    },
                )?;
                reported = passing;
            }
            Err(error) => return Err(error),
        }
    }
    if kind.is_shared(identity) {
        act.progress(format!("{identity} stays: it is not the cluster's"));
        return Ok(Applied::default());
    }
    // If the whole cluster is deleted, the answer to the deletion is enough. If the object still blocks
    // others, their deletions wait for it.
    if kind.lingers() || !act.cloud.leaving() {
        gone(act, kind, identity).await?;
    }
    Ok(Applied::default())
}

/// Whether reads show an object that is not on its way out.
async fn is_there(act: &Act<'_>, kind: &dyn Kind, identity: &Identity) -> Result<bool, ProviderError> {
    match kind.read(act.cloud, identity).await {
        Ok(found) => Ok(found.is_some_and(|found| found.condition != Condition::Ending)),
        Err(error) if error.class == ErrorClass::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The objects that block a deletion for a while; the failure with the names of lasting ones.
async fn in_the_way(
    act: &Act<'_>,
    kind: &dyn Kind,
    identity: &Identity,
    failure: ProviderError,
) -> Result<Vec<String>, ProviderError> {
    let mut blockers = match kind.blockers(act.cloud, identity).await {
        Ok(blockers) => blockers,
        // The caller may delete and not be allowed to read.
        Err(error) => {
            tracing::debug!(%identity, %error, "what is in the way cannot be read");
            return Err(failure);
        }
    };
    if act.cloud.leaving() && !blockers.lasting.is_empty() {
        let deleted = kind::delete_interfaces(act, kind, identity).await?;
        // Another action may have deleted some of them.
        if let Ok(left) = kind.blockers(act.cloud, identity).await {
            blockers = left;
        }
        // Reads may still show them.
        blockers.lasting.retain(|text| !deleted.iter().any(|id| text.starts_with(id.as_str())));
        blockers.passing.extend(deleted);
    }
    if blockers.lasting.is_empty() {
        return Ok(blockers.passing);
    }
    let names = blockers.lasting.join(", ");
    let text = format!("{identity} cannot be deleted: {names} stand in the way");
    Err(error(ErrorClass::Dependency { blockers: blockers.lasting }, text)
        .with_hint("delete them or detach them, then apply again"))
}

/// Waits until reads show the object no more.
async fn gone(act: &Act<'_>, kind: &dyn Kind, identity: &Identity) -> Result<(), ProviderError> {
    let cloud = act.patient();
    let mut wait = Wait::for_at_most(Duration::from_secs(3600));
    loop {
        match act.rest(kind.read(&cloud, identity)).await {
            Ok(None) => match kind.remains(&cloud, identity).await {
                Ok(false) => return Ok(()),
                Err(error) if !error.class.is_retryable() => return Err(error),
                _ => act.pause(&mut wait, &format!("not all of {identity} was gone")).await?,
            },
            Err(error) if error.class == ErrorClass::NotFound => return Ok(()),
            Err(error) if !error.class.is_retryable() => return Err(error),
            _ => act.pause(&mut wait, &format!("{identity} was not gone")).await?,
        }
    }
}
