//! Phases made into the resources that they consist of.
