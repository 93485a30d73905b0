//! One comment for each subject, found again and updated in place.

use crate::comment;
use crate::error::Error;
use crate::forge::Forge;
use crate::marker::{MarkedPart, Marker};
use crate::model::{Comment, CommentId, Revision};

/// Our comment about a subject, with what it was made from. Comments of other users are never taken for it.
#[must_use]
pub fn find<'a>(comments: &'a [Comment], own: &str, subject: &MarkedPart) -> Option<(&'a Comment, Marker)> {
    ours(comments, own).find(|(_, marker)| marker.subject == *subject)
}

/// All our comments, the earliest first.
pub fn ours<'a>(comments: &'a [Comment], own: &str) -> impl Iterator<Item = (&'a Comment, Marker)> {
    let by_us = comments.iter().filter(move |comment| !comment.author.is_empty() && comment.author == own);
    by_us.filter_map(|comment| Some((comment, Marker::split(&comment.body)?.0)))
}

/// Writes the comment about a subject, or updates the one that is there. Nothing is sent when it is as it should be.
///
/// # Errors
/// When the forge refuses it.
pub async fn post(
    forge: &dyn Forge,
    number: u64,
    (comments, own): (&[Comment], &str),
    (subject, body): (&MarkedPart, &str),
) -> Result<CommentId, Error> {
    match find(comments, own, subject) {
        None => forge.create_comment(number, body).await,
        Some((known, _)) => {
            // Forges may change line ends, and the white space at the end.
            if known.body.replace("\r\n", "\n").trim_end() != body.trim_end() {
                forge.update_comment(number, known.id, body).await?;
            }
            Ok(known.id)
        }
    }
}

/// Marks our comments as out of date whose plan was made from another revision or another state. `generation` knows the
/// current generation of a cluster's state. Returns how many were marked.
///
/// # Errors
/// When the forge refuses it.
pub async fn mark_stale(
    forge: &dyn Forge,
    number: u64,
    (comments, own): (&[Comment], &str),
    (base, head): (&Revision, &Revision),
    generation: &(dyn Fn(&str) -> Option<u64> + Sync),
) -> Result<usize, Error> {
    let mut marked = 0;
    for (comment, marker) in ours(comments, own) {
        let Some(reason) = outdated(&marker, base, head, generation) else { continue };
        if let Some(body) = comment::stale(&comment.body, &reason) {
            forge.update_comment(number, comment.id, &body).await?;
            marked += 1;
        }
    }
    Ok(marked)
}

/// Why a comment is out of date; `None` for one that is not.
#[must_use]
pub fn outdated(
    marker: &Marker,
    base: &Revision,
    head: &Revision,
    generation: &(dyn Fn(&str) -> Option<u64> + Sync),
) -> Option<String> {
    if marker.head != *head {
        return Some(format!("the head moved from {} to {}", marker.head.short(), head.short()));
    }
    if marker.base != *base {
        return Some(format!("the base branch moved from {} to {}", marker.base.short(), base.short()));
    }
    let (MarkedPart::Cluster(cluster), Some(then)) = (&marker.subject, marker.generation) else {
        return None;
    };
    let now = generation(cluster)?;
    (now != then).then(|| format!("the state moved from generation {then} to {now}"))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn revision(digit: &str) -> Revision {
        Revision::parse(&digit.repeat(40)).unwrap()
    }

    fn marker(cluster: &str) -> Marker {
        Marker {
            subject: MarkedPart::Cluster(cluster.to_owned()),
            base: revision("a"),
            head: revision("b"),
            digest: None,
            generation: Some(3),
            stale: false,
        }
    }

    #[test]
    fn only_our_own_comment_is_found() {
        let comment = |id, author: &str, body: String| Comment {
            id: CommentId(id),
            author: author.to_owned(),
            body,
            created: Timestamp::UNIX_EPOCH,
            updated: Timestamp::UNIX_EPOCH,
        };
        let comments = [
            comment(1, "eve", marker("prod").line()),
            comment(2, "", marker("prod").line()),
            comment(3, "bot", marker("test").line()),
            comment(4, "bot", format!("> {}", marker("prod").line())),
            comment(5, "bot", marker("prod").line()),
            comment(6, "bot", marker("prod").line()),
        ];
        let found = |own: &str, cluster: &str| {
            find(&comments, own, &MarkedPart::Cluster(cluster.to_owned())).map(|(comment, _)| comment.id.0)
        };
        assert_eq!(found("bot", "prod"), Some(5));
        assert_eq!(found("bot", "test"), Some(3));
        assert_eq!(found("bot", "dev"), None);
        assert_eq!(found("", "prod"), None, "a deleted user is nobody");
    }

    #[test]
    fn a_comment_is_outdated_when_anything_moved() {
        let reason = |base: &str, head: &str, now: Option<u64>| {
            outdated(&marker("prod"), &revision(base), &revision(head), &|_| now).unwrap_or_default()
        };
        assert_eq!(reason("a", "b", Some(3)), "");
        assert_eq!(reason("a", "b", None), "");
        assert!(reason("c", "b", Some(3)).starts_with("the base branch moved from aaaaaaaaaaaa"));
        assert!(reason("a", "c", Some(3)).starts_with("the head moved"));
        assert_eq!(reason("a", "b", Some(4)), "the state moved from generation 3 to 4");
    }
}
