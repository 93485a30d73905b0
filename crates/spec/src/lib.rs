//! Spec documents: strict loading with positions, versions, defaults, validation, documentation.

pub mod diagnostic;
pub mod model;
pub mod reader;
pub mod shape;
pub mod source;
pub mod structure;
pub mod v1alpha1;
pub mod value;
pub mod yaml;
