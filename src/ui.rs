//! The user interface: progress, questions, reports.

pub(crate) mod progress;
pub(crate) mod prompt;
pub(crate) mod report;
pub(crate) mod show;
pub(crate) mod signals;
pub(crate) mod table;
