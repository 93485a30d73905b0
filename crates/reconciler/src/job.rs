//! The jobs of a controller. They run beside each other on one thread, and the controller gets their results. Work that keeps a
//! processor busy is done on `threads`.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use slipway_operations::{account_of, person_of};
use slipway_state_store::{ClusterName, Digest, Error as StoreError, approvals, controllers};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::board::{self, Board};
use crate::configuration::ClusterPolicy;
use crate::error::Error;
use crate::heads::{self, Mark, Noticed, Watched};
use crate::members::{Members, Seen};
use crate::pass::Passed;
use crate::reviews::{Desk, Looked, Wanted};
use crate::shared::Shared;
use crate::source::{Reader, Revision};
use crate::status::{SourceStatus, Status};
use crate::units::{self, Unit};

/// A job that runs.
pub(crate) type Running = Pin<Box<dyn Future<Output = Done>>>;

/// How many approvals are looked for at once.
const AT_ONCE: usize = 16;

/// How long a source may take to be read. A server can answer for ever, a little at a time.
const LONGEST_READ: Duration = Duration::from_secs(300);

/// The result of a job.
pub(crate) enum Done {
    /// A source was read.
    Read { source: usize, reader: Reader, result: Result<Content, Error> },
    /// The board and the replicas were looked at.
    Beat(Box<Beat>, Seen),
    /// The statuses that the controller wrote before were read.
    Recalled(Result<Vec<Status>, StoreError>),
    /// A cluster was looked at.
    Passed { cluster: String, passed: Box<Passed>, mark: Option<Mark> },
    /// Pull requests of a source were looked at.
    Reviewed { source: usize, desk: Box<Desk>, wanted: Wanted, looked: Looked },
    /// The status of a source was written, or not.
    Told,
}

/// What a source has.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub revision: Revision,
    pub units: BTreeMap<String, Unit>,
}

/// Reads a source and its specs. A read that takes too long is given up, and so is one whose controller ends.
pub(crate) async fn read(
    (shared, source): (Shared, usize),
    mut reader: Reader,
    last: Option<Content>,
    ending: CancellationToken,
) -> Done {
    let place = reader.place();
    let given_up = |limit| Error::TooSlow { place, limit };
    let result = tokio::select! {
        biased;
        () = ending.cancelled() => Err(given_up(Duration::ZERO)),
        read = timeout(LONGEST_READ, content((&shared, source), &mut reader, last)) => {
            read.unwrap_or_else(|_| Err(given_up(LONGEST_READ)))
        }
    };
    Done::Read { source, reader, result }
}

/// What a source has now. Specs that have not changed since the last time are not read again.
async fn content(
    (shared, source): (&Shared, usize),
    reader: &mut Reader,
    last: Option<Content>,
) -> Result<Content, Error> {
    let revision = reader.read(last.as_ref().map(|last| &last.revision)).await?;
    let units = match shared.configuration.sources.get(source) {
        Some(source) => {
            let about = (revision.clone(), source.bases.clone());
            let threads = shared.threads(source).read;
            units::all_on(&threads, Shared::policy(source), about, last).await
        }
        None => Ok(BTreeMap::new()),
    };
    let units = units.map_err(|lost| Error::File {
        what: "the source",
        path: reader.place().into(),
        source: std::io::Error::other(lost),
    })?;
    Ok(Content { revision, units })
}

/// A look at the board, a sign of life, and the clusters whose plans have other approvals than their statuses show.
pub(crate) struct Beat {
    /// When the sign of life was sent.
    pub sent: Duration,
    pub found: Result<(Board, Members), StoreError>,
    pub approved: Vec<String>,
    /// The statuses of clusters that others wait for.
    pub looked: BTreeMap<String, Status>,
    /// The heads of clusters whose plans wait.
    pub heads: Vec<Noticed>,
}

/// A plan that waits for approvals.
pub(crate) struct Awaited {
    pub cluster: String,
    pub plan: String,
    /// How many approvals its status shows.
    pub known: usize,
    pub policy: ClusterPolicy,
}

/// Shows that this replica lives, and looks at what persons asked.
pub(crate) async fn beat(
    (shared, me, since): (Shared, String, Timestamp),
    mut seen: Seen,
    (awaited, unsure, watched): (Vec<Awaited>, Vec<String>, Vec<Watched>),
) -> Done {
    let sent = Shared::elapsed();
    let found = async {
        let board = board::read(&*shared.backend).await?;
        let key = controllers::members(&shared.configuration.name)?;
        let term = shared.configuration.term();
        let renewed = |found: Option<Members>| {
            let members = found.unwrap_or_default().beat(&me, since, &mut seen, (sent, term));
            Some(members.signed(&me, Timestamp::now(), term))
        };
        let members = controllers::change(&shared.backend, &key, renewed).await?.unwrap_or_default();
        Ok::<_, StoreError>((board, members))
    }
    .await;
    let (approved, looked, heads) = match &found {
        Ok(_) => (
            approved(&shared, awaited).await,
            // Statuses that cannot be read now are read at the next beat.
            statuses(&shared, unsure).await.unwrap_or_default(),
            heads::look(&shared, watched).await,
        ),
        Err(_) => Default::default(),
    };
    Done::Beat(Box::new(Beat { sent, found, approved, looked, heads }), seen)
}

/// The statuses of clusters, as they are stored now.
pub(crate) async fn statuses(
    shared: &Shared,
    clusters: Vec<String>,
) -> Result<BTreeMap<String, Status>, StoreError> {
    let fetch = |cluster: String| async move {
        let key = controllers::status(&ClusterName::new(cluster.as_str())?);
        let found: Option<Status> = controllers::read(&*shared.backend, &key).await?;
        Ok::<_, StoreError>(found.map(|status| (cluster, status)))
    };
    let found: Vec<Option<(String, Status)>> =
        stream::iter(clusters).map(fetch).buffer_unordered(AT_ONCE).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

async fn approved(shared: &Shared, awaited: Vec<Awaited>) -> Vec<String> {
    let look = |awaited: Awaited| async move {
        let count = count_approvals(shared, &awaited.cluster, &awaited.plan, &awaited.policy).await;
        // A store that cannot be read is noticed by the next look.
        count.is_ok_and(|count| count != awaited.known).then_some(awaited.cluster)
    };
    stream::iter(awaited)
        .map(look)
        .buffer_unordered(AT_ONCE)
        .filter_map(|name| async move { name })
        .collect()
        .await
}

/// The number of persons whose approvals of a plan count: others than the controller, whom the policy names if it names some.
pub(crate) async fn count_approvals(
    shared: &Shared,
    cluster: &str,
    plan: &str,
    policy: &ClusterPolicy,
) -> Result<usize, StoreError> {
    let Ok(plan) = plan.parse::<Digest>() else { return Ok(0) };
    let given = approvals::of(&*shared.backend, &ClusterName::new(cluster)?, plan).await?;
    let named: BTreeSet<String> = policy.approvers.iter().filter_map(|name| person_of(name)).collect();
    let own = &shared.who().person;
    let counts = |person: &String| {
        account_of(person) != account_of(own) && (policy.approvers.is_empty() || named.contains(person))
    };
    let persons = given.iter().filter_map(|approval| person_of(&approval.person)).filter(counts);
    let accounts: BTreeSet<String> = persons.map(|person| account_of(&person)).collect();
    Ok(accounts.len())
}

/// Reads the statuses that this controller wrote before, also those of clusters that are not in a source any more.
pub(crate) async fn recall(shared: Shared) -> Done {
    let found = controllers::read_all::<Status>(&*shared.backend, controllers::Group::Statuses).await;
    let own = |found: Vec<(String, Status)>| {
        let statuses = found.into_iter().map(|(_, status)| status);
        statuses.filter(|status| status.controller == shared.configuration.name).collect()
    };
    Done::Recalled(found.map(own))
}

/// Writes the status of a source, if it has changed.
pub(crate) async fn tell(shared: Shared, source: String, mut status: SourceStatus) -> Done {
    let wanted = |found: Option<SourceStatus>| {
        status.since = match &found {
            Some(found) if found.revision == status.revision => found.since,
            _ => Some(Timestamp::now()),
        };
        (found.as_ref() != Some(&status)).then(|| status.clone())
    };
    let written = match controllers::source(&source) {
        Ok(key) => controllers::change(&shared.backend, &key, wanted).await,
        Err(error) => Err(error),
    };
    match written {
        Ok(written) => written.iter().for_each(|status| shared.show_source(&source, status)),
        Err(error) => tracing::debug!(source, %error, "the status of the source was not written"),
    }
    Done::Told
}

/// Takes this replica out of the members, so that the others need not wait for its term.
pub(crate) async fn leave(shared: &Shared, me: &str) {
    let Ok(key) = controllers::members(&shared.configuration.name) else { return };
    let without = |found: Option<Members>| Some(found.unwrap_or_default().without(me));
    if let Err(error) = controllers::change(&shared.backend, &key, without).await {
        tracing::warn!(%error, "the other replicas notice after a while that this one has ended");
    }
}
