//! The checks of the rules.

pub(crate) mod acting;
pub(crate) mod balancing;
pub(crate) mod desiring;
pub(crate) mod ending;
pub(crate) mod evolving;
pub(crate) mod finding;
pub(crate) mod instances;
pub(crate) mod keys;
pub(crate) mod lifecycle;
pub(crate) mod lint;
pub(crate) mod looking;
pub(crate) mod planning;
pub(crate) mod reading;
pub(crate) mod routing;
pub(crate) mod secrecy;
