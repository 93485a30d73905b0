//! Marks comments as out of date, without planning anything.

use std::collections::BTreeMap;
use std::process::ExitCode;

use slipway_forges::{Forge, StatusState, Subject, report, sticky};
use slipway_operations::state;

use crate::error::CommandError;
use crate::program::Context;

/// Marks our comments on all open pull requests whose base branch, head or state moved on since.
pub(super) async fn mark(
    context: &Context,
    forge: &dyn Forge,
    (own, page): (&str, Option<&str>),
) -> Result<ExitCode, CommandError> {
    let backend = context.backend()?;
    let mut generations: BTreeMap<String, Option<u64>> = BTreeMap::new();
    let mut marked = 0;
    for pull_request in forge.open_pull_requests().await? {
        let comments = forge.comments(pull_request.number).await?;
        for (_, marker) in sticky::ours(&comments, own) {
            if let Subject::Cluster(name) = marker.subject
                && !generations.contains_key(&name)
            {
                let generation = state::generation(&*backend, &name).await?;
                generations.insert(name, generation);
            }
        }
        let generation = |name: &str| generations.get(name).copied().flatten();
        let now = (&pull_request.base, &pull_request.head);
        let count =
            sticky::mark_stale(forge, pull_request.number, (&comments, own), now, &generation).await?;
        if count > 0 {
            let sentence = "out of date: the base or the state moved on";
            let status = report::status(&Subject::Specs, StatusState::Pending, sentence, page);
            forge.set_status(&pull_request.head, &status).await?;
            marked += count;
        }
    }
    let noun = if marked == 1 { "comment was" } else { "comments were" };
    context.output.outcome(&format!("{marked} {noun} marked as out of date."))?;
    Ok(ExitCode::SUCCESS)
}
