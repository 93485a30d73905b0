//! The calls of a roll to a cluster's API: whether a machine is a ready node, to cordon it, and to evict its
//! pods within the budgets. Each request may be repeated.

mod budget;
mod etcd;
mod evict;
mod node;

pub(crate) use evict::Rules;
pub use evict::leaves;
pub(crate) use node::Node;
