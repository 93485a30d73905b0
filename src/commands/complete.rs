//! `slipway complete`: the words that can follow in a command line, for completion scripts.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use slipway_engine::State;
use slipway_operations::state;
use slipway_spec::model::Cluster;
use slipway_state_store::{Backend, list_clusters, read_head};

use crate::cli::completion::{self, Named, Wanted};
use crate::cli::{CompleteArguments, command};
use crate::error::CommandError;
use crate::program::Context;

/// A person waits for the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Prints one word a line. What cannot be read has no names: a completion shows no errors.
pub(crate) async fn run(context: &Context, arguments: &CompleteArguments) -> Result<ExitCode, CommandError> {
    let words = &arguments.words;
    let mut found = match completion::wanted(command(), words) {
        Wanted::Words(found) => found,
        Wanted::Name(named) => match tokio::time::timeout(PATIENCE, names(context, named, words)).await {
            Ok(Ok(found)) => found,
            Ok(Err(_)) | Err(_) => Vec::new(),
        },
        Wanted::Other => Vec::new(),
    };
    let current = words.last().map(String::as_str).unwrap_or_default();
    found.retain(|word| word.starts_with(current));
    found.sort();
    found.dedup();
    context.output.result(&found.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The names in the specs that the words name, or else in the state.
async fn names(context: &Context, named: Named, words: &[String]) -> Result<Vec<String>, CommandError> {
    let files = completion::files(words);
    if !files.is_empty() {
        let loaded = slipway_operations::load(&context.policy, &files);
        return Ok(loaded.clusters.iter().flat_map(|cluster| of_cluster(named, cluster)).collect());
    }
    // Encrypted states are not opened: a key may need a question.
    let backend: Arc<dyn Backend> = match completion::value_of(words, "state") {
        Some(url) => context.bare_backend_at(url)?,
        None => context.bare_backend()?,
    };
    let mut found = Vec::new();
    for name in list_clusters(&*backend).await? {
        if named == Named::Cluster {
            let is_deleted = matches!(read_head(&*backend, &name).await, Ok(Some((head, _))) if head.deleted);
            found.extend((!is_deleted).then(|| name.to_string()));
            continue;
        }
        let Ok(Some(state)) = State::read(&*backend, name.as_str()).await else { continue };
        let Ok(Some(cluster)) = state::spec_of(&state.snapshot) else { continue };
        found.extend(of_cluster(named, &cluster));
    }
    Ok(found)
}

fn of_cluster(named: Named, cluster: &Cluster) -> Vec<String> {
    match named {
        Named::Cluster => vec![cluster.name.clone()],
        Named::Pool => cluster.pools.iter().map(|pool| pool.name.clone()).collect(),
        Named::Host => cluster.all_hosts().into_iter().map(|host| host.name).collect(),
    }
}
