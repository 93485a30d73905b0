//! The node commands around the agent: their arguments, questions and messages.

mod caller;
pub(crate) mod settings;
pub(crate) mod work;
