//! Why a pull request was not reviewed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use slipway_limits::text::{shorten, visible};
use slipway_limits::{Exceeded, count, size};
use slipway_operations::store_hint;
use slipway_spec::diagnostic;

/// The code of a repository that cannot be read.
pub const REPOSITORY: &str = "FORGE0013";

/// Why a pull request was not reviewed, or why a cluster has no plan.
///
/// [`Error::code`] is the stable code with a page in `docs/errors/`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The forge was not called, or refused.
    #[error(transparent)]
    Forge(#[from] slipway_forges::Error),
    /// The specs cannot be read or planned.
    #[error(transparent)]
    Operation(Box<slipway_operations::Error>),
    /// The state store cannot be used.
    #[error(transparent)]
    Store(#[from] slipway_state_store::Error),
    /// A file or folder cannot be used.
    #[error("{what} {} cannot be used", path.display())]
    File {
        /// The description of the file.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// There is no `git`.
    #[error("git cannot be started")]
    NoGit(#[source] std::io::Error),
    /// The repository lacks a commit of the pull request.
    #[error("the checkout {} does not have the commit {commit}", folder.display())]
    NoCommit {
        /// The repository.
        folder: PathBuf,
        /// The commit.
        commit: String,
    },
    /// A command of git failed.
    #[error("`git {command}` failed in the checkout")]
    Git {
        /// The command.
        command: String,
        /// What git says.
        #[source]
        said: Said,
    },
    /// A command of git took too long.
    #[error("`git {command}` did not end within {} s in the checkout", limit.as_secs())]
    TooSlow {
        /// The command.
        command: String,
        /// The limit.
        limit: Duration,
    },
    /// A command of git was ended early, because its caller was dropped.
    #[error("`git {command}` was interrupted")]
    Interrupted {
        /// The command.
        command: String,
    },
    /// The content of the repository is refused.
    #[error("{message}")]
    Content {
        /// What is refused, and why.
        message: String,
        /// The way out.
        hint: &'static str,
    },
    /// Two paths with specs have the same cluster.
    #[error("several folders of `-f` have the cluster {name}")]
    Duplicate {
        /// The cluster.
        name: String,
    },
}

/// What git says.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Said(pub String);

impl From<slipway_operations::Error> for Error {
    fn from(error: slipway_operations::Error) -> Self {
        Self::Operation(Box::new(error))
    }
}

impl From<slipway_plan::Error> for Error {
    fn from(error: slipway_plan::Error) -> Self {
        slipway_operations::Error::from(error).into()
    }
}

impl Error {
    pub(crate) fn file(what: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::File { what, path: path.to_owned(), source }
    }

    pub(crate) fn content(message: impl Into<String>, hint: &'static str) -> Self {
        Self::Content { message: message.into(), hint }
    }

    /// The stable code, where there is one.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        Some(match self {
            Self::Forge(error) => error.code(),
            Self::Operation(error) => return error.code(),
            Self::Store(error) => error.code(),
            Self::File { source, .. } => {
                Exceeded::of(source).map_or(slipway_operations::code::FILE, Exceeded::code)
            }
            Self::NoGit(_)
            | Self::NoCommit { .. }
            | Self::Git { .. }
            | Self::TooSlow { .. }
            | Self::Interrupted { .. } => REPOSITORY,
            Self::Content { .. } => "FORGE0014",
            Self::Duplicate { .. } => "FORGE0016",
        })
    }

    /// Ways out.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Forge(error) => error.hint(),
            Self::Operation(error) => return error.hints(),
            Self::Store(error) => store_hint(error),
            Self::File { source, .. } => Exceeded::of(source).map(|exceeded| exceeded.hint().to_owned()),
            Self::NoGit(_) => Some("install Git 2.38 or newer".to_owned()),
            Self::NoCommit { .. } => Some(
                "fetch it first: `git fetch origin pull/NUMBER/head` (GitHub, Gitea), \
                 `merge-requests/NUMBER/head` (GitLab), and the base branch"
                    .to_owned(),
            ),
            Self::Git { command, .. } if command == "merge-tree" => Some(
                "fetch the whole history of both commits (`fetch-depth: 0`, GIT_DEPTH: 0); Git 2.38 or newer \
                 is needed"
                    .to_owned(),
            ),
            Self::TooSlow { .. } => {
                Some("split the pull request, or remove large files from the repository".to_owned())
            }
            Self::Git { .. } | Self::Interrupted { .. } => None,
            Self::Content { hint, .. } => Some((*hint).to_owned()),
            Self::Duplicate { .. } => Some("give each cluster its own name".to_owned()),
        };
        hint.into_iter().collect()
    }

    /// The sentences below the message: causes, in their order.
    fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            causes.push(cause.to_string());
            source = cause.source();
        }
        if let Self::Operation(error) = self {
            causes.extend(error.causes());
        }
        causes
    }

    /// Its text for a comment: message, causes and hints in lines of their own, and all problems of specs above them.
    #[must_use]
    pub fn plain(&self) -> String {
        let mut text = String::new();
        let mut message = self.to_string();
        if let Self::Operation(error) = self
            && let slipway_operations::Error::Specs(problems) = &**error
        {
            let errors = diagnostic::count(problems).errors;
            let counted = if errors == 1 { "1 problem".to_owned() } else { format!("{errors} problems") };
            message = format!("the specs have {counted}; nothing was done");
            text.push_str(&diagnostic::render_all(problems));
            text.push('\n');
        }
        let code = self.code().map(|code| format!("[{code}]")).unwrap_or_default();
        // A text of a provider or of git may be of any length, and may contain control characters.
        let theirs = |text: &str| visible(&shorten(text, size::MESSAGE)).into_owned();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "error{code}: {}", theirs(&message));
        for cause in self.causes().iter().take(count::CAUSES) {
            let _ = writeln!(text, "  caused by: {}", theirs(cause));
        }
        for hint in self.hints().iter().take(count::CAUSES) {
            let _ = writeln!(text, "hint: {}", theirs(hint));
        }
        text
    }
}
