//! Which clusters the paths of a source have.

use std::collections::BTreeMap;
use std::path::Path;

use slipway_operations::Specs;
use slipway_trust::Policy;

use crate::job::Content;
use crate::source::Revision;
use crate::status::Problem;
use crate::threads::{Lost, Threads};

/// The clusters of one path, or why its specs cannot be read.
pub(crate) type Unit = Result<Vec<String>, Problem>;

/// Reads the specs of a path. Bases of environments may be in the whole source.
pub(crate) fn read(policy: &Policy, folder: &Path, path: &str) -> Result<Specs, slipway_operations::Error> {
    let place = if path == "." { folder.to_owned() } else { folder.join(path) };
    Specs::read_in(policy, folder, &[place])
}

/// The clusters of all paths of a revision, read on a thread: a source may have many and large specs.
///
/// # Errors
/// When the thread ends without a result.
pub(crate) async fn all_on(
    threads: &Threads,
    policy: Policy,
    revision: Revision,
    last: Option<Content>,
) -> Result<BTreeMap<String, Unit>, Lost> {
    let read = move || {
        let known = last.as_ref().map(|last| (&last.revision, &last.units));
        all(&policy, &revision, known)
    };
    threads.run(read).await
}

/// The clusters of all paths of a revision. A path whose digest is that of `known` is not read again.
fn all(
    policy: &Policy,
    revision: &Revision,
    known: Option<(&Revision, &BTreeMap<String, Unit>)>,
) -> BTreeMap<String, Unit> {
    let unit = |(path, digest): (&String, &String)| {
        let unchanged = known.and_then(|(last, units)| {
            let is_same = last.units.get(path) == Some(digest);
            units.get(path).filter(|_| is_same)
        });
        let found = match unchanged {
            Some(found) => found.clone(),
            None => read(policy, revision.folder.path(), path)
                .map(|specs| specs.clusters.into_iter().map(|spec| spec.cluster.name.clone()).collect())
                .map_err(|error| in_source(Problem::of(&error), revision.folder.path())),
        };
        (path.clone(), found)
    };
    revision.units.iter().map(unit).collect()
}

/// A problem with paths of the source in place of those of this machine, so that it is the same on all machines.
pub(crate) fn in_source(mut problem: Problem, folder: &Path) -> Problem {
    let folder = format!("{}/", folder.display());
    problem.message = problem.message.replace(&folder, "");
    problem.hints.iter_mut().for_each(|hint| *hint = hint.replace(&folder, ""));
    problem
}
