//! Pools whose instances are never replaced by a plan (`rollout.strategy: inPlace`).
//!
//! A plan that would replace instances is refused, but only if its change asks for that. An instance that differed before stays,
//! and a sentence of the plan names it:
//!
//! * an instance that an interrupted roll has detached from the group, and that its replacement has succeeded,
//! * an instance that was not launched from the template of the group,
//! * an instance of an earlier version of the template, when the version does not change.

use std::collections::BTreeMap;

use slipway_resource::provider::{Fate, Member, Rollout};
use slipway_resource::{ErrorClass, ProviderError, Value};

use super::{Launch, Manner, instances, is_detached, reasons, text};

/// Keeps the instances of a pool that may only change in place and for which the change does not ask to be replaced. Returns a
/// sentence about them for each reason.
pub(in crate::plan) fn keep(rollout: &mut Rollout, wanted: &Value, observed: &Value) -> Vec<String> {
    if !Manner::of(wanted).in_place_only {
        return Vec::new();
    }
    let seen: BTreeMap<&str, &Value> = instances(observed)
        .into_iter()
        .filter_map(|instance| Some((text(instance, "id")?, instance)))
        .collect();
    let (before, after) = (Launch::of(observed), Launch::of(wanted));
    let changes = (before.template, before.version) != (after.template, after.version);
    let is_of_group =
        |instance: &Value| before.template.and_then(Value::as_str) == text(instance, "launch_template");
    let mut kept: BTreeMap<String, Vec<String>> = BTreeMap::new();
    rollout.members.retain_mut(|member| {
        let Fate::Replace { reason, .. } = &member.fate else { return true };
        let Some(&instance) = seen.get(member.identity.as_str()) else { return true };
        let is_detached = is_detached(instance);
        if !is_detached && changes && is_of_group(instance) {
            return true;
        }
        kept.entry(reason.clone()).or_default().push(member.identity.to_string());
        member.fate = Fate::Keep;
        // It is no machine of the group any more.
        !is_detached
    });
    let sentence = |(reason, ids): (String, Vec<String>)| {
        let subject = match ids.as_slice() {
            [one] => format!("instance {one} stays"),
            several => format!("instances {} stay", several.join(", ")),
        };
        format!("{subject}, since the pool may only change in place (`rollout.strategy: inPlace`): {reason}")
    };
    kept.into_iter().map(sentence).collect()
}

/// Refuses a rollout that replaces instances of a pool that may only change in place.
///
/// # Errors
/// `invalid`, with the number of instances and why they would be replaced.
pub(in crate::plan) fn refuse(rollout: &Rollout, wanted: &Value) -> Result<(), ProviderError> {
    let replaced = |member: &&Member| matches!(member.fate, Fate::Replace { .. });
    if !Manner::of(wanted).in_place_only || !rollout.members.iter().any(|member| replaced(&member)) {
        return Ok(());
    }
    let kept =
        Rollout { members: rollout.members.iter().filter(replaced).cloned().collect(), ..rollout.clone() };
    let text = format!(
        "the pool may only change in place (`rollout.strategy: inPlace`), but {}",
        reasons(&kept).join("; ")
    );
    Err(ProviderError::new(ErrorClass::Invalid, text).with_hint(
        "take the change back, or write `rollout.strategy: inPlaceOrReplace`; the changes of the pool's launch template in \
         `slipway plan` with that strategy are what cannot be made in place",
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn instance(id: &str, version: &str) -> Json {
        json!({"id": id, "state": "InService", "health": "Healthy", "launch_template": "lt-1", "version": version})
    }

    fn group(version: &str, more: &Json) -> Value {
        let mut group = json!({"name": "nodes", "min_size": 1, "max_size": 5, "desired_capacity": 3,
            "launch_template": [{"id": "lt-1", "version": version}]});
        group.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Value::from_json(&group)
    }

    /// What a pool with a strategy that is applied with the first version makes of a version.
    fn planned(
        version: &str,
        strategy: &str,
        instances: &[Json],
    ) -> (Rollout, Vec<String>, Result<(), ProviderError>) {
        let observed = group("1", &json!({ "instances": instances }));
        let wanted = group(version, &json!({"rollout": {"strategy": strategy}}));
        let mut rollout = super::super::rollout(&wanted, Some(&observed));
        let notes = keep(&mut rollout, &wanted, &observed);
        let refused = refuse(&rollout, &wanted);
        (rollout, notes, refused)
    }

    #[test]
    fn a_replacement_that_the_change_asks_for_is_refused() {
        let instances = [instance("i-1", "1"), instance("i-2", "1")];
        let (_, notes, refused) = planned("2", "in-place", &instances);
        let message = refused.unwrap_err().message;
        assert!(message.contains("2 instances are replaced: version 1 → 2"), "{message}");
        assert!(notes.is_empty(), "{notes:?}");
        assert!(planned("1", "in-place", &instances).2.is_ok());
        assert!(planned("2", "in-place-or-replace", &instances).2.is_ok());
    }

    #[test]
    fn instances_that_differed_before_are_named_and_stay() {
        let mut detached = instance("i-9", "1");
        (detached["detached"], detached["state"]) = (true.into(), Json::Null);
        let mut foreign = instance("i-8", "1");
        foreign["launch_template"] = Json::Null;
        let mut going = instance("i-7", "0");
        going["state"] = "Terminating:Wait".into();
        let instances = [instance("i-1", "1"), instance("i-2", "0"), foreign, detached, going];
        let (rollout, notes, refused) = planned("1", "in-place", &instances);
        refused.unwrap();
        let stays = "since the pool may only change in place (`rollout.strategy: inPlace`)";
        let expected = [
            format!("instance i-9 stays, {stays}: it has left the group, where its replacement is"),
            format!("instance i-8 stays, {stays}: it was not made from launch template lt-1"),
            format!("instance i-2 stays, {stays}: version 0 → 1 of the launch template"),
        ];
        assert_eq!(notes, expected);
        let members: Vec<&str> = rollout.members.iter().map(|member| member.identity.as_str()).collect();
        assert_eq!(members, ["i-1", "i-2", "i-8"]);
        assert!(!rollout.has_leaving());

        // With another strategy, they are replaced.
        let (rollout, notes, _) = planned("1", "in-place-or-replace", &instances);
        assert!(rollout.has_leaving() && notes.is_empty());
        // A new version is for the others, and is refused because of them.
        let message = planned("2", "in-place", &instances).2.unwrap_err().message;
        assert!(message.contains("1 instance is replaced: version 0 → 2"), "{message}");
        assert!(!message.contains("it has left the group"), "{message}");
    }
}
