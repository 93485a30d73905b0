//! Changes of a cluster beside its plans: of its state, and of its etcd.
//!
//! Where a policy demands approvals, such a change needs them like a plan. Everybody who asks for the same change of the same
//! generation gets the same digest, so an approver runs the same command, sees the same effects, and approves the digest.

use std::fmt;

use serde::Serialize;
use slipway_state_store::approvals::{self, Approval};
use slipway_state_store::{ClusterName, Digest, Generation};

use crate::approving::{self, Counted};
use crate::environment::Environment;
use crate::error::Error;
use crate::observe::Event;
use crate::state;

/// A change of a cluster beside its plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unplanned {
    /// The operation as the history names it.
    operation: &'static str,
    /// The cluster.
    cluster: String,
    /// The generation that it changes; 0 where the state has none.
    generation: u64,
    /// Its effects, one sentence each, in a fixed order.
    effects: Vec<String>,
}

/// A change that no policy holds back: it has the approvals that it needs.
#[derive(Debug)]
pub struct Allowed {
    change: Unplanned,
    /// Whether the policy demanded approvals, which count for one generation only.
    is_approved: bool,
}

impl Unplanned {
    /// A change of the present generation of a cluster. The effects must be the same for everybody who asks for it: no times,
    /// and nothing that differs between two calls.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub async fn of(
        environment: &Environment,
        operation: &'static str,
        cluster: &str,
        effects: Vec<String>,
    ) -> Result<Self, Error> {
        let store = environment.store(cluster)?;
        // The change may be the way out of a head that cannot be read.
        let generation = state::generation(&*store.backend, cluster).await.ok().flatten().unwrap_or_default();
        Ok(Self { operation, cluster: cluster.to_owned(), generation, effects })
    }

    /// The digest that approvals name.
    fn digest(&self) -> Result<Digest, Error> {
        let bytes = serde_json::to_vec(&("slipway-change", self))
            .map_err(|error| Error::internal("the change cannot be written as JSON", error))?;
        Ok(Digest::of(&bytes))
    }

    /// Checks that the change has the approvals that the policy of the caller demands.
    ///
    /// # Errors
    /// [`Error::UnapprovedChange`].
    pub async fn allow(self, environment: &Environment) -> Result<Allowed, Error> {
        let policy = environment.approvals;
        if policy.are_needless() {
            return Ok(Allowed { change: self, is_approved: false });
        }
        let digest = self.digest()?;
        let backend = &environment.store(&self.cluster)?.backend;
        let cluster = ClusterName::new(self.cluster.as_str())?;
        match approving::count(environment, &**backend, &cluster, digest, policy).await? {
            Counted::Enough(persons) => environment.observer.event(Event::Approved(persons)),
            Counted::TooFew { needed, counted, own } => {
                return Err(Error::UnapprovedChange { change: self.to_string(), needed, counted, own });
            }
        }
        Ok(Allowed { change: self, is_approved: true })
    }

    /// Stores the approval of the caller. Returns the valid one: the first, if the caller approved the change before.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn approve(&self, environment: &Environment) -> Result<Approval, Error> {
        let actor = &environment.actor;
        let approval = Approval {
            format: approvals::FORMAT,
            cluster: ClusterName::new(self.cluster.as_str())?,
            plan: self.digest()?,
            generation: Generation(self.generation),
            person: actor.person.clone(),
            who: actor.who.clone(),
            when: jiff::Timestamp::now(),
            comment: Some(format!("{} at generation {}", self.operation, self.generation)),
        };
        Ok(approvals::approve(&environment.store(&self.cluster)?.backend, approval).await?)
    }
}

impl fmt::Display for Unplanned {
    /// The operation, the cluster and the beginning of the digest.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = self.digest().map(|digest| digest.to_string()).unwrap_or_default();
        write!(formatter, "{} of {}, {digest}", self.operation, self.cluster)
    }
}

impl Allowed {
    pub(crate) fn cluster(&self) -> &str {
        &self.change.cluster
    }

    /// The operation as the history names it.
    pub(crate) fn operation(&self) -> &'static str {
        self.change.operation
    }

    /// Refuses a generation that is another one than the approved one.
    ///
    /// # Errors
    /// [`Error::UnapprovedChange`].
    pub fn check(&self, generation: Generation) -> Result<(), Error> {
        if !self.is_approved || generation.0 == self.change.generation {
            return Ok(());
        }
        let change = Unplanned { generation: generation.0, ..self.change.clone() };
        Err(Error::UnapprovedChange { change: change.to_string(), needed: 1, counted: 0, own: None })
    }
}
