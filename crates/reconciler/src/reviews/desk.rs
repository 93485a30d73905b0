//! The reviews of the pull requests of one source.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use slipway_forges::{
    ApprovalPolicy, Comment, Connection, Forge, Policy, Posted, PullRequest, StatusState, Token, Treatment,
    connect,
};
use slipway_limits::{count, file, size};
use slipway_reviews::posting::Sent;
use slipway_reviews::stale::{self, Generations};
use slipway_reviews::{Review, Reviewed};
use slipway_state_store::Digest;
use tokio_util::sync::CancellationToken;

use super::evidence::{Answered, Attempts, Basis};
use super::planning::plan;
use super::{Looked, Wanted};
use crate::configuration::{PullRequests, Source};
use crate::error::Error;
use crate::metrics::outcome;
use crate::shared::Shared;
use crate::source::git::Commits;
use crate::status::Problem;

/// How long a call waits in all when the forge's rate limit is used up. Longer waits are made between looks.
const PATIENCE: Duration = Duration::from_secs(5);

/// The reviews of the pull requests of one source. What it knows is lost with the process: then every open pull request is
/// planned once more, and nothing is written that is written already.
#[derive(Debug)]
pub(crate) struct Desk {
    settings: PullRequests,
    commits: Commits,
    /// The login of the token's user, with the digest of the token.
    own: Option<(Digest, String)>,
    known: BTreeMap<u64, Known>,
}

/// What is known about an open pull request.
#[derive(Debug, Default)]
struct Known {
    /// What the last review was made from.
    reviewed: Option<Basis>,
    /// Whose attempts to approve were answered although the policy does not name them.
    answered: Answered,
    /// How often in a row a review failed.
    failures: u32,
    /// The problem that was logged last.
    problem: Option<Problem>,
}

/// What all reviews of one look share.
pub(super) struct Place<'a> {
    pub(super) shared: &'a Shared,
    pub(super) source: &'a Source,
    pub(super) forge: &'a dyn Forge,
    own: &'a str,
    host: &'a str,
    page: Option<&'a str>,
    pub(super) stop: &'a CancellationToken,
}

impl Place<'_> {
    /// A review of a pull request with what the forge has of it: comments, reviews, and statuses of its head.
    fn review<'r>(
        &'r self,
        pull_request: &'r PullRequest,
        (comments, reviews, statuses): (&'r [Comment], &'r [slipway_forges::Review], &'r [Posted]),
        approvals: &'r (dyn Fn(&str) -> ApprovalPolicy + Sync),
    ) -> Review<'r> {
        Review {
            forge: self.forge,
            own: self.own,
            host: self.host,
            page: self.page,
            pull_request,
            comments,
            reviews,
            statuses,
            approvals,
            record: Some(self.shared.backend.clone()),
            skips_same: true,
            sent: Sent::default(),
        }
    }
}

impl Desk {
    /// The reviews of a source, which keeps the commits in its data folder; `None` for a source without them.
    pub fn new(source: &Source, data: &Path) -> Option<Box<Self>> {
        let (settings, git) = (source.pull_requests.clone()?, source.git.as_ref()?);
        let commits = Commits::new(git, &data.join(&source.name).join("reviews"));
        Some(Box::new(Self { settings, commits, own: None, known: BTreeMap::new() }))
    }

    /// Looks at pull requests, one after the other. A problem of one does not keep the others.
    pub async fn look(
        &mut self,
        shared: &Shared,
        source: &Source,
        wanted: &Wanted,
        stop: &CancellationToken,
    ) -> Looked {
        match self.all(shared, source, wanted, stop).await {
            Ok(again) => Looked { again, failed: None },
            Err(error) => {
                let wait = rate_limit(&error);
                Looked { again: Vec::new(), failed: Some((problem_of(&error), wait)) }
            }
        }
    }

    async fn all(
        &mut self,
        shared: &Shared,
        source: &Source,
        wanted: &Wanted,
        stop: &CancellationToken,
    ) -> Result<Vec<(u64, Duration)>, Failure> {
        let (forge, token) = self.connect()?;
        let own = self.login(&*forge, token).await?;
        let settings = self.settings.clone();
        let address = settings.address().map_err(slipway_reviews::Error::from)?;
        let place = Place {
            shared,
            source,
            forge: &*forge,
            own: &own,
            host: address.host(),
            page: settings.page.as_deref(),
            stop,
        };
        let (open, closed) = self.found(&*forge, wanted).await?;
        let mut generations = Generations::default();
        let mut again = Vec::new();
        for pull_request in &closed {
            match self.close(&place, pull_request).await {
                Ok(()) => drop(self.known.remove(&pull_request.number)),
                Err(failure) => again.extend(self.ended(&place, pull_request.number, Err(failure))?),
            }
        }
        for pull_request in &open {
            if stop.is_cancelled() {
                break;
            }
            let result = self.one(&place, pull_request, &mut generations).await;
            again.extend(self.ended(&place, pull_request.number, result)?);
        }
        Ok(again)
    }

    /// The login of the token's user. It is asked for again when the file has another token.
    async fn login(&mut self, forge: &dyn Forge, token: Digest) -> Result<String, Failure> {
        let last = self.own.clone();
        match &last {
            Some((of, own)) if *of == token => return Ok(own.clone()),
            _ => {}
        }
        let own = forge.own_user().await?;
        if last.is_some_and(|(_, before)| before != own) {
            // What another user has written is not found again.
            self.known.values_mut().for_each(|known| known.reviewed = None);
        }
        self.own = Some((token, own.clone()));
        Ok(own)
    }

    /// The forge, and the digest of the token.
    fn connect(&self) -> Result<(Box<dyn Forge>, Digest), Failure> {
        let settings = &self.settings;
        let token = read_token(&settings.token_file)?;
        let connect = || {
            connect(Connection {
                kind: settings.forge.kind(),
                address: settings.address()?,
                repository: settings.repository()?,
                token: Some(Token::new(&token)?),
                user: settings.user.clone(),
                patience: PATIENCE,
            })
        };
        Ok((connect()?, Digest::of(token.as_bytes())))
    }

    /// The pull requests into the branch of the source that are open, and those that were open before and are not any more.
    async fn found(
        &mut self,
        forge: &dyn Forge,
        wanted: &Wanted,
    ) -> Result<(Vec<PullRequest>, Vec<PullRequest>), slipway_reviews::Error> {
        let branch = self.commits.branch();
        let (mut open, mut closed) = (Vec::new(), Vec::new());
        let mut numbers: Vec<u64> = Vec::new();
        match wanted {
            Wanted::Some(some) => numbers.extend(some),
            Wanted::All => {
                open = forge.open_pull_requests().await?;
                let is_open = |number: &&u64| open.iter().any(|one| one.number == **number);
                numbers.extend(self.known.keys().filter(|number| !is_open(number)));
            }
        }
        for number in numbers {
            match forge.pull_request(number).await {
                Ok(pull_request) if pull_request.open => open.push(pull_request),
                Ok(pull_request) => closed.push(pull_request),
                // It was deleted. Without rights, the list of all cannot be read either.
                Err(slipway_forges::Error::Refused { status: 404 | 410, .. }) => {
                    self.known.remove(&number);
                }
                Err(error) => return Err(error.into()),
            }
        }
        open.retain(|pull_request| pull_request.base_branch == branch);
        // The newest come first: old ones that nobody merges do not keep them.
        open.sort_by_key(|pull_request| std::cmp::Reverse(pull_request.number));
        if open.len() > count::PULL_REQUESTS {
            tracing::warn!(
                open = open.len(),
                "only the newest {} pull requests are reviewed",
                count::PULL_REQUESTS
            );
            open.truncate(count::PULL_REQUESTS);
        }
        Ok((open, closed))
    }

    /// Reviews a pull request, if something differs from its last review. Returns what was shown now.
    async fn one(
        &mut self,
        place: &Place<'_>,
        pull_request: &PullRequest,
        generations: &mut Generations,
    ) -> Result<Option<Reviewed>, Failure> {
        let number = pull_request.number;
        let policy = Policy { forks: self.settings.forks.clone(), ..Policy::default() };
        let treatment = policy.treatment(pull_request);
        let comments = place.forge.comments(number).await?;
        let reviews = place.forge.reviews(number).await?;
        let settings = &self.settings;
        let names = |login: &str| settings.names(login);
        let attempts = Attempts { own: place.own, comments: &comments, reviews: &reviews, names: &names };
        let basis = Basis::of(pull_request, &treatment, &attempts);
        let (backend, about) = (&*place.shared.backend, (pull_request, &*comments));
        let by = (place.own, place.page);
        let is_moved = stale::mark(place.forge, backend, about, generations, by).await? > 0;
        let known = self.known.entry(number).or_default();
        if known.reviewed.as_ref() == Some(&basis) && !known.answered.lacks(&attempts) && !is_moved {
            return Ok(None);
        }
        known.reviewed = None;
        let marked = match is_moved {
            true => Some(place.forge.comments(number).await?),
            false => None,
        };
        let comments_now = marked.as_deref().unwrap_or(&comments);
        let statuses = place.forge.statuses(&pull_request.head).await?;
        let approvals = |cluster: &str| settings.approvals(&place.source.policy(cluster));
        let review = place.review(pull_request, (comments_now, &reviews, &statuses), &approvals);
        let reviewed = match treatment {
            Treatment::Refused(reason) => {
                review.overall(StatusState::Pending, &format!("not planned: {reason}")).await?;
                Reviewed::default()
            }
            treatment => {
                let planned = plan(&mut self.commits, place, &review, (treatment, settings)).await;
                if let Err(failure) = &planned {
                    // Whatever fails, no older status stays as if it were about this commit.
                    let code = problem_of(failure).code.map(|code| format!(" ({code})")).unwrap_or_default();
                    let sentence = format!("the review failed{code}; the controller tries again");
                    review.overall(StatusState::Failure, &sentence).await?;
                }
                match planned? {
                    Some(reviewed) => reviewed,
                    // The next process reviews it.
                    None => return Ok(None),
                }
            }
        };
        if let Some(known) = self.known.get_mut(&number) {
            known.reviewed = Some(basis);
            known.answered.take(&attempts);
        }
        Ok(Some(reviewed))
    }

    /// Counts and logs the end of one review. Returns when the pull request is looked at again, if that is earlier than usual.
    ///
    /// # Errors
    /// When the rate limit of the forge is used up: then the others are not looked at either.
    fn ended(
        &mut self,
        place: &Place<'_>,
        number: u64,
        result: Result<Option<Reviewed>, Failure>,
    ) -> Result<Option<(u64, Duration)>, Failure> {
        let known = self.known.entry(number).or_default();
        let metrics = &place.shared.metrics.reviews;
        let problem = match result {
            Ok(None) => return Ok(None),
            Err(failure) if rate_limit(&failure) > Duration::ZERO => return Err(failure),
            Err(failure) => {
                metrics.get_or_create(&outcome("failed")).inc();
                problem_of(&failure)
            }
            Ok(Some(reviewed)) => {
                metrics.get_or_create(&outcome("shown")).inc();
                let (source, clusters) = (&place.source.name, reviewed.clusters.len());
                tracing::info!(source, pull_request = number, clusters, "a pull request was reviewed");
                match reviewed.problem {
                    // Conflicts and specs with problems stay until a push.
                    Some(message) if clusters > 0 => Problem { code: None, message, hints: Vec::new() },
                    _ => {
                        (known.failures, known.problem) = (0, None);
                        return Ok(None);
                    }
                }
            }
        };
        if known.problem.as_ref() != Some(&problem) {
            let (source, code) = (&place.source.name, problem.code.as_deref().unwrap_or_default());
            tracing::warn!(source, pull_request = number, code, "{}", problem.message);
        }
        known.problem = Some(problem);
        known.reviewed = None;
        known.failures = known.failures.saturating_add(1);
        let salt = format!("{} {number}", place.source.name);
        Ok(Some((number, place.shared.configuration.retry.wait(known.failures, &salt))))
    }

    /// Takes the last approvals of a pull request that was merged, and removes those that were taken back before its end.
    async fn close(&self, place: &Place<'_>, pull_request: &PullRequest) -> Result<(), Failure> {
        let is_known = self.known.contains_key(&pull_request.number);
        if !is_known || self.settings.approvers.is_empty() {
            return Ok(());
        }
        let number = pull_request.number;
        let comments = place.forge.comments(number).await?;
        let reviews = place.forge.reviews(number).await?;
        let statuses = place.forge.statuses(&pull_request.head).await?;
        let approvals = |cluster: &str| self.settings.approvals(&place.source.policy(cluster));
        let review = place.review(pull_request, (&comments, &reviews, &statuses), &approvals);
        Ok(review.closed().await?)
    }
}

/// Why a pull request was not reviewed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Review(#[from] slipway_reviews::Error),
    #[error(transparent)]
    Source(#[from] Error),
}

impl From<slipway_forges::Error> for Failure {
    fn from(error: slipway_forges::Error) -> Self {
        Self::Review(error.into())
    }
}

/// How long the forge asks to be left alone.
fn rate_limit(failure: &Failure) -> Duration {
    match failure {
        Failure::Review(slipway_reviews::Error::Forge(slipway_forges::Error::RateLimited {
            wait, ..
        })) => *wait,
        _ => Duration::ZERO,
    }
}

fn problem_of(failure: &Failure) -> Problem {
    match failure {
        Failure::Source(error) => Problem::of_source(error),
        Failure::Review(error) => Problem::of_review(error),
    }
}

#[allow(clippy::disallowed_methods, reason = "the operator names the file")]
fn read_token(path: &Path) -> Result<zeroize::Zeroizing<String>, Error> {
    let text = file::read_text(path, size::KEY_FILE).map_err(|source| Error::File {
        what: "the token of the forge",
        path: path.to_owned(),
        source,
    })?;
    Ok(zeroize::Zeroizing::new(text))
}
