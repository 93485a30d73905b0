//! `slipway review`

mod checkout;
mod clusters;
mod connection;
mod posting;
mod stale;

use std::process::ExitCode;

use slipway_forges::{PullRequest, StatusState, Treatment, report};
use slipway_operations::Environment;

use crate::cli::review::ReviewArguments;
use crate::error::CommandError;
use crate::program::Context;
use checkout::{Checkout, Merge};
use clusters::Finding;
use posting::Review;

/// Plans what a merge would make of the specs, and shows it on the pull request.
pub(crate) async fn run(context: &Context, arguments: &ReviewArguments) -> Result<ExitCode, CommandError> {
    let (forge, host) = connection::forge(&arguments.forge)?;
    let own = forge.own_user().await?;
    let Some(number) = arguments.pull_request else {
        return stale::mark(context, &*forge, (&own, arguments.forge.page.as_deref())).await;
    };
    let pull_request = forge.pull_request(number).await?;
    if !pull_request.open {
        context.output.message(&format!("Pull request {number} is closed; there is nothing to review."));
        return Ok(ExitCode::SUCCESS);
    }
    let checkout = Checkout::open(&arguments.checkout)?;
    let policy = connection::policy(&checkout, &pull_request, arguments.policy.as_deref())?;
    let comments = forge.comments(number).await?;
    let (reviews, statuses) = match policy.approvals.needed {
        0 => (Vec::new(), Vec::new()),
        _ => (forge.reviews(number).await?, forge.statuses(&pull_request.head).await?),
    };
    let review = Review {
        context,
        forge: &*forge,
        own: &own,
        host: &host,
        page: arguments.forge.page.as_deref(),
        pull_request: &pull_request,
        comments: &comments,
        reviews: &reviews,
        statuses: &statuses,
        policy: &policy,
    };
    let environment = match policy.treatment(&pull_request) {
        Treatment::Refused(reason) => {
            review.overall(StatusState::Pending, &format!("not planned: {reason}")).await?;
            context.output.outcome(&format!("Pull request {number} is not planned: {reason}."))?;
            return Ok(ExitCode::SUCCESS);
        }
        Treatment::Untrusted => context.untrusted_environment(),
        Treatment::Trusted => context.environment(),
    };
    let done = match environment {
        Ok(environment) => planned(&review, &checkout, arguments, &environment).await,
        Err(error) => Err(error),
    };
    if let Err(error) = &done {
        // Whatever fails, no older status stays as if it were about this commit.
        let code = error.code().map(|code| format!(" ({code})")).unwrap_or_default();
        review.overall(StatusState::Failure, &format!("the review failed{code}; see its job")).await?;
    }
    let sound = done?;
    catch_up(&review).await?;
    Ok(super::done(sound))
}

/// Plans and shows all affected clusters. Returns whether all could be planned.
async fn planned(
    review: &Review<'_>,
    checkout: &Checkout,
    arguments: &ReviewArguments,
    environment: &Environment,
) -> Result<bool, CommandError> {
    let PullRequest { base, head, .. } = review.pull_request;
    review.overall(StatusState::Pending, "the review is running").await?;
    let tree = match checkout.merge(base, head)? {
        Merge::Tree(tree) => tree,
        Merge::Conflict => {
            review
                .problem("The pull request cannot be merged: it has conflicts with its base branch.", "")
                .await?;
            return Ok(false);
        }
    };
    let changed = checkout.changed(base, &tree)?;
    let paths: Vec<_> = arguments.files.iter().chain(&arguments.with).cloned().collect();
    let merged = checkout.extract(&tree, &paths)?;
    let before = checkout.extract(base.as_str(), &paths)?;
    let output = review.context.output;
    let findings =
        match clusters::plan((environment, output), &arguments.files, (&before, &merged), &changed).await {
            Ok(findings) => findings,
            Err(error) => {
                let text = merged.without_place(&error.plain());
                review.problem("The specs cannot be read after a merge. Nothing was planned.", &text).await?;
                return Ok(false);
            }
        };
    review.resolved().await?;
    let mut states = Vec::new();
    let untrusted = environment.policy.is_untrusted();
    for (cluster, finding) in &findings {
        let backend = environment.store.as_ref().map(|store| store.backend.clone());
        let backend = backend.filter(|_| arguments.record_approvals && !untrusted);
        states.push(review.cluster(cluster, finding, (untrusted, backend), &merged).await?);
    }
    review.unaffected(&findings).await?;
    review.forge.set_status(head, &report::overall(&states, review.page)).await?;
    Ok(!findings.iter().any(|(_, finding)| matches!(finding, Finding::Failed(_))))
}

/// Marks the comments as out of date if the pull request moved while it was planned.
async fn catch_up(review: &Review<'_>) -> Result<(), CommandError> {
    let now = review.forge.pull_request(review.pull_request.number).await?;
    if now.head == review.pull_request.head && now.base == review.pull_request.base {
        return Ok(());
    }
    review.outdated(&now).await?;
    review.overall(StatusState::Pending, "out of date: the pull request moved during the review").await?;
    review.context.output.message("The pull request moved during the review; review it again.");
    Ok(())
}
