//! New keys for objects that exist and run with other ones.

use std::collections::BTreeMap;

use slipway_resource::Address;

use super::Guard;
use crate::assemble::Decided;
use crate::change::ChangeAction;

/// Requires the confirmation by name of a new key that existing objects read: they run with a key that the state does not have
/// any more. A key that none of them has read before, as one of a setting that is new in the spec, needs none.
pub(super) fn name_new_keys(guard: &Guard<'_>, decided: &mut Decided) {
    let mut reasons: BTreeMap<Address, String> = BTreeMap::new();
    let is_new_key = |address: &Address| {
        let is_created =
            decided.by_address.get(address).is_some_and(|it| it.change.action == ChangeAction::Create);
        // Without a refusal, another object may take its place at any time.
        is_created && guard.rule(address).is_some_and(|rule| !rule.refusal.is_empty())
    };
    for (reader, depends_on) in guard.depends_on {
        let exists = decided.by_address.get(reader).is_some_and(|decision| {
            decision.change.identity.is_some() && decision.change.action != ChangeAction::Create
        });
        if !exists {
            continue;
        }
        for key in depends_on.iter().filter(|key| is_new_key(key) && may_have_read(guard, reader, key)) {
            reasons.entry(key.clone()).or_insert_with(|| reason(guard.cluster, reader));
        }
    }
    for (key, reason) in reasons {
        if let Some(decision) = decided.by_address.get_mut(&key) {
            decision.change.confirm(reason);
        }
    }
}

/// Whether an object has read a key, as far as the state knows: of one that was found again it does not know what was applied.
fn may_have_read(guard: &Guard<'_>, reader: &Address, key: &Address) -> bool {
    let record = guard.records.get(reader);
    record.is_none_or(|record| record.applied.is_none() || record.depends_on.contains(key))
}

fn reason(cluster: &str, reader: &Address) -> String {
    format!(
        "{reader} exists and runs with a key that the state does not have: this plan generates another key, which does not \
         fit it. To keep the key, restore `{cluster}/secrets/` of the state store from a backup or from earlier versions of \
         its objects, and run `slipway state rebuild {cluster}`"
    )
}
