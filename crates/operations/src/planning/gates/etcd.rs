//! Gates of etcd: all members have started, vote, and have a version from which they can be upgraded, and no alarm is raised.

use std::collections::BTreeMap;

use slipway_plan::Observations;
use slipway_resource::{Address, Value};

use super::Gate;

/// The way out of problems that a report on the cluster has too.
const HINT: &str = "`slipway validate` says what to do";

/// The way out of a version that is too old.
const TOO_OLD: &str =
    "apply the spec with the present version of Kubernetes before, which brings a newer etcd";

/// The oldest version of etcd 3.5 from which members are upgraded to 3.6. Of older ones, members that vote can become learners again
/// (<https://github.com/etcd-io/etcd/issues/19557>).
const BEFORE_3_6: [u64; 3] = [3, 5, 24];

/// The gates of the members of etcd at these addresses that do not hold, before an upgrade to the etcd with this tag. All members report
/// the same alarms.
pub(in crate::planning) fn of_members<'a>(
    members: impl Iterator<Item = &'a Address>,
    observations: &Observations,
    next: &str,
) -> Vec<Gate> {
    let mut found: BTreeMap<String, (String, &'static str)> = BTreeMap::new();
    for address in members {
        let machine = address.name().split('/').next().unwrap_or_default();
        for seen in observations.objects(address) {
            if seen.attributes.get("is_learner").and_then(Value::as_bool) == Some(true) {
                let message = format!("the member of etcd on {machine} has no vote yet");
                found.insert(format!("EtcdMember--{machine}"), (message, HINT));
            }
            let version = seen.attributes.get("version").and_then(Value::as_str).unwrap_or_default();
            if is_too_old(version, next) {
                let [major, minor, patch] = BEFORE_3_6;
                let message = format!(
                    "the member of etcd on {machine} has version {version}, and is upgraded to {next} from {major}.{minor}.{patch} on only"
                );
                found.insert(format!("EtcdVersion--{machine}"), (message, TOO_OLD));
            }
            for member in texts(&seen.attributes, "never_started") {
                let message = format!("the member {member} of etcd was announced and never started");
                found.insert(format!("EtcdMember--{}", first_word(member)), (message, HINT));
            }
            for alarm in texts(&seen.attributes, "alarms") {
                let message = format!("etcd has raised the alarm {alarm}");
                found.insert(format!("EtcdAlarm--{}", first_word(alarm)), (message, HINT));
            }
        }
    }
    found.into_iter().map(|(name, (message, hint))| Gate { name, message, hint }).collect()
}

/// Whether a member with a version cannot be upgraded to another one. Versions that cannot be read are not too old.
fn is_too_old(seen: &str, next: &str) -> bool {
    match (numbers(seen), numbers(next)) {
        (Some(seen), Some([major, minor, _])) => [seen[0], seen[1]] < [major, minor] && seen < BEFORE_3_6,
        _ => false,
    }
}

/// The three numbers of a version, such as `3.5.24` or `3.6.5-0`.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let mut parts = version.split(['.', '-']).map(|part| part.parse::<u64>().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

/// The texts in a list of an object.
fn texts<'a>(object: &'a Value, name: &str) -> impl Iterator<Item = &'a str> {
    let list = match object.get(name) {
        Some(Value::List(list)) => list.as_slice(),
        _ => &[],
    };
    list.iter().filter_map(Value::as_str)
}

fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use slipway_resource::provider::Discovery;
    use slipway_resource::{Identity, Observation, Observed, Path};

    use super::*;

    fn gates(members: &[(&str, Value)]) -> Vec<(String, String)> {
        let (mut addresses, mut discovery) = (Vec::new(), Discovery::default());
        for (machine, attributes) in members {
            let address = Address::new("etcd_member", format!("{machine}/etcd"));
            addresses.push(address.clone());
            discovery.observed.push(Observed {
                identity: Identity::new(address.to_string()),
                address,
                token: None,
                owner: None,
                observation: Observation::Present(attributes.clone()),
            });
        }
        let mut observations = Observations::default();
        observations.add_discovery(discovery);
        let gates = of_members(addresses.iter(), &observations, "3.6.5-0");
        gates.into_iter().map(|gate| (gate.name, gate.message)).collect()
    }

    fn member(is_learner: bool, lists: &[(&str, &str)]) -> Value {
        let mut member = Value::map([("is_learner", is_learner)]);
        for (name, text) in lists {
            member.set(&Path::key(*name), Value::list([*text]));
        }
        member
    }

    #[test]
    fn members_without_a_vote_and_alarms_are_gates() {
        assert!(gates(&[("cp-0", member(false, &[]))]).is_empty());
        let (alarm, waiting) = ("NOSPACE of member 1f", "2a at https://192.0.2.9:2380");
        let found = gates(&[
            ("cp-0", member(false, &[("alarms", alarm), ("never_started", waiting)])),
            ("cp-1", member(true, &[("alarms", alarm)])),
        ]);
        let text = |(name, message): (&str, &str)| (name.to_owned(), message.to_owned());
        let expected = [
            ("EtcdAlarm--NOSPACE", "etcd has raised the alarm NOSPACE of member 1f"),
            (
                "EtcdMember--2a",
                "the member 2a at https://192.0.2.9:2380 of etcd was announced and never started",
            ),
            ("EtcdMember--cp-1", "the member of etcd on cp-1 has no vote yet"),
        ];
        assert_eq!(found, expected.map(text));
    }

    #[test]
    fn old_members_are_not_upgraded_to_another_minor_version() {
        let member =
            |version: &str| Value::map([("is_learner", Value::Bool(false)), ("version", version.into())]);
        let found =
            gates(&[("cp-0", member("3.5.21")), ("cp-1", member("3.5.24")), ("cp-2", member("3.6.4"))]);
        let message =
            "the member of etcd on cp-0 has version 3.5.21, and is upgraded to 3.6.5-0 from 3.5.24 on only";
        assert_eq!(found, [("EtcdVersion--cp-0".to_owned(), message.to_owned())]);
        assert!(!is_too_old("3.5.21", "3.5.24-0") && !is_too_old("", "3.6.5-0"));
    }
}
