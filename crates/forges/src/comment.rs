//! The plan of a pull request as a comment.
//!
//! Texts of specs, providers and forges appear in code spans and fenced blocks only, so they cannot act as markdown, HTML,
//! links, mentions or quick actions.

mod before;

use slipway_plan::Plan;
use slipway_plan::render::{code, markdown, quoted};
use slipway_resource::Digest;

use crate::approvals::{COMMAND, Outcome};
use crate::error::Error;
use crate::marker::{MarkedPart, Marker};
use crate::model::PullRequest;

/// How a comment begins that is out of date.
const STALE: &str = "> **Out of date:** ";
/// Settings that are listed.
const SETTINGS: usize = 20;
/// Rows of a table of people.
const PEOPLE: usize = 20;
/// The smallest part of a comment that is left to the plan.
const LEAST: usize = 4_000;

/// What a comment shows.
#[derive(Clone, Copy, Debug)]
pub struct Preview<'a> {
    /// The pull request.
    pub pull_request: &'a PullRequest,
    /// The plan of what a merge would make of the specs.
    pub plan: &'a Plan,
    /// The plan of the base branch alone; `None` where its specs do not have the cluster, or cannot be planned.
    pub before: Option<&'a Plan>,
    /// What the specs hide or allow after a merge that they do not before, such as changes that no plan shows any more. Each is a
    /// line of markdown of ours.
    pub weakened: &'a [String],
    /// Whether the specs were untrusted when the plan was made.
    pub untrusted: bool,
    /// The approvals.
    pub approvals: &'a Outcome,
    /// Whether reviews can approve on this forge, beside comments.
    pub by_review: bool,
}

impl Preview<'_> {
    /// The comment, in at most `limit` bytes. Harmless parts are shortened first. Dangerous changes are in the comment one by
    /// one, or counted by type when there are too many; they are never folded away.
    ///
    /// # Errors
    /// When the digest of the plan cannot be computed.
    pub fn render(&self, limit: usize) -> Result<String, Error> {
        let digest = self.plan.digest().map_err(Error::Plan)?;
        let marker = Marker {
            subject: MarkedPart::Cluster(self.plan.cluster.clone()),
            base: self.pull_request.base.clone(),
            head: self.pull_request.head.clone(),
            digest: Some(digest.clone()),
            generation: self.plan.binding.generation,
            stale: false,
        };
        let frame = [self.approvals(&digest), self.foot()].concat();
        let weakened = self.weakened();
        let room = limit.saturating_sub(marker.line().len() + weakened.len() + frame.len() + 4);
        let before = before::section(self.plan, self.before, &self.pull_request.base_branch);
        // The list of what is pending anyway is harmless: it is left out before anything of the plan is.
        let before = if before.full.len() + LEAST <= room / 2 { before.full } else { before.short };
        let plan = markdown(self.plan, room.saturating_sub(before.len()));
        Ok(format!("{}{weakened}{plan}\n{before}{frame}", marker.line()))
    }

    /// The section about settings that hide or allow changes. It is above the plan, which may have no changes.
    fn weakened(&self) -> String {
        if self.weakened.is_empty() {
            return String::new();
        }
        let mut text = "#### Settings that hide or allow changes\n\n".to_owned();
        text.extend(self.weakened.iter().take(SETTINGS).map(|line| format!("- {line}\n")));
        if let Some(more) = self.weakened.len().checked_sub(SETTINGS).filter(|more| *more > 0) {
            text.push_str(&format!("- … and {more} more\n"));
        }
        text + "\n"
    }

    /// Who approved, who tried to, and how to approve. Nothing where no approval is needed.
    fn approvals(&self, digest: &Digest) -> String {
        let Outcome { needed, given, refused, .. } = self.approvals;
        if *needed == 0 || self.plan.is_empty() && self.weakened.is_empty() {
            return String::new();
        }
        let mut text = format!("\n#### Approvals: {} of {needed}\n\n", given.len());
        if !given.is_empty() || !refused.is_empty() {
            text.push_str("| Person | Approval |\n| --- | --- |\n");
        }
        for approval in given.iter().take(PEOPLE) {
            text.push_str(&format!("| {} | counts, {:.0} |\n", code(&approval.person), approval.at));
        }
        for attempt in refused.iter().take(PEOPLE) {
            text.push_str(&format!(
                "| {} | refused: {} |\n",
                code(&attempt.person),
                attempt.reason.sentence()
            ));
        }
        let more = given.len().saturating_sub(PEOPLE) + refused.len().saturating_sub(PEOPLE);
        if more > 0 {
            text.push_str(&format!("| … and {more} more | |\n"));
        }
        let how = if self.by_review { "a review, or with a comment" } else { "a comment" };
        text.push_str(&format!("\nApprove exactly this plan with {how} whose first line is:\n\n"));
        text.push_str(&quoted(&format!("{COMMAND} {digest}")));
        text
    }

    fn foot(&self) -> String {
        let untrusted = if self.untrusted {
            "\nMade as of untrusted specs: it opens nothing that they name outside of their folder, and assumes that secrets \
             have not changed.\n"
        } else {
            ""
        };
        format!("{untrusted}\n{}", revisions(self.pull_request))
    }
}

/// What the comment was made from.
fn revisions(pull_request: &PullRequest) -> String {
    format!(
        "Base {} at `{}`, head `{}`.\n",
        code(&pull_request.base_branch),
        pull_request.base.short(),
        pull_request.head.short()
    )
}

/// A comment without a plan: a sentence of ours, and a text of others below it, such as the problems of the specs.
#[must_use]
pub fn without_plan(
    subject: &MarkedPart,
    pull_request: &PullRequest,
    (sentence, text): (&str, &str),
    limit: usize,
) -> String {
    let marker = Marker {
        subject: subject.clone(),
        base: pull_request.base.clone(),
        head: pull_request.head.clone(),
        digest: None,
        generation: None,
        stale: false,
    };
    let title = match subject {
        MarkedPart::Cluster(name) => format!("### {}", code(name)),
        MarkedPart::Specs => "### Slipway".to_owned(),
    };
    let foot = revisions(pull_request);
    let head = format!("{}{title}\n\n{sentence}\n\n", marker.line());
    let mut room = limit.saturating_sub(head.len() + foot.len() + 1);
    if text.is_empty() {
        return format!("{head}{foot}");
    }
    let mut end = text.len();
    loop {
        let cut = text.get(..end).unwrap_or_default();
        let note = if end < text.len() { "\nThe rest is left out for its length.\n" } else { "" };
        let shown = format!("{}{note}", quoted(cut));
        if shown.len() <= room || end == 0 {
            return format!("{head}{shown}\n{foot}");
        }
        // Escapes make a text longer; each round leaves out at least what is too much.
        end = text.floor_char_boundary(end.saturating_sub((shown.len() - room).max(64)));
        room = room.max(1);
    }
}

/// A comment marked as out of date; `None` for one that is marked already, or that is none of ours.
#[must_use]
pub fn stale(body: &str, reason: &str) -> Option<String> {
    let (marker, rest) = Marker::split(body)?;
    if marker.stale {
        return None;
    }
    let marker = Marker { stale: true, ..marker };
    let sentence = format!("{STALE}{reason}. A merge would do something else than this plan.\n\n");
    // The room for this is kept by the limit of a comment, which is below that of the forge.
    Some(format!("{}{sentence}{}", marker.line(), rest.replace("\r\n", "\n")))
}

#[cfg(test)]
mod tests;
