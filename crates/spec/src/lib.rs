//! Spec documents: strict loading with positions, versions, defaults, validation, documentation.

pub mod model;
pub mod value;
