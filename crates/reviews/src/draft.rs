//! The comment and the status of a cluster with a plan, before they are rendered.

use std::sync::Arc;

use slipway_forges::approvals::Outcome;
use slipway_forges::comment::Preview;
use slipway_forges::{PullRequest, Status, report};
use slipway_plan::Plan;

use crate::error::Error;

/// What the comment and the status of a cluster with a plan are rendered from. Rendering sends no requests. It may take long, so that a
/// controller renders on another thread than it waits for the forge.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(crate) pull_request: PullRequest,
    /// The plan after the merge.
    pub(crate) plan: Arc<Plan>,
    /// The plan of the base branch as it is.
    pub(crate) before: Option<Arc<Plan>>,
    /// What the specs hide or allow after the merge, and not before: lines of markdown.
    pub(crate) weakened: Vec<String>,
    pub(crate) untrusted: bool,
    pub(crate) approvals: Outcome,
    /// Whether reviews can approve on this forge, beside comments.
    pub(crate) by_review: bool,
    /// The page that the status links to.
    pub(crate) page: Option<String>,
    /// The length of a comment in bytes.
    pub(crate) limit: usize,
}

/// A comment and a status.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The comment, in markdown.
    pub comment: String,
    /// The status.
    pub status: Status,
}

impl Draft {
    /// Renders the comment and the status.
    ///
    /// # Errors
    /// When the digest of the plan cannot be computed.
    pub fn render(&self) -> Result<Rendered, Error> {
        let preview = Preview {
            pull_request: &self.pull_request,
            plan: &self.plan,
            before: self.before.as_deref(),
            weakened: &self.weakened,
            untrusted: self.untrusted,
            approvals: &self.approvals,
            by_review: self.by_review,
        };
        let status = report::of_plan(&self.plan, self.weakened.len(), &self.approvals, self.page.as_deref())?;
        Ok(Rendered { comment: preview.render(self.limit)?, status })
    }
}
