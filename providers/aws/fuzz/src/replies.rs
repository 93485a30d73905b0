//! Replies of AWS, read by the provider.

use std::sync::LazyLock;

use anyhow::Result;
use slipway_aws_model::normalise::normalised;
use slipway_fuzz::corpus::files;
use slipway_fuzz::target::Verdict;
use slipway_provider_aws::Aws;
use slipway_resource::provider::{DiscoverRequest, ReadRequest};
use slipway_resource::{Address, Identity, Observation, Observed};
use tokio::runtime::{Builder, Runtime};

use crate::answers::{Answers, MOST_CALLS};
use crate::recording::Recording;

/// The region of the session.
const REGION: &str = "us-east-1";

/// The cluster whose objects are listed.
const CLUSTER: &str = "ha.example.com";

/// Its time passes at once when the provider waits.
static RUNTIME: LazyLock<std::io::Result<Runtime>> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().start_paused(true).build());

/// The files of `fixtures/fuzz/aws-replies`.
pub(crate) fn recordings() -> Result<Vec<Vec<u8>>> {
    Ok(files(&["fixtures/fuzz/aws-replies"], |_| true)?.into_iter().map(|(_, bytes)| bytes).collect())
}

/// Reads the object of a recording, and lists the objects of its type.
///
/// Laws: the same replies are read as the same object, what is read is in its normal form, and the number of calls is bounded.
pub(crate) fn read(input: &[u8]) -> Verdict {
    let Some(recording) = Recording::parse(input) else { return Verdict::syntax("no recording") };
    let Ok(address) = format!("{}.main", recording.kind).parse::<Address>() else {
        return Verdict::syntax("no type");
    };
    let runtime = match &*RUNTIME {
        Ok(runtime) => runtime,
        Err(error) => return Verdict::lawful(false, &error.to_string()),
    };
    let first = runtime.block_on(play(&recording, &address));
    let second = runtime.block_on(play(&recording, &address));
    if first.calls > MOST_CALLS {
        return Verdict::lawful(false, "the number of calls for an object is bounded");
    }
    // Not a number differs from itself, and its text does not.
    let is_same = format!("{:?}", first.observed) == format!("{:?}", second.observed);
    let mut verdict = match first.observed.as_ref().map(|observed| &observed.observation) {
        Some(Observation::Present(attributes)) => {
            let again = normalised(&recording.kind, attributes);
            let is_normal = format!("{again:?}") == format!("{attributes:?}");
            Verdict::lawful(is_same && is_normal, "the same replies are the same object in its normal form")
        }
        Some(Observation::Absent) => Verdict::content("absent"),
        Some(Observation::Unreadable(error)) => Verdict::content(error),
        None => Verdict::content("no answer"),
    };
    verdict.words.push_str(&format!(" {}; {}", recording.kind, first.listed));
    verdict
}

/// The result of the replies.
struct Played {
    observed: Option<Observed>,
    /// The errors of the list.
    listed: String,
    calls: usize,
}

/// Reads and lists in a new session: sessions keep what they have read.
async fn play(recording: &Recording, address: &Address) -> Played {
    let answers = Answers::new(recording.replies.clone());
    let session = Aws::answered_by(answers.client(), REGION);
    let identity = Identity::new(recording.identity.as_str());
    let read = session.read(vec![ReadRequest { address: address.clone(), identity }]).await;
    let types = vec![recording.kind.clone()];
    let request = DiscoverRequest { uid: None, cluster: CLUSTER.to_owned(), types };
    let listed = match session.discover(request).await {
        Err(error) => error.to_string(),
        Ok(discovery) => discovery.unlisted.iter().map(|unlisted| unlisted.error.to_string()).collect(),
    };
    Played { observed: read.ok().and_then(|read| read.into_iter().next()), listed, calls: answers.calls() }
}
