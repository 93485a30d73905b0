//! Turns a step of the plan into a call: fills in identities and references. Nothing is read here: the step
//! itself opens the texts of secrets.

use slipway_plan::{ChangeAction, ResourceChange, Step, StepAction};
use slipway_resource::provider::{Action, ApplyRequest, operation};
use slipway_resource::schema::OwnershipKind;
use slipway_resource::{
    Address, ErrorClass, Identity, Mode, Ownership, Path, ProviderError, ResourceType, Value,
};

use super::Dispatcher;
use crate::journal::{Effect, NewNode};
use crate::outputs::without_unknown;
use crate::secrets::{self, Kept};
use crate::state::{identity_of, record_of};
use crate::step::{Call, Unit};

type Prepared<T> = Result<T, Box<ProviderError>>;

impl<'a> Dispatcher<'a> {
    /// Makes a step ready to run.
    pub(super) fn prepare(&self, step: &'a Step) -> Prepared<Unit> {
        let change = self.changes.get(&step.address).and_then(|index| self.work.plan.changes.get(*index));
        let (provider, handle, kind) = self.work.providers.of_type(step.address.kind()).ok_or_else(|| {
            let text = format!("no provider has the resource type of {}", step.address);
            Box::new(ProviderError::new(ErrorClass::Invalid, text))
        })?;
        let secrets = self.secrets(step, change)?;
        let effect = self.effect(step, change, kind)?;
        let mut unit = Unit {
            id: step.id,
            address: step.address.clone(),
            rate_class: step.rate_class.clone(),
            provider: provider.to_owned(),
            schema: handle.schema.clone(),
            effect,
            secrets,
            call: None,
        };
        let Some(action) = self.action(step, change, kind)? else { return Ok(unit) };
        let ownership = Ownership {
            uid: self.work.uid.clone(),
            cluster: self.work.plan.cluster.clone(),
            address: step.address.clone(),
        };
        let surplus = matches!(step.action, StepAction::Delete { surplus: true });
        let expectation = match (&action, self.expectations.get(&step.address), self.readers.get(provider)) {
            (Action::Create { .. }, _, _) => None,
            (
                Action::Update { identity, .. }
                | Action::Delete { identity }
                | Action::Tag { identity }
                | Action::Operation { identity, .. },
                Some(expectation),
                Some(reader),
            ) if !surplus => Some((reader.clone(), identity.clone(), expectation)),
            _ => None,
        };
        unit.call = Some(Call {
            session: handle.session.clone(),
            request: ApplyRequest {
                token: self.token(step.id),
                ownership,
                action,
                timeout_ms: step.timeout_ms,
            },
            expectation,
            waits: handle.info.capabilities.hosts || handle.info.capabilities.dry_run,
            keep_identity: !kind.idempotent_create || kind.ownership == OwnershipKind::Listed,
        });
        Ok(unit)
    }

    /// The action for the provider; `None` for a step that touches the state only.
    fn action(
        &self,
        step: &Step,
        change: Option<&ResourceChange>,
        kind: &ResourceType,
    ) -> Prepared<Option<Action>> {
        Ok(Some(match &step.action {
            StepAction::Record | StepAction::Forget | StepAction::RemovedWithParent { .. } => {
                return Ok(None);
            }
            StepAction::Create => {
                if let Some(identity) = self.work.occupied.get(&step.address) {
                    let text = format!("there is an object of {} already: {identity}", step.address);
                    return Err(Box::new(
                        ProviderError::new(ErrorClass::PreconditionFailed, text)
                            .with_address(&step.address)
                            .with_hint(
                                "run `slipway plan` again: this plan was made when the object did not exist",
                            ),
                    ));
                }
                Action::Create { desired: self.desired(change, kind)? }
            }
            StepAction::Update => Action::Update {
                identity: self.identity(step)?,
                prior: change.map(|change| change.before.clone()).unwrap_or_default(),
                desired: self.desired(change, kind)?,
            },
            StepAction::Delete { .. } => Action::Delete { identity: self.identity(step)? },
            StepAction::Tag => Action::Tag { identity: self.identity(step)? },
            StepAction::Operation { name, arguments } => {
                let (identity, arguments) = match &step.roll {
                    Some(_) => match self.node_of(step, arguments)? {
                        Some(node) => node,
                        // No machine was started, so there is no node to wait for.
                        None => return Ok(None),
                    },
                    None => (self.identity(step)?, arguments.clone()),
                };
                Action::Operation { identity, name: name.clone(), arguments }
            }
        }))
    }

    /// The node that a gate of a roll is about: its identity, and the arguments of the gate. A node that did not exist when
    /// the plan was made has no identity; the argument `node` names it. `None` if its machine was not needed any more.
    fn node_of(&self, step: &Step, arguments: &Value) -> Prepared<Option<(Identity, Value)>> {
        let unnamed = Identity::new("");
        let Some((pool, slot)) = step.new_machine() else {
            return Ok(Some((step.identity.clone().unwrap_or(unnamed), arguments.clone())));
        };
        let starts = |other: &&Step| {
            let StepAction::Operation { name, arguments } = &other.action else { return false };
            let own = arguments.get("slot").map(Value::to_plain_text);
            name == operation::SURGE && other.address == *pool && own.as_deref() == Some(slot.as_str())
        };
        let start = self.work.plan.steps.iter().find(starts);
        match start.and_then(|start| self.work.nodes.get(&start.id)) {
            Some(NewNode::Named(node)) => {
                let mut arguments = arguments.clone();
                if let Value::Map(entries) = &mut arguments {
                    entries.remove("slot");
                }
                arguments.set(&Path::key(operation::NODE), node.to_value());
                Ok(Some((unnamed, arguments)))
            }
            Some(NewNode::NotNeeded) => Ok(None),
            Some(NewNode::Unnamed) | None => {
                let text =
                    format!("the provider of {pool} did not name the node of the new machine in slot {slot}");
                Err(Box::new(
                    ProviderError::new(ErrorClass::Permanent, text).with_address(&step.address).with_hint(
                        "report a defect to the authors of the provider; the old machines still run",
                    ),
                ))
            }
        }
    }

    fn identity(&self, step: &Step) -> Prepared<Identity> {
        step.identity
            .clone()
            .or_else(|| self.work.outputs.identity(&step.address).cloned())
            .or_else(|| identity_of(&self.work.snapshot, &step.address))
            .ok_or_else(|| {
                let text = format!("nothing is known of an object of {}", step.address);
                Box::new(ProviderError::new(ErrorClass::NotFound, text).with_address(&step.address))
            })
    }

    /// The desired attributes, all known, without those that the server sets: computed attributes, and
    /// optional ones that the spec does not set and the plan does not change.
    fn desired(&self, change: Option<&ResourceChange>, kind: &ResourceType) -> Prepared<Value> {
        let Some(change) = change else { return Ok(Value::Null) };
        let Value::Map(entries) = &change.after else { return Ok(Value::Null) };
        let settable = entries.iter().filter(|(name, value)| {
            let mode = kind.attributes.get(*name).map(|attribute| attribute.mode);
            let asked = change.record.applied.get(name).is_some_and(|value| !value.is_null());
            match mode {
                Some(Mode::Computed) => false,
                Some(Mode::OptionalComputed) => asked || change.before.get(name) != Some(*value),
                _ => true,
            }
        });
        let settable = Value::map(settable.map(|(name, value)| (name.clone(), value.clone())));
        self.resolved(&settable).map(without_unknown)
    }

    /// The objects of the cluster that keep texts of secrets which a step needs, known now that the steps before it have
    /// ended; none of a step that needs no text.
    fn secrets(&self, step: &Step, change: Option<&ResourceChange>) -> Prepared<Option<Kept>> {
        let needs = |change: &&ResourceChange| match step.action {
            StepAction::Create | StepAction::Update => true,
            // After the state was lost, nothing tells a secret of the spec from another one until it has its fingerprint.
            StepAction::Record => secrets::lacks_fingerprint(&change.record.applied),
            _ => false,
        };
        let Some(change) = change.filter(needs) else { return Ok(None) };
        let values = [&change.after, &change.record.applied];
        if !values.into_iter().any(secrets::has_secret) {
            return Ok(None);
        }
        let identity_of = |address: &Address| {
            let made = self.work.outputs.identity(address).cloned();
            made.or_else(|| identity_of(&self.work.snapshot, address))
        };
        secrets::kept(&values, &identity_of)
            .map(Some)
            .map_err(|error| Box::new(ProviderError::new(ErrorClass::Invalid, error.to_string())))
    }

    fn resolved(&self, value: &Value) -> Prepared<Value> {
        let (value, missing) = self.work.outputs.resolve(value);
        if let Some(reference) = missing.first() {
            let text = format!("{reference} has no value: its resource does not give one");
            return Err(Box::new(ProviderError::new(ErrorClass::Invalid, text)));
        }
        Ok(value)
    }

    /// How the step changes the state when it is done.
    fn effect(&self, step: &Step, change: Option<&ResourceChange>, kind: &ResourceType) -> Prepared<Effect> {
        let address = step.address.clone();
        Ok(match (&step.action, change) {
            (
                StepAction::Create | StepAction::Update | StepAction::Tag | StepAction::Record,
                Some(change),
            ) => {
                // A renamed object that changes too is recorded as it was until the change is through.
                let renamed_only =
                    matches!(step.action, StepAction::Tag) && change.action != ChangeAction::NoOp;
                let identity = step.identity.clone();
                let mut record = record_of(change, identity.as_ref());
                // The secrets of an object that is only tagged or recorded keep the fingerprints that they have.
                let mut applied = self.resolved(&change.record.applied)?;
                secrets::strip(&mut applied);
                // After a call, its result has the attributes that the server set. A `Record` step takes them
                // from the read.
                if let (StepAction::Record, Value::Map(entries)) = (&step.action, &mut applied) {
                    entries.extend(kind.remembered(&change.before));
                }
                record.applied = (!renamed_only).then_some(applied);
                Effect::Put { address, record: Box::new(record), previous: change.previous_address.clone() }
            }
            (StepAction::Delete { surplus: true }, _) => match &step.identity {
                Some(identity) => Effect::RemoveSurplus { address, identity: identity.clone() },
                None => Effect::None,
            },
            (StepAction::Delete { .. } | StepAction::RemovedWithParent { .. } | StepAction::Forget, _) => {
                Effect::Remove { address }
            }
            (StepAction::Operation { name, arguments }, _) => self.effect_of_gate(step, name, arguments),
            _ => Effect::None,
        })
    }

    /// How a gate changes the state of the nodes that it cordons, or whose cordon it ends.
    fn effect_of_gate(&self, step: &Step, name: &str, arguments: &Value) -> Effect {
        let is_temporary = arguments.get(operation::TEMPORARY).and_then(Value::as_bool) == Some(true);
        match (name, &step.roll, &step.identity) {
            (operation::CORDON, Some(pool), Some(identity)) if is_temporary => {
                Effect::Cordon { node: step.address.clone(), identity: identity.clone(), pool: pool.clone() }
            }
            (operation::UNCORDON, Some(_), _) => Effect::Uncordon { node: step.address.clone() },
            (operation::REMOVE, _, _) => {
                let mut earlier =
                    step.depends_on.iter().filter_map(|id| self.work.plan.steps.get(id.index()));
                let drained = earlier.find(|earlier| {
                    earlier.roll.as_ref() == Some(&step.address)
                        && matches!(&earlier.action, StepAction::Operation { name, .. } if name == operation::DRAIN)
                });
                drained.map_or(Effect::None, |drain| Effect::Uncordon { node: drain.address.clone() })
            }
            _ => Effect::None,
        }
    }
}
