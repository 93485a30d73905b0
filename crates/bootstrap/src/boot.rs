//! The bootstrap of a cloud machine: from its bootstrap document to its resources.
//!
//! [`NodeBootstrap`] is the document that the machine's user data stores on its disk. It has the settings of
//! one pool and no secret. With facts about the machine itself ([`ThisMachine`]) and about its cluster
//! ([`Part`]) it expands into the resources that a listed host gets. Pure: the same input gives the same
//! resources.

mod cluster;
mod document;
mod effects;
mod expansion;
mod labels;
mod programs;

pub use document::{DocumentError, NodeBootstrap};
pub use expansion::{Part, ThisMachine, key_files};
pub use programs::{Layout, ProgramFile, ProgramName, Programs};

#[cfg(test)]
mod tests;
