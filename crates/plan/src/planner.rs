//! Makes a plan from desired, observed and recorded resources.

mod asking;
mod finish;
mod inputs;
mod leaving;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub use inputs::{Inputs, Options, Uncompared};
use slipway_resource::provider::{DryRun, PlanItem, Planned};
use slipway_resource::{Address, Desired, Digest, Identity, Path, ProviderError, Value, validate};

use crate::assemble::{self, Decided};
use crate::change::{ChangeAction, ResourceChange};
use crate::decide::{self, Context, Decision, KnownResource};
use crate::error::Error;
use crate::file::{Mode, Plan};
use crate::graph::{self, Dependencies};
use crate::nodes::Nodes;
use crate::observations::{Found, Standing};
use crate::orphans::{self, Orphan};
use crate::reason::{Reason, ReasonCode};
use crate::resolve::{Known, Resolver};
use crate::state::Record;
use crate::{forgotten, imports, lifecycle, outside, providers, removed, renames, requested, target, used};

/// Makes a plan. Pure but for the providers' own pure calls: the same inputs give the same plan.
///
/// # Errors
/// When the resources cannot be ordered or do not fit their schemas, or a provider refuses.
pub async fn plan(mut inputs: Inputs<'_>) -> Result<Plan, Error> {
    inputs.desired.sort_by(|left, right| left.address.cmp(&right.address));
    let mut dependencies = graph::dependencies(&inputs.desired)?;
    for (address, turn) in std::mem::take(&mut inputs.options.removal_turns) {
        if !dependencies.by_address.contains_key(&address) {
            dependencies.turns.insert(address, turn);
        }
    }
    check_schema(&inputs)?;
    // Copied only when something is renamed.
    let mut records: Cow<'_, BTreeMap<Address, Record>> =
        inputs.prior.map_or_else(Cow::default, |prior| Cow::Borrowed(&prior.resources));
    used::refuse_own(&inputs.desired, &records, &inputs.observations)?;
    let no_longer_used = used::settle(&inputs.desired, &mut records, &mut inputs.observations);
    inputs.notes.extend(no_longer_used);
    if inputs.mode == Mode::Apply {
        removed::check(&inputs)?;
        imports::check(&inputs, &records)?;
    }
    let is_desired = |address: &Address| dependencies.by_address.contains_key(address);
    let removed = removed::keep((&inputs.spec, inputs.mode), is_desired, &mut records, &inputs.observations);
    if inputs.mode == Mode::Delete {
        inputs.notes.extend(removed::notes_of_deletion(&inputs.spec));
    }
    let mut moved = renames::apply(&inputs.desired, &mut records, &mut inputs.observations, inputs.providers);
    if inputs.mode == Mode::Apply {
        renames::check(&inputs)?;
    }
    let left_alone = forgotten::leave_alone(
        inputs.prior,
        &records,
        |address, identity| is_wanted(&inputs.desired, address, identity),
        &mut inputs.observations,
        &mut moved,
    );
    inputs.notes.extend(left_alone);
    let mut nodes = Nodes::new(inputs.providers, inputs.prior);
    let owning = outside::owning(&inputs.observations, inputs.providers);
    let mut planner = Planner {
        inputs: &inputs,
        dependencies: &dependencies,
        records: &records,
        moved: &moved,
        removed: &removed,
        owning,
    };
    let mut decided = planner.wanted(&mut nodes).await?;
    planner.unwanted(&mut nodes, &mut decided).await?;
    let known: Vec<&Address> = decided.by_address.keys().chain(dependencies.by_address.keys()).collect();
    target::check(&inputs.options.targets, &known)?;
    target::check(&inputs.options.replace, &known)?;
    finish::finish(&inputs, &dependencies, &records, nodes, decided).await
}

fn check_schema(inputs: &Inputs<'_>) -> Result<(), Error> {
    for desired in &inputs.desired {
        let address = &desired.address;
        let (_, _, kind) =
            inputs.providers.of_type(address.kind()).ok_or_else(|| Error::UnknownType(address.clone()))?;
        let misfits = validate::misfits(&kind.attributes, &desired.attributes);
        if !misfits.is_empty() {
            let message = misfits.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            return Err(Error::Invalid { address: address.clone(), message });
        }
    }
    Ok(())
}

struct Planner<'a> {
    inputs: &'a Inputs<'a>,
    dependencies: &'a Dependencies,
    records: &'a BTreeMap<Address, Record>,
    moved: &'a BTreeMap<Address, Address>,
    /// The addresses that leave the state by the spec, and whose objects are kept.
    removed: &'a BTreeSet<Address>,
    /// The providers that list what the cluster owns.
    owning: BTreeSet<String>,
}

/// A desired resource before its provider plans it.
struct Prepared<'a> {
    desired: &'a Desired,
    resolved: Value,
    object: Option<&'a Found>,
    surplus: Vec<Found>,
    as_found: BTreeMap<Path, Digest>,
    /// Attributes that the spec says to leave alone, and whose desired value differs.
    ignored: Vec<Path>,
    /// The provider's prediction for the desired attributes.
    dry_run: DryRun,
    /// Why its provider refuses the change, in a report of drift.
    refusal: Option<String>,
}

impl Prepared<'_> {
    /// The existing object as its provider compares it.
    fn observed(&self) -> Option<&Value> {
        let object = self.object?;
        Some(self.dry_run.observed.as_ref().unwrap_or(&object.attributes))
    }
}

impl<'p> Planner<'p> {
    /// Decides about every desired resource, layer by layer, one batch for each provider and layer.
    async fn wanted(&mut self, nodes: &mut Nodes<'_>) -> Result<Decided, Error> {
        let by_address: BTreeMap<&Address, &Desired> =
            self.inputs.desired.iter().map(|desired| (&desired.address, desired)).collect();
        let mut decided = Decided::default();
        let mut resolver = Resolver::default();
        let read = with_read_attributes(&self.inputs.desired);
        let mut replaced: BTreeMap<Address, Vec<Reason>> = BTreeMap::new();
        for level in &self.dependencies.levels {
            let mut prepared = Vec::new();
            for address in level {
                let Some(desired) = by_address.get(address) else {
                    continue;
                };
                match self.prepare(desired, &resolver)? {
                    Ok(ready) => prepared.push(ready),
                    Err(change) => {
                        resolver.insert(address.clone(), Known::Unreadable);
                        decided.by_address.insert(address.clone(), Box::new(assemble::plain(*change)));
                    }
                }
            }
            self.dry_run(&mut prepared).await?;
            let planned = self.ask(&mut prepared).await?;
            for (prepared, mut planned) in prepared.into_iter().zip(planned) {
                let machines = planned.rollout.as_ref().map(outside::Machines::of);
                let address = &prepared.desired.address;
                let rollout = planned.rollout.as_mut();
                let marked = (self.inputs, self.moved);
                let anew = rollout.is_some_and(|rollout| requested::mark(marked, prepared.desired, rollout));
                let is_rolled = anew || requested::is_open(self.inputs, self.moved, address);
                if let Some(rollout) = &planned.rollout
                    && let Err(error) = nodes.read(address, rollout).await
                {
                    let change = self.without_nodes(address, &error);
                    resolver.insert(address.clone(), Known::Unreadable);
                    decided.by_address.insert(address.clone(), Box::new(assemble::plain(change)));
                    continue;
                }
                let mut decision = self.decide(&prepared, planned, (machines, is_rolled), &replaced)?;
                decision.anew = anew;
                self.defer_uncompared(&mut decision);
                resolver.insert(address.clone(), known(&mut decision, read.contains(address)));
                if decision.change.action.is_replace() {
                    replaced.insert(address.clone(), decision.change.reasons.clone());
                }
                decided.insert(decision);
            }
        }
        decided.drift.sort_by(|left, right| left.address.cmp(&right.address));
        Ok(decided)
    }

    /// The change of a pool whose machines would be deleted, when its nodes cannot be read.
    fn without_nodes(&self, address: &Address, error: &ProviderError) -> ResourceChange {
        let text = format!("its machines leave, and the nodes of the cluster could not be read: {error}");
        let provider = self.inputs.providers.of_type(address.kind()).map_or("", |(name, _, _)| name);
        let reason = Reason::new(ReasonCode::Unreadable, text);
        assemble::deferred(address, provider, self.records.get(address), reason)
    }

    /// Defers a resource that looks unchanged and has a secret that could not be compared.
    fn defer_uncompared(&self, decision: &mut Decision) {
        let change = &mut decision.change;
        let looks_unchanged =
            [ChangeAction::NoOp, ChangeAction::Record, ChangeAction::Adopt].contains(&change.action);
        let uncompared = self.inputs.uncompared.get(&change.address).filter(|_| looks_unchanged);
        if let Some(Uncompared::Unread(why)) = uncompared {
            change.action = ChangeAction::Deferred;
            change.retag = false;
            // What looks unchanged names no hidden paths, because it is not shown; this is.
            if let Some((_, _, kind)) = self.inputs.providers.of_type(change.address.kind()) {
                change.sensitive = decide::sensitive_paths(&kind.attributes);
            }
            let text = format!("its secret could not be compared: {why}");
            change.reasons = vec![Reason::new(ReasonCode::Unreadable, text)];
        }
    }

    /// Collects the known facts about a resource, or says why no decision can be made.
    fn prepare(
        &self,
        desired: &'p Desired,
        resolver: &Resolver,
    ) -> Result<Result<Prepared<'p>, Box<ResourceChange>>, Error> {
        let address = &desired.address;
        let resolved = resolver.resolve(&desired.attributes);
        let record = self.records.get(address);
        let standing = self.inputs.observations.standing(address, record);
        let blocked = match &standing {
            Standing::Unreadable(error) => {
                Some(Reason::new(ReasonCode::Unreadable, format!("it could not be read: {error}")))
            }
            _ => resolved.unreadable.first().map(|behind| {
                let text = format!("it refers to {behind}, which could not be read");
                let mut reason = Reason::new(ReasonCode::BehindUnreadable, text);
                reason.because_of = Some(behind.clone());
                reason
            }),
        };
        if let Some(reason) = blocked {
            let provider = self.inputs.providers.of_type(address.kind()).map_or("", |(name, _, _)| name);
            return Ok(Err(Box::new(assemble::deferred(address, provider, record, reason))));
        }
        let (object, surplus) = match (standing, &desired.lifecycle.existing) {
            // The object that the spec names is the one, and is never another object of its address.
            (Standing::Present { .. }, Some(named)) => {
                let objects = self.inputs.observations.objects(address);
                let (object, surplus): (Vec<&Found>, Vec<&Found>) =
                    objects.iter().partition(|found| found.identity == *named);
                (object.into_iter().next(), surplus.into_iter().cloned().collect())
            }
            (Standing::Present { object, surplus }, None) => {
                (Some(object), surplus.into_iter().cloned().collect())
            }
            _ => (None, Vec::new()),
        };
        if let (Some(identity), None) = (&desired.lifecycle.existing, &object) {
            return Err(Error::MissingExisting { address: address.clone(), identity: identity.to_string() });
        }
        let mut wanted = resolved.value;
        let as_found = match (record, object) {
            (Some(record), Some(object)) => leave_as_found(&mut wanted, record, object),
            _ => BTreeMap::new(),
        };
        let ignored = match (object, self.inputs.providers.of_type(address.kind())) {
            (Some(object), Some((_, _, kind))) => {
                lifecycle::leave_ignored(&mut wanted, &desired.lifecycle.ignore_changes, kind, object)
            }
            _ => Vec::new(),
        };
        let (dry_run, refusal) = (DryRun::default(), None);
        Ok(Ok(Prepared { desired, resolved: wanted, object, surplus, as_found, ignored, dry_run, refusal }))
    }

    /// Asks the providers that can do dry runs for their predictions.
    async fn dry_run(&self, prepared: &mut [Prepared<'_>]) -> Result<(), Error> {
        let has_dry_run = |address: &Address| {
            let owner = self.inputs.providers.of_type(address.kind());
            owner.is_some_and(|(_, handle, _)| handle.info.capabilities.dry_run)
        };
        let mut places = Vec::new();
        let mut items = Vec::new();
        for (place, prepared) in prepared.iter().enumerate() {
            // An object that the cluster only uses does not change.
            if has_dry_run(&prepared.desired.address) && prepared.desired.lifecycle.existing.is_none() {
                places.push(place);
                items.push(self.item(prepared));
            }
        }
        let dry_runs = providers::dry_run(self.inputs.providers, items).await?;
        for (place, dry_run) in places.into_iter().zip(dry_runs) {
            if let Some(prepared) = prepared.get_mut(place) {
                prepared.dry_run = dry_run;
            }
        }
        Ok(())
    }

    fn item(&self, prepared: &Prepared<'_>) -> PlanItem {
        let address = &prepared.desired.address;
        let desired = &prepared.dry_run.desired;
        let found = prepared.observed();
        PlanItem {
            address: address.clone(),
            desired: Some(desired.as_ref().unwrap_or(&prepared.resolved).clone()),
            observed: found.cloned(),
            last_applied: self.records.get(address).and_then(|record| record.applied.clone()),
        }
    }

    fn decide(
        &self,
        prepared: &Prepared<'_>,
        planned: Planned,
        (machines, is_rolled): (Option<outside::Machines>, bool),
        replaced: &BTreeMap<Address, Vec<Reason>>,
    ) -> Result<Decision, Error> {
        let address = &prepared.desired.address;
        let (provider, _, kind) = self
            .inputs
            .providers
            .of_type(address.kind())
            .ok_or_else(|| Error::UnknownType(address.clone()))?;
        let record = self.records.get(address);
        let imports = &self.inputs.options.imports;
        let imported = imports::is_imported(imports, address, (record, prepared.object));
        let known = KnownResource {
            desired: prepared.desired,
            resolved: &prepared.resolved,
            kind,
            provider,
            record,
            object: prepared.object,
            seen: prepared.dry_run.observed.as_ref(),
            surplus: prepared.surplus.clone(),
            as_found: prepared.as_found.clone(),
            ignored: prepared.ignored.clone(),
            previous_address: self.moved.get(address).cloned(),
            depends_on: self.dependencies.by_address.get(address).map_or(&[], Vec::as_slice),
            force_replace: prepared.object.is_some() && target::any(&self.inputs.options.replace, address),
            lost_tags: imported && imports::is_tagged(kind, prepared.object)
                || outside::has_lost_tags(
                    prepared.desired,
                    (provider, kind),
                    (record, prepared.object),
                    (&self.inputs.observations, &self.owning),
                ),
            imported,
            machines,
            is_rolled,
            forgets: self.inputs.uncompared.get(address) == Some(&Uncompared::Forgotten),
        };
        let context = Context { locate: self.inputs.locate, changed: &self.inputs.changed, replaced };
        let mut decision = decide::decide(known, planned, &context);
        if imported && decision.change.action.is_replace() {
            let paths = decision.change.changes.iter().filter(|change| change.replaces);
            let paths: Vec<String> = paths.map(|change| change.path.to_string()).collect();
            let identity = imports.get(address).cloned().unwrap_or_else(|| Identity::new(""));
            let why =
                format!("it would be replaced, because it differs from the spec in {}", paths.join(", "));
            return Err(Error::Import { address: address.clone(), identity, why });
        }
        if let Some(drift) = &mut decision.drift {
            // The provider says who changed a field, as far as it knows.
            let texts = prepared.dry_run.reasons.iter();
            drift.reasons.extend(texts.map(|text| Reason::new(ReasonCode::Provider, text.as_str())));
        }
        if let (Some(refusal), Some(drift)) = (&prepared.refusal, &mut decision.drift) {
            drift.reasons.push(Reason::new(ReasonCode::Provider, refusal.as_str()));
        }
        Ok(decision)
    }

    /// Decides about every resource that exists or is recorded, and is not desired.
    async fn unwanted(&mut self, nodes: &mut Nodes<'_>, decided: &mut Decided) -> Result<(), Error> {
        let mut addresses: BTreeSet<&Address> = self.records.keys().collect();
        addresses.extend(self.inputs.observations.addresses());
        let mut leaving = Vec::new();
        for address in addresses {
            if self.dependencies.by_address.contains_key(address) {
                continue;
            }
            let (provider, _, kind) = self
                .inputs
                .providers
                .of_type(address.kind())
                .ok_or_else(|| Error::UnknownType(address.clone()))?;
            let is_removed = self.removed.contains(address);
            let retained = self.inputs.options.retained.as_ref().map(|retained| retained.contains(address));
            let orphan = Orphan {
                address,
                record: self.records.get(address),
                provider,
                kind,
                mode: self.inputs.mode,
                delete_retained: self.inputs.options.delete_retained && !is_removed,
                retained: if is_removed { Some(true) } else { retained },
            };
            match orphans::decide(&orphan, &self.inputs.observations) {
                // It has no record to forget, so it needs no change.
                Some(change) if orphan.record.is_none() && change.action == ChangeAction::Forget => {
                    decided.kept.push(change);
                }
                Some(change) => leaving.push(change),
                None => {}
            }
        }
        let rollouts = self.rollouts_of(&mut leaving).await?;
        for (change, rollout) in leaving.into_iter().zip(rollouts) {
            if let Some(rollout) = &rollout
                && let Err(error) = nodes.read(&change.address, rollout).await
            {
                decided.insert(assemble::plain(self.without_nodes(&change.address, &error)));
                continue;
            }
            let record = self.records.get(&change.address);
            let surplus = match self.inputs.observations.standing(&change.address, record) {
                // Nothing is deleted at an address whose object stays.
                Standing::Present { surplus, .. } if change.action != ChangeAction::Forget => {
                    surplus.into_iter().cloned().collect()
                }
                _ => Vec::new(),
            };
            decided.insert(Decision { surplus, rollout, ..assemble::plain(change) });
        }
        Ok(())
    }
}

/// Whether the spec wants an object at an address, and not another one that exists already.
fn is_wanted(desired: &[Desired], address: &Address, identity: &Identity) -> bool {
    let position = desired.binary_search_by(|desired| desired.address.cmp(address));
    let found = position.ok().and_then(|position| desired.get(position));
    found.is_some_and(|desired| desired.lifecycle.existing.as_ref().is_none_or(|named| named == identity))
}

/// Sets desired attributes of an adopted object to the found values, while the spec asks for the same as on
/// adoption.
fn leave_as_found(wanted: &mut Value, record: &Record, object: &Found) -> BTreeMap<Path, Digest> {
    let still = record.as_found.iter().filter(|(path, digest)| {
        let now = Digest::of(wanted.at(path).unwrap_or(&Value::Null));
        now.is_ok_and(|now| now == **digest)
    });
    let still: BTreeMap<Path, Digest> = still.map(|(path, digest)| (path.clone(), digest.clone())).collect();
    for path in still.keys() {
        wanted.set(path, object.attributes.at(path).cloned().unwrap_or_default());
    }
    still
}

/// The resources whose attributes others refer to, and not only their identities.
fn with_read_attributes(desired: &[Desired]) -> BTreeSet<Address> {
    let mut read = BTreeSet::new();
    for desired in desired {
        desired.attributes.for_each_reference(&mut |reference| {
            if !reference.is_identity() && !read.contains(&reference.address) {
                read.insert(reference.address.clone());
            }
        });
    }
    read
}

/// The facts about a decided resource that other resources may use; `is_read` tells whether they use its attributes.
fn known(decision: &mut Decision, is_read: bool) -> Known {
    let change = &mut decision.change;
    // A resource without a change is only counted: its attributes are not needed any more.
    let attributes = if decision.rollout.is_none() && change.is_idle() {
        let attributes = std::mem::take(&mut change.after);
        if is_read || change.identity.is_none() { attributes } else { Value::Null }
    } else {
        change.after.clone()
    };
    match (&change.identity, change.action) {
        (
            Some(identity),
            ChangeAction::NoOp | ChangeAction::Update | ChangeAction::Adopt | ChangeAction::Record,
        ) => Known::Stays {
            identity: identity.clone(),
            attributes,
            unknown: decision.unknown_after.iter().map(Path::clone).collect(),
        },
        _ => Known::Comes { attributes },
    }
}
