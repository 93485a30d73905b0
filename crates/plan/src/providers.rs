//! The providers of a plan, and batched calls to them.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;

use slipway_resource::provider::{DryRun, Info, PlanItem, Planned, PreflightFinding, PreflightItem, Rollout};
use slipway_resource::schema::Part;
use slipway_resource::{Address, ProviderError, ResourceType, Schema, Session, Value};

use crate::assemble::Decided;
use crate::change::ChangeAction;
use crate::decide::Decision;
use crate::error::Error;
use crate::file::ProviderPin;
use crate::step::{Step, StepAction};

/// An open provider, with its self-description.
#[derive(Clone)]
pub struct ProviderHandle {
    /// The session.
    pub session: Arc<dyn Session>,
    /// Its resource types.
    pub schema: Arc<Schema>,
    /// Its limits and capabilities.
    pub info: Info,
    /// The version, schema, scope and configuration that a plan binds.
    pub pin: ProviderPin,
}

/// The providers of a plan, by name.
#[derive(Clone, Default)]
pub struct Providers {
    handles: BTreeMap<String, ProviderHandle>,
    by_type: BTreeMap<String, String>,
}

impl Providers {
    /// Adds a provider; its types are found from now on.
    pub fn insert(&mut self, name: impl Into<String>, handle: ProviderHandle) {
        let name = name.into();
        for kind in handle.schema.types.keys() {
            self.by_type.insert(kind.clone(), name.clone());
        }
        self.handles.insert(name, handle);
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ProviderHandle)> {
        self.handles.iter().map(|(name, handle)| (name.as_str(), handle))
    }

    /// The provider of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ProviderHandle> {
        self.handles.get(name)
    }

    /// The provider that has a resource type, and the type.
    #[must_use]
    pub fn of_type(&self, kind: &str) -> Option<(&str, &ProviderHandle, &ResourceType)> {
        let name = self.by_type.get(kind)?;
        let handle = self.handles.get(name)?;
        Some((name, handle, handle.schema.types.get(kind)?))
    }

    /// The part of a cluster that an object is, as its type declares it.
    #[must_use]
    pub fn part(&self, address: &Address) -> Option<Part> {
        self.of_type(address.kind())?.2.part(address.name())
    }
}

/// Has each provider predict the result for its items. Returns the answers in the order of the items.
pub(crate) async fn dry_run(providers: &Providers, items: Vec<PlanItem>) -> Result<Vec<DryRun>, Error> {
    batched(providers, items, "Rehearse", |session, batch| {
        Box::pin(async move { session.dry_run(batch).await })
    })
    .await
}

/// Has each provider plan its items. Returns the answers in the order of the items.
pub(crate) async fn ask(providers: &Providers, items: Vec<PlanItem>) -> Result<Vec<Planned>, Error> {
    batched(providers, items, "Plan", |session, batch| Box::pin(async move { session.plan(batch).await }))
        .await
}

/// The future result of calls to a session.
type Answers<'a, T> = Pin<Box<dyn Future<Output = Result<Vec<T>, ProviderError>> + Send + 'a>>;

/// Makes the calls in batches of each provider's maximum size.
async fn batched<T: Clone + Default>(
    providers: &Providers,
    items: Vec<PlanItem>,
    called: &str,
    call: impl for<'s> Fn(&'s dyn Session, Vec<PlanItem>) -> Answers<'s, T>,
) -> Result<Vec<T>, Error> {
    let mut by_provider: BTreeMap<&str, Vec<(usize, PlanItem)>> = BTreeMap::new();
    let count = items.len();
    for (position, item) in items.into_iter().enumerate() {
        let kind = item.address.kind();
        let (name, _, _) = providers.of_type(kind).ok_or_else(|| Error::UnknownType(item.address.clone()))?;
        by_provider.entry(name).or_default().push((position, item));
    }
    let mut answers: Vec<T> = vec![T::default(); count];
    for (name, items) in by_provider {
        let Some(handle) = providers.get(name) else {
            continue;
        };
        let size = handle.info.batch.max(1) as usize;
        let mut rest = items.into_iter().peekable();
        while rest.peek().is_some() {
            let (positions, batch): (Vec<usize>, Vec<PlanItem>) = rest.by_ref().take(size).unzip();
            let found = call(&*handle.session, batch).await;
            let found = found
                .map_err(|source| Error::Provider { provider: name.to_owned(), source: Box::new(source) })?;
            if found.len() != positions.len() {
                let message = format!("{called} answered {} of {} items", found.len(), positions.len());
                return Err(Error::Contract { provider: name.to_owned(), message });
            }
            for (position, found) in positions.into_iter().zip(found) {
                if let Some(place) = answers.get_mut(position) {
                    *place = found;
                }
            }
        }
    }
    Ok(answers)
}

/// Has each provider check for problems that would stop its part of the plan.
pub(crate) async fn preflight(
    providers: &Providers,
    decided: &Decided,
    steps: &[Step],
) -> Result<Vec<PreflightFinding>, Error> {
    let mut findings = Vec::new();
    // A removal without a call needs no permission, so no provider checks it.
    let without_call: BTreeSet<&Address> = steps
        .iter()
        .filter(|step| matches!(step.action, StepAction::RemovedWithParent { .. }))
        .map(|step| &step.address)
        .collect();
    for (name, handle) in providers.iter() {
        let items: Vec<PreflightItem> = decided
            .by_address
            .values()
            .filter(|decision| decision.change.provider == name)
            .filter(|decision| !without_call.contains(&decision.change.address))
            .flat_map(|decision| preflight_items(decision))
            .collect();
        if !items.is_empty() {
            let found = handle.session.preflight(items).await;
            findings.extend(
                found.map_err(|source| Error::Provider {
                    provider: name.to_owned(),
                    source: Box::new(source),
                })?,
            );
        }
    }
    Ok(findings)
}

/// The operations of a decision: changes of the resource, a roll of its machines, and deletions of older
/// objects.
fn preflight_items(decision: &Decision) -> Vec<PreflightItem> {
    let change = &decision.change;
    let rolls = decision.rollout.as_ref().is_some_and(Rollout::has_leaving);
    let after = || change.after.clone();
    let mut items = match change.action {
        ChangeAction::Create => vec![("create", after())],
        ChangeAction::Update => vec![("update", after())],
        // The resource does not change, but its machines do.
        ChangeAction::NoOp | ChangeAction::Record if rolls => vec![("update", after())],
        ChangeAction::Delete => vec![("delete", Value::Null)],
        ChangeAction::ReplaceCreateFirst => vec![("create", after()), ("delete", Value::Null)],
        ChangeAction::ReplaceDeleteFirst => vec![("replace", after())],
        ChangeAction::NoOp
        | ChangeAction::Record
        | ChangeAction::Forget
        | ChangeAction::Adopt
        | ChangeAction::Deferred => Vec::new(),
    };
    if !decision.surplus.is_empty() && items.iter().all(|(action, _)| *action != "delete") {
        items.push(("delete", Value::Null));
    }
    let of = |(action, desired): (&str, Value)| PreflightItem {
        address: change.address.clone(),
        action: action.to_owned(),
        desired,
    };
    items.into_iter().map(of).collect()
}
