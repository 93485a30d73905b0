//! Why a check ends before its end.

use slipway_resource::ProviderError;

/// A check that did not pass.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// The rule is broken.
    Fail(String),
    /// The rule cannot be proved here.
    Skip(String),
}

/// The result of a check.
pub(crate) type Checked = Result<(), Stop>;

/// The rule is broken.
pub(crate) fn fail<T>(reason: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Fail(reason.into()))
}

/// The rule cannot be proved here.
pub(crate) fn skip<T>(reason: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Skip(reason.into()))
}

/// The rule is broken unless this holds.
pub(crate) fn ensure(holds: bool, reason: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { fail(reason()) }
}

impl From<ProviderError> for Stop {
    fn from(error: ProviderError) -> Self {
        Self::Fail(format!("{} error: {error}", error.class))
    }
}
