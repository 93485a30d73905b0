//! Conditions of a status, by the conventions of the Kubernetes API.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Sets a condition by its type. The time of the last transition changes only with the status; a time that the caller gave
/// is ignored. Returns whether anything changed.
pub fn set_condition(conditions: &mut Vec<Condition>, mut wanted: Condition, now: Timestamp) -> bool {
    let Some(existing) = conditions.iter_mut().find(|existing| existing.type_ == wanted.type_) else {
        wanted.last_transition_time = Time(now);
        conditions.push(wanted);
        return true;
    };
    let turned = existing.status != wanted.status;
    wanted.last_transition_time = if turned { Time(now) } else { existing.last_transition_time.clone() };
    let changed = *existing != wanted;
    *existing = wanted;
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(status: &str, reason: &str) -> Condition {
        Condition {
            type_: "Ready".to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: String::new(),
            observed_generation: None,
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
        }
    }

    #[test]
    fn only_a_change_of_the_status_is_a_transition() {
        let at = |seconds| Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(seconds);
        let mut conditions = Vec::new();
        assert!(set_condition(&mut conditions, condition("True", "A"), at(1)));
        assert!(!set_condition(&mut conditions, condition("True", "A"), at(2)));
        assert!(set_condition(&mut conditions, condition("True", "B"), at(3)));
        assert_eq!(conditions[0].last_transition_time, Time(at(1)));
        assert!(set_condition(&mut conditions, condition("False", "B"), at(4)));
        assert_eq!(conditions[0].last_transition_time, Time(at(4)));
        assert_eq!(conditions.len(), 1);
    }
}
