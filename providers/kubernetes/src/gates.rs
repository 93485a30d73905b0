//! What a roll needs of a cluster's API: whether a machine is a ready node, that no new pods come onto it, and that its pods
//! leave within the budgets. Each request may be repeated.

mod budget;
mod evict;
mod node;

pub(crate) use evict::Rules;
pub(crate) use node::Node;
