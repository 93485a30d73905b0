//! Whether a plan, or a change beside the plans, has the approvals that it needs.

use std::collections::BTreeSet;
use std::sync::Arc;

use slipway_plan::Plan;
use slipway_state_store::{Backend, ClusterName, Digest, approvals};

use crate::actor::{account_of, person_of};
use crate::environment::Environment;
use crate::error::Error;
use crate::observe::Event;
use crate::plans;
use crate::protection;
use crate::request::{Approvals, Terms};

/// The approvals of a digest, counted by a policy.
pub(crate) enum Counted {
    /// There are enough. The persons whose approvals count.
    Enough(Vec<String>),
    /// There are too few.
    TooFew {
        /// The required number.
        needed: u16,
        /// The number of those that count.
        counted: usize,
        /// The caller, if their own approval does not count.
        own: Option<String>,
    },
}

/// Counts the approvals of a digest. An approval counts only for the digest that it names, and once for each person: names
/// that differ only in their form, in what follows their `@`, in dots or in a suffix with `+`, are one person, and names that can be
/// taken for others do not count.
pub(crate) async fn count(
    environment: &Environment,
    backend: &dyn Backend,
    cluster: &ClusterName,
    digest: Digest,
    policy: Approvals,
) -> Result<Counted, Error> {
    let actor = &environment.actor;
    let (mut persons, mut counted, mut own) = (BTreeSet::new(), Vec::new(), None);
    for approval in approvals::of(backend, cluster, digest).await? {
        let Some(person) = person_of(&approval.person) else { continue };
        let account = account_of(&person);
        if policy.by_other && account == account_of(&actor.person) {
            own = Some(actor.who.clone());
        } else if persons.insert(account) {
            counted.push(approval.who);
        }
    }
    let needed = policy.number();
    if counted.len() < usize::from(needed) {
        return Ok(Counted::TooFew { needed, counted: counted.len(), own });
    }
    Ok(Counted::Enough(counted))
}

/// Refuses a plan that has too few approvals.
pub(crate) async fn check(
    environment: &Environment,
    backend: Option<Arc<dyn Backend>>,
    plan: &Plan,
    terms: &Terms,
) -> Result<(), Error> {
    let policy = terms.approvals.and(environment.approvals);
    if policy.are_needless() || protection::is_nothing(plan) {
        return Ok(());
    }
    let digest = plans::digest(plan)?;
    let backend = backend.ok_or_else(|| Error::NoState { cluster: plan.cluster.clone() })?;
    let cluster = ClusterName::new(plan.cluster.as_str())?;
    match count(environment, &*backend, &cluster, digest, policy).await? {
        Counted::Enough(persons) => environment.observer.event(Event::Approved(persons)),
        Counted::TooFew { needed, counted, own } => {
            let stored = slipway_state_store::plans::read(&*backend, &cluster, digest).await;
            return Err(Error::Unapproved {
                cluster: plan.cluster.clone(),
                plan: digest.to_string(),
                is_stored: stored.is_ok_and(|stored| stored.is_some()),
                operation: None,
                needed,
                counted,
                own,
                by_other: policy.by_other,
            });
        }
    }
    Ok(())
}
