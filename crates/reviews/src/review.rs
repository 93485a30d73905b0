//! The review of one pull request, from its files to its comments.

use slipway_forges::{StatusState, report};
use slipway_operations::Environment;

use crate::checkout::Extracted;
use crate::clusters::{self, Affected, Finding, Paths};
use crate::draft::{Draft, Rendered};
use crate::error::Error;
use crate::material::Material;
use crate::posting::Review;

/// What a review has shown.
#[derive(Debug, Default)]
pub struct Reviewed {
    /// The affected clusters with the sentences of their statuses, in the order of their names.
    pub clusters: Vec<(String, String)>,
    /// Remarks about the specs, for the person who runs the review.
    pub remarks: String,
    /// Why there is no plan of a cluster, or of any.
    pub problem: Option<String>,
}

/// Plans and shows all affected clusters. Without material, the pull request has conflicts with its base branch.
///
/// # Errors
/// As [`show`].
pub async fn review(
    review: &Review<'_>,
    material: Option<&Material>,
    paths: &Paths,
    environment: &Environment,
) -> Result<Reviewed, Error> {
    let planned = match material {
        Some(material) => Some((&material.merged, plan(material, paths, environment).await)),
        None => None,
    };
    show(review, planned, environment.policy.is_untrusted(), async |draft| draft.render()).await
}

/// Plans all clusters that a merge affects. It calls no forge, so it may run on another thread than [`show`].
///
/// # Errors
/// When the specs cannot be read after the merge.
pub async fn plan(material: &Material, paths: &Paths, environment: &Environment) -> Result<Affected, Error> {
    let Material { before, merged, changed } = material;
    clusters::plan(environment, paths, (before, merged), changed).await
}

/// Shows what a merge would do: the files after it, and the plans of all affected clusters. Without them, the pull request has
/// conflicts with its base branch. `render` renders the comments of plans, by [`Draft::render`].
///
/// # Errors
/// When the forge or the state store refuses, or `render` fails. Whatever is wrong with specs and plans is shown on the pull request
/// instead.
pub async fn show(
    review: &Review<'_>,
    planned: Option<(&Extracted, Result<Affected, Error>)>,
    untrusted: bool,
    render: impl AsyncFn(Draft) -> Result<Rendered, Error>,
) -> Result<Reviewed, Error> {
    let problem = |sentence: &str| Reviewed { problem: Some(sentence.to_owned()), ..Reviewed::default() };
    let Some((merged, planned)) = planned else {
        let sentence = "The pull request cannot be merged: it has conflicts with its base branch.";
        review.problem(sentence, "").await?;
        return Ok(problem(sentence));
    };
    let planned = match planned {
        Ok(planned) => planned,
        Err(error) => {
            let sentence = "The specs cannot be read after a merge. Nothing was planned.";
            review.problem(sentence, &merged.without_place(&error.plain())).await?;
            return Ok(problem(sentence));
        }
    };
    review.resolved().await?;
    let mut reviewed = Reviewed { remarks: merged.without_place(&planned.remarks), ..Reviewed::default() };
    let mut states = Vec::new();
    for (cluster, finding) in &planned.findings {
        let status = review.cluster((cluster.as_str(), finding), untrusted, merged, &render).await?;
        if matches!(finding, Finding::Failed(_)) {
            reviewed.problem.get_or_insert_with(|| format!("{cluster}: {}", status.description));
        }
        states.push(status.state);
        reviewed.clusters.push((cluster.clone(), status.description));
    }
    review.unaffected(&planned.findings).await?;
    review.set(&report::overall(&states, review.page)).await?;
    Ok(reviewed)
}

impl Review<'_> {
    /// Marks the comments as out of date if the pull request moved while it was planned. Returns whether it moved.
    ///
    /// # Errors
    /// When the forge refuses.
    pub async fn catch_up(&self) -> Result<bool, Error> {
        let now = self.forge.pull_request(self.pull_request.number).await?;
        if now.head == self.pull_request.head && now.base == self.pull_request.base {
            return Ok(false);
        }
        self.outdated(&now).await?;
        self.overall(StatusState::Pending, "out of date: the pull request moved during the review").await?;
        Ok(true)
    }
}
