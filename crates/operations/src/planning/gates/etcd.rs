//! Gates of etcd: all members have started and vote, and no alarm is raised.

use std::collections::BTreeMap;

use slipway_plan::Observations;
use slipway_resource::{Address, Value};

use super::Gate;

/// The way out of all of them.
const HINT: &str = "`slipway validate` says what to do";

/// The gates of the members of etcd at these addresses that do not hold. All members report the same alarms.
pub(in crate::planning) fn of_members<'a>(
    members: impl Iterator<Item = &'a Address>,
    observations: &Observations,
) -> Vec<Gate> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for address in members {
        let machine = address.name().split('/').next().unwrap_or_default();
        for seen in observations.objects(address) {
            if seen.attributes.get("is_learner").and_then(Value::as_bool) == Some(true) {
                let message = format!("the member of etcd on {machine} has no vote yet");
                found.insert(format!("EtcdMember--{machine}"), message);
            }
            for member in texts(&seen.attributes, "never_started") {
                let message = format!("the member {member} of etcd was announced and never started");
                found.insert(format!("EtcdMember--{}", first_word(member)), message);
            }
            for alarm in texts(&seen.attributes, "alarms") {
                let message = format!("etcd has raised the alarm {alarm}");
                found.insert(format!("EtcdAlarm--{}", first_word(alarm)), message);
            }
        }
    }
    found.into_iter().map(|(name, message)| Gate { name, message, hint: HINT }).collect()
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
        let gates = of_members(addresses.iter(), &observations);
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
}
