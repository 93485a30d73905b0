//! Whether a plan has the approvals that it needs.

use std::sync::Arc;

use slipway_plan::Plan;
use slipway_state_store::{Backend, ClusterName, approvals};

use crate::environment::Environment;
use crate::error::Error;
use crate::observe::Event;
use crate::plans;
use crate::protection;
use crate::request::Terms;

/// Refuses a plan that has too few approvals. An approval counts only for the plan with its digest.
pub(crate) async fn check(
    environment: &Environment,
    backend: Option<Arc<dyn Backend>>,
    plan: &Plan,
    terms: &Terms,
) -> Result<(), Error> {
    let by_other = terms.approvals.by_other;
    let needed = terms.approvals.needed.max(u16::from(by_other));
    if needed == 0 || protection::is_nothing(plan) {
        return Ok(());
    }
    let digest = plans::digest(plan)?;
    let backend = backend.ok_or_else(|| Error::NoState { cluster: plan.cluster.clone() })?;
    let given = approvals::of(&*backend, &ClusterName::new(plan.cluster.as_str())?, digest).await?;
    let actor = &environment.actor;
    let (counted, own): (Vec<_>, Vec<_>) =
        given.into_iter().partition(|approval| !by_other || approval.person != actor.person);
    if counted.len() < usize::from(needed) {
        return Err(Error::Unapproved {
            plan: digest.to_string(),
            needed,
            counted: counted.len(),
            own: (!own.is_empty()).then(|| actor.who.clone()),
        });
    }
    let persons = counted.into_iter().map(|approval| approval.who).collect();
    environment.observer.event(Event::Approved(persons));
    Ok(())
}
