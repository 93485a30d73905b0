//! The tree of phases.
