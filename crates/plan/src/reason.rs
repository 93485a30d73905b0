//! Why a change is planned, as a chain of causes.

use serde::{Deserialize, Serialize};
use slipway_resource::{Address, Path};

/// A reason, and its causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// The kind of reason.
    pub code: ReasonCode,
    /// A sentence for people.
    pub message: String,
    /// The attribute that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// The field of the spec that it comes from, as `pools[workers].image`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The position of that field, as `a.yaml:14:11`. The path of the file is relative to the deepest folder
    /// that has all files of the spec, so that a plan does not depend on how and from where the files were
    /// named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The same with the file as the caller named it, for people. It is no part of the plan.
    #[serde(skip)]
    pub shown: Option<String>,
    /// The other resource whose change is the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because_of: Option<Address>,
    /// Its causes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Reason>,
}

/// The position of a field of the spec in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// As a plan keeps it; see [`Reason::location`].
    pub location: String,
    /// As people know it; see [`Reason::shown`].
    pub shown: String,
}

/// The kinds of reasons. Readers must bear with ones they do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonCode {
    /// The spec asks for it and it does not exist.
    Wanted,
    /// The state knows it, the cloud has lost it.
    Vanished,
    /// The spec's field has another value than the object.
    FieldChanged,
    /// The object's field was changed behind Slipway's back.
    FieldDrifted,
    /// The spec's field is gone.
    FieldRemoved,
    /// The changed attribute cannot be changed in place.
    CannotUpdateInPlace,
    /// A resource that it refers to gives way to a new one.
    ReferenceReplaced,
    /// Others refer to it and cannot let go of it before its replacement is there.
    HeldByOthers,
    /// The user asked for the replacement.
    Requested,
    /// The spec does not have it any more.
    NotWanted,
    /// The whole cluster is deleted.
    ClusterDeleted,
    /// There is more than one object of the address.
    Duplicate,
    /// A replacement of an earlier run left it.
    Deposed,
    /// It carries the cluster's ownership and the state does not know it.
    Unrecorded,
    /// It has another address now.
    Renamed,
    /// The spec says otherwise whether it is protected or kept.
    LifecycleChanged,
    /// It could not be read.
    Unreadable,
    /// It depends on a resource that could not be read.
    BehindUnreadable,
    /// The provider says so.
    Provider,
    /// It is kept although the spec does not have it any more.
    Retained,
    /// Its machines are removed without a drain.
    NotDrained,
    /// An earlier run has cordoned a node of it, and the machine stays.
    LeftCordoned,
}

impl Reason {
    /// A reason with its sentence.
    #[must_use]
    pub fn new(code: ReasonCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            path: None,
            origin: None,
            location: None,
            shown: None,
            because_of: None,
            causes: Vec::new(),
        }
    }

    /// The field of the spec that it comes from and the place of that field, for people; those of them that are known.
    #[must_use]
    pub fn places(&self) -> Vec<&str> {
        let place = if self.shown.is_some() { &self.shown } else { &self.location };
        [&self.origin, place].into_iter().flatten().map(String::as_str).collect()
    }

    /// The same reason with the place of the field that it comes from.
    pub(crate) fn located(mut self, place: Option<Located>) -> Self {
        let (location, shown) = place.map(|place| (place.location, place.shown)).unzip();
        self.location = location;
        self.shown = shown;
        self
    }

    /// The same reason about an attribute.
    #[must_use]
    pub fn at(mut self, path: &Path) -> Self {
        self.path = Some(path.clone());
        self
    }
}
