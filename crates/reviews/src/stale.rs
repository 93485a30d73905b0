//! Marks comments as out of date, without planning anything.

use std::collections::BTreeMap;

use slipway_forges::{Comment, Forge, MarkedPart, PullRequest, StatusState, report, sticky};
use slipway_operations::state;
use slipway_state_store::Backend;

use crate::error::Error;

/// The generations of the states of clusters, each read once.
#[derive(Debug, Default)]
pub struct Generations(BTreeMap<String, Option<u64>>);

/// Marks our comments on all open pull requests whose base branch, head or state moved on since. Returns how many were
/// marked.
///
/// # Errors
/// When the forge or the state store refuses.
pub async fn mark_all(
    forge: &dyn Forge,
    backend: &dyn Backend,
    (own, page): (&str, Option<&str>),
) -> Result<usize, Error> {
    let mut generations = Generations::default();
    let mut marked = 0;
    for pull_request in forge.open_pull_requests().await? {
        let comments = forge.comments(pull_request.number).await?;
        let known = (&pull_request, &*comments);
        marked += mark(forge, backend, known, &mut generations, (own, page)).await?;
    }
    Ok(marked)
}

/// Marks our comments on one pull request, as [`mark_all`] does.
///
/// # Errors
/// When the forge or the state store refuses.
pub async fn mark(
    forge: &dyn Forge,
    backend: &dyn Backend,
    (pull_request, comments): (&PullRequest, &[Comment]),
    Generations(generations): &mut Generations,
    (own, page): (&str, Option<&str>),
) -> Result<usize, Error> {
    for (_, marker) in sticky::ours(comments, own) {
        if let MarkedPart::Cluster(name) = marker.subject
            && !generations.contains_key(&name)
        {
            let generation = state::generation(backend, &name).await?;
            generations.insert(name, generation);
        }
    }
    let generation = |name: &str| generations.get(name).copied().flatten();
    let now = (&pull_request.base, &pull_request.head);
    let count = sticky::mark_stale(forge, pull_request.number, (comments, own), now, &generation).await?;
    if count > 0 {
        let sentence = "out of date: the base or the state moved on";
        let status = report::status(&MarkedPart::Specs, StatusState::Pending, sentence, page);
        forge.set_status(&pull_request.head, &status).await?;
    }
    Ok(count)
}
