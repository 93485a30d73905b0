//! Spec documents: strict loading with positions, versions, defaults, validation, documentation.

pub mod diagnostic;
pub mod model;
pub mod reader;
pub mod source;
pub mod value;
pub mod yaml;
