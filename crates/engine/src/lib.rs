//! Observes, executes and resumes plans: the only place that runs steps.
//!
//! [`observe`] reads what exists, [`run::Run`] carries a plan out under a hold on the cluster's state, and
//! [`recover`] finds out what became of the steps that an earlier run left open.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod adopt;
mod commit;
mod error;
pub mod event;
mod execute;
pub mod journal;
mod observe;
mod outputs;
mod pace;
mod preconditions;
mod promise;
mod rebuild;
mod recover;
mod replay;
mod report;
mod retry;
pub mod run;
#[cfg(test)]
mod scripted;
mod secrets;
mod session;
pub mod state;
mod step;
mod stop;
pub mod trace;
mod wait;

pub use adopt::{Adopted, Adoption, establish};
pub use commit::{about, outcome};
pub use error::{Error, OTHER_RUN, STALE, UNCONFIRMED};
pub use event::{Event, EventHandler};
pub use observe::{Foreign, Looked, Observed, Owner, look, observe};
pub use preconditions::READ_AGE;
pub use rebuild::{Rebuild, Rebuilt};
pub use recover::{Recovery, Unresolved, recover};
pub use report::{Report, StepFailure};
pub use retry::Backoff;
pub use run::{Run, check_account, check_generation, check_interrupted};
pub use secrets::{
    Comparing, NoSecrets, SecretError, SecretSource, Texts, forget_foreign, has_secret, kept_texts,
};
pub use session::{Patience, Watch, open_session, open_session_on};
pub use state::State;
pub use stop::{Stop, StopSignal};
pub use wait::{Wait, WaitHandler};
