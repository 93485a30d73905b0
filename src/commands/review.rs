//! `slipway review`

mod connection;

use std::process::ExitCode;

use slipway_forges::{StatusState, Treatment};
use slipway_operations::Environment;
use slipway_reviews::clusters::Reading;
use slipway_reviews::posting::Sent;
use slipway_reviews::{Checkout, Paths, Review, prepare, review, stale};

use crate::cli::review::ReviewArguments;
use crate::error::CommandError;
use crate::program::Context;

/// Plans what a merge would make of the specs, and shows it on the pull request.
pub(crate) async fn run(context: &Context, arguments: &ReviewArguments) -> Result<ExitCode, CommandError> {
    let (forge, host) = connection::forge(&arguments.forge)?;
    let own = forge.own_user().await?;
    let page = arguments.forge.page.as_deref();
    let Some(number) = arguments.pull_request else {
        let backend = context.backend()?;
        let marked = stale::mark_all(&*forge, &*backend, (&own, page)).await?;
        let noun = if marked == 1 { "comment was" } else { "comments were" };
        context.output.outcome(&format!("{marked} {noun} marked as out of date."))?;
        return Ok(ExitCode::SUCCESS);
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
    let mut review = Review {
        forge: &*forge,
        own: &own,
        host: &host,
        page,
        pull_request: &pull_request,
        comments: &comments,
        reviews: &reviews,
        statuses: &statuses,
        approvals: &|_| policy.approvals.clone(),
        record: None,
        skips_same: false,
        sent: Sent::default(),
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
        Ok(environment) => {
            let backend = environment.store.as_ref().map(|store| store.backend.clone());
            review.record = backend.filter(|_| arguments.record_approvals);
            planned(context, &review, &checkout, arguments, &environment).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = &done {
        // Whatever fails, no older status stays as if it were about this commit.
        let code = error.code().map(|code| format!(" ({code})")).unwrap_or_default();
        review.overall(StatusState::Failure, &format!("the review failed{code}; see its job")).await?;
    }
    let sound = done?;
    if review.catch_up().await? {
        context.output.message("The pull request moved during the review; review it again.");
    }
    Ok(super::done(sound))
}

/// Plans and shows all affected clusters. Returns whether all could be planned.
async fn planned(
    context: &Context,
    about: &Review<'_>,
    checkout: &Checkout,
    arguments: &ReviewArguments,
    environment: &Environment,
) -> Result<bool, CommandError> {
    about.overall(StatusState::Pending, "the review is running").await?;
    let paths = Paths {
        files: arguments.files.clone(),
        with: arguments.with.clone(),
        bases: Vec::new(),
        reading: Reading::Together,
    };
    let material = prepare(checkout, about.pull_request, &paths.all())?;
    let reviewed = review(about, material.as_ref(), &paths, environment).await?;
    if !reviewed.remarks.is_empty() {
        context.output.message(&reviewed.remarks);
    }
    for (cluster, sentence) in &reviewed.clusters {
        context.output.outcome(&format!("{cluster}: {sentence}"))?;
    }
    match &reviewed.problem {
        Some(sentence) if reviewed.clusters.is_empty() => context.output.outcome(sentence)?,
        _ => {}
    }
    Ok(reviewed.problem.is_none())
}
