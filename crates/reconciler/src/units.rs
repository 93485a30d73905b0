//! Which clusters the paths of a source have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use slipway_operations::Specs;
use slipway_trust::Policy;

use crate::job::Content;
use crate::source::Revision;
use crate::status::Problem;
use crate::threads::{Lost, Threads};

/// The clusters of one path, or why its specs cannot be read.
pub(crate) type Unit = Result<Vec<String>, Problem>;

/// Reads the specs of a path. Bases of environments may be in the path and in those with bases: a change of these changes the
/// digest of the path, and of no other file of the source.
pub(crate) fn read(
    policy: &Policy,
    folder: &Path,
    path: &str,
    bases: &[String],
) -> Result<Specs, slipway_operations::Error> {
    let place = |path: &str| if path == "." { folder.to_owned() } else { folder.join(path) };
    let bases: Vec<PathBuf> = bases.iter().map(|base| place(base)).collect();
    Specs::read_with_bases(policy, &bases, &[place(path)])
}

/// The clusters of all paths of a revision, read on a thread: a source may have many and large specs.
///
/// # Errors
/// When the thread ends without a result.
pub(crate) async fn all_on(
    threads: &Threads,
    policy: Policy,
    (revision, bases): (Revision, Vec<String>),
    last: Option<Content>,
) -> Result<BTreeMap<String, Unit>, Lost> {
    let read = move || {
        let known = last.as_ref().map(|last| (&last.revision, &last.units));
        all(&policy, (&revision, bases.as_slice()), known)
    };
    threads.run(read).await
}

/// The clusters of all paths of a revision. A path whose digest is that of `known` is not read again.
fn all(
    policy: &Policy,
    (revision, bases): (&Revision, &[String]),
    known: Option<(&Revision, &BTreeMap<String, Unit>)>,
) -> BTreeMap<String, Unit> {
    let unit = |(path, digest): (&String, &String)| {
        let unchanged = known.and_then(|(last, units)| {
            let is_same = last.units.get(path) == Some(digest);
            units.get(path).filter(|_| is_same)
        });
        let found = match unchanged {
            Some(found) => found.clone(),
            None => read(policy, revision.folder.path(), path, bases)
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

#[cfg(test)]
mod tests {
    use slipway_trust::{Mode, Settings};

    use super::*;

    const BASE: &str = "\
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: {name: common}
spec: {provider: {name: sim}, region: sim-1, kubernetesVersion: 1.35.2, zones: [sim-1a]}
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: {name: control-plane}
spec: {role: controlPlane, machineType: sim.medium}
";

    const ENVIRONMENT: &str = "\
apiVersion: slipway.dev/v1alpha1
kind: Environment
metadata: {name: prod}
spec:
  bases: [../common]
  patches:
  - target: {kind: Cluster, name: common}
    merge: {metadata: {name: prod}}
";

    #[test]
    fn a_base_whose_change_would_not_be_seen_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        for (path, text) in [("clusters/common/a.yaml", BASE), ("clusters/prod/a.yaml", ENVIRONMENT)] {
            let file = root.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let policy = Policy::new(Settings::default(), Mode::Untrusted).elsewhere();
        let read = |bases: &[String]| read(&policy, &root, "clusters/prod", bases);
        let refused = Problem::of(&read(&[]).unwrap_err());
        assert_eq!(refused.code.as_deref(), Some("TRUST0001"));
        let specs = read(&["clusters/common".to_owned()]).unwrap();
        assert_eq!(specs.clusters[0].cluster.name, "prod");
        // The whole of the path may be a base.
        let all = super::read(&policy, &root, "clusters", &[]).unwrap();
        assert_eq!(all.clusters.len(), 1);
    }
}
