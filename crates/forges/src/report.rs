//! Statuses of commits.

use slipway_plan::Plan;
use slipway_plan::render::dangerous;
use slipway_resource::Digest;

use crate::approvals::Outcome;
use crate::error::Error;
use crate::marker::MarkedPart;
use crate::model::{Status, StatusState};

/// The name of the status that covers all clusters.
pub const OVERALL: &str = "slipway";

/// The longest sentence of a status at GitHub, in characters.
const DESCRIPTION: usize = 140;

/// The name of the status of a subject. The one of the specs covers all clusters.
#[must_use]
pub fn context(subject: &MarkedPart) -> String {
    match subject {
        MarkedPart::Cluster(name) => format!("{OVERALL}/{name}"),
        MarkedPart::Specs => OVERALL.to_owned(),
    }
}

/// The part of a status that names its plan: 128 bits of the digest, so that no second plan can be made for it.
#[must_use]
pub fn mark(digest: &Digest) -> String {
    format!("plan {}", digest.name())
}

/// Whether the sentence of a status names a plan.
#[must_use]
pub fn names(description: &str, digest: &Digest) -> bool {
    description.ends_with(&mark(digest))
}

/// A status.
#[must_use]
pub fn status(subject: &MarkedPart, state: StatusState, sentence: &str, page: Option<&str>) -> Status {
    let sentence = sentence.replace('\n', " ");
    let description = if sentence.chars().count() > DESCRIPTION {
        sentence.chars().take(DESCRIPTION - 1).chain(['…']).collect()
    } else {
        sentence
    };
    Status { context: context(subject), state, description, page: page.map(str::to_owned) }
}

/// The status of a cluster with a plan: a failure for a plan that could not be carried out, pending while approvals are
/// missing, else a success. `settings` are how many settings hide or allow changes from now on: they need approvals as changes do.
///
/// # Errors
/// When the digest of the plan cannot be computed.
pub fn of_plan(
    plan: &Plan,
    settings: usize,
    approvals: &Outcome,
    page: Option<&str>,
) -> Result<Status, Error> {
    let digest = plan.digest().map_err(Error::Plan)?;
    let subject = MarkedPart::Cluster(plan.cluster.clone());
    let (state, words) = verdict(plan, settings, approvals);
    Ok(status(&subject, state, &format!("{words}; {}", mark(&digest)), page))
}

fn verdict(plan: &Plan, settings: usize, approvals: &Outcome) -> (StatusState, String) {
    if !plan.findings.is_empty() {
        return (
            StatusState::Failure,
            format!("{} would stop the plan", counted(plan.findings.len(), "finding")),
        );
    }
    if plan.has_deferred() {
        return (StatusState::Failure, "incomplete: some resources could not be decided".to_owned());
    }
    let mut words = match (plan.is_empty(), settings) {
        (true, 0) => return (StatusState::Success, "no changes".to_owned()),
        (true, _) => "no changes".to_owned(),
        (false, _) => format!("{}, {} dangerous", counted(plan.changes.len(), "change"), dangerous(plan)),
    };
    if settings > 0 {
        words.push_str(&format!("; {} for hiding or allowing some", counted(settings, "setting")));
    }
    if approvals.needed > 0 {
        words.push_str(&format!("; {} of {} approvals", approvals.given.len(), approvals.needed));
    }
    let state = if approvals.is_enough() { StatusState::Success } else { StatusState::Pending };
    (state, words)
}

/// The status that covers all clusters: the worst of theirs.
#[must_use]
pub fn overall(states: &[StatusState], page: Option<&str>) -> Status {
    let count = |state: StatusState| states.iter().filter(|known| **known == state).count();
    let (failed, pending) = (count(StatusState::Failure), count(StatusState::Pending));
    let (state, sentence) = if failed > 0 {
        (StatusState::Failure, format!("{} cannot be merged as they are", counted(failed, "cluster")))
    } else if pending > 0 {
        (
            StatusState::Pending,
            format!("{} without the approvals that they need", counted(pending, "cluster")),
        )
    } else if states.is_empty() {
        (StatusState::Success, "no cluster is affected".to_owned())
    } else {
        (StatusState::Success, format!("{} planned", counted(states.len(), "cluster")))
    };
    status(&MarkedPart::Specs, state, &sentence, page)
}

/// `1 change`, `2 changes`.
fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_fits_every_forge() {
        let long = status(&MarkedPart::Specs, StatusState::Failure, &"ä\n".repeat(200), None);
        assert_eq!(long.description.chars().count(), DESCRIPTION);
        assert!(!long.description.contains('\n'));
        let digest = Digest::of_bytes(b"plan");
        let words =
            format!("{}, {} dangerous; 65535 of 65535 approvals", counted(usize::MAX, "change"), usize::MAX);
        let full =
            status(&MarkedPart::Specs, StatusState::Success, &format!("{words}; {}", mark(&digest)), None);
        assert!(names(&full.description, &digest), "{}", full.description);
    }

    #[test]
    fn the_worst_cluster_decides() {
        use StatusState::{Failure, Pending, Success};
        for (states, state, words) in [
            (&[][..], Success, "no cluster is affected"),
            (&[Success, Success], Success, "2 clusters planned"),
            (&[Success, Pending], Pending, "1 cluster without the approvals"),
            (&[Failure, Pending], Failure, "1 cluster cannot"),
        ] {
            let status = overall(states, None);
            assert_eq!(status.state, state);
            assert!(status.description.starts_with(words), "{}", status.description);
            assert_eq!(status.context, "slipway");
        }
    }
}
