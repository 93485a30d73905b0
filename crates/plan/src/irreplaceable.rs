//! A plan never deletes irreplaceable data that it does not name.
//!
//! A type declares by [`slipway_resource::schema::Irreplaceable`] that its objects hold a key, an authority
//! or data. The planner enforces the rule for every provider, also for a faulty one, and after the state was
//! lost.

mod loss;
mod readers;

pub use loss::{Loss, LossKind};

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::diff::Change;
use slipway_resource::schema::{Held, Irreplaceable};
use slipway_resource::{Address, Identity, Path, Value};

use crate::assemble::Decided;
use crate::change::{ChangeAction, ResourceChange};
use crate::decide::Decision;
use crate::error::Error;
use crate::file::Mode;
use crate::observations::Observations;
use crate::state::Record;

/// The inputs of the rule besides the decisions.
pub(crate) struct Guard<'a> {
    pub cluster: &'a str,
    pub mode: Mode,
    pub records: &'a BTreeMap<Address, Record>,
    /// The addresses of which the state has no object any more, or never had one.
    pub forgotten: &'a BTreeMap<Address, Vec<Identity>>,
    pub observations: &'a Observations,
    /// The fingerprints of keys in files that this plan may overwrite: another object that stays has the same key.
    pub overwrites: &'a BTreeSet<String>,
    /// The rule of a resource's type.
    pub rule_of: &'a (dyn Fn(&Address) -> Option<&'a Irreplaceable> + 'a),
    /// Whether desired objects of the type set the fingerprint attribute where the object will hold data.
    pub is_asked_for: &'a (dyn Fn(&Address) -> bool + 'a),
    /// Whether an attribute of a resource is a key for data.
    pub is_key: &'a (dyn Fn(&Address, &Path) -> bool + 'a),
    /// Whether the state had fingerprints of a resource's secrets that cannot be compared any more.
    pub forgets: &'a (dyn Fn(&Address) -> bool + 'a),
    /// Why a resource's secrets could not be read, where that is known.
    pub unread: &'a (dyn Fn(&Address) -> Option<String> + 'a),
    /// The dependencies of each desired resource.
    pub depends_on: &'a BTreeMap<Address, Vec<Address>>,
}

impl<'a> Guard<'a> {
    /// Refuses decisions that would lose irreplaceable data, and requires confirmations by name for the
    /// others.
    ///
    /// # Errors
    /// When data would be lost that the plan cannot name as a step.
    pub fn enforce(&self, decided: &mut Decided) -> Result<(), Error> {
        if self.mode == Mode::Drift {
            return Ok(());
        }
        let mut losses = Vec::new();
        for (address, decision) in &mut decided.by_address {
            let lost = self.rule(address).and_then(|rule| self.look(rule, address, decision));
            let change = &decision.change;
            losses
                .extend(lost.into_iter().chain(self.replaced_key(change)).map(|loss| loss.asked_by(change)));
        }
        if !losses.is_empty() {
            return Err(Error::Irreplaceable { cluster: self.cluster.to_owned(), losses });
        }
        self.name_last_holders(decided);
        readers::name_new_keys(self, decided);
        self.name_lost_keys(decided);
        for decision in decided.by_address.values_mut() {
            self.name_removed_keys(&mut decision.change);
            self.name_unknown_keys(&mut decision.change);
            self.name_forgotten_secrets(&mut decision.change);
        }
        Ok(())
    }

    /// The keys for data that a change replaces by others. Data that was encrypted with the old keys cannot
    /// be read any more, even where the object itself stays.
    fn replaced_key(&self, change: &ResourceChange) -> Option<Loss> {
        let replaced: Vec<&Change> = self
            .changed_keys(change)
            .filter(|changed| !changed.after.is_null() && !is_unknown(&changed.before))
            .collect();
        if replaced.is_empty() {
            return None;
        }
        let paths = replaced.iter().map(|changed| changed.path.clone()).collect();
        let unread = replaced.iter().find_map(|changed| match &changed.after {
            Value::Secret(secret) if secret.fingerprint.is_none() => Some(secret.source.clone()),
            _ => None,
        });
        let kind = match unread {
            Some(source) => LossKind::KeyUnread { paths, source, why: (self.unread)(&change.address) },
            None => LossKind::KeyReplaced { paths },
        };
        Some(Loss::new(&change.address, None, kind))
    }

    /// Requires the confirmation by name of what takes a key for data out of use: an object that is deleted while no other
    /// one of its type has its key, and the objects with another key that are created in the same plan.
    fn name_lost_keys(&self, decided: &mut Decided) {
        if self.mode == Mode::Delete {
            return;
        }
        let changes = || decided.by_address.values().map(|decision| &decision.change);
        let leaves =
            |change: &ResourceChange| matches!(change.action, ChangeAction::Delete | ChangeAction::Forget);
        // Few objects have keys: objects that stay are searched only for keys of deleted ones.
        let is_kept = |kind: &str, key: &(&str, &Value)| {
            let mut others = changes().filter(|change| change.address.kind() == kind && !leaves(change));
            others.any(|change| self.keys(&change.address, &change.after).contains(key))
        };
        let mut reasons = BTreeMap::new();
        for change in changes().filter(|change| leaves(change)) {
            let applied = self.records.get(&change.address).and_then(|record| record.applied.as_ref());
            let kind = change.address.kind();
            let lost = self.keys(&change.address, applied.unwrap_or(&change.before));
            let lost: Vec<(&str, &Value)> = lost.into_iter().filter(|key| !is_kept(kind, key)).collect();
            if lost.is_empty() {
                continue;
            }
            for (name, _) in &lost {
                let text = format!(
                    "no other {kind} has its {name}: data encrypted with this key cannot be read any more"
                );
                reasons.insert(change.address.clone(), text);
            }
            // The deletion may be left out of a part of the plan.
            let created = changes()
                .filter(|other| other.action == ChangeAction::Create && other.address.kind() == kind);
            let successors = created.filter(|other| {
                let keys = self.keys(&other.address, &other.after);
                !keys.is_empty() && keys.iter().all(|key| !lost.contains(key))
            });
            for other in successors {
                let text = format!(
                    "it has another key than {}, which this plan deletes: it cannot read data encrypted with that key",
                    change.address
                );
                reasons.insert(other.address.clone(), text);
            }
        }
        for (address, reason) in reasons {
            if let Some(decision) = decided.by_address.get_mut(&address) {
                decision.change.confirm(reason);
            }
        }
    }

    /// The keys for data among the attributes of an object, by name.
    fn keys<'b>(&self, address: &Address, attributes: &'b Value) -> Vec<(&'b str, &'b Value)> {
        let attributes = attributes.as_map().into_iter().flatten();
        let keys = attributes
            .filter(|(name, value)| !value.is_null() && (self.is_key)(address, &Path::key(name.as_str())));
        keys.map(|(name, value)| (name.as_str(), value)).collect()
    }

    /// Requires the confirmation by name of a change that removes a key for data.
    fn name_removed_keys(&self, change: &mut ResourceChange) {
        let removed = self.changed_keys(change).filter(|changed| changed.after.is_null());
        let keys: Vec<String> = removed.map(|changed| changed.path.to_string()).collect();
        if keys.is_empty() {
            return;
        }
        let keys = keys.join(", ");
        let text = format!("it removes {keys}: data encrypted with this key cannot be read any more");
        change.confirm(text);
    }

    /// Requires the confirmation by name of recording a key for data for an object of which the state does not know the key,
    /// as after the state was lost: the key in the spec may be another one.
    fn name_unknown_keys(&self, change: &mut ResourceChange) {
        let is_recorded = matches!(change.action, ChangeAction::Record | ChangeAction::Adopt);
        if !is_recorded && !self.changed_keys(change).any(|changed| is_unknown(&changed.before)) {
            return;
        }
        let applied = self.records.get(&change.address).and_then(|record| record.applied.as_ref());
        let is_known = |name: &str| {
            let values = applied.into_iter().chain([&change.before]);
            values.filter_map(|value| value.get(name)).any(|value| !value.is_null() && !is_unknown(value))
        };
        let keys = self.keys(&change.address, &change.after).into_iter().map(|(name, _)| name);
        let unknown: Vec<&str> = keys.filter(|name| !is_known(name)).collect();
        if !unknown.is_empty() {
            change.confirm(unknown_key(&unknown.join(", ")));
        }
    }

    /// Requires the confirmation by name of any change that keeps an object with secrets that cannot be
    /// compared with the applied ones: the secrets may differ.
    fn name_forgotten_secrets(&self, change: &mut ResourceChange) {
        let stays =
            matches!(change.action, ChangeAction::Record | ChangeAction::Update | ChangeAction::Adopt);
        if (stays || change.action.is_replace()) && (self.forgets)(&change.address) {
            let keys = self.keys(&change.address, &change.after);
            let secret = keys.iter().filter(|(_, value)| matches!(value, Value::Secret(_)));
            let text = match secret.map(|(name, _)| *name).collect::<Vec<_>>().join(", ") {
                keys if keys.is_empty() => {
                    "the state cannot tell whether its secrets changed: check that they are the ones in use"
                        .to_owned()
                }
                keys => unknown_key(&keys),
            };
            change.confirm(text);
        }
    }

    /// The changed attributes that are keys for data, of an object that exists and had one.
    fn changed_keys<'b>(&'b self, change: &'b ResourceChange) -> impl Iterator<Item = &'b Change> {
        let is_changed = matches!(change.action, ChangeAction::Update) || change.action.is_replace();
        change
            .changes
            .iter()
            .filter(move |changed| is_changed && !changed.before.is_null())
            .filter(|changed| (self.is_key)(&change.address, &changed.path))
    }

    /// The objects whose deletion has to be confirmed by name, and why.
    pub fn leaving(&self, decided: &Decided) -> BTreeMap<Address, String> {
        let leaving = decided.by_address.values().filter_map(|decision| {
            let change = &decision.change;
            let reason = change.confirmation.clone().filter(|_| change.action == ChangeAction::Delete)?;
            self.rule(&change.address).is_some().then(|| (change.address.clone(), reason))
        });
        leaving.collect()
    }

    /// Requires the confirmation by name of an object that takes the place of one whose deletion a partial
    /// plan leaves out. Otherwise the data of the old object would go out of use without a confirmation.
    pub fn name_successors(&self, decided: &mut Decided, leaving: &BTreeMap<Address, String>) {
        let left_out: Vec<&Address> =
            leaving.keys().filter(|address| !decided.by_address.contains_key(*address)).collect();
        for (address, decision) in &mut decided.by_address {
            let predecessor = left_out.iter().find(|other| other.kind() == address.kind());
            if let Some(predecessor) = predecessor
                && decision.change.action == ChangeAction::Create
                && self.rule(address).is_some()
            {
                let reason = format!(
                    "it may take the place of {predecessor}, which the whole plan deletes with its data"
                );
                decision.change.confirm(reason);
            }
        }
    }

    fn rule(&self, address: &Address) -> Option<&'a Irreplaceable> {
        (self.rule_of)(address)
    }

    /// The data that one decision would lose. A replacement that is possible gets its confirmation.
    fn look(&self, rule: &Irreplaceable, address: &Address, decision: &mut Decision) -> Option<Loss> {
        let record = self.records.get(address);
        let surplus = self.surplus(rule, address, record, decision);
        if surplus.is_some() {
            return surplus;
        }
        let change = &mut decision.change;
        let held = match rule.held(change.identity.as_ref(), &change.before) {
            _ if change.before.is_null() => Held::Nothing,
            held => held,
        };
        let fingerprint = match &held {
            Held::Known(text) => Some(text.clone()),
            Held::Nothing | Held::Unknown => None,
        };
        let loss = |kind| Some(Loss::new(address, fingerprint.clone(), kind));
        match change.action {
            ChangeAction::Create if record.is_some_and(|record| !record.existing) => {
                if self.held_nothing(rule, address, record) {
                    return None;
                }
                if !rule.refusal.is_empty() {
                    return loss(LossKind::Vanished);
                }
                let text = "the state knows it, and its object is gone: a new one begins without its data";
                change.confirmation = Some(text.to_owned());
                None
            }
            ChangeAction::Create
                if record.is_none() && rule.is_data() && self.forgotten.contains_key(address) =>
            {
                let text = "the state has no object of it any more, and none was found: a new one begins without its data";
                change.confirmation = Some(text.to_owned());
                None
            }
            ChangeAction::Update if held != Held::Nothing && !rule.fingerprint.is_empty() => {
                match rule.held(None, &change.after) {
                    after if after == held && held != Held::Unknown => None,
                    _ if fingerprint.as_ref().is_some_and(|held| self.overwrites.contains(held)) => None,
                    Held::Known(by) => loss(LossKind::Overwritten { by: Some(by) }),
                    Held::Nothing | Held::Unknown => loss(LossKind::Overwritten { by: None }),
                }
            }
            action if action.is_replace() && held != Held::Nothing => {
                if !rule.refusal.is_empty() {
                    return loss(LossKind::Refused { reason: rule.refusal.clone() });
                }
                change.confirmation = Some(format!("replacing it loses {}", lost(fingerprint.as_deref())));
                None
            }
            _ => None,
        }
    }

    /// Whether a missing object held no data, by the attributes with which it was created: a file without a
    /// key in it.
    fn held_nothing(&self, rule: &Irreplaceable, address: &Address, record: Option<&Record>) -> bool {
        let applied = record.and_then(|record| record.applied.as_ref());
        let asked = applied.filter(|_| !rule.fingerprint.is_empty() && (self.is_asked_for)(address));
        asked.is_some_and(|applied| rule.held(None, applied) == Held::Nothing)
    }

    /// Of several objects under one address, the recorded one stays. Only those that a confirmed replacement
    /// has left behind are deleted: an unknown key may be the right one.
    fn surplus(
        &self,
        rule: &Irreplaceable,
        address: &Address,
        record: Option<&Record>,
        decision: &mut Decision,
    ) -> Option<Loss> {
        if decision.surplus.is_empty() || self.mode == Mode::Delete {
            return None;
        }
        let own = decision.change.identity.clone();
        let is_recorded = record.is_some_and(|record| Some(&record.identity) == own.as_ref());
        if !is_recorded {
            let others = decision.surplus.iter().map(|found| found.identity.clone());
            let identities = own.into_iter().chain(others).collect();
            let kind = LossKind::Ambiguous { identities };
            return Some(Loss::new(address, None, kind));
        }
        if !rule.refusal.is_empty() {
            let deposed = record.map(|record| record.deposed.as_slice()).unwrap_or_default();
            decision.surplus.retain(|found| deposed.contains(&found.identity));
        }
        None
    }

    /// Requires the confirmation by name of the deletion of the last object that holds certain data. Copies
    /// may be deleted as long as one stays: the state has a cluster's keys too, and the data of etcd is on
    /// every control plane.
    fn name_last_holders(&self, decided: &mut Decided) {
        let mut held: BTreeMap<String, BTreeSet<(Address, Identity)>> = BTreeMap::new();
        for address in self.observations.addresses() {
            let Some(rule) = self.rule(address) else { continue };
            for found in self.observations.objects(address) {
                if let Held::Known(text) = rule.held(Some(&found.identity), &found.attributes) {
                    held.entry(text).or_default().insert((address.clone(), found.identity.clone()));
                }
            }
        }
        let goes = |decided: &Decided, (address, identity): &(Address, Identity)| {
            decided.by_address.get(address).is_some_and(|decision| {
                let own = decision.change.identity.as_ref() == Some(identity);
                let leaves = decision.change.action == ChangeAction::Delete;
                own && leaves || decision.surplus.iter().any(|found| found.identity == *identity)
            })
        };
        for (fingerprint, holders) in held {
            if !holders.iter().all(|holder| goes(decided, holder)) {
                continue;
            }
            // A late duplicate of an object that stays has no data of its own.
            let leaving = holders.iter().filter_map(|(address, identity)| {
                let change = &decided.by_address.get(address)?.change;
                let own = change.identity.as_ref() == Some(identity);
                (own && change.action == ChangeAction::Delete).then_some(change)
            });
            let leaving: Vec<&ResourceChange> = leaving.collect();
            // If one object needs a confirmation for another reason, it is the named one for all of them.
            let named =
                leaving.iter().find(|change| change.confirmation.is_some()).or_else(|| leaving.first());
            let Some(address) = named.map(|change| change.address.clone()) else { continue };
            if let Some(decision) = decided.by_address.get_mut(&address) {
                let text = format!("deleting it loses {}", lost(Some(&fingerprint)));
                decision.change.confirmation = Some(text);
            }
        }
    }
}

fn unknown_key(keys: &str) -> String {
    format!(
        "the state does not know its {keys}: check that the spec has the key in use; data cannot be read with another key"
    )
}

/// Whether the state has only the source of a secret, and no fingerprint to compare.
pub(crate) fn is_unknown(value: &Value) -> bool {
    matches!(value, Value::Secret(secret) if secret.fingerprint.is_none())
}

fn lost(fingerprint: Option<&str>) -> String {
    match fingerprint {
        Some(fingerprint) => format!("its data for good ({fingerprint})"),
        None => "its data for good".to_owned(),
    }
}

#[cfg(test)]
mod tests;
