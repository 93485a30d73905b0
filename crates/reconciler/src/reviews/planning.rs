//! What a merge would do, planned on threads and shown by the desk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use slipway_forges::{Kind, PullRequest, Treatment};
use slipway_operations::Environment;
use slipway_reviews::clusters::{Affected, Reading};
use slipway_reviews::{
    Checkout, Draft, Interrupt, Material, Paths, Rendered, Review, Reviewed, prepare, show,
};
use tokio::time::timeout;

use super::desk::{Failure, Place};
use crate::configuration::PullRequests;
use crate::error::Error;
use crate::source::git::Commits;
use crate::threads::{Lost, Slot};

/// How long the merge of a pull request may take to be made and read.
const LONGEST_READ: Duration = Duration::from_secs(300);

/// How many times the limit of a plan a review may take: it plans all clusters that a pull request changes.
const PLANS: u32 = 5;

/// Fetches, merges, plans and shows a pull request. `None` if this was given up because the controller stops.
pub(super) async fn plan(
    commits: &mut Commits,
    place: &Place<'_>,
    about: &Review<'_>,
    (treatment, settings): (Treatment, &PullRequests),
) -> Result<Option<Reviewed>, Failure> {
    let pull_request = about.pull_request;
    let reference = match place.forge.kind() {
        Kind::GitHub | Kind::Gitea => format!("refs/pull/{}/head", pull_request.number),
        Kind::GitLab => format!("refs/merge-requests/{}/head", pull_request.number),
    };
    tokio::select! {
        biased;
        fetched = commits.fetch(&reference) => fetched?,
        () = place.stop.cancelled() => return Ok(None),
    }
    let mut is_trusted = treatment == Treatment::Trusted;
    for commit in [&pull_request.base, &pull_request.head] {
        // Nothing is trusted that the source would refuse after a merge.
        is_trusted = is_trusted && commits.is_signed(commit.as_str()).await?;
    }
    let paths = Paths {
        files: place.source.paths.iter().map(PathBuf::from).collect(),
        with: settings.with.iter().map(PathBuf::from).collect(),
        bases: place.source.bases.iter().map(PathBuf::from).collect(),
        reading: Reading::Separately,
    };
    let name = format!("pull request {}", pull_request.number);
    let limit = place.source.plan_limit(is_trusted).saturating_mul(PLANS);
    let slots = place.shared.threads(place.source).review;
    let slot = tokio::select! {
        biased;
        slot = slots.take(&name) => slot.ok_or(Error::PlanTimeout { limit })?,
        () = place.stop.cancelled() => return Ok(None),
        () = tokio::time::sleep(limit) => return Err(Error::NoThread { limit }.into()),
    };
    let reading = timeout(LONGEST_READ, read(&slot, commits.path(), (pull_request, &paths)));
    let too_slow = |_| Error::TooSlow { place: commits.url().to_owned(), limit: LONGEST_READ };
    let (_checkout, material) = tokio::select! {
        biased;
        read = reading => read.map_err(too_slow)??,
        () = place.stop.cancelled() => return Ok(None),
    };
    let environment = match is_trusted {
        true => place.shared.environment(place.source, &name),
        false => place.shared.untrusted_environment(&name),
    };
    let work = async {
        let planned = match &material {
            Some(material) => {
                let planned = on_thread(&slot, material, (&paths, &environment)).await?;
                Some((&material.merged, planned))
            }
            None => None,
        };
        let render = async |draft| rendered(&slot, draft).await;
        Ok::<_, Failure>(show(about, planned, environment.policy.is_untrusted(), render).await?)
    };
    let reviewed = tokio::select! {
        biased;
        reviewed = work => Some(reviewed),
        () = place.stop.cancelled() => None,
        () = tokio::time::sleep(limit) => {
            environment.processes.end().await;
            return Err(Error::PlanTimeout { limit }.into());
        }
    };
    environment.processes.end().await;
    let Some(reviewed) = reviewed else { return Ok(None) };
    let reviewed = reviewed?;
    about.catch_up().await?;
    Ok(Some(reviewed))
}

/// Plans the affected clusters on a thread: the specs of a stranger may take long to read, and leases are renewed meanwhile.
async fn on_thread(
    slot: &Slot,
    material: &Arc<Material>,
    (paths, environment): (&Paths, &Environment),
) -> Result<Result<Affected, slipway_reviews::Error>, Failure> {
    let (material, paths, environment) = (material.clone(), paths.clone(), environment.clone());
    let work = move || async move { slipway_reviews::plan(&material, &paths, &environment).await };
    slot.run(work).await.map_err(lost)
}

/// Renders a comment on a thread: the plan of a stranger's spec may be large.
async fn rendered(slot: &Slot, draft: Draft) -> Result<Rendered, slipway_reviews::Error> {
    let rendered = slot.run(move || async move { draft.render() }).await;
    rendered.unwrap_or_else(|lost| Err(without_result(lost)))
}

fn lost(lost: Lost) -> Failure {
    without_result(lost).into()
}

fn without_result(lost: Lost) -> slipway_reviews::Error {
    slipway_operations::Error::internal("a pull request was not read", lost).into()
}

/// Ends calls of git whose caller was dropped.
struct Interrupts(Interrupt);

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.0.raise();
    }
}

/// Reads both sides of a merge on a thread. The files exist as long as the checkout.
async fn read(
    slot: &Slot,
    repository: &Path,
    (pull_request, paths): (&PullRequest, &Paths),
) -> Result<(Checkout, Option<Arc<Material>>), Failure> {
    let (repository, pull_request, paths) = (repository.to_owned(), pull_request.clone(), paths.all());
    let interrupt = Interrupt::default();
    let _interrupts = Interrupts(interrupt.clone());
    let prepared = slot.run(move || async move {
        let checkout = Checkout::open_private(&repository, &interrupt)?;
        let material = prepare(&checkout, &pull_request, &paths)?;
        Ok::<_, slipway_reviews::Error>((checkout, material.map(Arc::new)))
    });
    Ok(prepared.await.map_err(lost)??)
}
