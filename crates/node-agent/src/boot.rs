//! `slipway node boot`: a machine that a cloud started becomes the node that its bootstrap document describes.
//!
//! [`machine::run`] repeats attempts until one is through. An attempt changes nothing before everything that it needs is
//! there; then it is an ordinary run of the machine's own plan, with the machine's own journal. [`agent::run`] repeats such runs
//! when the settings of the machine's pool change.

mod addresses;
pub mod agent;
pub mod attempt;
mod claim;
mod control_plane;
mod credential;
mod detours;
mod identity;
mod key_service;
mod keys;
pub mod machine;
mod mirrors;
mod programs;
mod reference;
mod report;
mod settings;
pub mod unit;
mod volume;

use crate::code;
use crate::error::Error;

/// Why an attempt ended before its run.
#[derive(Debug)]
pub enum Stop {
    /// Something is not there yet; a sentence that begins with `waits for`.
    Waits(String),
    /// Something failed, which may pass.
    Failed(Error),
    /// The boot cannot succeed before a person changes something.
    Refused(Error),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Stop {
    /// As the error of a command that does not wait.
    pub fn into_error(self) -> Error {
        match self {
            Self::Waits(what) => Error::new(code::BOOT, format!("the machine {what}")),
            Self::Failed(error) | Self::Refused(error) => error,
        }
    }
}
