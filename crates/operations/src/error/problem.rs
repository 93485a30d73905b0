//! The kinds of problems that errors name, and words of their messages.

use slipway_spec::diagnostic::Diagnostic;
use slipway_spec::source::Location;

/// Why a manifest cannot be fetched from its URL.
#[derive(Debug, thiserror::Error)]
pub enum DownloadProblem {
    /// Nothing is fetched without a network.
    #[error("and nothing is fetched offline")]
    Offline,
    /// The server does not give it.
    #[error("which cannot be fetched")]
    Failed(String),
    /// The fetched content has another digest.
    #[error("and what is there is not what the spec pins")]
    OtherDigest {
        /// Its digest.
        found: String,
        /// The pinned digest.
        pinned: String,
    },
}

/// Why kubelets block a change of version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KubeletProblem {
    /// These are too old.
    TooOld(Vec<String>),
    /// The versions are not known.
    Unknown(String),
}

pub(super) fn problems(diagnostics: &[Diagnostic]) -> String {
    match slipway_spec::diagnostic::count(diagnostics).errors {
        1 => "1 problem".to_owned(),
        errors => format!("{errors} problems"),
    }
}

pub(super) fn about(cluster: &Option<String>) -> String {
    cluster.as_ref().map(|cluster| format!("{cluster}: ")).unwrap_or_default()
}

pub(super) fn at(place: &Option<Location>) -> String {
    place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default()
}

pub(super) fn approvals(needed: u16) -> String {
    if needed == 1 { "an approval".to_owned() } else { format!("{needed} approvals") }
}

/// Whose approvals are needed, where the caller has approved the plan and this does not count.
pub(super) fn of_another(own: Option<&str>) -> &'static str {
    if own.is_some() { " of another person" } else { "" }
}

pub(super) fn found(counted: usize) -> String {
    if counted == 0 { "none".to_owned() } else { counted.to_string() }
}

/// What is wrong with the name of an actor: its letters that are not ASCII, with their numbers, or its form.
pub(super) fn of_name(name: &str) -> String {
    let others = name.chars().filter(|letter| !letter.is_ascii());
    let others: Vec<String> =
        others.map(|letter| format!("{letter} (U+{:04X})", u32::from(letter))).collect();
    match others.is_empty() {
        true => "is no account name and no plain e-mail address".to_owned(),
        false => format!("has {}, which can look like another letter", others.join(", ")),
    }
}
