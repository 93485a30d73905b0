//! The clusters that a pull request affects, and their plans.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use slipway_operations::{ClusterSpec, Environment, Opened, Request, Specs, Weakening, state, weakened};
use slipway_plan::Plan;
use slipway_plan::render::code;
use slipway_resource::Digest;
use slipway_spec::diagnostic;
use slipway_spec::model::IgnoredChange;
use slipway_trust::Policy;

use crate::checkout::Extracted;
use crate::error::Error;

/// What a merge would do to a cluster.
pub enum Finding {
    /// It would leave this to do.
    Planned {
        /// The plan after the merge.
        plan: Arc<Plan>,
        /// Its digest.
        digest: Digest,
        /// The plan of the base branch as it is.
        before: Option<Arc<Plan>>,
        /// What the specs hide or allow after the merge, and not before: lines of markdown.
        weakened: Vec<String>,
    },
    /// There is no plan.
    Failed(Error),
    /// Its spec would be gone.
    Removed,
}

/// Which paths of a repository have specs.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Spec files and folders, from the root of the repository. A path that ends in `/*` names each folder in it.
    pub files: Vec<PathBuf>,
    /// Further paths in which specs name files.
    pub with: Vec<PathBuf>,
    /// Further paths with bases of environments. A path that ends in `/*` does not name them.
    pub bases: Vec<PathBuf>,
    /// How the paths are read.
    pub reading: Reading,
}

/// How paths with specs are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Plain paths are read together. A path that ends in `/*` also names each YAML file in it.
    Together,
    /// Each path is read by itself, as a controller does.
    Separately,
}

impl Paths {
    /// All paths that are read.
    #[must_use]
    pub fn all(&self) -> Vec<PathBuf> {
        self.files.iter().chain(&self.with).chain(&self.bases).cloned().collect()
    }
}

/// The affected clusters.
pub struct Affected {
    /// What a merge would do to each, in the order of their names.
    pub findings: Vec<(String, Finding)>,
    /// Remarks about the specs after the merge.
    pub remarks: String,
}

/// Plans the affected clusters. `sides` are the files of the base branch and of the merge; `changed` are the paths that
/// differ.
///
/// # Errors
/// When the specs cannot be read after the merge. A cluster that cannot be planned is a finding.
pub async fn plan(
    environment: &Environment,
    paths: &Paths,
    (before, merged): (&Extracted, &Extracted),
    changed: &[PathBuf],
) -> Result<Affected, Error> {
    let mut after = Side::read(environment, paths, merged)?;
    let remarks = std::mem::take(&mut after.remarks);
    // A base branch that cannot be read is compared with nothing; the comments say so.
    let mut earlier = Side::read(environment, paths, before).unwrap_or_default();
    let sides = [(&earlier.clusters, before), (&after.clusters, merged)];
    let affected = affected(&sides, changed)?;
    let mut findings = Vec::new();
    for name in affected {
        let of_base = earlier.take(&name);
        let finding = match after.take(&name) {
            None => Finding::Removed,
            Some(spec) => {
                let base = (&earlier.environment(environment), of_base);
                finding((&after.environment(environment), spec), base).await
            }
        };
        findings.push((name, finding));
    }
    Ok(Affected { findings, remarks })
}

/// The plan of a spec after a merge, with that of the base branch.
async fn finding(
    (environment, spec): (&Environment, ClusterSpec),
    (of_base, before): (&Environment, Option<ClusterSpec>),
) -> Finding {
    let weakened = weakened(before.as_ref().map(|spec| &spec.cluster), &spec.cluster);
    let weakened = weakened.iter().map(line).collect();
    let plan = match planned(environment, spec, Request::apply()).await {
        Ok(plan) => Arc::new(plan),
        Err(error) => return Finding::Failed(error),
    };
    let digest = match plan.digest() {
        Ok(digest) => digest,
        Err(error) => return Finding::Failed(error.into()),
    };
    let request = Request::apply().without_preflight();
    let before = match before {
        Some(spec) => planned(of_base, spec, request).await.ok().map(Arc::new),
        None => None,
    };
    Finding::Planned { plan, digest, before, weakened }
}

/// What the merge gives up, as a line of markdown.
fn line(weakening: &Weakening) -> String {
    match weakening {
        Weakening::Ignores(IgnoredChange { resource, attribute }) => format!(
            "`ignoreChanges`: plans neither show nor correct {} of {}",
            code(attribute),
            code(resource)
        ),
        Weakening::Unprotected => "`deletionProtection`: the cluster can be deleted".to_owned(),
        Weakening::NoBackups(etcd) => {
            format!("`etcd.backups.enabled`: no backups of etcd {} are made any more", code(etcd))
        }
        Weakening::BackupsNotKept(etcd) => format!(
            "`etcd.backups.keepOnDelete`: the backups of etcd {} are deleted with the cluster",
            code(etcd)
        ),
    }
}

async fn planned(environment: &Environment, spec: ClusterSpec, request: Request) -> Result<Plan, Error> {
    let opened = Opened::open(environment, spec).await?;
    Ok(opened.plan(&request).await?.plan)
}

/// The clusters of one tree.
#[derive(Default)]
struct Side {
    clusters: Vec<ClusterSpec>,
    remarks: String,
    policy: Option<Arc<Policy>>,
}

impl Side {
    fn read(environment: &Environment, paths: &Paths, tree: &Extracted) -> Result<Self, Error> {
        let policy = Policy::clone(&environment.policy);
        // Whoever may push to the repository may name any file of it.
        let policy = if policy.is_untrusted() { policy } else { policy.with_file_root(tree.root()) };
        let bases = match paths.reading {
            Reading::Together => vec![tree.root().to_owned()],
            Reading::Separately => paths.bases.iter().map(|base| tree.place(base)).collect(),
        };
        let mut side = Self::default();
        for unit in units(paths, tree)? {
            let Specs { clusters, remarks, .. } = Specs::read_with_bases(&policy, &bases, &unit)?;
            if let Some(name) = clusters.iter().map(|spec| &spec.cluster.name).find(|name| side.has(name)) {
                return Err(Error::Duplicate { name: name.to_string() });
            }
            if !remarks.is_empty() {
                side.remarks.push_str(&diagnostic::render_all(&remarks));
            }
            side.clusters.extend(clusters);
        }
        side.policy = Some(Arc::new(policy));
        Ok(side)
    }

    fn has(&self, name: &str) -> bool {
        self.clusters.iter().any(|spec| *spec.cluster.name == *name)
    }

    fn take(&mut self, name: &str) -> Option<ClusterSpec> {
        let place = self.clusters.iter().position(|spec| spec.cluster.name == *name)?;
        Some(self.clusters.swap_remove(place))
    }

    fn environment(&self, environment: &Environment) -> Environment {
        let policy = self.policy.clone().unwrap_or_else(|| environment.policy.clone());
        Environment { policy, ..environment.clone() }
    }
}

/// The spec files and folders that are read together, as [`Reading`] says. What the tree does not have is left out.
fn units(paths: &Paths, tree: &Extracted) -> Result<Vec<Vec<PathBuf>>, Error> {
    let mut together = Vec::new();
    let mut units = Vec::new();
    for file in &paths.files {
        let Some(parent) = file.parent().filter(|_| file.ends_with("*")) else {
            let place = Some(tree.place(file)).filter(|place| place.exists());
            match paths.reading {
                Reading::Together => together.extend(place),
                Reading::Separately => units.extend(place.map(|place| vec![place])),
            }
            continue;
        };
        let folder = tree.place(parent);
        if !folder.is_dir() {
            continue;
        }
        let entries: Vec<PathBuf> = entries_in(&folder)
            .map_err(|error| Error::file("the folder of the repository", parent, error))?;
        let is_spec = |path: &PathBuf| {
            let yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
            let is_base = paths.bases.iter().any(|base| tree.place(base) == *path);
            !is_base && (path.is_dir() || (yaml && paths.reading == Reading::Together))
        };
        let mut entries: Vec<PathBuf> = entries.into_iter().filter(is_spec).collect();
        entries.sort();
        units.extend(entries.into_iter().map(|entry| vec![entry]));
    }
    if !together.is_empty() {
        units.insert(0, together);
    }
    Ok(units)
}

#[allow(clippy::disallowed_methods, reason = "a folder that was written from the repository")]
fn entries_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// What a cluster consists of in the repository.
struct Parts {
    name: String,
    files: BTreeSet<PathBuf>,
    folder: PathBuf,
    /// Its spec as JSON, in which it names further files.
    json: String,
}

impl Parts {
    fn of(spec: &ClusterSpec, tree: &Extracted) -> Result<Self, Error> {
        let inside = |path: &Path| path.strip_prefix(tree.root()).unwrap_or(path).to_owned();
        Ok(Self {
            name: spec.cluster.name.to_string(),
            files: spec.sources.files().map(|file| inside(Path::new(file))).collect(),
            folder: inside(&spec.folder()),
            json: state::to_json(&spec.cluster)?.to_string(),
        })
    }

    fn mentions(&self, name: &str) -> bool {
        self.json.contains(name)
    }
}

/// The names of the clusters that changed paths can affect. A path that belongs to no cluster affects all of them.
fn affected(
    sides: &[(&Vec<ClusterSpec>, &Extracted)],
    changed: &[PathBuf],
) -> Result<BTreeSet<String>, Error> {
    let mut parts = Vec::new();
    for (specs, tree) in sides {
        for spec in *specs {
            parts.push(Parts::of(spec, tree)?);
        }
    }
    let changed = changed.iter().filter(|path| sides.iter().any(|(_, tree)| tree.place(path).exists()));
    Ok(of_paths(&parts, changed.map(PathBuf::as_path)))
}

/// The names of the clusters that some paths can affect. Many files have the same name, so each name is searched for once.
fn of_paths<'a>(parts: &[Parts], paths: impl Iterator<Item = &'a Path>) -> BTreeSet<String> {
    let mut mentions: BTreeMap<&str, Vec<&Parts>> = BTreeMap::new();
    let mut affected: BTreeSet<&str> = BTreeSet::new();
    for path in paths {
        if affected.len() == parts.len() {
            break;
        }
        let mut found: Vec<&Parts> = parts.iter().filter(|parts| parts.files.contains(path)).collect();
        if found.is_empty() {
            found = parts.iter().filter(|parts| path.starts_with(&parts.folder)).collect();
        }
        if found.is_empty() {
            affected.extend(parts.iter().map(|parts| parts.name.as_str()));
            break;
        }
        affected.extend(found.iter().map(|parts| parts.name.as_str()));
        if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
            let mentioned = mentions
                .entry(name)
                .or_insert_with(|| parts.iter().filter(|parts| parts.mentions(name)).collect());
            affected.extend(mentioned.iter().map(|parts| parts.name.as_str()));
        }
    }
    affected.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, file: &str, json: &str) -> Parts {
        let file = PathBuf::from(file);
        let folder = file.parent().map(PathBuf::from).unwrap_or_default();
        Parts { name: name.to_owned(), files: BTreeSet::from([file]), folder, json: json.to_owned() }
    }

    #[test]
    fn a_path_affects_the_clusters_that_can_read_it() {
        let parts = [
            part("a", "clusters/a.yaml", ""),
            part("b", "clusters/b.yaml", r#"{"manifest":"/x/shared/dns.yaml"}"#),
            part("c", "clusters/c/cluster.yaml", ""),
        ];
        let of = |path: &str| {
            of_paths(&parts, [Path::new(path)].into_iter()).into_iter().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("clusters/a.yaml"), "a");
        assert_eq!(of("clusters/c/cluster.yaml"), "c");
        assert_eq!(of("clusters/c/addon.yaml"), "a b c", "it is below the folders of all");
        assert_eq!(of("clusters/values.yaml"), "a b");
        assert_eq!(of("shared/other.yaml"), "a b c");
        assert_eq!(of("clusters/c/dns.yaml"), "a b c");
        let both = ["clusters/a.yaml", "clusters/c/cluster.yaml"].map(Path::new);
        assert_eq!(of_paths(&parts, both.into_iter()), BTreeSet::from(["a".to_owned(), "c".to_owned()]));
    }
}
