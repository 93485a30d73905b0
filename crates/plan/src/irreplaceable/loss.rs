//! Losses that no confirmation makes right, and how an error names them.

use std::fmt;

use slipway_resource::{Address, Identity, Path};

use crate::change::ResourceChange;
use crate::error::listed;
use crate::reason::Reason;

/// A loss that a plan would bring, and that no confirmation makes right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The object that would lose what it holds.
    pub address: Address,
    /// The fingerprint of its data; `None` when it is gone already.
    pub fingerprint: Option<String>,
    /// The effect of the plan.
    pub kind: LossKind,
    /// The field of the spec that asks for it, with its place, as `encryption.atRest.key, spec.yaml:14:11`.
    pub source: Option<String>,
}

/// How something irreplaceable would be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// Something else would be written over it: the state does not have what the object holds.
    Overwritten {
        /// The fingerprint of what would be written, when it is known.
        by: Option<String>,
    },
    /// The state names the object, it is gone, and another one would take its place.
    Vanished,
    /// Several objects have its address, and nothing tells which is the right one.
    Ambiguous {
        /// All of them.
        identities: Vec<Identity>,
    },
    /// Its type has no replacement, for this reason.
    Refused {
        /// The reason.
        reason: String,
    },
    /// A key for data would be replaced by another one, while the object itself stays.
    KeyReplaced {
        /// The attributes that hold the key.
        paths: Vec<Path>,
    },
    /// The text of a key for data could not be read, so that it may be another key.
    KeyUnread {
        /// The attributes that hold the key.
        paths: Vec<Path>,
        /// Where the text should have been read from, as `file:key.txt`.
        source: String,
        /// Why it was not read, as a sentence that names the secret, where that is known.
        why: Option<String>,
    },
}

impl Loss {
    pub(super) fn new(address: &Address, fingerprint: Option<String>, kind: LossKind) -> Self {
        Self { address: address.clone(), fingerprint, kind, source: None }
    }

    /// The same loss with the field that asks for it: that of an attribute that is lost, else the first that a reason names.
    pub(super) fn asked_by(self, change: &ResourceChange) -> Self {
        let paths: &[Path] = match &self.kind {
            LossKind::KeyReplaced { paths } | LossKind::KeyUnread { paths, .. } => paths,
            _ => &[],
        };
        let is_about = |reason: &&Reason| reason.path.as_ref().is_some_and(|path| paths.contains(path));
        let reasons = || change.reasons.iter().filter(|reason| reason.origin.is_some());
        let reason = reasons().find(is_about).or_else(|| reasons().next());
        Self { source: reason.map(|reason| reason.places().join(", ")), ..self }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(formatter)?;
        match &self.source {
            Some(source) => write!(formatter, " ({source})"),
            None => Ok(()),
        }
    }
}

impl Loss {
    fn describe(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.address)?;
        if let Some(fingerprint) = &self.fingerprint {
            write!(formatter, " holds {fingerprint}")?;
        }
        match &self.kind {
            LossKind::Overwritten { by: Some(by) } => write!(formatter, ", and would be overwritten by {by}"),
            LossKind::Overwritten { by: None } => {
                write!(formatter, ", and would be overwritten by a new one that this plan makes")
            }
            LossKind::Vanished => {
                write!(formatter, " is in the state, its object is gone, and the plan would make another one")
            }
            LossKind::Ambiguous { identities } => {
                let identities: Vec<&str> = identities.iter().map(Identity::as_str).collect();
                write!(formatter, " has several objects ({})", identities.join(", "))
            }
            LossKind::Refused { reason } => write!(formatter, ", and cannot be replaced: {reason}"),
            LossKind::KeyReplaced { paths } => {
                let is_key = |path: &Path| path.to_string().ends_with("key");
                let what = match paths.iter().any(is_key) {
                    true => ("key", "another key"),
                    false => ("settings", "other settings"),
                };
                write!(
                    formatter,
                    " has {}, which cannot be replaced: data encrypted with the previous {} cannot be read with {}; a \
                     rotation in stages does not exist yet",
                    listed(paths, ", "),
                    what.0,
                    what.1
                )
            }
            LossKind::KeyUnread { paths, source, why } => {
                let why = why.clone().unwrap_or_else(|| format!("the secret {source} cannot be read"));
                write!(
                    formatter,
                    " has {}, and it may be another key than the one in use; data cannot be read with another key. \
                     Slipway cannot compare them: {why}",
                    listed(paths, ", ")
                )
            }
        }
    }
}
