//! The conditions of a status.

use jiff::{SignedDuration, Timestamp};
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use slipway_controller::set_condition;
use slipway_state_store::Digest;

use super::{Reason, Status};

/// How late a look may be.
const OVERDUE: SignedDuration = SignedDuration::from_secs(60);

impl Status {
    /// Sets the conditions. Returns whether the reason or the message of `Ready` is another one than before.
    pub(crate) fn tell(&mut self, reason: Reason, message: impl Into<String>, now: Timestamp) -> bool {
        let message = super::short(&message.into());
        let before = self.ready().map(|ready| (ready.reason.clone(), ready.message.clone()));
        let is_new = before != Some((reason.word().to_owned(), message.clone()));
        let meaning = reason.meaning();
        let drift = self.plan.as_ref().map_or(0, |plan| plan.facts.drift);
        let drift_reason = if drift > 0 { "ChangedOutside" } else { "None" };
        let drift_message = match drift {
            0 => String::new(),
            1 => "1 resource".to_owned(),
            drift => format!("{drift} resources"),
        };
        let all = [
            ("Ready", meaning.ready, reason.word(), message.clone()),
            ("Reconciling", meaning.reconciling, reason.word(), String::new()),
            ("Stalled", meaning.stalled, reason.word(), String::new()),
            ("Drifted", drift > 0, drift_reason, drift_message),
        ];
        for (kind, holds, reason, message) in all {
            let condition = Condition {
                type_: kind.to_owned(),
                status: if holds { "True" } else { "False" }.to_owned(),
                reason: reason.to_owned(),
                message,
                observed_generation: None,
                last_transition_time: Time(now),
            };
            set_condition(&mut self.conditions, condition, now);
        }
        is_new
    }

    /// Notes that a notification is sent for the present reason. Returns whether the reason is new: the same failure of a later
    /// attempt is not.
    pub(crate) fn tell_receivers(&mut self) -> bool {
        if self.is(Reason::InSync) {
            return self.notified.take().is_some();
        }
        let is_told = Reason::ALL.iter().any(|reason| reason.is_told() && self.is(*reason));
        let Some(ready) = self.ready().filter(|_| is_told) else { return false };
        let digest = Digest::of(format!("{}\0{}", ready.reason, ready.message).as_bytes()).to_hex();
        let is_new = self.notified.as_ref() != Some(&digest);
        self.notified = Some(digest);
        is_new
    }

    /// The condition `Ready`.
    #[must_use]
    pub fn ready(&self) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == "Ready")
    }

    /// Whether a run of a person can end the present reason, which the head of the cluster shows.
    pub(crate) fn ends_with_run(&self) -> bool {
        Reason::ALL.iter().any(|reason| reason.ends_with_run() && self.is(*reason))
    }

    /// Whether the present reason is about the spec or its source, so that the last plan was made before that.
    #[must_use]
    pub fn is_about_spec(&self) -> bool {
        Reason::ALL.iter().any(|reason| reason.is_about_spec() && self.is(*reason))
    }

    /// Whether the next look has been due for so long that no controller seems to run.
    #[must_use]
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.next.is_some_and(|next| now.duration_since(next) > OVERDUE)
    }

    /// Whether `Ready` has a reason.
    #[must_use]
    pub fn is(&self, reason: Reason) -> bool {
        self.ready().is_some_and(|ready| ready.reason == reason.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_are_told_a_failure_once_and_its_end() {
        let mut status = Status::default();
        let mut tell = |reason, message: &str| {
            status.tell(reason, message, Timestamp::UNIX_EPOCH);
            status.tell_receivers()
        };
        assert!(!tell(Reason::InSync, ""), "nothing was wrong");
        assert!(tell(Reason::Failed, "no quota"));
        assert!(!tell(Reason::Applying, ""));
        assert!(!tell(Reason::Failed, "no quota"), "the next attempt");
        assert!(tell(Reason::Failed, "no network"));
        assert!(tell(Reason::InSync, ""));
        assert!(!tell(Reason::InSync, ""));
        assert!(tell(Reason::Failed, "no network"));
    }

    fn of(status: &Status, kind: &str) -> (String, String) {
        let condition = status.conditions.iter().find(|condition| condition.type_ == kind).unwrap();
        (condition.status.clone(), condition.reason.clone())
    }

    #[test]
    fn a_look_is_overdue_a_minute_after_it_was_due() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let status = Status { next: Some(at(100)), ..Status::default() };
        assert!(!status.is_overdue(at(160)) && status.is_overdue(at(161)));
        assert!(!Status::default().is_overdue(at(161)), "a plan is being applied");
    }

    #[test]
    fn one_reason_sets_all_conditions() {
        let mut status = Status::default();
        assert!(status.tell(Reason::Applying, "step 1", Timestamp::UNIX_EPOCH));
        assert!(!status.tell(Reason::Applying, "step 1", Timestamp::UNIX_EPOCH));
        assert_eq!(of(&status, "Ready"), ("False".into(), "Applying".into()));
        assert_eq!(of(&status, "Reconciling").0, "True");
        assert!(status.tell(Reason::InSync, "", Timestamp::UNIX_EPOCH));
        assert_eq!(of(&status, "Ready").0, "True");
        assert_eq!(
            (of(&status, "Reconciling").0, of(&status, "Stalled").0),
            ("False".into(), "False".into())
        );
        status.tell(Reason::SpecVanished, "", Timestamp::UNIX_EPOCH);
        assert_eq!(of(&status, "Stalled").0, "True");
        assert!(status.is(Reason::SpecVanished));
        assert_eq!(of(&status, "Drifted").0, "False");
    }

    #[test]
    fn a_status_is_read_as_it_was_written() {
        let mut status = Status { cluster: "prod".into(), ..Status::default() };
        for reason in Reason::ALL {
            status.tell(reason, "a message", Timestamp::UNIX_EPOCH);
            let text = serde_json::to_string(&status).unwrap();
            assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
        }
    }
}
