//! Decisions: whether a plan is executed, and whether data that it loses may be lost.
//!
//! A command line asks a person, a controller follows a policy, a test has constants.

use std::collections::BTreeSet;

use async_trait::async_trait;
use slipway_plan::{Confirmation, Plan};

use crate::code;

/// Names that confirm losses: addresses of resources, or the name of a cluster that is deleted.
pub type Names = BTreeSet<String>;

/// Why a plan is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// It is the first plan of an operation.
    First,
    /// The state changed after an earlier plan was approved, and the plan for the new state differs.
    Changed,
}

/// Why a plan is not executed.
#[derive(Debug, thiserror::Error)]
pub enum Declined {
    /// The answer was no.
    #[error("the answer was no; nothing was done")]
    No,
    /// There is no terminal to ask on.
    #[error("no terminal to ask on; nothing was done")]
    Unanswered {
        /// The option that answers the question.
        hint: String,
    },
    /// The name that was given is not the one that confirms.
    #[error("that is not `{0}`; nothing was done")]
    WrongName(String),
    /// The decision could not be made. The caller gets the error back as it is.
    #[error(transparent)]
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl Declined {
    /// A decision that could not be made.
    pub fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Failed(error.into())
    }

    /// The stable code, with a page in `docs/errors/`; `None` for an error of the implementation.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::No => Some(code::DECLINED),
            Self::Unanswered { .. } => Some(code::UNANSWERED),
            Self::WrongName(_) => Some(code::WRONG_NAME),
            Self::Failed(_) => None,
        }
    }
}

/// Decides about plans.
#[async_trait(?Send)]
pub trait Decide {
    /// Gets each plan before a decision about it, also an empty one.
    ///
    /// # Errors
    /// When the plan cannot be shown.
    async fn review(&self, _plan: &Plan, _occasion: Occasion) -> Result<(), Declined> {
        Ok(())
    }

    /// The names that confirm losses of a plan and were given before it was made.
    fn names(&self, _plan: &Plan) -> Names {
        Names::new()
    }

    /// How the caller gives a name that confirms a loss of a plan; for hints.
    fn spelled(&self, _plan: &Plan, name: &str) -> String {
        name.to_owned()
    }

    /// Whether [`Decide::confirm`] is called for missing names. If not, a plan that needs more names is
    /// refused before any other decision.
    fn confirms(&self) -> bool {
        false
    }

    /// Confirms by name what a plan loses.
    ///
    /// # Errors
    /// When it is not confirmed.
    async fn confirm(&self, _plan: &Plan, confirmation: &Confirmation) -> Result<(), Declined> {
        Err(Declined::WrongName(confirmation.name.clone()))
    }

    /// Approves a plan of which every loss was confirmed beforehand. A plan whose losses [`Decide::confirm`] has confirmed is
    /// approved by that.
    ///
    /// # Errors
    /// When it is not approved.
    async fn approve(&self, plan: &Plan) -> Result<(), Declined>;
}

/// Approves every plan that loses nothing, or only what these names confirm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approve {
    /// The names that confirm losses.
    pub names: Names,
}

#[async_trait(?Send)]
impl Decide for Approve {
    fn names(&self, _plan: &Plan) -> Names {
        self.names.clone()
    }

    async fn approve(&self, _plan: &Plan) -> Result<(), Declined> {
        Ok(())
    }
}

/// Approves no plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decline;

#[async_trait(?Send)]
impl Decide for Decline {
    async fn approve(&self, _plan: &Plan) -> Result<(), Declined> {
        Err(Declined::No)
    }
}
