use std::io;

use crate::Size;

/// The code of a pipe, a device, a socket or a folder where a file belongs.
pub const NOT_A_FILE: &str = "LIMIT0001";

/// The code of a file that is larger than its kind may be.
pub const TOO_LARGE: &str = "LIMIT0002";

/// Input that is not read because of its kind or its size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// A pipe, a device, a socket or a folder where a file belongs.
    #[error("it is {kind}, not a file")]
    NotAFile {
        /// Its kind, as in `a named pipe`.
        kind: &'static str,
    },
    /// More bytes than allowed.
    #[error("it has more than {limit}, the most that {} may have", limit.what)]
    TooLarge {
        /// The limit.
        limit: Size,
    },
}

impl Exceeded {
    /// The code of a page in `docs/errors/`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotAFile { .. } => NOT_A_FILE,
            Self::TooLarge { .. } => TOO_LARGE,
        }
    }

    /// The way out.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::NotAFile { .. } => {
                "name a regular file; write what a pipe or a device gives into one first"
            }
            Self::TooLarge { .. } => "check that the path names the file that you meant",
        }
    }

    /// The limit behind a failure to read, if that is why.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl From<Exceeded> for io::Error {
    fn from(exceeded: Exceeded) -> Self {
        let kind = match &exceeded {
            Exceeded::NotAFile { .. } => io::ErrorKind::InvalidInput,
            Exceeded::TooLarge { .. } => io::ErrorKind::FileTooLarge,
        };
        Self::new(kind, exceeded)
    }
}
