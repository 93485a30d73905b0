//! Faults on demand.
