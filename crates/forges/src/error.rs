//! Why a forge was not called, or did not do what was asked for.

use std::time::Duration;

/// A failure with a forge, a webhook or a policy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address of a forge cannot be used.
    #[error("the address {address} of the forge cannot be used: {reason}")]
    Address {
        /// The address, without user and password.
        address: String,
        /// The problem.
        reason: String,
    },
    /// The name of a repository cannot be used.
    #[error("{name:?} is not the name of a repository")]
    Repository {
        /// The name.
        name: String,
    },
    /// A token has characters that no token has.
    #[error("the token of the forge cannot be used: it is empty, or has blanks or control characters")]
    Token,
    /// The forge does not answer.
    #[error("{method} {path}: the forge does not answer: {text}")]
    Unreachable {
        /// The method of the request.
        method: String,
        /// The path of the request.
        path: String,
        /// The error, with its causes.
        text: String,
    },
    /// The forge refuses a request.
    #[error("{method} {path}: the forge answers {status}: {message}")]
    Refused {
        /// The method of the request.
        method: String,
        /// The path of the request.
        path: String,
        /// The HTTP status.
        status: u16,
        /// The message of the forge.
        message: String,
    },
    /// The forge asks to wait longer than the caller allows.
    #[error("{path}: the rate limit of the forge is used up for {} s more", wait.as_secs())]
    RateLimited {
        /// The path of the request.
        path: String,
        /// How long the forge asks to wait.
        wait: Duration,
    },
    /// An answer is too large, or not as the API is described.
    #[error("{path}: the answer of the forge cannot be read: {text}")]
    Unreadable {
        /// The path of the request.
        path: String,
        /// The problem.
        text: String,
    },
    /// A list has more pages than are read.
    #[error("{path}: the list has more than {pages} pages")]
    TooManyPages {
        /// The path of the request.
        path: String,
        /// The largest number of pages.
        pages: u32,
    },
    /// The forge does not say whose token it is.
    #[error("the forge does not say which user the token belongs to")]
    UnknownUser {
        /// Its refusal.
        #[source]
        source: Box<Error>,
    },
    /// The policy for reviews cannot be used.
    #[error("the policy for reviews cannot be used: {reason}")]
    Policy {
        /// The problem, with its line.
        reason: String,
    },
    /// The secret of a webhook is too short.
    #[error("the secret of a webhook has {length} bytes, and needs at least {least}")]
    Secret {
        /// Its length.
        length: usize,
        /// The smallest length.
        least: usize,
    },
    /// The digest of a plan cannot be computed.
    #[error("the plan cannot be written")]
    Plan(#[source] slipway_plan::Error),
}

impl Error {
    /// The code of a page in `docs/errors/`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "FORGE0001",
            Self::Repository { .. } => "FORGE0002",
            Self::Unreachable { .. } => "FORGE0003",
            Self::Refused { .. } => "FORGE0004",
            Self::RateLimited { .. } => "FORGE0005",
            Self::Unreadable { .. } => "FORGE0006",
            Self::TooManyPages { .. } => "FORGE0007",
            Self::UnknownUser { .. } => "FORGE0008",
            Self::Policy { .. } => "FORGE0009",
            Self::Secret { .. } => "FORGE0010",
            Self::Token => "FORGE0011",
            Self::Plan(error) => error.code(),
        }
    }

    /// The way out.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Address { .. } => {
                "name the address of the forge's site, as in https://git.example.com; plain http needs a loopback \
                 address or `--insecure-http`"
            }
            Self::Repository { .. } => "name it as OWNER/NAME; GitLab has groups too: GROUP/SUBGROUP/NAME",
            Self::Token => "write the token alone into the file or the variable",
            Self::Unreachable { .. } => "check the address of the forge, and the network",
            Self::Refused { status: 401, .. } => "check that the token is valid and has not expired",
            Self::Refused { status: 403, .. } => {
                "give the token the right to read the repository, and to write statuses and comments"
            }
            Self::Refused { status: 404, .. } => {
                "check the repository and the number of the pull request; forges also answer 404 when the token may not \
                 see them"
            }
            Self::Refused { status: 300..=399, .. } => {
                "the repository was moved: name it as it is called now"
            }
            Self::Refused { .. } => "the message of the forge says what it refuses",
            Self::RateLimited { .. } => "run the command again later, or use a token of its own for this job",
            Self::Unreadable { .. } => {
                "check that the address is that of the forge, not of a proxy or a login page"
            }
            Self::TooManyPages { .. } => "close old pull requests, or delete comments that nobody needs",
            Self::UnknownUser { .. } => {
                "name the user that writes the comments with `--user`; in GitHub Actions it is `github-actions[bot]`"
            }
            Self::Policy { .. } => "correct the policy; docs/guide/pull-requests.md has its fields",
            Self::Secret { .. } => "generate one with `openssl rand -hex 32`",
            Self::Plan(error) => return error.hint(),
        };
        Some(hint.to_owned())
    }
}
