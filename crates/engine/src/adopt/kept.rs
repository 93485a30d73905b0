//! Differences that no field of the spec asks for: the object keeps the found value.
//!
//! A spec sets fewer fields than an object has. Another tool chose its own values for fields that the spec
//! leaves to defaults. It does not set fields that only Slipway writes. The spec asks for neither of these
//! differences, so the object keeps its value until the spec changes the desired value. A difference in a
//! field that the spec sets is a change, and is planned.

use std::collections::{BTreeMap, BTreeSet};

use slipway_plan::precondition::may_be_digested;
use slipway_plan::{ProviderHandle, Providers};
use slipway_resource::diff::{Change, diff};
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Address, Desired, Digest, Path, ProviderError, ResourceType, Segment, Value};

/// The deepest path that is kept by itself. Each attempt keeps one more level around the difference.
const DEEPEST: usize = 12;

/// An object that was found for a wanted resource.
pub(super) struct Match<'a> {
    pub desired: &'a Desired,
    pub kind: &'a ResourceType,
    pub provider: &'a str,
    /// The desired attributes. References are resolved to the found objects.
    pub wanted: Value,
    /// The attributes of the object.
    pub found: &'a Value,
    /// The attributes that the state will record as applied.
    pub applied: &'a Value,
    /// The attributes that its type keeps in any case.
    pub kept: BTreeMap<Path, Digest>,
    /// Attributes for which the provider accepts the found value as the desired one, while the object of the
    /// other tool exists.
    pub taken: BTreeSet<String>,
}

impl Match<'_> {
    /// The attributes that the state will record as applied: the found ones, except those whose found value
    /// the provider accepts. For these the state records the desired value, so that the provider sees later
    /// changes of the spec.
    pub fn agreed(&self) -> Value {
        let mut applied = self.applied.clone();
        for name in &self.taken {
            let path = Path::key(name.as_str());
            applied.set(&path, self.wanted.at(&path).cloned().unwrap_or_default());
        }
        applied
    }

    /// Whether the provider accepts the found value of an attribute: the values differ, and it reports no
    /// change.
    fn is_taken(&self, path: &Path, changes: &[Change]) -> bool {
        let (wanted, found) = (self.wanted.at(path), self.found.at(path));
        let mut secret = false;
        if let Some(wanted) = wanted {
            wanted.for_each_secret(&mut |_| secret = true);
        }
        let may_be_kept = match path.segments() {
            [Segment::Key(name)] => self.kind.attributes.get(name).is_some_and(may_be_digested),
            _ => false,
        };
        may_be_kept
            && !secret
            && wanted != found
            && !changes.iter().any(|change| change.path.starts_with(path))
    }

    /// The desired attributes, with the found values of those that are kept.
    fn settled(&self) -> Value {
        let mut wanted = self.wanted.clone();
        for path in self.kept.keys() {
            wanted.set(path, self.found.at(path).cloned().unwrap_or_default());
        }
        wanted
    }

    /// Keeps the path of a difference, or its parent where the path was kept `before` and still differs.
    /// Returns whether it keeps a path that was not kept.
    fn keep(&mut self, path: &Path, before: &BTreeMap<Path, Digest>) -> bool {
        let mut segments = path.segments().to_vec();
        let Some(Segment::Key(name)) = segments.first() else { return false };
        if !self.kind.attributes.get(name).is_some_and(may_be_digested) {
            return false;
        }
        let was_kept =
            before.keys().filter(|known| path.starts_with(known)).map(|known| known.segments().len());
        if let Some(length) = was_kept.min() {
            segments.truncate(length.saturating_sub(1));
        }
        if segments.is_empty() {
            return false;
        }
        let path = Path::from(segments);
        if !self.kept.keys().any(|known| path.starts_with(known)) {
            let wanted = self.wanted.at(&path).unwrap_or(&Value::Null);
            let Ok(digest) = Digest::of(wanted) else { return false };
            self.kept.retain(|known, _| !known.starts_with(&path));
            self.kept.insert(path, digest);
        }
        true
    }
}

/// Whether a field that the spec sets asks for an attribute. The origin of a resource as a whole says nothing
/// about its attributes.
fn is_asked_for(desired: &Desired, path: &Path, is_written: &(dyn Fn(&str) -> bool + Sync)) -> bool {
    let of_part = desired.origins.iter().filter(|(known, _)| !known.segments().is_empty());
    of_part
        .filter(|(known, _)| path.starts_with(known))
        .max_by_key(|(known, _)| known.segments().len())
        .is_some_and(|(_, field)| is_written(field))
}

/// Finds the differences between found and desired attributes, and keeps those that the spec does not ask
/// for.
pub(super) async fn leave_unasked(
    matches: &mut [Match<'_>],
    providers: &Providers,
    is_written: &(dyn Fn(&str) -> bool + Sync),
) {
    leave_to_provider(matches, providers).await;
    let mut open: Vec<usize> = (0..matches.len()).collect();
    for _ in 0..DEEPEST {
        let differences = differences(matches, &open, providers).await;
        let mut again = Vec::new();
        for (position, changes) in differences {
            let Some(one) = matches.get_mut(position) else { continue };
            let unasked =
                changes.iter().filter(|change| !is_asked_for(one.desired, &change.path, is_written));
            let unasked: Vec<Path> = unasked.map(|change| change.path.clone()).collect();
            let before = one.kept.clone();
            let kept = unasked.iter().filter(|path| one.keep(path, &before)).count();
            if kept > 0 {
                again.push(position);
            }
        }
        if again.is_empty() {
            return;
        }
        open = again;
    }
}

/// Finds the attributes whose found value the providers accept.
async fn leave_to_provider(matches: &mut [Match<'_>], providers: &Providers) {
    let kept: Vec<BTreeMap<Path, Digest>> =
        matches.iter_mut().map(|one| std::mem::take(&mut one.kept)).collect();
    let keeping: Vec<usize> =
        kept.iter().enumerate().filter(|(_, kept)| !kept.is_empty()).map(|(position, _)| position).collect();
    let mut differing: BTreeMap<usize, Vec<Change>> =
        differences(matches, &keeping, providers).await.into_iter().collect();
    for (position, (one, kept)) in matches.iter_mut().zip(kept).enumerate() {
        let changes = differing.remove(&position);
        for (path, digest) in kept {
            match (path.segments(), &changes) {
                ([Segment::Key(name)], Some(changes)) if one.is_taken(&path, changes) => {
                    one.taken.insert(name.clone());
                }
                _ => {
                    one.kept.insert(path, digest);
                }
            }
        }
    }
}

/// The changes that a plan would make to some of the objects, if nothing else changed.
async fn differences(
    matches: &[Match<'_>],
    open: &[usize],
    providers: &Providers,
) -> Vec<(usize, Vec<Change>)> {
    let mut found = Vec::new();
    for (name, handle) in providers.iter() {
        let of_it: Vec<(usize, &Match<'_>)> = open
            .iter()
            .filter_map(|position| Some((*position, matches.get(*position)?)))
            .filter(|(_, one)| one.provider == name)
            .collect();
        for batch in of_it.chunks(handle.info.batch.max(1) as usize) {
            let items = batch.iter().map(|(_, one)| PlanItem {
                address: one.desired.address.clone(),
                desired: Some(one.settled()),
                observed: Some(one.found.clone()),
                last_applied: Some(one.applied.clone()),
            });
            let planned = match planned(handle, items.collect()).await {
                Ok(planned) => planned,
                // `slipway plan` reports the error. Until then the found values stay.
                Err(error) => {
                    tracing::debug!(provider = name, %error, "what was found is not compared");
                    break;
                }
            };
            for ((position, one), (planned, seen)) in batch.iter().zip(planned) {
                let seen = seen.as_ref().unwrap_or(one.found);
                let mut changes = diff(one.kind, seen, &planned.normalised, Some(one.applied));
                // A provider that can do dry runs reports what it would accept. It accepts no attribute that
                // keeps its found value.
                if handle.info.capabilities.dry_run {
                    changes.retain(|change| !one.kind.is_set_by_provider(&change.path, &one.wanted));
                }
                found.push((*position, changes));
            }
        }
    }
    found
}

/// The provider's plans for objects, each with the attributes to compare where they differ from the found
/// ones. A provider that can do dry runs is asked for a dry run first.
async fn planned(
    handle: &ProviderHandle,
    mut items: Vec<PlanItem>,
) -> Result<Vec<(Planned, Option<Value>)>, ProviderError> {
    let mut seen = vec![None; items.len()];
    if handle.info.capabilities.dry_run {
        let dry_runs = handle.session.dry_run(items.clone()).await?;
        for ((item, seen), dry_run) in items.iter_mut().zip(&mut seen).zip(dry_runs) {
            if dry_run.desired.is_some() {
                item.desired = dry_run.desired;
            }
            if dry_run.observed.is_some() {
                item.observed.clone_from(&dry_run.observed);
                *seen = dry_run.observed;
            }
        }
    }
    Ok(handle.session.plan(items).await?.into_iter().zip(seen).collect())
}

/// The attributes that keep their found value beside those that their type keeps, by resource.
pub(super) fn summary(matches: &[Match<'_>]) -> Vec<(Address, Vec<Path>)> {
    let of = |one: &Match<'_>| {
        let paths = one.kept.keys().filter(|path| {
            let [Segment::Key(name)] = path.segments() else { return true };
            !one.kind.attributes.get(name).is_some_and(|attribute| attribute.kept_on_adoption)
        });
        let paths: Vec<Path> = paths.cloned().collect();
        (!paths.is_empty()).then(|| (one.desired.address.clone(), paths))
    };
    matches.iter().filter_map(of).collect()
}
