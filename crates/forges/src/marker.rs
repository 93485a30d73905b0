//! The hidden line by which a comment is found again.

use serde::{Deserialize, Serialize};
use slipway_resource::Digest;

use crate::model::Revision;

/// How the line begins. Forges do not show comments of HTML.
const BEGIN: &str = "<!-- slipway-review ";
/// How it ends.
const END: &str = " -->";
/// The longest line that is read.
const LONGEST: usize = 2_000;

/// What a comment is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkedPart {
    /// The plan of one cluster.
    Cluster(String),
    /// The specs as a whole, as when they cannot be read.
    Specs,
}

/// What the comment was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// What it is about.
    pub subject: MarkedPart,
    /// The tip of the base branch.
    pub base: Revision,
    /// The head of the pull request.
    pub head: Revision,
    /// The plan; `None` without one.
    pub digest: Option<Digest>,
    /// The generation of the state that the plan was made from.
    pub generation: Option<u64>,
    /// Whether it says that it is out of date.
    pub stale: bool,
}

#[derive(Serialize, Deserialize)]
struct Written {
    subject: MarkedPart,
    base: String,
    head: String,
    digest: Option<Digest>,
    generation: Option<u64>,
    #[serde(default)]
    stale: bool,
}

impl Marker {
    /// The line.
    #[must_use]
    pub fn line(&self) -> String {
        let written = Written {
            subject: self.subject.clone(),
            base: self.base.to_string(),
            head: self.head.to_string(),
            digest: self.digest.clone(),
            generation: self.generation,
            stale: self.stale,
        };
        // A name can neither end the HTML comment nor begin an element.
        let json = serde_json::to_string(&written).unwrap_or_default();
        format!("{BEGIN}{}{END}\n", json.replace('<', "\\u003c").replace('>', "\\u003e"))
    }

    /// The marker in the first line of a comment, and the text below it; `None` for any other comment.
    #[must_use]
    pub fn split(body: &str) -> Option<(Self, &str)> {
        let (line, rest) = body.split_once('\n').unwrap_or((body, ""));
        let json = line.trim_end().strip_prefix(BEGIN)?.strip_suffix(END)?;
        let written: Written = (json.len() <= LONGEST).then(|| serde_json::from_str(json).ok())??;
        let marker = Self {
            subject: written.subject,
            base: Revision::parse(&written.base)?,
            head: Revision::parse(&written.head)?,
            digest: written.digest.filter(|digest| Digest::parse(digest.as_str()).is_some()),
            generation: written.generation,
            stale: written.stale,
        };
        Some((marker, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(name: &str) -> Marker {
        Marker {
            subject: MarkedPart::Cluster(name.to_owned()),
            base: Revision::parse(&"a".repeat(40)).unwrap(),
            head: Revision::parse(&"b".repeat(40)).unwrap(),
            digest: Some(Digest::of_bytes(b"plan")),
            generation: Some(3),
            stale: false,
        }
    }

    #[test]
    fn a_marker_is_found_again_and_hides_any_name() {
        for name in ["prod", "a--b", "x --> <b>@ada</b>"] {
            let line = marker(name).line();
            assert_eq!(line.matches("-->").count(), 1, "{line}");
            assert_eq!(line.matches('<').count(), 1, "{line}");
            let body = format!("{line}text\n");
            let (found, rest) = Marker::split(&body).unwrap();
            assert_eq!((found, rest), (marker(name), "text\n"));
            assert!(Marker::split(&body.replace('\n', "\r\n")).is_some());
        }
    }

    #[test]
    fn other_comments_have_no_marker() {
        let line = marker("prod").line();
        for body in [
            String::new(),
            "text".to_owned(),
            format!("> {line}"),
            format!("\n{line}"),
            line.replace(&"a".repeat(40), "main"),
            line.replace("}", ""),
        ] {
            assert!(Marker::split(&body).is_none(), "{body}");
        }
    }
}
