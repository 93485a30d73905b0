//! Spec documents: strict loading with positions, versions, defaults, validation, documentation.
